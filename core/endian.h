/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Big-endian or little-endian scalars as one-member structs: a forgotten swap is a compile error,
 * and the generated code is that of the plain integer.
 */
#ifndef DAP_ENDIAN_H
#define DAP_ENDIAN_H

#include <endian.h>
#include <stdint.h>

typedef struct { uint16_t be; } be16_t;
typedef struct { uint32_t be; } be32_t;
typedef struct { uint64_t be; } be64_t;

static inline be16_t cpu_to_be16(uint16_t v) { return (be16_t){ htobe16(v) }; }
static inline be32_t cpu_to_be32(uint32_t v) { return (be32_t){ htobe32(v) }; }
static inline be64_t cpu_to_be64(uint64_t v) { return (be64_t){ htobe64(v) }; }
static inline uint16_t be16_to_cpu(be16_t v) { return be16toh(v.be); }
static inline uint32_t be32_to_cpu(be32_t v) { return be32toh(v.be); }
static inline uint64_t be64_to_cpu(be64_t v) { return be64toh(v.be); }

typedef struct { uint16_t le; } le16_t;
typedef struct { uint32_t le; } le32_t;

static inline le16_t cpu_to_le16(uint16_t v) { return (le16_t){ htole16(v) }; }
static inline le32_t cpu_to_le32(uint32_t v) { return (le32_t){ htole32(v) }; }
static inline uint16_t le16_to_cpu(le16_t v) { return le16toh(v.le); }
static inline uint32_t le32_to_cpu(le32_t v) { return le32toh(v.le); }

/* Used beside each wire struct, with the section of the document that defines it. */
#define WIRE_SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " size")
#define WIRE_AT(type, member, off) \
	_Static_assert(__builtin_offsetof(type, member) == (off), #type "." #member " offset")

#endif
