/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive buffers. A request id is the index of its buffer, with the generation of the QP above it.
 */
#ifndef EFA_RQ_H
#define EFA_RQ_H

#include "hw_efa/obj.h"

EFA_INLINE uint8_t *efa_buf_at(const struct efa_rx *rx, uint32_t id)
{
	return rx->bufs + (id ^ rx->gen) * rx->stride;
}

EFA_INLINE void efa_copy(uint64_t to, const uint8_t *from, uint32_t len)
{
	if (efa_likely(len == 8))
		__builtin_memcpy((void *)(uintptr_t)to, from, 8);
	else
		__builtin_memcpy((void *)(uintptr_t)to, from, len);
}

/* Writes the descriptor of a buffer. */
EFA_INLINE void efa_refill(struct efa_rx *rx, uint32_t id, const uint8_t *buf)
{
	rx->ring[rx->pi++ & rx->mask] = (struct efa_rx_desc){
		.word = { htole64((uintptr_t)buf), htole64(rx->desc | id) } };
}

#endif
