/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring by itself: order, room, wrap-around, and invalid words. */
#include <criterion/criterion.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/fabric/fabric.h"
#include "softnic/fabric/ring.h"
#include "tests/harness/harness.h"

#define SIZE (64u << 10)

struct pair {
	struct sn_ring_ctl *ctl;
	uint8_t *data;
	struct sn_ring tx, rx;
};

static void setup(struct pair *p)
{
	p->ctl = aligned_alloc(_Alignof(struct sn_ring_ctl), sizeof(*p->ctl));
	p->data = aligned_alloc(64, SIZE);
	memset(p->ctl, 0, sizeof(*p->ctl));
	memset(p->data, 0, SIZE);
	sn_ring_init(&p->tx, p->ctl, p->data, SIZE);
	sn_ring_init(&p->rx, p->ctl, p->data, SIZE);
}

static void teardown(struct pair *p)
{
	free(p->ctl);
	free(p->data);
}

static enum sn_ring_status put(struct pair *p, const void *bytes, size_t len)
{
	void *room;
	enum sn_ring_status status = sn_ring_reserve(&p->tx, len, &room);

	if (status == SN_RING_OK) {
		memcpy(room, bytes, len);
		sn_ring_commit(&p->tx, len, 0);
	}
	return status;
}

Test(ring, random_traffic__arrives_unchanged)
{
	static uint8_t sent[SN_FAB_MAX];
	struct pair p;
	const void *data;
	unsigned int in = 0, out = 0, full = 0, i;
	size_t lens[4096];

	setup(&p);
	srand(7);
	for (i = 0; i < 60000; i++) {
		if (rand() & 1) {
			size_t len = 1 + (size_t)rand() % (rand() & 7 ? 200 : SN_FAB_MAX);
			enum sn_ring_status status;

			memset(sent, (int)(in & 0xff), len);
			status = put(&p, sent, len);
			cr_assert(status == SN_RING_OK || status == SN_RING_FULL);
			if (status == SN_RING_OK)
				lens[in++ % 4096] = len;
			else
				full++;
		} else {
			int len = sn_ring_peek(&p.rx, &data);

			cr_assert_eq(len == 0, in == out);
			if (!len)
				continue;
			cr_assert_eq((size_t)len, lens[out % 4096]);
			memset(sent, (int)(out & 0xff), (size_t)len);
			cr_assert_eq(memcmp(data, sent, (size_t)len), 0);
			sn_ring_pop(&p.rx, (size_t)len, 0);
			out++;
		}
		/*
		 * drains the ring only now and then, so that it is sometimes full and sometimes
		 * empty
		 */
		if (i % 5000 == 4999)
			srand(rand() & 1 ? i : i + 1);
	}
	cr_assert_gt(out, 10000);
	cr_assert_gt(p.tx.pos, 20u * SIZE);
	teardown(&p);
}

Test(ring, full__is_usable_again_once_emptied)
{
	struct pair p;
	const void *data;
	unsigned int n = 0, m = 0;
	uint8_t bytes[1000] = {0};
	int len;

	setup(&p);
	while (put(&p, bytes, sizeof(bytes)) == SN_RING_OK)
		cr_assert_lt(++n, SIZE / 1000 + 1);
	cr_assert_gt(n, SIZE / 1024 - 2);
	cr_assert_not(sn_ring_has_room(&p.tx, sizeof(bytes)));
	cr_assert(sn_ring_await_room(&p.tx, sizeof(bytes)),
		  "the ring is full, but the producer may not wait for room");
	while ((len = sn_ring_peek(&p.rx, &data)) > 0) {
		sn_ring_pop(&p.rx, (size_t)len, 0);
		m++;
	}
	cr_assert_eq(n, m);
	cr_assert(sn_ring_take_starved(&p.rx),
		  "the consumer does not see that the producer waits for room");
	cr_assert_not(sn_ring_take_starved(&p.rx),
		      "the producer's request to be woken was seen twice");
	cr_assert_eq(put(&p, bytes, sizeof(bytes)), SN_RING_OK);
	teardown(&p);
}

Test(ring, sleeper__is_taken_once_and_never_beside_a_record)
{
	struct pair p;
	const void *data;

	setup(&p);
	cr_assert_not(sn_ring_take_waiter(&p.tx));
	cr_assert(sn_ring_await_record(&p.rx));
	cr_assert_eq(put(&p, "x", 1), SN_RING_OK);
	cr_assert(sn_ring_take_waiter(&p.tx));
	cr_assert_not(sn_ring_take_waiter(&p.tx));
	cr_assert_not(sn_ring_await_record(&p.rx),
		      "the consumer may sleep although the ring has a record");
	cr_assert_eq(sn_ring_peek(&p.rx, &data), 1);
	teardown(&p);
}

Test(ring, second_packet__rides_behind_the_first)
{
	struct pair p;
	const void *data;
	uint8_t *room;

	setup(&p);
	cr_assert_eq(sn_ring_reserve(&p.tx, 8 + 4, (void **)&room), SN_RING_OK);
	memcpy(room, "first", 5);
	memcpy(room + sn_ring_behind(5), "2nd", 4);
	sn_ring_commit(&p.tx, 5, 4);
	cr_assert_eq(put(&p, "third", 6), SN_RING_OK);
	cr_assert_eq(sn_ring_peek(&p.rx, &data), 5);
	cr_assert_eq(p.rx.piggyback, 4);
	cr_assert_str_eq((const char *)data + sn_ring_behind(5), "2nd");
	sn_ring_pop(&p.rx, 5, 4);
	cr_assert_eq(sn_ring_peek(&p.rx, &data), 6);
	cr_assert_eq(p.rx.piggyback, 0);
	cr_assert_str_eq(data, "third");
	teardown(&p);
}

/* The ring contains arbitrary bytes. A peek stays inside and reports bad lengths. */
Test(ring, hostile_lengths__are_refused)
{
	static const uint32_t bad[] = {SN_FAB_MAX + 1, SIZE, 0x7fffffff, 0x80000000, 0xfffffffe,
				       1u << 16, SN_FAB_MAX << 16 | 16, 4u << 16 | SN_FAB_MAX};
	struct pair p;
	const void *data;
	size_t i;

	setup(&p);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memcpy(p.data, &bad[i], 4);
		cr_assert_eq(sn_ring_peek(&p.rx, &data), SN_RING_BROKEN);
	}
	memset(p.data, 0xff, SIZE);	/* a ring that consists of skips only */
	cr_assert_eq(sn_ring_peek(&p.rx, &data), SN_RING_BROKEN);
	p.rx.pos = SIZE - 64;		/* a record across the end of the ring */
	memcpy(p.data + SIZE - 64, &(uint32_t){61}, 4);
	cr_assert_eq(sn_ring_peek(&p.rx, &data), SN_RING_BROKEN);
	memcpy(p.data + SIZE - 64, &(uint32_t){60}, 4);
	cr_assert_eq(sn_ring_peek(&p.rx, &data), 60);
	teardown(&p);
}

Test(ring, hostile_head__breaks_the_producer_not_the_memory)
{
	static const uint64_t bad[] = {SIZE, UINT64_MAX, 1u << 20, UINT64_MAX - 63};
	uint8_t bytes[8000] = {0};
	struct pair p;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setup(&p);
		while (put(&p, bytes, sizeof(bytes)) == SN_RING_OK)
			;
		cr_assert_lt(p.tx.pos, SIZE);
		atomic_store(&p.ctl->head, bad[i]);
		cr_assert_eq(put(&p, bytes, sizeof(bytes)), SN_RING_BROKEN);
		teardown(&p);
	}
}

/*
 * Both sides of a wake-up act at the same moment, many times: the later one must see what the earlier
 * one stored. Without a fence between the store and the load of each side, both would miss it now and
 * then.
 */
enum { ROUNDS = 200000, LONGEST_MS = 15000 };	/* fewer rounds on a busy machine */
#define OVER UINT_MAX			/* a round in which the other thread ends */

struct race {
	struct pair p;
	atomic_uint round, done;
	/* true: tests the race for room; false: the race for records */
	bool room;
	bool saw;			/* whether the other thread saw the request in this round */
};

/* Returns false if the rounds are over. */
static bool until(atomic_uint *word, unsigned int value)
{
	unsigned int turns, now;

	for (turns = 0; (now = atomic_load(word)) != value && now != OVER; turns++)
		if (turns % 1024 == 1023)
			th_yield();
	return now == value;
}

static void stagger(unsigned int n)
{
	while (n--)
		__asm__ volatile("" ::: "memory");
}

static void drain(struct pair *p)
{
	const void *data;
	int len;

	while ((len = sn_ring_peek(&p->rx, &data)) > 0)
		sn_ring_pop(&p->rx, (size_t)len, 0);
}

/* A fault script drops a packet after the room for it was reserved. */
Test(ring, skipped_end__without_a_record_behind_it_counts_as_read)
{
	static const uint8_t big[SN_FAB_MAX];
	struct pair p;
	void *room;

	setup(&p);
	while (SIZE - p.tx.pos > sizeof(big) + SN_RING_LINE) {
		cr_assert_eq(put(&p, big, sizeof(big)), SN_RING_OK);
		drain(&p);
	}
	cr_assert_eq(sn_ring_reserve(&p.tx, sizeof(big), &room), SN_RING_OK);
	cr_assert_eq(p.tx.pos, SIZE, "the record did not need the start of the ring");
	cr_expect_not(sn_ring_unread(&p.tx), "a consumer that sleeps need not read it");
	drain(&p);
	cr_expect_not(sn_ring_unread(&p.tx));
	teardown(&p);
}

/* Stores a record (or frees all room). Returns true if it saw a request for a wake-up. */
static void *other_side(void *arg)
{
	struct race *r = arg;
	unsigned int i;

	for (i = 1; until(&r->round, i); i++) {
		stagger(i * 7 % 61);
		if (r->room) {
			drain(&r->p);
			r->saw = sn_ring_take_starved(&r->p.rx);
		} else {
			put(&r->p, "x", 1);
			r->saw = sn_ring_take_waiter(&r->p.tx);
		}
		atomic_store(&r->done, i);
	}
	return NULL;
}

static void race(struct race *r)
{
	static const uint8_t big[SN_FAB_MAX];
	const uint64_t end = th_now_ms() + LONGEST_MS;
	unsigned int i, lost = 0;
	const void *data;
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, other_side, r), 0);
	for (i = 1; i <= ROUNDS && th_now_ms() < end; i++) {
		bool sleeps;

		while (r->room && put(&r->p, big, sizeof(big)) == SN_RING_OK)
			;
		/*
		 * Each side has the line that it is about to write in its cache, so only a fence can
		 * order the two.
		 */
		(void)sn_ring_peek(&r->p.rx, &data);
		atomic_store(&r->round, i);
		stagger(i * 5 % 1511);
		sleeps = r->room ? sn_ring_await_room(&r->p.tx, sizeof(big)) :
				   sn_ring_await_record(&r->p.rx);
		until(&r->done, i);
		lost += sleeps && !r->saw;
		atomic_store(&r->p.ctl->asleep, 0);
		atomic_store(&r->p.ctl->starved, 0);
		if (!r->room)
			drain(&r->p);
	}
	atomic_store(&r->round, OVER);
	pthread_join(thread, NULL);
	cr_assert_eq(lost, 0, "%u of %u wake-ups were lost", lost, i - 1);
}

Test(ring, put_beside_falling_asleep__is_never_missed, .timeout = 60)
{
	struct race r = {0};

	setup(&r.p);
	race(&r);
	teardown(&r.p);
}

Test(ring, pop_beside_starving__is_never_missed, .timeout = 60)
{
	struct race r = {.room = true};

	setup(&r.p);
	race(&r);
	teardown(&r.p);
}
