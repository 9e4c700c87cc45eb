/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast path of incoming packets: a WRITE or SEND of one packet, in order, into memory with a cached
 * mapping; and its ACK. Such a packet is checked and executed in one step. All other packets, and
 * invalid ones, are left to sn_packet_parse.
 */
#include <string.h>

#include "softnic/bytes.h"
#include "softnic/mlx5/rc.h"

enum { ACK_BYTES = sizeof(struct sn_bth) + sizeof(struct sn_aeth) + SN_ICRC };

struct plain {
	bool write, solicited;
	uint16_t pkey;
	uint32_t qpn, psn, len;
	const uint8_t *ext, *payload;
};

/* Parses the packet like sn_packet_parse, for these two opcodes and a single packet that requests
 * an ACK. */
static bool is_plain(const uint8_t *bytes, size_t len, struct plain *p)
{
	be64_t first;
	be32_t last, icrc;
	uint64_t head;
	uint32_t psn, other;

	if (len < sizeof(struct sn_bth) + SN_ICRC)
		return false;
	memcpy(&first, bytes, sizeof(first));
	memcpy(&last, bytes + sizeof(first), sizeof(last));
	memcpy(&icrc, bytes + len - sizeof(icrc), sizeof(icrc));
	sn_end_copy();
	head = from_be64(first);
	psn = from_be32(last);
	p->write = head >> 56 == SN_BTH_WRITE_ONLY;
	p->ext = bytes + sizeof(struct sn_bth);
	p->payload = p->ext + (p->write ? sizeof(struct sn_reth) : 0);
	other = (uint32_t)((uint64_t)(p->payload - bytes) + (head >> 52 & 3)) + SN_ICRC;
	if ((!p->write && head >> 56 != SN_BTH_SEND_ONLY) || head >> 48 & 0xf || len % 4 ||
	    len <= other || icrc.be || (psn & ~SN_PSN_MASK) != SN_BTH_ACKREQ)
		return false;
	p->solicited = head >> 48 & SN_BTH_SE;
	p->pkey = (uint16_t)(head >> 32);
	p->qpn = (uint32_t)head & 0xffffff;
	p->psn = psn & SN_PSN_MASK;
	p->len = (uint32_t)len - other;
	return true;
}

/* Is this an ACK and not a NAK? */
static bool is_ack(const uint8_t *bytes, size_t len, struct plain *p)
{
	be64_t first;
	be32_t rest[3];		/* the last words of the BTH, the AETH and the ICRC */
	uint64_t head;

	if (len != ACK_BYTES)
		return false;
	memcpy(&first, bytes, sizeof(first));
	memcpy(rest, bytes + sizeof(first), sizeof(rest));
	sn_end_copy();
	head = from_be64(first);
	p->psn = from_be32(rest[0]);
	p->pkey = (uint16_t)(head >> 32);
	p->qpn = (uint32_t)head & 0xffffff;
	return head >> 48 == SN_BTH_ACK << 8 && p->psn <= SN_PSN_MASK && !rest[2].be &&
	       (from_be32(rest[1]) >> 24 & SN_AETH_KIND) == SN_AETH_ACK;
}

/* Finds the QP of a packet. The QP that sent the last request is tried first: most often it sends
 * again. NULL: the QP is unknown, or in a state for the slow path. */
static inline struct sn_qp *receiver(struct sn_port *port, const struct sn_addr *src, const struct plain *p)
{
	struct softnic *nic = port->nic;
	struct sn_qp *qp = nic->last_requester;

	if (!qp || qp->qpn != p->qpn)
		qp = sn_qp_find(nic, p->qpn);
	if (!qp || !qp->rc || qp->port != port || qp->state != SN_QP_RTS || qp->pkey != p->pkey ||
	    !(p->pkey & 0x8000) || !sn_addr_equal(src, &qp->rc->dest.gid))
		return NULL;
	nic->last_requester = qp;
	return qp;
}

static bool is_next(const struct sn_qp *qp, const struct plain *p)
{
	const struct sn_rc_resp *s = &qp->rc->resp;

	return s->psn == p->psn && s->in == SN_C_NONE && s->answer <= SN_ANSWER_ACK &&
	       p->len <= qp->mtu && !qp->nic->fault.generation;
}

static bool write_in(struct sn_qp *qp, const struct plain *p)
{
	struct sn_reth reth;
	uint8_t *to;

	memcpy(&reth, p->ext, sizeof(reth));
	sn_end_copy();
	to = sn_rc_mapping_at(qp, &qp->rc->target, from_be32(reth.rkey), from_be64(reth.va), p->len);
	if (!to || !qp->rwe || from_be32(reth.len) != p->len)
		return false;
	sn_copy(to, p->payload, p->len);
	return true;
}

/* Handles a SEND. The receive must have one segment that holds the whole message, and no data may
 * go into the CQE. */
static bool send_in(struct sn_qp *qp, const struct plain *p)
{
	static const be32_t none;
	struct sn_rc_scratch *scratch = qp->rc->scratch;
	struct sn_sge sge;
	uint8_t *to;

	if (qp->small_res || !sn_rq_peek(qp, &sge) || sge.len < p->len)
		return false;
	to = sn_rc_mapping_at(qp, &qp->rc->local, sge.key, sge.va, p->len);
	if (!to) {
		sn_rc_mapping_fill(qp, &qp->rc->local, sge.key, SN_LW);
		return false;
	}
	/* The scratch space may hold another QP's WQE. */
	scratch->receiver = NULL;
	scratch->receive.idx = qp->rq_next++;
	scratch->receive.srq = NULL;
	sn_copy(to, p->payload, p->len);
	sn_rq_done(qp, &scratch->receive, SN_CQE_RESP_SEND, p->len, none, p->solicited, NULL);
	return true;
}

static bool ack_in(struct sn_port *port, const struct sn_addr *src, const uint8_t *bytes, size_t len)
{
	struct sn_qp *qp;
	struct plain p;

	if (!is_ack(bytes, len, &p))
		return false;
	qp = receiver(port, src, &p);
	if (!qp)
		return false;
	port->nic->ctr.rx_packets++;
	sn_rc_acked(qp, p.psn);
	return true;
}

bool sn_rc_plain_in(struct sn_port *port, const struct sn_addr *src, const uint8_t *bytes, size_t len)
{
	struct sn_rc_resp *s;
	struct sn_qp *qp;
	struct plain p;

	if (ack_in(port, src, bytes, len))
		return true;
	if (!is_plain(bytes, len, &p))
		return false;
	qp = receiver(port, src, &p);
	if (!qp || !is_next(qp, &p) || !(p.write ? write_in(qp, &p) : send_in(qp, &p)))
		return false;
	port->nic->ctr.rx_packets++;
	/* The CQ may have overrun, which moves the QP to ERR. */
	if (qp->state == SN_QP_ERR)
		return true;
	s = &qp->rc->resp;
	s->nak_sent = false;
	s->psn = sn_psn_add(s->psn, 1);
	s->msn = sn_psn_add(s->msn, 1);
	if (p.write)
		sn_rc_ack_write(qp);
	else
		sn_rc_ack_after_cqe(qp);
	return true;
}
