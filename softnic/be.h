/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Big-endian words as one-member structs, and fields of command layouts by bit offset. The model has its
 * own copy, independent of the driver that it checks.
 */
#ifndef SOFTNIC_BE_H
#define SOFTNIC_BE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

typedef struct { uint16_t be; } be16_t;
typedef struct { uint32_t be; } be32_t;
typedef struct { uint64_t be; } be64_t;

static inline be16_t to_be16(uint16_t v) { return (be16_t){ htobe16(v) }; }
static inline be32_t to_be32(uint32_t v) { return (be32_t){ htobe32(v) }; }
static inline be64_t to_be64(uint64_t v) { return (be64_t){ htobe64(v) }; }
static inline uint16_t from_be16(be16_t v) { return be16toh(v.be); }
static inline uint32_t from_be32(be32_t v) { return be32toh(v.be); }
static inline uint64_t from_be64(be64_t v) { return be64toh(v.be); }

#define SN_SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " size")
#define SN_AT(type, member, off) \
	_Static_assert(__builtin_offsetof(type, member) == (off), #type "." #member " offset")

/*
 * A field of a PRM layout. off counts bits from the start of the layout, as in the manual's tables: bit
 * 0 is the most significant bit of the first big-endian dword. The width is 1 to 32 inside one dword, or
 * 64 at a dword boundary.
 */
struct sn_fld {
	uint16_t bit;
	uint8_t width;
};

#define SN_FLD(bit, width) ((struct sn_fld){ (bit), (width) })

static inline uint32_t sn_get32(const void *layout, uint32_t byte)
{
	be32_t w;

	memcpy(&w, (const uint8_t *)layout + byte, sizeof(w));
	return from_be32(w);
}

static inline void sn_set32(void *layout, uint32_t byte, uint32_t v)
{
	be32_t w = to_be32(v);

	memcpy((uint8_t *)layout + byte, &w, sizeof(w));
}

static inline uint64_t sn_get64(const void *layout, uint32_t byte)
{
	return (uint64_t)sn_get32(layout, byte) << 32 | sn_get32(layout, byte + 4);
}

static inline void sn_set64(void *layout, uint32_t byte, uint64_t v)
{
	sn_set32(layout, byte, (uint32_t)(v >> 32));
	sn_set32(layout, byte + 4, (uint32_t)v);
}

static inline uint32_t sn_mask(struct sn_fld f)
{
	return f.width >= 32 ? UINT32_MAX : (UINT32_C(1) << f.width) - 1;
}

static inline uint32_t sn_get(const void *layout, struct sn_fld f)
{
	unsigned int shift = 32u - f.width - (f.bit & 31u);

	return sn_get32(layout, f.bit / 32u * 4u) >> shift & sn_mask(f);
}

static inline void sn_set(void *layout, struct sn_fld f, uint32_t v)
{
	unsigned int shift = 32u - f.width - (f.bit & 31u);
	uint32_t word = sn_get32(layout, f.bit / 32u * 4u);

	word &= ~(sn_mask(f) << shift);
	sn_set32(layout, f.bit / 32u * 4u, word | (v & sn_mask(f)) << shift);
}

#endif
