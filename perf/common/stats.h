/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of one operation, all kept, and the figures for a table. */
#ifndef PERF_STATS_H
#define PERF_STATS_H

#include <stddef.h>
#include <stdint.h>

struct samples {
	uint64_t *ns;
	size_t n, size;
};

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t now_ns(void);
/* Time since start, without the overhead of reading the clock. */
uint64_t since_ns(uint64_t start);

/* 0 or -ENOMEM. */
int samples_init(struct samples *s, size_t size);
void samples_free(struct samples *s);
/* Beyond size the oldest sample is overwritten. */
void samples_add(struct samples *s, uint64_t ns);
void samples_clear(struct samples *s);
/* Sorts; q in 0..1. 0 when there is no sample. */
uint64_t samples_quantile(struct samples *s, double q);

/*
 * The first wait for a batch of completions. With few batches a profiler runs and slows the device down,
 * so the wait is long. Among many, which are timed, a late one is repeated.
 */
static inline unsigned int batch_wait_us(unsigned int batches)
{
	return batches > 64 ? 2000 : 20000;
}

#endif
