/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of a PCI function that both fronts share: config space, interrupts, and the maps of its
 * IOMMU. None of them depends on the device.
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
	uint16_t vendor, device, class, subsystem;
	/*
	 * The client sees the whole function: MSI-X table in a BAR, writable control registers.
	 * Otherwise vfio-pci in a kernel would hide these.
	 */
	bool whole;
	bool gateway;			/* a ConnectX's vendor-specific capability; with `whole` */
	uint8_t msix_bar;
};
enum { VF_BARS = 6, VF_BAR_64 = 0x4, VF_BAR_PREFETCH = 0x8 };
struct vf_bar {
	uint64_t size;			/* 0: there is none, or it is the upper half of the one before */
	uint8_t type;			/* VF_BAR_64, VF_BAR_PREFETCH */
};
enum { VF_MSIX_SIZE = 8192 };		/* the table, and in the second half the pending bits */
struct vf_config {
	struct vf_identity id;
	uint8_t bytes[VF_CONFIG];
	struct vf_bar bar[VF_BARS];
	atomic_bool master;		/* bus mastering: the function may reach memory */
};
void vf_config_reset(struct vf_config *config);
ssize_t vf_config_read(struct vf_config *config, void *buf, size_t n, uint64_t off);
ssize_t vf_config_write(struct vf_config *config, const void *buf, size_t n, uint64_t off);
/* Has the driver started a function-level reset through the device control register? Clears the bit. */
bool vf_config_take_flr(struct vf_config *config);

/* ---- irq.c: targets of interrupts: the front's own eventfds, or -1 */
struct vf_irqs {
	pthread_mutex_t lock;
	bool on;			/* MSI-X is enabled, for this many vectors: */
	unsigned int enabled;
	bool grows;			/* a later call may add vectors */
	int msix[VF_VECTORS];
	int err, req;			/* VFIO_PCI_ERR_IRQ_INDEX, VFIO_PCI_REQ_IRQ_INDEX */
};
void vf_irqs_init(struct vf_irqs *irqs);
void vf_irqs_free(struct vf_irqs *irqs);
void vf_irqs_clear(struct vf_irqs *irqs);	/* drops all eventfds */
int vf_irq_info(const struct vf_irqs *irqs, struct vfio_irq_info *info);
int vf_irq_set(struct vf_irqs *irqs, const struct vfio_irq_set *set);
void vf_irq_fire(struct vf_irqs *irqs, unsigned int vector);
void vf_close(int fd);			/* the front's close(): a preload replaces that name */

/* ---- maps.c: memory of this process at a bus address, as the IOMMU translates it */
struct vf_map {
	uint64_t iova, size;
	uint64_t vaddr;			/* 0: a reserved range without memory */
};
struct vf_maps {
	pthread_rwlock_t lock;
	struct vf_map *map;		/* by iova */
	size_t n, room;
};
void vf_maps_init(struct vf_maps *t);
void vf_maps_free(struct vf_maps *t);
void vf_maps_clear(struct vf_maps *t);
struct vf_map *vf_maps_take(struct vf_maps *t, size_t *n);	/* empties it; the caller frees them */
int vf_maps_add(struct vf_maps *t, const struct vf_map *map);	/* 0, -EEXIST, -ENOSPC, -ENOMEM */
/* Removes the maps in the range. 0, or -EINVAL if one lies in it only partly: none is removed. */
int vf_maps_remove(struct vf_maps *t, uint64_t iova, uint64_t size, uint64_t *removed);
void *vf_maps_find(struct vf_maps *t, uint64_t iova, uint64_t len);	/* NULL: not all of it is mapped */

/* 0, -EINVAL if the program's structure is too short. */
#define VF_ARGSZ(arg, type, last) \
	(((const type *)(arg))->argsz < offsetof(type, last) + sizeof(((type *)0)->last) ? -EINVAL : 0)

#endif
