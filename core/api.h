/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the API fronts call. Handles among the arguments have been checked by dap_obj_get to be live
 * objects of the IA; masks and enums are valid. Functions return 0 or a DAP_ERR, and write their
 * outputs only then.
 */
#ifndef DAP_API_H
#define DAP_API_H

#include "core/dap.h"

struct dap_cno;

/* ---- ia.c ---- */
struct dap_ia_args {
	const char *name, *params;	/* ia_params of dat.conf */
	enum dap_api api;
	bool threadsafe;
	/* Fills ia->tables and ia->hot once the backend is open. */
	int (*make_tables)(struct dap_ia *ia);
	uint32_t async_qlen;
	struct dap_evd *async_evd;	/* the consumer's, or NULL */
	bool no_async_evd;		/* somebody else listens */
};
int dap_ia_open(const struct dap_ia_args *args, struct dap_ia **ia);
int dap_ia_close(struct dap_ia *ia, bool graceful);

/* ---- pz.c ---- */
int dap_pz_create(struct dap_ia *ia, struct dap_pz **pz);
int dap_pz_free(struct dap_pz *pz);
void dap_pz_hold(struct dap_pz *pz);
void dap_pz_drop(struct dap_pz *pz);

/* ---- lmr.c ---- */
struct dap_lmr_args {
	enum dap_mem_type mem_type;
	void *region;			/* address; struct dap_lmr for DAP_MEM_LMR */
	const void *cookie;		/* DAP_MEM_SHARED_VIRTUAL: DAP_COOKIE_SIZE bytes */
	uint64_t length;
	struct dap_pz *pz;
	uint32_t priv;
	bool zero_based;		/* see caps.zero_based */
};
int dap_lmr_create(struct dap_ia *ia, const struct dap_lmr_args *args, struct dap_lmr **lmr);
int dap_lmr_free(struct dap_lmr *lmr);
void dap_lmr_destroy(struct dap_lmr *lmr);
/* Validating mode: [addr, +length) of the LMR that context names, for an endpoint of pz (NULL: any)
 * that needs these rights. */
int dap_lmr_check(const struct dap_ia *ia, const struct dap_pz *pz, uint32_t context, uint64_t addr,
		  uint64_t length, uint32_t priv);

/* ---- rmr.c ---- */
/* for_ep: see caps.rmr_for_ep. */
int dap_rmr_create(struct dap_pz *pz, bool for_ep, struct dap_rmr **rmr);
void dap_rmr_free(struct dap_rmr *rmr);

/* ---- evd/evd.c, evd/queue.c, evd/wait.c ---- */
int dap_evd_create(struct dap_ia *ia, uint32_t qlen, uint32_t flags, struct dap_cno *cno,
		   struct dap_evd **evd);
int dap_evd_free(struct dap_evd *evd);
/* Waiters return with ABORT; from then on nobody can wait. */
void dap_evd_abort(struct dap_evd *evd);
/* No thread waits any more and no stream feeds it. */
void dap_evd_destroy(struct dap_evd *evd);
int dap_evd_resize(struct dap_evd *evd, uint32_t qlen);
void dap_evd_set_waitable(struct dap_evd *evd, bool waitable);
/* DTO completions under these flags begin, or cease, to feed it. INVALID_PARAMETER when they do not
 * go with what else feeds it. */
int dap_evd_add_stream(struct dap_evd *evd, uint32_t completion_flags);
void dap_evd_remove_stream(struct dap_evd *evd);
/* Completions of the endpoint that a wait has set aside are gone. */
void dap_evd_purge(struct dap_evd *evd, const struct dap_ep *ep);
/* nmore is set on success, TIMEOUT_EXPIRED and INTERRUPTED_CALL. */
int dap_evd_wait(struct dap_evd *evd, uint32_t timeout_us, uint32_t threshold, struct dap_event *ev,
		 uint32_t *nmore);

/* ---- evd/trigger.c ---- */
/* What notifies from now on triggers this CNO, or none. */
int dap_evd_set_cno(struct dap_evd *evd, struct dap_cno *cno);
void dap_evd_set_enabled(struct dap_evd *evd, bool enabled);

/* ---- evd/cno.c, evd/cno_wait.c, evd/cno_agent.c ---- */
typedef void (*dap_agent_fn)(void *data, void *evd);
/* fn, unless it is NULL, is called at the first trigger and then no more. */
int dap_cno_create(struct dap_ia *ia, dap_agent_fn fn, void *data, struct dap_cno **cno);
/* fn is called at each trigger; the one before has returned and will not be called again, unless it
 * is it that asks. */
int dap_cno_set_agent(struct dap_cno *cno, dap_agent_fn fn, void *data);
void dap_cno_get_agent(struct dap_cno *cno, dap_agent_fn *fn, void **data);
int dap_cno_free(struct dap_cno *cno);
/* Waiters and agent are told that all EVDs are gone, and have seen it when this returns. */
void dap_cno_abort(struct dap_cno *cno);
/* After that: the CNO is gone. */
void dap_cno_destroy(struct dap_cno *cno);
/* evd is set on success: the one that triggered, or NULL when all are gone. */
int dap_cno_wait(struct dap_cno *cno, uint32_t timeout_us, struct dap_evd **evd);

/* ---- srq.c ---- */
struct dap_srq_args {
	struct dap_pz *pz;
	uint32_t max_recv_dtos, max_recv_iov, low_watermark;
};
int dap_srq_create(struct dap_ia *ia, const struct dap_srq_args *args, struct dap_srq **srq);
int dap_srq_free(struct dap_srq *srq);
void dap_srq_destroy(struct dap_srq *srq);
int dap_srq_resize(struct dap_srq *srq, uint32_t recvs);
int dap_srq_set_lw(struct dap_srq *srq, uint32_t low_watermark);
struct dap_srq_info {
	uint32_t max_recv_dtos, max_recv_iov, low_watermark;
	uint32_t available, outstanding;
	bool counted;			/* the last two are known */
	bool broken;			/* its state is ERROR */
};
void dap_srq_query(struct dap_srq *srq, struct dap_srq_info *info);
/* An endpoint that uses it is made, or gone. */
void dap_srq_hold(struct dap_srq *srq);
void dap_srq_drop(struct dap_srq *srq);
/* Its QP is made, or about to go: nobody dequeues what comes to an internal EVD. */
void dap_srq_join(struct dap_srq *srq, struct dap_ep *ep);
void dap_srq_leave(struct dap_srq *srq, struct dap_ep *ep);

/* ---- ep.c ---- */
struct dap_ep_args {
	struct dap_pz *pz;
	struct dap_evd *recv_evd, *request_evd, *connect_evd;	/* or NULL: not interested */
	struct dap_srq *srq;					/* or NULL */
	const struct dap_ep_attr *attr;				/* or NULL: defaults */
};
int dap_ep_create(struct dap_ia *ia, const struct dap_ep_args *args, struct dap_ep **ep);
/* One of the provider's, for a request: without PZ, EVDs and QP until dap_ep_modify gives it a PZ. The
 * reads it may have and serves are as the request will leave them open: all, and none. */
int dap_ep_provide(struct dap_ia *ia, struct dap_ep **ep);
int dap_ep_free(struct dap_ep *ep);
void dap_ep_destroy(struct dap_ep *ep);
/* For dap_obj_each: the EVD goes, and may be its connect EVD. */
void dap_ep_forget_evd(void *ep, void *evd);
int dap_ep_get_status(struct dap_ep *ep, uint32_t *state, bool *recv_idle, bool *request_idle);

/* ---- ep/recv.c ---- */
/* -1 in *recvs: not known. */
int dap_ep_recv_query(struct dap_ep *ep, int32_t *recvs);
int dap_ep_set_watermark(struct dap_ep *ep, uint32_t soft, uint32_t hard);

/* ---- ep/modify.c ---- */
enum {				/* what a change changes; attributes one bit each */
	DAP_EP_SET_PZ = 1, DAP_EP_SET_RECV_EVD = 2, DAP_EP_SET_REQUEST_EVD = 4,
	DAP_EP_SET_CONNECT_EVD = 8, DAP_EP_SET_ATTR = 0x10,
};
struct dap_ep_change {
	uint32_t set;
	struct dap_pz *pz;
	struct dap_evd *recv_evd, *request_evd, *connect_evd;
	struct dap_ep_attr attr;	/* all of them: those not changed as they were */
};
int dap_ep_modify(struct dap_ep *ep, const struct dap_ep_change *change);

/* ---- ep/attr.c ---- */
void dap_ep_attr_default(const struct dap_ia *ia, struct dap_ep_attr *attr);
/* Zero sizes and iov counts become the default. INVALID_PARAMETER where the adapter can not. */
int dap_ep_attr_check(const struct dap_ia *ia, struct dap_ep_attr *attr);
/* One of the values of DAT_QOS, offered or not. */
bool dap_qos_is_defined(uint32_t qos);

#endif
