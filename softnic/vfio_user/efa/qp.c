/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs. The SQ is in BAR 2, the RQ in the guest's memory, and each handle has a page of
 * doorbells in BAR 4. */
#include <errno.h>

#include "softnic/vfio_user/efa/efa.h"

static int attributes(const struct ve_create_qp *in, struct softnic_efa_qp_attr *attr)
{
	*attr = (struct softnic_efa_qp_attr){
		.pd = in->pd,
		.send_cq = (uint16_t)in->send_cq,
		.recv_cq = (uint16_t)in->recv_cq,
		.sq_depth = in->sq_bytes / 64,
		.rq_depth = in->rq_bytes / 16,
		.flags = (in->type == VE_QP_UD ? SOFTNIC_EFA_QP_UD : 0) |
			(in->flags & VE_QP_UNSOLICITED ? SOFTNIC_EFA_QP_UNSOLICITED : 0) |
			SOFTNIC_EFA_QP_BUS_RQ,
		.rq_bus_addr = in->rq_addr,
	};
	if (in->type != VE_QP_UD && in->type != VE_QP_SRD)
		return -EINVAL;
	/* the other flags give a ring by a memory key instead of a bus address */
	if (in->flags & ~(unsigned int)VE_QP_UNSOLICITED)
		return -EOPNOTSUPP;
	return (in->send_cq | in->recv_cq) >= VE_CQS || in->sq_bytes % 64 || in->rq_bytes % 16 ? -EINVAL : 0;
}

static void describe(const struct softnic_efa_qp *qp, struct ve_created_qp *out)
{
	out->handle = qp->handle;
	out->qpn = qp->qpn;
	out->send_sub_cq = qp->sq.sub_cq;
	out->recv_sub_cq = qp->rq.sub_cq;
	out->sq_db = qp->handle * VE_PAGE;
	out->rq_db = qp->handle * VE_PAGE + VE_RQ_DB;
	out->llq = (uint32_t)qp->sq.ring_bar_offset;
}

int ve_create_qp(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	struct vm_efa *efa = dev->efa;
	struct softnic_efa_qp_attr attr;
	struct softnic_efa_qp qp;
	uint16_t uar = in->create_qp.uar;
	int err = attributes(&in->create_qp, &attr);

	if (!err && !ve_uar_hold(efa, uar))
		err = -EINVAL;
	if (err)
		return err;
	err = softnic_efa_qp_create(efa->nic, &attr, &qp);
	if (err) {
		ve_uar_drop(efa, uar);
		return err;
	}
	efa->qp[qp.handle] = (struct ve_qp){
		.live = true,
		.uar = uar,
		.sq = attr.sq_depth ? qp.sq.doorbell : NULL,
		.rq = attr.rq_depth ? qp.rq.doorbell : NULL,
	};
	describe(&qp, &out->qp);
	return 0;
}

int ve_destroy_qp(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	struct vm_efa *efa = dev->efa;
	uint32_t handle = in->handle.handle;
	int err = softnic_efa_qp_destroy(efa->nic, handle);

	(void)out;
	if (err)
		return err;
	ve_uar_drop(efa, efa->qp[handle].uar);
	efa->qp[handle] = (struct ve_qp){ 0 };
	return 0;
}

int ve_modify_qp(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	const struct ve_modify_qp *c = &in->modify_qp;
	const struct softnic_efa_modify m = {
		/* The other bits of the mask, current state and notification, have no effect
		 * here. */
		.mask = c->mask & (SOFTNIC_EFA_SET_STATE | SOFTNIC_EFA_SET_QKEY | SOFTNIC_EFA_SET_SQ_PSN |
				   SOFTNIC_EFA_SET_RNR_RETRY),
		.state = c->state,
		.qkey = c->qkey,
		.sq_psn = c->sq_psn,
		.rnr_retry = c->rnr_retry,
	};

	(void)out;
	return softnic_efa_qp_modify(dev->efa->nic, c->handle, &m);
}

int ve_query_qp(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	struct softnic_efa_modify now;
	int err = softnic_efa_qp_query(dev->efa->nic, in->handle.handle, &now);

	if (err)
		return err;
	out->queried.state = now.state;
	out->queried.qkey = now.qkey;
	out->queried.sq_psn = now.sq_psn;
	out->queried.rnr_retry = now.rnr_retry;
	return 0;
}

/* Does not call softnic_efa_kick, which reports a WQE without a doorbell: the guest continues before the
 * device sees its doorbell, and may have written the next WQE by then. */
int ve_ring_qp(struct vm_efa *efa, uint32_t handle, uint32_t in_page, uint32_t value)
{
	const struct ve_qp *qp = &efa->qp[handle];
	volatile uint32_t *db = in_page == 0 ? qp->sq : in_page == VE_RQ_DB ? qp->rq : NULL;

	if (!qp->live || !db)
		return -ENOENT;
	__atomic_store_n(db, value, __ATOMIC_RELEASE);
	softnic_efa_pump(efa->nic);
	return 0;
}
