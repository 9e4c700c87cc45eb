/* SPDX-License-Identifier: BSD-2-Clause */
/* Little-endian words as one-member structs; like be.h, the model's own copy. */
#ifndef SOFTNIC_LE_H
#define SOFTNIC_LE_H

#include <endian.h>
#include <stdint.h>

typedef struct { uint16_t le; } le16_t;
typedef struct { uint32_t le; } le32_t;

static inline le16_t to_le16(uint16_t v) { return (le16_t){ htole16(v) }; }
static inline le32_t to_le32(uint32_t v) { return (le32_t){ htole32(v) }; }
static inline uint16_t from_le16(le16_t v) { return le16toh(v.le); }
static inline uint32_t from_le32(le32_t v) { return le32toh(v.le); }

#endif
