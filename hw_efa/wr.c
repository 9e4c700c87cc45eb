/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* WQEs off the fast path: built in memory, copied whole, a doorbell for several of them. */
#include <string.h>

#include "hw_efa/calls.h"
#include "hw_efa/seq.h"

typedef uint64_t v2 __attribute__((vector_size(16), may_alias, aligned(16)));

#define SPARE 8u			/* WQEs kept for credits and answers */

static void walk(struct efa_sq *sq)
{
	while (sq->ci != sq->pi && sq->slots[sq->ci & sq->mask].done)
		sq->ci++;
}

/* Where all that is under way was posted hot, each request is one WQE, in their order. */
static void retire(struct efa_ep *e)
{
	uint32_t under_way = efa_next(&e->tx) - e->tx.done;
	struct efa_sq *sq = &e->sq;

	if (sq->others || under_way > sq->pi - sq->hot_from)
		walk(sq);
	else if (under_way < sq->pi - sq->ci)
		sq->ci = sq->pi - under_way;
}

uint32_t efa_sq_room(struct efa_ep *e)
{
	retire(e);
	return e->sq.pi - e->sq.ci < e->sq.room ? e->sq.room - (e->sq.pi - e->sq.ci) : 0;
}

bool efa_sq_idle(struct efa_ep *e)
{
	walk(&e->sq);
	return e->sq.ci == e->sq.pi;
}

bool efa_sq_has(struct efa_ep *e, uint32_t n, bool reserve)
{
	uint32_t most = e->sq.room + (reserve ? SPARE : 0);

	if (e->sq.pi - e->sq.ci + n > most)
		retire(e);
	return e->sq.pi - e->sq.ci + n <= most;
}

/*
 * A delayed packet carries an old ack, which would pass for a new one a round of them later. So
 * none is given that is far ahead of it. The oldest is known by marks: once all WQEs before the
 * last mark have completed, none under way is older than what was acknowledged there.
 */
void efa_bound_safe(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_more *m = e->more;
	struct efa_rx *rx = &e->rx;
	uint32_t ahead;
	bool passed;

	retire(e);
	passed = (int32_t)(e->sq.ci - m->mark_pi) >= 0;
	if (passed)
		m->oldest_ack = e->sq.ci == e->sq.pi ? rx->next : m->mark_ack;
	ahead = rx->next - m->oldest_ack;
	m->holds = ahead > EFA_MAX_AHEAD;
	if (m->holds) {
		rx->safe = m->oldest_ack + EFA_MAX_AHEAD;
		efa_lag(ep);
	}
	if (passed) {
		m->mark_ack = rx->safe;
		m->mark_pi = e->sq.pi;
	}
	if (m->holds)
		rx->look_at = rx->next;
	else if (ahead + EFA_LOOK_EACH > EFA_MAX_AHEAD)
		rx->look_at = m->oldest_ack + EFA_MAX_AHEAD + 1;
	else
		rx->look_at = rx->next + EFA_LOOK_EACH;
}

uint32_t efa_unseq_imm(struct efa_ep *e)
{
	e->rx.told = e->rx.safe;	/* it takes no number */
	return efa_imm(EFA_K_UNSEQ, false, 0, e->rx.safe);
}

uint32_t efa_next_imm(struct efa_ep *e, enum efa_kind kind, bool se)
{
	return efa_imm(kind, se, e->tx.seq++, e->rx.safe);
}

void efa_kick_driven(struct efa_engine *eng, struct efa_ep *e)
{
	e->sq.kicked = e->sq.pi;
	eng->ctl->ops->kick(eng->ctl, e->sq.handle);
}

void efa_wr_ring(struct dap_ep *ep)
{
	struct efa_engine *eng = efa_ia(ep->obj.ia)->eng;
	struct efa_ep *e = efa_ep(ep);

	if (!e->sq.quiet)
		return;
	e->sq.quiet = 0;
	dap_wc_flush();
	dap_store_dbrec(e->sq.doorbell, htole32(e->sq.pi & 0xffff));
	dap_wc_flush();
	efa_kick(eng, e);
}

struct efa_ctrl_msg *efa_wr_stage(struct dap_ep *ep, struct efa_wr *wr, uint32_t bytes)
{
	struct efa_ep *e = efa_ep(ep);
	uint8_t *at = e->more->stage + (size_t)(e->sq.pi & e->sq.mask) * EFA_STAGE;

	memset(at, 0, bytes);
	wr->seg[0] = (struct efa_iov){ (uintptr_t)at, bytes, e->more->mr.lkey };
	wr->nseg = 1;
	return (struct efa_ctrl_msg *)(void *)at;
}

static struct efa_tx_buf buf_of(const struct efa_iov *s)
{
	return (struct efa_tx_buf){ cpu_to_le32(s->len), cpu_to_le32(s->key),
				    cpu_to_le32((uint32_t)s->addr),
				    cpu_to_le32((uint32_t)(s->addr >> 32)) };
}

static void fill(struct efa_ep *e, const struct efa_wr *wr, struct efa_wqe *w)
{
	uint32_t pi = e->sq.pi;
	const uint64_t words[2] = {
		e->sq.word0 | (pi & e->sq.mask) | e->sq.gen | (uint64_t)wr->op << 16 |
			(uint64_t)(wr->has_imm ? EFA_TX_HAS_IMM : 0) << 16 |
			(uint64_t)(wr->inl ? EFA_TX_INLINE : 0) << 16 |
			(uint64_t)(pi >> e->sq.log & 1) << 24 |
			(uint64_t)(wr->inl ? wr->bytes : wr->nseg) << 48,
		e->sq.word1 | wr->imm,
	};

	memcpy(w, words, sizeof(words));
	memcpy((uint8_t *)w + 16, e->sq.word2, 16);
	if (wr->op != EFA_OP_SEND) {
		w->rdma.remote = (struct efa_remote){
			cpu_to_le32(wr->len), cpu_to_le32(wr->rkey),
			cpu_to_le32((uint32_t)wr->remote),
			cpu_to_le32((uint32_t)(wr->remote >> 32)) };
		w->rdma.local = buf_of(&wr->seg[0]);
	} else if (wr->inl) {
		if (wr->bytes)
			memcpy(w->inl, wr->data, wr->bytes);
	} else {
		for (unsigned int i = 0; i < wr->nseg; i++)
			w->sgl[i] = buf_of(&wr->seg[i]);
	}
}

void efa_wr_post(struct dap_ep *ep, const struct efa_wr *wr)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_wqe w __attribute__((aligned(16))) = { 0 };
	v2 *to = (v2 *)(e->sq.ring + ((size_t)(e->sq.pi & e->sq.mask) << e->sq.shift));
	const v2 *from = (const v2 *)(const void *)&w;

	if (e->sq.quiet == e->sq.max_batch)
		efa_wr_ring(ep);
	/* No WQE may come to the device before the doorbell of those before it, or a batch were longer. */
	if (!e->sq.quiet)
		dap_wc_flush();
	fill(e, wr, &w);
	e->sq.slots[e->sq.pi & e->sq.mask] =
		(struct efa_slot){ .of = wr->of, .kind = wr->kind };
	for (unsigned int i = 0; i < 1u << (e->sq.shift - 4); i++)
		to[i] = from[i];
	e->sq.others++;
	e->sq.hot_from = ++e->sq.pi;
	e->sq.quiet++;
	efa_disarm(&e->tx);
}

/* The first RDMA is kept, because the device of a new peer may refuse it (cqe.c). */
void efa_rdma_post(struct dap_ep *ep, struct efa_wr *wr)
{
	struct efa_more *m = efa_ep(ep)->more;

	if (m->rdma != EFA_RDMA_WORKS) {
		m->rdma = EFA_RDMA_TRIED;
		m->first_rdma = *wr;
		wr->kind = EFA_S_FIRST;
	}
	efa_wr_post(ep, wr);
}

/* The WQE keeps its sequence number. Its ack is renewed, because an old one passes for a new one later. */
void efa_rdma_again(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_wr wr = e->more->first_rdma;

	if (e->more->rdma != EFA_RDMA_REFUSED || e->tx.blocked & (EFA_B_OVER | EFA_B_HALT))
		return;
	if (!efa_sq_has(e, 1, false)) {
		efa_lag(ep);
		return;
	}
	if (wr.has_imm)
		wr.imm = (wr.imm & ~EFA_ACK_MASK) | (e->rx.safe & EFA_ACK_MASK);
	efa_rdma_post(ep, &wr);
}
