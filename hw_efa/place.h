/* SPDX-License-Identifier: BSD-2-Clause */
/* Which remote bytes writes under way may touch. The inline part is what a hot post has within itself. */
#ifndef EFA_PLACE_H
#define EFA_PLACE_H

#include "hw_efa/obj.h"

/* A write of no free line at first sight; number: of the request. False: it has to wait. */
bool efa_place_far(struct efa_tx *tx, uint64_t va, uint64_t len, uint32_t number);
/* Requests before the number are looked at. */
bool efa_overlaps(const struct efa_tx *tx, uint64_t va, uint64_t len, uint32_t number);
void efa_place(struct efa_tx *tx, uint64_t va, uint64_t len, uint32_t number);

#define EFA_LINE_SHIFT 6

EFA_INLINE bool efa_one_line(uint64_t va, uint64_t len)
{
	return ((va ^ (va + len - 1)) >> EFA_LINE_SHIFT) == 0;
}

/* Slots of programs lie at powers of two: a multiplication spreads them. */
EFA_INLINE uint32_t *efa_line(const struct efa_tx *tx, uint64_t va)
{
	return &tx->lines[(uint32_t)(va >> EFA_LINE_SHIFT) * 0x9e3779b1u >> 24];
}
_Static_assert(EFA_LINES == 1u << 8, "the hash has 8 bits");

/* The place of a line that no write is under way to, while none of more than a line is; or NULL. */
EFA_INLINE uint32_t *efa_line_free(const struct efa_tx *tx, uint64_t va)
{
	uint32_t *line = efa_line(tx, va);

	if (efa_unlikely((int32_t)(tx->done - *line) < 0) ||
	    efa_unlikely((int32_t)(tx->done - tx->large) < 0))
		return NULL;
	return line;
}

EFA_INLINE void efa_place_line(struct efa_tx *tx, uint32_t *line, uint32_t number)
{
	*line = number + 1;
	tx->small = number + 1;
}

#endif
