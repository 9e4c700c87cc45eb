/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The IOMMU of a container, as version 2 of vfio_iommu_type1: a map is removed as a whole, and no
 * address is mapped twice.
 */
#include <errno.h>

#include "softnic/populate.h"
#include "softnic/vfio/front.h"

enum { PAGE = 4096 };

/* The gap between the ranges is for interrupt messages, as on a PC. */
const uint64_t vf_iova_ranges[2][2] = {
	{ 0, 0xfedfffff }, { 0xfef00000, (UINT64_C(1) << 39) - 1 },
};

static bool is_usable(uint64_t iova, uint64_t size)
{
	for (size_t i = 0; i < 2; i++)
		if (iova >= vf_iova_ranges[i][0] && iova <= vf_iova_ranges[i][1] &&
		    size - 1 <= vf_iova_ranges[i][1] - iova)
			return true;
	return false;
}

int vf_map(struct vf_container *c, const struct vfio_iommu_type1_dma_map *m)
{
	const uint32_t rights = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
	struct vf_map map = { .iova = m->iova, .size = m->size, .vaddr = m->vaddr,
			      .read_only = !(m->flags & VFIO_DMA_MAP_FLAG_WRITE) };
	int err = VF_ARGSZ(m, struct vfio_iommu_type1_dma_map, size);

	if (err)
		return err;
	if (!(m->flags & rights) || m->flags & ~rights)
		return -EINVAL;
	if (!map.size || (map.iova | map.size | map.vaddr) % PAGE ||
	    map.iova + (map.size - 1) < map.iova || map.vaddr + (map.size - 1) < map.vaddr)
		return -EINVAL;
	if (!is_usable(map.iova, map.size))
		return -EINVAL;
	err = softnic_populate(map.vaddr, map.size, m->flags & VFIO_DMA_MAP_FLAG_WRITE);
	if (err)
		return err;
	return vf_maps_add(&c->maps, &map);
}

int vf_unmap(struct vf_container *c, struct vfio_iommu_type1_dma_unmap *u)
{
	uint64_t iova = u->iova, size = u->size, removed;
	int err = VF_ARGSZ(u, struct vfio_iommu_type1_dma_unmap, size);

	if (err)
		return err;
	if (u->flags & ~(uint32_t)VFIO_DMA_UNMAP_FLAG_ALL)
		return -EINVAL;
	if (u->flags & VFIO_DMA_UNMAP_FLAG_ALL) {
		if (iova || size)
			return -EINVAL;
		size = UINT64_MAX;
	} else if (!size || (iova | size) % PAGE || iova + (size - 1) < iova) {
		return -EINVAL;
	}
	err = vf_maps_remove(&c->maps, iova, size, &removed);
	if (!err)
		u->size = removed;
	return err;
}
