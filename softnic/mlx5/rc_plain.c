/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests as most are: a WRITE or SEND of one block, whose data lies in one place and goes in one
 * packet, when nothing is to be sent before it. Such a WQE is recognized, checked and sent in one go,
 * from the queue into the ring. Whatever is otherwise, or wrong, is left as it was for sn_rc_req_run,
 * which also knows what to say about it.
 */
#include <string.h>

#include "softnic/bytes.h"
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/rc.h"
#include "softnic/mlx5/wqe.h"

union block {
	uint8_t raw[SN_WQEBB];
	struct sn_ctrl ctrl;
};

struct plain {
	bool write;
	uint8_t ds, ce, solicited;
	const struct sn_raddr *to;	/* of a WRITE */
	const uint8_t *data;
	uint32_t len;
};

/* No fence, no reserved bit; the next block of this queue. */
static bool ctrl_is_plain(const struct sn_qp *qp, const struct sn_ctrl *ctrl, struct plain *p)
{
	uint32_t word = from_be32(ctrl->opmod_idx_opcode);
	uint8_t opcode = (uint8_t)word, fm_ce_se = ctrl->fm_ce_se;

	p->write = opcode == SN_OP_WRITE;
	p->ds = (uint8_t)from_be32(ctrl->qpn_ds);
	p->ce = fm_ce_se >> 2;
	p->solicited = fm_ce_se & 2;
	return (p->write || opcode == SN_OP_SEND) &&
	       word == ((uint32_t)qp->sq_next << 8 | opcode) &&
	       from_be32(ctrl->qpn_ds) == (qp->qpn << 8 | p->ds) && p->ds <= SN_WQEBB / 16 &&
	       !(ctrl->signature | ctrl->dci_stream[0] | ctrl->dci_stream[1] | (fm_ce_se & ~0xe));
}

/* The one data segment ends the WQE. */
static bool data_is_plain(struct sn_qp *qp, const union block *b, struct plain *p)
{
	unsigned int pos = p->write ? 32 : 16, end = p->ds * 16u;
	const struct sn_data *d = (const void *)(b->raw + pos);
	struct sn_access a = {.pd = qp->pd, .qpn = qp->qpn, .rights = SN_LR};
	uint32_t count = from_be32(d->byte_count);

	p->to = (const void *)(b->raw + 16);
	p->len = count & ~SN_INLINE;
	if (!p->len || p->len > qp->mtu || (p->write && p->to->rsvd.be))
		return false;
	if (count & SN_INLINE) {
		p->data = b->raw + pos + 4;
		return pos + ((4 + p->len + 15) & ~15u) == end;
	}
	a.key = from_be32(d->lkey);
	a.va = from_be64(d->va);
	a.len = p->len;
	p->data = pos + 16 == end ? sn_mkey_at(qp->nic, &a) : NULL;
	return p->data;
}

/* A WRITE to a target that nobody drives had better not be a packet. */
static bool waits_for_nothing(const struct sn_qp *qp, bool write)
{
	const struct sn_rc_req *r = &qp->rc->req;
	uint32_t ahead = (r->psn_next - r->psn_una) & SN_PSN_MASK;

	if (r->loaded || r->wr != qp->wr_tail || r->psn_max != r->psn_next || qp->umr_unfenced ||
	    r->in_flight >= SN_RC_WINDOW || ahead > SN_RC_WINDOW || qp->nic->fault.generation)
		return false;
	return ahead || !write || sn_fab_is_polled(qp->port->fabric->fab, &qp->rc->dest);
}

/* Bytes of a packet on the wire, and of its headers. */
static uint32_t head_len(const struct plain *p)
{
	return (uint32_t)(sizeof(struct sn_bth) + (p->write ? sizeof(struct sn_reth) : 0));
}

static uint32_t packet_len(const struct plain *p)
{
	return head_len(p) + ((p->len + 3) & ~3u) + SN_ICRC;
}

/* No ICRC: no script is set that flips bits. */
static void put_packet(struct sn_qp *qp, const struct plain *p, uint8_t *at)
{
	static const uint64_t none;
	uint8_t *to = sn_rc_put_bth(qp, at, p->write ? SN_BTH_WRITE_ONLY : SN_BTH_SEND_ONLY,
				    sn_rc_flags(p->solicited, p->len),
				    qp->rc->req.psn_next | SN_BTH_ACKREQ);

	/* Pad bytes and ICRC; the data may begin there. */
	memcpy(at + packet_len(p) - sizeof(none), &none, sizeof(none));
	if (p->write) {
		struct sn_reth reth = {p->to->va, p->to->rkey, to_be32(p->len)};

		memcpy(to, &reth, sizeof(reth));
		to += sizeof(reth);
	}
	sn_bytes(to, p->data, p->len);
}

static void note(struct sn_qp *qp, const struct plain *p)
{
	struct sn_rc_req *r = &qp->rc->req;
	struct sn_wr *wr = sn_wr_push(qp, qp->sq_next, p->write ? SN_OP_WRITE : SN_OP_SEND, p->ds, p->ce);

	wr->len = p->len;
	wr->psn = r->psn_next;
	wr->npsn = 1;
	r->psn_next = r->psn_max = sn_psn_add(r->psn_next, 1);
	r->in_flight++;
	r->wr++;
	qp->nic->ctr.wqes++;
	sn_rc_expect_answer(qp);
}

/* One packet, and the ACK that is owed behind it. False: there is no room, or no simple way. */
static bool send_packet(struct sn_qp *qp, const struct plain *p)
{
	struct sn_fab *fab = qp->port->fabric->fab;
	uint32_t len = packet_len(p), rider = sn_rc_rider(qp, !p->write);
	uint8_t *at = qp->port->link_down ? NULL
		: sn_fab_room(fab, &qp->rc->dest, len + (rider ? rider + SN_ICRC : 0));

	if (!at)
		return false;
	put_packet(qp, p, at);
	if (rider) {
		sn_rc_put_rider(qp, at + len);
		memset(at + len + rider, 0, SN_ICRC);
		rider += SN_ICRC;
	}
	sn_fab_commit_both(fab, &qp->rc->dest, len, rider);
	qp->nic->ctr.tx_packets += rider ? 2 : 1;
	return true;
}

bool sn_rc_plain_at(struct sn_qp *qp, const uint8_t *at)
{
	union block block;
	struct plain p;

	memcpy(&block, at, sizeof(block));
	/* What is judged is what is executed: the host may still write there. */
	__asm__ volatile("" ::: "memory");
	if (!ctrl_is_plain(qp, &block.ctrl, &p) || !waits_for_nothing(qp, p.write) ||
	    !data_is_plain(qp, &block, &p))
		return false;
	if (p.write && qp->rc->later)
		sn_rc_last_word(qp);
	if (!send_packet(qp, &p))
		return false;
	note(qp, &p);
	return true;
}

bool sn_rc_plain(struct sn_qp *qp)
{
	const uint8_t *at = qp->sq_stopped || sn_wr_count(qp) == qp->sq_size ? NULL
									     : sn_sq_block(qp, qp->sq_next);

	return at && sn_rc_plain_at(qp, at);
}
