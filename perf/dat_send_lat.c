/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages to and fro: half the round trip. */
#include "perf/tool/lat.h"

static int send_once(struct tool *t, uint64_t i)
{
	DAT_LMR_TRIPLET l = tool_segment(&t->local, 0, t->size);
	DAT_DTO_COOKIE cookie = { .as_64 = i };
	DAT_RETURN ret;

	ret = dat_ep_post_send(t->eps[0].ep, 1, &l, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	return ret == DAT_SUCCESS ? tool_wait_post(t) : tool_refused(t, ret);
}

static int receive(struct tool *t)
{
	DAT_EVENT ev;
	int rc = tool_wait(t, t->data.recv_evd, &ev);

	return rc ? rc : tool_post_recv(t, 0);
}

static int round_trip(struct tool *t, uint64_t i)
{
	return send_once(t, i) || receive(t) ? -1 : 0;
}

static int lead(struct tool *t, struct tool_result *r)
{
	return lat_run(t, r, round_trip);
}

static int serve(struct tool *t)
{
	uint64_t i;
	int rc;

	for (i = 1; ; i++) {
		rc = receive(t);
		if (rc)
			return rc < 0 ? -1 : 0;
		if (send_once(t, i))
			return -1;
	}
}

int main(int argc, char **argv)
{
	static const struct tool_test test = {
		.name = "dat_send_lat", .title = "Send Latency Test", .metric = TOOL_LATENCY,
		.doc = "Latency of send and receive: half the round trip of a message and its answer."
		       "\vWithout HOST it is the server. dat_perf(7) tells of all options.",
		.takes = TAKES_SIZE | TAKES_SAMPLES | TAKES_RX | TAKES_EVENTS | TAKES_INLINE,
		.size = 2, .iters = 1000, .depth = 1, .part = 0.5,
		.open = tool_post_recvs, .lead = lead, .serve = serve,
	};

	return tool_main(&test, argc, argv);
}
