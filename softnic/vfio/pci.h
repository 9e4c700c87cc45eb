/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a PCI function has, whichever front shows it: config space, interrupts, and the maps of the
 * IOMMU in front of it. None of these knows the device.
 */
#ifndef SOFTNIC_VFIO_PCI_H
#define SOFTNIC_VFIO_PCI_H

#include <linux/vfio.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { VF_CONFIG = 4096, VF_VECTORS = 64, VF_MAPS_MAX = 65535 };

/* ---- config.c */
struct vf_identity {
	uint16_t device, class;
	/*
	 * The client sees the function as it is: MSI-X table in BAR 2, control registers that can be written.
	 * Else a kernel stands in between and keeps these to itself.
	 */
	bool whole;
};
enum { VF_MSIX_BAR = 2, VF_MSIX_SIZE = 8192 };	/* the table, and in the second half the pending bits */
struct vf_config {
	struct vf_identity id;
	uint8_t bytes[VF_CONFIG];
	uint64_t bar_size;
	atomic_bool master;		/* the function may reach memory */
};
void vf_config_reset(struct vf_config *config);
ssize_t vf_config_read(struct vf_config *config, void *buf, size_t n, uint64_t off);
ssize_t vf_config_write(struct vf_config *config, const void *buf, size_t n, uint64_t off);
/* Has the driver begun a function-level reset by its bit in the device control register? Clears the bit. */
bool vf_config_take_flr(struct vf_config *config);

/* ---- irq.c: where interrupts go: eventfds of our own, or -1 */
struct vf_irqs {
	pthread_mutex_t lock;
	bool on;			/* MSI-X has been enabled, for this many vectors: */
	unsigned int enabled;
	bool grows;			/* more vectors may come with a later call */
	int msix[VF_VECTORS];
	int err, req;			/* VFIO_PCI_ERR_IRQ_INDEX, VFIO_PCI_REQ_IRQ_INDEX */
};
void vf_irqs_init(struct vf_irqs *irqs);
void vf_irqs_free(struct vf_irqs *irqs);
void vf_irqs_clear(struct vf_irqs *irqs);	/* no eventfd is left */
int vf_irq_info(const struct vf_irqs *irqs, struct vfio_irq_info *info);
int vf_irq_set(struct vf_irqs *irqs, const struct vfio_irq_set *set);
void vf_irq_fire(struct vf_irqs *irqs, unsigned int vector);
void vf_close(int fd);			/* close(), of the front: a preload stands in front of the name */

/* ---- maps.c: what the IOMMU lets through: memory of this process at a bus address */
struct vf_map {
	uint64_t iova, size;
	uint64_t vaddr;			/* 0: a range that is taken, without memory */
};
struct vf_maps {
	pthread_rwlock_t lock;
	struct vf_map *map;		/* by iova */
	size_t n, room;
};
void vf_maps_init(struct vf_maps *t);
void vf_maps_free(struct vf_maps *t);
void vf_maps_clear(struct vf_maps *t);
struct vf_map *vf_maps_take(struct vf_maps *t, size_t *n);	/* leaves it empty; to be freed */
int vf_maps_add(struct vf_maps *t, const struct vf_map *map);	/* 0, -EEXIST, -ENOSPC, -ENOMEM */
/* Those that lie in the range. 0, or -EINVAL where one lies in it only in part: none is removed. */
int vf_maps_remove(struct vf_maps *t, uint64_t iova, uint64_t size, uint64_t *removed);
void *vf_maps_find(struct vf_maps *t, uint64_t iova, uint64_t len);	/* NULL: not all of it is mapped */

/* 0, -EINVAL when the program's structure is shorter than what is read of it. */
#define VF_ARGSZ(arg, type, last) \
	(((const type *)(arg))->argsz < offsetof(type, last) + sizeof(((type *)0)->last) ? -EINVAL : 0)

#endif
