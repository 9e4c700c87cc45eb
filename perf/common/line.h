/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine's current speed: how long a cache line takes from one core to another. */
#ifndef PERF_LINE_H
#define PERF_LINE_H

#include <stdatomic.h>
#include <stdint.h>

enum { LINE_ROUNDS = 200000 };

struct line {
	_Alignas(64) _Atomic uint64_t turn;	/* 0 before a run */
};

/* Waits for the other side and answers; repeats this `rounds` times. The sides are two threads, or
 * two processes that share the line. */
void line_echo(struct line *l, uint64_t rounds);
/* Returns half a round trip in ns. Afterwards turn is 2 * rounds; store 0 before another run. */
double line_ping(struct line *l, uint64_t rounds);

#endif
