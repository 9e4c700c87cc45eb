/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast path of requests: a WRITE or SEND of one block with contiguous data that fits one packet,
 * when nothing else is queued before it. Such a WQE is checked and sent in one step, from the queue into
 * the ring. All other WQEs, and invalid ones, are left to sn_rc_req_run, which also reports errors.
 */
#include <string.h>

#include "softnic/bytes.h"
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/rc.h"
#include "softnic/mlx5/wqe.h"

/* There are two instances, because most of the checks depend on the opcode. */
#define EITHER static inline __attribute__((always_inline))

struct plain {
	uint8_t ds, ce, solicited;
	const struct sn_raddr *to;	/* only in a WRITE */
	const uint8_t *data;
	uint32_t len;
};

/* Does the WQE have no fence and no reserved bit, and belong to this queue and index? */
EITHER bool ctrl_is_plain(const struct sn_qp *qp, const uint8_t *raw, bool write, struct plain *p)
{
	uint32_t word = (uint32_t)qp->sq_next << 8 | (write ? SN_OP_WRITE : SN_OP_SEND), flags;
	uint64_t expected = (uint64_t)word << 32 | qp->qpn << 8, ds;
	be64_t head;
	be32_t rest;

	memcpy(&head, raw, sizeof(head));
	memcpy(&rest, raw + sizeof(head), sizeof(rest));
	ds = from_be64(head) ^ expected;
	/* signature(8) dci_stream(16) fm_ce_se(8) */
	flags = from_be32(rest);
	p->ds = (uint8_t)ds;
	p->ce = (uint8_t)(flags >> 2);
	p->solicited = flags & 2;
	return ds <= SN_WQEBB / 16 && !(flags & ~0xeu);
}

static const uint8_t *by_key(struct sn_qp *qp, const struct sn_data *d, uint32_t len)
{
	struct sn_access a = {.key = from_be32(d->lkey), .pd = qp->pd, .qpn = qp->qpn, .rights = SN_LR,
			      .va = from_be64(d->va), .len = len};

	return sn_mkey_at(qp->nic, &a);
}

/* Is the only data segment at the end of the WQE? */
EITHER bool data_is_plain(struct sn_qp *qp, const uint8_t *raw, bool write, struct plain *p)
{
	unsigned int pos = write ? 32 : 16, end = p->ds * 16u;
	const struct sn_data *d = (const void *)(raw + pos);
	uint32_t count = from_be32(d->byte_count);

	p->to = (const void *)(raw + 16);
	p->len = count & ~SN_INLINE;
	if (p->len - 1 >= qp->mtu || (write && p->to->rsvd.be))
		return false;
	if (count & SN_INLINE) {
		p->data = raw + pos + 4;
		return pos + ((4 + p->len + 15) & ~15u) == end;
	}
	p->data = pos + 16 == end ? by_key(qp, d, p->len) : NULL;
	return p->data;
}

EITHER bool waits_for_nothing(const struct sn_qp *qp)
{
	const struct sn_rc_req *r = &qp->rc->req;
	uint32_t ahead = (r->psn_next - r->psn_una) & SN_PSN_MASK;

	return !r->loaded && r->wr == qp->wr_tail && r->psn_max == r->psn_next && !qp->umr_unfenced &&
	       r->in_flight < SN_RC_WINDOW && ahead <= SN_RC_WINDOW && !qp->nic->fault.generation;
}

EITHER uint32_t packet_len(const struct plain *p, bool write)
{
	return (uint32_t)(sizeof(struct sn_bth) + (write ? sizeof(struct sn_reth) : 0)) +
	       ((p->len + 3) & ~3u) + SN_ICRC;
}

/* The ICRC is zero: no fault script flips bits. */
EITHER void put_packet(struct sn_qp *qp, const struct plain *p, bool write, uint8_t *at)
{
	static const uint64_t none;
	uint8_t *to = sn_rc_put_bth(qp, at, write ? SN_BTH_WRITE_ONLY : SN_BTH_SEND_ONLY,
				    sn_rc_flags(p->solicited, p->len),
				    qp->rc->req.psn_next | SN_BTH_ACKREQ);

	/* The pad bytes and the ICRC are zeroed first, because the data may overlap that word. */
	memcpy(at + packet_len(p, write) - sizeof(none), &none, sizeof(none));
	if (write) {
		struct sn_reth reth = {p->to->va, p->to->rkey, to_be32(p->len)};

		memcpy(to, &reth, sizeof(reth));
		to += sizeof(reth);
	}
	sn_bytes(to, p->data, p->len);
}

EITHER void note(struct sn_qp *qp, const struct plain *p, bool write)
{
	struct sn_rc_req *r = &qp->rc->req;
	struct sn_wr *wr = sn_wr_push(qp, qp->sq_next, write ? SN_OP_WRITE : SN_OP_SEND, p->ds, p->ce);

	wr->len = p->len;
	wr->psn = r->psn_next;
	wr->npsn = 1;
	r->psn_next = r->psn_max = sn_psn_add(r->psn_next, 1);
	r->in_flight++;
	r->wr++;
	qp->nic->ctr.wqes++;
	sn_rc_expect_answer(qp);
}

/* Sends one packet, with the delayed ACK behind it. False: no room, or not contiguous in the ring. */
EITHER bool send_packet(struct sn_qp *qp, const struct plain *p, bool write)
{
	struct sn_fab *fab = qp->port->fabric->fab;
	uint32_t len = packet_len(p, write), piggyback = sn_rc_piggyback(qp, !write);
	uint8_t *at = qp->port->link_down ? NULL
		: sn_fab_room(fab, &qp->rc->dest, len + (piggyback ? piggyback + SN_ICRC : 0));

	if (!at)
		return false;
	put_packet(qp, p, write, at);
	if (piggyback) {
		sn_rc_put_piggyback(qp, at + len);
		memset(at + len + piggyback, 0, SN_ICRC);
		piggyback += SN_ICRC;
		qp->nic->ctr.tx_packets++;
	}
	sn_fab_commit_both(fab, &qp->rc->dest, len, piggyback);
	qp->nic->ctr.tx_packets++;
	return true;
}

EITHER bool send_plain(struct sn_qp *qp, const uint8_t *raw, bool write)
{
	struct plain p;

	if (!ctrl_is_plain(qp, raw, write, &p) || !waits_for_nothing(qp) ||
	    !data_is_plain(qp, raw, write, &p))
		return false;
	if (write && qp->rc->ack_delayed)
		sn_rc_flush_delayed_ack(qp);
	if (!send_packet(qp, &p, write))
		return false;
	note(qp, &p, write);
	return true;
}

bool sn_rc_plain_at(struct sn_qp *qp, const uint8_t *at)
{
	uint8_t raw[SN_WQEBB] __attribute__((aligned(16)));
	uint8_t opcode;

	memcpy(raw, at, sizeof(raw));
	sn_end_copy();
	opcode = raw[offsetof(struct sn_ctrl, opmod_idx_opcode) + 3];
	if (opcode == SN_OP_WRITE)
		return send_plain(qp, raw, true);
	return opcode == SN_OP_SEND && send_plain(qp, raw, false);
}

bool sn_rc_plain(struct sn_qp *qp)
{
	const uint8_t *at = qp->sq_stopped || sn_wr_count(qp) == qp->sq_size ? NULL
									     : sn_sq_block(qp, qp->sq_next);

	return at && sn_rc_plain_at(qp, at);
}
