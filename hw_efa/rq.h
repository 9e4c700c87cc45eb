/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive buffers on their way back to the device. Descriptors are written one after the other, from
 * rx.slot on; a doorbell is for several of them, and is due at rx.ring_at, which lies nowhere behind
 * the ring's end: who writes one looks at nothing else.
 */
#ifndef EFA_RQ_H
#define EFA_RQ_H

#include "hw_efa/obj.h"

typedef uint64_t efa_u64 __attribute__((may_alias));

/* id: a request id, with its generation, which begin leaves out again. */
EFA_INLINE uint8_t *efa_buf_at(const struct efa_rx *rx, uint32_t id)
{
	return rx->begin + id * rx->stride;
}

/* Returns where the next one goes. */
EFA_INLINE uint8_t *efa_buf_back(struct efa_rx *rx, const uint8_t *from, uint64_t id)
{
	uint8_t *slot = rx->slot;
	efa_u64 *desc = (efa_u64 *)(void *)slot;

	id |= rx->desc;
	slot += sizeof(struct efa_rx_desc);
	desc[0] = (uintptr_t)from;
	desc[1] = id;
	rx->slot = slot;
	return slot;
}

/* The device has not been told of so many. */
static inline uint32_t efa_rq_quiet(const struct efa_rx *rx)
{
	uint32_t at = (uint32_t)((size_t)(rx->slot - rx->ring) / sizeof(struct efa_rx_desc));

	return (at - rx->rung) & rx->mask;
}

/* From the end of the ring on to its start. */
static inline void efa_rq_turn(struct efa_rx *rx)
{
	if (rx->slot == rx->ring_end)
		rx->slot = rx->ring;
	rx->ring_at = (size_t)(rx->ring_end - rx->slot) < rx->batch_bytes ? rx->ring_end :
								      rx->slot + rx->batch_bytes;
}

static inline void efa_refill(struct efa_rx *rx, uint32_t id)
{
	if (efa_buf_back(rx, efa_buf_at(rx, id), id) == rx->ring_end)
		efa_rq_turn(rx);
}

#endif
