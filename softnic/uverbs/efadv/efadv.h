/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of a libefa newer than the installed one, preloaded in front of it. The two queries of 59 are
 * always emulated. With SOFTNIC_EFADV=59, 60 or 63 the calls of that release are emulated too: they
 * report capabilities unknown to 44.0 and create QPs and CQs with them. Those objects are for programs
 * that drive the queues themselves; libefa's own calls do not support them.
 *
 * Structures have the layout of the release named beside them, whatever efadv.h is installed: that
 * header is not included. This library is loaded with softnic-uverbs.so, which gives access to the
 * device.
 */
#ifndef SOFTNIC_EFADV_H
#define SOFTNIC_EFADV_H

#include <infiniband/verbs.h>

#include "softnic/uverbs/efa/front.h"

enum { WITH_QUERIES = 59, WITH_DOORBELL = 60, WITH_WIDE = 63 };

struct efadv_device_attr {
	uint64_t comp_mask;
	uint32_t max_sq_wr, max_rq_wr;
	uint16_t max_sq_sge, max_rq_sge;
	uint16_t inline_buf_size;
	uint16_t inline_buf_size_ex;	/* since 63.0; a reserved field in earlier releases */
	uint32_t device_caps, max_rdma_size;
};
_Static_assert(sizeof(struct efadv_device_attr) == 32, "efadv_device_attr");

struct efadv_qp_init_attr {		/* since 55.0; 65.0 appends 64 flags of work requests */
	uint64_t comp_mask;
	uint32_t driver_qp_type;
	/* since 52.0; this and all later fields were reserved before */
	uint16_t flags;
	uint8_t sl, reserved;
};
_Static_assert(sizeof(struct efadv_qp_init_attr) == 16, "efadv_qp_init_attr");

struct efadv_cq_init_attr;

EXPORT int efadv_query_device(struct ibv_context *context, struct efadv_device_attr *attr,
			      uint32_t inlen);
EXPORT struct ibv_qp *efadv_create_qp_ex(struct ibv_context *context,
					 struct ibv_qp_init_attr_ex *attr,
					 struct efadv_qp_init_attr *efa, uint32_t inlen);
EXPORT struct ibv_cq_ex *efadv_create_cq(struct ibv_context *context,
					 struct ibv_cq_init_attr_ex *attr,
					 struct efadv_cq_init_attr *efa, uint32_t inlen);

/* Returns the release to emulate. 0: the installed libefa, with the queries of 60 added. */
unsigned int sed_release(void);
const struct uve_direct *sed_front(void);
/* Returns the definition in the program's libefa, or NULL. */
void *sed_real(const char *name);

#endif
