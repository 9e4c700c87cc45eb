/* SPDX-License-Identifier: BSD-2-Clause */
/* /dev/vfio/vfio: a container and the calls to its IOMMU. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "softnic/vfio/front.h"

int vf_container_open(void)
{
	struct vf_container *c = calloc(1, sizeof(*c));
	int fd;

	if (!c)
		return -ENOMEM;
	c->obj = (struct vf_object){ .kind = &vf_container_kind, .refs = 1, .own_fd = -1 };
	vf_maps_init(&c->maps);
	fd = memfd_create("vfio-container", MFD_CLOEXEC);
	return vf_file_add(fd < 0 ? -errno : fd, &c->obj);
}

static void end(struct vf_object *obj)
{
	struct vf_container *c = (struct vf_container *)obj;

	vf_maps_free(&c->maps);
	free(c);
}

static int set_iommu(struct vf_container *c, uint64_t type)
{
	if (LIST_EMPTY(&c->groups) || c->iommu)
		return -EINVAL;
	if (type != VFIO_TYPE1_IOMMU && type != VFIO_TYPE1v2_IOMMU)
		return -ENODEV;
	c->iommu = (uint32_t)type;
	return 0;
}

static int check_extension(uint64_t extension)
{
	switch (extension) {
	case VFIO_TYPE1_IOMMU:
	case VFIO_TYPE1v2_IOMMU:
	case VFIO_UNMAP_ALL:
		return 1;
	default:
		return 0;
	}
}

/*
 * The kernel's chain of capabilities: each header has the offset of the next one, from the start of
 * the answer.
 */
struct caps {
	struct {
		struct vfio_info_cap_header header;
		uint32_t nr_iovas, reserved;
		struct vfio_iova_range ranges[2];
	} iova;
	struct vfio_iommu_type1_info_dma_avail avail;
};

static void fill_caps(const struct vf_container *c, size_t at, struct caps *caps)
{
	memset(caps, 0, sizeof(*caps));
	caps->iova.header.id = VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE;
	caps->iova.header.version = 1;
	caps->iova.header.next = (uint32_t)(at + offsetof(struct caps, avail));
	caps->iova.nr_iovas = 2;
	for (size_t i = 0; i < 2; i++) {
		caps->iova.ranges[i].start = vf_iova_ranges[i][0];
		caps->iova.ranges[i].end = vf_iova_ranges[i][1];
	}
	caps->avail.header.id = VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL;
	caps->avail.header.version = 1;
	caps->avail.avail = (uint32_t)(VF_MAPS_MAX - c->maps.n);
}

static int get_info(struct vf_container *c, struct vfio_iommu_type1_info *info)
{
	uint32_t argsz = info->argsz;
	struct caps caps;

	if (argsz < offsetof(struct vfio_iommu_type1_info, cap_offset))
		return -EINVAL;
	info->flags = VFIO_IOMMU_INFO_PGSIZES;
	info->iova_pgsizes = 1u << 12 | 1u << 21 | 1u << 30;
	if (argsz < offsetof(struct vfio_iommu_type1_info, cap_offset) + sizeof(info->cap_offset))
		return 0;
	info->flags |= VFIO_IOMMU_INFO_CAPS;
	info->cap_offset = 0;
	info->argsz = sizeof(*info) + sizeof(caps);
	if (argsz < info->argsz)
		return 0;
	fill_caps(c, sizeof(*info), &caps);
	info->argsz = argsz;
	info->cap_offset = sizeof(*info);
	memcpy(info + 1, &caps, sizeof(caps));
	return 0;
}

/* After an unmap, waits for a device that may still access the memory, like an IOTLB invalidation. */
static void wait_for_devices(struct vf_container *c)
{
	struct softnic_counters counters;
	struct vf_group *g;

	LIST_FOREACH(g, &c->groups, link)
		if (g->dev)
			/* softnic_counters() returns only after the device has released its lock */
			softnic_counters(g->dev->nic, &counters);
}

static int container_ioctl(struct vf_object *obj, int fd, unsigned long request, void *arg)
{
	struct vf_container *c = (struct vf_container *)obj;
	int err;

	(void)fd;
	switch (request) {
	case VFIO_GET_API_VERSION:
		return VFIO_API_VERSION;
	case VFIO_CHECK_EXTENSION:
		return check_extension((uintptr_t)arg);
	case VFIO_SET_IOMMU:
		return set_iommu(c, (uintptr_t)arg);
	default:
		break;
	}
	if (!c->iommu)
		return -EINVAL;
	switch (request) {
	case VFIO_IOMMU_GET_INFO:
		return get_info(c, arg);
	case VFIO_IOMMU_MAP_DMA:
		return vf_map(c, arg);
	case VFIO_IOMMU_UNMAP_DMA:
		err = vf_unmap(c, arg);
		wait_for_devices(c);
		return err;
	default:
		return -ENOTTY;
	}
}

const struct vf_kind vf_container_kind = { container_ioctl, end };
