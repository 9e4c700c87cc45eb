/* SPDX-License-Identifier: BSD-2-Clause */
/* Control messages. They use an endpoint of their own. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perf/tool/tool.h"

enum { CTL_RECVS = 4 };
static const uint64_t silence_ns = TOOL_SILENCE_US * 1000ull;

static int ctl_post(struct tool *t, uint64_t slot)
{
	DAT_LMR_TRIPLET l = region_segment(&t->ctl_recv, slot * sizeof(struct tool_msg),
					     sizeof(struct tool_msg));
	DAT_DTO_COOKIE cookie = { .as_64 = slot };

	return dat_ok(dat_ep_post_recv(t->c.ep, 1, &l, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		      "dat_ep_post_recv") ? 0 : -1;
}

static int ctl_take(struct tool *t, const DAT_EVENT *ev)
{
	uint64_t slot = ev->event_data.dto_completion_event_data.user_cookie.as_64;

	if (!tool_good(ev))
		return -1;
	memcpy(&t->msg, (char *)t->ctl_recv.buf + slot * sizeof(t->msg), sizeof(t->msg));
	t->msg.text[sizeof(t->msg.text) - 1] = 0;
	/* The peer's text goes to a terminal. */
	for (char *c = t->msg.text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return ctl_post(t, slot);
}

bool ctl_poll(struct tool *t)
{
	DAT_EVENT ev;

	return dat_evd_dequeue(t->c.recv_evd, &ev) == DAT_SUCCESS && ctl_take(t, &ev) == 0;
}

int ctl_wait(struct tool *t, enum tool_op op)
{
	if (ctl_wait_any(t))
		return -1;
	if (t->msg.op == (uint32_t)op)
		return 0;
	fprintf(stderr, "protocol error: message %u from the peer instead of %d; run the same release on "
		"both hosts\n", t->msg.op, (int)op);
	return -1;
}

/* A server waits as long as its client measures, and with -b a client as long as its server does. The time of
 * a number of operations is not known. */
static bool is_limited(const struct tool *t)
{
	return t->client && (!t->draining || t->o.duration_s);
}

int ctl_wait_any(struct tool *t)
{
	uint64_t until = now_ns() + silence_ns;
	DAT_COUNT more;
	DAT_EVENT ev;

	for (;;) {
		if (dat_evd_wait(t->c.recv_evd, 100000, 1, &ev, &more) == DAT_SUCCESS) {
			if (ctl_take(t, &ev))
				break;
			return 0;
		}
		/* A message may have arrived before the end of the connection, but after the last
		 * poll. So this polls once more. */
		if (consumer_ended(&t->c)) {
			if (ctl_poll(t))
				return 0;
			break;
		}
		if (t->client && now_ns() > until) {
			fprintf(stderr, "the server has not answered for %" PRIu64 " s: is it stopped?\n",
				silence_ns / 1000000000u);
			if (is_limited(t))
				return -1;
			until = UINT64_MAX;
		}
	}
	return tool_failed(t);
}

static DAT_RETURN post_msg(struct tool *t, const struct tool_msg *m)
{
	DAT_LMR_TRIPLET l = region_segment(&t->ctl_send, 0, sizeof(*m));
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	memcpy(t->ctl_send.buf, m, sizeof(*m));
	return dat_ep_post_send(t->c.ep, 1, &l, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

/*
 * The connection ended before the ACK of a message came. A server waits for a message next, and finds
 * either the client's answer or the end of the connection.
 */
static bool may_have_arrived(struct tool *t)
{
	return !t->client && consumer_heard_end(&t->c) == 0;
}

static bool was_flushed(const DAT_EVENT *ev)
{
	return ev->event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED;
}

int ctl_send(struct tool *t, const struct tool_msg *m)
{
	DAT_EVENT ev;

	if (!dat_ok(post_msg(t, m), "dat_ep_post_send"))
		return tool_failed(t);
	if (consumer_completion(&t->c, t->c.req_evd, &ev))
		return may_have_arrived(t) ? 0 : tool_failed(t);
	if (tool_good(&ev))
		return 0;
	return was_flushed(&ev) && may_have_arrived(t) ? 0 : tool_bad(t, &ev);
}

void ctl_bye(struct tool *t)
{
	const struct tool_msg m = { .op = OP_BYE };
	uint64_t until = now_ns() + silence_ns;
	DAT_COUNT more;
	DAT_EVENT ev;

	if (post_msg(t, &m) != DAT_SUCCESS)
		return;
	while (dat_evd_wait(t->c.req_evd, 100000, 1, &ev, &more) != DAT_SUCCESS)
		if (consumer_ended(&t->c) || now_ns() > until)
			return;
}

int ctl_open(struct tool *t)
{
	return region_create(&t->c, &t->ctl_send, sizeof(struct tool_msg), DAT_MEM_PRIV_LOCAL_READ_FLAG) ||
	       region_create(&t->c, &t->ctl_recv, CTL_RECVS * sizeof(struct tool_msg),
			     DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG) ? -1 : 0;
}

int ctl_endpoint(struct tool *t)
{
	DAT_EVENT ev;
	uint64_t i;

	if (t->c.ep != DAT_HANDLE_NULL && !dat_ok(dat_ep_free(t->c.ep), "dat_ep_free"))
		return -1;
	t->c.ep = DAT_HANDLE_NULL;
	/* Removes completions of receives that the previous endpoint had posted. */
	while (dat_evd_dequeue(t->c.recv_evd, &ev) == DAT_SUCCESS)
		;
	if (consumer_make_ep(&t->c, NULL))
		return -1;
	for (i = 0; i < CTL_RECVS; i++)
		if (ctl_post(t, i))
			return -1;
	return 0;
}
