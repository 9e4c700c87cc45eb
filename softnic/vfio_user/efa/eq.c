/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event queues. An event is written at once. If the EQ is armed, an interrupt is raised too, which
 * disarms the EQ. The driver does not report how many entries it has taken, so an EQ must have room for
 * one event of each CQ.
 */
#include <errno.h>

#include "softnic/vfio_user/efa/efa.h"

static bool is_valid(const struct ve_create_eq *in)
{
	return in->depth && !(in->depth & (in->depth - 1)) && in->depth <= VE_MAX_EQE &&
		in->caps == sizeof(struct ve_eqe) / 4 && in->vector < VF_VECTORS &&
		in->addr_lo % sizeof(struct ve_eqe) == 0 && !(in->events & ~(uint32_t)VE_EVENT_COMPLETION);
}

static int take_eq(struct vm_efa *efa, const struct ve_eq *eq)
{
	int n = 0;

	pthread_mutex_lock(&efa->eq_lock);
	while (n < VE_EQS && efa->eq[n].live)
		n++;
	if (n < VE_EQS)
		efa->eq[n] = *eq;
	pthread_mutex_unlock(&efa->eq_lock);
	return n < VE_EQS ? n : -ENOMEM;
}

int ve_create_eq(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	const struct ve_create_eq *c = &in->create_eq;
	const struct ve_eq eq = { .live = true, .vector = c->vector, .depth = c->depth,
				  .addr = ve_address(c->addr_lo, c->addr_hi) };
	int n;

	if (!dev->efa->caps.cq_doorbell)
		return -EOPNOTSUPP;
	n = is_valid(c) ? take_eq(dev->efa, &eq) : -EINVAL;
	if (n < 0)
		return n;
	out->number.number = (uint16_t)n;
	return 0;
}

static struct ve_eq *find(struct vm_efa *efa, int eqn)
{
	return eqn >= 0 && eqn < VE_EQS && efa->eq[eqn].live ? &efa->eq[eqn] : NULL;
}

int ve_destroy_eq(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	struct vm_efa *efa = dev->efa;
	struct ve_eq *eq;
	int err = 0;

	(void)out;
	pthread_mutex_lock(&efa->eq_lock);
	eq = find(efa, in->number.number);
	if (!eq)
		err = -EINVAL;
	else if (eq->cqs)
		err = -EBUSY;
	else
		*eq = (struct ve_eq){ 0 };
	pthread_mutex_unlock(&efa->eq_lock);
	return err;
}

int ve_cq_set_eq(struct vm_efa *efa, uint16_t cq, int eqn)
{
	struct ve_eq *before, *after;
	int err = 0;

	pthread_mutex_lock(&efa->eq_lock);
	before = find(efa, efa->cq[cq].eqn);
	after = find(efa, eqn);
	if (eqn >= 0 && !after) {
		err = -EINVAL;
	} else {
		if (before)
			before->cqs--;
		if (after)
			after->cqs++;
		efa->cq[cq].eqn = eqn;
	}
	pthread_mutex_unlock(&efa->eq_lock);
	return err;
}

/* Writes an event. If the EQ's memory cannot be reached, the event is lost but the interrupt is
 * raised. */
static void write_event(struct vm_device *dev, struct ve_eq *eq, uint16_t cq)
{
	uint64_t addr = eq->addr + (uint64_t)(eq->next & (eq->depth - 1)) * sizeof(struct ve_eqe);
	struct ve_eqe *eqe = vm_dma(dev, addr, sizeof(*eqe));

	if (eqe) {
		eqe->reserved = 0;
		eqe->cq = cq;
		eqe->reserved2 = 0;
		eqe->reserved3 = 0;
		__atomic_store_n(&eqe->common, eq->next & eq->depth ? 0 : VE_PHASE, __ATOMIC_RELEASE);
	} else {
		vm_report(dev, "event of CQ %u: no memory at %#llx", cq, (unsigned long long)addr);
	}
	eq->next++;
	eq->unreported = true;
}

static void interrupt(struct vm_device *dev, struct ve_eq *eq)
{
	if (!eq->armed || !eq->unreported)
		return;
	eq->armed = eq->unreported = false;
	vf_irq_fire(&dev->irqs, eq->vector);
}

void ve_event(void *ctx, uint16_t cq)
{
	struct vm_device *dev = ctx;
	struct vm_efa *efa = dev->efa;
	struct ve_eq *eq;

	pthread_mutex_lock(&efa->eq_lock);
	eq = find(efa, efa->cq[cq].eqn);
	if (eq) {
		write_event(dev, eq, cq);
		interrupt(dev, eq);
	}
	pthread_mutex_unlock(&efa->eq_lock);
}

void ve_arm_eq(struct vm_device *dev, uint32_t word)
{
	uint16_t eqn = (uint16_t)word;
	struct ve_eq *eq;

	pthread_mutex_lock(&dev->efa->eq_lock);
	eq = find(dev->efa, eqn);
	if (eq && word & VE_EQ_DB_ARM) {
		eq->armed = true;
		interrupt(dev, eq);
	}
	pthread_mutex_unlock(&dev->efa->eq_lock);
	if (!eq)
		vm_report(dev, "doorbell of EQ %u, which does not exist", eqn);
}
