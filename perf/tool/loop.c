/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

#include "perf/tool/tool.h"

int tool_lost(struct tool *t)
{
	fprintf(stderr, "connection ended: %s: the %s is gone; see its output, and restart both\n",
		dat_event_name(t->c.end), t->client ? "server" : "client");
	return -1;
}

int tool_failed(struct tool *t)
{
	return consumer_heard_end(&t->c) == 0 ? tool_lost(t) : -1;
}

int tool_idle(struct tool *t, DAT_RETURN ret)
{
	uint64_t now = now_ns();
	DAT_RETURN type = DAT_GET_TYPE(ret);

	if (ret != DAT_SUCCESS && type != DAT_QUEUE_EMPTY && type != DAT_TIMEOUT_EXPIRED &&
	    type != DAT_INTERRUPTED_CALL) {
		dat_ok(ret, "waiting for a completion");
		return -1;
	}
	if (consumer_ended(&t->c))
		return tool_lost(t);
	if ((!t->client || t->draining) && (t->stop || ctl_poll(t))) {
		t->stop = true;
		return 1;
	}
	if (!t->silent_since || t->seen != t->progress) {
		t->silent_since = now;
		t->seen = t->progress;
	}
	if (t->client && now - t->silent_since > t->c.idle_ns) {
		fprintf(stderr, "nothing has come for %" PRIu64 " s: the server is alive, but does not "
			"answer; is it stopped?\n", t->c.idle_ns / 1000000000u);
		return -1;
	}
	sched_yield();
	return 0;
}

int tool_bad(struct tool *t, const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;
	DAT_DTO_COMPLETION_STATUS status = d->status;

	if (ev->event_number == DAT_RMR_BIND_COMPLETION_EVENT)
		status = ev->event_data.rmr_completion_event_data.status;
	if (status != DAT_DTO_ERR_FLUSHED)
		fprintf(stderr, "%s with status %s\n", dat_event_name(ev->event_number),
			dat_status_name(status));
	/* If the operation was flushed, the reason is the end of the connection: report that. */
	return tool_failed(t);
}

int tool_refused(struct tool *t, DAT_RETURN ret)
{
	dat_ok(ret, "posting");
	return tool_failed(t);
}

int tool_post_recv(struct tool *t, unsigned int ep)
{
	DAT_LMR_TRIPLET l = region_segment(&t->mine, ep * t->slice, t->max_size);
	DAT_DTO_COOKIE cookie = { .as_64 = ep };

	return dat_ok(dat_ep_post_recv(t->eps[ep].ep, 1, &l, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		      "dat_ep_post_recv") ? 0 : -1;
}

int tool_post_recvs(struct tool *t)
{
	uint32_t i, j;

	for (i = 0; i < t->o.eps; i++)
		for (j = 0; j < t->o.rx_depth; j++)
			if (tool_post_recv(t, i))
				return -1;
	return 0;
}

int target_serve(struct tool *t)
{
	DAT_EVENT ev;
	int rc;

	if (t->stop)
		return 0;
	if (!t->o.target_polls)
		return ctl_wait(t, OP_STOP);
	rc = tool_wait(t, t->data.req_evd, &ev);
	return rc == 1 && t->msg.op == OP_STOP ? 0 : -1;
}
