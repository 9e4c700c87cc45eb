/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps as many operations outstanding as the endpoints allow, and requests a completion for every
 * cq_mod-th. Inlined into each program together with its post function, so that no call goes through
 * a pointer.
 */
#ifndef PERF_BW_H
#define PERF_BW_H

#include <stdio.h>

#include "perf/tool/tool.h"

enum { BW_PEAK_MAX = 20000, BW_BURST = 16, BW_LAP = 128 };

typedef DAT_RETURN bw_post_fn(struct tool *t, unsigned int ep, DAT_DTO_COOKIE cookie,
			      DAT_COMPLETION_FLAGS flags);
/* called in each lap: handles receives if the peer sends too */
typedef int bw_also_fn(struct tool *t);

struct bw {
	/* ticks of each post and completion, for the peak; NULL: not measured */
	uint64_t *posted_at, *done_at;
	uint64_t posted, done;		/* operations of all endpoints */
	uint64_t begun;			/* ticks at the start */
	/* the measured part: ticks at its bounds, and operations done by then */
	uint64_t start, end;
	uint64_t done_at_start, done_at_end;
	uint64_t n;			/* operations per endpoint; 0: until the deadline */
	uint64_t from, to;		/* with -D: the ticks between the margins */
	uint32_t mod;
	uint32_t next;			/* the endpoint to fill first */
};

/* functions of bw.c */
int bw_begin(struct tool *t, struct bw *b, bool warm_up);
void bw_finish(struct tool *t, struct bw *b, struct tool_result *r);
/* If nothing completed between the margins of -D, counts all posted operations and their time. */
void bw_count_all(const struct tool *t, struct bw *b);
uint32_t bw_moderation(const struct tool *t);
/* tool_test.serve of one-sided operations: with -b the server first does its own operations, and then
 * only serves as target. */
int bw_serve(struct tool *t);
/* The first part of bw_serve: the server's own operations. */
int bw_own(struct tool *t);

static inline bool bw_room(const struct tool *t, const struct bw *b, const struct tool_ep *e,
			   bool over)
{
	if (e->posted - e->completed >= t->o.depth)
		return false;
	/*
	 * The last operation always requests a completion. Without that completion, this side would not
	 * learn that the operations before have completed.
	 */
	return over ? e->signalled != e->posted : !b->n || e->posted < b->n;
}

static inline __attribute__((always_inline)) int bw_post(struct tool *t, struct bw *b,
							 unsigned int ep, bool over, bw_post_fn *post)
{
	struct tool_ep *e = &t->eps[ep];
	uint64_t next = e->posted + 1;
	bool signal = over || next % b->mod == 0 || next == b->n ||
		      next - e->completed == t->o.depth;
	DAT_DTO_COOKIE cookie = { .as_64 = next << 16 | ep };
	DAT_RETURN ret;

	if (b->posted_at)
		b->posted_at[b->posted] = ticks();
	ret = post(t, ep, cookie, signal ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_SUPPRESS_FLAG);
	if (ret != DAT_SUCCESS)
		return tool_refused(t, ret);
	b->posted++;
	e->posted = next;
	e->signalled = signal ? next : e->signalled;
	return 0;
}

static inline void bw_complete(struct tool *t, struct bw *b, const DAT_EVENT *ev)
{
	uint64_t cookie = ev->event_number == DAT_RMR_BIND_COMPLETION_EVENT ?
		ev->event_data.rmr_completion_event_data.user_cookie.as_64 :
		ev->event_data.dto_completion_event_data.user_cookie.as_64;
	struct tool_ep *e = &t->eps[cookie & 0xffff];
	uint64_t made = (cookie >> 16) - e->completed;

	e->completed += made;
	b->done += made;
	if (b->done_at)
		b->done_at[b->done - 1] = ticks();
	t->progress = b->done;
}

static inline int bw_reap(struct tool *t, struct bw *b)
{
	DAT_EVENT ev;
	int i;

	for (i = 0; i < BW_BURST && dat_evd_dequeue(t->data.req_evd, &ev) == DAT_SUCCESS; i++) {
		if (!tool_good(&ev))
			return tool_bad(t, &ev);
		bw_complete(t, b, &ev);
	}
	return 0;
}

/* If nothing can be posted, sleeps with -e. */
static inline int bw_sleep(struct tool *t, struct bw *b)
{
	DAT_EVENT ev;
	int rc = tool_wait(t, t->data.req_evd, &ev);

	if (rc == 0)
		bw_complete(t, b, &ev);
	return rc;
}

/* Marks the part that counts, between the margins of -D. True: the time is over. */
static inline bool bw_over(const struct tool *t, struct bw *b)
{
	uint64_t now;

	if (b->n)
		return false;
	now = ticks();
	if (now <= b->from) {
		b->start = now;
		b->done_at_start = b->done;
	}
	if (now <= b->to) {
		b->end = now;
		b->done_at_end = b->done;
	}
	return now >= t->deadline;
}

/*
 * Posts. Returns 0 if all endpoints are full; -1 if a post failed; 1 after one lap, because
 * completions and clock must be checked: filling thousands of endpoints may take longer than -D.
 */
static inline __attribute__((always_inline)) int bw_fill(struct tool *t, struct bw *b,
							 bw_post_fn *post)
{
	uint64_t enough = b->posted + BW_LAP;
	bool over = bw_over(t, b);
	unsigned int i;

	for (i = 0; i < t->o.eps; i++) {
		while (bw_room(t, b, &t->eps[b->next], over))
			if (bw_post(t, b, b->next, over, post))
				return -1;
		b->next = b->next + 1 < t->o.eps ? b->next + 1 : 0;
		if (b->posted >= enough)
			return 1;
	}
	return 0;
}

static inline __attribute__((always_inline)) int bw_run(struct tool *t, struct bw *b,
							bw_post_fn *post, bw_also_fn *also)
{
	unsigned int idle = 0;
	uint64_t before;
	int rc, more;

	b->begun = b->start = ticks();
	do {
		before = b->done;
		more = bw_fill(t, b, post);
		if (more < 0 || (also && also(t)))
			return -1;
		rc = t->o.events && !more ? bw_sleep(t, b) : bw_reap(t, b);
		if (rc == 0 && b->done == before && ++idle % TOOL_SPINS == 0)
			rc = tool_idle(t, DAT_SUCCESS);
		if (rc < 0)
			return -1;
	} while (b->posted != b->done || (b->n ? b->done < b->n * t->o.eps : ticks() < t->deadline));
	if (b->n) {
		b->end = ticks();
		b->done_at_end = b->done;
	} else if (b->done_at_end == b->done_at_start) {
		bw_count_all(t, b);
	}
	return 0;
}

static inline __attribute__((always_inline)) int bw_measure(struct tool *t, struct tool_result *r,
							    bw_post_fn *post, bw_also_fn *also)
{
	struct bw b;
	int rc;

	if (bw_begin(t, &b, true) || (b.n && bw_run(t, &b, post, also)) || bw_begin(t, &b, false))
		return -1;
	rc = bw_run(t, &b, post, also);
	bw_finish(t, &b, r);
	return rc;
}

#endif
