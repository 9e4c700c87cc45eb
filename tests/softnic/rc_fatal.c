/* SPDX-License-Identifier: BSD-2-Clause */
/* A device that has failed fatally: its peers, and its own thread. */
#include <criterion/criterion.h>
#include <sys/resource.h>

#include "tests/harness/harness.h"
#include "tests/softnic/rc_rig.h"

static struct rig ra, rb;
static struct rig_qp a, b;

static void write_to_peer(void)
{
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data, .len = 8, .raddr = rb.data,
					   .rkey = rb.key});
}

/* A device that has failed answers nothing, like one without power. */
Test(rc_fatal, peer__of_a_failed_device_gets_a_transport_error, .timeout = 60)
{
	rig_open_pair(&ra, &rb, &a, &b, SOFTNIC_NO_THREAD, &(struct rig_conn){.retry = 1});
	cr_assert_eq(softnic_fault(rb.nic, "fatal"), 0);
	write_to_peer();
	cr_assert_eq(rig_wait(&ra, &rb).syndrome, 0x15);
	cr_expect_eq(rig_counters(&rb).naks, 0);
	rig_close_pair(&ra, &rb, "", "");
}

static uint64_t cpu_ms(void)
{
	struct rusage u;

	cr_assert_eq(getrusage(RUSAGE_SELF, &u), 0);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

/* The timers of the failed device never run, so its thread must not wait for one that has expired. */
Test(rc_fatal, thread__of_a_failed_device_sleeps, .timeout = 60)
{
	enum { TIMEOUT_MS = 50, SLEEP_MS = 200 };
	uint64_t before;

	rig_open(&ra, 0, 1);
	rig_open(&rb, SOFTNIC_NO_THREAD, 2);
	rig_qp(&ra, &a);
	rig_qp(&rb, &b);
	rig_connect(&a, &b, NULL);
	write_to_peer();
	cr_assert_eq(softnic_fault(ra.nic, "fatal"), 0);
	th_sleep_ms(TIMEOUT_MS);
	before = cpu_ms();
	th_sleep_ms(SLEEP_MS);
	cr_expect_lt(cpu_ms() - before, SLEEP_MS / 10, "the thread used the CPU for %u ms of %u",
		     (unsigned int)(cpu_ms() - before), SLEEP_MS);
	rig_close_pair(&ra, &rb, "", "");
}
