/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes past the rings, by the words alone that two processes share: one that lies in them, one that
 * is in the midst of a copy, a kernel that forbids it. The far end is this process, too.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/fabric/direct_rig.h"
#include "tests/harness/harness.h"

enum { LEN = 4096, PART = 64 };

static uint8_t part[PART];
static const struct iovec from = { part, PART };

static struct sn_grant some(uint64_t off)
{
	return (struct sn_grant){ .key = 7, .qpn = 9, .start = DIRECT_START + off, .len = PART };
}

static bool put_at(uint64_t off)
{
	struct sn_grant what = some(off);

	return sn_direct_write(&us, &what, &from, 1);
}

static void setup(void)
{
	memset(part, 0x5a, sizeof(part));
	direct_open(LEN);
}

TestSuite(direct, .init = setup, .timeout = 60);

static struct sn_direct_slot *slot(void)
{
	unsigned int i = 0;

	while (i < SN_DIRECT_SLOTS - 1 && !words->slot[i].valid)
		i++;
	return &words->slot[i];
}

static void needs_permission(void)
{
	if (!put_at(0))
		cr_skip_test("the kernel lets nobody write into another process");
}

Test(direct, grant__within_its_range_alone)
{
	struct sn_grant other = some(0);

	needs_permission();
	cr_assert(put_at(LEN - PART));
	cr_assert_eq(memory[LEN - 1], 0x5a);
	cr_assert_not(put_at(LEN - PART + 1));
	cr_assert_not(put_at((uint64_t)-1));
	cr_assert_not(put_at((uint64_t)-PART));
	other.qpn++;
	cr_assert_not(sn_direct_write(&us, &other, &from, 1));
	other = some(0);
	other.len = UINT64_MAX;
	cr_assert_not(sn_direct_granted(&us, &other));
}

/* Whatever the words are: refused, or it is the liar's own memory, and only so much of it. */
Test(direct, words__that_lie)
{
	static const uint64_t odd[] = { 0, 1, 0x10000, 0xffff, UINT64_MAX, UINT64_MAX - PART,
					INT64_MAX, UINT64_C(1) << 47, 4096 };
	const unsigned int n = sizeof(odd) / sizeof(odd[0]);
	uint8_t *fence = mmap(NULL, 3 * LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sn_direct_slot *s = slot();

	mprotect(fence + LEN, LEN, PROT_READ | PROT_WRITE);
	for (unsigned int i = 0; i < n * n * n; i++) {
		uint64_t at = odd[i / n / n];

		s->start = odd[i % n];
		s->len = odd[i / n % n];
		/* What its addresses come to, where they come to any, is here, and is no stranger's. */
		s->at = (uintptr_t)fence + LEN + (at < LEN ? at : LEN - PART / 2) -
			(DIRECT_START + at - s->start);
		put_at(at);
		s->at = at;
		if (s->start == DIRECT_START)	/* so it is not this page, and not by chance */
			cr_assert_not(put_at(at) && at < LEN);
		cr_assert_eq(us.out->busy, 0);
	}
	cr_assert_eq(part[0], 0x5a);
	s->start = DIRECT_START;
	s->len = LEN;
	s->at = (uintptr_t)memory;
	cr_assert(!us.pid || put_at(0));
}

static void *copies_slowly(void *arg)
{
	struct sn_direct_slot *s = arg;

	while (atomic_load(&s->valid))
		sched_yield();
	th_sleep_ms(20);
	memory[0] = 0x77;
	atomic_store(&words->busy, 0);
	return NULL;
}

/* As long as it takes: what is withdrawn is not written any more afterwards. */
Test(direct, withdraw__waits_for_a_copy_under_way)
{
	pthread_t thread;

	atomic_store(&words->busy, 1);
	cr_assert_eq(pthread_create(&thread, NULL, copies_slowly, slot()), 0);
	sn_direct_withdraw(&it);
	cr_assert_eq(memory[0], 0x77);
	pthread_join(thread, NULL);
	cr_assert_not(put_at(0));
}

/* The dead copy nothing: their socket is closed after their last system call. */
Test(direct, withdraw__from_one_that_died_in_the_midst)
{
	atomic_store(&words->busy, 1);
	close(direct_socks[0]);
	sn_direct_withdraw(&it);
	cr_assert_not(it.any);
}

Test(direct, kernel__forbids_it)
{
	struct sn_grant what = some(0);

	direct_forbid(SYS_process_vm_writev);
	cr_assert(sn_direct_granted(&us, &what));
	cr_assert_not(put_at(0));
	/* And is not asked again. */
	cr_assert_not(sn_direct_granted(&us, &what));
	cr_assert_eq(memory[0], 0);
	cr_assert_eq(words->busy, 0);
	sn_direct_withdraw(&it);
}
