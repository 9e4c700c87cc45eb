/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requester's sending half: WQEs become packets, in order, within the window. The sending position
 * is a wr in the FIFO and a packet number in its message. A retransmission only moves this position
 * back.
 */
#include <errno.h>

#include "softnic/mlx5/rc.h"

/* Gives a new message its PSNs: one for each packet, or for each packet of a READ's response. */
static void begin_message(struct sn_qp *qp, struct sn_wr *wr)
{
	struct sn_rc_req *r = &qp->rc->req;

	wr->len = qp->rc->scratch->send.len;
	wr->psn = r->psn_next;
	wr->npsn = sn_rc_packets(qp, wr->len);
	if (wr->opcode == SN_OP_ATOMIC_CS || wr->opcode == SN_OP_ATOMIC_FA)
		wr->npsn = 1;
	r->psn_next = sn_psn_add(wr->psn, wr->npsn);
	r->wr = qp->wr_tail - 1;
	r->pkt = 0;
	r->loaded = true;
}

/* Loads the message at the sending position, which is a repeated or a new one. False: there is nothing
 * to send. */
static bool load_message(struct sn_qp *qp)
{
	struct sn_rc_req *r = &qp->rc->req;
	struct sn_rc_scratch *scratch = qp->rc->scratch;
	struct sn_wr *wr;

	scratch->sender = qp;
	if ((int32_t)(r->wr - qp->wr_head) < 0)
		r->wr = qp->wr_head;
	for (; r->wr != qp->wr_tail; r->wr++) {
		wr = sn_rc_wr(qp, r->wr);
		if (!sn_rc_is_ours(wr))
			continue;
		r->pkt = 0;
		r->loaded = sn_sq_refetch(qp, wr, &scratch->send);
		if (!r->loaded)
			sn_rc_fail(qp, wr, SN_SYND_LOCAL_QP_OP, 0);
		return r->loaded;
	}
	if (sn_sq_next(qp, &scratch->send) != SN_SQ_WQE)
		return false;
	begin_message(qp, scratch->send.wr);
	return true;
}

/* The loaded message cannot be sent, so its WR fails. */
static void give_up(struct sn_qp *qp, struct sn_wr *wr, uint8_t syndrome)
{
	qp->rc->req.loaded = false;
	qp->rc->req.wr++;
	sn_rc_fail(qp, wr, syndrome, 0);
}

/*
 * Fetches the WQE of the loaded message again, if another QP has used the scratch space meanwhile.
 */
static bool refetch_message(struct sn_qp *qp)
{
	struct sn_rc_scratch *scratch = qp->rc->scratch;
	struct sn_wr *wr = sn_rc_wr(qp, qp->rc->req.wr);

	if (scratch->sender == qp)
		return true;
	scratch->sender = qp;
	if (sn_sq_refetch(qp, wr, &scratch->send))
		return true;
	give_up(qp, wr, SN_SYND_LOCAL_QP_OP);
	return false;
}

/* Must the loaded message still be sent? Skips the part that was acknowledged meanwhile. */
static bool still_wanted(struct sn_qp *qp)
{
	struct sn_rc_req *r = &qp->rc->req;
	struct sn_wr *wr;
	int32_t acked;

	if (!r->loaded || (int32_t)(r->wr - qp->wr_head) < 0)
		return r->loaded = false;
	wr = sn_rc_wr(qp, r->wr);
	if (!sn_rc_is_ours(wr) || r->pkt >= wr->npsn) {
		r->wr++;
		return r->loaded = false;
	}
	acked = sn_psn_diff(r->psn_una, wr->psn);
	if (acked > (int32_t)r->pkt)
		r->pkt = (uint32_t)acked;
	return true;
}

static unsigned int reads_ahead(const struct sn_qp *qp)
{
	unsigned int n = 0;
	uint32_t i;

	for (i = qp->wr_head; i != qp->rc->req.wr; i++)
		n += sn_rc_is_ours(sn_rc_wr(qp, i)) && sn_is_read(sn_rc_wr(qp, i)->opcode);
	return n;
}

static bool may_send(const struct sn_qp *qp)
{
	const struct sn_rc_req *r = &qp->rc->req;
	const struct sn_wr *wr = sn_rc_wr(qp, r->wr);

	if (r->in_flight >= r->window)
		return false;
	/* The next part of a long READ is requested when the last one has arrived. */
	if (wr->opcode == SN_OP_READ && r->pkt && r->psn_una != sn_psn_add(wr->psn, r->pkt))
		return false;
	/* Half of the PSN space is old, half is new. */
	if (((wr->psn + wr->npsn - r->psn_una) & SN_PSN_MASK) >= 1u << 23)
		return false;
	if (!sn_is_read(wr->opcode) || qp->wr_reads <= qp->max_rd_atomic)
		return true;
	return reads_ahead(qp) < qp->max_rd_atomic;
}

static void put_reth(struct sn_rc_out *out, uint64_t va, uint32_t rkey, uint32_t len)
{
	struct sn_reth reth = {to_be64(va), to_be32(rkey), to_be32(len)};

	sn_rc_put_ext(out, &reth, sizeof(reth));
}

/* The opcodes of each operation: for a middle, first, last and only packet. */
static const uint8_t opcodes[][4] = {
	[SN_OP_SEND] = {SN_BTH_SEND_MIDDLE, SN_BTH_SEND_FIRST, SN_BTH_SEND_LAST, SN_BTH_SEND_ONLY},
	[SN_OP_SEND_IMM] = {SN_BTH_SEND_MIDDLE, SN_BTH_SEND_FIRST, SN_BTH_SEND_LAST_IMM,
			    SN_BTH_SEND_ONLY_IMM},
	[SN_OP_SEND_INVAL] = {SN_BTH_SEND_MIDDLE, SN_BTH_SEND_FIRST, SN_BTH_SEND_LAST_INV,
			      SN_BTH_SEND_ONLY_INV},
	[SN_OP_WRITE] = {SN_BTH_WRITE_MIDDLE, SN_BTH_WRITE_FIRST, SN_BTH_WRITE_LAST, SN_BTH_WRITE_ONLY},
	[SN_OP_WRITE_IMM] = {SN_BTH_WRITE_MIDDLE, SN_BTH_WRITE_FIRST, SN_BTH_WRITE_LAST_IMM,
			     SN_BTH_WRITE_ONLY_IMM},
};

/* Must the peer acknowledge the part of the message that ends before packet number next? Over UDP also if
 * the window is full then: it opens only with an ACK. */
static bool wants_ack(const struct sn_qp *qp, uint32_t next)
{
	const struct sn_rc_req *r = &qp->rc->req;
	uint32_t every = sn_rc_is_far(qp) ? SN_RC_ACK_EVERY_UDP : SN_RC_ACK_EVERY;

	return next / every != r->pkt / every || (sn_rc_is_far(qp) && r->in_flight + 1 >= r->window);
}

/* Writes the headers of SEND or WRITE packets; out->len is the payload of this packet. */
static void data_headers(const struct sn_qp *qp, const struct sn_wr *wr, struct sn_rc_out *out)
{
	const struct sn_rc_req *r = &qp->rc->req;
	const struct sn_wqe *wqe = &qp->rc->scratch->send;
	uint32_t off = r->pkt * qp->mtu, next;
	bool last;
	unsigned int parts;

	out->train = sn_rc_train(qp, r->pkt, wr->npsn - r->pkt);
	next = r->pkt + out->train;
	last = next == wr->npsn;
	out->opcode = opcodes[wr->opcode][(last ? 2 : 0) + (r->pkt == 0)];
	out->len = last ? wr->len - off : out->train * qp->mtu;
	out->wqe = wqe;
	out->off = off;
	out->solicited = last && wqe->solicited;
	out->ackreq = last || wants_ack(qp, next);
	parts = sn_bth_shapes[out->opcode].parts;
	if (parts & SN_P_RETH)
		put_reth(out, wqe->raddr, wqe->rkey, wr->len);
	if (parts & (SN_P_IMM | SN_P_INV))
		sn_rc_put_ext(out, &wqe->imm, sizeof(wqe->imm));
}

/*
 * How many packets of its response a READ requests next. A long response from another host would overrun
 * the socket, so it is requested in parts. They end at fixed positions: if a part is requested again, the
 * responder has seen either all of it or nothing. Without progress one packet is requested: if a path loses
 * every n-th packet and n of them are left, it loses the first one of each answer.
 */
static uint32_t read_packets(const struct sn_qp *qp, const struct sn_wr *wr)
{
	uint32_t left = wr->npsn - qp->rc->req.pkt, part = SN_RC_READ_PART / qp->mtu;

	if (!sn_rc_is_far(qp))
		return left;
	if (sn_rc_no_progress(qp))
		return 1;
	if (part > SN_RC_READ_PACKETS)
		part = SN_RC_READ_PACKETS;
	part -= qp->rc->req.pkt % part;
	return part < left ? part : left;
}

/* A READ that lost the end of its response requests only the rest. */
static void read_headers(const struct sn_qp *qp, const struct sn_wr *wr, struct sn_rc_out *out)
{
	const struct sn_wqe *wqe = &qp->rc->scratch->send;
	uint32_t off = qp->rc->req.pkt * qp->mtu, n = read_packets(qp, wr);

	out->opcode = SN_BTH_READ_REQUEST;
	out->ackreq = true;
	put_reth(out, wqe->raddr + off, wqe->rkey,
		 qp->rc->req.pkt + n == wr->npsn ? wr->len - off : n * qp->mtu);
}

static void atomic_headers(const struct sn_qp *qp, const struct sn_wr *wr, struct sn_rc_out *out)
{
	const struct sn_wqe *wqe = &qp->rc->scratch->send;
	struct sn_atomiceth eth = {to_be64(wqe->raddr), to_be32(wqe->rkey),
				   to_be64(wqe->swap_add), to_be64(wqe->compare)};

	out->opcode = wr->opcode == SN_OP_ATOMIC_CS ? SN_BTH_COMPARE_SWAP : SN_BTH_FETCH_ADD;
	out->ackreq = true;
	sn_rc_put_ext(out, &eth, sizeof(eth));
}

static void sent(struct sn_qp *qp, const struct sn_wr *wr, const struct sn_rc_out *out)
{
	struct sn_rc_req *r = &qp->rc->req;
	uint32_t packets = sn_is_read(wr->opcode) ? read_packets(qp, wr) : out->train;
	uint32_t next = sn_psn_add(out->psn, packets);

	if (sn_psn_diff(out->psn, r->psn_max) < 0)
		qp->nic->ctr.retransmits++;
	if (sn_psn_diff(next, r->psn_max) > 0)
		r->psn_max = next;
	/* From another host the packets of a response may be lost, so they count. */
	r->in_flight += sn_rc_is_far(qp) ? packets : out->train ? out->train : 1;
	sn_rc_window_grow(qp, packets);
	r->pkt += packets;
	if (r->pkt == wr->npsn) {
		r->loaded = false;
		r->wr++;
	}
	sn_rc_expect_answer(qp);
}

static bool is_send(uint8_t opcode)
{
	return opcode == SN_OP_SEND || opcode == SN_OP_SEND_IMM || opcode == SN_OP_SEND_INVAL;
}

/* Sends some packets. False: there is nothing more to send for now. */
static bool send_some(struct sn_qp *qp)
{
	struct sn_rc_req *r = &qp->rc->req;
	struct sn_wr *wr = sn_rc_wr(qp, r->wr);
	struct sn_rc_out out = {.psn = sn_psn_add(wr->psn, r->pkt)};
	int err;

	if (wr->opcode == SN_OP_READ)
		read_headers(qp, wr, &out);
	else if (sn_is_read(wr->opcode))
		atomic_headers(qp, wr, &out);
	else
		data_headers(qp, wr, &out);
	/*
	 * A request that may break the connection is sent after the delayed ACK. Otherwise the break
	 * would flush the peer's own requests, although they have arrived.
	 */
	if (qp->rc->ack_delayed && !is_send(wr->opcode))
		sn_rc_flush_delayed_ack(qp);
	err = sn_rc_send(qp, &out);
	if (!err) {
		sent(qp, wr, &out);
		return true;
	}
	if (out.refused) {
		give_up(qp, wr, SN_SYND_LOCAL_PROT);
	} else if (err != -EAGAIN) {
		r->unreachable = true;
		sn_rc_retry_soon(qp);
	}
	return false;
}

static bool run_plain(struct sn_qp *qp)
{
	return qp->sq_next != qp->sq_pi && sn_rc_plain(qp);
}

bool sn_rc_req_run(struct sn_qp *qp)
{
	struct sn_rc_req *r = &qp->rc->req;
	int burst;

	for (burst = 0; burst < SN_RC_BURST && !sn_is_spent(qp->nic); burst++) {
		qp->nic->work += SN_WORK_WQE;
		if (qp->state != SN_QP_RTS || r->rnr_wait || r->unreachable ||
		    qp->rc->waiter.blocked)
			return false;
		if (run_plain(qp)) {
			if (sn_rc_all_is_sent(qp))
				return false;
			continue;
		}
		if (!still_wanted(qp) && !load_message(qp))
			return false;
		/* A part of the reloaded message may be acknowledged already. */
		if (!still_wanted(qp))
			continue;
		if (!may_send(qp) || !refetch_message(qp) || !send_some(qp) || sn_rc_all_is_sent(qp))
			return false;
	}
	return true;
}
