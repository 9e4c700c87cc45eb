/* SPDX-License-Identifier: BSD-2-Clause */
/* The windows of dat_bind_lat and dat_bind_bw: RMRs over local memory. The server writes through
 * one of them. */
#ifndef PERF_WINDOW_H
#define PERF_WINDOW_H

#include "perf/tool/tool.h"

enum { WINDOW_MAX = OPTION_MAX_EPS, WINDOW_EACH = 64 };

extern DAT_RMR_HANDLE windows[WINDOW_MAX];
extern DAT_RMR_CONTEXT window_context;		/* context of the previous bind */
extern unsigned int window_count;		/* windows per endpoint; endpoints share none */

/* Functions for tool_test.open and .serve. With --verify, .measure calls windows_check at the
 * end. */
int windows_open(struct tool *t);
int windows_serve(struct tool *t);
int windows_check(struct tool *t);

/*
 * Makes the i-th bind of an endpoint, counted from 0. It uses the endpoint's RMRs in turns, and
 * binds each again, or unbinds it every other time.
 */
static inline DAT_RETURN window_bind(struct tool *t, unsigned int ep, uint64_t i,
				     DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_HANDLE rmr = windows[ep * window_count + i % window_count];
	bool unbind = t->o.unbind && i / window_count % 2;
	DAT_LMR_TRIPLET l = region_segment(&t->local, ep * t->slice, unbind ? 0 : t->size);

	return consumer_bind(rmr, t->local.lmr, &l, unbind ? DAT_MEM_PRIV_NONE_FLAG :
			     DAT_MEM_PRIV_REMOTE_WRITE_FLAG, t->eps[ep].ep, cookie, flags, &window_context);
}

#endif
