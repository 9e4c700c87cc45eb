/* SPDX-License-Identifier: BSD-2-Clause */
/* Large writes that both sides copy: each a half, in any order, and with either gone or unwilling. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/fabric/direct_rig.h"
#include "tests/harness/harness.h"

enum { LEN = 1 << 17, STEP = 512, ROUNDS = 300 };

static uint8_t *source;
static struct sn_direct_offer *offer;
static _Atomic bool over, disordered;

static bool write_all(void)
{
	const struct sn_grant what = { .key = 7, .qpn = 9, .start = DIRECT_START, .len = LEN };
	const struct iovec from = { source, LEN };

	return sn_direct_write(&us, &what, &from, 1);
}

static void setup(void)
{
	source = aligned_alloc(STEP, LEN);
	memset(source, 0x5a, LEN);
	direct_open(LEN);
	offer = &words->offer;
	words->polled = 1;
	us.pid = us.pid && write_all() ? us.pid : 0;
	if (!us.pid)
		cr_skip_test("the kernel lets nobody write into another process");
	us.alone = 0;
	memset(memory, 0, LEN);
}

TestSuite(half, .init = setup, .timeout = 60);

static void open_offer(uint32_t slot, uint64_t off, uint64_t len)
{
	offer->slot = slot;
	offer->off = off;
	offer->len = len;
	offer->from = (uintptr_t)source;
	offer->state = SN_OFFER_OPEN;
}

static uint32_t granted_slot(void)
{
	uint32_t i = 0;

	while (i < SN_DIRECT_SLOTS - 1 && !it.granted[i].len)
		i++;
	return i;
}

static bool untouched(void)
{
	for (size_t i = 0; i < LEN; i++)
		if (memory[i])
			return false;
	return true;
}

static void fill(uint64_t value)
{
	for (size_t at = 0; at < LEN; at += 8)
		memcpy(source + at, &value, 8);
}

/* Who polls on the last bytes finds all the others there. */
static void *polls_and_helps(void *arg)
{
	volatile uint64_t *last = (volatile uint64_t *)(void *)(memory + LEN - 8);
	unsigned int *taken = arg;

	while (!over) {
		uint64_t seen;

		if (sn_direct_offered(&it)) {
			sn_direct_help(&it);
			++*taken;
		}
		seen = *last;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		for (size_t at = 0; at < LEN; at += STEP)
			disordered |= *(volatile uint64_t *)(void *)(memory + at) < seen;
		th_yield();
	}
	return NULL;
}

Test(half, write__whole_and_its_last_bytes_last)
{
	unsigned int taken = 0;
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, polls_and_helps, &taken), 0);
	/* Until it has come a few times: who finds an offer is chance on a busy machine. */
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		fill(i);
		us.alone = 0;
		cr_assert(write_all());
		cr_assert_eq(memcmp(memory, source, LEN), 0, "round %u", (unsigned int)i);
		cr_assert_eq(words->busy, 0);
	}
	over = true;
	pthread_join(thread, NULL);
	cr_assert_not(disordered);
	fprintf(stderr, "note: %u of %u large writes were copied by both sides\n", taken,
		(unsigned int)ROUNDS);
}

Test(half, offer__that_nobody_takes)
{
	cr_assert(write_all());
	cr_assert_eq(memcmp(memory, source, LEN), 0);
	cr_assert_eq(offer->state, SN_OFFER_NONE);
	/* The next one is not asked of it. */
	cr_assert_gt(us.alone, 0);
	offer->len = 1;
	cr_assert(write_all());
	cr_assert_eq(offer->len, 1);
}

Test(half, offer__to_one_that_does_not_poll)
{
	words->polled = 0;
	offer->len = 1;
	cr_assert(write_all());
	cr_assert_eq(offer->len, 1);
}

/* The second half is there first. Its end waits for the first. */
Test(half, help__leaves_the_last_bytes_until_all_is_there)
{
	open_offer(granted_slot(), LEN / 2, LEN / 2);
	sn_direct_help(&it);
	cr_assert_eq(offer->state, SN_OFFER_BUT_LAST);
	cr_assert_eq(memcmp(memory + LEN / 2, source, LEN / 2 - 8), 0);
	for (size_t i = LEN - 8; i < LEN; i++)
		cr_assert_eq(memory[i], 0);
}

Test(half, help__only_where_granted)
{
	static const uint64_t odd[] = { 0, 1, 7, 8, LEN - 8, LEN, LEN + 8, UINT64_MAX - 7, UINT64_MAX };
	const unsigned int n = sizeof(odd) / sizeof(odd[0]);

	for (unsigned int i = 0; i < n * n; i++) {
		uint64_t off = odd[i % n], len = odd[i / n];
		bool right = len > 8 && off <= LEN && len <= LEN - off;

		open_offer(granted_slot(), off, len);
		sn_direct_help(&it);
		cr_assert_eq(offer->state, right ? SN_OFFER_BUT_LAST : SN_OFFER_REFUSED);
	}
	memset(memory, 0, LEN);
	open_offer(granted_slot() + 1, 0, LEN);
	sn_direct_help(&it);
	cr_assert_eq(offer->state, SN_OFFER_REFUSED);
	open_offer(UINT32_MAX, 0, LEN);
	sn_direct_help(&it);
	cr_assert(untouched() || UINT32_MAX % SN_DIRECT_SLOTS == granted_slot());
}

Test(half, help__after_the_grant_was_withdrawn)
{
	uint32_t slot = granted_slot();

	sn_direct_withdraw(&it);
	open_offer(slot, 0, LEN);
	sn_direct_help(&it);
	cr_assert_eq(offer->state, SN_OFFER_REFUSED);
	cr_assert(untouched());
}

Test(half, help__that_the_kernel_forbids)
{
	direct_forbid(SYS_process_vm_readv);
	open_offer(granted_slot(), 0, LEN);
	sn_direct_help(&it);
	cr_assert_eq(offer->state, SN_OFFER_REFUSED);
	cr_assert(untouched());
	/* It is not tried again, and the initiator does all by itself. */
	cr_assert(write_all());
	cr_assert_not(sn_direct_offered(&it));
	cr_assert_eq(memcmp(memory, source, LEN), 0);
}

/* The kernel finds nothing at its address. */
Test(half, help__of_an_initiator_without_the_bytes)
{
	open_offer(granted_slot(), 0, LEN);
	offer->from = 0;
	sn_direct_help(&it);
	cr_assert_eq(offer->state, SN_OFFER_REFUSED);
	cr_assert_not(it.no_help);
}

Test(half, help__for_one_that_died)
{
	close(direct_socks[0]);
	open_offer(granted_slot(), 0, LEN);
	sn_direct_help(&it);
	cr_assert_eq(offer->state, SN_OFFER_OPEN);
	cr_assert(untouched());
}

/* What a target does between two looks of the initiator: state after state, or its end. */
static void *goes_on(void *arg)
{
	const uint32_t *state = arg;
	uint32_t open = SN_OFFER_OPEN;

	for (; !atomic_compare_exchange_strong(&offer->state, &open, SN_OFFER_TAKEN); open = SN_OFFER_OPEN)
		th_yield();
	while (offer->state != SN_OFFER_LAST)
		th_yield();
	if (*state == SN_OFFER_TAKEN)
		close(direct_socks[1]);
	else
		offer->state = *state;
	return NULL;
}

/* With one that takes it in time: the first half is long enough for that, in the end. */
static bool written_when(uint32_t state)
{
	pthread_t thread;
	bool done;

	cr_assert_eq(pthread_create(&thread, NULL, goes_on, &state), 0);
	do {
		us.alone = 0;
		memset(memory, 0, LEN);
		done = write_all();
	} while (done && offer->state == SN_OFFER_NONE);
	pthread_join(thread, NULL);
	cr_assert_eq(words->busy, 0);
	return done;
}

Test(half, target__that_dies_in_the_midst)
{
	cr_assert_not(written_when(SN_OFFER_TAKEN));
	/* Nothing is tried with it any more. */
	cr_assert_eq(us.pid, 0);
	cr_assert_not(write_all());
}

Test(half, target__that_gives_up_in_the_midst)
{
	cr_assert(written_when(SN_OFFER_REFUSED));
	cr_assert_eq(memcmp(memory, source, LEN), 0);
}

Test(half, target__that_leaves_the_last_bytes)
{
	cr_assert(written_when(SN_OFFER_BUT_LAST));
	cr_assert_eq(memcmp(memory + LEN - 8, source + LEN - 8, 8), 0);
}

Test(half, target__whose_words_lie)
{
	cr_assert(written_when(UINT32_MAX));
	cr_assert_eq(memcmp(memory, source, LEN), 0);
}
