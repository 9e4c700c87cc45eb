/* SPDX-License-Identifier: BSD-2-Clause */
/* What the machine gives at the moment: how long a cache line takes from one core to another. */
#ifndef PERF_LINE_H
#define PERF_LINE_H

#include <stdatomic.h>
#include <stdint.h>

enum { LINE_ROUNDS = 200000 };

struct line {
	_Alignas(64) _Atomic uint64_t turn;	/* starts at 0 */
};

/* One side answers the other, rounds times; both are threads, or processes that share the line. */
void line_follow(struct line *l, uint64_t rounds);
/* Half a round trip in ns. The line is at 2 * rounds then; who runs it again stores 0 first. */
double line_lead(struct line *l, uint64_t rounds);

#endif
