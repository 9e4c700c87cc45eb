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

/* ---- Functions of config.c */
struct vf_identity {
	uint16_t vendor, device, class, subsystem;
	/*
	 * The client sees the whole function: MSI-X table in a BAR, writable control registers. Without
	 * this flag they are hidden, as by vfio-pci in a kernel.
	 */
	bool whole;
	/* the function has the vendor-specific capability of a ConnectX; only together with `whole` */
	bool gateway;
	uint8_t msix_bar;
};
enum { VF_BARS = 6, VF_BAR_64 = 0x4, VF_BAR_PREFETCH = 0x8 };
struct vf_bar {
	/* 0: there is no such BAR, or this register is the upper half of a 64-bit BAR */
	uint64_t size;
	uint8_t type;			/* flags VF_BAR_64, VF_BAR_PREFETCH */
};
/* size of the BAR: the table, and the pending bits in the second half */
enum { VF_MSIX_SIZE = 8192 };
struct vf_config {
	struct vf_identity id;
	uint8_t bytes[VF_CONFIG];
	struct vf_bar bar[VF_BARS];
	atomic_bool master;		/* the bus master bit: the function may access memory */
};
void vf_config_reset(struct vf_config *config);
/* Return n, or -EFAULT: config space ends before the last byte. */
ssize_t vf_config_read(struct vf_config *config, void *buf, size_t n, uint64_t off);
ssize_t vf_config_write(struct vf_config *config, const void *buf, size_t n, uint64_t off);
/* Has the driver started a function-level reset through the device control register? Clears the bit. */
bool vf_config_take_flr(struct vf_config *config);

/* ---- Functions of irq.c: targets of interrupts are the front's own eventfds, or -1 */
struct vf_irqs {
	pthread_mutex_t lock;
	bool on;			/* MSI-X is enabled, for `enabled` vectors */
	unsigned int enabled;
	bool grows;			/* a later call may add vectors */
	int msix[VF_VECTORS];
	/* targets of VFIO_PCI_ERR_IRQ_INDEX and VFIO_PCI_REQ_IRQ_INDEX */
	int err, req;
};
void vf_irqs_init(struct vf_irqs *irqs);
void vf_irqs_free(struct vf_irqs *irqs);
void vf_irqs_clear(struct vf_irqs *irqs);	/* drops all eventfds */
int vf_irq_info(const struct vf_irqs *irqs, struct vfio_irq_info *info);
int vf_irq_set(struct vf_irqs *irqs, const struct vfio_irq_set *set);
void vf_irq_fire(struct vf_irqs *irqs, unsigned int vector);
/* the front's own close(): in a preload the name close() is replaced */
void vf_close(int fd);

/* ---- Functions of maps.c: memory of this process at a bus address, as the IOMMU translates it */
struct vf_map {
	uint64_t iova, size;
	uint64_t vaddr;			/* 0: the range is reserved and has no memory */
	bool read_only;			/* the device may not write */
};
struct vf_maps {
	pthread_rwlock_t lock;
	struct vf_map *map;		/* sorted by iova */
	size_t n, room;
};
void vf_maps_init(struct vf_maps *t);
void vf_maps_free(struct vf_maps *t);
void vf_maps_clear(struct vf_maps *t);
/* empties the table; the caller frees the maps */
struct vf_map *vf_maps_take(struct vf_maps *t, size_t *n);
/* returns 0, -EEXIST, -ENOSPC or -ENOMEM */
int vf_maps_add(struct vf_maps *t, const struct vf_map *map);
/* Removes the maps in the range. Returns 0, or -EINVAL if a map lies in it only partly: then none
 * is removed. */
int vf_maps_remove(struct vf_maps *t, uint64_t iova, uint64_t size, uint64_t *removed);
/* Returns the memory. NULL: a part of the range is not mapped for this access. */
void *vf_maps_find(struct vf_maps *t, uint64_t iova, uint64_t len, bool write);

/* Evaluates to 0, or to -EINVAL if the program's structure is too short. */
#define VF_ARGSZ(arg, type, last) \
	(((const type *)(arg))->argsz < offsetof(type, last) + sizeof(((type *)0)->last) ? -EINVAL : 0)

#endif
