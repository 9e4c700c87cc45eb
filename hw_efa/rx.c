/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Puts packets in order and delivers them to the posted receives.
 *
 * Packets arrive in any order and consume the RQ in that order. So the RQ has the driver's own
 * buffers, and data is copied to the consumer's receive. A place in the window is free again when
 * its packet has been delivered and a new buffer is posted for it. A packet that waits for the
 * consumer's receive keeps its place, so the sender runs out of credit.
 */
#include <string.h>

#include "hw_efa/hot/poll.inl"

/* ---- Receives of the consumer ---- */

static void deliver_recvs(struct dap_ep *ep)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;
	bool silent;

	while (rx->done != rx->match) {
		const struct efa_recv *r = &rx->recv[rx->done & rx->recv_mask];

		if (r->state != EFA_R_DONE)
			break;
		rx->done++;
		if (r->status || rx->failed)
			rx->failures++;
		else
			rx->received += r->got;
		silent = rx->solicited_only && !r->solicited;
		efa_emit(ep->recv_evd, (struct efa_done){
			.ep = ep, .cookie = r->cookie, .op = DAP_OP_RECEIVE, .status = r->status,
			.bytes = r->got, .receive = true },
			r->flags | (silent ? DAP_COMP_UNSIGNALLED : 0u), &rx->failed);
	}
	rx->pulls = rx->done != rx->match;
}

/* Completes the receive, which gets no further packet. */
static void complete_receive(struct dap_ep *ep, struct efa_recv *r, enum dap_dto_status status)
{
	r->status = (uint8_t)status;
	r->state = EFA_R_DONE;
	efa_ep(ep)->rx.match++;
	deliver_recvs(ep);
}

void efa_flush_recvs(struct dap_ep *ep)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;

	for (uint32_t i = rx->done; i != rx->posted; i++) {
		struct efa_recv *r = &rx->recv[i & rx->recv_mask];

		if (r->state != EFA_R_DONE && !r->status)
			r->status = DAP_DTO_FLUSHED;
		r->state = EFA_R_DONE;
	}
	rx->match = rx->pull = rx->posted;
	deliver_recvs(ep);
}

/* Copies to the segments, from offset at on. False: an LMR does not allow it. */
static bool scatter_data(struct dap_ep *ep, const struct efa_iov *seg, uint32_t at,
			 const uint8_t *from, uint32_t len)
{
	while (len) {
		const struct efa_iov to = efa_seg_rest(seg, at);
		const uint32_t n = efa_min(to.len, len);

		if (!efa_writable(ep, &to))
			return false;
		efa_copy(to.addr, from, n);
		from += n;
		at += n;
		len -= n;
	}
	return true;
}

static EFA_COLD void refuse_message(struct dap_ep *ep, struct efa_recv *r, uint32_t len)
{
	if (len > r->room) {
		efa_break(ep, "a message of %u bytes for a receive of %u bytes", len, r->room);
		complete_receive(ep, r, DAP_DTO_LOCAL_LENGTH);
		return;
	}
	efa_break(ep, "the memory of a receive is in no LMR of its PZ with local write access");
	complete_receive(ep, r, DAP_DTO_LOCAL_PROTECTION);
}

#define UNFINISHED "protocol error: the peer started a message before its previous one was complete"

static void receive_data(struct dap_ep *ep, unsigned int kind, const uint8_t *p, uint32_t len,
			 bool se)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;
	struct efa_recv *r = &rx->recv[rx->match & rx->recv_mask];

	if (kind != EFA_K_NEXT) {
		if (rx->part_total)
			return efa_break(ep, UNFINISHED);
		rx->part = 0;
		rx->part_total = len;
	}
	if (kind == EFA_K_FIRST) {
		if (len < sizeof(struct efa_first))
			return efa_break(ep, "protocol error: the first fragment of a message has %u bytes",
					 len);
		rx->part_total = le32_to_cpu(((const struct efa_first *)(const void *)p)->total);
		p += sizeof(struct efa_first);
		len -= (uint32_t)sizeof(struct efa_first);
	}
	if (len > rx->part_total - rx->part || (!rx->part_total && kind != EFA_K_MSG))
		return efa_break(ep, "protocol error: the peer sends a fragment of no message, or more "
				 "bytes than it announced");
	if (rx->part_total > r->room || !scatter_data(ep, r->seg, rx->part, p, len)) {
		refuse_message(ep, r, rx->part_total);
		return;
	}
	rx->part += len;
	if (rx->part < rx->part_total)
		return;
	r->got = rx->part_total;
	r->solicited = se;
	rx->part_total = 0;
	complete_receive(ep, r, DAP_DTO_SUCCESS);
}

/* Offers a long message to the next receive. efa_pull_all issues its reads. */
static EFA_COLD void receive_rts(struct dap_ep *ep, const uint8_t *p, uint32_t len, bool se)
{
	const struct efa_ctrl_msg *m = (const void *)p;
	struct efa_rx *rx = &efa_ep(ep)->rx;
	struct efa_recv *r = &rx->recv[rx->match & rx->recv_mask];
	uint32_t total = le32_to_cpu(m->total_lo);
	unsigned int n = le16_to_cpu(m->nseg);
	uint64_t sum = 0;

	if (rx->part_total)
		return efa_break(ep, UNFINISHED);
	if (!n || n > EFA_MAX_IOV || len < sizeof(*m) + n * sizeof(m->seg[0]) || !total)
		return efa_break(ep, "protocol error: the peer offers a message of %u pieces", n);
	for (unsigned int i = 0; i < n; i++) {
		r->from[i] = efa_iov_of(&m->seg[i]);
		sum += r->from[i].len;
	}
	if (sum != total)
		return efa_break(ep, "protocol error: the peer offers %u bytes in pieces of %llu",
				 total, (unsigned long long)sum);
	if (total > r->room || !efa_all_allowed(ep, true, r->seg, total)) {
		refuse_message(ep, r, total);
		return;
	}
	r->got = total;
	r->solicited = se;
	r->fin = le32_to_cpu(m->id);
	r->at = 0;
	r->left = 0;
	r->state = EFA_R_PULLS;
	if (!rx->pulls)			/* no earlier message waits to be read */
		rx->pull = rx->match;
	rx->match++;
	rx->pulls = true;
	efa_defer(ep);
}

void efa_pull_done(struct dap_ep *ep, uint32_t index, uint8_t status)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;
	struct efa_recv *r = &rx->recv[index & rx->recv_mask];

	r->left--;
	if (!r->status)
		r->status = status;
	if (r->left || r->state != EFA_R_PULLS || (r->at < r->got && !r->status))
		return;
	r->state = EFA_R_DONE;
	if (!r->status && efa_ep(ep)->tx.blocked & EFA_B_OVER)
		r->status = DAP_DTO_FLUSHED;	/* no answer leaves any more, so the sender's is flushed */
	if (!r->status)
		efa_answer(ep, r->fin, DAP_DTO_SUCCESS);
	deliver_recvs(ep);
}

/* ---- Order of packets ---- */

/* Gives the buffer of the packet back. */
static void refill_packet(struct efa_rx *rx, const struct efa_cqe *cqe)
{
	const uint32_t id = le16_to_cpu(cqe->req_id);

	efa_refill(rx, id, efa_buf_at(rx, id));
}

/*
 * Delivers the packet. False: the packet stays in its place, because it needs a receive and none is
 * posted, or because it belongs to a write that is refused. No packet behind a refused write is
 * delivered.
 */
static bool consume_packet(struct dap_ep *ep, const struct efa_cqe *cqe)
{
	const struct efa_ep_cold *m = efa_ep(ep)->cold;
	struct efa_rx *rx = &efa_ep(ep)->rx;
	const uint32_t imm = le32_to_cpu(cqe->imm), bytes = le16_to_cpu(cqe->length);
	const uint32_t kind = imm >> 29;
	const uint8_t *p = efa_buf_at(rx, le16_to_cpu(cqe->req_id));
	bool se = imm & EFA_IMM_SE;
	bool rts = kind == EFA_K_CTRL && bytes >= sizeof(struct efa_ctrl_msg) && *p == EFA_C_RTS;

	if (m->refuses || (rx->match == rx->posted && (kind <= EFA_K_NEXT || rts)))
		return false;
	if (kind <= EFA_K_NEXT)
		receive_data(ep, kind, p, bytes, se);
	else if (rts)
		receive_rts(ep, p, bytes, se);
	else if (kind == EFA_K_CTRL)
		efa_ctrl_packet(ep, p, bytes);
	if (m->refuses)
		return false;
	refill_packet(rx, cqe);
	rx->next++;
	return true;
}

/*
 * Delivers the plain messages that are next in sequence; returns the place of the packet after
 * them.
 */
static struct efa_cqe *plain_prefix(struct dap_ep *ep)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;
	struct efa_cqe *at = &rx->place[rx->next & rx->place_mask];
	struct efa_poller into_rings = { 0 };

	if (efa_unlikely(efa_ep(ep)->tx.blocked | rx->unusual))
		return at;
	while (le32_to_cpu(at->imm) <= EFA_PLAIN_IMM && efa_plain_message(&into_rings, ep, at)) {
		efa_place_clear(at);
		at = &rx->place[rx->next & rx->place_mask];
	}
	return at;
}

void efa_rx_prefix(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_cqe *at;

	while (!efa_place_is_empty(at = plain_prefix(ep)) && !(e->tx.blocked & EFA_B_HALT)) {
		e->rx.stalled = !consume_packet(ep, at);
		if (e->rx.stalled)
			break;
		efa_place_clear(at);
	}
	efa_give_back(ep);
	/* A long message or an answer waits: no completion may come that would continue it. */
	if (e->tx.blocked & EFA_B_QUEUE)
		efa_push(ep);
}

void efa_rx_resume(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);

	if (e->tx.blocked & EFA_B_ERROR) {
		efa_flush_recvs(ep);
		return;
	}
	if (e->cold->destroyed)		/* the receive queue is unmapped; efa_qp_error flushes the receive */
		return;
	e->rx.stalled = false;
	efa_rx_prefix(ep);
}

/*
 * A CQE may lack the number of an existing address handle, mostly soon after its creation but also
 * later. Then the GID identifies the peer. If the CQE has no GID either (a write has its length
 * there), the QP number does, together with our random qkey, which the device has checked.
 */
static EFA_COLD bool is_unnamed_peer(struct dap_ep *ep, const struct efa_cqe *cqe)
{
	if (le16_to_cpu(cqe->ah) != EFA_NO_AH || le16_to_cpu(cqe->src_qp) != efa_ep(ep)->remote_qpn)
		return false;
	return efa_cqe_op(cqe) == EFA_OP_RDMA_WRITE || !efa_ia(ep->obj.ia)->dev.cq_with_sgid ||
	       !memcmp(cqe->sgid, ep->remote_path.gid, sizeof(cqe->sgid));
}

static EFA_COLD void drop_packet(struct dap_ep *ep, const struct efa_cqe *cqe)
{
	struct efa_ep *e = efa_ep(ep);
	char text[EFA_CQE_TEXT];

	if (!(e->tx.blocked & EFA_B_STOP) && !e->cold->dropped++)
		dap_log(DAP_LOG_WARN, "endpoint %p of %s: dropped a packet that is not from its peer: %s",
			(void *)ep, ep->obj.ia->name, efa_decode_cqe(cqe, text, sizeof(text)));
	refill_packet(&e->rx, cqe);
	efa_give_back(ep);
}

static EFA_COLD void store_out_of_order(struct dap_ep *ep, const struct efa_cqe *cqe)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;
	const uint16_t seq = (uint16_t)(le32_to_cpu(cqe->imm) >> 12);

	if (efa_window_store(rx, cqe, seq))
		return;
	efa_break(ep, "protocol error: the peer sends sequence number %u, but %u to %u are awaited%s",
		  seq, rx->next & 0xffff, (rx->next + rx->window - 1) & 0xffff,
		  (uint16_t)(seq - rx->next) < rx->window ? ", a second time" : "");
}

static EFA_COLD void receive_unsequenced(struct dap_ep *ep, const struct efa_cqe *cqe)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;

	efa_ctrl_packet(ep, efa_buf_at(rx, le16_to_cpu(cqe->req_id)), le16_to_cpu(cqe->length));
	refill_packet(rx, cqe);
	efa_give_back(ep);
}

void efa_rx_packet(struct dap_ep *ep, const struct efa_cqe *cqe)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_rx *rx = &e->rx;
	const uint32_t imm = le32_to_cpu(cqe->imm), kind = imm >> 29;
	bool write = kind == EFA_K_WRITE, next = (uint16_t)(imm >> 12) == (uint16_t)rx->next;

	/* While a failure is on its way to the consumer, the peer may answer earlier requests. */
	if ((efa_cqe_from(cqe) != e->from && !is_unnamed_peer(ep, cqe)) ||
	    !(cqe->flags & EFA_CQE_HAS_IMM) || e->tx.blocked & (EFA_B_DOWN | EFA_B_ERROR) ||
	    (e->tx.blocked & EFA_B_HALT && kind != EFA_K_UNSEQ)) {
		drop_packet(ep, cqe);
		return;
	}
	efa_receive_ack(e, imm);
	/* An RDMA write takes a buffer without writing to it, so its immediate may be of no other kind. */
	if (kind >= EFA_KINDS || write != (efa_cqe_op(cqe) == EFA_OP_RDMA_WRITE)) {
		efa_break(ep, "protocol error: the peer sends a packet of no known kind");
		return;
	}
	if (kind == EFA_K_UNSEQ) {
		receive_unsequenced(ep, cqe);
		return;
	}
	if (!next || rx->stalled || !consume_packet(ep, cqe)) {
		store_out_of_order(ep, cqe);
		rx->stalled |= next;
		return;
	}
	efa_rx_prefix(ep);
}
