/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Completions that the fast path does not handle, and the tick. */
#include "core/thread.h"
#include "hw_efa/hot/poll.inl"

#define GONE_LOOKS 100u			/* ticks of a ms, in which the peer's disconnect message arrives */

/* ---- Failed requests ---- */

/*
 * The peer is gone, or about to be. It may destroy its QP before or after its address handle, and
 * its host may fail first.
 */
static bool means_gone(unsigned int status)
{
	return status == EFA_ST_REMOTE_QPN || status == EFA_ST_REMOTE_ABORT ||
	       status == EFA_ST_UNRESPONSIVE || status == EFA_ST_UNKNOWN_PEER;
}

/*
 * The peer's QP no longer exists. Usually the peer has disconnected and its message is on the way.
 * If no message comes within GONE_LOOKS, this is an error. Until then the request of the WQE does not
 * complete, even if its other WQEs succeed.
 */
static void peer_gone(struct dap_ep *ep, const struct efa_cqe *cqe)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_ep_cold *m = e->cold;

	e->tx.blocked |= EFA_B_HALT;
	if (m->gone)
		return;
	m->gone = GONE_LOOKS;
	m->gone_cqe = *cqe;
	efa_defer(ep);
}

/* Their completions came in any order. The first of the requests fails, so those behind it are flushed. */
static void fail_first_gone(struct dap_ep *ep)
{
	const struct efa_tx *tx = &efa_ep(ep)->tx;

	for (uint32_t i = tx->done; i != tx->posted; i++)
		if (tx->dto[i & tx->mask].state & EFA_D_GONE)
			return efa_fail_dto(ep, i, DAP_DTO_TRANSPORT);
}

static void expire_gone_peer(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_ep_cold *m = e->cold;

	if (!m->gone || e->tx.blocked & EFA_B_OVER)
		return;
	if (--m->gone) {
		efa_defer(ep);
		return;
	}
	if (m->gone_cqe.status == EFA_ST_REMOTE_QPN)
		efa_break(ep, "peer QP %u is gone, and sent no reason: was its process killed?",
			  e->remote_qpn);
	else
		efa_break_cqe(ep, &m->gone_cqe);
	fail_first_gone(ep);
}

/*
 * The device of a new peer may not know our address handle yet. It then refuses RDMA without
 * executing any part of it, so the next tick posts the RDMA again. False: the completion is handled
 * like any other.
 */
static bool is_refused(struct dap_ep *ep, union efa_slot *slot, const struct efa_cqe *cqe)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_ep_cold *m = e->cold;

	if (slot->kind != EFA_S_FIRST)
		return false;
	slot->kind = m->first_rdma.kind;
	if (!cqe->status) {
		m->rdma = EFA_RDMA_WORKS;
		efa_set_most(ep);
	}
	if (cqe->status != EFA_ST_UNKNOWN_PEER || !m->rdma_tries ||
	    e->tx.blocked & EFA_B_STOP)
		return false;
	m->rdma_tries--;
	m->rdma = EFA_RDMA_REFUSED;
	efa_defer(ep);
	return true;
}

static void end_wqe(struct dap_ep *ep, const union efa_slot *slot, const struct efa_cqe *cqe)
{
	const uint8_t status = efa_status_info(cqe->status)->dto_status;
	struct efa_ep *e = efa_ep(ep);
	struct efa_dto *d = slot->kind == EFA_S_DTO ? &e->tx.dto[slot->of & e->tx.mask] : NULL;

	if (d)
		d->left--;
	if (means_gone(cqe->status) && !(e->tx.blocked & EFA_B_OVER)) {
		if (d)
			d->state |= EFA_D_GONE;
		peer_gone(ep, cqe);
		return;
	}
	/* A flushed WQE of a live connection is an error as well. */
	if (status && (cqe->status != EFA_ST_FLUSHED || !(e->tx.blocked & EFA_B_OVER)))
		efa_break_cqe(ep, cqe);
	if (d && status)
		efa_fail_dto(ep, slot->of, status);
	else if (d)
		efa_dto_progress(ep, slot->of);
	else if (slot->kind == EFA_S_PULL)
		efa_pull_done(ep, slot->of, status);
	if (slot->kind == EFA_S_CREDIT) {
		e->cold->credit_out = false;
		efa_credit(ep);		/* another credit may have become due since then */
	}
}

static void request_slow(struct dap_ep *ep, const struct efa_cqe *cqe)
{
	struct efa_sq *sq = &efa_ep(ep)->sq;
	uint32_t id = le16_to_cpu(cqe->req_id) ^ sq->gen;
	union efa_slot slot;

	if (id > sq->mask || sq->slots[id].kind == EFA_S_FREE) {
		/* A flushed CQE without a request belongs to a QP that was destroyed early. */
		if (cqe->status != EFA_ST_FLUSHED)
			efa_log_dropped(DAP_LOG_WARN, ep->obj.ia, "that belongs to no request", cqe);
		return;
	}
	slot = sq->slots[id];
	efa_slot_free(sq, id);
	if (!is_refused(ep, &slot, cqe))
		end_wqe(ep, &slot, cqe);
}

static void receive_slow(struct dap_ep *ep, const struct efa_cqe *cqe)
{
	const struct efa_ep *e = efa_ep(ep);

	if ((le16_to_cpu(cqe->req_id) ^ e->rx.gen) >= e->rx.nbufs)
		efa_log_dropped(DAP_LOG_EP, ep->obj.ia, "of a QP that had this number before", cqe);
	else if (!cqe->status)
		efa_rx_packet(ep, cqe);
	else if (e->tx.blocked & EFA_B_OVER)
		return;			/* the device flushes the receive buffers */
	else if (means_gone(cqe->status))
		peer_gone(ep, cqe);
	else
		efa_break_cqe(ep, cqe);
}

void efa_cqe_slow(struct efa_engine *eng, const struct efa_cqe *cqe)
{
	struct dap_ep *ep = eng->eps[le16_to_cpu(cqe->qp_num)];

	if (!ep) {
		/* A flushed CQE without an endpoint belongs to a QP that was destroyed. */
		if (cqe->status != EFA_ST_FLUSHED)
			efa_log_dropped(DAP_LOG_EP, eng->ia, "that belongs to no endpoint", cqe);
		return;
	}
	if ((cqe->flags & EFA_CQE_QUEUE_MASK) >> EFA_CQE_QUEUE_SHIFT == EFA_CQE_SQ)
		request_slow(ep, cqe);
	else
		receive_slow(ep, cqe);
	if (efa_ep(ep)->tx.blocked & EFA_B_QUEUE)
		efa_push(ep);
}

void efa_drain(struct efa_engine *eng)
{
	for (uint32_t n = 0; n < eng->cq_entries && efa_poll_one(eng, &(struct efa_poller){ 0 }); n++)
		;
}

void efa_pump(struct efa_engine *eng)
{
	if (eng->driven)
		eng->ctl->ops->drive(eng->ctl->soft);
}

#define TURN_US 20u

void efa_poll_cq(struct efa_engine *eng)
{
	efa_pump(eng);
	efa_drain(eng);
}

#define FULL_LOOKS 64			/* polls of the CQ before a request is refused */

void efa_make_place(struct dap_ep *ep)
{
	const struct efa_ep *e = efa_ep(ep);

	for (int i = 0; i < FULL_LOOKS && e->tx.posted == e->free_at[EFA_REQUESTS]; i++)
		efa_poll_cq(e->tx.eng);
}

/* If a request has failed here, the peer answers earlier ones. A peer that is gone does not. */
static bool is_settled(const struct efa_ep *e)
{
	const bool answers = e->tx.blocked & EFA_B_HALT && !e->cold->gone_cqe.status &&
			     (e->tx.pulls_asked || e->tx.asks);

	return e->tx.failed || e->tx.blocked & EFA_B_ERROR || (!e->sq.used && !answers);
}

static bool has_answered(const struct efa_ep *e)
{
	bool waits = e->cold->answers != e->cold->answered;

	for (uint32_t i = 0; i <= e->sq.mask && !waits; i++)
		waits = e->sq.slots[i].kind == EFA_S_ANSWER;
	return !waits;
}

static bool has_come(const struct efa_ep *e, enum efa_until until)
{
	return until == EFA_FLUSHED ? !e->sq.used :
	       until == EFA_ANSWERED ? has_answered(e) : is_settled(e);
}

bool efa_await(struct dap_ep *ep, enum efa_until until, unsigned int polls)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_engine *eng = e->tx.eng;
	bool done = false;

	for (unsigned int i = 0; i < polls && !done; i++) {
		if (i > 16 && (until != EFA_FLUSHED || !eng->driven))
			dap_thread_sleep_us(TURN_US);
		efa_enter(eng);
		efa_poll_cq(eng);
		eng->polls++;
		done = has_come(e, until);
		if (done && until == EFA_ANSWERED)
			e->tx.blocked |= EFA_B_ENDING;
		efa_leave(eng);
	}
	return done;
}

/* ---- The tick ---- */

void efa_arm_device(struct efa_engine *eng)
{
	const struct efa_ctl *ctl = eng->ctl;

	if (efa_tick_polls(eng) || !eng->res.ring.doorbell) {
		efa_tick_want(eng);
		return;
	}
	dap_mb_cqe_before_ci();
	dap_wc_flush();
	dap_store_dbrec(eng->res.ring.doorbell, efa_cq_doorbell_of(&eng->res, eng->cq.ci, true));
	if (ctl->soft)
		ctl->ops->kick_cq(ctl->soft, eng->res.number);
}

static void push_deferred(struct efa_engine *eng)
{
	struct dap_ep *list = eng->deferred;

	eng->deferred = NULL;
	while (list) {
		struct dap_ep *ep = list;

		list = efa_ep(ep)->cold->next_deferred;
		efa_ep(ep)->cold->is_deferred = false;
		expire_gone_peer(ep);
		efa_rdma_again(ep);
		efa_push(ep);
	}
}

/*
 * Runs on the thread of the connection manager. It polls each millisecond for a request without
 * credit, a peer whose writes are emulated, or a waiter on a CQ that cannot be armed. While there
 * are connections, it polls at intervals of look_ms for consumers that do not poll. If another
 * thread is in the engine, that thread polls, so the tick does not wait for the lock.
 */
void efa_tick(void *arg)
{
	struct efa_engine *eng = arg;
	uint32_t ci;

	if (!efa_try_enter(eng)) {
		dap_cm_timer(eng->ia->cm, &eng->tick, EFA_TICK_US);
		return;
	}
	eng->tick_us = 0;
	ci = eng->cq.ci;
	efa_poll_cq(eng);
	if (eng->fruitless >= EFA_FRUITLESS && ci == eng->cq.ci) {
		eng->fruitless = 0;
		efa_arm_device(eng);
		efa_poll_cq(eng);
	}
	push_deferred(eng);
	efa_tick_want(eng);
	efa_leave(eng);
}
