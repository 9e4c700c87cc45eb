/* SPDX-License-Identifier: BSD-2-Clause */
/* The maps of an IOMMU, sorted by bus address. They do not overlap, and each is removed as a whole. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/vfio/pci.h"

void vf_maps_init(struct vf_maps *t)
{
	*t = (struct vf_maps){ 0 };
	pthread_rwlock_init(&t->lock, NULL);
}

void vf_maps_free(struct vf_maps *t)
{
	free(t->map);
	pthread_rwlock_destroy(&t->lock);
}

/* Returns the index of the first map that ends above iova. */
static size_t first_above(const struct vf_maps *t, uint64_t iova)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (t->map[mid].iova + (t->map[mid].size - 1) < iova)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool overlaps(const struct vf_maps *t, size_t at, uint64_t iova, uint64_t size)
{
	return at < t->n && t->map[at].iova <= iova + (size - 1);
}

static int insert_map(struct vf_maps *t, const struct vf_map *map)
{
	size_t at = first_above(t, map->iova);

	if (overlaps(t, at, map->iova, map->size))
		return -EEXIST;
	if (t->n == VF_MAPS_MAX)
		return -ENOSPC;
	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		struct vf_map *maps = realloc(t->map, room * sizeof(*maps));

		if (!maps)
			return -ENOMEM;
		t->map = maps;
		t->room = room;
	}
	memmove(&t->map[at + 1], &t->map[at], (t->n - at) * sizeof(*map));
	t->map[at] = *map;
	t->n++;
	return 0;
}

struct vf_map *vf_maps_take(struct vf_maps *t, size_t *n)
{
	struct vf_map *map;

	pthread_rwlock_wrlock(&t->lock);
	map = t->map;
	*n = t->n;
	t->map = NULL;
	t->n = t->room = 0;
	pthread_rwlock_unlock(&t->lock);
	return map;
}

void vf_maps_clear(struct vf_maps *t)
{
	size_t n;

	free(vf_maps_take(t, &n));
}

int vf_maps_add(struct vf_maps *t, const struct vf_map *map)
{
	int err;

	pthread_rwlock_wrlock(&t->lock);
	err = insert_map(t, map);
	pthread_rwlock_unlock(&t->lock);
	return err;
}

/* Finds the maps [from, to) of the table that lie in the range. It is an error if a map lies in the
 * range only partly. */
static int find_whole(const struct vf_maps *t, uint64_t iova, uint64_t size, size_t *from,
		      size_t *to)
{
	uint64_t last = iova + (size - 1);
	size_t i = first_above(t, iova);

	*from = i;
	if (i < t->n && t->map[i].iova < iova)
		return -EINVAL;
	while (i < t->n && t->map[i].iova <= last) {
		if (t->map[i].iova + (t->map[i].size - 1) > last)
			return -EINVAL;
		i++;
	}
	*to = i;
	return 0;
}

static int remove_range(struct vf_maps *t, uint64_t iova, uint64_t size, uint64_t *removed)
{
	size_t from, to;
	int err = find_whole(t, iova, size, &from, &to);

	if (err)
		return err;
	*removed = 0;
	for (size_t i = from; i < to; i++)
		*removed += t->map[i].size;
	memmove(&t->map[from], &t->map[to], (t->n - to) * sizeof(*t->map));
	t->n -= to - from;
	return 0;
}

int vf_maps_remove(struct vf_maps *t, uint64_t iova, uint64_t size, uint64_t *removed)
{
	int err;

	pthread_rwlock_wrlock(&t->lock);
	err = remove_range(t, iova, size, removed);
	pthread_rwlock_unlock(&t->lock);
	return err;
}

/* A range may cover several maps, if their memory is contiguous too. */
static void *find_memory(const struct vf_maps *t, uint64_t iova, uint64_t len, bool write)
{
	size_t i = first_above(t, iova);
	const struct vf_map *m;
	uint64_t off, room;

	if (i == t->n)
		return NULL;		/* a program may have no map at all */
	m = &t->map[i];
	if (m->iova > iova || !m->vaddr || (write && m->read_only))
		return NULL;
	off = iova - m->iova;
	for (room = m->size - off; room < len; room += t->map[i].size) {
		i++;
		if (i == t->n || t->map[i].iova != m->iova + off + room ||
		    t->map[i].vaddr != m->vaddr + off + room ||
		    (write && t->map[i].read_only))
			return NULL;
	}
	return (void *)(uintptr_t)(m->vaddr + off);
}

void *vf_maps_find(struct vf_maps *t, uint64_t iova, uint64_t len, bool write)
{
	void *p;

	pthread_rwlock_rdlock(&t->lock);
	p = find_memory(t, iova, len, write);
	pthread_rwlock_unlock(&t->lock);
	return p;
}
