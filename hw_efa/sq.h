/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue: slots, WQEs and sequence numbers. A WQE's request id is its slot with the
 * generation of the QP. Slots come from a free list, because completions arrive in any order.
 */
#ifndef EFA_SQ_H
#define EFA_SQ_H

#include "hw_efa/calls.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words of WQEs are assembled for little-endian hosts"
#endif

/* A word of a WQE, and two words. The compiler must not reorder or repeat their stores. */
typedef volatile uint64_t efa_u64 __attribute__((may_alias));
typedef uint64_t efa_u64x2 __attribute__((may_alias, vector_size(16), aligned(8)));

#define EFA_SPARE_WQES 8u		/* WQEs reserved for credits and answers */

/* reserve: the WQE is a credit or an answer, which may use the spare slots. */
EFA_INLINE bool efa_sq_has(const struct efa_sq *sq, bool reserve)
{
	return sq->used < sq->room + (reserve ? EFA_SPARE_WQES : 0);
}

EFA_INLINE uint32_t efa_slot_alloc(struct efa_sq *sq, uint32_t of, uint8_t kind)
{
	uint32_t id = sq->ids[sq->used++];

	sq->slots[id].word = of | (uint64_t)kind << 32 | sq->era;
	return id;
}

EFA_INLINE void efa_slot_free(struct efa_sq *sq, uint32_t id)
{
	sq->before -= (uint32_t)((sq->slots[id].word ^ sq->era) >> EFA_ERA_SHIFT);
	sq->slots[id].kind = EFA_S_FREE;
	sq->ids[--sq->used] = (uint16_t)id;
}

EFA_INLINE void efa_write_segment(efa_u64 *to, const struct efa_iov *s)
{
	to[0] = s->len | (uint64_t)s->key << 32;
	to[1] = s->addr;
}

/* Zeros for the second half of a WQE of 128 bytes. */
EFA_INLINE void efa_write_zeros(efa_u64 *to)
{
	for (unsigned int i = 0; i < 8; i += 2)
		*(volatile efa_u64x2 *)(to + i) = (efa_u64x2){ 0 };
}

/* Inline data, padded with zeros. */
EFA_INLINE void efa_write_inline(efa_u64 *to, const struct efa_wr *wr, bool wide)
{
	uint64_t data[12];

	if (efa_likely(wr->bytes == 8)) {
		__builtin_memcpy(data, wr->data, 8);
		to[0] = data[0];
		for (unsigned int i = 1; i < 4; i++)
			to[i] = 0;
		if (wide)
			efa_write_zeros(to + 4);
		return;
	}
	__builtin_memset(data, 0, sizeof(data));
	if (wr->bytes)
		__builtin_memcpy(data, wr->data, wr->bytes);
	for (unsigned int i = 0; i < (wide ? 12 : 4); i++)
		to[i] = data[i];
}

/*
 * Writes the next WQE in ascending order, each word once: the ring is write-combined device memory.
 * The caller rings the doorbell.
 */
EFA_INLINE void efa_wqe_write(struct efa_ep *e, const struct efa_wr *wr)
{
	struct efa_sq *sq = &e->sq;
	efa_u64 *to = (efa_u64 *)(void *)sq->next;
	const uint64_t ctrl = wr->op | (wr->has_imm ? EFA_TX_HAS_IMM : 0u) |
			      (wr->inl ? EFA_TX_INLINE : 0u);
	const uint32_t size = sq->entry_size;
	const bool wide = size == 128;

	to[0] = sq->word0 | efa_slot_alloc(sq, wr->of, wr->kind) | ctrl << 16 |
		(uint64_t)(wr->inl ? wr->bytes : wr->nseg) << 48;
	to[1] = sq->word1 | wr->imm;
	to[2] = sq->qkey;
	to[3] = 0;
	sq->pi++;
	sq->next += size;
	if (efa_unlikely(sq->next == sq->end)) {
		sq->next = sq->ring;
		sq->word0 ^= (uint64_t)EFA_TX_PHASE << 24;
	}
	if (wr->inl) {
		efa_write_inline(to + 4, wr, wide);
		return;
	}
	efa_write_segment(to + 4, &wr->seg[0]);
	efa_write_segment(to + 6, &wr->seg[1]);
	if (wide)
		efa_write_zeros(to + 8);
}

/* The device sees the WQE before the doorbell. */
EFA_INLINE void efa_sq_doorbell(struct efa_ep *e)
{
	dap_wc_flush();
	dap_store_dbrec(e->sq.doorbell, htole32(e->sq.pi & 0xffff));
	efa_kick(e);
}

/* ---- sequence numbers and acknowledgements of both directions ---- */

/* Acknowledges all packets before the awaited number, as far as efa_bound_ack allows (wr.c). */
EFA_COLD void efa_bound_ack(struct dap_ep *ep);
static inline void efa_ack_delivered(struct dap_ep *ep)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;

	rx->acked_to = rx->next;
	if (efa_unlikely((int32_t)(rx->next - rx->look_at) >= 0))
		efa_bound_ack(ep);
}

/* The header of a packet. It carries the acknowledgement. */
static inline uint32_t efa_imm_of(struct efa_ep *e, enum efa_kind kind, bool se, uint32_t seq)
{
	e->rx.advertised = e->rx.acked_to;
	return efa_imm(kind, se, seq, e->rx.acked_to);
}

static inline uint32_t efa_next_imm(struct efa_ep *e, enum efa_kind kind, bool se)
{
	return efa_imm_of(e, kind, se, e->tx.seq++);
}

/*
 * Acks arrive in any order. One that is older than the last one would free more than is
 * outstanding.
 */
static inline void efa_receive_ack(struct efa_ep *e, uint32_t ack)
{
	struct efa_tx *tx = &e->tx;
	uint32_t more = (ack - tx->acked) & EFA_ACK_MASK;

	if (more && more <= tx->seq - tx->acked) {
		tx->acked += more;
		tx->limit += more;
	}
}

#endif
