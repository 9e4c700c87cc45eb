/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Requests that the fast path does not post: those that wait for a credit, for a slot of the send
 * queue or for earlier requests, and those of more than one packet. They are issued in order.
 *
 * SRD orders nothing. Sends and writes share one sequence, so the peer delivers a message after the
 * writes before it. The other rules of order are kept here by waiting. A write or read waits for
 * outstanding writes to the same bytes, and a fenced request for all requests before it. With
 * write_order=kept, a packet of a write waits for the packets of all writes before it.
 *
 * A peer that does not poll gives no credits, but its memory must be written nevertheless. So a
 * write without credit goes out without a sequence number, and sends wait until such writes have
 * completed. So does a long write (efa_is_numbered).
 */
#include <string.h>

#include "core/probe.h"
#include "hw_efa/place.h"
#include "hw_efa/sq.h"

/* Returns true if a packet in sequence may go out. */
static bool may_send(const struct efa_ep *e)
{
	return e->tx.seq != e->tx.limit && efa_sq_has(&e->sq, false);
}

/* Returns the piece of a list that begins at offset at, and has at most `most` bytes. */
static struct efa_iov piece_at(const struct efa_iov *seg, uint32_t at, uint32_t most)
{
	struct efa_iov s = efa_seg_rest(seg, at);

	return (struct efa_iov){ s.addr, efa_min(s.len, most), efa_lkey(s.key) };
}

static void post_packet(struct dap_ep *ep, struct efa_wr *wr, struct efa_dto *d)
{
	wr->kind = EFA_S_DTO;
	wr->of = efa_next(&efa_ep(ep)->tx);
	d->left++;
	if (wr->op == EFA_OP_SEND)
		efa_wr_post(ep, wr);
	else
		efa_rdma_post(ep, wr);
}

/* Adds as many bytes as the packet has room for, in at most two segments; returns their number. */
static uint32_t add_pieces(struct efa_wr *wr, const struct efa_work *w, uint32_t total,
			   uint32_t room)
{
	uint32_t n = 0;

	while (wr->nseg < 2 && n < room && w->at + n < total) {
		struct efa_iov p = piece_at(w->seg, w->at + n, room - n);

		wr->seg[wr->nseg++] = p;
		n += p.len;
	}
	return n;
}

/*
 * A message that fits one packet is whole. Others are fragments, the first of which has the length.
 */
static bool send_packets(struct dap_ep *ep, struct efa_dto *d, struct efa_work *w)
{
	struct efa_ep *e = efa_ep(ep);
	const bool whole = d->bytes <= e->tx.mtu && w->nseg <= 2;

	do {
		struct efa_wr wr = { .op = EFA_OP_SEND, .has_imm = true };
		enum efa_kind kind = whole ? EFA_K_MSG : w->at ? EFA_K_NEXT : EFA_K_FIRST;

		if (!may_send(e))
			return false;
		if (kind == EFA_K_FIRST) {
			struct efa_first *f = efa_wr_stage(ep, &wr, sizeof(*f));

			f->total = cpu_to_le32(d->bytes);
		}
		wr.inl = !d->bytes;	/* AWS's drivers send an empty message inline, without a
					 * segment */
		w->at += add_pieces(&wr, w, d->bytes, e->tx.mtu - wr.seg[0].len);
		wr.imm = efa_next_imm(e, kind, d->flags & DAP_COMP_SOLICITED);
		post_packet(ep, &wr, d);
	} while (w->at < d->bytes);
	return true;
}

/*
 * Offers the message to the peer, which reads it by the keys of the LMRs. False: the consumer did
 * not give all of them remote read access. The driver adds no right, because a key of an EFA is
 * valid for each QP of the PD and for the whole registration.
 */
static bool stage_rts(struct dap_ep *ep, const struct efa_dto *d, const struct efa_work *w,
		      struct efa_wr *wr)
{
	struct efa_ctrl_msg *m;

	m = efa_wr_stage(ep, wr, (uint32_t)(sizeof(*m) + w->nseg * sizeof(m->seg[0])));
	m->op = EFA_C_RTS;
	m->nseg = cpu_to_le16((uint16_t)w->nseg);
	m->id = cpu_to_le32(efa_next(&efa_ep(ep)->tx));
	m->total_lo = cpu_to_le32(d->bytes);
	for (unsigned int i = 0; i < w->nseg; i++) {
		const struct efa_iov *s = &w->seg[i];
		struct dap_lmr *lmr = dap_lmr_find(ep->obj.ia, s->key);

		if (!lmr || !(lmr->priv & DAP_PRIV_REMOTE_READ))
			return false;
		m->seg[i] = efa_seg_of(s->addr, s->len, efa_lmr(lmr)->mr.rkey);
	}
	return true;
}

static bool issue_send(struct dap_ep *ep, struct efa_dto *d, struct efa_work *w)
{
	struct efa_wr wr = { .op = EFA_OP_SEND, .has_imm = true };
	struct efa_ep *e = efa_ep(ep);
	struct efa_tx *tx = &e->tx;

	if (tx->plain || !may_send(e))
		return false;
	if (d->bytes <= efa_ia(ep->obj.ia)->params.rendezvous || d->bytes <= tx->mtu || w->at ||
	    !stage_rts(ep, d, w, &wr))
		return send_packets(ep, d, w);
	if (tx->pulls_asked == EFA_ASKS)
		return false;
	d->state |= EFA_D_WAITS;
	tx->pulls_asked++;
	wr.imm = efa_next_imm(e, EFA_K_CTRL, d->flags & DAP_COMP_SOLICITED);
	post_packet(ep, &wr, d);
	return true;
}

/*
 * The write may go out: no outstanding write touches its bytes, and with write_order=kept no write
 * is outstanding. It counts as outstanding from now on.
 */
static bool place_write(struct efa_tx *tx, struct efa_dto *d)
{
	if (d->state & EFA_D_PLACED)
		return true;
	if ((tx->keeps && efa_overlaps(tx, 0, UINT64_MAX, efa_next(tx))) ||
	    !efa_placed(tx, EFA_WRITE, d->remote, d->bytes, efa_next(tx)))
		return false;
	d->state |= EFA_D_PLACED;
	return true;
}

void efa_write_plain(struct efa_tx *tx, struct efa_dto *d)
{
	tx->plain += !(d->state & EFA_D_PLAIN);
	tx->blocked |= EFA_B_PLAIN;
	d->state |= EFA_D_PLAIN;
}

static bool issue_rdma(struct dap_ep *ep, struct efa_dto *d, struct efa_work *w)
{
	struct efa_ep *e = efa_ep(ep);
	bool write = d->op == EFA_WRITE, alone = write && e->tx.keeps;
	uint32_t most = efa_ia(ep->obj.ia)->dev.max_rdma_size;

	if (alone && e->tx.mtu < most)
		most = e->tx.mtu;
	if (write ? !place_write(&e->tx, d) :
	    !w->at && !efa_placed(&e->tx, EFA_READ, d->remote, d->bytes, efa_next(&e->tx)))
		return false;
	while (w->at < d->bytes) {
		struct efa_wr wr = { .op = write ? EFA_OP_RDMA_WRITE : EFA_OP_RDMA_READ,
				     .nseg = 1 };

		if ((alone && d->left) || !efa_rdma_may(e) || !efa_sq_has(&e->sq, false))
			return false;
		wr.has_imm = write && e->tx.seq != e->tx.limit && efa_is_numbered(&e->tx, d);
		wr.seg[1] = piece_at(w->seg, w->at, efa_min(most, d->bytes - w->at));
		wr.seg[0] = (struct efa_iov){ d->remote + w->at, wr.seg[1].len, w->rkey };
		w->at += wr.seg[1].len;
		if (wr.has_imm)
			wr.imm = efa_next_imm(e, EFA_K_WRITE, false);
		else if (write)
			efa_write_plain(&e->tx, d);
		post_packet(ep, &wr, d);
	}
	return true;
}

/* Sends an emulated write: a control message with the data, which the peer copies. */
static bool soft_write(struct dap_ep *ep, struct efa_dto *d, struct efa_work *w)
{
	const uint32_t head = sizeof(struct efa_ctrl_msg) + sizeof(struct efa_seg);
	struct efa_ep *e = efa_ep(ep);

	if (!place_write(&e->tx, d) || (!w->at && e->tx.asks == EFA_ASKS))
		return false;
	while (w->at < d->bytes) {
		struct efa_wr wr = { .op = EFA_OP_SEND, .has_imm = true };
		struct efa_ctrl_msg *m;
		uint32_t n;

		if (!may_send(e))
			return false;
		if (!w->at)
			e->tx.asks++;
		m = efa_wr_stage(ep, &wr, head);
		n = add_pieces(&wr, w, d->bytes, e->tx.mtu - head);
		m->op = EFA_C_RW;
		m->nseg = cpu_to_le16(1);
		m->id = cpu_to_le32(efa_next(&e->tx));
		m->seg[0] = efa_seg_of(d->remote + w->at, n, w->rkey);
		w->at += n;
		if (w->at == d->bytes) {
			m->flags = EFA_CTRL_LAST;
			d->state |= EFA_D_WAITS;
		}
		wr.imm = efa_next_imm(e, EFA_K_CTRL, false);
		post_packet(ep, &wr, d);
	}
	return true;
}

static bool issue_request(struct dap_ep *ep, struct efa_dto *d, struct efa_work *w)
{
	const struct efa_tx *tx = &efa_ep(ep)->tx;

	if (d->flags & DAP_COMP_BARRIER && tx->done != efa_next(tx))
		return false;
	/* The consumer's segments are checked before the first byte is sent or received. */
	if (!w->at && !efa_all_allowed(ep, d->op == EFA_READ, w->seg, d->bytes)) {
		d->status = DAP_DTO_LOCAL_PROTECTION;
		efa_break(ep, "a segment of a request is in no LMR of the endpoint's PZ with the "
			  "right that the request needs");
		return true;
	}
	if (d->op == EFA_SEND)
		return issue_send(ep, d, w);
	if (d->op == EFA_BIND || !d->bytes)
		return true;
	if (d->op == EFA_READ && tx->peer_no_reads) {
		d->status = DAP_DTO_REMOTE_RESPONDER;
		efa_break(ep, "the peer accepts no RDMA reads (its max_rdma_read_in is 0)");
		return true;
	}
	if (d->op == EFA_WRITE && tx->emulates)
		return soft_write(ep, d, w);
	return issue_rdma(ep, d, w);
}

static void issue_all(struct dap_ep *ep)
{
	struct efa_tx *tx = &efa_ep(ep)->tx;

	while (!(tx->blocked & (EFA_B_DOWN | EFA_B_STOP)) && tx->waiting) {
		uint32_t index = efa_next(tx);
		struct efa_dto *d = &tx->dto[index & tx->mask];

		if (!issue_request(ep, d, &tx->work[index & tx->mask]))
			break;
		d->state |= EFA_D_ISSUED;
		tx->waiting--;
		efa_dto_progress(ep, index);
	}
}

void efa_push(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);

	if (e->tx.blocked & EFA_B_OVER)
		return;
	efa_pull_all(ep);
	efa_answer_all(ep);
	if (e->cold->holds)
		efa_give_ack(ep);
	efa_credit(ep);
	issue_all(ep);
	efa_wr_ring(ep);
	if (e->tx.waiting || e->cold->answers != e->cold->answered || e->cold->holds ||
	    e->rx.pull != e->rx.match)
		efa_defer(ep);
	else
		e->tx.blocked &= ~(uint32_t)EFA_B_QUEUE;
}

/*
 * The fast path posts requests of one WQE, and RDMA only after the first one of the connection has
 * succeeded.
 */
void efa_set_most(struct dap_ep *ep)
{
	const struct efa_caps *dev = &efa_ia(ep->obj.ia)->dev;
	struct efa_ep *e = efa_ep(ep);
	struct efa_tx *tx = &e->tx;
	uint32_t rdma = e->cold->rdma == EFA_RDMA_WORKS ? efa_min(tx->max_rdma, dev->max_rdma_size) : 0;

	tx->most[EFA_SEND] = efa_min(tx->mtu, tx->max_msg);
	tx->most[EFA_WRITE] = tx->emulates || tx->keeps ? 0 : efa_min(rdma, EFA_MOST_NUMBERED);
	tx->most[EFA_READ] = tx->no_reads || tx->peer_no_reads ? 0 : rdma;
}

int efa_request(const struct efa_request *r)
{
	struct efa_tx *tx = &efa_ep(r->ep)->tx;
	uint32_t i = tx->posted & tx->mask;

	if (tx->posted == efa_ep(r->ep)->free_at[EFA_REQUESTS])
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	if (r->dto.op == EFA_BIND)
		DAP_PROBE4(bind, r->work.rmr, r->ep, r->dto.cookie, dap_rmr_is_bound(r->work.rmr));
	else
		DAP_PROBE4(post, r->ep, efa_op_dto(r->dto.op), r->dto.cookie, r->dto.bytes);
	tx->dto[i] = r->dto;
	memcpy(&tx->work[i], &r->work,
	       offsetof(struct efa_work, seg) + r->work.nseg * sizeof(r->work.seg[0]));
	tx->posted++;
	tx->waiting++;
	if (r->dto.op != EFA_BIND)
		efa_tally(&tx->posts[r->dto.op], r->dto.bytes);
	/*
	 * If the connection ended after the bind was carried out, the bind succeeds unless an earlier
	 * request failed.
	 */
	if (r->bound && tx->blocked & EFA_B_STOP) {
		tx->dto[i].state = EFA_D_ISSUED | EFA_D_DONE;
		efa_deliver_requests(r->ep);
	}
	/* If earlier requests wait, the event that continues them continues this one as well. */
	if (tx->blocked & EFA_B_ERROR)
		efa_flush_requests(r->ep);
	else if (tx->waiting == 1)
		efa_push(r->ep);
	return 0;
}
