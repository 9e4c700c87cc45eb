/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that the API fronts call. Fronts have checked the arguments: dap_obj_get found handles to be
 * live objects of the IA, and masks and enums are valid. Functions return 0 or a DAP_ERR, and
 * write outputs only on success.
 */
#ifndef DAP_API_H
#define DAP_API_H

#include "core/dap.h"

struct dap_cno;

/* ---- ia.c ---- */
struct dap_ia_args {
	const char *name, *params;	/* from dat.conf */
	enum dap_api api;
	bool threadsafe;
	/* Fills ia->tables and ia->hot once the backend is open. */
	int (*make_tables)(struct dap_ia *ia);
	uint32_t async_qlen;
	struct dap_evd *async_evd;	/* the consumer's EVD, or NULL */
	bool no_async_evd;		/* true if another consumer listens for the IA's async
					 * events */
};
int dap_ia_open(const struct dap_ia_args *args, struct dap_ia **ia);
int dap_ia_close(struct dap_ia *ia, bool graceful);

/* ---- pz.c ---- */
int dap_pz_create(struct dap_ia *ia, struct dap_pz **pz);
int dap_pz_free(struct dap_pz *pz);
void dap_pz_hold(struct dap_pz *pz);
void dap_pz_drop(struct dap_pz *pz);

/* ---- lmr.c ---- */
enum dap_mem_type { DAP_MEM_VIRTUAL = 0, DAP_MEM_LMR = 1, DAP_MEM_SHARED_VIRTUAL = 2 };
struct dap_lmr_args {
	enum dap_mem_type mem_type;
	void *region;			/* an address; for DAP_MEM_LMR a struct dap_lmr */
	const void *cookie;		/* DAP_MEM_SHARED_VIRTUAL: DAP_COOKIE_SIZE bytes */
	uint64_t length;
	struct dap_pz *pz;
	uint32_t priv;
	bool zero_based;		/* see caps.zero_based */
};
int dap_lmr_create(struct dap_ia *ia, const struct dap_lmr_args *args, struct dap_lmr **lmr);
int dap_lmr_free(struct dap_lmr *lmr);
void dap_lmr_destroy(struct dap_lmr *lmr);
/* Validating mode: checks that [addr, +length) lies in the LMR of context, that the LMR has the
 * rights priv, and that the LMR is in pz (NULL: any PZ). */
int dap_lmr_check(const struct dap_ia *ia, const struct dap_pz *pz, uint32_t context, uint64_t addr,
		  uint64_t length, uint32_t priv);

/* ---- rmr.c ---- */
/* for_ep: the window belongs to one endpoint, see caps.rmr_for_ep. */
int dap_rmr_create(struct dap_pz *pz, bool for_ep, struct dap_rmr **rmr);
void dap_rmr_free(struct dap_rmr *rmr);

/* ---- evd/evd.c, evd/queue.c, evd/wait.c ---- */
int dap_evd_create(struct dap_ia *ia, uint32_t qlen, uint32_t flags, struct dap_cno *cno,
		   struct dap_evd **evd);
int dap_evd_free(struct dap_evd *evd);
/* Makes waiters return ABORT. No further thread can wait. */
void dap_evd_abort(struct dap_evd *evd);
/* Frees the EVD. No thread may wait on it, and no stream may feed it. */
void dap_evd_destroy(struct dap_evd *evd);
int dap_evd_resize(struct dap_evd *evd, uint32_t qlen);
void dap_evd_set_waitable(struct dap_evd *evd, bool waitable);
/* A stream of DTO completions with these flags starts or stops feeding the EVD. Returns
 * INVALID_PARAMETER if the EVD's other streams have different flags. */
int dap_evd_add_stream(struct dap_evd *evd, uint32_t completion_flags);
void dap_evd_remove_stream(struct dap_evd *evd, uint32_t completion_flags);
/* Drops the endpoint's completions that a wait has moved from the CQ to the stash. */
void dap_evd_purge(struct dap_evd *evd, const struct dap_ep *ep);
/* nmore is set on success, TIMEOUT_EXPIRED and INTERRUPTED_CALL. */
int dap_evd_wait(struct dap_evd *evd, uint32_t timeout_us, uint32_t threshold, struct dap_event *ev,
		 uint32_t *nmore);

/* ---- evd/trigger.c ---- */
/* From now on notifying events trigger this CNO; NULL: no CNO. */
int dap_evd_set_cno(struct dap_evd *evd, struct dap_cno *cno);
void dap_evd_set_enabled(struct dap_evd *evd, bool enabled);

/* ---- evd/cno.c, evd/cno_wait.c, evd/cno_agent.c ---- */
typedef void (*dap_agent_fn)(void *data, void *evd);
/* If fn is not NULL, it is called at the first trigger only. */
int dap_cno_create(struct dap_ia *ia, dap_agent_fn fn, void *data, struct dap_cno **cno);
/* fn is called at each trigger. When this returns, the old fn has returned and is not called again,
 * unless the old fn itself is the caller. */
int dap_cno_set_agent(struct dap_cno *cno, dap_agent_fn fn, void *data);
void dap_cno_get_agent(struct dap_cno *cno, dap_agent_fn *fn, void **data);
int dap_cno_free(struct dap_cno *cno);
/* Called when all EVDs are freed: ends waits and agent calls, and returns after the last one. */
void dap_cno_abort(struct dap_cno *cno);
/* Frees the CNO, after dap_cno_abort. */
void dap_cno_destroy(struct dap_cno *cno);
/* On success evd is the EVD that triggered the CNO, or NULL if all EVDs are freed. */
int dap_cno_wait(struct dap_cno *cno, uint32_t timeout_us, struct dap_evd **evd);
/* Returns a descriptor that is readable if dap_cno_wait may have an EVD to return. The CNO owns the
 * descriptor and closes it. */
int dap_cno_fd(struct dap_cno *cno, int *fd);

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
	bool counted;			/* true if available and outstanding are known */
	bool broken;			/* true if the SRQ is in state ERROR */
};
void dap_srq_query(struct dap_srq *srq, struct dap_srq_info *info);
/* Called when an endpoint that uses the SRQ is created or freed. */
void dap_srq_hold(struct dap_srq *srq);
void dap_srq_drop(struct dap_srq *srq);
/* Called when the QP of an endpoint is created, or about to be destroyed. If the endpoint's receive
 * EVD is internal, threads that post to the SRQ drop its completions. */
void dap_srq_join(struct dap_srq *srq, struct dap_ep *ep);
void dap_srq_leave(struct dap_srq *srq, struct dap_ep *ep);

/* ---- ep.c ---- */
struct dap_ep_args {
	struct dap_pz *pz;
	/* NULL: the consumer wants no events of that kind */
	struct dap_evd *recv_evd, *request_evd, *connect_evd;
	struct dap_srq *srq;					/* the SRQ, or NULL */
	const struct dap_ep_attr *attr;				/* NULL: default attributes */
};
int dap_ep_create(struct dap_ia *ia, const struct dap_ep_args *args, struct dap_ep **ep);
/* Creates a provided endpoint for a request. It has no PZ, EVDs or QP until dap_ep_modify gives it
 * a PZ. Its read limits suit any request: as initiator the adapter's maximum, as target none. */
int dap_ep_provide(struct dap_ia *ia, struct dap_ep **ep);
int dap_ep_free(struct dap_ep *ep);
void dap_ep_destroy(struct dap_ep *ep);
/* Clears the endpoint's connect EVD if it is this one, or any if evd is NULL, because one of the two is being
 * freed. For dap_obj_each(). */
void dap_ep_forget_evd(void *ep, void *evd);
void dap_ep_get_status(struct dap_ep *ep, uint32_t *state, bool *recv_idle, bool *request_idle);

/* ---- ep/recv.c ---- */
/* *recvs is -1 if unknown. */
int dap_ep_recv_query(struct dap_ep *ep, int32_t *recvs);
int dap_ep_set_watermark(struct dap_ep *ep, uint32_t soft, uint32_t hard);

/* ---- ep/modify.c ---- */
enum {				/* what to change; one bit per attribute */
	DAP_EP_SET_PZ = 1, DAP_EP_SET_RECV_EVD = 2, DAP_EP_SET_REQUEST_EVD = 4,
	DAP_EP_SET_CONNECT_EVD = 8, DAP_EP_SET_ATTR = 0x10,
	DAP_EP_SET_SOFT_HIGH = 0x20,	/* with DAP_EP_SET_ATTR: requests the event again */
};
struct dap_ep_change {
	uint32_t set;
	struct dap_pz *pz;
	struct dap_evd *recv_evd, *request_evd, *connect_evd;
	struct dap_ep_attr attr;	/* all attributes; those without a bit are unchanged */
};
/* The endpoint's lock is held, since the caller has read its attributes. */
int dap_ep_modify(struct dap_ep *ep, const struct dap_ep_change *change);

/* ---- ep/attr.c ---- */
void dap_ep_attr_default(const struct dap_ia *ia, struct dap_ep_attr *attr);
/* Replaces zero sizes and iov counts by defaults. INVALID_PARAMETER if the adapter does not support
 * them. */
int dap_ep_attr_check(const struct dap_ia *ia, struct dap_ep_attr *attr);
/* Returns INVALID_PARAMETER if qos is not a value of DAT_QOS; MODEL_NOT_SUPPORTED if the adapter
 * lacks it. */
int dap_qos_check(const struct dap_ia *ia, uint32_t qos);

#endif
