/* SPDX-License-Identifier: BSD-2-Clause */
/* Connects both sides: first the control endpoint, then the measured ones. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/tool/tool.h"

enum {
	MAGIC = 0x64617470, VERSION = 3, PAGE = 4096, DEFAULT_READS = 4, MEMORY_MAX = 1 << 30,
	/* largest number of places of a slice; with more than one place: most bytes of all slices, and of
	 * one slice */
	PLACES = 128, SPREAD_ALL = 16 << 20, SPREAD_ONE = 512 << 10, CACHE_LINE = 64,
	NO_SERVER_US = 3000000,		/* timeout of a connect if no server answers, in us */
	/* timeout of a connect to a server that answers but lacks CPU time, in us */
	SLOW_US = 30000000,
};

/* Returns the size of an endpoint's request queue: one more than the operations need, for a control
 * message. */
static DAT_COUNT requests_of(const struct tool *t)
{
	return (DAT_COUNT)t->o.depth + 1;
}

/* Returns the number of receives of a measured endpoint, at least one. */
static DAT_COUNT receives_of(const struct tool *t)
{
	return t->test->takes & TAKES_RX ? (DAT_COUNT)t->o.rx_depth : 1;
}

DAT_EP_ATTR tool_ep_attr(const struct tool *t)
{
	uint32_t reads = t->o.reads ? t->o.reads : DEFAULT_READS;

	return (DAT_EP_ATTR){
		.service_type = DAT_SERVICE_TYPE_RC, .max_message_size = t->max_size,
		.max_rdma_size = t->max_size, .qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = receives_of(t),
		.max_request_dtos = requests_of(t), .max_recv_iov = 1,
		.max_request_iov = 1, .max_rdma_read_in = (DAT_COUNT)reads,
		.max_rdma_read_out = (DAT_COUNT)reads, .max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};
}

/* Functions for the measured endpoints */

static int make_evd(struct tool *t, uint64_t len, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return dat_ok(dat_evd_create(t->c.ia, (DAT_COUNT)len, DAT_HANDLE_NULL, flags, evd),
		      "dat_evd_create") ? 0 : -1;
}

static size_t round_up(uint64_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* Returns the bytes of a slice. */
static size_t slice_of(const struct tool *t)
{
	size_t least = round_up(t->max_size, PAGE), spread = SPREAD_ALL / t->o.eps / PAGE * PAGE;

	if (!t->test->spreads || spread < least)
		return least;
	return spread < SPREAD_ONE ? spread : SPREAD_ONE < least ? least : SPREAD_ONE;
}

void tool_set_size(struct tool *t, uint64_t size)
{
	uint64_t places = 1;

	t->size = size;
	t->stride = round_up(size, CACHE_LINE);
	while (t->test->spreads && places < PLACES && 2 * places * t->stride <= t->slice)
		places *= 2;
	t->last_place = places - 1;
}

static int memory_open(struct tool *t)
{
	const uint64_t n = t->o.eps;

	t->max_size = t->o.size;
	t->slice = slice_of(t);
	if (t->slice * n > MEMORY_MAX) {
		fprintf(stderr, "%" PRIu64 " endpoints of %" PRIu64 " bytes are more than 1 GiB: use a "
			"smaller -q or -s\n", n, t->max_size);
		return -1;
	}
	t->eps = calloc(n, sizeof(*t->eps));
	if (!t->eps || consumer_expect(&t->c, (unsigned int)n + 1))
		return -1;
	t->data = t->c;
	if (make_evd(t, n * (uint64_t)receives_of(t), DAT_EVD_DTO_FLAG, &t->data.recv_evd) ||
	    make_evd(t, n * (uint64_t)requests_of(t), DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
		     &t->data.req_evd))
		return -1;
	return region_create(&t->c, &t->mine, t->slice * n, DAT_MEM_PRIV_ALL_FLAG) ||
	       region_create(&t->c, &t->local, t->slice * n, DAT_MEM_PRIV_LOCAL_READ_FLAG |
			     DAT_MEM_PRIV_LOCAL_WRITE_FLAG) ? -1 : 0;
}

static int make_ep(struct tool *t)
{
	DAT_EP_ATTR attr = tool_ep_attr(t);

	return consumer_make_ep(&t->data, &attr);
}

/* Returns the number of endpoints that are connected before the measurement. */
static uint32_t eps_before(const struct tool *t)
{
	return t->test->metric == TOOL_CONNECTIONS ? 0 : t->o.eps;
}

static struct tool_peer memory_of(const struct tool *t, uint32_t which)
{
	return (struct tool_peer){
		.magic = MAGIC, .rmr_context = t->mine.rmr_context,
		.addr = (uintptr_t)t->mine.buf + t->slice * (which ? which - 1 : 0),
	};
}

/* Functions of the client */

struct tool_hello tool_hello(const struct tool *t, uint32_t which)
{
	const struct tool_options *o = &t->o;
	struct tool_hello h = {
		.magic = MAGIC, .version = VERSION, .which = which, .eps = o->eps, .depth = o->depth,
		.rx_depth = o->rx_depth, .reads = o->reads, .both_ways = o->both_ways,
		.events = o->events, .verify = o->verify, .target_polls = o->target_polls,
		.gbits = o->gbits, .cpu_util = o->cpu_util, .processes = o->processes,
		.size = o->size, .iters = o->iters, .duration_s = o->duration_s,
		.margin_s = o->margin_s, .warm_up = o->warm_up, .cq_mod = o->cq_mod,
		.rate = o->rate, .memory = memory_of(t, which),
	};

	snprintf(h.program, sizeof(h.program), "%s", t->test->name);
	return h;
}

static int connect_one(struct tool *t, struct consumer *c, uint32_t which, uint32_t timeout_us,
		       struct tool_peer *peer)
{
	struct tool_hello h = tool_hello(t, which);
	int len = sizeof(*peer);

	memset(peer, 0, sizeof(*peer));
	if (consumer_request(c, t->o.host, t->o.port, timeout_us, &h, sizeof(h)) ||
	    consumer_wait_established(c, peer, &len))
		return -1;
	if (len == sizeof(*peer) && peer->magic == MAGIC)
		return 0;
	fprintf(stderr, "the peer is not a %s server\n", t->test->name);
	return -1;
}

static void say_why(const struct tool *t, DAT_EVENT_NUMBER end)
{
	const char *host = t->o.host, *name = t->test->name;
	const uint64_t qual = t->o.port;

	switch (end) {
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		fprintf(stderr, "the server at %s, conn_qual %" PRIu64 ", refused: it is no %s of this "
			"version, uses another kind of adapter, or already has a client; see its output\n",
			host, qual, name);
		break;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		fprintf(stderr, "no %s is waiting at %s, conn_qual %" PRIu64 ": start it there first, "
			"without HOST; each serves one client\n", name, host, qual);
		break;
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		fprintf(stderr, "no route from %s to %s: check the addresses and routes of both hosts\n",
			t->o.ia, host);
		break;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		fprintf(stderr, "%s, conn_qual %" PRIu64 " does not answer: is the server stopped, or does a "
			"firewall drop packets?\n", host, qual);
		break;
	default:
		break;
	}
}

static int connect_control(struct tool *t)
{
	struct tool_peer peer;

	if (ctl_endpoint(t))
		return -1;
	if (connect_one(t, &t->c, 0, NO_SERVER_US, &peer) == 0)
		return 0;
	if (t->c.end == DAT_CONNECTION_EVENT_TIMED_OUT) {
		fprintf(stderr, "waiting %d s more, in case the server is only slow\n", SLOW_US / 1000000);
		if (ctl_endpoint(t))
			return -1;
		if (connect_one(t, &t->c, 0, SLOW_US, &peer) == 0)
			return 0;
	}
	say_why(t, t->c.end);
	return -1;
}

/* Reports why a connection was not established. The reason may be the end of an earlier connection, which
 * the shared connection EVD reports. */
static int lost_on_the_way(struct tool *t)
{
	DAT_EVENT_NUMBER end = t->data.end;

	if (end == DAT_CONNECTION_EVENT_BROKEN || end == DAT_CONNECTION_EVENT_DISCONNECTED) {
		t->c.end = end;
		t->c.broken = true;
	}
	if (end == DAT_CONNECTION_EVENT_ESTABLISHED)
		return -1;
	if (end != DAT_CONNECTION_EVENT_PEER_REJECTED && consumer_heard_end(&t->c) == 0)
		return tool_lost(t);
	say_why(t, end);
	return -1;
}

int tool_connect(struct tool *t)
{
	struct sockaddr_storage to;
	uint32_t i;

	if (consumer_resolve(t->o.host, &to) || tool_fits(t) || ctl_open(t) || memory_open(t) ||
	    connect_control(t))
		return -1;
	for (i = 0; i < eps_before(t); i++) {
		if (make_ep(t))
			return -1;
		if (connect_one(t, &t->data, i + 1, TOOL_SILENCE_US, &t->eps[i].peer))
			return lost_on_the_way(t);
		t->eps[i].ep = t->data.ep;
		t->progress = i + 1;
	}
	return 0;
}

/* Functions of the server */

/* Uses the client's values for the options that both sides need, or that their tables show. */
static void take_options(struct tool *t, const struct tool_hello *h)
{
	struct tool_options *o = &t->o;

	o->eps = h->eps;
	o->depth = h->depth;
	o->rx_depth = h->rx_depth;
	o->reads = h->reads;
	o->both_ways = h->both_ways;
	/* A target that polls does not sleep, even if its client does. */
	o->events = h->events && !h->target_polls;
	o->verify = h->verify;
	o->target_polls = h->target_polls;
	o->gbits = h->gbits;
	o->cpu_util = h->cpu_util;
	o->processes = h->processes;
	o->size = h->size;
	o->iters = h->iters;
	o->duration_s = h->duration_s;
	o->margin_s = h->margin_s;
	o->warm_up = h->warm_up;
	o->cq_mod = (uint32_t)h->cq_mod;
	o->rate = h->rate;
}

/* The server's own operations use these values, too. A client's command line accepts no others. */
static bool in_range(const struct tool_hello *h)
{
	return h->eps && h->eps <= OPTION_MAX_EPS && h->depth && h->depth <= OPTION_MAX_DEPTH &&
	       h->rx_depth && h->rx_depth <= OPTION_MAX_DEPTH && h->size && h->size <= OPTION_MAX_SIZE &&
	       h->iters && h->iters <= OPTION_MAX_ITERS && h->duration_s <= OPTION_MAX_DURATION_S &&
	       h->margin_s <= h->duration_s / 2 && h->warm_up <= OPTION_MAX_WARM_UP &&
	       h->cq_mod <= OPTION_MAX_DEPTH && h->reads <= OPTION_MAX_READS &&
	       h->processes && h->processes <= OPTION_MAX_PROCESSES && h->rate <= OPTION_MAX_RATE;
}

static const char *fault_of(const struct tool_hello *h, const char *name, uint32_t which)
{
	if (h->magic != MAGIC || h->version != VERSION)
		return "it runs another program or version";
	if (strncmp(h->program, name, sizeof(h->program)))
		return "another program";
	if (h->which != which)
		return "the server has a client already";
	if (!in_range(h))
		return "one of its options is out of range";
	return NULL;
}

/* Accepts any valid request as the next client. A client that was connected before may have
 * gone. */
static int any_request(struct tool *t, bool first, DAT_CR_HANDLE *cr)
{
	uint64_t until = now_ns() + TOOL_SILENCE_US * 1000ull;
	DAT_COUNT more;
	DAT_EVENT ev;

	if (first)
		return consumer_wait_request(&t->c, cr, 0);
	while (dat_evd_wait(t->c.cr_evd, 100000, 1, &ev, &more) != DAT_SUCCESS) {
		if (consumer_ended(&t->c))
			return tool_lost(t);
		if (now_ns() > until) {
			fprintf(stderr, "the client connects no further endpoint: is it stopped?\n");
			return -1;
		}
	}
	*cr = ev.event_data.cr_arrival_event_data.cr_handle;
	return 0;
}

int tool_screen(const struct tool *t, uint32_t which, DAT_CR_HANDLE cr, struct tool_hello *h)
{
	DAT_CR_PARAM param;
	const char *fault;

	if (!dat_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), "dat_cr_query"))
		return -1;
	memset(h, 0, sizeof(*h));
	if (param.private_data_size >= (DAT_COUNT)sizeof(*h))
		memcpy(h, param.private_data, sizeof(*h));
	fault = fault_of(h, t->test->name, which);
	if (!fault)
		return 0;
	fprintf(stderr, "refused a client: %s\n", fault);
	return dat_ok(consumer_reject(cr), "dat_cr_reject") ? 1 : -1;
}

/* Waits for the next request of this client. */
static int wait_for(struct tool *t, uint32_t which, DAT_CR_HANDLE *cr, struct tool_hello *h)
{
	int rc;

	do
		rc = any_request(t, !which, cr) ? -1 : tool_screen(t, which, *cr, h);
	while (rc > 0);
	return rc;
}

static int accept_one(struct tool *t, struct consumer *c, uint32_t which, DAT_CR_HANDLE cr)
{
	struct tool_peer peer = memory_of(t, which);

	if (!dat_ok(dat_cr_accept(cr, c->ep, sizeof(peer), &peer), "dat_cr_accept")) {
		fprintf(stderr, "refused a client: it has another kind of adapter than %s?\n", t->o.ia);
		dat_ok(consumer_reject(cr), "dat_cr_reject");
		return -1;
	}
	return consumer_wait_established(c, NULL, NULL);
}

/* Accepts the control connection. If the client did not wait for the answer, it tries again, or
 * another client comes. */
static int accept_control(struct tool *t)
{
	struct tool_hello h;
	DAT_CR_HANDLE cr;

	for (;;) {
		if (wait_for(t, 0, &cr, &h))
			return -1;
		take_options(t, &h);
		if (tool_fits(t) || ctl_endpoint(t))
			return -1;
		if (accept_one(t, &t->c, 0, cr) == 0)
			return 0;
		fprintf(stderr, "the client did not connect; waiting for the next one\n");
	}
}

int tool_serve_connect(struct tool *t)
{
	DAT_CR_HANDLE cr;
	struct tool_hello h;
	uint32_t i;

	if (ctl_open(t) || accept_control(t) || memory_open(t))
		return -1;
	for (i = 0; i < eps_before(t); i++) {
		if (wait_for(t, i + 1, &cr, &h) || make_ep(t))
			return -1;
		if (accept_one(t, &t->data, i + 1, cr)) {
			t->c.end = DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
			return tool_lost(t);
		}
		t->eps[i].ep = t->data.ep;
		t->eps[i].peer = h.memory;
	}
	/* Stop listening: nothing would accept later requests, so they are refused. */
	if (t->test->metric == TOOL_CONNECTIONS)
		return 0;
	return dat_ok(dat_psp_free(t->c.psp), "dat_psp_free") ? 0 : -1;
}
