/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One direction of a link: a byte ring of records between one producer and one consumer, either
 * of which may be dead or lying. No lock, and no word that both write except the two requests.
 *
 * A record starts on a cache line with its length; the word of the next record is zero until that
 * one is complete. So the consumer looks at nothing but the record itself, and a small packet
 * costs one cache line between the cores. The producer's own position is not shared at all.
 *
 * A second packet may ride in a record, behind the first one and from a word boundary on: what is
 * short and can wait for company costs no line of its own.
 */
#ifndef SOFTNIC_FABRIC_RING_H
#define SOFTNIC_FABRIC_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_RING_LINE 64u
/* Prefetchers fetch lines by pairs and more: words of different writers keep this distance. */
#define SN_RING_APART 256u
#define SN_RING_SKIP UINT32_MAX	/* the rest of the ring is unused, go on at its start */

/* Shared. head and asleep are written by the consumer, except that the producer clears asleep. */
struct sn_ring_ctl {
	_Alignas(SN_RING_APART) _Atomic uint64_t head;	/* bytes consumed since the start */
	_Alignas(SN_RING_APART) _Atomic uint32_t asleep;	/* wake me at the next record */
	_Alignas(SN_RING_APART) _Atomic uint32_t starved;	/* producer's: wake me when there is room */
};

_Static_assert(sizeof(struct sn_ring_ctl) == 3 * SN_RING_APART, "far from each other");

/* One side's view; pos counts bytes produced or consumed since the start. */
struct sn_ring {
	struct sn_ring_ctl *ctl;
	uint8_t *data;
	uint64_t size;			/* a power of two */
	uint64_t pos;
	uint64_t seen;			/* producer: head when last read */
	uint32_t piggyback;			/* consumer: length of the second packet last peeked at, or 0 */
};

enum sn_ring_status {
	SN_RING_BROKEN = -2,		/* the other side's words cannot be true */
	SN_RING_FULL = -1,
	SN_RING_OK = 0,
};

void sn_ring_init(struct sn_ring *ring, struct sn_ring_ctl *ctl, uint8_t *data, size_t size);

/* Room for one record of len bytes; the next one is asked for after commit, or has the same room. */
enum sn_ring_status sn_ring_reserve(struct sn_ring *tx, size_t len, void **data);
/* As reserve, when what is known of the consumer is enough, and nothing is to be skipped; else NULL. */
void *sn_ring_room(struct sn_ring *tx, size_t len);
/* Makes what was reserved last visible: a packet of len bytes, and one of rider bytes or none. */
void sn_ring_commit(struct sn_ring *tx, size_t len, size_t piggyback);

/* Where the second packet begins; with its length, what both are. */
static inline size_t sn_ring_behind(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

/* Is the consumer to be woken? Takes its request. Call after a run of sn_ring_commit. */
bool sn_ring_take_sleeper(struct sn_ring *tx);

/* Asks to be woken when len bytes fit. False when they do now (or the consumer lies). */
bool sn_ring_await_room(struct sn_ring *tx, size_t len);

/* Would a record of len bytes fit now? (So it seems too when the consumer lies.) */
bool sn_ring_has_room(struct sn_ring *tx, size_t len);
bool sn_ring_unread(const struct sn_ring *tx);

/* No record; one load. */
static inline bool sn_ring_empty(const struct sn_ring *rx)
{
	const void *word = rx->data + (rx->pos & (rx->size - 1));

	return !atomic_load_explicit((const _Atomic uint32_t *)word, memory_order_acquire);
}

/*
 * The oldest record: the length of its first packet with *data and rx->rider set, 0 when there is
 * none, SN_RING_BROKEN.
 */
int sn_ring_peek(struct sn_ring *rx, const void **data);

/* Gives the peeked record's space back; rider is as it was then. */
void sn_ring_pop(struct sn_ring *rx, size_t len, size_t piggyback);

/* Is a starved producer to be woken? Takes its request. Call after a run of sn_ring_pop. */
bool sn_ring_take_starved(struct sn_ring *rx);

/* Asks to be woken at the next record. False when there is one already. */
bool sn_ring_await_record(struct sn_ring *rx);

#endif
