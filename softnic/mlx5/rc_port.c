/* SPDX-License-Identifier: BSD-2-Clause */
/* Reliable connections and their port: sending packets, waiting for room, delayed ACKs. */
#include <errno.h>
#include <string.h>

#include "softnic/bytes.h"
#include "softnic/mlx5/rc.h"

/* Faults apply to single packets, so there are no trains while a fault script is set. A datagram is one
 * packet. */
uint32_t sn_rc_train(const struct sn_qp *qp, uint32_t at, uint32_t left)
{
	uint32_t max = SN_RC_TRAIN / qp->mtu;

	if (qp->nic->fault.generation || max <= 1 || sn_rc_is_far(qp))
		return 1;
	max -= at % max;
	return max < left ? max : left;
}

static void put_headers(const struct sn_qp *qp, const struct sn_rc_out *out, struct sn_frame *frame)
{
	uint8_t *ext = sn_rc_put_bth(qp, frame->head, out->opcode, sn_rc_flags(out->solicited, out->len),
				     (out->psn & SN_PSN_MASK) | (out->ackreq ? SN_BTH_ACKREQ : 0) |
					     (frame->packets - 1) << SN_BTH_TRAIN_SHIFT);

	sn_bytes(ext, out->ext, out->ext_len);
}

/* Writes the delayed ACK in the form in which sn_rc_resp_run would send it. */
void sn_rc_put_piggyback(struct sn_qp *qp, uint8_t *head)
{
	const struct sn_rc_resp *s = &qp->rc->resp;
	struct sn_aeth aeth = {
		to_be32((uint32_t)(SN_AETH_ACK | SN_AETH_NO_CREDIT) << 24 | s->msn),
	};

	memcpy(sn_rc_put_bth(qp, head, SN_BTH_ACK, 0, sn_psn_add(s->psn, SN_PSN_MASK)), &aeth,
	       sizeof(aeth));
	sn_rc_acknowledged(qp);
}

static enum sn_acc put_payload(struct sn_qp *qp, const struct sn_rc_out *out, uint8_t *payload)
{
	if (!out->len)
		return SN_ACC_OK;
	if (out->wqe)
		return sn_gather(qp, out->wqe->sge, out->wqe->nsge, out->off, payload, out->len);
	return sn_mkey_read(qp->nic, out->memory, payload);
}

int sn_rc_send(struct sn_qp *qp, struct sn_rc_out *out)
{
	struct sn_frame frame = {
		.head_len = (uint32_t)sizeof(struct sn_bth) + out->ext_len, .len = out->len,
		.packets = out->train ? out->train : 1,
		.piggyback = sn_rc_piggyback(qp, sn_bth_shapes[out->opcode].class == SN_C_SEND),
	};
	int err = sn_port_begin(qp->port, &qp->rc->dest, &frame);

	if (!err && frame.head) {
		put_headers(qp, out, &frame);
		out->refused = put_payload(qp, out, frame.payload);
		if (out->refused)
			return -EACCES;
		if (frame.piggyback)
			sn_rc_put_piggyback(qp, frame.piggyback_head);
		err = sn_port_end(qp->port, &qp->rc->dest, &frame);
	}
	if (err == -EAGAIN)
		sn_port_block(&qp->rc->waiter);
	return err;
}

bool sn_rc_ack_may_wait(const struct sn_port *port)
{
	const struct softnic *nic = port->nic;

	return !nic->thread_driven && !nic->cqs_armed && port->fabric->idle < port->fabric->ack_delay_polls;
}

/* Sends the delayed ACKs of a port that has been idle for some polls. any: this poll found work. */
void sn_rc_send_delayed_acks(struct sn_port *port, bool any)
{
	struct sn_fabric *fabric = port->fabric;
	struct sn_rc *rc;

	fabric->idle = any ? 0 : fabric->idle + 1;
	if (sn_rc_ack_may_wait(port))
		return;
	while ((rc = TAILQ_FIRST(&fabric->delayed_acks))) {
		sn_rc_undelay_ack(rc->qp);
		sn_qp_kick(rc->qp);
	}
}

void sn_rc_delay_ack(struct sn_qp *qp, unsigned int polls)
{
	struct sn_fabric *fabric = qp->port->fabric;
	struct sn_rc *rc = qp->rc;

	if (TAILQ_EMPTY(&fabric->delayed_acks) || polls < fabric->ack_delay_polls)
		fabric->ack_delay_polls = polls;
	if (rc->ack_delayed)
		return;
	rc->ack_delayed = true;
	TAILQ_INSERT_TAIL(&fabric->delayed_acks, rc, delayed_link);
	fabric->idle = 0;
}

void sn_rc_undelay_ack(struct sn_qp *qp)
{
	struct sn_rc *rc = qp->rc;

	if (!rc->ack_delayed)
		return;
	rc->ack_delayed = false;
	TAILQ_REMOVE(&qp->port->fabric->delayed_acks, rc, delayed_link);
}

void sn_rc_acknowledged(struct sn_qp *qp)
{
	sn_rc_undelay_ack(qp);
	qp->rc->resp.answer = SN_ANSWER_NONE;
	qp->rc->resp.delayed_requests = 0;
}

bool sn_rc_peer_stalled(struct sn_qp *qp)
{
	return !qp->port->link_down && sn_fab_unread(qp->port->fabric->fab, &qp->rc->dest);
}
