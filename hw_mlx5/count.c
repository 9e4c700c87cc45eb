/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Counters of posts and dequeues, and the number of receives that an endpoint holds without a
 * completion. The device reports how many WQEs were taken from an SRQ, but not by which QP; for a
 * QP's own receive queue the number is known here.
 */
#include <errno.h>

#include "core/hw.h"
#include "hw_mlx5/lock.h"
#include "hw_mlx5/ops.h"

#define LOOKS 8				/* tries, while others use the SRQ */

static bool is_receive(const struct m5_cqe *cqe)
{
	unsigned int op = cqe->op_own >> 4;

	return op == M5_CQE_RESP_ERR || (op != M5_CQE_REQ && op < M5_CQE_RESIZE);
}

/* Counts receive completions in the CQ for slots of this ring; *done: those that the endpoint has
 * dequeued. */
static uint32_t count_completed(struct dap_ep *ep, uint32_t *done)
{
	struct m5_cq *cq = m5_cq(ep->recv_evd);
	const struct m5_slot *slots = m5_ep(ep)->done.rq_slots;
	uint32_t end, n = 0;

	m5_cq_own(ep->recv_evd);
	*done = (uint32_t)m5_ep(ep)->done.rq_ci;
	end = m5_cq_end(cq);
	for (uint32_t i = cq->ci; i != end; i++) {
		const struct m5_cqe *cqe = m5_cqe_at(cq, i);
		struct dap_ep *of = m5_cqe_ep(cq, cqe);

		n += is_receive(cqe) && of && m5_ep(of)->done.rq_slots == slots;
	}
	m5_cq_release(ep->recv_evd);
	return n;
}

static int taken_of_srq(struct dap_srq *srq, uint32_t *taken)
{
	uint32_t available, outstanding;
	int err = m5_srq_count(srq, &available, &outstanding);

	if (!err)
		*taken = outstanding > available ? outstanding - available : 0;
	return err;
}

/*
 * WQEs taken by endpoints and completions in this CQ differ by messages that are arriving, and by
 * completions in other CQs. The answer is known if they do not differ, or if this endpoint is the
 * SRQ's only user.
 */
static int count_shared(struct dap_ep *ep, uint32_t *recvs)
{
	bool alone = __atomic_load_n(&ep->srq->refs, __ATOMIC_RELAXED) == 1;
	uint32_t before, after, n, done;

	for (int look = 0; look < LOOKS; look++) {
		int err = taken_of_srq(ep->srq, &before);

		n = count_completed(ep, &done);
		if (!err)
			err = taken_of_srq(ep->srq, &after);
		if (err)
			return err;
		if (before != after || n > after)
			continue;
		if (n != after && !alone)
			return -EAGAIN;
		*recvs = after - n;
		return 0;
	}
	return -EAGAIN;
}

int m5_recv_count(struct dap_ep *ep, uint32_t *recvs)
{
	struct m5_ep *e = m5_ep(ep);
	uint32_t n, done;

	if (e->done.shared)
		return count_shared(ep, recvs);
	n = count_completed(ep, &done);
	/* The producer index belongs to the poster; the doorbell record is written at once, so any
	 * thread can read it. */
	*recvs = (uint16_t)(be32toh(__atomic_load_n(&e->rq.dbrec[0], __ATOMIC_RELAXED)) - done - n);
	return 0;
}

static uint64_t load(const uint64_t *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

/* The poster stores rq.posted at least once per ring of receives, so its difference to rq.pi
 * fits in 32 bits. */
void m5_ep_total(struct dap_ep *ep, struct dap_ep_counts *counts)
{
	const struct m5_ep *e = m5_ep(ep);
	uint64_t then = load(&e->rq.posted);

	for (unsigned int i = DAP_COUNT_SEND; i <= DAP_COUNT_READ; i++) {
		uint64_t eights = i <= DAP_COUNT_WRITE ? load(&e->sq.eights[i]) : 0;

		counts->work[i].number = load(&e->sq.posted[i].number) + eights;
		counts->work[i].bytes = load(&e->sq.posted[i].bytes) + 8 * eights;
	}
	counts->work[DAP_COUNT_POST_RECV].number =
		then + (__atomic_load_n(&e->rq.pi, __ATOMIC_RELAXED) - (uint32_t)then);
	counts->work[DAP_COUNT_POST_RECV].bytes = load(&e->rq.bytes);
	counts->work[DAP_COUNT_RECV].number = load(&e->done.rq_ci);
	counts->work[DAP_COUNT_RECV].bytes = load(&e->done.rq_bytes);
}

/* The poller stores lap and ci one after the other; their common bits show which one is behind. */
uint64_t m5_cq_passed(const struct m5_cq *cq)
{
	uint32_t lap = __atomic_load_n(&cq->lap, __ATOMIC_RELAXED);
	uint32_t ci = __atomic_load_n(&cq->ci, __ATOMIC_RELAXED);
	uint32_t log = __atomic_load_n(&cq->log, __ATOMIC_RELAXED);
	uint32_t mask = UINT32_MAX >> log, ahead = ((ci >> log) - lap) & mask;
	uint64_t laps = (uint64_t)lap + ahead - (ahead > mask / 2 ? (uint64_t)mask + 1 : 0);

	return load(&cq->before) + (laps << log) + (ci & ((1u << log) - 1));
}

void m5_cq_total(struct dap_evd *evd, uint64_t *dequeued, uint64_t *missed, uint64_t *events)
{
	struct m5_cq *cq = m5_cq(evd);
	uint32_t rings;

	do {
		rings = __atomic_load_n(&cq->rings, __ATOMIC_ACQUIRE);
		*dequeued = m5_cq_passed(cq) - load(&cq->aside);
	} while (rings & 1 || rings != __atomic_fetch_add(&cq->rings, 0, __ATOMIC_ACQ_REL));
	*missed = load(&cq->missed);
	*events = __atomic_load_n(&cq->arm_sn, __ATOMIC_RELAXED);
}

void m5_cq_settle(struct dap_evd *evd)
{
	m5_cq_own(evd);
	m5_cq_release(evd);
}
