/* SPDX-License-Identifier: BSD-2-Clause */
/* Fault scripts: each kind of fault has its effect, and runs with the same seed are equal. */
#include <criterion/criterion.h>

#include "tests/fabric/port.h"
#include "tests/harness/harness.h"

#define N 4000u

static struct port a, b;

static void open_pair(void)
{
	ports_open(&a, &b);
}

static void close_pair(void)
{
	ports_close(&a, &b);
}

static struct sn_fab_stats stream(const struct sn_fab_faults *faults)
{
	struct sn_fab_stats stats;
	uint32_t i;

	cr_assert_eq(sn_fab_set_faults(a.fab, faults), 0);
	for (i = 0; i < N; i++) {
		cr_assert_eq(port_send(&a, i, 100), 0);
		if (i % 64 == 63)
			ports_settle(&a, &b);
	}
	cr_assert_eq(sn_fab_set_faults(a.fab, &(struct sn_fab_faults){0}), 0);
	ports_settle(&a, &b);
	sn_fab_stats(a.fab, &stats);
	return stats;
}

Test(chaos, drop__loses_its_share, .init = open_pair, .fini = close_pair)
{
	struct sn_fab_stats s = stream(&(struct sn_fab_faults){.drop = 0.1, .seed = 1});

	cr_assert(s.dropped > N / 20 && s.dropped < N / 5);
	cr_assert_eq(b.got, N - s.dropped);
	cr_assert_eq(b.bad, 0);
}

Test(chaos, dup__repeats_its_share, .init = open_pair, .fini = close_pair)
{
	struct sn_fab_stats s = stream(&(struct sn_fab_faults){.dup = 0.1, .seed = 1});

	cr_assert(s.duplicated > N / 20 && s.duplicated < N / 5);
	cr_assert_eq(b.got, N + s.duplicated);
}

Test(chaos, reorder__changes_the_order_only, .init = open_pair, .fini = close_pair)
{
	struct sn_fab_stats s = stream(&(struct sn_fab_faults){.reorder = 0.1, .seed = 1});

	cr_assert(s.reordered > N / 20 && s.reordered < N / 5);
	cr_assert_eq(b.got, N);
	cr_assert_eq(b.bad, 0);
	cr_assert_gt(b.disordered, s.reordered / 2);
}

Test(chaos, corrupt__flips_one_bit_of_its_share, .init = open_pair, .fini = close_pair)
{
	struct sn_fab_stats s = stream(&(struct sn_fab_faults){.corrupt = 0.05, .seed = 1});

	cr_assert(s.corrupted > N / 40 && s.corrupted < N / 10);
	cr_assert_eq(b.got, N);
	cr_assert_gt(b.bad + b.disordered, s.corrupted / 2);
}

Test(chaos, delay__holds_back_until_the_deadline, .init = open_pair, .fini = close_pair)
{
	cr_assert_eq(sn_fab_deadline(a.fab), 0);
	cr_assert_eq(sn_fab_set_faults(a.fab, &(struct sn_fab_faults){.delay = 1}), 0);
	cr_assert_eq(port_send(&a, 0, 100), 0);
	cr_assert_gt(sn_fab_deadline(a.fab), 0);
	cr_assert(TH_WITHIN(20000, (sn_fab_poll(a.fab, 1), sn_fab_poll(b.fab, 1), b.got == 1)));
	cr_assert_eq(sn_fab_deadline(a.fab), 0);
}

static int ends_faults(int sock, void *arg)
{
	(void)sock;
	(void)arg;
	return sn_fab_set_faults(a.fab, &(struct sn_fab_faults){0});
}

/* The rings are not mapped in a child. */
Test(chaos, end__in_a_forked_child_sends_nothing, .init = open_pair, .fini = close_pair)
{
	struct th_child child;

	cr_assert_eq(sn_fab_set_faults(a.fab, &(struct sn_fab_faults){.delay = 1}), 0);
	cr_assert_eq(port_send(&a, 0, 100), 0);
	cr_assert_eq(th_spawn(&child, ends_faults, NULL), 0);
	cr_assert_eq(th_join(&child, 20000), 0);
	cr_assert(TH_WITHIN(20000, (sn_fab_poll(a.fab, 1), sn_fab_poll(b.fab, 1), b.got == 1)));
}

Test(chaos, seed__repeats_the_run)
{
	struct sn_fab_faults faults = {.drop = 0.05, .dup = 0.05, .corrupt = 0.05, .seed = 42};
	struct sn_fab_stats one, two, other;

	open_pair();
	one = stream(&faults);
	close_pair();
	open_pair();
	two = stream(&faults);
	close_pair();
	faults.seed = 43;
	open_pair();
	other = stream(&faults);
	close_pair();
	cr_assert(one.dropped == two.dropped && one.duplicated == two.duplicated &&
		  one.corrupted == two.corrupted);
	cr_assert(one.dropped != other.dropped || one.duplicated != other.duplicated ||
		  one.corrupted != other.corrupted);
}
