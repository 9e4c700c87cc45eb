/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A message in pieces: n segments, some of them empty, that lie apart in an end's memory with bytes
 * between them that must not change.
 */
#ifndef TESTS_E2E_PIECES_H
#define TESTS_E2E_PIECES_H

#include "tests/e2e/rig.h"

#define PIECES_MAX 30		/* segments of a post of the ConnectX */

struct pieces {
	DAT_LMR_TRIPLET seg[PIECES_MAX];
	unsigned int n;
	size_t gap[PIECES_MAX];	/* bytes before each, and one gap more after the last */
	size_t total;
};

/* Two ends of len bytes, joined, whose posts take as many pieces as there can be. */
void pieces_pair(struct end *a, struct end *b, size_t len);
/* size bytes in n pieces at off; the seed says where it is cut. One of several is empty. */
void pieces_cut(struct pieces *p, const struct end *e, size_t off, unsigned int n, size_t size,
		uint64_t seed);
void pieces_fill(const struct pieces *p, uint64_t seed);
void pieces_blank(const struct pieces *p);
/* The pieces hold what the seed says, and what is between them was left alone. */
bool pieces_filled(const struct pieces *p, uint64_t seed);

/* Sizes worth a try, ascending: around 8 in registers, 28 in one block, 188 inline, MTU and page. */
#define SIZES 36
extern const size_t sizes[SIZES];

#endif
