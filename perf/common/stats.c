/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/common/stats.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns the time that reading the clock takes: the median of some readings. */
static uint64_t clock_ns(void)
{
	static uint64_t cost = UINT64_MAX;
	struct samples s;
	int i;

	if (cost != UINT64_MAX || samples_init(&s, 101))
		return cost != UINT64_MAX ? cost : 0;
	for (i = 0; i < 101; i++) {
		uint64_t t = now_ns();

		samples_add(&s, now_ns() - t);
	}
	cost = samples_quantile(&s, 0.5);
	samples_free(&s);
	return cost;
}

uint64_t since_ns(uint64_t start)
{
	uint64_t passed = now_ns() - start, cost = clock_ns();

	return passed > cost ? passed - cost : 0;
}

int samples_init(struct samples *s, size_t size)
{
	s->ns = calloc(size ? size : 1, sizeof(*s->ns));
	s->n = 0;
	s->size = size ? size : 1;
	return s->ns ? 0 : -ENOMEM;
}

void samples_free(struct samples *s)
{
	free(s->ns);
	s->ns = NULL;
}

void samples_add(struct samples *s, uint64_t ns)
{
	s->ns[s->n++ % s->size] = ns;
}

void samples_clear(struct samples *s)
{
	s->n = 0;
}

int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

size_t samples_kept(const struct samples *s)
{
	return s->n < s->size ? s->n : s->size;
}

uint64_t samples_quantile(struct samples *s, double q)
{
	size_t n = samples_kept(s), i;

	if (n == 0)
		return 0;
	qsort(s->ns, n, sizeof(*s->ns), compare_u64);
	i = (size_t)(q * (double)n);
	return s->ns[i < n ? i : n - 1];
}
