/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of queues and doorbell records in huge pages, where the machine has any: the device needs one
 * translation for all that lies in one. Also from the heap of a DPDK that this process runs
 * (m5_eal.h). Safe to call from any thread.
 */
#ifndef M5_ARENA_H
#define M5_ARENA_H

#include <pthread.h>

#include "hw_mlx5/m5_ctl.h"

struct m5_chunk;

struct m5_arena {
	pthread_mutex_t lock;
	struct m5_chunk *chunks;
	bool eal;			/* DPDK's heap before the system's huge pages */
};

void m5_arena_open(struct m5_arena *arena, bool eal);
/* All memory has been given back, or is lost. */
void m5_arena_close(struct m5_arena *arena, struct m5_ctl *ctl);
/* Pages of zeros: 0, or -ENOMEM when none are to be had. offset: in the umem. */
int m5_arena_get(struct m5_arena *arena, struct m5_ctl *ctl, size_t len, struct m5_chunk **chunk,
		 size_t *offset);
void m5_arena_put(struct m5_arena *arena, struct m5_chunk *chunk, size_t offset, size_t len);
void *m5_chunk_base(const struct m5_chunk *chunk);
struct m5_umem m5_chunk_umem(const struct m5_chunk *chunk);

#endif
