/* SPDX-License-Identifier: BSD-2-Clause */
/* Capabilities that libefa 44.0 does not define (46.0, 52.0, 63.0), and objects created with them. */
#include <errno.h>

#include "softnic/uverbs/efadv/efadv.h"

enum {
	CAP_RDMA_WRITE = 1 << 3,
	CAP_UNSOLICITED = 1 << 4,
	QP_UNSOLICITED = 1 << 0,
	NARROW_INLINE = 32,
};

int efadv_query_device(struct ibv_context *context, struct efadv_device_attr *attr, uint32_t inlen)
{
	__typeof__(&efadv_query_device) real =
		(__typeof__(real))sed_real("efadv_query_device");
	struct softnic_efa_caps caps;
	int err = real ? real(context, attr, inlen) : EOPNOTSUPP;

	if (err || sed_release() < WITH_QUERIES || inlen < sizeof(*attr) ||
	    sed_front()->caps(context, &caps))
		return err;
	attr->device_caps |= (caps.rdma_write ? CAP_RDMA_WRITE : 0u) |
			     (caps.unsolicited_write_recv ? CAP_UNSOLICITED : 0u);
	if (sed_release() >= WITH_WIDE)
		attr->inline_buf_size_ex = caps.wide_wqe ? caps.inline_max_wide : caps.inline_max;
	return 0;
}

/* Removes the flags that this device supports and libefa 44.0 would refuse. libefa checks the other
 * flags. */
static unsigned int take_wishes(const struct softnic_efa_caps *caps,
				struct ibv_qp_init_attr_ex *attr, struct efadv_qp_init_attr *efa)
{
	unsigned int wishes = 0;

	if (caps->rdma_write)
		attr->send_ops_flags &= ~(uint64_t)(IBV_QP_EX_WITH_RDMA_WRITE |
						    IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM);
	if (caps->unsolicited_write_recv && efa->flags & QP_UNSOLICITED) {
		efa->flags &= (uint16_t)~QP_UNSOLICITED;
		wishes |= UVE_UNSOLICITED;
	}
	if (sed_release() >= WITH_WIDE && caps->wide_wqe &&
	    attr->cap.max_inline_data > NARROW_INLINE &&
	    attr->cap.max_inline_data <= caps->inline_max_wide) {
		attr->cap.max_inline_data = NARROW_INLINE;
		wishes |= UVE_WIDE;
	}
	return wishes;
}

struct ibv_qp *efadv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				  struct efadv_qp_init_attr *efa, uint32_t inlen)
{
	__typeof__(&efadv_create_qp_ex) real =
		(__typeof__(real))sed_real("efadv_create_qp_ex");
	struct efadv_qp_init_attr copy;
	struct softnic_efa_caps caps;
	struct ibv_qp *qp;

	if (!real) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (sed_release() < WITH_QUERIES || inlen != sizeof(copy) ||
	    sed_front()->caps(context, &caps))
		return real(context, attr, efa, inlen);
	copy = *efa;
	sed_front()->wish(take_wishes(&caps, attr, &copy));
	qp = real(context, attr, &copy, inlen);
	sed_front()->wish(0);
	return qp;
}

enum { CQ_INIT_ATTR_59 = 48 };		/* sizeof(struct efadv_cq_init_attr) since 59.0 */

/*
 * Repeats a bug of 59.0 and 60.0. They treat the structure of a caller built with older headers as
 * longer than their own. They then check that the bytes after their own structure are zero, which reads
 * the stack and fails.
 */
static bool refused_by_length(const void *attr, uint32_t inlen)
{
	const uint8_t *bytes = attr;

	if (sed_release() != WITH_QUERIES && sed_release() != WITH_DOORBELL)
		return false;
	if (inlen > sizeof(void *) && inlen < CQ_INIT_ATTR_59)
		return true;
	for (uint32_t i = CQ_INIT_ATTR_59; i < inlen; i++)
		if (bytes[i])
			return true;
	return false;
}

struct ibv_cq_ex *efadv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr,
				  struct efadv_cq_init_attr *efa, uint32_t inlen)
{
	__typeof__(&efadv_create_cq) real = (__typeof__(real))sed_real("efadv_create_cq");
	struct ibv_cq_ex *cq;

	if (!real) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (refused_by_length(efa, inlen)) {
		errno = EINVAL;
		return NULL;
	}
	sed_front()->wish(sed_release() < WITH_QUERIES ? 0 : UVE_LONG_CQE);
	cq = real(context, attr, efa, inlen);
	sed_front()->wish(0);
	return cq;
}
