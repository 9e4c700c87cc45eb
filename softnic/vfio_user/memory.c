/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of the guest: files of the client, mapped here at the client's bus addresses. A range without a
 * file is reserved, and inaccessible to the device.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/stat.h>

#include "softnic/vfio_user/vm.h"

enum { PAGE = 4096 };
/* The files of a device map at most this many bytes, because all devices share one address space. */
#define MAPPED_MAX (UINT64_C(4) << 40)

/*
 * The maps, for the signal handler, which cannot take a lock. A length of 0 marks a free slot. The
 * handler only meets ranges that a device uses, and such a range stays until the device no longer uses
 * it.
 */
static struct guarded {
	_Atomic uintptr_t start;
	_Atomic size_t len;
} guarded[VM_DEVICES_MAX * VM_MAPS_MAX];
static struct sigaction before;

static bool guard(void *start, size_t len)
{
	for (size_t i = 0; i < sizeof(guarded) / sizeof(guarded[0]); i++) {
		uintptr_t none = 0;

		if (!atomic_compare_exchange_strong(&guarded[i].start, &none, (uintptr_t)start))
			continue;
		atomic_store(&guarded[i].len, len);
		return true;
	}
	return false;
}

/* Returns the guarded map that contains this address, or NULL. */
static struct guarded *find_guarded(uintptr_t at)
{
	for (size_t i = 0; i < sizeof(guarded) / sizeof(guarded[0]); i++) {
		uintptr_t start = atomic_load(&guarded[i].start);

		/* If another device has reused the slot meanwhile, the length belongs to another start. */
		if (at >= start && at - start < atomic_load(&guarded[i].len) &&
		    start == atomic_load(&guarded[i].start))
			return &guarded[i];
	}
	return NULL;
}

/* Replaces the whole range, because pages of the file may be huge. The client loses the rest of the
 * range. */
static void on_bus_error(int sig, siginfo_t *info, void *context)
{
	struct guarded *g = find_guarded((uintptr_t)info->si_addr);

	(void)context;
	if (g && mmap((void *)g->start, g->len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED)
		return;
	/* The access runs again with the previous handler, which ends the process as it would without
	 * this handler. */
	sigaction(sig, &before, NULL);
}

int vm_memory_guard(void)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

	return sigaction(SIGBUS, &action, before.sa_sigaction ? NULL : &before) ? -errno : 0;
}

/*
 * Only files of tmpfs and hugetlbfs, as memfds are, have seals. In another file system, such as FUSE, an
 * access to a page can wait without a limit. Linux may hold the lock of the address space meanwhile, so the
 * threads of other devices would wait too.
 */
static bool is_memory(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0;
}

/* Returns the bytes of this process's address space that the device's maps take. */
static uint64_t mapped(const struct vf_maps *maps)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < maps->n; i++)
		sum += maps->map[i].vaddr ? maps->map[i].size : 0;
	return sum;
}

/*
 * Writes of the device to read-only memory are visible only to the device. Linux maps huge pages of a file
 * only as a whole, so the range is extended to whole blocks of its file system.
 */
static int map_file(struct vm_device *dev, const struct vm_dma_map *in, int fd, uint64_t *vaddr)
{
	bool shared = in->flags & VFIO_DMA_MAP_FLAG_WRITE;
	uint64_t skip, len;
	struct stat st;
	void *p;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || in->offset > (uint64_t)st.st_size ||
	    in->size > (uint64_t)st.st_size - in->offset)
		return -EINVAL;
	skip = in->offset % (uint64_t)st.st_blksize;
	len = roundup(skip + in->size, (uint64_t)st.st_blksize);
	if (len > MAPPED_MAX - mapped(&dev->maps))
		return -ENOSPC;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		 (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_NORESERVE, fd, (off_t)(in->offset - skip));
	if (p == MAP_FAILED)
		return -errno;
	if (!guard(p, len)) {
		munmap(p, len);
		return -ENOSPC;
	}
	*vaddr = (uintptr_t)p + skip;
	return 0;
}

static void unmap_file(const struct vf_map *map)
{
	struct guarded *g = find_guarded(map->vaddr);
	void *start;
	size_t len;

	if (!g)
		return;
	start = (void *)g->start;
	len = g->len;
	atomic_store(&g->len, 0);
	atomic_store(&g->start, 0);
	munmap(start, len);
}

int vm_dma_map(struct vm_device *dev, struct vm_message *m)
{
	const uint32_t rights = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
	const struct vm_dma_map *in = (const void *)m->in;
	struct vf_map map = { .iova = in->iova, .size = in->size };
	int err = 0;

	if (!(in->flags & rights) || in->flags & ~rights || m->nfds > 1)
		return -EINVAL;
	if (!map.size || (map.iova | map.size | in->offset) % PAGE || map.iova + (map.size - 1) < map.iova)
		return -EINVAL;
	if (dev->maps.n == VM_MAPS_MAX)
		return -ENOSPC;
	if (m->nfds)
		err = is_memory(m->fds[0]) ? map_file(dev, in, m->fds[0], &map.vaddr) : -EINVAL;
	if (err)
		return err;
	err = vf_maps_add(&dev->maps, &map);
	if (err)
		unmap_file(&map);
	return err;
}

void *vm_dma(void *ctx, uint64_t addr, size_t len)
{
	struct vm_device *dev = ctx;

	if (!atomic_load_explicit(&dev->config.master, memory_order_acquire))
		return NULL;
	return vf_maps_find(&dev->maps, addr, len, false);
}

void vm_settle(struct vm_device *dev)
{
	dev->kind->settle(dev);
}

/* The device may still use the memory after the map was removed from the table, so this waits for the
 * device. */
static int unmap_one(struct vm_device *dev, const struct vm_dma_unmap *in)
{
	struct vf_map map;
	uint64_t removed;
	size_t i = 0;

	while (i < dev->maps.n && (dev->maps.map[i].iova != in->iova || dev->maps.map[i].size != in->size))
		i++;
	if (i == dev->maps.n)
		return -ENOENT;
	map = dev->maps.map[i];
	vf_maps_remove(&dev->maps, map.iova, map.size, &removed);
	vm_settle(dev);
	unmap_file(&map);
	return 0;
}

void vm_unmap_all(struct vm_device *dev)
{
	size_t n;
	struct vf_map *maps = vf_maps_take(&dev->maps, &n);

	vm_settle(dev);
	for (size_t i = 0; i < n; i++)
		unmap_file(&maps[i]);
	free(maps);
}

int vm_dma_unmap(struct vm_device *dev, struct vm_message *m)
{
	const struct vm_dma_unmap *in = (const void *)m->in;
	int err = 0;

	if (in->flags & ~(uint32_t)VFIO_DMA_UNMAP_FLAG_ALL)
		return -EINVAL;
	if (!in->flags)
		err = unmap_one(dev, in);
	else if (in->iova || in->size)
		err = -EINVAL;
	else
		vm_unmap_all(dev);
	if (err)
		return err;
	memcpy(m->out, in, sizeof(*in));
	m->out_len = sizeof(*in);
	return 0;
}
