/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access through the kernel's efa driver, by libibverbs and libefa (efadv). The library makes all
 * objects and says where their queues lie; descriptors, doorbells and completions pass it by.
 *
 *   efadv.c        opening and closing
 *   efadv_list.c   which devices there are, and why one can not be opened
 *   efadv_caps.c   what a device can: asked, or found out with objects made to try
 *   efadv_obj.c    PDs, registrations, address handles, QPs
 *   efadv_cq.c     the CQ and its events; those of the device
 *
 * rdma-core reports the queues from 59 on, the doorbell that arms a CQ from 60 on. This is built
 * with headers as old as those of 44.0, so that the calls are looked up in the process, and what
 * newer headers have is declared here. The library takes structures by their length: fields that one
 * does not know stay as they were before the call, zero.
 */
#ifndef EFA_CTL_EFADV_H
#define EFA_CTL_EFADV_H

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include "hw_common/verbs.h"
#include "hw_efa/ctl/ctl.h"

struct edv_wq_attr {			/* efadv_wq_attr, 59.0 */
	uint64_t comp_mask;
	uint8_t *buffer;
	uint32_t entry_size, num_entries;
	uint32_t *doorbell;
	uint32_t max_batch;
	uint16_t caps;			/* 65.0 */
	uint8_t reserved[2];
};
_Static_assert(sizeof(struct edv_wq_attr) == 40 && offsetof(struct edv_wq_attr, doorbell) == 24 &&
	       offsetof(struct edv_wq_attr, max_batch) == 32, "efadv_wq_attr");

struct edv_cq_attr {			/* efadv_cq_attr, 59.0 */
	uint64_t comp_mask;
	uint8_t *buffer;
	uint32_t entry_size, num_entries;
	uint32_t *doorbell;		/* 60.0 */
};
_Static_assert(sizeof(struct edv_cq_attr) == 32 && offsetof(struct edv_cq_attr, doorbell) == 24,
	       "efadv_cq_attr");

struct edv_device_attr {			/* efadv_device_attr */
	uint64_t comp_mask;
	uint32_t max_sq_wr, max_rq_wr;
	uint16_t max_sq_sge, max_rq_sge;
	uint16_t inline_buf_size;
	uint16_t inline_buf_size_ex;	/* 63.0: of WQEs of 128 bytes; before: reserved, zero */
	uint32_t device_caps, max_rdma_size;
};
_Static_assert(sizeof(struct edv_device_attr) == sizeof(struct efadv_device_attr) &&
	       offsetof(struct edv_device_attr, device_caps) ==
		       offsetof(struct efadv_device_attr, device_caps), "efadv_device_attr");

enum {					/* edv_device_attr.device_caps that 44.0 does not name */
	EDV_CAP_RDMA_WRITE = 1 << 3,	/* 46.0 */
	EDV_CAP_UNSOLICITED = 1 << 4,	/* 52.0 */
};

struct edv_qp_init_attr {		/* efadv_qp_init_attr as of 55.0 */
	uint64_t comp_mask;
	uint32_t driver_qp_type;
	uint16_t flags;
	uint8_t sl, reserved;
};
/* 65.0 has more behind these. */
_Static_assert(sizeof(struct edv_qp_init_attr) == 16 &&
	       sizeof(struct edv_qp_init_attr) <= sizeof(struct efadv_qp_init_attr),
	       "efadv_qp_init_attr");

/*
 * The length of 59.0 on, since 59.0 and 60.0 refuse one that is shorter (59.1, 60.1 and 61.0 do not);
 * those before take what is longer, as long as it is zero.
 */
struct edv_cq_init_attr {		/* efadv_cq_init_attr */
	uint64_t comp_mask, wc_flags;
	uint8_t unused[32];		/* memory of the caller's for the CQ */
};
_Static_assert(sizeof(struct edv_cq_init_attr) == 48 &&
	       offsetof(struct edv_cq_init_attr, wc_flags) ==
		       offsetof(struct efadv_cq_init_attr, wc_flags), "efadv_cq_init_attr");

enum { EDV_QP_UNSOLICITED = 1 << 0 };	/* edv_qp_init_attr.flags, 52.0 */

struct edv_queries {
	int (*wqs)(struct ibv_qp *qp, struct edv_wq_attr *sq, struct edv_wq_attr *rq, uint32_t inlen);
	int (*cq)(struct ibv_cq *cq, struct edv_cq_attr *attr, uint32_t inlen);
};

struct edv {
	struct efa_ctl ctl;
	struct ibv_context *ctx;
	struct edv_queries query;
	struct efa_caps caps;
	int poll_fd;			/* what happens to the device */
	bool gone;			/* the event of its removal was delivered */
};

static inline struct edv *edv_of(struct efa_ctl *ctl)
{
	return (struct edv *)ctl;
}

enum { EDV_PORT = 1 };			/* an EFA has one */

/* ---- efadv_list.c ---- */
/* Fills in ctx and query: 0; -ENODEV, with words only where the device is an EFA; or -errno with
 * cause and cure. */
int edv_device_open(struct edv *dv, const char *ia_name, char *why, size_t whylen);
void edv_device_close(struct edv *dv);
size_t edv_list(struct dapl_device *devs, size_t max);

/* ---- efadv_caps.c ---- */
/* Fills in caps: 0, or -errno with cause and cure. */
int edv_caps_read(struct edv *dv, char *why, size_t whylen);
int edv_caps(struct efa_ctl *ctl, struct efa_caps *caps);

/* ---- efadv_obj.c ---- */
int edv_pd_alloc(struct efa_ctl *ctl, void **pd);
int edv_pd_free(struct efa_ctl *ctl, void *pd);
int edv_mr_reg(struct efa_ctl *ctl, void *pd, uint64_t addr, uint64_t len, unsigned int access,
	      struct efa_mr *mr);
int edv_mr_dereg(struct efa_ctl *ctl, struct efa_mr *mr);
int edv_ah_create(struct efa_ctl *ctl, void *pd, const uint8_t gid[16], uint16_t *ah, void **priv);
void edv_ah_destroy(struct efa_ctl *ctl, void *pd, uint16_t ah, void *priv);
/* Creates a QP and returns the attributes of its queues. */
int edv_qp_make(struct edv *dv, const struct efa_qp_param *p, struct ibv_qp **qp,
	       struct edv_wq_attr *sq, struct edv_wq_attr *rq);
int edv_qp_create(struct efa_ctl *ctl, const struct efa_qp_param *p, uint32_t qkey,
		 struct efa_qp_res *qp);
int edv_qp_ready(struct efa_ctl *ctl, struct efa_qp_res *qp);
int edv_qp_error(struct efa_ctl *ctl, struct efa_qp_res *qp);
void edv_qp_destroy(struct efa_ctl *ctl, struct efa_qp_res *qp);

/* ---- efadv_cq.c ---- */
struct edv_cq {				/* efa_cq_res.priv */
	struct ibv_cq *cq;
	struct ibv_comp_channel *channel;	/* NULL: it cannot be armed */
};

/* events: of a device that has such, with a channel. */
int edv_cq_make(struct edv *dv, uint32_t entries, bool events, struct edv_cq *q,
	       struct edv_cq_attr *attr);
void edv_cq_unmake(struct edv_cq *q);
int edv_cq_create(struct efa_ctl *ctl, uint32_t entries, struct efa_cq_res *cq);
void edv_cq_destroy(struct efa_ctl *ctl, struct efa_cq_res *cq);
int edv_cq_arm(struct efa_ctl *ctl, struct efa_cq_res *cq, uint32_t consumed);
int edv_cq_fd(struct efa_ctl *ctl, struct efa_cq_res *cq);
void edv_cq_drain(struct efa_ctl *ctl, struct efa_cq_res *cq);
/* 0, or -errno. */
int edv_events_open(struct edv *dv);
int edv_async_fd(struct efa_ctl *ctl);
bool edv_async_read(struct efa_ctl *ctl, enum efa_event *ev);

#endif
