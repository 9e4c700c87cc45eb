/* SPDX-License-Identifier: BSD-2-Clause */
/* Which remote bytes writes under way may touch. The inline part is what a hot post has within itself. */
#ifndef EFA_PLACE_H
#define EFA_PLACE_H

#include "hw_efa/obj.h"

/* A write under way touches these bytes. The number is of the next request to be issued. */
bool efa_overlaps(struct efa_tx *tx, uint64_t va, uint64_t len, uint32_t number);
/* As efa_place, of a write within the range of those under way. */
bool efa_place_far(struct efa_tx *tx, uint64_t va, uint64_t len, uint32_t number);

EFA_INLINE bool efa_no_writes(const struct efa_tx *tx)
{
	return (int32_t)(tx->written - tx->done) <= 0;
}

/* No write under way touches these bytes: seen at first sight. */
EFA_INLINE bool efa_clear_of_writes(const struct efa_tx *tx, uint64_t va, uint64_t len)
{
	return efa_no_writes(tx) || va >= tx->written_to.hi || va + len <= tx->written_to.lo;
}

/* The write is under way from now on, if it lies beyond the range of those that are; else false. */
EFA_INLINE bool efa_place(struct efa_tx *tx, uint64_t va, uint64_t len, uint32_t number)
{
	if (efa_no_writes(tx))
		tx->written_to = (struct efa_span){ va, va + len };
	else if (efa_likely(va >= tx->written_to.hi))
		tx->written_to.hi = va + len;
	else if (va + len <= tx->written_to.lo)
		tx->written_to.lo = va;
	else
		return false;
	tx->written = number + 1;
	return true;
}

#endif
