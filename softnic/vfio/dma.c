/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The IOMMU of a container, as vfio_iommu_type1 keeps it in its second version: what has been
 * mapped is unmapped whole, nothing is mapped twice.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/vfio/front.h"

enum { PAGE = 4096, MAPS_MAX = 65535 };

/* The hole is where a PC has its interrupt messages. */
const uint64_t vf_iova_ranges[2][2] = {
	{ 0, 0xfedfffff }, { 0xfef00000, (UINT64_C(1) << 39) - 1 },
};

static bool usable(uint64_t iova, uint64_t size)
{
	for (size_t i = 0; i < 2; i++)
		if (iova >= vf_iova_ranges[i][0] && iova <= vf_iova_ranges[i][1] &&
		    size - 1 <= vf_iova_ranges[i][1] - iova)
			return true;
	return false;
}

/* Index of the first map that ends above iova. */
static size_t first_above(const struct vf_container *c, uint64_t iova)
{
	size_t low = 0, high = c->nmaps;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (c->maps[mid].iova + (c->maps[mid].size - 1) < iova)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool overlaps(const struct vf_container *c, size_t at, uint64_t iova, uint64_t size)
{
	return at < c->nmaps && c->maps[at].iova <= iova + (size - 1);
}

static int insert(struct vf_container *c, const struct vf_map *map)
{
	size_t at = first_above(c, map->iova);

	if (overlaps(c, at, map->iova, map->size))
		return -EEXIST;
	if (c->nmaps == MAPS_MAX)
		return -ENOSPC;
	if (c->nmaps == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		struct vf_map *maps = realloc(c->maps, room * sizeof(*maps));

		if (!maps)
			return -ENOMEM;
		c->maps = maps;
		c->room = room;
	}
	memmove(&c->maps[at + 1], &c->maps[at], (c->nmaps - at) * sizeof(*map));
	c->maps[at] = *map;
	c->nmaps++;
	return 0;
}

int vf_map(struct vf_container *c, const struct vfio_iommu_type1_dma_map *m)
{
	const uint32_t rights = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
	struct vf_map map = { .iova = m->iova, .size = m->size, .vaddr = m->vaddr };
	int err = VF_ARGSZ(m, struct vfio_iommu_type1_dma_map, size);

	if (err)
		return err;
	if (!(m->flags & rights) || m->flags & ~rights)
		return -EINVAL;
	if (!map.size || (map.iova | map.size | map.vaddr) % PAGE ||
	    map.iova + (map.size - 1) < map.iova || map.vaddr + (map.size - 1) < map.vaddr)
		return -EINVAL;
	if (!usable(map.iova, map.size))
		return -EINVAL;
	err = pre_populate(map.vaddr, map.size, m->flags & VFIO_DMA_MAP_FLAG_WRITE);
	if (err)
		return err;
	pthread_rwlock_wrlock(&c->lock);
	err = insert(c, &map);
	pthread_rwlock_unlock(&c->lock);
	return err;
}

/* Maps [from, to) of the table lie in the range; one that only begins or ends there is an error. */
static int find_whole(const struct vf_container *c, uint64_t iova, uint64_t size, size_t *from,
		      size_t *to)
{
	uint64_t last = iova + (size - 1);
	size_t i = first_above(c, iova);

	*from = i;
	if (i < c->nmaps && c->maps[i].iova < iova)
		return -EINVAL;
	while (i < c->nmaps && c->maps[i].iova <= last) {
		if (c->maps[i].iova + (c->maps[i].size - 1) > last)
			return -EINVAL;
		i++;
	}
	*to = i;
	return 0;
}

static int remove_range(struct vf_container *c, uint64_t iova, uint64_t size, uint64_t *removed)
{
	size_t from, to;
	int err = find_whole(c, iova, size, &from, &to);

	if (err)
		return err;
	*removed = 0;
	for (size_t i = from; i < to; i++)
		*removed += c->maps[i].size;
	memmove(&c->maps[from], &c->maps[to], (c->nmaps - to) * sizeof(*c->maps));
	c->nmaps -= to - from;
	return 0;
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
	pthread_rwlock_wrlock(&c->lock);
	err = remove_range(c, iova, size, &removed);
	pthread_rwlock_unlock(&c->lock);
	if (!err)
		u->size = removed;
	return err;
}

void vf_unmap_all(struct vf_container *c)
{
	pthread_rwlock_wrlock(&c->lock);
	free(c->maps);
	c->maps = NULL;
	c->nmaps = c->room = 0;
	pthread_rwlock_unlock(&c->lock);
}

/* A range may go over several maps where they lie in a row in memory too. */
static void *find(const struct vf_container *c, uint64_t iova, uint64_t len)
{
	size_t i = first_above(c, iova);
	const struct vf_map *m = &c->maps[i];
	uint64_t off, room;

	if (i == c->nmaps || m->iova > iova)
		return NULL;
	off = iova - m->iova;
	for (room = m->size - off; room < len; room += c->maps[i].size) {
		i++;
		if (i == c->nmaps || c->maps[i].iova != m->iova + off + room ||
		    c->maps[i].vaddr != m->vaddr + off + room)
			return NULL;
	}
	return (void *)(uintptr_t)(m->vaddr + off);
}

void *vf_map_find(struct vf_container *c, uint64_t iova, uint64_t len)
{
	void *p;

	pthread_rwlock_rdlock(&c->lock);
	p = find(c, iova, len);
	pthread_rwlock_unlock(&c->lock);
	return p;
}
