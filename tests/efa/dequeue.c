/* SPDX-License-Identifier: BSD-2-Clause */
/* A dequeue that finds no completion, beside a thread that has taken the last event outside the CQ. */
#include <criterion/criterion.h>

#include "tests/efa/rig.h"
#include "tests/harness/harness.h"

static struct rig r;
/* number of the current instruction; number of the instruction at which the bit is cleared */
static unsigned int now, when;
static bool got;

static void clear_slow(const uint8_t *insn)
{
	(void)insn;
	if (now++ == when)
		__atomic_store_n(&r.a.recv->slow, 0, __ATOMIC_RELEASE);
}

static void dequeue(void)
{
	DAT_EVENT ev;

	got = r.hot->evd_dequeue(r.a.recv, &ev) == DAT_SUCCESS;
}

Test(efa_dequeue, dequeue__while_a_thread_clears_the_slow_bits_finds_no_event, .timeout = 60)
{
	rig_open_pair(&r, "seed=7 variant=silicon");
	for (when = 0; when <= now && when < 10000; when++) {
		r.a.recv->slow = DAP_SLOW_EARLY;
		now = 0;
		if (!th_step(dequeue, clear_slow))
			cr_skip_test("a call can be executed step by step only on x86-64");
		cr_assert_not(got, "an event that was never posted, at instruction %u", when);
	}
	cr_assert_gt(when, 10);
	rig_close_pair(&r);
}
