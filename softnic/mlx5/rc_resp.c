/* SPDX-License-Identifier: BSD-2-Clause */
/* The responder's receiving half: requests in PSN order, SEND and WRITE (IBTA 9.7.4, 9.9). */
#include "softnic/mlx5/quirk.h"
#include "softnic/mlx5/rc.h"

static void invalid_request(struct sn_qp *qp)
{
	sn_rc_fatal_nak(qp, qp->rc->resp.psn, SN_NAK_INVALID_REQUEST, SN_EV_WQ_INVAL_REQ);
}

/* Ends the current receive WQE with an error CQE; the host gets no other report. */
static void fail_receive(struct sn_qp *qp, uint8_t syndrome, enum sn_nak_code code)
{
	sn_rq_fail(qp, &qp->rc->scratch->receive, syndrome);
	if (qp->state != SN_QP_ERR)
		sn_rc_fatal_nak(qp, qp->rc->resp.psn, code, SN_EV_COMPLETION);
}

static bool gives_cqe(const struct sn_packet *pkt)
{
	return pkt->shape->class == SN_C_SEND || (pkt->shape->parts & SN_P_IMM);
}

/* The packet is complete, so the next PSN is expected. */
static void advance_psn(struct sn_qp *qp, const struct sn_packet *pkt)
{
	struct sn_rc_resp *s = &qp->rc->resp;

	s->psn = sn_psn_add(s->psn, pkt->train);
	s->off += pkt->len;
	if (pkt->shape->parts & SN_P_LAST) {
		s->msn = sn_psn_add(s->msn, 1);
		s->in = SN_C_NONE;
	} else {
		s->in = pkt->shape->class;
	}
	if (!pkt->ackreq)
		return;
	if ((pkt->shape->parts & SN_P_LAST) && gives_cqe(pkt))
		sn_rc_ack_after_cqe(qp);
	else if (pkt->shape->parts & SN_P_LAST)
		sn_rc_ack_write(qp);
	else
		sn_rc_set_answer(qp, SN_ANSWER_ACK);
}

static void fail_unusable_wqe(struct sn_qp *qp)
{
	if (qp->state != SN_QP_ERR)
		sn_rc_fatal_nak(qp, qp->rc->resp.psn, SN_NAK_REMOTE_OPERATIONAL, SN_EV_WQ_CATAS);
}

/* Fetches the next receive WQE into the scratch space. Returns the values of sn_rq_next(). */
static int next_receive(struct sn_qp *qp)
{
	struct sn_rc_scratch *scratch = qp->rc->scratch;

	scratch->receiver = qp;
	return sn_rq_next(qp, &scratch->receive);
}

/* Does the fault script simulate an empty receive queue for this packet? */
static bool is_rnr_injected(struct softnic *nic)
{
	return nic->fault.rnr > 0 && sn_hit(&nic->rng, nic->fault.rnr);
}

/* Takes a receive WQE. False: none is posted, or it is unusable; the NAK has been requested. */
static bool take_receive(struct sn_qp *qp)
{
	struct sn_rc_resp *s = &qp->rc->resp;
	struct sn_rc_scratch *scratch = qp->rc->scratch;
	int n = is_rnr_injected(qp->nic) ? 0 : next_receive(qp);

	s->rwqe = scratch->receive.idx;
	s->srq = scratch->receive.srq;
	if (n > 0)
		return true;
	if (n == 0) {
		s->nak_sent = true;
		sn_rc_set_answer(qp, SN_ANSWER_RNR_NAK);
	} else {
		fail_unusable_wqe(qp);
	}
	return false;
}

/* Fetches the receive WQE of the current message again, if another QP replaced it. */
static bool refetch_receive(struct sn_qp *qp)
{
	struct sn_rc_scratch *scratch = qp->rc->scratch;

	if (scratch->receiver == qp)
		return true;
	scratch->receiver = qp;
	scratch->receive.idx = qp->rc->resp.rwqe;
	scratch->receive.srq = qp->rc->resp.srq;
	if (sn_rq_refetch(qp, &scratch->receive) > 0)
		return true;
	fail_unusable_wqe(qp);
	return false;
}

static enum sn_cqe_op completion_of(const struct sn_packet *pkt)
{
	if (pkt->shape->class == SN_C_WRITE)
		return SN_CQE_RESP_WR_IMM;
	if (pkt->shape->parts & SN_P_IMM)
		return SN_CQE_RESP_SEND_IMM;
	return pkt->shape->parts & SN_P_INV ? SN_CQE_RESP_SEND_INV : SN_CQE_RESP_SEND;
}

static void complete_receive(struct sn_qp *qp, const struct sn_packet *pkt, uint32_t len,
			     const void *small)
{
	static const be32_t none;
	bool has_imm = pkt->shape->parts & (SN_P_IMM | SN_P_INV);

	sn_rq_done(qp, &qp->rc->scratch->receive, completion_of(pkt), len, has_imm ? pkt->imm : none,
		   pkt->solicited, small);
}

/* Does the whole message fit into the CQE? */
static bool is_small(const struct sn_qp *qp, const struct sn_packet *pkt)
{
	const unsigned int whole = SN_P_FIRST | SN_P_LAST;

	return pkt->len && pkt->len <= qp->small_res && (pkt->shape->parts & whole) == whole;
}

static void send_in(struct sn_qp *qp, const struct sn_packet *pkt)
{
	struct sn_rc_resp *s = &qp->rc->resp;
	const struct sn_rwqe *rwqe = &qp->rc->scratch->receive;
	unsigned int parts = pkt->shape->parts;
	const void *small = is_small(qp, pkt) ? pkt->payload : NULL;

	if (!small && sn_quirk(qp->nic, SN_Q_SLOW_RECV)) {
		sn_quirk_slows(qp->nic, SN_Q_SLOW_RECV);
		/* no polls are counted during sleep, so the ACK must not be delayed */
		s->delayed_requests = SN_RC_DELAY_MAX;
	}
	if (parts & SN_P_FIRST ? !take_receive(qp) : !refetch_receive(qp))
		return;
	if (parts & SN_P_FIRST)
		s->off = 0;
	if (s->off > rwqe->len || pkt->len > rwqe->len - s->off) {
		fail_receive(qp, SN_SYND_LOCAL_LENGTH, SN_NAK_INVALID_REQUEST);
		return;
	}
	if (pkt->len && sn_scatter_recv(qp, rwqe, s->off, small ? NULL : pkt->payload, pkt->len) !=
	    SN_ACC_OK) {
		fail_receive(qp, SN_SYND_LOCAL_PROT, SN_NAK_REMOTE_OPERATIONAL);
		return;
	}
	if ((parts & SN_P_INV) && sn_mkey_invalidate(qp, from_be32(pkt->imm)) != SN_ACC_OK) {
		fail_receive(qp, SN_SYND_MW_BIND, SN_NAK_NONE);
		return;
	}
	if (parts & SN_P_LAST)
		complete_receive(qp, pkt, s->off + pkt->len, small);
	if (qp->state != SN_QP_ERR)
		advance_psn(qp, pkt);
}

/*
 * IBTA 11.6.2: if a write with immediate fails, the receive that its immediate would have completed
 * fails too. The error completion of that receive replaces the asynchronous event.
 */
static void refuse_write(struct sn_qp *qp, const struct sn_access *a, enum sn_acc why, bool taken)
{
	sn_rc_refuse(qp, qp->rc->resp.psn, a, why);
	if (!taken)
		return;
	qp->rc->resp.event = SN_EV_COMPLETION;
	sn_rq_fail(qp, &qp->rc->scratch->receive, SN_SYND_LOCAL_ACCESS);
}

/* IBTA 9.7.4.1.3: the rights for the whole range are checked before the first byte is written. */
static bool write_begins(struct sn_qp *qp, const struct sn_packet *pkt)
{
	struct sn_rc_resp *s = &qp->rc->resp;
	struct sn_access a;
	enum sn_acc acc;

	s->va = from_be64(pkt->reth.va);
	s->rkey = from_be32(pkt->reth.rkey);
	s->len = from_be32(pkt->reth.len);
	s->off = 0;
	if (s->len > SN_RC_LEN_MAX) {
		invalid_request(qp);
		return false;
	}
	if (!s->len)
		return true;
	a = (struct sn_access){s->rkey, qp->pd, qp->qpn, SN_RW, s->va, s->len};
	acc = sn_mkey_check(qp->nic, &a);
	if (acc == SN_ACC_OK)
		return true;
	refuse_write(qp, &a, acc, (pkt->shape->parts & SN_P_IMM) && next_receive(qp) > 0);
	return false;
}

enum { WHOLE_WRITE = SN_P_FIRST | SN_P_LAST | SN_P_PAYLOAD | SN_P_RETH };

/* Writes a whole message at once to contiguous memory. False: nothing was written or checked yet. */
static bool write_whole(struct sn_qp *qp, const struct sn_packet *pkt)
{
	struct sn_rc_resp *s = &qp->rc->resp;
	struct sn_access a = {from_be32(pkt->reth.rkey), qp->pd, qp->qpn, SN_RW,
			      from_be64(pkt->reth.va), pkt->len};
	void *to = pkt->len == from_be32(pkt->reth.len) ? sn_mkey_at(qp->nic, &a) : NULL;

	if (!to)
		return false;
	sn_copy(to, pkt->payload, pkt->len);
	s->rkey = a.key;
	sn_rc_cache_target(qp);
	return true;
}

static void write_in(struct sn_qp *qp, const struct sn_packet *pkt)
{
	struct sn_rc_resp *s = &qp->rc->resp;
	unsigned int parts = pkt->shape->parts;
	struct sn_access a;
	enum sn_acc acc;

	if (!qp->rwe) {
		invalid_request(qp);
		return;
	}
	if (parts == WHOLE_WRITE && write_whole(qp, pkt)) {
		advance_psn(qp, pkt);
		return;
	}
	if ((parts & SN_P_FIRST) && !write_begins(qp, pkt))
		return;
	if (pkt->len > s->len - s->off || ((parts & SN_P_LAST) && pkt->len != s->len - s->off)) {
		invalid_request(qp);
		return;
	}
	if ((parts & SN_P_IMM) && !take_receive(qp))
		return;
	a = (struct sn_access){s->rkey, qp->pd, qp->qpn, SN_RW, s->va + s->off, pkt->len};
	if (sn_quirk(qp->nic, SN_Q_UNORDERED))
		acc = sn_quirk_write(qp, &a, pkt->payload, parts & SN_P_FIRST, parts & SN_P_LAST);
	else
		acc = pkt->len ? sn_mkey_write(qp->nic, &a, pkt->payload) : SN_ACC_OK;
	if (acc != SN_ACC_OK) {
		refuse_write(qp, &a, acc, parts & SN_P_IMM);
		return;
	}
	if (parts & SN_P_IMM)
		complete_receive(qp, pkt, s->len, NULL);
	if (parts & SN_P_LAST && s->len)
		sn_rc_cache_target(qp);
	if (qp->state != SN_QP_ERR)
		advance_psn(qp, pkt);
}

/* Is the packet allowed at this position of its message, and is its length right? IBTA 9.7.4.1.4 and
 * .5. */
static bool well_placed(const struct sn_qp *qp, const struct sn_packet *pkt)
{
	bool first = pkt->shape->parts & SN_P_FIRST, last = pkt->shape->parts & SN_P_LAST;

	if (first ? qp->rc->resp.in != SN_C_NONE : qp->rc->resp.in != pkt->shape->class)
		return false;
	if (!(pkt->shape->parts & SN_P_PAYLOAD))
		return pkt->train == 1;
	return sn_rc_train_fits(qp, pkt, last) && (first || pkt->len > 0);
}

/* Handles an old PSN: the response was lost, or the packet came late. Only READs are executed
 * again. */
static void duplicate_in(struct sn_qp *qp, const struct sn_packet *pkt)
{
	if (pkt->shape->class == SN_C_READ)
		sn_rc_read_request_in(qp, pkt, true);
	else if (pkt->shape->class == SN_C_ATOMIC)
		sn_rc_atomic_request_in(qp, pkt, true);
	else if (pkt->ackreq)
		sn_rc_set_answer(qp, SN_ANSWER_ACK);
}

static void expected_in(struct sn_qp *qp, const struct sn_packet *pkt)
{
	qp->rc->resp.nak_sent = false;
	if (!well_placed(qp, pkt)) {
		invalid_request(qp);
		return;
	}
	switch (pkt->shape->class) {
	case SN_C_SEND:
		send_in(qp, pkt);
		break;
	case SN_C_WRITE:
		write_in(qp, pkt);
		break;
	case SN_C_READ:
		sn_rc_read_request_in(qp, pkt, false);
		break;
	case SN_C_ATOMIC:
		sn_rc_atomic_request_in(qp, pkt, false);
		break;
	default:
		break;
	}
}

void sn_rc_request_in(struct sn_qp *qp, const struct sn_packet *pkt)
{
	struct sn_rc_resp *s = &qp->rc->resp;
	int32_t ahead = sn_psn_diff(pkt->psn, s->psn);

	if (s->answer == SN_ANSWER_FATAL_NAK)
		return;
	if (qp->state == SN_QP_RTR && !s->established) {
		s->established = true;
		sn_qp_event(qp, SN_EV_COMM_EST);
	}
	if (ahead < 0) {
		duplicate_in(qp, pkt);
	} else if (ahead == 0) {
		expected_in(qp, pkt);
	} else if (!s->nak_sent) {
		s->nak_sent = true;
		sn_rc_set_answer(qp, SN_ANSWER_SEQUENCE_NAK);
	}
}
