/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of queues and doorbells: one memfd, allocated in pages. A freed extent is reused whole,
 * for a request of the same size. Sizes are powers of two, so splitting extents would gain nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softnic/efa/nic.h"

#define BAR_BYTES (UINT64_C(2) << 30)

int sne_bar_open(struct sne_bar *bar)
{
	int err;

	*bar = (struct sne_bar){ .fd = memfd_create("softnic-efa", MFD_CLOEXEC | MFD_ALLOW_SEALING) };
	if (bar->fd < 0)
		return -errno;
	/* A front passes this descriptor to other processes. Sealing keeps them from shrinking the
	 * file. */
	if (ftruncate(bar->fd, (off_t)BAR_BYTES) ||
	    fcntl(bar->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		goto close;
	bar->map = mmap(NULL, BAR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			bar->fd, 0);
	if (bar->map == MAP_FAILED)
		goto close;
	/* A child's copy of the device must not write to the parent's queues. */
	madvise(bar->map, BAR_BYTES, MADV_DONTFORK);
	return 0;
close:
	err = -errno;
	close(bar->fd);
	return err;
}

void sne_bar_close(struct sne_bar *bar, bool in_child)
{
	if (!in_child)
		munmap(bar->map, BAR_BYTES);
	close(bar->fd);
	free(bar->free);
}

/* Makes room in the list of free extents for each extent in use and one more, so that freeing cannot
 * fail. */
static int make_room(struct sne_bar *bar)
{
	uint32_t room = bar->room ? 2 * bar->room : 64;
	struct sne_extent *list;

	if (bar->nfree + bar->live < bar->room)
		return 0;
	list = realloc(bar->free, room * sizeof(*list));
	if (!list)
		return -ENOMEM;
	bar->free = list;
	bar->room = room;
	return 0;
}

int sne_bar_take(struct sne_bar *bar, uint64_t bytes, uint64_t *off)
{
	bytes = sne_pages(bytes);
	for (uint32_t i = 0; i < bar->nfree; i++) {
		if (bar->free[i].bytes != bytes)
			continue;
		*off = bar->free[i].off;
		bar->free[i] = bar->free[--bar->nfree];
		bar->live++;
		return 0;
	}
	if (bar->used + bytes > BAR_BYTES || make_room(bar))
		return -ENOMEM;
	*off = bar->used;
	bar->used += bytes;
	bar->live++;
	return 0;
}

void sne_bar_give(struct sne_bar *bar, uint64_t off, uint64_t bytes)
{
	bar->free[bar->nfree++] = (struct sne_extent){ off, sne_pages(bytes) };
	bar->live--;
}

void sne_bar_reset(struct sne_bar *bar)
{
	bar->used = 0;
	bar->nfree = bar->live = 0;
	if (fallocate(bar->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)BAR_BYTES))
		memset(bar->map, 0, BAR_BYTES);
}

int softnic_efa_bar_fd(struct softnic_efa *handle, size_t *size)
{
	struct sne_nic *nic = (struct sne_nic *)handle;

	*size = BAR_BYTES;
	return nic->bar.fd;
}
