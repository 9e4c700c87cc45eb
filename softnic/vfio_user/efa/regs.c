/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers. A driver reads one by asking for a response in its memory, so that it need not
 * wait for a read over PCIe. */
#include <string.h>

#include "softnic/vfio_user/efa/efa.h"

enum { DMA_BITS = 64, TIMEOUT = 10 };

static uint32_t *reg(struct vm_efa *efa, enum ve_reg r)
{
	return &efa->reg[r / 4];
}

static void reset_registers(struct vm_efa *efa)
{
	memset(efa->reg, 0, sizeof(efa->reg));
	*reg(efa, VE_VERSION) = 1;			/* version 0.1 */
	*reg(efa, VE_CONTROLLER) = 1;			/* version 0.0.1 */
	*reg(efa, VE_CAPS) = TIMEOUT << VE_CAPS_RESET_TIMEOUT | DMA_BITS << VE_CAPS_DMA_WIDTH;
	*reg(efa, VE_DEV_STS) = VE_STS_READY;
	efa->aq_head = efa->acq_tail = 0;
}

void ve_reset(struct vm_device *dev)
{
	struct vm_efa *efa = dev->efa;

	softnic_efa_reset(efa->nic);
	pthread_mutex_lock(&efa->eq_lock);
	memset(efa->eq, 0, sizeof(efa->eq));
	for (size_t i = 0; i < VE_CQS; i++)
		efa->cq[i] = (struct ve_cq){ .eqn = -1 };
	pthread_mutex_unlock(&efa->eq_lock);
	memset(efa->qp, 0, sizeof(efa->qp));
	memset(efa->uar, 0, sizeof(efa->uar));
	efa->aenq_groups = 0;
	reset_registers(efa);
}

uint32_t ve_reg_read(const struct vm_efa *efa, uint32_t offset)
{
	return offset < VE_REGS_END && offset % 4 == 0 ? efa->reg[offset / 4] : UINT32_MAX;
}

/* The word with the request's id is written last, with the rest of the response in one store. */
static void answer(struct vm_device *dev, uint32_t request)
{
	struct vm_efa *efa = dev->efa;
	uint64_t addr = ve_address(*reg(efa, VE_MMIO_LO), *reg(efa, VE_MMIO_HI)), word;
	const struct ve_mmio_response r = { .id = (uint16_t)request, .offset = (uint16_t)(request >> 16),
					    .value = ve_reg_read(efa, request >> 16) };
	void *to = addr % sizeof(r) ? NULL : vm_dma(dev, addr, sizeof(r));

	if (!to) {
		vm_report(dev,
			  "the response for register %#x goes to %#llx, where the guest has no "
			  "memory",
			  r.offset, (unsigned long long)addr);
		return;
	}
	memcpy(&word, &r, sizeof(word));
	__atomic_store_n((uint64_t *)to, word, __ATOMIC_RELEASE);
}

/* Handles the control register. A reset begins when the driver sets the bit, and ends when it
 * clears the bit. */
static void control(struct vm_device *dev, uint32_t value)
{
	if (value & VE_CTL_RESET) {
		ve_reset(dev);
		*reg(dev->efa, VE_DEV_STS) |= VE_STS_RESET;
	} else {
		*reg(dev->efa, VE_DEV_STS) &= ~(uint32_t)VE_STS_RESET;
	}
}

void ve_reg_write(struct vm_device *dev, uint32_t offset, uint32_t value)
{
	struct vm_efa *efa = dev->efa;

	switch (offset) {
	case VE_AQ_LO:
	case VE_AQ_HI:
	case VE_AQ_CAPS:
	case VE_ACQ_LO:
	case VE_ACQ_HI:
	case VE_ACQ_CAPS:
	case VE_AENQ_LO:
	case VE_AENQ_HI:
	case VE_AENQ_CAPS:
	case VE_AENQ_DB:
	case VE_INTR_MASK:
	case VE_MMIO_LO:
	case VE_MMIO_HI:
		*reg(efa, offset) = value;
		break;
	case VE_AQ_DB:
		ve_admin_ring(dev, value);
		break;
	case VE_DEV_CTL:
		control(dev, value);
		break;
	case VE_MMIO_READ:
		answer(dev, value);
		break;
	case VE_EQ_DB:
		ve_arm_eq(dev, value);
		break;
	default:
		vm_report(dev, "write to register %#x, which is read-only or does not exist", offset);
	}
}
