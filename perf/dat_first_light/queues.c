/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of queues: creation, number, growth, and reports of connection errors. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "perf/common/stats.h"
#include "perf/dat_first_light/probe.h"

/* Creates endpoints. Adapters with a real-time clock refuse QPs of another timestamp format. */
void probe_endpoints(const struct light *l, struct answer *a)
{
	struct pair p = { .no_rmr = true };
	DAT_RMR_TRIPLET to;

	if (!light_pair(l, "", &p, a))
		return;
	to = region_target(&p.remote, 0, 8);
	if (!post_write(&p, &p.local, &to) || !succeeded(a, p.a.req_evd, "the first write"))
		return;
	good(a, "yes: two are connected, and a write completes");
}

static unsigned long huge_pages_free(void)
{
	unsigned long n = 0;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "HugePages_Free: %lu", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

/* Creates many queues. Each starts at another offset of its memory, which the queue's context must
 * be able to express. */
void probe_many(const struct light *l, struct answer *a)
{
	enum { EVDS = 64, ENDPOINTS = 32 };
	unsigned long huge = huge_pages_free();
	struct pair p = { .no_rmr = true };
	char pages[80];
	unsigned int i;

	snprintf(pages, sizeof(pages), "with pages of %ld KiB and %s", sysconf(_SC_PAGESIZE) / 1024,
		 huge ? "huge pages" : "no huge pages");
	if (!light_pair(l, "", &p, a))
		return;
	for (i = 0; i < EVDS; i++) {
		DAT_EVD_HANDLE evd;

		if (!dat_ok(dat_evd_create(p.a.ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd),
			    "dat_evd_create"))
			break;
	}
	if (i < EVDS) {
		bad(a, huge ? "no huge pages: scripts/hugepages undo" : "nothing",
		    "no: EVD %u of %u is refused, %s", i + 1, EVDS, pages);
		return;
	}
	for (i = 0; i < ENDPOINTS && !pair_more(&p); i++) {
		DAT_RMR_TRIPLET to = region_target(&p.remote, 0, 64);

		if (!post_write(&p, &p.local, &to) || !succeeded(a, p.a.req_evd, "a write"))
			return;
	}
	if (i < ENDPOINTS)
		bad(a, huge ? "no huge pages: scripts/hugepages undo" : "nothing",
		    "no: pair %u of %u is refused, %s", i + 1, ENDPOINTS, pages);
	else
		good(a, "yes: %u EVDs and %u connections, %s", EVDS, ENDPOINTS, pages);
}

/* Resizes an EVD while requests are outstanding. They complete in the old ring or in the new
 * one. */
static bool grow_under_load(struct pair *p, unsigned int under_way, DAT_COUNT to_len, struct answer *a)
{
	DAT_RMR_TRIPLET to = region_target(&p->remote, 0, 64);
	DAT_RETURN ret;

	for (unsigned int i = 0; i < under_way; i++)
		if (!post_write(p, &p->local, &to))
			return false;
	ret = dat_evd_resize(p->a.req_evd, to_len);
	if (!dat_ok(ret, "dat_evd_resize")) {
		bad(a, "nothing: create EVDs with the length that they need",
		    "no: a resize to %d events is refused", to_len);
		return false;
	}
	for (unsigned int i = 0; i < under_way; i++)
		if (!succeeded_within(a, p->a.req_evd, 3000, "a write across the change"))
			return false;
	return true;
}

void probe_resize(const struct light *l, struct answer *a)
{
	enum { UNDER_WAY = 32, STEPS = 4 };
	struct pair p = { .no_rmr = true };
	DAT_COUNT len = 2048;

	if (!light_pair(l, "", &p, a))
		return;
	for (int i = 0; i < STEPS; i++, len *= 2)
		if (!grow_under_load(&p, UNDER_WAY, len, a))
			return;
	good(a, "yes: to %d events in %d steps, with %d requests under way each time", len / 2, STEPS,
	     UNDER_WAY);
}

/*
 * Causes an error at the responder. The responder has no request that could complete with an error, and
 * the requester does not poll. So only an event of the adapter can report the error to the responder.
 */
void probe_responder_error(const struct light *l, struct answer *a)
{
	struct pair p = { .no_rmr = true };
	DAT_RMR_TRIPLET to;
	uint64_t start;

	if (!light_pair(l, "", &p, a))
		return;
	to = region_target(&p.remote, 0, 8);
	to.rmr_context ^= 0x5a00;
	start = now_ns();
	if (!post_write(&p, &p.local, &to))
		return;
	if (consumer_wait_end(&p.b, 3000000000u))
		bad(a, "nothing: the connection ends when its peer ends it",
		    "no: 3 s after a refused write its target has no event");
	else
		good(a, "yes: %s after %.1f ms", dat_event_name(p.b.end),
		     (double)(now_ns() - start) / 1e6);
}

static void forget_events(struct pair *p)
{
	DAT_EVENT ev;

	while (dat_evd_dequeue(p->a.conn_evd, &ev) == DAT_SUCCESS ||
	       dat_evd_dequeue(p->b.conn_evd, &ev) == DAT_SUCCESS)
		;
}

/* Replaces the pair's endpoints by two new ones. */
static bool renew_endpoints(struct pair *p)
{
	DAT_EP_HANDLE old_a = p->a.ep, old_b = p->b.ep;

	if (pair_more(p) || !dat_ok(dat_ep_free(old_a), "dat_ep_free") ||
	    !dat_ok(dat_ep_free(old_b), "dat_ep_free"))
		return false;
	forget_events(p);
	return true;
}

/* Connects again and again. Each connection makes its own address handle and QPs, whose first
 * packets are special. */
void probe_connections(const struct light *l, struct answer *a)
{
	struct pair p = { .no_rmr = true };
	uint64_t start, until = nearly_a_minute();
	int i, n = l->quick ? 200 : 1000;

	if (!light_pair(l, "", &p, a))
		return;
	start = now_ns();		/* the first connection exists */
	for (i = 0; i < n && now_ns() < until; i++) {
		if ((i && !renew_endpoints(&p)) || !post_recv(&p, 64) || !post_send(&p, 64)) {
			bad(a, "nothing", "no: connection %d of %d failed; stderr says how", i + 1, n);
			return;
		}
		if (!succeeded(a, p.b.recv_evd, "the first message of a connection") ||
		    !succeeded(a, p.a.req_evd, "the first send of a connection"))
			return;
	}
	good(a, "yes: %d connections, each with a first message, in %.1f ms each", i,
	     (double)(now_ns() - start) / 1e6 / (i - 1));
}

/*
 * Uses the one CQ of an EFA's IA, which all its EVDs share, for more than two laps. No thread
 * waits, so no doorbell arms the CQ; the driver only reports how many CQEs it has taken.
 */
void probe_laps(const struct light *l, struct answer *a)
{
	struct pair p = { .no_rmr = true };
	uint64_t until = nearly_a_minute();
	unsigned int i, entries = l->quick ? 4096 : 32768;
	char params[32];

	snprintf(params, sizeof(params), "efa_cq=%u", entries);
	if (!light_pair(l, params, &p, a))
		return;
	for (i = 0; i <= 2 * entries && now_ns() < until; i++) {
		const char *status = "refused";

		if (post_recv(&p, 8) && post_send(&p, 8))
			status = completed(p.b.recv_evd, 3000);
		if (!strcmp(status, "SUCCESS"))
			status = completed(p.a.req_evd, 3000);
		if (strcmp(status, "SUCCESS") != 0) {
			bad(a, "nothing: wait for an event from time to time",
			    "no: message %u with a CQ of %u ends with %s", i + 1, entries, status);
			return;
		}
	}
	if (i <= 2 * entries)
		skipped(a, "not probed: only %u messages in 40 s, with a CQ of %u", i, entries);
	else
		good(a, "yes: %u messages with a CQ of %u", i, entries);
}
