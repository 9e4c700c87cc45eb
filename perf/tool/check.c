/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perf/common/verify.h"

/* Returns the seed of a side. The two sides use different data, so a side that finds its own has
 * received nothing. */
static uint64_t seed_of(const struct tool *t, bool client)
{
	return client ? t->seed : ~t->seed;
}

int check_prepare(struct tool *t)
{
	bool reads = t->test->takes & TAKES_READS;
	struct region *give = reads ? &t->mine : &t->local, *get = reads ? &t->local : &t->mine;
	uint32_t i;

	for (i = 0; t->o.verify && i < t->o.eps; i++) {
		pattern_fill((char *)give->buf + i * t->slice, t->size, seed_of(t, t->client), i);
		memset((char *)get->buf + i * t->slice, 0, t->last_place * t->stride + t->size);
	}
	return 0;
}

/* Returns true if no operation has reached the place since check_prepare. */
static bool is_wiped(const char *at, size_t size)
{
	return !at[0] && !memcmp(at, at + 1, size - 1);
}

int check_slice(const struct tool *t, const struct region *r, uint32_t ep)
{
	const char *at = (const char *)r->buf + ep * t->slice;
	uint64_t place;

	for (place = 0; place <= t->last_place; place++, at += t->stride) {
		size_t bad = pattern_check(at, t->size, seed_of(t, !t->client), ep);

		/* Each write of an endpoint goes to the next place. A short run reaches only the first
		 * places. */
		if (bad == t->size || (place && place >= t->msg.sent && is_wiped(at, t->size)))
			continue;
		fprintf(stderr, "endpoint %u: byte %zu of %" PRIu64 " is wrong at place %" PRIu64 "\n", ep,
			bad, t->size, place);
		return -1;
	}
	return 0;
}

int check_finish(struct tool *t)
{
	bool reads = t->test->takes & TAKES_READS, gets = t->o.both_ways || t->client == reads;
	uint32_t i;

	for (i = 0; t->o.verify && gets && i < t->o.eps; i++)
		if (check_slice(t, reads ? &t->local : &t->mine, i))
			return -1;
	return 0;
}
