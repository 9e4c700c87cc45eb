/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of shared receive queues: counts, watermark events and returned receives. */
#include <string.h>

#include "perf/common/stats.h"
#include "perf/dat_first_light/probe.h"

enum { RECVS = 16, BYTES = 256 };

static const DAT_DTO_COOKIE no_cookie;

static bool post_shared(struct pair *p, DAT_SRQ_HANDLE srq, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		DAT_LMR_TRIPLET l = region_segment(&p->remote, i * (size_t)PAIR_BYTES, PAIR_BYTES);

		if (!dat_ok(dat_srq_post_recv(srq, 1, &l, no_cookie), "dat_srq_post_recv"))
			return false;
	}
	return true;
}

/* Replaces the endpoint of b by one that takes its receives from the SRQ. */
static bool join_srq(struct pair *p, DAT_SRQ_HANDLE srq)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC, .max_message_size = 1 << 20,
		.max_rdma_size = 1 << 20, .qos = DAT_QOS_BEST_EFFORT, .max_recv_dtos = RECVS,
		.max_request_dtos = RECVS, .max_recv_iov = 1, .max_request_iov = 1,
	};

	return !consumer_make_ep(&p->a, NULL) &&
	       dat_ok(dat_ep_create_with_srq(p->b.ia, p->b.pz, p->b.recv_evd, p->b.req_evd, p->b.conn_evd,
					     srq, &attr, &p->b.ep), "dat_ep_create_with_srq") &&
	       !pair_connect(&p->a, &p->b, p->qual, PAIR_WAIT_NS);
}

static bool open_shared(const struct light *l, struct pair *p, DAT_SRQ_HANDLE *srq, struct answer *a)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = RECVS, .max_recv_iov = 1 };

	if (!light_pair(l, "", p, a))
		return false;
	if (dat_ok(dat_srq_create(p->b.ia, p->b.pz, &attr, srq), "dat_srq_create"))
		return true;
	bad(a, "nothing: give each Endpoint receives of its own", "no: no SRQ can be created");
	return false;
}

static bool send_some(struct pair *p, unsigned int n, struct answer *a)
{
	for (unsigned int i = 0; i < n; i++) {
		if (!post_send(p, BYTES) || !succeeded_within(a, p->a.req_evd, 3000, "a send to an SRQ") ||
		    !succeeded_within(a, p->b.recv_evd, 3000, "a receive of an SRQ"))
			return false;
	}
	return true;
}

void probe_srq_count(const struct light *l, struct answer *a)
{
	enum { TAKEN = 5 };
	struct pair p = { .no_rmr = true };
	DAT_SRQ_HANDLE srq;
	DAT_SRQ_PARAM q;

	if (!open_shared(l, &p, &srq, a) || !join_srq(&p, srq) || !post_shared(&p, srq, RECVS) ||
	    !send_some(&p, TAKEN, a))
		return;
	if (!dat_ok(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &q), "dat_srq_query"))
		return;
	if (q.available_dto_count == DAT_VALUE_UNKNOWN)
		bad(a, "nothing: count what is received", "no: the query is refused");
	else if (q.available_dto_count != RECVS - TAKEN)
		bad(a, "nothing: do not trust available_dto_count",
		    "no: %d of %d are left by its count, after %d messages", q.available_dto_count,
		    RECVS, TAKEN);
	else
		good(a, "yes: %d of %d are left after %d messages", q.available_dto_count, RECVS, TAKEN);
}

static bool event_came(DAT_EVD_HANDLE evd, unsigned int ms)
{
	return strcmp(completed(evd, ms), "none") != 0;
}

void probe_srq_limit(const struct light *l, struct answer *a)
{
	enum { LOW = 4 };
	struct pair p = { .no_rmr = true };
	DAT_SRQ_HANDLE srq;

	if (!open_shared(l, &p, &srq, a) || !join_srq(&p, srq) || !post_shared(&p, srq, RECVS))
		return;
	if (!dat_ok(dat_srq_set_lw(srq, LOW), "dat_srq_set_lw")) {
		bad(a, "nothing: do not set a low watermark", "no: dat_srq_set_lw is refused");
		return;
	}
	if (!send_some(&p, RECVS - LOW, a))
		return;
	if (event_came(p.b.async_evd, 20)) {
		bad(a, "nothing: do not trust the low watermark",
		    "no: the event comes with %d receives left", LOW);
		return;
	}
	if (!send_some(&p, 2, a))
		return;
	if (event_came(p.b.async_evd, 3000))
		good(a, "yes: one event with fewer than %d left", LOW);
	else
		bad(a, "nothing: count receives instead of setting a low watermark",
		    "no: no event comes within 3 s (Linux before 6.17 loses it)");
}

/* Posts again the receives that the ended connection had taken from the SRQ. */
static bool refill_srq(struct pair *p, DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM q;
	DAT_EVENT ev;

	while (dat_evd_dequeue(p->b.recv_evd, &ev) == DAT_SUCCESS)
		;
	if (!dat_ok(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &q), "dat_srq_query"))
		return false;
	return post_shared(p, srq, (unsigned int)(RECVS - q.outstanding_dto_count));
}

/* Ends the connection while a message is outstanding. ns: how long freeing the endpoint took. */
static bool end_abruptly(struct pair *p, uint64_t *ns)
{
	uint64_t start;
	DAT_EVENT ev;

	if (!post_send(p, PAIR_BYTES))
		return false;
	start = now_ns();
	if (!dat_ok(dat_ep_disconnect(p->b.ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect") ||
	    !dat_ok(dat_ep_free(p->b.ep), "dat_ep_free"))
		return false;
	*ns = now_ns() - start;
	dat_ep_free(p->a.ep);
	while (dat_evd_dequeue(p->a.conn_evd, &ev) == DAT_SUCCESS ||
	       dat_evd_dequeue(p->b.conn_evd, &ev) == DAT_SUCCESS ||
	       dat_evd_dequeue(p->a.req_evd, &ev) == DAT_SUCCESS)
		;
	return true;
}

enum { ENDS = 8, LATE_MS = 900, TRIES = 3 };

/* Ends some connections. longest: how long the longest end took, in ns. */
static bool end_some(struct pair *p, DAT_SRQ_HANDLE srq, uint64_t *longest)
{
	uint64_t ns;

	*longest = 0;
	for (int i = 0; i < ENDS; i++) {
		if (!refill_srq(p, srq) || !join_srq(p, srq) || !end_abruptly(p, &ns))
			return false;
		*longest = ns > *longest ? ns : *longest;
	}
	return true;
}

/* Checks that a receive that the connection had taken is returned as flushed, some time after its
 * end. A busy host delays an end, too, but not in each of several tries. */
void probe_srq_back(const struct light *l, struct answer *a)
{
	DAT_SRQ_HANDLE srq;
	uint64_t longest;
	struct pair p;
	int tries = 0;

	do {
		p = (struct pair){ .no_rmr = true };
		if (!open_shared(l, &p, &srq, a) || !end_some(&p, srq, &longest))
			return;
	} while (longest > LATE_MS * 1000000ull && ++tries < TRIES);
	if (!refill_srq(&p, srq) || !join_srq(&p, srq))
		return;
	if (!send_some(&p, RECVS, a))
		bad(a, "nothing: make the SRQ longer than the receives that are posted",
		    "no: after %d abrupt ends not all of %d receives can be used", ENDS, RECVS);
	else if (longest > LATE_MS * 1000000ull)
		bad(a, "nothing: the end of a connection with an SRQ takes that long",
		    "yes, but its event is missing: an end waits %.0f ms for it", (double)longest / 1e6);
	else
		good(a, "yes: all %d after %d abrupt ends, each within %.1f ms", RECVS, ENDS,
		     (double)longest / 1e6);
}
