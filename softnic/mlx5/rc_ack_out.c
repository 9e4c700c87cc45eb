/* SPDX-License-Identifier: BSD-2-Clause */
/* The responder's ACKs and NAKs, pending and delayed. Also stops a connection. */
#include <errno.h>
#include <stdlib.h>

#include "softnic/mlx5/rc.h"

void sn_rc_set_answer(struct sn_qp *qp, enum sn_rc_answer what)
{
	if (what > qp->rc->resp.answer)
		qp->rc->resp.answer = what;
	sn_rc_undelay_ack(qp);
	sn_qp_kick(qp);
}

/*
 * Does the host wait for events? Such a requester answers late, and may rely on hardware's order, in
 * which the ACK arrives before the answer.
 */
static bool host_waits(const struct sn_qp *qp)
{
	enum { RECENT = 64 };

	return qp->nic->cqs_armed ||
		(qp->rcq->had_event && ((qp->rcq->pi - qp->rcq->notified) & 0xffffff) < RECENT);
}

/* A delayed ACK may ride on the next request, but IBTA 9.7.5.1 puts it after the responses to earlier
 * READs. */
static void delay_ack(struct sn_qp *qp, unsigned int polls)
{
	struct sn_rc_resp *s = &qp->rc->resp;

	if (s->answer > SN_ANSWER_ACK || s->read_head != s->read_tail || host_waits(qp) ||
	    ++s->delayed_requests >= SN_RC_DELAY_MAX) {
		sn_rc_set_answer(qp, SN_ANSWER_ACK);
		return;
	}
	s->answer = SN_ANSWER_ACK;
	sn_rc_delay_ack(qp, polls);
}

/* In a stream of WRITEs one ACK covers several; a single WRITE is acknowledged at once. */
void sn_rc_ack_write(struct sn_qp *qp)
{
	struct sn_fabric *fabric = qp->port->fabric;
	bool stream = fabric->empty_polls - fabric->empty_polls_at_write < SN_RC_STREAM_POLLS;

	fabric->empty_polls_at_write = fabric->empty_polls;
	if (stream)
		delay_ack(qp, SN_RC_STREAM_POLLS);
	else
		sn_rc_set_answer(qp, SN_ANSWER_ACK);
}

/*
 * Delays the ACK for a message whose completion the host is about to handle: sending the ACK first would
 * delay the host by a packet. The delay is short, so the requester's completion is not late and its
 * window does not fill up.
 */
void sn_rc_ack_after_cqe(struct sn_qp *qp)
{
	delay_ack(qp, SN_RC_DELAY_POLLS);
}

void sn_rc_fatal_nak(struct sn_qp *qp, uint32_t psn, enum sn_nak_code code, enum sn_event event)
{
	static const enum sn_viol viol[] = {
		[SN_NAK_INVALID_REQUEST] = SN_V_REMOTE_INVALID,
		[SN_NAK_REMOTE_ACCESS] = SN_V_REMOTE_ACCESS,
		[SN_NAK_REMOTE_OPERATIONAL] = SN_V_REMOTE_OPERATIONAL,
		[SN_NAK_NONE] = SN_V_REMOTE_ACCESS,
	};
	struct sn_rc_resp *s = &qp->rc->resp;

	if (s->answer == SN_ANSWER_FATAL_NAK)
		return;
	sn_violate(qp->nic, viol[code], "QP 0x%06x refused PSN %u", qp->qpn, psn);
	s->nak_code = code;
	s->nak_psn = psn;
	s->event = event;
	s->in = SN_C_NONE;
	sn_rc_set_answer(qp, SN_ANSWER_FATAL_NAK);
}

void sn_rc_refuse(struct sn_qp *qp, uint32_t psn, const struct sn_access *a, enum sn_acc why)
{
	sn_acc_violation(qp->nic, a, why, true);
	if (sn_acc_is_operational(why))
		sn_rc_fatal_nak(qp, psn, SN_NAK_REMOTE_OPERATIONAL, SN_EV_WQ_CATAS);
	else
		sn_rc_fatal_nak(qp, psn, SN_NAK_REMOTE_ACCESS, SN_EV_WQ_ACCESS);
}

void sn_rc_put_aeth(struct sn_qp *qp, struct sn_rc_out *out, uint8_t syndrome)
{
	struct sn_aeth aeth = {to_be32((uint32_t)syndrome << 24 | qp->rc->resp.msn)};

	sn_rc_put_ext(out, &aeth, sizeof(aeth));
}

int sn_rc_send_answer(struct sn_qp *qp)
{
	struct sn_rc_resp *s = &qp->rc->resp;
	struct sn_rc_out out = {.opcode = SN_BTH_ACK, .psn = s->psn};
	uint8_t syndrome = SN_AETH_ACK | SN_AETH_NO_CREDIT;

	/* A QP that fails without a NAK sends an ACK first, so that the requests executed before are
	 * acknowledged. */
	if (s->answer == SN_ANSWER_ACK || (s->answer == SN_ANSWER_FATAL_NAK && s->nak_code == SN_NAK_NONE)) {
		out.psn = sn_psn_add(s->psn, SN_PSN_MASK);
	} else if (s->answer == SN_ANSWER_SEQUENCE_NAK) {
		syndrome = SN_AETH_NAK | SN_NAK_SEQUENCE;
		qp->nic->ctr.naks++;
	} else if (s->answer == SN_ANSWER_RNR_NAK) {
		syndrome = (uint8_t)(SN_AETH_RNR | (qp->min_rnr_nak & SN_AETH_VALUE));
		qp->nic->ctr.rnr_naks++;
	} else {
		syndrome = (uint8_t)(SN_AETH_NAK | s->nak_code);
		out.psn = s->nak_psn;
		qp->nic->ctr.naks++;
	}
	sn_rc_put_aeth(qp, &out, syndrome);
	return sn_rc_send(qp, &out);
}

void sn_rc_flush_delayed_ack(struct sn_qp *qp)
{
	if (!qp->rc->ack_delayed)
		return;
	sn_rc_undelay_ack(qp);
	if (sn_rc_send_answer(qp) != -EAGAIN)
		sn_rc_acknowledged(qp);
}

static void scratch_forget(const struct sn_qp *qp)
{
	struct sn_rc_scratch *scratch = qp->rc->scratch;

	scratch->sender = scratch->sender == qp ? NULL : scratch->sender;
	scratch->reader = scratch->reader == qp ? NULL : scratch->reader;
	scratch->receiver = scratch->receiver == qp ? NULL : scratch->receiver;
}

static void stop_timers(struct sn_qp *qp)
{
	sn_timer_cancel(qp->nic, &qp->rc->req.ack_timer);
	sn_timer_cancel(qp->nic, &qp->rc->req.rnr_timer);
}

void sn_rc_stop(struct sn_qp *qp)
{
	struct sn_rc *rc = qp->rc;

	if (!rc)
		return;
	sn_rc_flush_delayed_ack(qp);
	stop_timers(qp);
	sn_port_unblock(&rc->waiter);
	scratch_forget(qp);
	rc->req.loaded = false;
	rc->resp.in = SN_C_NONE;
	rc->resp.answer = SN_ANSWER_NONE;
	rc->resp.delayed_requests = 0;
	rc->resp.read_head = rc->resp.read_tail;
	free(rc->resp.late);
	rc->resp.late = NULL;
	sn_port_use_udp(qp->port, &rc->uses_udp, false);
}
