/* SPDX-License-Identifier: BSD-2-Clause */
/* Sequence numbers: what this end has told the peer to be free, and what the peer acknowledged. */
#ifndef EFA_SEQ_H
#define EFA_SEQ_H

#include "hw_efa/obj.h"

/* What the peer knows to be free. */
static inline uint32_t efa_told(const struct efa_ep *e)
{
	return e->tx.seq != e->rx.safe_seq ? e->rx.safe : e->rx.told;
}

/* All before the number awaited is free; the peer may have to wait for that, see wr.c. */
EFA_COLD void efa_bound_safe(struct dap_ep *ep);
static inline void efa_set_safe(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);

	e->rx.told = efa_told(e);
	e->rx.safe = e->rx.next;
	if (efa_unlikely((int32_t)(e->rx.next - e->rx.look_at) >= 0))
		efa_bound_safe(ep);
	e->rx.safe_seq = e->tx.seq;
	e->sq.imm = (e->sq.imm & ~(uint64_t)EFA_ACK_MASK) | (e->rx.safe & EFA_ACK_MASK);
}

/* Acks come in any order: one that is older than the last known is behind it by more than fits. */
static inline void efa_take_ack(struct efa_ep *e, uint32_t ack)
{
	struct efa_tx *tx = &e->tx;
	uint32_t known = tx->limit - e->peer_window, more = (ack - known) & EFA_ACK_MASK;

	if (more <= tx->seq - known)
		tx->limit += more;
}

/*
 * The one that a hot receive has noted. Others go on where no more messages are heard, and it would
 * be a new one after a round of theirs: an old one is forgotten.
 */
static inline void efa_take_heard(struct efa_ep *e)
{
	struct efa_tx *tx = &e->tx;
	uint32_t known = tx->limit - e->peer_window, more = (tx->heard - known) & EFA_ACK_MASK;

	if (efa_likely(more <= tx->seq - known))
		tx->limit += more;
	else		/* loaded anew, rather than kept in registers for this */
		tx->heard = *(volatile uint32_t *)&tx->limit -
			    *(volatile uint32_t *)&e->peer_window;
}

#endif
