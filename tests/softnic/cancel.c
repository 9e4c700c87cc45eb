/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread of the host is cancelled while it drives the device. The device's work is no cancellation point:
 * the thread ends after it, and other threads drive the device as before.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "softnic/mlx5/prm.h"
#include "tests/harness/harness.h"
#include "tests/softnic/rc_rig.h"

enum { LEN = 100 };

static struct rig ra, rb;
static struct rig_qp a, b;
static char path[] = "/tmp/softnic-cancel-XXXXXX";

static void setup(void)
{
	rig_open_pair(&ra, &rb, &a, &b, SOFTNIC_NO_THREAD, NULL);
	close(mkstemp(path));
}

static void teardown(void)
{
	unlink(path);
	rig_close_pair(&ra, &rb, "", "");
}

TestSuite(cancel, .init = setup, .fini = teardown, .timeout = 30);

static void send_one(void)
{
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = LEN});
}

/* Both completions of a send have to come. */
static void expect_arrival(void)
{
	cr_assert_eq(rig_wait(&ra, &rb).syndrome, 0);
	cr_assert_eq(rig_wait(&rb, &ra).len, LEN);
}

Test(cancel, captured_packet__of_a_cancelled_thread_is_sent)
{
	rig_recv(&b, rb.data, LEN);
	cr_assert_eq(softnic_capture(ra.nic, path), 0);
	cr_assert(th_cancelled(send_one));
	expect_arrival();
}

static void receive(void)
{
	softnic_pump(rb.nic);
}

Test(cancel, pause_of_a_quirk__of_a_cancelled_thread_ends_with_the_receive)
{
	rig_recv(&b, rb.data, LEN);
	send_one();
	expect_arrival();
	rig_recv(&b, rb.data, LEN);
	cr_assert_eq(softnic_fault(rb.nic, "quirk=slow_recv"), 0);
	send_one();
	cr_assert(th_cancelled(receive));
	expect_arrival();
}

static void query(void)
{
	uint8_t in[16] = { CMD_QUERY_ADAPTER >> 8, CMD_QUERY_ADAPTER & 0xff }, out[16];

	softnic_cmd(ra.nic, in, sizeof(in), out, sizeof(out));
}

Test(cancel, recorded_command__of_a_cancelled_thread_is_executed)
{
	setenv("SOFTNIC_COMMANDS", path, 1);
	cr_assert(th_cancelled(query));
	rig_recv(&b, rb.data, LEN);
	send_one();
	expect_arrival();
}
