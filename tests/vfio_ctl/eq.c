/* SPDX-License-Identifier: BSD-2-Clause */
/* Event queues and channels without a device: the test itself writes the rings. */
#include <criterion/criterion.h>
#include <errno.h>

#include "tests/harness/harness.h"
#include "hw_mlx5/ctl/eq.h"
#include "tests/vfio_ctl/vfio_ctl.h"

static struct m5_events events;
static struct m5_eqe ring[16];
static struct m5_eq eq = { .ring = ring, .log = 4 };

static void setup(void)
{
	cr_assert_eq(m5_events_open(&events), 0);
	m5_eq_init(&eq);
}

static void teardown(void)
{
	m5_events_close(&events);
}

TestSuite(eq, .init = setup, .fini = teardown, .timeout = 120);

/* Writes the n-th entry like a device: the owner bit alternates with each lap. */
static void put(uint32_t n, uint8_t type, uint32_t number)
{
	struct m5_eqe *e = &ring[n % 16];

	e->type = type;
	e->data[6] = cpu_to_be32(number);
	e->owner = n / 16 & 1;
}

static struct m5_evch *channel(void)
{
	struct m5_evch *ch = NULL;

	cr_assert_eq(m5_evch_open(NULL, &ch), 0);
	return ch;
}

/* The numbers 1 and 65 have the same hash. */
Test(eq, m5_eq_read__completion_goes_to_the_channel_of_its_cq)
{
	struct m5_evch *a = channel(), *b = channel();
	struct m5_cq_link one, other;

	m5_events_bind(&events, &one, 1, a);
	m5_events_bind(&events, &other, 65, b);
	put(0, M5_EV_COMPLETION, 1);
	cr_assert_not(m5_eq_read(&eq, &events));
	cr_assert_eq(m5_evch_drain(a), 1);
	cr_assert_eq(m5_evch_drain(b), 0);
	m5_events_unbind(&events, &one);
	put(1, M5_EV_COMPLETION, 1);
	put(2, M5_EV_COMPLETION, 65);
	cr_assert_not(m5_eq_read(&eq, &events));
	cr_assert_eq(m5_evch_drain(a), 0);
	cr_assert_eq(m5_evch_drain(b), 1);
	m5_events_unbind(&events, &other);
	m5_evch_close(a);
	m5_evch_close(b);
}

/* The device gets the consumer index before the whole ring has been read. */
Test(eq, m5_eq_read__stops_after_a_quarter)
{
	struct m5_event ev;

	for (uint32_t n = 0; n < 6; n++)
		put(n, M5_EV_SRQ_LIMIT, n);
	cr_assert(m5_eq_read(&eq, &events));
	cr_assert_eq(be32_to_cpu(m5_eq_doorbell(&eq)), 4);
	cr_assert_not(m5_eq_read(&eq, &events));
	cr_assert_eq(be32_to_cpu(m5_eq_doorbell(&eq)), 6);
	for (uint32_t n = 0; n < 6; n++) {
		cr_assert_eq(m5_events_read(&events, &ev), 1);
		cr_assert_eq(ev.kind, M5_EVENT_SRQ_LIMIT);
		cr_assert_eq(ev.number, n);
	}
	cr_assert_eq(m5_events_read(&events, &ev), 0);
}

/* Behind VFIO the link may come up, and go down again, before the driver has prepared the ring. */
Test(eq, m5_eq_read__after_skipped_events_reads_all_others)
{
	enum { BEFORE = 2 };
	struct m5_event ev;

	for (uint32_t n = 0; n < BEFORE; n++)
		put(n, M5_EV_PORT_CHANGE, 0);
	m5_eq_init(&eq);
	m5_eq_skip(&eq, BEFORE);
	for (uint32_t n = BEFORE; n < 40; n++) {
		cr_assert_not(m5_eq_read(&eq, &events));
		cr_assert_eq(m5_events_read(&events, &ev), 0, "event %u is delivered early", n);
		put(n, M5_EV_SRQ_LIMIT, n);
		cr_assert_not(m5_eq_read(&eq, &events));
		cr_assert_eq(m5_events_read(&events, &ev), 1, "event %u is not delivered", n);
		cr_assert_eq(ev.number, n);
		cr_assert_eq(m5_events_read(&events, &ev), 0);
	}
}

/* Puts events 0 to n - 1. Those from first on must be read, after the report that others were lost. */
static void survive(uint32_t n, uint32_t first)
{
	struct m5_event ev = { .kind = M5_EVENT_QP };

	for (uint32_t i = 0; i < n; i++) {
		ev.number = i;
		m5_events_put(&events, &ev);
	}
	if (first) {
		cr_assert_eq(m5_events_read(&events, &ev), 1);
		cr_assert_eq(ev.kind, M5_EVENT_LOST);
	}
	for (uint32_t i = first; i < n; i++) {
		cr_assert_eq(m5_events_read(&events, &ev), 1);
		cr_assert_eq(ev.number, i);
	}
	cr_assert_eq(m5_events_read(&events, &ev), 0);
}

/* One event for each QP of a process that has thousands. */
Test(eq, m5_events_put__of_thousands_loses_none)
{
	survive(10, 0);
	survive(5000, 0);
	survive(5000, 0);
}

/* If a process does not read its events, the oldest are lost. */
Test(eq, m5_events_put__without_room_loses_the_oldest)
{
	survive(M5_ASYNC_MOST + 3, 3);
}

Test(eq, m5_events_put__without_memory_loses_the_oldest)
{
	th_fail_start(TH_FAIL_HEAP, 1);
	survive(M5_ASYNC_FIRST + 1, 1);
	th_fail_stop();
}

Test(eq, m5_evch_open__without_memory_or_descriptors_fails)
{
	struct m5_evch *ch = NULL;
	int err;

	th_fail_start(TH_FAIL_HEAP, 1);
	err = m5_evch_open(NULL, &ch);
	th_fail_stop();
	cr_assert_eq(err, -ENOMEM);
	calls_fail_named("eventfd", EMFILE);
	cr_assert_eq(m5_evch_open(NULL, &ch), -EMFILE);
	calls_stop();
	cr_assert_null(ch);
}
