/* SPDX-License-Identifier: BSD-2-Clause */
/* The samples of one operation, the last of which are kept, and the figures for a table. */
#ifndef PERF_STATS_H
#define PERF_STATS_H

#include <stddef.h>
#include <stdint.h>

struct samples {
	uint64_t *ns;
	size_t n, size;
};

/* Returns the nanoseconds of CLOCK_MONOTONIC. */
uint64_t now_ns(void);
/* Returns the time since start, minus the time that reading the clock takes. */
uint64_t since_ns(uint64_t start);

/* For qsort() of uint64_t. */
int compare_u64(const void *a, const void *b);

/* Returns 0 or -ENOMEM. */
int samples_init(struct samples *s, size_t size);
void samples_free(struct samples *s);
/* Adds a sample. If there are already `size` samples, it overwrites the oldest. */
void samples_add(struct samples *s, uint64_t ns);
void samples_clear(struct samples *s);
/* Returns how many samples are kept. A quantile is one of these. */
size_t samples_kept(const struct samples *s);
/* Sorts the samples and returns the quantile q, from 0 to 1. Returns 0 if there are no samples. */
uint64_t samples_quantile(struct samples *s, double q);

/*
 * Returns how long to wait before the first poll for a batch of completions. With few batches, a
 * profiler is slowing the device down, so the wait is long. With many batches, which are timed, a
 * batch whose completions come late is repeated.
 */
static inline unsigned int batch_wait_us(unsigned int batches)
{
	return batches > 64 ? 2000 : 20000;
}

#endif
