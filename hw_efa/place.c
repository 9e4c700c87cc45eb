/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * An EFA orders nothing, so of two writes to the same bytes the second waits until the first has
 * completed. A write outside the range that contains all outstanding writes touches none of their
 * bytes. For a write within the range, the requests are searched; the search also shrinks the range
 * to its minimum, and finds the gap up to the next outstanding write. A producer that fills a buffer
 * again and again from its start has most of its writes in that gap, which saves their searches.
 */
#include "hw_efa/place.h"

static void widen_span(struct efa_span *s, uint64_t va, uint64_t len)
{
	if (va < s->lo)
		s->lo = va;
	if (va + len > s->hi)
		s->hi = va + len;
}

bool efa_overlaps(struct efa_tx *tx, uint64_t va, uint64_t len, uint32_t number)
{
	struct efa_span all = { UINT64_MAX, 0 };
	uint32_t written = tx->done;
	uint64_t next = 0;

	for (uint32_t i = tx->done; i != number; i++) {
		const struct efa_dto *d = &tx->dto[i & tx->mask];

		if ((d->state & (EFA_D_PLACED | EFA_D_DONE)) != EFA_D_PLACED)
			continue;
		if (va < d->remote + d->bytes && d->remote < va + len)
			return true;
		if (d->remote > va && (!next || d->remote < next))
			next = d->remote;
		widen_span(&all, d->remote, d->bytes);
		written = i + 1;
	}
	tx->written = written;
	tx->written_to = all;
	tx->gap = (struct efa_span){ all.hi, next };
	return false;
}

bool efa_place_far(struct efa_tx *tx, uint64_t va, uint64_t len, uint32_t number)
{
	bool in_gap = va >= tx->gap.lo && va + len <= tx->gap.hi;

	if (!in_gap && efa_overlaps(tx, va, len, number))
		return false;
	tx->gap.lo = va + len;
	widen_span(&tx->written_to, va, len);
	tx->written = number + 1;
	return true;
}
