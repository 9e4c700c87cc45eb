/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <errno.h>
#include <linux/mman.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/dap.h"
#include "hw_common/near.h"
#include "hw_mlx5/arena.h"
#include "hw_mlx5/eal.h"

#define PAGE 4096u
#define CHUNK (2u << 20)
#define PAGES (CHUNK / PAGE)
#define PIECES (CHUNK / M5_ARENA_PIECE)
#define PIECE_PAGES (M5_ARENA_PIECE / PAGE)

struct m5_chunk {
	struct m5_chunk *next;
	uint8_t *base;
	bool eal;
	struct m5_umem umem[PIECES];
	uint8_t used[PAGES];
};

void *m5_arena_memory(const struct m5_arena_run *run)
{
	return run->chunk->base + run->offset;
}

struct m5_umem m5_arena_umem(const struct m5_arena_run *run, size_t *offset)
{
	*offset = run->offset % M5_ARENA_PIECE;
	return run->chunk->umem[run->offset / M5_ARENA_PIECE];
}

void m5_arena_open(struct m5_arena *arena, bool eal)
{
	*arena = (struct m5_arena){ .eal = eal };
	pthread_mutex_init(&arena->lock, NULL);
}

/* Allocates a huge page of the system. It is reserved now, so that a later access cannot fail. */
static void *huge_map(void)
{
	void *p = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* A forked child does not inherit the page: it uses no queue, and the kernel would copy pinned huge
 * pages for it. */
static bool memory_get(struct m5_chunk *c, bool eal, int node)
{
	c->base = eal ? m5_eal_malloc(CHUNK) : NULL;
	c->eal = c->base;
	if (!c->base) {
		c->base = huge_map();
		if (c->base)
			hw_near(c->base, CHUNK, node);
	}
	if (c->base)
		madvise(c->base, CHUNK, MADV_DONTFORK);
	return c->base;
}

static void memory_put(const struct m5_chunk *c)
{
	if (c->eal) {
		madvise(c->base, CHUNK, MADV_DOFORK);
		m5_eal_free(c->base);
	} else {
		munmap(c->base, CHUNK);
	}
}

const char *m5_arena_kind(const struct m5_arena *arena)
{
	void *trial = arena->eal ? m5_eal_malloc(CHUNK) : NULL;

	if (!trial)
		return hw_near_huge_pages() ? "huge pages" : M5_SMALL_PAGES;
	m5_eal_free(trial);
	return "DPDK's heap";
}

/* Returns an error, such as -EBUSY, if the device may still write to the memory. */
static int umems_put(struct m5_ctl *ctl, struct m5_chunk *c, unsigned int n)
{
	int err = 0;

	while (n && !err)
		err = ctl->ops->umem_dereg(ctl, &c->umem[--n]);
	return err;
}

static int umems_get(struct m5_ctl *ctl, struct m5_chunk *c)
{
	for (unsigned int i = 0; i < PIECES; i++) {
		int err = ctl->ops->umem_reg(ctl, c->base + (size_t)i * M5_ARENA_PIECE,
					     M5_ARENA_PIECE, &c->umem[i]);

		if (err)
			return umems_put(ctl, c, i) ? -EBUSY : -ENOMEM;
	}
	return 0;
}

/* Adds a chunk at the head of the list. The lock is held. */
static int arena_grow(struct m5_arena *arena, struct m5_ctl *ctl)
{
	struct m5_chunk *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	if (!memory_get(c, arena->eal, ctl->node)) {
		free(c);
		return -ENOMEM;
	}
	err = umems_get(ctl, c);
	if (err) {
		if (err != -EBUSY)
			memory_put(c);
		free(c);
		return -ENOMEM;
	}
	dap_log(DAP_LOG_EP, "queue memory in %s at %p", c->eal ? "DPDK's heap" : "a huge page",
		(void *)c->base);
	c->next = arena->chunks;
	arena->chunks = c;
	return 0;
}

/* Returns the first page of n contiguous free pages that lie in one piece or begin at the start of a
 * piece; PAGES if there are none. */
static unsigned int find_run(const struct m5_chunk *c, unsigned int n)
{
	unsigned int run = 0, start;

	for (unsigned int i = 0; i < PAGES; i++) {
		run = c->used[i] ? 0 : run + 1;
		if (run < n)
			continue;
		start = i + 1 - n;
		if (start % PIECE_PAGES + n <= PIECE_PAGES || start % PIECE_PAGES == 0)
			return start;
	}
	return PAGES;
}

static bool take_pages(struct m5_arena *arena, unsigned int n, struct m5_arena_run *run)
{
	for (struct m5_chunk *c = arena->chunks; c; c = c->next) {
		unsigned int page = find_run(c, n);

		if (page == PAGES)
			continue;
		memset(c->used + page, 1, n);
		*run = (struct m5_arena_run){ c, (size_t)page * PAGE };
		return true;
	}
	return false;
}

int m5_arena_get(struct m5_arena *arena, struct m5_ctl *ctl, size_t len, struct m5_arena_run *run)
{
	unsigned int n = (unsigned int)((len + PAGE - 1) / PAGE);
	int err = 0;

	if (len > CHUNK)
		return -ENOMEM;
	pthread_mutex_lock(&arena->lock);
	if (!take_pages(arena, n, run)) {
		err = arena_grow(arena, ctl);
		if (!err)
			take_pages(arena, n, run);
	}
	pthread_mutex_unlock(&arena->lock);
	if (err)
		return err;
	memset(m5_arena_memory(run), 0, (size_t)n * PAGE);
	return 0;
}

void m5_arena_put(struct m5_arena *arena, const struct m5_arena_run *run, size_t len)
{
	pthread_mutex_lock(&arena->lock);
	memset(run->chunk->used + run->offset / PAGE, 0, (len + PAGE - 1) / PAGE);
	pthread_mutex_unlock(&arena->lock);
}

void m5_arena_close(struct m5_arena *arena, struct m5_ctl *ctl)
{
	struct m5_chunk *c;

	while ((c = arena->chunks)) {
		arena->chunks = c->next;
		/* Memory that the device still has mapped must not be reused. */
		if (!umems_put(ctl, c, PIECES))
			memory_put(c);
		free(c);
	}
	pthread_mutex_destroy(&arena->lock);
}
