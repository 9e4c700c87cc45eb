/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of queues and doorbell records in huge pages, where the machine has any: the device needs few
 * translations for all that lies in one. Also from the heap of a DPDK that this process runs
 * (eal.h). Safe to call from any thread.
 *
 * A queue context can name only 64 places in a page of a umem, and the kernel makes pages as large as
 * the umem. Each 256 KiB of a huge page are therefore a umem of their own, with a place every 4 KiB.
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
	bool eal;			/* DPDK's heap before the system's huge pages */
};

void m5_arena_open(struct m5_arena *arena, bool eal);
/* All memory has been given back, or is lost. */
void m5_arena_close(struct m5_arena *arena, struct m5_ctl *ctl);
/* Pages of zeros: 0, or -ENOMEM. They lie in one piece when they are no more than one has. */
int m5_arena_get(struct m5_arena *arena, struct m5_ctl *ctl, size_t len, struct m5_arena_run *run);
void m5_arena_put(struct m5_arena *arena, const struct m5_arena_run *run, size_t len);
void *m5_arena_memory(const struct m5_arena_run *run);
/* The umem of its piece, and where the run starts there. */
struct m5_umem m5_arena_umem(const struct m5_arena_run *run, size_t *offset);

#endif
