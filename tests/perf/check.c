/* SPDX-License-Identifier: BSD-2-Clause */
/* --verify of dat_write_bw, on an adapter that loses a write and completes it. */
#include <criterion/criterion.h>
#include <string.h>
#include <dat/udat.h>
#include <dat/dat_registry.h>

#include "perf/tool/bw.h"

enum { SIZE = 64, PLACES = 64, DEPTH = 4, NONE = PLACES };

static unsigned char local[SIZE], mine[PLACES * SIZE];
static uint64_t lost;			/* the place to which no write gets */
static DAT_DTO_COOKIE done[DEPTH];
static unsigned int n_done, taken;

int target_serve(struct tool *t)
{
	(void)t;
	return 0;
}

static DAT_RETURN write_memory(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *from, DAT_DTO_COOKIE cookie,
			       const DAT_RMR_TRIPLET *to, DAT_COMPLETION_FLAGS flags)
{
	unsigned char *at = (unsigned char *)(uintptr_t)to->target_address;

	(void)ep;
	(void)n;
	if ((uint64_t)(at - mine) / SIZE != lost)
		memcpy(at, (void *)(uintptr_t)from->virtual_address, from->segment_length);
	if (flags == DAT_COMPLETION_DEFAULT_FLAG)
		done[n_done++ % DEPTH] = cookie;
	return DAT_SUCCESS;
}

static DAT_RETURN dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	(void)evd;
	if (taken == n_done)
		return (DAT_RETURN)(DAT_CLASS_ERROR | DAT_QUEUE_EMPTY);
	ev->event_number = DAT_DTO_COMPLETION_EVENT;
	ev->event_data.dto_completion_event_data.status = DAT_DTO_SUCCESS;
	ev->event_data.dto_completion_event_data.user_cookie = done[taken++ % DEPTH];
	return DAT_SUCCESS;
}

static DAT_PROVIDER table = { .ep_post_rdma_write_func = write_memory, .evd_dequeue_func = dequeue };
static struct { DAT_PROVIDER *table; } handle = { &table };

/* Measures as the client, with one endpoint, then checks as the server. Returns what the check returns. */
static int verified(uint64_t writes, uint64_t warm_up, uint64_t lost_place)
{
	struct tool_ep ep = { .ep = (DAT_EP_HANDLE)&handle, .peer.addr = (uintptr_t)mine };
	struct tool t = {
		.test = &tool_test, .client = true, .iters = writes, .eps = &ep, .seed = 7,
		.o = { .eps = 1, .depth = DEPTH, .warm_up = warm_up, .iters = writes, .verify = true },
		.mine.buf = mine, .local.buf = local, .size = SIZE, .stride = SIZE,
		.slice = sizeof(mine), .last_place = PLACES - 1, .data.req_evd = (DAT_EVD_HANDLE)&handle,
	};
	struct tool_result r = { .iters = 0 };

	lost = lost_place;
	cr_assert_eq(tool_test.prepare(&t), 0);
	cr_assert_eq(tool_test.measure(&t, &r), 0);
	cr_assert_eq(r.iters, writes);
	t.msg = (struct tool_msg){ .op = OP_STOP, .sent = t.sent };
	t.client = false;
	return tool_test.finish(&t);
}

Test(check, all_writes_arrive__data_is_right)
{
	cr_assert_eq(verified(1000, 10, NONE), 0);
}

Test(check, lost_write__is_wrong_data)
{
	cr_assert_eq(verified(1000, 0, 0), -1);
	cr_assert_eq(verified(1000, 0, 5), -1);
	cr_assert_eq(verified(1000, 0, PLACES - 1), -1);
	cr_assert_eq(verified(20, 10, 19), -1);
	cr_assert_eq(verified(10, 30, 29), -1, "a place that only the warm-up reaches");
}

Test(check, short_run__does_not_reach_all_places)
{
	cr_assert_eq(verified(20, 10, NONE), 0);
	cr_assert_eq(verified(20, 30, 30), 0);
}
