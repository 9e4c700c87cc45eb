/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/crowd.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of each endpoint of a crowd in its request. */
enum { OF_CROWD = 1 };
enum { WAIT_US = 100000, SILENCE = TOOL_SILENCE_US / 100000, NAP_US = 10000, POOL = 4096 };

static struct crowd_slot *slot_of(struct crowd *c, DAT_EP_HANDLE ep)
{
	uint32_t i;

	for (i = 0; i < c->t->o.eps; i++)
		if (c->slots[i].ep == ep)
			return &c->slots[i];
	return NULL;
}

int crowd_open(struct crowd *c)
{
	DAT_EP_ATTR attr = tool_ep_attr(c->t);
	uint32_t i;

	memset(&c->c, 0, sizeof(c->c));
	c->slots = calloc(c->t->o.eps, sizeof(*c->slots));
	if (!c->slots || consumer_resolve(c->t->o.host, &c->to) || consumer_open(&c->c, c->t->o.ia) ||
	    consumer_expect(&c->c, c->t->o.eps))
		return -1;
	for (i = 0; i < c->t->o.eps; i++) {
		if (consumer_make_ep(&c->c, &attr))
			return -1;
		c->slots[i].ep = c->c.ep;
	}
	return 0;
}

void crowd_close(struct crowd *c)
{
	consumer_close(&c->c);
	free(c->slots);
}

static bool more(const struct crowd *c)
{
	return c->begun < c->limit && (!c->until || ticks() < c->until);
}

static int begin_connect(struct crowd *c, struct crowd_slot *s)
{
	struct tool_hello h = tool_hello(c->t, OF_CROWD);

	s->from = ticks();
	c->begun++;
	return dat_ok(dat_ep_connect(s->ep, (DAT_IA_ADDRESS_PTR)&c->to, c->t->o.port, TOOL_SILENCE_US,
				     sizeof(h), &h, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		      "dat_ep_connect") ? 0 : -1;
}

static int on_established(struct crowd *c, struct crowd_slot *s)
{
	uint64_t now = ticks();

	if (c->n < c->room)
		c->samples[c->n++] = (struct crowd_sample){ .from = s->from, .to = now };
	if (c->seen)
		atomic_store_explicit(c->seen, c->n, memory_order_relaxed);
	return dat_ok(dat_ep_disconnect(s->ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect") ? 0 : -1;
}

static int disconnected(struct crowd *c, struct crowd_slot *s)
{
	c->ended++;
	if (!dat_ok(dat_ep_reset(s->ep), "dat_ep_reset"))
		return -1;
	return more(c) ? begin_connect(c, s) : 0;
}

static int event(struct crowd *c, const DAT_EVENT *ev)
{
	struct crowd_slot *s = slot_of(c, ev->event_data.connect_event_data.ep_handle);

	if (s && ev->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		return on_established(c, s);
	if (s && ev->event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
		return disconnected(c, s);
	fprintf(stderr, "connection %" PRIu64 " failed with event %s\n", c->begun,
		dat_event_name(ev->event_number));
	return -1;
}

int crowd_run(struct crowd *c)
{
	unsigned int i, silent = 0;
	DAT_COUNT count;
	DAT_EVENT ev;

	c->begun = c->ended = 0;
	for (i = 0; i < c->t->o.eps && more(c); i++)
		if (begin_connect(c, &c->slots[i]))
			return -1;
	while (c->ended < c->begun) {
		if (dat_evd_wait(c->c.conn_evd, WAIT_US, 1, &ev, &count) == DAT_SUCCESS) {
			silent = 0;
			if (event(c, &ev))
				return -1;
		} else if (++silent > SILENCE) {
			fprintf(stderr, "no connection event has come for %d s: is the server stopped?\n",
				TOOL_SILENCE_US / 1000000);
			return -1;
		}
	}
	return 0;
}

/* Functions of the server */

static DAT_EVD_HANDLE ends;		/* connection events of all endpoints except the control endpoint */
static DAT_COUNT ends_room = POOL;
static DAT_EP_HANDLE spare[POOL];
static unsigned int spares, endpoints;

int crowd_listen(struct tool *t)
{
	const DAT_COUNT requests = (DAT_COUNT)(t->o.processes * t->o.eps);

	if (t->client)
		return 0;
	/* All endpoints of the clients may connect at once. Without room for a request it is refused. */
	if (!dat_ok(dat_evd_resize(t->c.cr_evd, POOL + requests), "dat_evd_resize"))
		return -1;
	return dat_ok(dat_evd_create(t->c.ia, ends_room, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &ends),
		      "dat_evd_create") ? 0 : -1;
}

/* Makes room for the events of n endpoints, because their connections may begin and end before the
 * EVD is polled. */
static int room_for_ends(unsigned int n)
{
	if (2 * n <= (unsigned int)ends_room)
		return 0;
	ends_room *= 2;
	return dat_ok(dat_evd_resize(ends, ends_room), "dat_evd_resize") ? 0 : -1;
}

static int an_endpoint(struct tool *t, DAT_EP_HANDLE *ep)
{
	struct consumer c = t->data;
	DAT_EP_ATTR attr = tool_ep_attr(t);

	if (spares) {
		*ep = spare[--spares];
		return 0;
	}
	c.conn_evd = ends;
	if (room_for_ends(endpoints + 1) || consumer_make_ep(&c, &attr))
		return -1;
	endpoints++;
	*ep = c.ep;
	return 0;
}

/* Takes the events of ended connections, whose endpoints can be used again. */
static int take_ends(void)
{
	DAT_EP_HANDLE ep;
	DAT_EVENT ev;

	while (dat_evd_dequeue(ends, &ev) == DAT_SUCCESS) {
		if (ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			continue;
		ep = ev.event_data.connect_event_data.ep_handle;
		if (!dat_ok(dat_ep_reset(ep), "dat_ep_reset"))
			return -1;
		if (spares < POOL) {
			spare[spares++] = ep;
			continue;
		}
		endpoints--;
		if (!dat_ok(dat_ep_free(ep), "dat_ep_free"))
			return -1;
	}
	return 0;
}

int crowd_serve(struct tool *t)
{
	struct tool_hello hello;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;
	DAT_COUNT count;
	DAT_EVENT ev;
	int rc;

	for (;;) {
		if (take_ends())
			return -1;
		if (dat_evd_wait(t->c.cr_evd, NAP_US, 1, &ev, &count) != DAT_SUCCESS) {
			rc = tool_idle(t, DAT_SUCCESS);
			if (rc)
				return rc < 0 ? -1 : 0;
			continue;
		}
		cr = ev.event_data.cr_arrival_event_data.cr_handle;
		rc = tool_screen(t, OF_CROWD, cr, &hello);
		if (rc > 0)
			continue;
		if (rc || an_endpoint(t, &ep) || !dat_ok(dat_cr_accept(cr, ep, 0, NULL), "dat_cr_accept"))
			return tool_failed(t);
	}
}
