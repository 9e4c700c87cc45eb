/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One direction of a link: a byte ring of records between one producer and one consumer, either of which
 * may be dead or hostile. There is no lock. Only two words are written by both sides: asleep and
 * starved.
 *
 * A record starts on a cache line with its length; the word of the next record is zero until that one is
 * complete. So the consumer reads only the record itself, and a small packet moves one cache line
 * between the cores. The producer's own position is not shared at all.
 *
 * A record may hold a second packet behind the first one, from a word boundary on. So a short packet
 * that can wait for another one needs no cache line of its own.
 */
#ifndef SOFTNIC_FABRIC_RING_H
#define SOFTNIC_FABRIC_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_RING_LINE 64u
/* Prefetchers fetch two or more adjacent lines, so words with different writers have this distance. */
#define SN_RING_APART 256u
#define SN_RING_SKIP UINT32_MAX	/* the rest of the ring is unused, continue at its start */

/* Memory shared by both sides. The consumer writes head and asleep; the producer clears asleep. */
struct sn_ring_ctl {
	_Alignas(SN_RING_APART) _Atomic uint64_t head;	/* bytes consumed so far */
	/* the consumer wants a wake-up at the next record */
	_Alignas(SN_RING_APART) _Atomic uint32_t asleep;
	/* written by the producer, which wants a wake-up when there is room */
	_Alignas(SN_RING_APART) _Atomic uint32_t starved;
};

_Static_assert(sizeof(struct sn_ring_ctl) == 3 * SN_RING_APART, "each word has lines of its own");

/* The view that one side has of the ring; pos counts the bytes that it has produced or consumed. */
struct sn_ring {
	struct sn_ring_ctl *ctl;
	uint8_t *data;
	uint64_t size;			/* size of the ring, a power of two */
	uint64_t pos;
	uint64_t seen;			/* producer: the consumer's head, as last read */
	uint64_t committed;		/* producer: pos behind the last record */
	uint32_t piggyback;			/* consumer: length of the second packet last read, or 0 */
};

enum sn_ring_status {
	SN_RING_BROKEN = -2,		/* the other side has written invalid words */
	SN_RING_FULL = -1,
	SN_RING_OK = 0,
};

void sn_ring_init(struct sn_ring *ring, struct sn_ring_ctl *ctl, uint8_t *data, size_t size);

/* Reserves room for one record of len bytes. Without a commit the next call returns the same room. */
enum sn_ring_status sn_ring_reserve(struct sn_ring *tx, size_t len, void **data);
/* Reserves room on the fast path. Returns NULL unless the cached head shows enough room and the record
 * fits before the end of the ring. */
void *sn_ring_room(struct sn_ring *tx, size_t len);
/* Publishes the reserved record: a packet of len bytes, and one of piggyback bytes or none. */
void sn_ring_commit(struct sn_ring *tx, size_t len, size_t piggyback);

/* Returns the offset of the second packet in a record. With its length added, this is the size of
 * both. */
static inline size_t sn_ring_behind(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

/* Must the consumer be woken? Clears its request. Call once after a run of sn_ring_commit. */
bool sn_ring_take_waiter(struct sn_ring *tx);

/* Requests a wake-up when len bytes fit. False if they fit now (or the consumer's words are invalid). */
bool sn_ring_await_room(struct sn_ring *tx, size_t len);

/* Would a record of len bytes fit now? (Also true if the consumer's words are invalid.) */
bool sn_ring_has_room(struct sn_ring *tx, size_t len);
bool sn_ring_unread(const struct sn_ring *tx);

/* Is the ring without a record? Costs one load. */
static inline bool sn_ring_empty(const struct sn_ring *rx)
{
	const void *word = rx->data + (rx->pos & (rx->size - 1));

	return !atomic_load_explicit((const _Atomic uint32_t *)word, memory_order_acquire);
}

/*
 * Finds the oldest record. Returns the length of its first packet and sets *data and rx->piggyback.
 * 0: there is no record; SN_RING_BROKEN.
 */
int sn_ring_peek(struct sn_ring *rx, const void **data);

/* Frees the space of the record that sn_ring_peek() found; piggyback: as peek set it. */
void sn_ring_pop(struct sn_ring *rx, size_t len, size_t piggyback);

/* Must a starved producer be woken? Clears its request. Call once after a run of sn_ring_pop. */
bool sn_ring_take_starved(struct sn_ring *rx);

/* Requests a wake-up at the next record. False: there is a record already. */
bool sn_ring_await_record(struct sn_ring *rx);

#endif
