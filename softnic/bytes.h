/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes. Copies of a few need no call: most of a device's copies are shorter than a cache line. */
#ifndef SOFTNIC_BYTES_H
#define SOFTNIC_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Call this after a copy from memory that another process may still change: a packet of a peer, a WQE of
 * the host. The compiler then cannot load the source again, so the values that are used are the values
 * that were checked.
 */
static inline void sn_end_copy(void)
{
	__asm__ volatile("" ::: "memory");
}

static inline bool sn_is_zero(const void *bytes, size_t n)
{
	const uint8_t *b = bytes;

	while (n && !b[n - 1])
		n--;
	return !n;
}

/* Is the GID an IPv4-mapped address? */
static inline bool sn_is_v4(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(gid, mapped, sizeof(mapped));
}

/* Defines a function that copies k to 2 k bytes as two halves, which may overlap. It reads all
 * bytes before it writes any. */
#define SN_BYTES_PAIR(name, type) \
	static inline void name(uint8_t *d, const uint8_t *s, size_t n) \
	{ \
		type head, tail; \
		memcpy(&head, s, sizeof(head)); \
		memcpy(&tail, s + n - sizeof(tail), sizeof(tail)); \
		memcpy(d, &head, sizeof(head)); \
		memcpy(d + n - sizeof(tail), &tail, sizeof(tail)); \
	}

SN_BYTES_PAIR(sn_bytes_16, __uint128_t)
SN_BYTES_PAIR(sn_bytes_8, uint64_t)
SN_BYTES_PAIR(sn_bytes_4, uint32_t)

static inline void sn_bytes(void *dst, const void *src, size_t n)
{
	uint8_t *d = dst;
	const uint8_t *s = src;

	if (n > 32) {
		memcpy(d, s, n);
	} else if (n >= 16) {
		sn_bytes_16(d, s, n);
	} else if (n >= 8) {
		sn_bytes_8(d, s, n);
	} else if (n >= 4) {
		sn_bytes_4(d, s, n);
	} else {
		for (size_t i = 0; i < n; i++)
			d[i] = s[i];
	}
}

#endif
