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

/* ---- Acknowledgements beside a read ---- */

enum { BATCH = RIG_DTOS, BATCHES = EFA_MAX_AHEAD / BATCH + 8 };

static void exchange_batch(void)
{
	for (uint64_t i = 0; i < BATCH; i++) {
		cr_assert_eq(rig_recv(&r, &r.b, i, 0, 8), DAT_SUCCESS);
		cr_assert_eq(rig_send(&r, &r.a, i, 0, 8), DAT_SUCCESS);
	}
	for (uint64_t i = 0; i < BATCH; i++) {
		cr_assert_eq(rig_next(&r, r.b.recv).dto.status, DAP_DTO_SUCCESS, "%s", fake.said);
		cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_SUCCESS, "%s", fake.said);
	}
}

/* The first packets of the read are lost, so it is outstanding while the messages arrive. */
Test(efa_counters, sends__to_an_endpoint_that_reads_do_not_wait_for_its_read)
{
	struct dap_event ev;

	rig_open_pair(&r, "seed=7 efa_reorder=1");
	cr_assert_eq(rig_read(&r, &r.b, 1, 0, 4096, 8), DAT_SUCCESS);
	cr_assert_eq(rig_next(&r, r.b.req).dto.status, DAP_DTO_SUCCESS);
	cr_assert_eq(softnic_efa_fault(r.nic, "drop:op=read,times=6"), 0);
	cr_assert_eq(rig_read(&r, &r.b, 2, 0, 4096, 8), DAT_SUCCESS);
	for (unsigned int i = 0; i < BATCHES; i++)
		exchange_batch();
	cr_assert_not(rig_poll(r.b.req, &ev), "the messages waited for the end of the read");
	ev = rig_next(&r, r.b.req);
	cr_assert_eq(ev.dto.cookie, 2);
	cr_assert_eq(ev.dto.status, DAP_DTO_SUCCESS, "%s", fake.said);
	rig_close_pair(&r);
}

/* The same for a write. At 100 Gb/s one of 1 GiB takes 86 ms. */
Test(efa_counters, sends__to_an_endpoint_that_writes_do_not_wait_for_its_long_write)
{
	enum { LONG = EFA_MOST_NUMBERED + 4096 };
	struct dap_event ev;

	rig_open_pair(&r, "seed=7 efa_reorder=1 write_order=relaxed");
	rig_memory(&r, LONG);
	cr_assert_eq(rig_write(&r, &r.b, 1, 0, 4096, 8), DAT_SUCCESS);
	cr_assert_eq(rig_next(&r, r.b.req).dto.status, DAP_DTO_SUCCESS);
	cr_assert_eq(softnic_efa_fault(r.nic, "drop:op=write,times=2800"), 0);
	memset(r.b.mem, 0xa5, LONG);
	cr_assert_eq(rig_write(&r, &r.b, 2, 0, 0, LONG), DAT_SUCCESS);
	for (unsigned int i = 0; i < BATCHES; i++)
		exchange_batch();
	cr_assert_not(rig_poll(r.b.req, &ev), "the messages waited for the end of the write");
	ev = rig_next(&r, r.b.req);
	cr_assert_eq(ev.dto.cookie, 2);
	cr_assert_eq(ev.dto.status, DAP_DTO_SUCCESS, "%s", fake.said);
	cr_assert_eq(memcmp(r.a.mem + 64, r.b.mem + 64, LONG - 64), 0);
	rig_close_pair(&r);
}

/* The send's slot becomes free before that of the older read, and the next read takes it. */
Test(efa_counters, sends__beside_reads_that_take_slots_in_another_order_go_on)
{
	rig_open_pair(&r, "seed=7 efa_reorder=1");
	cr_assert_eq(rig_read(&r, &r.b, 1, 0, 4096, 8), DAT_SUCCESS);
	cr_assert_eq(rig_next(&r, r.b.req).dto.status, DAP_DTO_SUCCESS);
	cr_assert_eq(softnic_efa_fault(r.nic, "drop:op=read,times=12"), 0);
	cr_assert_eq(rig_recv(&r, &r.a, 2, 0, 8), DAT_SUCCESS);
	cr_assert_eq(rig_send(&r, &r.b, 2, 0, 8), DAT_SUCCESS);
	cr_assert_eq(rig_read(&r, &r.b, 3, 0, 4096, 8), DAT_SUCCESS);
	cr_assert_eq(rig_next(&r, r.a.recv).dto.status, DAP_DTO_SUCCESS);
	cr_assert_eq(rig_next(&r, r.b.req).dto.cookie, 2);
	cr_assert_eq(rig_read(&r, &r.b, 4, 0, 4096, 8), DAT_SUCCESS);
	for (unsigned int i = 0; i < BATCHES; i++)
		exchange_batch();
	for (uint64_t i = 3; i <= 4; i++)
		cr_assert_eq(rig_next(&r, r.b.req).dto.cookie, i);
	for (unsigned int i = 0; i < 3 * BATCHES; i++)
		exchange_batch();
	rig_close_pair(&r);
}

/* ---- Numbers of receives ---- */

/* The adapter has the data of the short message, but the failed receive before it flushes its receive. */
Test(efa_counters, ep_total__counts_flushed_receives_as_failed)
{
	struct dap_ep_counts counts = { 0 };

	rig_open_pair(&r, "seed=7 efa_rendezvous=32768");
	cr_assert_eq(rig_recv(&r, &r.b, 1, 0, LONG), DAT_SUCCESS);
	cr_assert_eq(rig_recv(&r, &r.b, 2, LONG, 8), DAT_SUCCESS);
	cr_assert_eq(rig_send(&r, &r.a, 3, 0, LONG), DAT_SUCCESS);
	cr_assert_eq(rig_send(&r, &r.a, 4, 0, 8), DAT_SUCCESS);
	while (softnic_efa_pump(r.nic))
		;
	cr_assert_eq(softnic_efa_fault(r.nic, "status=7:1"), 0);
	cr_assert_eq(rig_next(&r, r.b.recv).dto.status, DAP_DTO_REMOTE_ACCESS, "%s", fake.said);
	cr_assert_eq(rig_next(&r, r.b.recv).dto.status, DAP_DTO_FLUSHED, "%s", fake.said);
	efa_hw.ep_total(r.b.ep, &counts);
	cr_assert_eq(counts.work[DAP_COUNT_RECV_FAILED].number, 2);
	cr_assert_eq(counts.work[DAP_COUNT_RECV].bytes, 0);
	rig_close_pair(&r);
}
