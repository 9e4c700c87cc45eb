/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The EFA behind the front: the kernel's efa driver as far as libefa speaks with it. Its structures
 * are those of linux-libc-dev's rdma/efa-abi.h; it sees nothing of the device but softnic_efa.h.
 */
#ifndef SOFTNIC_UVERBS_EFA_H
#define SOFTNIC_UVERBS_EFA_H

#include "softnic/softnic_efa.h"
#include "softnic/uverbs/front.h"

enum { UVE_VENDOR = 0x1d0f };

/* The PCI ids that libefa 44.0 binds end at efa2; later ones are shown as that. */
uint16_t uve_device_id(const struct softnic_efa_caps *caps);
void uve_caps(struct uv_device *dev, struct softnic_efa_caps *caps);

int uve_get_context(struct uv_req *req);
int uve_query_device(struct uv_req *req);
int uve_query_device_ex(struct uv_req *req);
int uve_query_port(struct uv_req *req);
int uve_alloc_pd(struct uv_req *req);
int uve_reg_mr(struct uv_req *req);
int uve_create_ah(struct uv_req *req);
int uve_create_cq(struct uv_req *req);
int uve_create_cq_ex(struct uv_req *req);
int uve_create_qp(struct uv_req *req);
int uve_create_qp_ex(struct uv_req *req);
int uve_modify_qp(struct uv_req *req);
int uve_query_qp(struct uv_req *req);

/* What direct.c tells of an object: in its uv_obj's queues. */
struct uve_cq {
	struct softnic_efa_cq_attr attr;
	struct softnic_efa_cq cq;
};

#endif
