/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access through the kernel's efa driver, by libibverbs and libefa (efadv). The library creates all
 * objects and reports where their queues are. Descriptors, doorbells and completions bypass the library.
 *
 *   efadv.c        lists and opens devices
 *   efadv_caps.c   queries capabilities, and tries what no query reports
 *   efadv_obj.c    operations: PDs, registrations, address handles, CQs, QPs, events
 *
 * libefa reports queues from rdma-core 59 on, and the doorbell that arms a CQ from 60 on. This code
 * compiles with headers as old as those of 44.0: it looks the two queries up in the process, and declares
 * here what newer headers have. libefa accepts structures of other lengths, and does not write the fields
 * that it does not know.
 */
#ifndef EFA_CTL_EFADV_H
#define EFA_CTL_EFADV_H

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include "core/endian.h"
#include "hw_efa/ctl/ctl.h"

struct edv_wq_attr {			/* the layout of efadv_wq_attr, since 59.0 */
	uint64_t comp_mask;
	uint8_t *buffer;
	uint32_t entry_size, num_entries;
	uint32_t *doorbell;
	uint32_t max_batch;
	uint16_t caps;			/* since 65.0 */
	uint8_t reserved[2];
};
WIRE_SIZE(struct edv_wq_attr, 40);
WIRE_AT(struct edv_wq_attr, doorbell, 24);
WIRE_AT(struct edv_wq_attr, max_batch, 32);

struct edv_cq_attr {			/* the layout of efadv_cq_attr, since 59.0 */
	uint64_t comp_mask;
	uint8_t *buffer;
	uint32_t entry_size, num_entries;
	uint32_t *doorbell;		/* since 60.0 */
};
WIRE_SIZE(struct edv_cq_attr, 32);
WIRE_AT(struct edv_cq_attr, doorbell, 24);

struct edv_device_attr {			/* the layout of efadv_device_attr */
	uint64_t comp_mask;
	uint32_t max_sq_wr, max_rq_wr;
	uint16_t max_sq_sge, max_rq_sge;
	uint16_t inline_buf_size;
	uint16_t inline_buf_size_ex;	/* 63.0: of WQEs of 128 bytes; before: reserved, zero */
	uint32_t device_caps, max_rdma_size;
};
WIRE_SIZE(struct edv_device_attr, sizeof(struct efadv_device_attr));
WIRE_AT(struct edv_device_attr, device_caps, offsetof(struct efadv_device_attr, device_caps));

enum {					/* bits of edv_device_attr.device_caps that 44.0 does not define */
	EDV_CAP_RDMA_WRITE = 1 << 3,	/* since 46.0 */
};

struct edv_qp_init_attr {		/* efadv_qp_init_attr as of 55.0 */
	uint64_t comp_mask;
	uint32_t driver_qp_type;
	uint16_t flags;
	uint8_t sl, reserved;
};
/* release 65.0 has more fields after these */
WIRE_SIZE(struct edv_qp_init_attr, 16);
_Static_assert(sizeof(struct edv_qp_init_attr) <= sizeof(struct efadv_qp_init_attr),
	       "the older struct is a prefix");

/*
 * The length of this structure is that of 59.0, because 59.0 and 60.0 refuse a shorter structure (59.1,
 * 60.1 and 61.0 do not). Older releases accept a longer structure if its additional bytes are zero.
 */
struct edv_cq_init_attr {		/* efadv_cq_init_attr */
	uint64_t comp_mask, wc_flags;
	uint8_t unused[32];		/* the memory that a caller may give for the CQ */
};
WIRE_SIZE(struct edv_cq_init_attr, 48);
WIRE_AT(struct edv_cq_init_attr, wc_flags, offsetof(struct efadv_cq_init_attr, wc_flags));

struct edv {
	struct efa_ctl ctl;
	struct ibv_context *ctx;
	int (*query_wqs)(struct ibv_qp *qp, struct edv_wq_attr *sq, struct edv_wq_attr *rq,
			 uint32_t inlen);
	int (*query_cq)(struct ibv_cq *cq, struct edv_cq_attr *attr, uint32_t inlen);
};

static inline struct edv *edv_of(struct efa_ctl *ctl)
{
	return (struct edv *)ctl;
}

enum { EDV_PORT = 1 };			/* number of an EFA's only port */

/* ---- efadv_caps.c ---- */
/* Fills in ctl.caps. Returns 0, or -errno with cause and remedy in why. */
int edv_caps_read(struct edv *dv, char *why, size_t whylen);

/* ---- efadv_obj.c ---- */
extern const struct efa_ctl_ops edv_ops;

#endif
