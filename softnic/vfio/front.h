/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internals of the preload that shows stock rdma-core a ConnectX behind VFIO. It replaces the kernel's
 * vfio, vfio_iommu_type1 and vfio-pci: descriptors, the IOMMU, config space, interrupts. The device
 * behind it is cold: its driver boots it through the mapped BAR. The front accesses the device only
 * through softnic.h.
 *
 * Locks, outermost first: the front's, (inside softnic: the model's), a container's maps, a device's
 * interrupts. The model's callbacks take only the last two.
 */
#ifndef SOFTNIC_VFIO_FRONT_H
#define SOFTNIC_VFIO_FRONT_H

#include <sys/queue.h>

#include "softnic/softnic.h"
#include "softnic/preload/preload.h"
#include "softnic/vfio/names.h"
#include "softnic/vfio/pci.h"

/* vfio-pci: the upper bits of a file offset are the region's index, so BAR 0 starts at offset 0. */
enum { VF_REGION_SHIFT = 40 };

/* The common part of a container, a group and a device: their first member. (file.c) */
struct vf_object {
	const struct vf_kind *kind;
	/* number of descriptors and objects that refer to this object */
	unsigned int refs;
	/* A descriptor of the object's file that only the front uses, or -1. That of a device is its BAR. A
	 * group has one while its device is open, which keeps the group locked. */
	int own_fd;
};

struct vf_kind {
	int (*ioctl)(struct vf_object *obj, int fd, unsigned long request, void *arg);
	void (*end)(struct vf_object *obj);	/* called when the last reference is gone */
};
extern const struct vf_kind vf_container_kind, vf_device_kind;

struct vf_container {
	struct vf_object obj;
	LIST_HEAD(, vf_group) groups;
	/* IOMMU type of VFIO_SET_IOMMU (VFIO_TYPE1*_IOMMU); 0: not set yet */
	uint32_t iommu;
	struct vf_maps maps;
};

struct vf_group {
	struct vf_object obj;
	unsigned int index;		/* index of its function */
	struct vf_container *container;
	struct vf_device *dev;
	LIST_ENTRY(vf_group) link;	/* entry in the list of its container */
};

struct vf_device {
	struct vf_object obj;
	LIST_ENTRY(vf_device) link;
	struct vf_group *group;
	struct softnic *nic;
	struct vf_config config;
	struct vf_irqs irqs;
};

/* A descriptor of the program. (file.c) */
struct vf_file {
	LIST_ENTRY(vf_file) link;
	int fd;
	dev_t dev;
	ino_t ino;
	struct vf_object *obj;
};

/* ---- Functions of file.c; all but the first four need the front's lock */
void vf_lock(void);
void vf_unlock(void);
bool vf_any_file(void);
bool vf_is_file(int fd);		/* is it a descriptor of this front? */
/* Takes over fd, which may be -errno, and a reference; releases both on failure. Returns fd or
 * -errno. */
int vf_file_add(int fd, struct vf_object *obj);
/* returns the file of fd, also if fd is a duplicate of its descriptor */
struct vf_file *vf_file_of(int fd);
void vf_file_closed(int fd);		/* called before fd is closed */
/* for a forked child: forgets all descriptors, which belong to the parent */
void vf_files_forget(void);
void vf_put(struct vf_object *obj);	/* drops one reference to the object */

/* ---- Functions of container.c and dma.c */
int vf_container_open(void);		/* returns a new descriptor, or -errno */
int vf_map(struct vf_container *c, const struct vfio_iommu_type1_dma_map *map);
int vf_unmap(struct vf_container *c, struct vfio_iommu_type1_dma_unmap *unmap);
/* Returns the usable bus addresses, as on a PC's IOMMU: first and last of each range. */
extern const uint64_t vf_iova_ranges[2][2];

/* ---- Functions of group.c */
int vf_group_open(const char *path, unsigned int index, int flags);

/* ---- Functions of device.c */
int vf_device_open(struct vf_group *g, int group_fd);
void vf_devices_report(void);		/* reports violations of devices that are still open */
void vf_devices_forget(void);		/* for a forked child: forgets all devices */
/* softnic_fault on an open device. A test under the preload finds it by dlsym. */
EXPORT int softnic_front_fault(unsigned int index, const char *script);

#endif
