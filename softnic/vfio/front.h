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
#include <sys/queue.h>
#include <sys/stat.h>

#include "softnic/softnic.h"
#include "softnic/preload/preload.h"
#include "softnic/vfio/names.h"
#include "softnic/vfio/pci.h"

/* vfio-pci: the region's index in the upper bits of an offset, so that BAR 0 starts at 0. */
enum { VF_REGION_SHIFT = 40 };

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
	struct vf_maps maps;
};

struct vf_group {
	struct vf_object obj;
	unsigned int index;		/* of its function */
	struct vf_container *container;
	struct vf_device *dev;
	LIST_ENTRY(vf_group) link;	/* of its container */
};

struct vf_device {
	struct vf_object obj;
	LIST_ENTRY(vf_device) link;
	struct vf_group *group;
	int group_fd;			/* keeps the group taken as long as the device is open */
	struct softnic *nic;
	int bar_fd;
	struct vf_config config;
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

/* ---- paths.c */
/* N of /dev/vfio/N when it is one of ours, else -1. */
int vf_group_path(const char *path);
bool vf_container_path(const char *path);

#endif
