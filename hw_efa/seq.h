/* SPDX-License-Identifier: BSD-2-Clause */
/* Sequence numbers and acknowledgements of both directions. */
#ifndef EFA_SEQ_H
#define EFA_SEQ_H

#include "hw_efa/obj.h"

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
