/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: the ring in the guest's memory, a page of doorbells in BAR 4 behind those of the QPs. */
#include <errno.h>

#include "softnic/vfio_user/efa/efa.h"

static int attributes(const struct ve_create_cq *in, struct softnic_efa_cq_attr *attr)
{
	*attr = (struct softnic_efa_cq_attr){
		.entries = in->depth,
		.entry_size = (uint16_t)((in->caps2 & VE_CQ_WORDS) * 4),
		.sub_cqs = in->sub_cqs,
		.flags = (in->caps1 & VE_CQ_EVENTS ? SOFTNIC_EFA_CQ_EVENTS : 0) |
			(in->caps2 & VE_CQ_SGID ? SOFTNIC_EFA_CQ_SGID : 0) | SOFTNIC_EFA_CQ_BUS,
		.bus_addr = ve_address(in->addr_lo, in->addr_hi),
	};
	if (in->caps1 & VE_CQ_VIRT)		/* the ring would be given by a key */
		return -EOPNOTSUPP;
	if (in->caps1 & ~(unsigned int)VE_CQ_EVENTS || in->caps2 & ~(VE_CQ_WORDS | VE_CQ_SGID))
		return -EINVAL;
	return 0;
}

static int create(struct vm_efa *efa, const struct ve_create_cq *in, struct softnic_efa_cq *cq)
{
	struct softnic_efa_cq_attr attr;
	int err = attributes(in, &attr);

	if (!err)
		err = softnic_efa_cq_create(efa->nic, &attr, cq);
	if (err)
		return err;
	err = ve_cq_set_eq(efa, cq->cq, in->caps1 & VE_CQ_EVENTS ? in->eqn : -1);
	if (err)
		softnic_efa_cq_destroy(efa->nic, cq->cq);
	return err;
}

int ve_create_cq(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	struct vm_efa *efa = dev->efa;
	uint16_t uar = in->create_cq.uar;
	struct softnic_efa_cq cq;
	int err;

	if (!ve_uar_hold(efa, uar))
		return -EINVAL;
	err = create(efa, &in->create_cq, &cq);
	if (err) {
		ve_uar_drop(efa, uar);
		return err;
	}
	efa->cq[cq.cq].live = true;
	efa->cq[cq.cq].uar = uar;
	efa->cq[cq.cq].db = cq.doorbell;
	out->cq.number = cq.cq;
	out->cq.depth = in->create_cq.depth;
	out->cq.db = (VE_QPS + (uint32_t)cq.cq) * VE_PAGE;
	out->cq.flags = cq.doorbell != NULL;
	return 0;
}

int ve_destroy_cq(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	struct vm_efa *efa = dev->efa;
	uint16_t number = in->number.number;
	int err = softnic_efa_cq_destroy(efa->nic, number);

	(void)out;
	if (err)
		return err;
	ve_cq_set_eq(efa, number, -1);
	ve_uar_drop(efa, efa->cq[number].uar);
	efa->cq[number].live = false;
	return 0;
}

int ve_ring_cq(struct vm_efa *efa, uint32_t number, uint32_t in_page, uint32_t value)
{
	const struct ve_cq *cq = &efa->cq[number];

	if (!cq->live || !cq->db || in_page)
		return -ENOENT;
	__atomic_store_n(cq->db, value, __ATOMIC_RELEASE);
	softnic_efa_kick_cq(efa->nic, (uint16_t)number);
	return 0;
}
