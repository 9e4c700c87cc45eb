/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/window.h"

#include <stdio.h>
#include <string.h>

#include "perf/common/verify.h"

DAT_RMR_HANDLE windows[WINDOW_MAX];
DAT_RMR_CONTEXT window_context;
unsigned int window_count;

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

int windows_open(struct tool *t)
{
	unsigned int i;

	if (!t->client)
		return 0;
	window_count = least(t->o.depth, least(WINDOW_EACH, WINDOW_MAX / t->o.eps));
	for (i = 0; i < window_count * t->o.eps; i++)
		if (!dat_ok(dat_rmr_create(t->c.pz, &windows[i]), "dat_rmr_create"))
			return -1;
	return 0;
}

/* Binds the first window once more, so that it is certainly bound. */
int windows_check(struct tool *t)
{
	struct tool_msg m = { .op = OP_WINDOW, .addr = (uintptr_t)t->local.buf, .size = t->size,
			      .seed = t->seed };
	DAT_RMR_COOKIE cookie = { .as_64 = 0 };
	size_t bad;

	if (!t->o.verify)
		return 0;
	memset(t->local.buf, 0, t->size);
	if (tool_completes(t, window_bind(t, 0, 0, cookie, DAT_COMPLETION_DEFAULT_FLAG)))
		return -1;
	m.rmr_context = window_context;
	if (ctl_send(t, &m) || ctl_wait(t, OP_WINDOW))
		return -1;
	bad = pattern_check(t->local.buf, t->size, t->seed, 0);
	if (bad == t->size)
		return 0;
	fprintf(stderr, "written through the window: byte %zu of %llu is wrong\n", bad,
		(unsigned long long)t->size);
	return -1;
}

static int write_through(struct tool *t)
{
	DAT_LMR_TRIPLET l = region_segment(&t->local, 0, t->msg.size);
	DAT_RMR_TRIPLET r = { .rmr_context = t->msg.rmr_context, .TARGET_ADDRESS = t->msg.addr,
			      .segment_length = t->msg.size };
	struct tool_msg m = { .op = OP_WINDOW };
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	pattern_fill(t->local.buf, t->msg.size, t->msg.seed, 0);
	return tool_completes(t, dat_ep_post_rdma_write(t->eps[0].ep, 1, &l, cookie, &r,
							DAT_COMPLETION_DEFAULT_FLAG)) ||
	       ctl_send(t, &m) ? -1 : 0;
}

int windows_serve(struct tool *t)
{
	for (;;) {
		if (ctl_wait_any(t))
			return -1;
		if (t->msg.op == OP_STOP)
			return 0;
		if (t->msg.op != OP_WINDOW || t->msg.size > t->max_size || write_through(t))
			return -1;
	}
}
