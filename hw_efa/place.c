/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Two writes to the same bytes have to be under way one after the other, since an EFA orders
 * nothing. That they touch different bytes is mostly seen at once:
 *
 * A write within one line of 64 bytes leaves its number in a table, at a place that is a hash of the
 * line. Numbers before tx.done are of writes that are over, so nothing is ever taken out. One of
 * more bytes widens a range, of which there are two: that of the writes since request tx.split, and
 * that of those before it, which is forgotten when all of them are over.
 *
 * What is not seen so is looked for among the requests themselves.
 */
#include "hw_efa/place.h"

static bool under_way(const struct efa_tx *tx, uint32_t behind)
{
	return (int32_t)(behind - tx->done) > 0;
}

bool efa_overlaps(const struct efa_tx *tx, uint64_t va, uint64_t len, uint32_t number)
{
	for (uint32_t i = tx->done; i != number; i++) {
		const struct efa_dto *d = &tx->dto[i & tx->mask];

		if ((d->state & (EFA_D_PLACED | EFA_D_DONE)) == EFA_D_PLACED &&
		    va < d->remote + d->bytes && d->remote < va + len)
			return true;
	}
	return false;
}

static bool apart(const struct efa_span *s, uint64_t va, uint64_t len)
{
	return va >= s->hi || va + len <= s->lo;
}

static void widen(struct efa_span *s, uint64_t va, uint64_t len)
{
	if (va < s->lo)
		s->lo = va;
	if (va + len > s->hi)
		s->hi = va + len;
}

void efa_place(struct efa_tx *tx, uint64_t va, uint64_t len, uint32_t number)
{
	if (efa_one_line(va, len)) {
		*efa_line(tx, va) = number + 1;
		tx->small = number + 1;
		return;
	}
	if ((int32_t)(tx->done - tx->split) >= 0) {
		tx->before = tx->now;
		tx->now = (struct efa_span){ UINT64_MAX, 0 };
		tx->split = number;
	}
	widen(&tx->now, va, len);
	tx->large = number + 1;
}

bool efa_place_far(struct efa_tx *tx, uint64_t va, uint64_t len, uint32_t number)
{
	bool apart_of_large = !under_way(tx, tx->large) ||
			      (apart(&tx->now, va, len) && apart(&tx->before, va, len));
	bool apart_of_small = efa_one_line(va, len) ? !under_way(tx, *efa_line(tx, va)) :
						      !under_way(tx, tx->small);

	if (!(apart_of_large && apart_of_small) && efa_overlaps(tx, va, len, number))
		return false;
	efa_place(tx, va, len, number);
	return true;
}
