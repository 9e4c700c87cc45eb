/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A message in pieces: n segments, of which some are empty. They lie apart in an end's memory, and the
 * bytes between them must not change.
 */
#ifndef TESTS_E2E_PIECES_H
#define TESTS_E2E_PIECES_H

#include "tests/e2e/rig.h"

#define PIECES_MAX 30		/* most segments of a post on a ConnectX */

struct pieces {
	DAT_LMR_TRIPLET seg[PIECES_MAX];
	unsigned int n;
	size_t gap[PIECES_MAX];	/* bytes before each piece, and after the last */
	size_t total;
};

#define MEM (4u << 20)
#define HALF (MEM / 2)

/* Opens two connected ends of MEM bytes, whose posts have the largest number of segments. */
void pieces_pair(struct end *a, struct end *b);
/* Splits size bytes into n pieces, from offset off on. The seed selects their positions and which of
 * them are empty. */
void pieces_cut(struct pieces *p, const struct end *e, size_t off, unsigned int n, size_t size,
		uint64_t seed);
void pieces_fill(const struct pieces *p, uint64_t seed);
void pieces_blank(const struct pieces *p);
/* Checks that the pieces hold the seed's data, and that the bytes between them did not change. */
bool pieces_filled(const struct pieces *p, uint64_t seed);

/* Sizes near the limits of paths, ascending: 8 in registers, 28 in one block, 188 inline, the MTU, a
 * page. */
#define SIZES 36
extern const size_t sizes[SIZES];

#endif
