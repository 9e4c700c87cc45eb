/* SPDX-License-Identifier: BSD-2-Clause */
/* Behaviour of an EFA's requests, receives and completions that AWS's documents leave open. */
#include <string.h>

#include "core/barrier.h"
#include "perf/common/stats.h"
#include "perf/dat_first_light/efa_raw.h"

static bool open_with_ah(const struct light *l, struct raw *r, uint32_t cq_entries)
{
	return raw_open(l, r, cq_entries) && raw_ah(r, r->pd, &r->ah);
}

/*
 * Sends to a QP without posted receives: if the adapter retries without end, they stay outstanding.
 * Otherwise they end with an error by themselves.
 */
void probe_flush(const struct light *l, struct answer *a)
{
	enum { SENDS = 4, RECVS = 8, LIMIT_MS = 2000, DRIVER_MS = 20 };
	unsigned int sends = 0, recvs = 0;
	struct efa_cqe c;
	struct raw r;
	uint64_t start;
	double ms = 0;

	if (!open_with_ah(l, &r, 0))
		return;
	raw_recv(&r, &r.a, RECVS);
	for (int i = 0; i < SENDS; i++)
		raw_send(&r, &r.a, &r.b, 8, false);
	while (raw_wait(&r, &c, 5))
		sends += !raw_is_recv(&c);
	start = now_ns();
	if (r.ctl->ops->qp_error(r.ctl, &r.a.res)) {
		bad(a, "nothing: the QP is destroyed instead", "no: the transition to ERR is refused");
		return;
	}
	while (sends + recvs < SENDS + RECVS && raw_wait(&r, &c, LIMIT_MS)) {
		raw_is_recv(&c) ? recvs++ : sends++;
		ms = (double)(now_ns() - start) / 1e6;
	}
	if (sends + recvs < SENDS + RECVS)
		bad(a, "nothing: the QP is destroyed after some milliseconds",
		    "no: %u of %d sends and %u of %d receives are flushed", sends, SENDS, recvs, RECVS);
	else if (ms > DRIVER_MS)
		tune(a, "nothing: the QP is destroyed after some milliseconds",
		    "late: %d sends and %d receives are flushed after %.1f ms", SENDS, RECVS, ms);
	else
		good(a, "yes: %d sends and %d receives are flushed within %.2f ms", SENDS, RECVS, ms);
}

/* Receives messages for more than two laps of a short CQ, and never writes the CQ's doorbell. */
void probe_consumer(const struct light *l, struct answer *a)
{
	enum { ENTRIES = 64, LAPS = 4 };
	struct efa_cqe c;
	struct raw r;
	uint32_t n;

	if (!open_with_ah(l, &r, ENTRIES))
		return;
	for (n = 0; n < LAPS * r.cq.ring.entries; n += 2) {
		raw_recv(&r, &r.b, 1);
		raw_send(&r, &r.a, &r.b, 8, false);
		if (!raw_wait(&r, &c, 1000) || !raw_wait(&r, &c, 1000))
			break;
	}
	if (n < LAPS * r.cq.ring.entries)
		bad(a, "nothing: the driver writes the doorbell 64 times in a lap",
		    "yes: completions stop after %u in a CQ of %u", n, r.cq.ring.entries);
	else
		good(a, "no: %u completions in a CQ of %u", n, r.cq.ring.entries);
}

/* Returns why an empty send fails, or NULL if it succeeds. */
static const char *empty_failure(struct raw *r, bool inl)
{
	const char *failure = "no completion";
	struct efa_cqe c;

	raw_recv(r, &r->b, 1);
	raw_send(r, &r->a, &r->b, 0, inl);
	while (raw_wait(r, &c, 500))
		if (!raw_is_recv(&c))
			failure = c.status ? efa_status_info(c.status)->name : NULL;
	return failure;
}

void probe_empty(const struct light *l, struct answer *a)
{
	const char *inl, *list;
	struct raw r;

	if (!open_with_ah(l, &r, 0))
		return;
	inl = empty_failure(&r, true);
	list = empty_failure(&r, false);
	if (inl)
		bad(a, "nothing: send at least one byte", "no: an empty inline send ends with \"%s\", one "
		    "with an empty list of buffers with \"%s\"", inl, list ?: "ok");
	else
		good(a, "yes, inline; one with an empty list of buffers %s", list ? "is refused" :
		     "is accepted too");
}

enum { ROUNDS = 20 };

/* Looks at the first messages after the creation of an address handle, as after each connection. */
void probe_unnamed(const struct light *l, struct answer *a)
{
	enum { MESSAGES = 64 };
	unsigned int unnamed = 0, with_gid = 0, all = 0;
	static const uint8_t none[16];
	double last_ms = 0;
	struct efa_cqe c;
	struct raw r;

	if (!raw_open(l, &r, 0))
		return;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start;

		if (!raw_ah(&r, r.pd, &r.ah))
			return;
		start = now_ns();
		for (int i = 0; i < MESSAGES; i++) {
			raw_recv(&r, &r.b, 1);
			raw_send(&r, &r.a, &r.b, 8, false);
			for (int k = 0; k < 2; k++) {
				if (!raw_wait(&r, &c, 1000)) {
					bad(a, "nothing", "no: no message arrives after the first %u", all);
					return;
				}
				if (!raw_is_recv(&c))
					continue;
				all++;
				if (le16_to_cpu(c.ah) != EFA_NO_AH)
					continue;
				unnamed++;
				with_gid += memcmp(c.sgid, none, sizeof(none)) != 0;
				last_ms = (double)(now_ns() - start) / 1e6;
			}
		}
		r.ctl->ops->ah_destroy(r.ctl, &r.ah);
	}
	if (!unnamed)
		good(a, "no: all of %u receives after %d new handles have its number", all, ROUNDS);
	else
		good(a, "yes: %u of %u, %u of them with a GID, up to %.2f ms after the handle was made",
		     unnamed, all, with_gid, last_ms);
}

/* Posts RDMA right after the creation of an address handle, when the peer may be unknown yet. */
void probe_refused(const struct light *l, struct answer *a)
{
	unsigned int refusals = 0, other = 0;
	const char *last = "";
	double longest_ms = 0;
	struct efa_cqe c;
	struct raw r;

	if (!raw_open(l, &r, 0))
		return;
	for (int round = 0; round < ROUNDS; round++) {
		const struct raw_rdma d = {
			r.ctl->caps.rdma_write ? EFA_OP_RDMA_WRITE : EFA_OP_RDMA_READ, 0, 4096, 8,
			r.mr.rkey };
		uint64_t start;
		bool done = false, answered = false;

		if (!raw_ah(&r, r.pd, &r.ah))
			return;
		start = now_ns();
		while (!done && now_ns() - start < 1000000000u) {
			raw_rdma(&r, &r.a, &r.b, &d);
			answered = raw_wait(&r, &c, 1000);
			if (!answered)
				break;
			done = c.status != EFA_ST_UNKNOWN_PEER;
			refusals += !done;
			if (!done)
				longest_ms = (double)(now_ns() - start) / 1e6;
		}
		if (!done || c.status != EFA_ST_OK) {
			other++;
			last = answered ? efa_status_info(c.status)->name : "no completion";
		}
		r.ctl->ops->ah_destroy(r.ctl, &r.ah);
	}
	if (other)
		bad(a, "nothing", "RDMA fails for another reason in %u of %d rounds, last with \"%s\"", other,
		    ROUNDS, last);
	else if (refusals)
		good(a, "yes: %u times with %d new handles, up to %.2f ms; the first RDMA is repeated",
		     refusals, ROUNDS, longest_ms);
	else
		good(a, "no: never with %d new handles", ROUNDS);
}

/* Looks for a receive CQE whose operation is not 0, because the driver handles such a CQE on its slow
 * path. */
void probe_rx_op(const struct light *l, struct answer *a)
{
	struct efa_cqe c;
	struct raw r;

	if (!open_with_ah(l, &r, 0))
		return;
	raw_recv(&r, &r.b, 1);
	raw_send(&r, &r.a, &r.b, 8, false);
	while (raw_wait(&r, &c, 1000)) {
		unsigned int op = (c.flags & (unsigned int)EFA_CQE_OP_MASK) >> EFA_CQE_OP_SHIFT;

		if (!raw_is_recv(&c))
			continue;
		if (op)
			bad(a, "nothing: each message takes the slow path", "no: the operation is %u", op);
		else
			good(a, "yes");
		return;
	}
}
