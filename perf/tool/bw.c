/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/bw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 8192, MODERATION = 100 };

uint32_t bw_moderation(const struct tool *t)
{
	uint32_t mod = t->o.cq_mod;

	if (!mod)
		mod = t->size > SMALL ? 1 : MODERATION;
	return mod < t->o.depth ? mod : t->o.depth;
}

static int stamps_for(struct bw *b, uint64_t n)
{
	b->posted_at = calloc(n, sizeof(*b->posted_at));
	b->done_at = calloc(n, sizeof(*b->done_at));
	return b->posted_at && b->done_at ? 0 : -1;
}

int bw_begin(struct tool *t, struct bw *b, bool warm_up)
{
	const struct tool_options *o = &t->o;
	double margin = (double)o->margin_s * 1e9, all = (double)o->duration_s * 1e9;
	uint64_t now;
	uint32_t i;

	*b = (struct bw){ .mod = bw_moderation(t), .n = warm_up ? o->warm_up : t->iters };
	for (i = 0; i < o->eps; i++)
		t->eps[i].posted = t->eps[i].completed = t->eps[i].signalled = 0;
	if (warm_up)
		return 0;
	if (!o->duration_s)
		return o->no_peak || b->n * o->eps > BW_PEAK_MAX ? 0 : stamps_for(b, b->n * o->eps);
	b->n = 0;
	now = ticks();
	b->from = now + ticks_from_ns(margin);
	b->to = now + ticks_from_ns(all - margin);
	t->deadline = now + ticks_from_ns(all);
	return 0;
}

/* Returns the best rate of all spans between a post and a completion, as perftest computes its
 * peak. */
static double peak_of(const struct bw *b)
{
	uint64_t i, j, span;
	double best = 0, rate;

	for (i = 0; b->posted_at && i < b->done; i++) {
		for (j = i; j < b->done; j++) {
			if (!b->done_at[j] || b->done_at[j] <= b->posted_at[i])
				continue;
			span = b->done_at[j] - b->posted_at[i];
			rate = (double)(j - i + 1) / (double)span;
			best = rate > best ? rate : best;
		}
	}
	return best / ticks_to_ns(1) * 1e9;
}

void bw_count_all(const struct tool *t, struct bw *b)
{
	b->start = b->begun;
	b->end = ticks();
	b->done_at_start = 0;
	b->done_at_end = b->done;
	fprintf(stderr, "no operation completed between the margins of -D %" PRIu64 " (-f): the row covers "
		"all %.1f s\n", t->o.duration_s, ticks_to_ns(b->end - b->start) / 1e9);
}

void bw_finish(struct tool *t, struct bw *b, struct tool_result *r)
{
	double s = ticks_to_ns(b->end - b->start) / 1e9;
	uint64_t n = b->done_at_end - b->done_at_start;

	r->iters = n;
	r->rate = s > 0 ? (double)n / s : 0;
	r->average = r->rate * (double)t->size;
	r->peak = peak_of(b) * (double)t->size;
	t->own_count = n;
	t->own_ns = (uint64_t)(s * 1e9);
	free(b->posted_at);
	free(b->done_at);
	b->posted_at = b->done_at = NULL;
}

int bw_own(struct tool *t)
{
	struct tool_result mine;

	return t->o.both_ways ? t->test->measure(t, &mine) : 0;
}

int bw_serve(struct tool *t)
{
	return bw_own(t) ? -1 : target_serve(t);
}
