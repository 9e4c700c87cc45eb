/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of queues and doorbell records in huge pages, if the machine has any: then the device
 * needs fewer translations. If this process runs DPDK, the memory can come from DPDK's heap
 * (eal.h). Any thread may call these functions.
 *
 * A queue context can name only 64 offsets in a page of a umem, and the kernel makes pages as
 * large as the umem. Therefore each 256 KiB of a huge page are a umem of their own, with an offset
 * every 4 KiB.
 */
#ifndef M5_ARENA_H
#define M5_ARENA_H

#include <pthread.h>

#include "hw_mlx5/ctl/ctl.h"

#define M5_ARENA_PIECE (256u << 10)

struct m5_chunk;

struct m5_arena_run {		/* pages of a chunk */
	struct m5_chunk *chunk;
	size_t offset;
};

struct m5_arena {
	pthread_mutex_t lock;
	struct m5_chunk *chunks;
	bool eal;			/* DPDK's heap is preferred to the system's huge pages */
};

void m5_arena_open(struct m5_arena *arena, bool eal);
#define M5_SMALL_PAGES "4 KiB pages"
/* Returns the kind of memory that the next queue would get, in words: attribute queue_memory. */
const char *m5_arena_kind(const struct m5_arena *arena);
/* To be called when all memory has been freed, or abandoned. */
void m5_arena_close(struct m5_arena *arena, struct m5_ctl *ctl);
/* Allocates zeroed pages: 0 or -ENOMEM. They lie within one piece unless they are larger than
 * that. */
int m5_arena_get(struct m5_arena *arena, struct m5_ctl *ctl, size_t len, struct m5_arena_run *run);
void m5_arena_put(struct m5_arena *arena, const struct m5_arena_run *run, size_t len);
void *m5_arena_memory(const struct m5_arena_run *run);
/* Returns the umem of the run's piece, and the run's offset in the umem. */
struct m5_umem m5_arena_umem(const struct m5_arena_run *run, size_t *offset);

#endif
