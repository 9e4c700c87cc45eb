/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Converts completions to neutral form: the slow poll, and CQEs that the hot path leaves. */
#include "hw_mlx5/lock.h"

static bool is_error(const struct m5_cqe *cqe)
{
	unsigned int op = cqe->op_own >> 4;

	return op == M5_CQE_REQ_ERR || op == M5_CQE_RESP_ERR;
}

static unsigned int syndrome_of(const struct m5_cqe *cqe)
{
	return is_error(cqe) ? ((const uint8_t *)cqe)[M5_CQE_AT_SYNDROME] : 0;
}

/* For the first real error of each QP: logs the failure and the work that failed. */
static void log_failure(struct dap_ep *ep, const struct m5_cqe *cqe, bool request)
{
	struct m5_ep *e = m5_ep(ep);
	uint32_t index = be16_to_cpu(cqe->wqe_counter);
	char c[160], w[256];

	if (__atomic_exchange_n(&e->errored, true, __ATOMIC_RELAXED))
		return;
	m5_decode_cqe(cqe, c, sizeof(c));
	if (request)
		m5_decode_wqe(e->sq.ring, e->sq.mask, index, w, sizeof(w));
	else
		m5_decode_recv(e->rq.ring + (size_t)(index & e->rq.mask) * e->rq.stride,
			       e->rq.max_iov, w, sizeof(w));
	dap_log(DAP_LOG_EP | DAP_LOG_CM, "endpoint %p of %s failed: %s; work: %s", (void *)ep,
		ep->obj.ia->name, c, w);
}

static void fill_dto(struct dap_event *ev, struct dap_ep *ep, const struct m5_slot *slot,
		     enum dap_dto_status status, uint64_t bytes)
{
	*ev = (struct dap_event){
		.number = DAP_EV_DTO,
		.unsignalled = (slot->flags & DAP_COMP_UNSIGNALLED) != 0,
		.dto = { .ep = ep, .cookie = slot->cookie, .status = (uint16_t)status, .length = bytes,
			 .op = DAP_OP_RECEIVE },
	};
}

static void fill_bind(struct dap_event *ev, struct dap_ep *ep, uint32_t index, unsigned int syndrome)
{
	const struct m5_ep *e = m5_ep(ep);
	const struct m5_slot *slot = &e->done.sq_slots[index & e->done.sq_mask];
	const struct m5_slot *second = slot + 1;
	enum dap_dto_status status = DAP_DTO_SUCCESS;

	if (syndrome)
		status = syndrome == M5_SYN_FLUSHED ? DAP_DTO_FLUSHED : DAP_RMR_OPERATION_FAILED;
	*ev = (struct dap_event){
		.number = DAP_EV_RMR_BIND,
		.unsignalled = (slot->flags & DAP_COMP_UNSIGNALLED) != 0,
		.bind = { .rmr = (struct dap_rmr *)(uintptr_t)second->cookie,
			  .cookie = slot->cookie, .status = status, .ep = ep },
	};
}

static bool take_request(struct dap_event *ev, struct dap_ep *ep, const struct m5_cqe *cqe)
{
	struct m5_ep *e = m5_ep(ep);
	uint32_t index = be16_to_cpu(cqe->wqe_counter);
	const struct m5_slot *slot = &e->done.sq_slots[index & e->done.sq_mask];
	unsigned int syndrome = syndrome_of(cqe), kind = slot->kind;
	bool visible = !(kind & M5_KIND_NOP) && (syndrome || !(kind & M5_KIND_INTERNAL));

	if (kind & M5_KIND_BIND)
		m5_bind_done(e->done.sq_slots, e->done.sq_mask, index, !syndrome);
	if (visible && kind & M5_KIND_BIND)
		fill_bind(ev, ep, index, syndrome);
	else if (visible)
		fill_dto(ev, ep, slot, syndrome ? m5_syndrome_status(syndrome) : DAP_DTO_SUCCESS,
			 slot->bytes);
	if (visible && !(kind & M5_KIND_BIND))
		ev->dto.op = (uint16_t)m5_cqe_dto(cqe);
	__atomic_store_n(&e->done.sq_ci, slot->end, __ATOMIC_RELEASE);
	return visible;
}

/* Counts a receive that failed or has immediate data. Plain receives are the rest of the total. */
static void count_receive(struct dap_ep *ep, const struct dap_event *ev)
{
	if (ev->dto.status)
		dap_ep_tally(ep, DAP_COUNT_RECV_FAILED, 0);
	else if (ev->dto.op == DAP_OP_RECV_IMMED)
		dap_ep_tally(ep, DAP_COUNT_RECV_IMM, ev->dto.length);
	else if (ev->dto.op == DAP_OP_RECV_WRITE_IMMED)
		dap_ep_tally(ep, DAP_COUNT_RECV_WRITE_IMM, ev->dto.length);
	else
		m5_count_add(&m5_ep(ep)->done.rq_bytes, ev->dto.length);
}

static void take_receive(struct dap_event *ev, struct dap_ep *ep, const struct m5_cqe *cqe)
{
	struct m5_ep *e = m5_ep(ep);
	uint32_t index = be16_to_cpu(cqe->wqe_counter);
	struct m5_slot *slot = &e->done.rq_slots[index & e->done.rq_mask];
	unsigned int syndrome = syndrome_of(cqe);

	fill_dto(ev, ep, slot, syndrome ? m5_syndrome_status(syndrome) : DAP_DTO_SUCCESS,
		 syndrome ? 0 : be32_to_cpu(cqe->byte_cnt));
	ev->receive = !syndrome;
	if (cqe->op_own >> 4 == M5_CQE_RESP_WRITE_IMM)
		ev->dto.op = DAP_OP_RECV_WRITE_IMMED;
	else if (cqe->op_own >> 4 == M5_CQE_RESP_SEND_IMM)
		ev->dto.op = DAP_OP_RECV_IMMED;
	else if (cqe->op_own >> 4 == M5_CQE_RESP_SEND_INV)
		ev->dto.op = DAP_OP_RECV_INVAL;
	ev->dto.imm = be32_to_cpu(cqe->imm);
	count_receive(ep, ev);
	/* With solicited notification the sender decides whether a waiter is woken. */
	if (ep->attr.recv_completion_flags & DAP_COMP_SOLICITED && !(cqe->op_own & 2))
		ev->unsignalled = true;
	__atomic_store_n(&e->done.rq_ci, e->done.rq_ci + 1, __ATOMIC_RELEASE);
	if (e->done.shared)
		m5_srq_release(slot);
}

/* Is work being flushed although no end of the connection explains that? A graceful disconnection waits for
 * requests, but not for receives. */
static bool is_early_flush(const struct dap_ep *ep, bool request)
{
	enum dap_ep_state state = dap_ep_state(ep);

	return state == DAP_EP_CONNECTED || (request && state == DAP_EP_DISCONNECT_PENDING);
}

static bool take_cqe(struct dap_event *ev, struct dap_ep *ep, const struct m5_cqe *cqe)
{
	unsigned int op = cqe->op_own >> 4, syndrome = syndrome_of(cqe);
	bool request = op == M5_CQE_REQ || op == M5_CQE_REQ_ERR, visible = true;
	char text[160];

	if (op >= M5_CQE_RESIZE && !is_error(cqe)) {
		dap_log(DAP_LOG_ERR, "endpoint %p of %s: ignored a CQE of unknown type: %s", (void *)ep,
			ep->obj.ia->name, m5_decode_cqe(cqe, text, sizeof(text)));
		return false;
	}
	if (syndrome && syndrome != M5_SYN_FLUSHED)
		log_failure(ep, cqe, request);
	/* Work flushed while the connection seems alive also means that it has failed. dat_ep_reset() waits
	 * for the CQ, so the failure is not taken for one of the next connection. */
	if (syndrome && (syndrome != M5_SYN_FLUSHED || is_early_flush(ep, request)))
		dap_ep_broken(ep);
	if (m5_cqe_is_small(cqe))
		m5_cqe_spread(ep, cqe);
	if (request)
		visible = take_request(ev, ep, cqe);
	else
		take_receive(ev, ep, cqe);
	/* Failures always notify, even if success would not. */
	if (visible && syndrome) {
		ev->unsignalled = false;
		dap_work_failed(ev);
	}
	return visible;
}

static void put_stamp(struct dap_event *ev, uint64_t stamp)
{
	if (ev->number == DAP_EV_RMR_BIND)
		ev->bind.stamp = stamp;
	else
		ev->dto.stamp = stamp;
}

bool m5_cqe_slow(struct dap_evd *evd, struct dap_event *ev)
{
	struct m5_cq *cq = m5_cq(evd);
	const struct m5_cqe *cqe = m5_cqe_at(cq, cq->ci);
	struct dap_ep *ep = m5_cqe_ep(cq, cqe);
	bool visible = false;
	char text[160];

	*ev = (struct dap_event){ 0 };
	if (ep) {
		visible = take_cqe(ev, ep, cqe);
		if (!is_error(cqe))
			put_stamp(ev, be64_to_cpu(cqe->timestamp));
	} else {
		dap_log(DAP_LOG_ERR, "EVD %p of %s: ignored a CQE without an endpoint: %s", (void *)evd,
			evd->obj.ia->name, m5_decode_cqe(cqe, text, sizeof(text)));
	}
	m5_count_add(&cq->aside, !visible);
	m5_cq_publish(cq, cq->ci + 1);
	return visible;
}

void m5_cqe_follow_up(struct dap_evd *evd, const struct dap_event *ev)
{
	if (ev->number == DAP_EV_DTO && ev->dto.op == DAP_OP_RECV_INVAL)
		m5_window_ended(evd->obj.ia, ev->dto.imm);
}

/* Takes one CQE. Returns 1 for an event, 0 if there is no event for it, -1 if the CQ is empty. */
static int poll_once(struct dap_evd *evd, struct dap_event *ev)
{
	bool locked = m5_ia(evd->obj.ia)->locked;
	struct m5_cq *cq = m5_cq(evd);
	int found = -1;

	m5_cq_enter(cq, locked);
	if (m5_cqe_ours(cq, cq->ci, dap_load_owner(&m5_cqe_at(cq, cq->ci)->op_own))) {
		dap_rmb_cqe_owner();
		found = m5_cqe_slow(evd, ev);
		m5_count_add(&cq->aside, found > 0);
	}
	m5_cq_leave(cq, locked);
	if (found >= 0)
		m5_cqe_follow_up(evd, ev);
	return found;
}

bool m5_cq_poll(struct dap_evd *evd, struct dap_event *ev)
{
	const struct m5_ia *ia = m5_ia(evd->obj.ia);
	bool driven = !ia->inline_model;
	struct dap_event polled;
	int found;

	for (;;) {
		found = poll_once(evd, &polled);
		if (found > 0) {
			*ev = polled;
			return true;
		}
		if (found < 0 && driven)
			return false;
		if (found < 0) {
			m5_drive_model(ia);
			driven = true;
		}
	}
}
