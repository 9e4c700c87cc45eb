/* SPDX-License-Identifier: BSD-2-Clause */
/* Sequence numbers: what this end has told the peer to be free, and what the peer acknowledged. */
#ifndef EFA_SEQ_H
#define EFA_SEQ_H

#include "hw_efa/obj.h"

/* Acknowledges all before the number awaited, as far as efa_bound_safe allows (wr.c). */
EFA_COLD void efa_bound_safe(struct dap_ep *ep);
static inline void efa_set_safe(struct dap_ep *ep)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;

	rx->safe = rx->next;
	if (efa_unlikely((int32_t)(rx->next - rx->look_at) >= 0))
		efa_bound_safe(ep);
}

/* The header of a packet, which acknowledges; of the next in sequence, which takes a credit. */
static inline uint32_t efa_imm_of(struct efa_ep *e, enum efa_kind kind, bool se, uint32_t seq)
{
	e->rx.advertised = e->rx.safe;
	return efa_imm(kind, se, seq, e->rx.safe);
}

static inline uint32_t efa_next_imm(struct efa_ep *e, enum efa_kind kind, bool se)
{
	return efa_imm_of(e, kind, se, e->tx.seq++);
}

static inline uint32_t efa_unseq_imm(struct efa_ep *e)
{
	return efa_imm_of(e, EFA_K_UNSEQ, false, 0);
}

/* Acks come in any order: one that is older than the last known is behind it by more than fits. */
static inline void efa_take_ack(struct efa_ep *e, uint32_t ack)
{
	struct efa_tx *tx = &e->tx;
	uint32_t more = (ack - tx->acked) & EFA_ACK_MASK;

	if (more && more <= tx->seq - tx->acked) {
		tx->acked += more;
		tx->limit += more;
	}
}

#endif
