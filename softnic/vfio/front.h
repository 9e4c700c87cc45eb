/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of the preload that shows stock rdma-core a ConnectX behind VFIO. It stands where the
 * kernel's vfio, vfio_iommu_type1 and vfio-pci stand: descriptors, the IOMMU, config space,
 * interrupts. The device behind it is cold: its driver boots it, by the BAR that it maps. Nothing
 * is seen of the device but softnic.h.
 *
 * Locks, outermost first: the front's, (inside of softnic: the model's), a container's maps, a
 * device's interrupts. The last two are all that the model's callbacks take.
 */
#ifndef SOFTNIC_VFIO_FRONT_H
#define SOFTNIC_VFIO_FRONT_H

#include <limits.h>
#include <linux/vfio.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "softnic/softnic.h"
#include "softnic/preload/preload.h"
#include "softnic/vfio/names.h"

enum { VF_CONFIG = 4096, VF_VECTORS = 64 };
/* vfio-pci: the region's index in the upper bits of an offset, so that BAR 0 starts at 0. */
enum { VF_REGION_SHIFT = 40 };

/* What the IOMMU lets through: memory of this process at a bus address. (dma.c) */
struct vf_map {
	uint64_t iova, size, vaddr;
};

/* What descriptors stand for, first in a container, a group and a device. (file.c) */
struct vf_object {
	const struct vf_kind *kind;
	unsigned int refs;		/* descriptors, and objects that hold this one */
};

struct vf_kind {
	int (*ioctl)(struct vf_object *obj, int fd, unsigned long request, void *arg);
	void (*end)(struct vf_object *obj);	/* nothing refers to it any more */
};
extern const struct vf_kind vf_container_kind, vf_device_kind;

struct vf_container {
	struct vf_object obj;
	LIST_HEAD(, vf_group) groups;
	uint32_t iommu;			/* VFIO_TYPE1*_IOMMU; 0: not set yet */
	pthread_rwlock_t lock;
	struct vf_map *maps;		/* by iova */
	size_t nmaps, room;
};

struct vf_group {
	struct vf_object obj;
	unsigned int index;		/* of its function */
	struct vf_container *container;
	struct vf_device *dev;
	LIST_ENTRY(vf_group) link;	/* of its container */
};

/* Where interrupts go: eventfds of our own, or -1. */
struct vf_irqs {
	pthread_mutex_t lock;
	bool on;			/* MSI-X has been enabled, for this many vectors: */
	unsigned int enabled;
	int msix[VF_VECTORS];
	int err, req;			/* VFIO_PCI_ERR_IRQ_INDEX, VFIO_PCI_REQ_IRQ_INDEX */
};

struct vf_device {
	struct vf_object obj;
	LIST_ENTRY(vf_device) link;
	struct vf_group *group;
	int group_fd;			/* keeps the group taken as long as the device is open */
	struct softnic *nic;
	int bar_fd;
	uint64_t bar_size;
	uint8_t config[VF_CONFIG];
	atomic_bool master;		/* the function may reach memory */
	struct vf_irqs irqs;
};

/* A descriptor that the program has. (file.c) */
struct vf_file {
	LIST_ENTRY(vf_file) link;
	int fd;
	dev_t dev;
	ino_t ino;
	struct vf_object *obj;
};

/* ---- file.c; all with the front's lock but the first four */
void vf_lock(void);
void vf_unlock(void);
bool vf_any_file(void);
bool vf_is_file(int fd);		/* has it been handed out by us? */
/* Takes over fd, which may be -errno, and a reference; gives up both on failure. fd, or -errno. */
int vf_file_add(int fd, struct vf_object *obj);
struct vf_file *vf_file_of(int fd);	/* dup()s found as well */
void vf_file_closed(int fd);		/* is about to be */
void vf_files_forget(void);		/* a child: they are its parent's */
void vf_put(struct vf_object *obj);	/* one reference */

/* ---- container.c, dma.c */
int vf_container_open(void);		/* a new descriptor, or -errno */
int vf_map(struct vf_container *c, const struct vfio_iommu_type1_dma_map *map);
int vf_unmap(struct vf_container *c, struct vfio_iommu_type1_dma_unmap *unmap);
void vf_unmap_all(struct vf_container *c);
void *vf_map_find(struct vf_container *c, uint64_t iova, uint64_t len);
/* Usable bus addresses, as the IOMMU of a PC has them: first and last of each range. */
extern const uint64_t vf_iova_ranges[2][2];

/* ---- group.c */
int vf_group_open(const char *path, unsigned int index, int flags);

/* ---- device.c */
int vf_device_open(struct vf_group *g, int group_fd);
void vf_devices_report(void);		/* of those that are still open */
void vf_devices_forget(void);		/* a child, as above */
/* For a test under the preload, which finds it by dlsym: softnic_fault, on an open device. */
EXPORT int softnic_front_fault(unsigned int index, const char *script);

/* ---- config.c */
void vf_config_reset(struct vf_device *dev);
ssize_t vf_config_read(struct vf_device *dev, void *buf, size_t n, uint64_t off);
ssize_t vf_config_write(struct vf_device *dev, const void *buf, size_t n, uint64_t off);

/* ---- irq.c */
void vf_irqs_init(struct vf_irqs *irqs);
void vf_irqs_free(struct vf_irqs *irqs);
int vf_irq_info(struct vfio_irq_info *info);
int vf_irq_set(struct vf_irqs *irqs, const struct vfio_irq_set *set);
void vf_irq(void *ctx, unsigned int vector);	/* the model's callback; ctx is the device */

/* ---- paths.c */
/* N of /dev/vfio/N when it is one of ours, else -1. */
int vf_group_path(const char *path);
bool vf_container_path(const char *path);

/* 0, -EINVAL when the program's structure is shorter than what is read of it. */
#define VF_ARGSZ(arg, type, last) \
	(((const type *)(arg))->argsz < offsetof(type, last) + sizeof(((type *)0)->last) ? -EINVAL : 0)

#endif
