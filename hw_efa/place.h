/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The remote bytes that outstanding writes may touch. The inline functions belong to the fast path.
 */
#ifndef EFA_PLACE_H
#define EFA_PLACE_H

#include "hw_efa/obj.h"

/* Returns true if an outstanding write touches these bytes. number: number of the next request to be
 * issued. */
bool efa_overlaps(struct efa_tx *tx, uint64_t va, uint64_t len, uint32_t number);
/* Counts the write as outstanding unless an outstanding write touches its bytes; then returns false. For
 * a write that lies within the range of the outstanding ones. */
bool efa_place_far(struct efa_tx *tx, uint64_t va, uint64_t len, uint32_t number);

EFA_INLINE bool efa_no_writes(const struct efa_tx *tx)
{
	return (int32_t)(tx->written - tx->done) <= 0;
}

/* Returns true if the range of the outstanding writes shows that none touches these bytes. */
EFA_INLINE bool efa_clear_of_writes(const struct efa_tx *tx, uint64_t va, uint64_t len)
{
	return efa_no_writes(tx) || va >= tx->written_to.hi || va + len <= tx->written_to.lo;
}

/*
 * Counts the write as outstanding if it lies beyond the range of the outstanding ones. False: it
 * lies within, and is not counted.
 */
EFA_INLINE bool efa_place(struct efa_tx *tx, uint64_t va, uint64_t len, uint32_t number)
{
	if (efa_no_writes(tx)) {
		tx->written_to = (struct efa_span){ va, va + len };
		tx->gap.hi = 0;
	} else if (efa_likely(va >= tx->written_to.hi)) {
		tx->written_to.hi = va + len;
	} else if (va + len <= tx->written_to.lo) {
		tx->written_to.lo = va;
	} else {
		return false;
	}
	tx->written = number + 1;
	return true;
}

/*
 * Returns true if no outstanding write touches the same remote bytes. A write then counts as outstanding.
 * number: number of the request.
 */
EFA_INLINE bool efa_placed(struct efa_tx *tx, unsigned int op, uint64_t va, uint64_t len, uint32_t number)
{
	if (op == EFA_SEND)
		return true;
	if (op == EFA_READ)
		return efa_clear_of_writes(tx, va, len) || !efa_overlaps(tx, va, len, number);
	return efa_place(tx, va, len, number) || efa_place_far(tx, va, len, number);
}

#endif
