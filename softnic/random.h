/* SPDX-License-Identifier: BSD-2-Clause */
/* Pseudo-random numbers by splitmix64, and the words of a fault script that are probabilities. */
#ifndef SOFTNIC_RANDOM_H
#define SOFTNIC_RANDOM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline uint64_t sn_draw(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline bool sn_hit(uint64_t *state, double share)
{
	return (double)(sn_draw(state) >> 11) * 0x1p-53 < share;
}

/* A word of a fault script whose value is a probability, 0 to 1: its name, and the offset of its double in
 * the parsed script. */
struct sn_share {
	const char *name;
	size_t offset;
};

/* Parses "key=value". Every comparison with NaN is false. Testing for the valid range therefore
 * refuses NaN too. */
static inline int sn_share_parse(const struct sn_share *shares, size_t n, void *script,
				 const char *key, const char *value)
{
	char *end;
	double v = strtod(value, &end);

	if (end == value || *end || !(v >= 0 && v <= 1))
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(key, shares[i].name))
			continue;
		memcpy((char *)script + shares[i].offset, &v, sizeof(v));
		return 0;
	}
	return -EINVAL;
}

#endif
