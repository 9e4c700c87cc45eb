/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Memory of queues, and user indexes, the table shared by device and poller. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hw_common/near.h"
#include "hw_mlx5/arena.h"
#include "hw_mlx5/obj.h"

static void memory_put(struct m5_ctl *ctl, const struct m5_mem *mem)
{
	if (mem->run.chunk)
		m5_arena_put(ctl->arena, &mem->run, mem->len);
	else
		munmap(mem->base, mem->len);
}

static int memory_get(struct m5_ctl *ctl, struct m5_mem *mem)
{
	if (ctl->arena && !m5_arena_get(ctl->arena, ctl, mem->len, &mem->run)) {
		mem->base = m5_arena_memory(&mem->run);
		return 0;
	}
	mem->run.chunk = NULL;
	mem->base = hw_near_map(mem->len, ctl->node);
	return mem->base ? 0 : -ENOMEM;
}

/* own: registers the memory as a umem of its own, in which the memory has offset 0. */
static int mem_alloc(struct m5_ctl *ctl, size_t len, bool own, struct m5_mem *mem)
{
	struct m5_mem new = { .len = (len + 4095) & ~(size_t)4095 };
	int err = memory_get(ctl, &new);

	if (err)
		return err;
	new.own = own || !new.run.chunk || new.len > M5_ARENA_PIECE;
	if (new.own) {
		err = ctl->ops->umem_reg(ctl, new.base, new.len, &new.umem);
		if (err) {
			memory_put(ctl, &new);
			return err;
		}
	} else {
		new.umem = m5_arena_umem(&new.run, &new.offset);
	}
	*mem = new;
	return 0;
}

int m5_mem_alloc(struct m5_ctl *ctl, size_t len, struct m5_mem *mem)
{
	return mem_alloc(ctl, len, false, mem);
}

int m5_mem_alloc_own(struct m5_ctl *ctl, size_t len, struct m5_mem *mem)
{
	return mem_alloc(ctl, len, true, mem);
}

void m5_mem_free(struct m5_ctl *ctl, struct m5_mem *mem, int destroyed)
{
	/* Memory that the device still has mapped must not be reused. */
	if (mem->own ? !ctl->ops->umem_dereg(ctl, &mem->umem) : !destroyed)
		memory_put(ctl, mem);
	mem->base = NULL;
}

/*
 * 24-bit user indexes in two levels. Entries without a page refer to an empty page, so the poller
 * tests only the second level.
 */
static struct m5_uidx_page no_ep;

int m5_uidx_open(struct m5_ia *ia)
{
	ia->dir = calloc(4096, sizeof(*ia->dir));
	if (!ia->dir)
		return -ENOMEM;
	for (int i = 0; i < 4096; i++)
		ia->dir[i] = &no_ep;
	ia->uidx_head = ia->uidx_tail = ia->uidx_size = 0;
	ia->uidx_rest = NULL;
	return 0;
}

void m5_uidx_close(struct m5_ia *ia)
{
	for (int i = 0; i < 4096; i++)
		if (ia->dir[i] != &no_ep)
			free(ia->dir[i]);
	free(ia->dir);
	free(ia->uidx_rest);
}

/* Adds a page of free indexes. ia->lock is held. */
static int uidx_grow(struct m5_ia *ia)
{
	uint32_t pages = ia->uidx_size / 4096, n = ia->uidx_size + 4096;
	struct m5_uidx_page *page;
	uint32_t *rest;

	if (pages == 4096)
		return -ENOSPC;
	page = calloc(1, sizeof(*page));
	rest = calloc(n, sizeof(*rest));
	if (!page || !rest) {
		free(page);
		free(rest);
		return -ENOMEM;
	}
	/* The ring is empty when it grows, so there is nothing to copy. Index 0 is used last. */
	for (uint32_t i = 0; i < 4096; i++)
		rest[i] = ia->uidx_size + (i + 1) % 4096;
	free(ia->uidx_rest);
	ia->uidx_rest = rest;
	ia->uidx_size = n;
	ia->uidx_tail = 0;
	ia->uidx_head = 4096;
	__atomic_store_n(&ia->dir[pages], page, __ATOMIC_RELEASE);
	return 0;
}

int m5_uidx_get(struct m5_ia *ia, struct dap_ep *ep, uint32_t *uidx)
{
	int err = 0;

	pthread_mutex_lock(&ia->lock);
	if (ia->uidx_head == ia->uidx_tail)
		err = uidx_grow(ia);
	if (!err) {
		*uidx = ia->uidx_rest[ia->uidx_tail++ % ia->uidx_size];
		__atomic_store_n(&ia->dir[*uidx >> 12]->ep[*uidx & 0xfff], ep, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&ia->lock);
	return err;
}

void m5_uidx_put(struct m5_ia *ia, uint32_t uidx, int destroyed)
{
	pthread_mutex_lock(&ia->lock);
	__atomic_store_n(&ia->dir[uidx >> 12]->ep[uidx & 0xfff], NULL, __ATOMIC_RELEASE);
	if (!destroyed)
		ia->uidx_rest[ia->uidx_head++ % ia->uidx_size] = uidx;
	pthread_mutex_unlock(&ia->lock);
}
