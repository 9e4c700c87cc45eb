/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Work that reaches the device while its thread is about to sleep. A caller that found the device busy
 * has left a kick, and no further call follows. The peer must get its answer nevertheless.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <semaphore.h>
#include <time.h>

#include "tests/harness/harness.h"
#include "tests/softnic/rc_rig.h"

enum { EQ_ARM = 0x40, CQ_ARM = 0x20, LEN = 64 };

static struct rig first, second, target;
static struct rig_qp from_first, from_second, to_first, to_second;
static sem_t in_irq, go_on;

/*
 * Stops the thread that drives the target, with the device locked, until the test lets it continue.
 */
static void irq(void *rig, unsigned int vector)
{
	(void)rig;
	(void)vector;
	sem_post(&in_irq);
	sem_wait(&go_on);
}

static void await_irq(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 20;
	cr_assert_eq(sem_timedwait(&in_irq, &end), 0, "the device raised no interrupt in time");
}

static void setup(void)
{
	sem_init(&in_irq, 0, 0);
	sem_init(&go_on, 0, 0);
	rig_open(&first, SOFTNIC_NO_THREAD, 1);
	rig_open(&second, SOFTNIC_NO_THREAD, 2);
	rig_open_irq(&target, 0, 3, irq);
	rig_qp(&first, &from_first);
	rig_qp(&second, &from_second);
	rig_qp(&target, &to_first);
	rig_qp(&target, &to_second);
	rig_connect(&from_first, &to_first, NULL);
	rig_connect(&from_second, &to_second, NULL);
	rig_recv(&to_first, target.data, LEN);
	rig_recv(&to_second, target.data, LEN);
}

static void teardown(void)
{
	rig_close(&first);
	rig_close(&second);
	rig_close(&target);
}

/* Arms the EQ. Its entry stays unread, so each arm raises an interrupt again. */
static void arm_eq(void)
{
	be32_t db[2] = {to_be32(target.eqn << 24)};

	softnic_mmio_write(target.nic, target.uar, EQ_ARM, db, sizeof(db));
}

static void arm_cq(void)
{
	be32_t db[2] = {to_be32(0), to_be32(target.cqn)};

	target.cq_dbr[1] = db[0];
	softnic_mmio_write(target.nic, target.uar, CQ_ARM, db, sizeof(db));
}

static void send_from(struct rig_qp *qp)
{
	rig_post_ring(qp, &(struct rig_wr){.op = RIG_SEND, .va = qp->rig->data, .len = LEN});
}

/* The kick must come after the device has armed its thread's wake-up. Which interrupt is the first
 * after that depends on the device, so tests try several. */
static void send_in_nth_irq(unsigned int n)
{
	setup();
	arm_eq();
	arm_cq();
	send_from(&from_first);
	for (unsigned int i = 1; i < n; i++) {
		await_irq();
		arm_eq();
		sem_post(&go_on);
	}
	await_irq();
	send_from(&from_second);
	sem_post(&go_on);
	cr_assert_eq(rig_wait(&second, NULL).op, 0);
	cr_assert_eq(rig_wait(&first, NULL).op, 0);
	teardown();
}

ParameterizedTestParameters(rc_kick, work_of_a_kick__is_finished_by_the_thread)
{
	static unsigned int nth[] = {1, 2, 3, 4, 5, 6};

	return cr_make_param_array(unsigned int, nth, sizeof(nth) / sizeof(nth[0]));
}

ParameterizedTest(unsigned int *nth, rc_kick, work_of_a_kick__is_finished_by_the_thread,
		  .timeout = 60)
{
	send_in_nth_irq(*nth);
}

/*
 * A call makes a link while the thread sleeps and the host waits for an event. The thread is woken by the
 * first packet in that link.
 */
Test(rc_kick, packet__in_a_link_that_is_local_made_wakes_the_thread, .timeout = 60)
{
	setup();
	arm_eq();
	arm_cq();
	/* gives the thread time to arm its wake-up; the test also passes if that comes later */
	th_sleep_ms(50);
	cr_assert_eq(softnic_is_local(target.nic, first.gid), 1);
	softnic_pump(first.nic);
	send_from(&from_first);
	await_irq();
	sem_post(&go_on);
	cr_assert_eq(rig_wait(&first, NULL).op, 0);
	teardown();
}
