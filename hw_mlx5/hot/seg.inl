/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 16-byte pieces of a WQE, assembled in registers and stored whole, so that the next reader
 * (BlueFlame, a model) can forward from the store buffer. For the same reason words that the
 * consumer has just written are loaded one by one, with the width of their stores.
 *
 * If the processor can permute bytes (M5_SHUFFLE), one instruction swaps all words of a piece.
 */
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__SSSE3__) && defined(__SSE4_1__)
#define M5_SHUFFLE 1
#else
#define M5_SHUFFLE 0
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words of WQEs are assembled for little-endian hosts"
#endif

typedef uint64_t m5_v2 __attribute__((vector_size(16), may_alias, aligned(16)));

/* For loops of constant length whose data stays in registers. */
#define M5_UNROLL _Pragma("GCC unroll 16")

#if M5_SHUFFLE
#define M5_NONE ((char)0x80)		/* a zero byte */

/* Three words from the consumer: eight bytes, four, four. */
M5_INLINE __m128i m5_words(uint64_t a, uint32_t b, uint32_t c)
{
	__m128i v = _mm_cvtsi64_si128((long long)a);

	return _mm_insert_epi32(_mm_insert_epi32(v, (int)b, 2), (int)c, 3);
}

/* The permutation of address, length and key that makes a data segment. */
M5_INLINE __m128i m5_turn_data(void)
{
	return _mm_setr_epi8(11, 10, 9, 8, 15, 14, 13, 12, 7, 6, 5, 4, 3, 2, 1, 0);
}

/* The permutation that makes an mkey's start and length, without the key. */
M5_INLINE __m128i m5_turn_range(void)
{
	return _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, M5_NONE, M5_NONE, M5_NONE, M5_NONE, 11, 10, 9,
			     8);
}
#endif

/* Places the index in bytes 1 and 2 of a control segment (PRM, "Control segment"). */
M5_INLINE m5_v2 m5_ctrl_index(uint32_t pi)
{
#if M5_SHUFFLE
	const __m128i turn = _mm_setr_epi8(M5_NONE, 1, 0, M5_NONE, M5_NONE, M5_NONE, M5_NONE,
					   M5_NONE, M5_NONE, M5_NONE, M5_NONE, M5_NONE, M5_NONE,
					   M5_NONE, M5_NONE, M5_NONE);

	return (m5_v2)_mm_shuffle_epi8(_mm_cvtsi32_si128((int)pi), turn);
#else
	return (m5_v2){ __builtin_bswap32((uint16_t)pi) >> 8, 0 };
#endif
}

M5_INLINE m5_v2 m5_ctrl_of(const uint64_t template[2], uint32_t pi)
{
	return *(const m5_v2 *)template | m5_ctrl_index(pi);
}

M5_INLINE m5_v2 m5_ctrl(const struct m5_sq *sq, uint32_t pi, unsigned int op, unsigned int ds,
			uint8_t fm, uint32_t imm)
{
	return (m5_v2){ sq->ctrl | (uint64_t)ds << 56 | op << 24 | __builtin_bswap32((uint16_t)pi) >> 8,
			(uint32_t)fm << 24 | (uint64_t)__builtin_bswap32(imm) << 32 };
}

M5_INLINE m5_v2 m5_raddr(uint64_t va, uint32_t rkey)
{
#if M5_SHUFFLE
	const __m128i turn = _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 11, 10, 9, 8, M5_NONE, M5_NONE,
					   M5_NONE, M5_NONE);

	return (m5_v2)_mm_shuffle_epi8(
		_mm_insert_epi32(_mm_cvtsi64_si128((long long)va), (int)rkey, 2), turn);
#else
	return (m5_v2){ __builtin_bswap64(va), __builtin_bswap32(rkey) };
#endif
}

/* A data segment, or a KLM. */
M5_INLINE m5_v2 m5_data(uint32_t bytes, uint32_t lkey, uint64_t va)
{
#if M5_SHUFFLE
	return (m5_v2)_mm_shuffle_epi8(m5_words(va, bytes, lkey), m5_turn_data());
#else
	/* One 8-byte swap swaps both words of the first half. */
	return (m5_v2){ __builtin_bswap64((uint64_t)bytes << 32 | lkey), __builtin_bswap64(va) };
#endif
}

#if defined(__AVX2__)
typedef __m256i m5_half;		/* the part of a block that one store writes */
#else
typedef m5_v2 m5_half;
#endif
#define M5_HALVES (M5_BB / sizeof(m5_half))	/* halves of a block */

M5_INLINE uint64_t m5_load(const uint8_t *p, unsigned int bytes)
{
	uint64_t v = 0;

	__builtin_memcpy(&v, p, bytes);
	return v;
}

/* Append to a WQE in registers, one m5_half at a time; return the next position. */
M5_INLINE m5_half *m5_put_segments(m5_half *h, m5_v2 lo, m5_v2 hi)
{
#if defined(__AVX2__)
	*h++ = _mm256_set_m128i((__m128i)hi, (__m128i)lo);
#else
	*h++ = lo;
	*h++ = hi;
#endif
	return h;
}

/* Extends v by zeros: the instruction that made v has cleared the upper half. */
M5_INLINE m5_half *m5_put_segment_zeros(m5_half *h, m5_v2 v)
{
#if defined(__AVX2__) && !defined(__clang__)
	/* assembly, because gcc would copy v */
	__asm__("" : "=x"(*h) : "0"(v));
	return h + 1;
#elif defined(__AVX2__)
	*h = _mm256_zextsi128_si256((__m128i)v);
	return h + 1;
#else
	return m5_put_segments(h, v, (m5_v2){ 0 });
#endif
}

/* Four bytes of data. */
M5_INLINE m5_half *m5_put_word(m5_half *h, const uint8_t *p)
{
#if defined(__AVX2__)
	uint32_t word;

	__builtin_memcpy(&word, p, sizeof(word));
	/* assembly, because gcc would copy the value */
	__asm__("vmovd %1, %x0" : "=x"(*h) : "rm"(word));
	return h + 1;
#elif defined(__SSE2__)
	uint32_t word;

	__builtin_memcpy(&word, p, sizeof(word));
	return m5_put_segments(h, (m5_v2)_mm_cvtsi32_si128((int)word), (m5_v2){ 0 });
#else
	return m5_put_segments(h, (m5_v2){ m5_load(p, 4), 0 }, (m5_v2){ 0 });
#endif
}

M5_INLINE m5_half *m5_put_zeros(m5_half *h)
{
#if defined(__AVX2__)
	*h = _mm256_setzero_si256();
	return h + 1;
#else
	return m5_put_segments(h, (m5_v2){ 0 }, (m5_v2){ 0 });
#endif
}

/* Stores n contiguous blocks to the ring. */
M5_INLINE void m5_store_blocks(uint8_t *to, const m5_half *h, unsigned int n)
{
	m5_half *p = (m5_half *)to;

	M5_UNROLL
	for (unsigned int i = 0; i < n * M5_HALVES; i++)
		p[i] = h[i];
}

/* Stores to a register, in order. */
M5_INLINE void m5_store_mmio(volatile uint8_t *to, const m5_half *h, unsigned int n)
{
	volatile m5_half *p = (volatile m5_half *)to;

	M5_UNROLL
	for (unsigned int i = 0; i < n * M5_HALVES; i++)
		p[i] = h[i];
}

/* Loads from any address. Of a memcpy, gcc 14 makes two loads of 8 bytes. */
M5_INLINE m5_v2 m5_load_piece(const uint8_t *p)
{
	typedef m5_v2 __attribute__((aligned(1))) unaligned;

	return *(const unaligned *)p;
}

/* Loads n <= 8 bytes as a word, zero above; reads nothing outside. */
M5_INLINE uint64_t m5_load_some(const uint8_t *p, unsigned int n)
{
	if (n == 8)
		return m5_load(p, 8);
	if (n >= 4)
		return m5_load(p, 4) | (m5_load(p + n - 4, 4) >> (8 * (8 - n))) << 32;
	if (!n)
		return 0;
	return p[0] | (uint64_t)p[n / 2] << (8 * (n / 2)) | (uint64_t)p[n - 1] << (8 * (n - 1));
}

/* The first piece of an inline segment of n bytes: header and the first twelve bytes. */
M5_INLINE m5_v2 m5_inline_head(m5_v2 data, uint32_t n)
{
	uint64_t head = __builtin_bswap32(n | M5_INLINE_SEG);
#if defined(__SSE2__)
	return (m5_v2)_mm_slli_si128((__m128i)data, 4) | (m5_v2){ head, 0 };
#else
	return (m5_v2){ head | data[0] << 32, data[0] >> 32 | data[1] << 32 };
#endif
}

M5_INLINE m5_v2 m5_inline_8(uint64_t va)
{
	return m5_inline_head((m5_v2){ m5_load((const uint8_t *)(uintptr_t)va, 8), 0 }, 8);
}

#define M5_SHORT 28			/* inline bytes that fit one block after a remote address */

/* An inline segment of at most 28 bytes as two pieces. */
M5_INLINE void m5_inline_short(m5_v2 *a, m5_v2 *b, uint64_t va, uint32_t n)
{
	const uint8_t *p = (const uint8_t *)(uintptr_t)va;
	uint64_t head = __builtin_bswap32(n | M5_INLINE_SEG);
	uint64_t d0 = m5_load_some(p, n < 8 ? n : 8), d1 = 0, d2 = 0, d3 = 0;

	if (n > 8)
		d1 = m5_load_some(p + 8, n < 16 ? n - 8 : 8);
	if (n > 16)
		d2 = m5_load_some(p + 16, n < 24 ? n - 16 : 8);
	if (n > 24)
		d3 = m5_load(p + n - 4, 4) >> (8 * (28 - n));
	*a = (m5_v2){ head | d0 << 32, d0 >> 32 | d1 << 32 };
	*b = (m5_v2){ d1 >> 32 | d2 << 32, d2 >> 32 | d3 << 32 };
}

#define M5_LINE 64			/* one cache line of data: five pieces */

M5_INLINE void m5_inline_64(m5_v2 p[5], uint64_t va)
{
	const uint8_t *d = (const uint8_t *)(uintptr_t)va;

	p[0] = m5_inline_head(m5_load_piece(d), M5_LINE);
	p[1] = m5_load_piece(d + 12);
	p[2] = m5_load_piece(d + 28);
	p[3] = m5_load_piece(d + 44);
#if defined(__SSE2__)
	p[4] = (m5_v2)_mm_cvtsi32_si128((int)m5_load(d + 60, 4));
#else
	p[4] = (m5_v2){ m5_load(d + 60, 4), 0 };
#endif
}
