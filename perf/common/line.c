/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/common/line.h"

#include <sched.h>

#include "perf/common/stats.h"

enum { SPINS_PER_YIELD = 100000 };

static void turns(struct line *l, uint64_t rounds, uint64_t me)
{
	uint64_t i, spins = 0;

	for (i = 0; i < rounds; i++) {
		while (atomic_load_explicit(&l->turn, memory_order_acquire) != 2 * i + me)
			if (++spins % SPINS_PER_YIELD == 0)
				sched_yield();
		atomic_store_explicit(&l->turn, 2 * i + me + 1, memory_order_release);
	}
}

void line_echo(struct line *l, uint64_t rounds)
{
	turns(l, rounds, 1);
}

double line_ping(struct line *l, uint64_t rounds)
{
	uint64_t t = now_ns(), spins = 0;

	turns(l, rounds, 0);
	while (atomic_load_explicit(&l->turn, memory_order_acquire) != 2 * rounds)
		if (++spins % SPINS_PER_YIELD == 0)
			sched_yield();
	return (double)(now_ns() - t) / (double)rounds / 2;
}
