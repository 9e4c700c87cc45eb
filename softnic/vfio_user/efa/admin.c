/* SPDX-License-Identifier: BSD-2-Clause */
/* The admin queue: commands from the AQ, responses to the ACQ, both rings in the guest's memory. */
#include <errno.h>
#include <string.h>

#include "softnic/vfio_user/efa/efa.h"

static ve_fn *const commands[VE_OPCODES] = {
	[VE_CREATE_QP] = ve_create_qp,
	[VE_MODIFY_QP] = ve_modify_qp,
	[VE_QUERY_QP] = ve_query_qp,
	[VE_DESTROY_QP] = ve_destroy_qp,
	[VE_CREATE_AH] = ve_create_ah,
	[VE_DESTROY_AH] = ve_destroy_ah,
	[VE_REG_MR] = ve_reg_mr,
	[VE_DEREG_MR] = ve_dereg_mr,
	[VE_CREATE_CQ] = ve_create_cq,
	[VE_DESTROY_CQ] = ve_destroy_cq,
	[VE_GET_FEATURE] = ve_get_feature,
	[VE_SET_FEATURE] = ve_set_feature,
	[VE_GET_STATS] = ve_get_stats,
	[VE_ALLOC_PD] = ve_alloc_pd,
	[VE_DEALLOC_PD] = ve_dealloc_pd,
	[VE_ALLOC_UAR] = ve_alloc_uar,
	[VE_DEALLOC_UAR] = ve_dealloc_uar,
	[VE_CREATE_EQ] = ve_create_eq,
	[VE_DESTROY_EQ] = ve_destroy_eq,
};

static uint32_t reg(const struct vm_efa *efa, enum ve_reg r)
{
	return efa->reg[r / 4];
}

/* Returns the number of entries of a ring, or 0 if it is not a power of two or the entries do not
 * have the expected size. */
static uint32_t depth_of(const struct vm_efa *efa, enum ve_reg caps, uint32_t size_mask)
{
	uint32_t v = reg(efa, caps), depth = v & 0xffff;

	return (v >> 16 & size_mask) == VE_ENTRY && !(depth & (depth - 1)) ? depth : 0;
}

static void *entry(struct vm_device *dev, enum ve_reg lo, enum ve_reg hi, uint32_t index)
{
	uint64_t ring = ve_address(reg(dev->efa, lo), reg(dev->efa, hi));

	return ring % VE_ENTRY ? NULL : vm_dma(dev, ring + (uint64_t)index * VE_ENTRY, VE_ENTRY);
}

static uint8_t status_of(int err)
{
	switch (err) {
	case 0:
		return VE_OK;
	case -ENOMEM:
		return VE_NO_RESOURCE;
	case -EOPNOTSUPP:
		return VE_UNSUPPORTED;
	case -EBUSY:
		return VE_BUSY;
	default:
		return VE_ILLEGAL;
	}
}

/* Returns the phase bit of entry n: 1 during the first lap of the ring. */
static uint8_t phase_of(uint32_t n, uint32_t depth)
{
	return n & depth ? 0 : VE_PHASE;
}

static uint8_t execute(struct vm_device *dev, const union ve_command *in, union ve_response *out,
		       uint8_t phase)
{
	uint8_t opcode = in->head.opcode;
	ve_fn *fn = opcode < VE_OPCODES ? commands[opcode] : NULL;
	int err;

	if ((in->head.flags & VE_PHASE) != phase)
		return VE_MALFORMED;
	err = fn ? fn(dev, in, out) : -EOPNOTSUPP;
	if (err)
		vm_report(dev, "admin command %u: %s", opcode, strerror(-err));
	return status_of(err);
}

/* The phase bit is written last, because the driver looks at it first. */
static void respond(struct vm_device *dev, union ve_response *to, union ve_response *out, uint8_t phase)
{
	uint32_t first;

	out->status.sq_head = dev->efa->aq_head;
	out->status.flags = phase;
	memcpy(&first, out, sizeof(first));
	memcpy(to->bytes + sizeof(first), out->bytes + sizeof(first), VE_ENTRY - sizeof(first));
	__atomic_store_n((uint32_t *)(void *)to->bytes, first, __ATOMIC_RELEASE);
	if (!(reg(dev->efa, VE_INTR_MASK) & VE_INTR_MASKED))
		vf_irq_fire(&dev->irqs, reg(dev->efa, VE_ACQ_CAPS) >> VE_ACQ_VECTOR);
}

/* Copies the command first: the guest may change it meanwhile. False: a ring is not in the guest's
 * memory. */
static bool take_one(struct vm_device *dev, uint32_t depth, uint32_t acq_depth)
{
	struct vm_efa *efa = dev->efa;
	const void *from = entry(dev, VE_AQ_LO, VE_AQ_HI, efa->aq_head & (depth - 1));
	void *to = entry(dev, VE_ACQ_LO, VE_ACQ_HI, efa->acq_tail & (acq_depth - 1));
	union ve_response out = { 0 };
	union ve_command in;
	uint8_t status;

	if (!from || !to)
		return false;
	memcpy(&in, from, sizeof(in));
	status = execute(dev, &in, &out, phase_of(efa->aq_head, depth));
	if (status)
		out = (union ve_response){ 0 };
	out.status.id = in.head.id;
	out.status.status = status;
	efa->aq_head++;
	respond(dev, to, &out, phase_of(efa->acq_tail++, acq_depth));
	return true;
}

void ve_admin_ring(struct vm_device *dev, uint32_t producer)
{
	struct vm_efa *efa = dev->efa;
	uint32_t depth = depth_of(efa, VE_AQ_CAPS, 0xffff), acq_depth = depth_of(efa, VE_ACQ_CAPS, 0xff);
	uint16_t n = (uint16_t)(producer - efa->aq_head);

	if (!depth || !acq_depth || n > depth) {
		vm_report(dev, "admin doorbell %#x after %#x, queues of %u and %u entries", producer,
			  efa->aq_head, depth, acq_depth);
		return;
	}
	while (n--) {
		if (take_one(dev, depth, acq_depth))
			continue;
		vm_report(dev, "no memory for the admin queues; the device needs a reset");
		efa->reg[VE_DEV_STS / 4] |= VE_STS_FATAL;
		return;
	}
}
