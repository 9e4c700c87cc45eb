/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of the CQ for a waiter. Writes of a peer cause no DAT event, but each has a completion in
 * the CQ. */
#include <criterion/criterion.h>
#include <poll.h>

#include "tests/efa/rig.h"

TestSuite(efa_wake, .timeout = 60);

static struct rig r;

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void device_works(void)
{
	while (softnic_efa_pump(r.nic))
		;
}

/* Makes one write. The sender takes its completion. */
static void write_once(void)
{
	struct dap_event ev;

	cr_assert_eq(rig_write(&r, &r.a, 1, 0, 0, 8), DAT_SUCCESS);
	do {
		device_works();
	} while (!rig_poll(r.a.req, &ev));
	cr_assert_eq(ev.dto.status, DAP_DTO_SUCCESS);
}

Test(efa_wake, stream_of_writes__stops_to_wake_the_waiter)
{
	unsigned int wakes = 0;
	struct dap_event ev;
	int fd;

	rig_open_pair(&r, "seed=7 write_order=relaxed");
	cr_assert_eq(efa_hw.cq_arm(r.b.recv, false), 0);
	fd = efa_hw.cq_fd(r.b.recv);
	for (unsigned int i = 0; i < 8 * EFA_FRUITLESS; i++) {
		write_once();
		if (!is_readable(fd))
			continue;
		wakes++;
		efa_hw.cq_drain_fd(r.b.recv);
		cr_assert_not(efa_hw.cq_poll(r.b.recv, &ev));
		cr_assert_eq(efa_hw.cq_arm(r.b.recv, false), 0);
	}
	cr_assert_geq(wakes, 1);
	cr_assert_leq(wakes, EFA_FRUITLESS, "the thread woke %u times without an event", wakes);

	/* After the last write, a message wakes the waiter at once. */
	cr_assert_eq(rig_recv(&r, &r.b, 2, 0, 8), DAT_SUCCESS);
	efa_tick(efa_ia(r.ia)->eng);
	efa_tick(efa_ia(r.ia)->eng);
	cr_assert_eq(rig_send(&r, &r.a, 3, 0, 8), DAT_SUCCESS);
	device_works();
	cr_assert(is_readable(fd));
	efa_hw.cq_drain_fd(r.b.recv);
	cr_assert(efa_hw.cq_poll(r.b.recv, &ev));
	cr_assert_eq(ev.dto.cookie, 2);
}
