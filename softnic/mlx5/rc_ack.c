/* SPDX-License-Identifier: BSD-2-Clause */
/* The requester's receiving half: ACKs, NAKs and the responses to READs and atomics. */
#include <string.h>

#include "softnic/mlx5/quirk.h"
#include "softnic/mlx5/rc.h"

#define VENDOR_NAK 0x88		/* mlx5 reports this with the errors of a NAK */

static void move_una(struct sn_qp *qp, uint32_t psn)
{
	struct sn_rc_req *r = &qp->rc->req;
	uint32_t left;

	r->psn_una = psn;
	left = (r->psn_max - psn) & SN_PSN_MASK;
	if (r->in_flight > left)
		r->in_flight = left;
	sn_rc_made_progress(qp);
}

/* The byte count of a CQE counts received bytes: libmlx5 and Linux do not read that of a SEND or WRITE. */
static void finish_wr(struct sn_qp *qp, struct sn_wr *wr)
{
	sn_rc_drop_response(qp, wr);
	sn_wr_done(qp, wr, SN_SYND_OK, 0, sn_is_read(wr->opcode) ? wr->len : 0);
}

/* Fast path: completes acknowledged WRITEs and SENDs that are the oldest. */
static void finish_plain(struct sn_qp *qp, uint32_t psn)
{
	struct sn_rc_req *r = &qp->rc->req;
	uint32_t una = r->psn_una;

	while (sn_psn_diff(psn, una) > 0 && sn_wr_count(qp) && !qp->sq_fenced) {
		const struct sn_wr *wr = sn_wr_at(qp, 0);
		uint32_t end = sn_psn_add(wr->psn, wr->npsn);

		if (wr->done || (wr->opcode != SN_OP_WRITE && wr->opcode != SN_OP_SEND) ||
		    sn_psn_diff(psn, end) < 0)
			break;
		una = end;
		if (!sn_wr_pop(qp))
			return;
	}
	if (una == r->psn_una)
		return;
	move_una(qp, una);
	/* Local operations posted after the acknowledged WRs had to wait for them, and can retire
	 * now. */
	sn_wr_retire(qp);
}

/*
 * The peer has received everything before psn. False: the peer answered a READ before psn, and that
 * response was lost. May leave the QP in ERR.
 */
static bool acknowledge_upto(struct sn_qp *qp, uint32_t psn)
{
	struct sn_rc_req *r = &qp->rc->req;
	struct sn_wr *wr;

	finish_plain(qp, psn);
	while (qp->state != SN_QP_ERR && sn_psn_diff(psn, r->psn_una) > 0 && (wr = sn_rc_oldest(qp))) {
		uint32_t end = sn_psn_add(wr->psn, wr->npsn);

		if (sn_is_read(wr->opcode))
			return false;
		if (sn_psn_diff(psn, end) < 0) {
			move_una(qp, psn);
			return true;
		}
		move_una(qp, end);
		finish_wr(qp, wr);
		if (qp->state == SN_QP_ERR)
			return true;
	}
	return true;
}

/* Retransmits once for each lost response. If the repetition is lost too, the timer handles it. */
static void go_back_once(struct sn_qp *qp)
{
	struct sn_rc_req *r = &qp->rc->req;

	if (r->gap_psn == r->psn_una)
		return;
	r->gap_psn = r->psn_una;
	sn_rc_go_back(qp);
}

static bool is_expected(const struct sn_qp *qp, uint32_t psn)
{
	const struct sn_rc_req *r = &qp->rc->req;

	return sn_psn_diff(psn, r->psn_una) >= 0 && sn_psn_diff(psn, r->psn_max) < 0;
}

static void nak_in(struct sn_qp *qp, uint8_t code)
{
	static const uint8_t syndrome[] = {
		[SN_NAK_INVALID_REQUEST] = SN_SYND_REMOTE_INVAL_REQ,
		[SN_NAK_REMOTE_ACCESS] = SN_SYND_REMOTE_ACCESS,
		[SN_NAK_REMOTE_OPERATIONAL] = SN_SYND_REMOTE_OP,
	};
	struct sn_wr *wr = sn_rc_oldest(qp);

	if (code == SN_NAK_SEQUENCE) {
		if (sn_rc_spend_retry(qp))
			sn_rc_go_back(qp);
		return;
	}
	if (wr)
		sn_rc_fail(qp, wr, code < sizeof(syndrome) ? syndrome[code] : SN_SYND_BAD_RESP,
			   VENDOR_NAK);
}

void sn_rc_acked(struct sn_qp *qp, uint32_t psn)
{
	if (!is_expected(qp, psn))
		return;
	/* The ACK made room in the window: kick the QP if it has more to send. */
	if (!sn_rc_all_is_sent(qp))
		sn_qp_kick(qp);
	if (!acknowledge_upto(qp, sn_psn_add(psn, 1)))
		go_back_once(qp);
}

void sn_rc_ack_in(struct sn_qp *qp, const struct sn_packet *pkt)
{
	uint8_t syndrome = (uint8_t)(from_be32(pkt->aeth.word) >> 24);
	uint8_t value = syndrome & SN_AETH_VALUE, kind = syndrome & SN_AETH_KIND;

	if (kind == SN_AETH_ACK) {
		sn_rc_acked(qp, pkt->psn);
		return;
	}
	if (!is_expected(qp, pkt->psn))
		return;
	sn_qp_kick(qp);
	if (!acknowledge_upto(qp, pkt->psn)) {
		go_back_once(qp);
		return;
	}
	if (qp->state != SN_QP_RTS)
		return;
	if (kind == SN_AETH_RNR)
		sn_rc_rnr_in(qp, value);
	else if (kind == SN_AETH_NAK)
		nak_in(qp, value);
}

/* Returns the READ or atomic that this packet responds to, or NULL. */
static struct sn_wr *answered_wr(struct sn_qp *qp, const struct sn_packet *pkt)
{
	struct sn_wr *wr;

	if (!is_expected(qp, pkt->psn))
		return NULL;
	sn_qp_kick(qp);
	if (!acknowledge_upto(qp, pkt->psn)) {
		go_back_once(qp);
		return NULL;
	}
	wr = qp->state == SN_QP_RTS ? sn_rc_oldest(qp) : NULL;
	return wr && sn_is_read(wr->opcode) && qp->rc->req.psn_una == pkt->psn ? wr : NULL;
}

/* Returns the WQE whose segments receive the response. */
static const struct sn_wqe *destination(struct sn_qp *qp, struct sn_wr *wr)
{
	struct sn_rc_scratch *scratch = qp->rc->scratch;

	if (scratch->reader != qp || scratch->read_wr != wr) {
		scratch->reader = NULL;
		if (!sn_sq_refetch(qp, wr, &scratch->read)) {
			sn_rc_fail(qp, wr, SN_SYND_LOCAL_QP_OP, 0);
			return NULL;
		}
		scratch->reader = qp;
		scratch->read_wr = wr;
	}
	return &scratch->read;
}

/*
 * If the response is complete and its request is signaled, saves it for the CQE. The manual does not say
 * where the data goes if the request has no CQE: an adversarial device loses it. True: it is not for memory.
 */
static bool keep_small(struct sn_qp *qp, struct sn_wr *wr, const void *data, uint32_t len)
{
	bool small = len && len == wr->len && len <= qp->small_req;

	wr->small = small && wr->ce >= SN_CE_ALWAYS;
	if (wr->small)
		memcpy(qp->small[wr - qp->wr], data, len);
	return wr->small || (small && qp->nic->config.flags & SOFTNIC_ADVERSARIAL);
}

static void take_answer(struct sn_qp *qp, struct sn_wr *wr, uint32_t off, const void *data,
			uint32_t len, uint32_t packets)
{
	const struct sn_wqe *wqe = destination(qp, wr);
	uint32_t next;

	if (!wqe)
		return;
	if (keep_small(qp, wr, data, len))
		data = NULL;
	else
		sn_quirk_slows(qp->nic, SN_Q_SLOW_READ);
	if (len && sn_scatter(qp, wqe->sge, wqe->nsge, off, data, len) != SN_ACC_OK) {
		sn_rc_fail(qp, wr, SN_SYND_LOCAL_PROT, 0);
		return;
	}
	next = sn_psn_add(qp->rc->req.psn_una, packets);
	move_una(qp, next);
	if (next == sn_psn_add(wr->psn, wr->npsn))
		finish_wr(qp, wr);
}

/* IBTA "AETH": the syndrome of a response is that of an ACK. Linux's rxe ends the connection on another. */
static bool is_positive(const struct sn_packet *pkt)
{
	return !(pkt->shape->parts & SN_P_AETH) ||
		(from_be32(pkt->aeth.word) >> 24 & SN_AETH_KIND) == SN_AETH_ACK;
}

void sn_rc_read_in(struct sn_qp *qp, const struct sn_packet *pkt)
{
	struct sn_wr *wr = answered_wr(qp, pkt);
	uint32_t index, off;
	bool last;

	if (!wr)
		return;
	index = (pkt->psn - wr->psn) & SN_PSN_MASK;
	last = index + pkt->train == wr->npsn;
	off = index * qp->mtu;
	/* A response from another host comes in parts: see read_packets() in rc_req.c. */
	if (wr->opcode != SN_OP_READ || !is_positive(pkt) || !sn_rc_train_fits(qp, pkt, last) ||
	    (last && pkt->len != wr->len - off) || index + pkt->train > wr->npsn ||
	    (last ? !(pkt->shape->parts & SN_P_LAST)
		  : (pkt->shape->parts & SN_P_LAST) && !sn_rc_is_far(qp))) {
		sn_rc_fail(qp, wr, SN_SYND_BAD_RESP, 0);
		return;
	}
	take_answer(qp, wr, off, pkt->payload, pkt->len, pkt->train);
}

void sn_rc_atomic_in(struct sn_qp *qp, const struct sn_packet *pkt)
{
	struct sn_wr *wr = answered_wr(qp, pkt);
	uint64_t original = sn_atomic_host_order(qp->nic) ? from_be64(pkt->original) : pkt->original.be;

	if (!wr)
		return;
	if (wr->opcode == SN_OP_READ || !is_positive(pkt)) {
		sn_rc_fail(qp, wr, SN_SYND_BAD_RESP, 0);
		return;
	}
	take_answer(qp, wr, 0, &original, sizeof(original), 1);
}
