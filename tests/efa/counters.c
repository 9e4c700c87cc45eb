/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints with many messages behind them, and the numbers that the driver derives from their counters. */
#include <criterion/criterion.h>

#include "tests/efa/rig.h"
#include "tests/harness/harness.h"

enum { LONG = 60000, STEPS = 100000 };

TestSuite(efa_counters, .timeout = 120);

static struct rig r;
static volatile unsigned int steps;

static void look(const uint8_t *insn)
{
	(void)insn;
	if (++steps == STEPS)
		cr_assert_fail("the driver searches receives that were delivered long ago");
}

/* As if the endpoint had received that many messages, none of them long. */
static void has_received(uint32_t messages)
{
	struct efa_ep *e = efa_ep(r.b.ep);

	e->rx.posted = e->rx.match = e->rx.done = messages;
	e->free_at[EFA_RECEIVES] = messages + e->rx.max;
}

static void push(void)
{
	efa_push(r.b.ep);
}

static void step_over(void (*call)(void))
{
	steps = 0;
	if (!th_step(call, look))
		cr_skip_test("a call can be executed step by step only on x86-64");
	cr_assert_gt(steps, 10);
}

Test(efa_counters, queued_work__after_2_to_the_31_receives_is_issued_at_once)
{
	rig_open_pair(&r, "seed=7");
	has_received(UINT32_C(0x80000001));
	step_over(push);
	rig_close_pair(&r);
}

static void poll_receives(void)
{
	struct efa_engine *eng = efa_ia(r.ia)->eng;

	eng->driven = false;
	efa_drain(eng);
	eng->driven = true;
}

Test(efa_counters, long_message__after_2_to_the_31_receives_is_read_at_once)
{
	rig_open_pair(&r, "seed=7 efa_rendezvous=32768");
	has_received(UINT32_C(0x80000001));
	cr_assert_eq(rig_recv(&r, &r.b, 1, 0, LONG), DAT_SUCCESS);
	cr_assert_eq(rig_send(&r, &r.a, 2, 0, LONG), DAT_SUCCESS);
	while (softnic_efa_pump(r.nic))
		;
	step_over(poll_receives);
	cr_assert_eq(rig_next(&r, r.b.recv).dto.status, DAP_DTO_SUCCESS, "%s", fake.said);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_SUCCESS, "%s", fake.said);
	rig_close_pair(&r);
}
