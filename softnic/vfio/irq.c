/* SPDX-License-Identifier: BSD-2-Clause */
/* Interrupts: eventfds of the program, of which the front keeps duplicates. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "softnic/eventfd.h"
#include "softnic/vfio/pci.h"

void vf_irqs_init(struct vf_irqs *irqs)
{
	pthread_mutex_init(&irqs->lock, NULL);
	for (size_t i = 0; i < VF_VECTORS; i++)
		irqs->msix[i] = -1;
	irqs->err = irqs->req = -1;
}

static void replace_fd(int *slot, int fd)
{
	if (*slot >= 0)
		vf_close(*slot);
	*slot = fd;
}

static void disable(struct vf_irqs *irqs)
{
	for (size_t i = 0; i < VF_VECTORS; i++)
		replace_fd(&irqs->msix[i], -1);
	irqs->on = false;
	irqs->enabled = 0;
}

void vf_irqs_clear(struct vf_irqs *irqs)
{
	pthread_mutex_lock(&irqs->lock);
	disable(irqs);
	replace_fd(&irqs->err, -1);
	replace_fd(&irqs->req, -1);
	pthread_mutex_unlock(&irqs->lock);
}

void vf_irqs_free(struct vf_irqs *irqs)
{
	vf_irqs_clear(irqs);
	pthread_mutex_destroy(&irqs->lock);
}

static unsigned int count_of(uint32_t index)
{
	switch (index) {
	case VFIO_PCI_MSIX_IRQ_INDEX:
		return VF_VECTORS;
	case VFIO_PCI_ERR_IRQ_INDEX:
	case VFIO_PCI_REQ_IRQ_INDEX:
		return 1;
	default:
		return 0;	/* a ConnectX has no interrupts but MSI-X */
	}
}

int vf_irq_info(const struct vf_irqs *irqs, struct vfio_irq_info *info)
{
	int err = VF_ARGSZ(info, struct vfio_irq_info, count);

	if (err)
		return err;
	if (info->index >= VFIO_PCI_NUM_IRQS)
		return -EINVAL;
	info->flags = VFIO_IRQ_INFO_EVENTFD;
	if (info->index == VFIO_PCI_INTX_IRQ_INDEX)
		info->flags |= VFIO_IRQ_INFO_MASKABLE | VFIO_IRQ_INFO_AUTOMASKED;
	else if (info->index != VFIO_PCI_MSIX_IRQ_INDEX || !irqs->grows)
		info->flags |= VFIO_IRQ_INFO_NORESIZE;
	info->count = count_of(info->index);
	return 0;
}

void vf_irq_fire(struct vf_irqs *irqs, unsigned int vector)
{
	pthread_mutex_lock(&irqs->lock);
	if (vector < VF_VECTORS)
		sn_eventfd_signal(irqs->msix[vector]);
	pthread_mutex_unlock(&irqs->lock);
}

static size_t data_size(const struct vfio_irq_set *set)
{
	switch (set->flags & VFIO_IRQ_SET_DATA_TYPE_MASK) {
	case VFIO_IRQ_SET_DATA_BOOL:
		return sizeof(uint8_t);
	case VFIO_IRQ_SET_DATA_EVENTFD:
		return sizeof(int32_t);
	default:
		return 0;
	}
}

static bool one_bit(uint32_t v)
{
	return v && !(v & (v - 1));
}

static int check_set(const struct vfio_irq_set *set)
{
	uint32_t data = set->flags & VFIO_IRQ_SET_DATA_TYPE_MASK;
	unsigned int max;

	if (set->argsz < offsetof(struct vfio_irq_set, data) || set->index >= VFIO_PCI_NUM_IRQS)
		return -EINVAL;
	if (!one_bit(data) || set->flags & ~(data | VFIO_IRQ_SET_ACTION_TYPE_MASK))
		return -EINVAL;
	max = count_of(set->index);
	if (set->start >= max || set->count > max - set->start)
		return -EINVAL;
	if (data != VFIO_IRQ_SET_DATA_NONE &&
	    (set->argsz - offsetof(struct vfio_irq_set, data)) / data_size(set) < set->count)
		return -EINVAL;
	/* Masks are ignored here: vectors are masked only in the MSI-X table in the BAR, which the
	 * kernel hides from the program. */
	return (set->flags & VFIO_IRQ_SET_ACTION_TYPE_MASK) == VFIO_IRQ_SET_ACTION_TRIGGER ? 0 : -ENOTTY;
}

/* VFIO accepts only eventfds (eventfd_ctx_fdget). */
static int assign_fd(int *slot, int32_t fd)
{
	int own = -1;

	if (fd >= 0) {
		own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (own < 0)
			return -errno;
		if (!sn_is_eventfd(own)) {
			vf_close(own);
			return -EINVAL;
		}
	}
	replace_fd(slot, own);
	return 0;
}

static int32_t fd_at(const struct vfio_irq_set *set, uint32_t i)
{
	int32_t fd;

	memcpy(&fd, set->data + i * sizeof(fd), sizeof(fd));
	return fd;
}

/*
 * The first call enables the final number of vectors, unless more may be added later. After a failure
 * VFIO leaves no eventfd in the vectors that it has tried.
 */
static int set_fds(struct vf_irqs *irqs, const struct vfio_irq_set *set)
{
	unsigned int end = set->start + set->count;
	uint32_t i;
	int err = 0;

	if (irqs->on && !irqs->grows && end > irqs->enabled)
		return -EINVAL;
	for (i = 0; i < set->count && !err; i++)
		err = assign_fd(&irqs->msix[set->start + i], fd_at(set, i));
	while (err && i)
		replace_fd(&irqs->msix[set->start + --i], -1);
	if (!err && (!irqs->on || end > irqs->enabled)) {
		irqs->on = true;
		irqs->enabled = end;
	}
	return err;
}

/* The program triggers the interrupt itself, as a test. */
static int trigger(struct vf_irqs *irqs, const struct vfio_irq_set *set)
{
	bool all = set->flags & VFIO_IRQ_SET_DATA_NONE;

	if (!irqs->on || set->start + set->count > irqs->enabled)
		return -EINVAL;
	for (uint32_t i = 0; i < set->count; i++)
		if (all || set->data[i])
			sn_eventfd_signal(irqs->msix[set->start + i]);
	return 0;
}

static int set_msix(struct vf_irqs *irqs, const struct vfio_irq_set *set)
{
	if (irqs->on && set->flags & VFIO_IRQ_SET_DATA_NONE && !set->count) {
		disable(irqs);
		return 0;
	}
	return set->flags & VFIO_IRQ_SET_DATA_EVENTFD ? set_fds(irqs, set) : trigger(irqs, set);
}

static int set_one(int *slot, const struct vfio_irq_set *set)
{
	bool none = set->flags & VFIO_IRQ_SET_DATA_NONE;

	if (none ? *slot < 0 : !set->count)
		return -EINVAL;
	if (!set->count)
		replace_fd(slot, -1);
	else if (set->flags & VFIO_IRQ_SET_DATA_EVENTFD)
		return assign_fd(slot, fd_at(set, 0));
	else if (none || set->data[0])
		sn_eventfd_signal(*slot);
	return 0;
}

int vf_irq_set(struct vf_irqs *irqs, const struct vfio_irq_set *set)
{
	int err = check_set(set);

	if (err)
		return err;
	pthread_mutex_lock(&irqs->lock);
	if (set->index == VFIO_PCI_MSIX_IRQ_INDEX)
		err = set_msix(irqs, set);
	else
		err = set_one(set->index == VFIO_PCI_ERR_IRQ_INDEX ? &irqs->err : &irqs->req, set);
	pthread_mutex_unlock(&irqs->lock);
	return err;
}
