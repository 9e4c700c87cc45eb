/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The EFA behind the front: implements the kernel's efa driver as far as libefa uses it. The structures
 * are those of linux-libc-dev's rdma/efa-abi.h. It accesses the device only through softnic_efa.h.
 */
#ifndef SOFTNIC_UVERBS_EFA_H
#define SOFTNIC_UVERBS_EFA_H

#include "softnic/softnic_efa.h"
#include "softnic/uverbs/front.h"

enum { UVE_VENDOR = 0x1d0f };

/* Returns the number of completion vectors. */
uint32_t uve_vectors(const struct uv_device *dev);
uv_command uve_get_context, uve_query_device, uve_query_port, uve_alloc_pd, uve_reg_mr, uve_create_ah;
uv_command uve_create_cq, uve_create_qp, uve_modify_qp, uve_query_qp;

/* Functions of direct.c */
/* The queues of a CQ: uv_obj.queues. (Those of a QP are its softnic_efa_qp.) */
struct uve_cq {
	struct softnic_efa_cq_attr attr;
	struct softnic_efa_cq cq;
};

enum uve_wish {
	UVE_WIDE = 1 << 0,		/* WQEs of 128 bytes */
	UVE_UNSOLICITED = 1 << 1,	/* writes with immediate take no receive */
	UVE_LONG_CQE = 1 << 2,		/* entries of 32 bytes */
};

bool uve_wished(enum uve_wish w);

/* softnic-efadv.so finds these by dlsym. They return 0 or a positive errno, like the calls of efadv. */
struct ibv_context;
struct uve_direct {
	int (*queues)(struct ibv_context *context, bool cq, uint32_t handle, void *to, size_t size);
	int (*caps)(struct ibv_context *context, struct softnic_efa_caps *caps);
	/* sets the flags of objects that this thread creates from now on */
	void (*wish)(unsigned int wishes);
};
EXPORT extern const struct uve_direct softnic_front_efa;

#endif
