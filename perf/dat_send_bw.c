/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures messages, with as many outstanding as the endpoints allow. The receiver reposts each
 * receive. */
#include <stdio.h>

#include "perf/tool/bw.h"
#include "perf/tool/check.h"

static uint64_t received, sent;		/* number of messages of this size, including the warm-up */

static DAT_RETURN post(struct tool *t, unsigned int ep, DAT_DTO_COOKIE cookie,
		       DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET l = region_segment(&t->local, ep * t->slice, t->size);

	sent++;
	return dat_ep_post_send(t->eps[ep].ep, 1, &l, cookie, flags);
}

static int take(struct tool *t, const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;
	uint32_t ep = (uint32_t)d->user_cookie.as_64;

	if (!tool_good(ev))
		return tool_bad(t, ev);
	if (t->o.verify && (d->transfered_length != t->size || check_slice(t, &t->mine, ep)))
		return -1;
	received++;
	t->progress = received;
	return tool_post_recv(t, ep);
}

/* Handles all messages that have arrived, without waiting. */
static int receive_all(struct tool *t)
{
	DAT_EVENT ev;

	while (dat_evd_dequeue(t->data.recv_evd, &ev) == DAT_SUCCESS)
		if (take(t, &ev))
			return -1;
	return 0;
}

static int measure(struct tool *t, struct tool_result *r)
{
	int rc = t->o.both_ways ? bw_measure(t, r, post, receive_all) : bw_measure(t, r, post, NULL);

	t->sent = sent;
	return rc;
}

/* Receives until the peer has sent the total and all messages have arrived. */
static int receive_until_stop(struct tool *t)
{
	DAT_EVENT ev;
	int rc;

	while (!t->stop || received < t->msg.sent) {
		rc = tool_wait(t, t->data.recv_evd, &ev);
		if (rc < 0 || (rc == 0 && take(t, &ev)))
			return -1;
	}
	return 0;
}

static int serve(struct tool *t)
{
	return bw_own(t) || receive_until_stop(t) ? -1 : 0;
}

static int prepare(struct tool *t)
{
	received = sent = 0;
	return check_prepare(t);
}

static int finish(struct tool *t)
{
	if (received == t->msg.sent || (t->client && !t->o.both_ways))
		return 0;
	fprintf(stderr, "%llu of %llu messages have arrived\n", (unsigned long long)received,
		(unsigned long long)t->msg.sent);
	return -1;
}

const struct tool_test tool_test = {
	.name = "dat_send_bw", .title = "Send BW Test", .metric = TOOL_BANDWIDTH,
	.doc = "Bandwidth and rate of messages.",
	.takes = TAKES_STREAM | TAKES_INLINE | TAKES_RX,
	.size = 65536, .iters = 1000, .depth = 128,
	.open = tool_post_recvs, .prepare = prepare, .measure = measure, .serve = serve,
	.drain = receive_until_stop, .finish = finish,
};
