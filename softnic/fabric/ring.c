/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records in a ring shared by two processes. Words written by the other side are loaded once and checked
 * before they are used as an index.
 *
 * Wake-ups are a store-load race on both sides: the producer stores a record and then reads asleep, the
 * consumer stores asleep and then reads the record. Both access asleep with a read-modify-write, so the
 * later one reads the other's value and sees everything stored before it. While the consumer is awake,
 * the word stays in the producer's cache and costs it no miss. A commit needs no fence of its own: one
 * sn_ring_take_waiter() serves a whole run of commits. The words head and starved are the same race in
 * the other direction.
 */
#include "softnic/fabric/fabric.h"
#include "softnic/fabric/ring.h"

_Static_assert(sizeof(_Atomic uint32_t) == 4 && ATOMIC_INT_LOCK_FREE == 2, "shared words");
_Static_assert(sizeof(_Atomic uint64_t) == 8 && ATOMIC_LLONG_LOCK_FREE == 2, "shared words");

static _Atomic uint32_t *word_at(const struct sn_ring *ring, uint64_t pos)
{
	return (_Atomic uint32_t *)(void *)(ring->data + (pos & (ring->size - 1)));
}

enum { AHEAD = 2 * SN_RING_LINE };

/* The length word of a record has the first packet's length in its lower half and the second's in
 * its upper half. */
enum { PIGGYBACK_SHIFT = 16, LEN_MASK = 0xffff };

_Static_assert(SN_FAB_MAX < LEN_MASK, "a length fits in half a word, and no two look like SKIP");

static size_t both_len(size_t len, size_t piggyback)
{
	return piggyback ? sn_ring_behind(len) + piggyback : len;
}

static uint64_t record_bytes(size_t len)
{
	return (len + sizeof(uint32_t) + SN_RING_LINE - 1) & ~(uint64_t)(SN_RING_LINE - 1);
}

void sn_ring_init(struct sn_ring *ring, struct sn_ring_ctl *ctl, uint8_t *data, size_t size)
{
	*ring = (struct sn_ring){.ctl = ctl, .data = data, .size = size};
}

static uint64_t to_end(const struct sn_ring *ring)
{
	return ring->size - (ring->pos & (ring->size - 1));
}

/* Returns the bytes that a record of len bytes uses: the skipped end of the ring, the record itself, and
 * the zero word behind it. */
static uint64_t bytes_needed(const struct sn_ring *tx, size_t len)
{
	uint64_t bytes = record_bytes(len);
	uint64_t skip = bytes > to_end(tx) ? to_end(tx) : 0;

	return skip + bytes + SN_RING_LINE;
}

static enum sn_ring_status check_room(struct sn_ring *tx, uint64_t bytes)
{
	uint64_t head;

	if (tx->pos - tx->seen + bytes <= tx->size)
		return SN_RING_OK;
	head = atomic_load_explicit(&tx->ctl->head, memory_order_acquire);
	/* Reads the consumer's head. It may only move forward, and never past the produced bytes. */
	if (head - tx->seen > tx->pos - tx->seen)
		return SN_RING_BROKEN;
	tx->seen = head;
	return tx->pos - head + bytes <= tx->size ? SN_RING_OK : SN_RING_FULL;
}

static void clear_word(struct sn_ring *tx, uint64_t pos)
{
	atomic_store_explicit(word_at(tx, pos), 0, memory_order_relaxed);
}

/* Fetches the line with write access; __builtin_prefetch would only get a shared copy. */
static void prefetch_to_write(const void *at)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
	__builtin_prefetch(at, 1);
#endif
}

static void publish_word(struct sn_ring *tx, uint32_t word)
{
	atomic_store_explicit(word_at(tx, tx->pos), word, memory_order_release);
}

/* Clears the next record's word first: then all stores to the line that the consumer polls are
 * adjacent. */
static void *begin_record(struct sn_ring *tx, uint64_t bytes)
{
	clear_word(tx, tx->pos + bytes);
	return (uint8_t *)word_at(tx, tx->pos) + sizeof(uint32_t);
}

void *sn_ring_room(struct sn_ring *tx, size_t len)
{
	uint64_t bytes = record_bytes(len);

	if (tx->pos - tx->seen + bytes + SN_RING_LINE > tx->size || bytes > to_end(tx))
		return NULL;
	return begin_record(tx, bytes);
}

enum sn_ring_status sn_ring_reserve(struct sn_ring *tx, size_t len, void **data)
{
	uint64_t bytes = record_bytes(len), next;
	enum sn_ring_status status = check_room(tx, bytes_needed(tx, len));

	if (status != SN_RING_OK)
		return status;
	if (bytes > to_end(tx)) {
		next = tx->pos + to_end(tx);
		clear_word(tx, next);
		publish_word(tx, SN_RING_SKIP);
		tx->pos = next;
	}
	*data = begin_record(tx, bytes);
	return SN_RING_OK;
}

void sn_ring_commit(struct sn_ring *tx, size_t len, size_t piggyback)
{
	publish_word(tx, (uint32_t)(len | piggyback << PIGGYBACK_SHIFT));
	tx->pos += record_bytes(both_len(len, piggyback));
	tx->committed = tx->pos;
	/* Fetches one of the next lines now, while they are still in the consumer's cache, so that the
	 * next packets need not wait for it. */
	prefetch_to_write(word_at(tx, tx->pos + AHEAD));
}

bool sn_ring_take_waiter(struct sn_ring *tx)
{
	return atomic_exchange(&tx->ctl->asleep, 0) != 0;
}

bool sn_ring_await_room(struct sn_ring *tx, size_t len)
{
	atomic_exchange(&tx->ctl->starved, 1);
	return check_room(tx, bytes_needed(tx, len)) == SN_RING_FULL;
}

bool sn_ring_has_room(struct sn_ring *tx, size_t len)
{
	return check_room(tx, bytes_needed(tx, len)) != SN_RING_FULL;
}

bool sn_ring_unread(const struct sn_ring *tx)
{
	uint64_t head = atomic_load_explicit(&tx->ctl->head, memory_order_relaxed);

	/* Behind the last record there may be a skipped end, which no one has to read. */
	return (int64_t)(tx->committed - head) > 0;
}

static uint32_t load_record(const struct sn_ring *rx)
{
	return atomic_load_explicit(word_at(rx, rx->pos), memory_order_acquire);
}

int sn_ring_peek(struct sn_ring *rx, const void **data)
{
	uint32_t word = load_record(rx), len, piggyback;

	if (word == SN_RING_SKIP && (rx->pos & (rx->size - 1)) != 0) {
		rx->pos += to_end(rx);
		/* The producer may commit no record behind the skipped end. */
		atomic_store_explicit(&rx->ctl->head, rx->pos, memory_order_release);
		word = load_record(rx);
	}
	if (word == 0)
		return 0;
	len = word & LEN_MASK;
	piggyback = word >> PIGGYBACK_SHIFT;
	if (!len || both_len(len, piggyback) > SN_FAB_MAX ||
	    record_bytes(both_len(len, piggyback)) > to_end(rx))
		return SN_RING_BROKEN;
	rx->piggyback = piggyback;
	*data = (const uint8_t *)word_at(rx, rx->pos) + sizeof(uint32_t);
	return (int)len;
}

void sn_ring_pop(struct sn_ring *rx, size_t len, size_t piggyback)
{
	rx->pos += record_bytes(both_len(len, piggyback));
	atomic_store_explicit(&rx->ctl->head, rx->pos, memory_order_release);
}

bool sn_ring_take_starved(struct sn_ring *rx)
{
	return atomic_exchange(&rx->ctl->starved, 0) != 0;
}

bool sn_ring_await_record(struct sn_ring *rx)
{
	atomic_exchange(&rx->ctl->asleep, 1);
	return sn_ring_empty(rx);
}
