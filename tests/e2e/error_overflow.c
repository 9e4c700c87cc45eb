/* SPDX-License-Identifier: BSD-2-Clause */
/* EVDs that get more events than their length. */
#include "tests/e2e/ends.h"

#define CROWD 12

static DAT_EVD_HANDLE small;
static DAT_EP_HANDLE eps[CROWD], peers[CROWD];

/* Opens endpoints of a, whose receives complete on an EVD of length one. */
static void setup(void)
{
	DAT_EP_ATTR attr = rig_attr();

	rig_conf("");
	pair_open(&a, &b);
	must(dat_evd_create(a.ia, 1, NULL, DAT_EVD_DTO_FLAG, &small));
	for (int i = 0; i < CROWD; i++) {
		must(dat_ep_create(a.ia, a.pz, small, a.req_evd, a.conn_evd, &attr, &eps[i]));
		peers[i] = end_ep(&b, NULL);
		end_join(&a, eps[i], &b, peers[i]);
	}
}

TestSuite(error_overflow, .timeout = 60);

static void fill_up(void)
{
	DAT_LMR_TRIPLET t = seg(&a, 0, 64);
	DAT_DTO_COOKIE c = { .as_64 = 1 };

	for (int i = 0; i < CROWD; i++) {
		for (int k = 0; k < RIG_DTOS; k++)
			must(dat_ep_post_recv(eps[i], 1, &t, c, DAT_COMPLETION_DEFAULT_FLAG));
		must(dat_ep_disconnect(eps[i], DAT_CLOSE_ABRUPT_FLAG));
	}
}

static void overflow_is_told(void)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	must(dat_evd_wait(a.async, SOON_MS * 1000u, 1, &ev, &more));
	same(ev.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	same(ev.event_data.asynch_error_event_data.dat_handle, small);
}

RIG_TEST(error_overflow, overflow__all_else_continues)
{
	unsigned int n = 0;
	DAT_RETURN ret;
	DAT_COUNT more;
	DAT_EVENT ev;

	fill_up();
	overflow_is_told();
	/* The events before the overflow can still be dequeued. Then the EVD reports the
	 * overflow. */
	while ((ret = dat_evd_wait(small, 0, 1, &ev, &more)) == DAT_SUCCESS) {
		same(ev.event_data.dto_completion_event_data.status, FLUSHED);
		check(++n < CROWD * RIG_DTOS);
	}
	must_code(ret, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
	/* Connections on other EVDs are not affected. */
	pair_moves(&a, &b);
}

RIG_TEST(error_overflow, overflow__all_can_be_freed)
{
	fill_up();
	overflow_is_told();
	for (int i = 0; i < CROWD; i++) {
		must(dat_ep_free(eps[i]));
		must(dat_ep_free(peers[i]));
	}
	must(dat_evd_free(small));
	end_free(&a);
	end_free(&b);
}

/* Events that fit are kept, even if the EVD was created with a shorter length. */
RIG_TEST(error_overflow, as_many_as_fit__are_kept)
{
	DAT_LMR_TRIPLET t = seg(&a, 0, 64);
	DAT_EVENT ev;

	for (int i = 0; i < 2; i++) {
		DAT_DTO_COOKIE c = { .as_64 = (uint64_t)i };

		must(dat_ep_post_recv(eps[0], 1, &t, c, DAT_COMPLETION_DEFAULT_FLAG));
	}
	must(dat_ep_disconnect(eps[0], DAT_CLOSE_ABRUPT_FLAG));
	took_range(small, 0, 1, FLUSHED);
	rig_empty(small);
	must_fail(dat_evd_dequeue(a.async, &ev), DAT_QUEUE_EMPTY);
}

/* An EVD with completions is resized far beyond its first ring: none is lost or out of order. */
RIG_TEST(error_overflow, resized__under_traffic_loses_no_completion)
{
	DAT_COUNT size;

	for (uint64_t lap = 0; lap < 60; lap++) {
		for (uint64_t i = 0; i < 16; i++) {
			must(do_recv(&b, lap * 100 + i, 0, 64));
			must(do_send(&a, lap * 100 + i, 0, 64, 0));
			if (i == lap % 16) {
				size = lap % 4 ? 200 + (DAT_COUNT)lap * 100 : 200;
				must(dat_evd_resize(b.recv_evd, size));
				must(dat_evd_resize(a.req_evd, size));
			}
		}
		took_range(b.recv_evd, lap * 100, lap * 100 + 15, DAT_DTO_SUCCESS);
		took_range(a.req_evd, lap * 100, lap * 100 + 15, DAT_DTO_SUCCESS);
	}
}
