/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/common/verify.h"

#include <string.h>

/* Returns eight bytes of the pattern, for the word at index i: the finaliser of splitmix64. */
static uint64_t pattern_word(uint64_t seed, uint64_t round, uint64_t i)
{
	uint64_t x = seed + round * 0x9e3779b97f4a7c15u + (i + 1) * 0xd1342543de82ef95u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

void pattern_fill(void *buf, size_t len, uint64_t seed, uint64_t round)
{
	unsigned char *p = buf;
	size_t i, n;
	uint64_t w;

	for (i = 0; i * 8 < len; i++) {
		w = pattern_word(seed, round, i);
		n = len - i * 8 < 8 ? len - i * 8 : 8;
		memcpy(p + i * 8, &w, n);
	}
}

size_t pattern_check(const void *buf, size_t len, uint64_t seed, uint64_t round)
{
	const unsigned char *p = buf;
	size_t i, j, n;
	uint64_t w;

	for (i = 0; i * 8 < len; i++) {
		w = pattern_word(seed, round, i);
		n = len - i * 8 < 8 ? len - i * 8 : 8;
		if (memcmp(p + i * 8, &w, n) == 0)
			continue;
		for (j = 0; j < n && p[i * 8 + j] == ((unsigned char *)&w)[j]; j++)
			;
		return i * 8 + j;
	}
	return len;
}
