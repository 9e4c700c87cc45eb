/* SPDX-License-Identifier: BSD-2-Clause */
/* A device that has failed fatally: its peers. */
#include <criterion/criterion.h>

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
