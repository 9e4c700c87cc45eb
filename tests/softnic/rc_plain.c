/* SPDX-License-Identifier: BSD-2-Clause */
/* The fast path applies all checks, also after many correct messages. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/softnic/rc_rig.h"

enum { BF = 0x800, LOG_SQ = 8, POLLS = 32, OFTEN = 20 };

static struct rig ra, rb;
static struct rig_qp a, b;

/* Drives the device often, as a program that polls does. */
static void poll_often(struct rig *rig)
{
	unsigned int i;

	for (i = 0; i < POLLS; i++)
		softnic_pump(rig->nic);
}

static void setup(void)
{
	rig_open_pair(&ra, &rb, &a, &b, SOFTNIC_NO_THREAD, NULL);
	poll_often(&rb);
}

static void teardown(void)
{
	rig_close(&ra);
	rig_close(&rb);
}

TestSuite(rc_plain, .init = setup, .fini = teardown, .timeout = 60);

/* Checks that only these violations have been counted, and at least one of them. */
static void expect_seen(struct rig *rig, const char *names)
{
	struct softnic_violation v[32];

	cr_assert_gt(softnic_violations(rig->nic, v, 32), 0);
	rig_expect_violations(rig, names);
}

static struct rig_wr write_of(uint8_t *from)
{
	return (struct rig_wr){.op = RIG_WRITE, .va = from, .len = 8, .raddr = rb.data, .rkey = rb.key};
}

/* Rings a doorbell and passes the WQE in its queue, as the driver in this process does. */
static void blueflame(uint16_t index, uint16_t record)
{
	__atomic_store_n(&a.dbr[1].be, htobe32(record), __ATOMIC_RELEASE);
	softnic_mmio_write(ra.nic, ra.uar, BF, a.sq + (index & ((1u << LOG_SQ) - 1)) * 64, 64);
}

static void write_by_blueflame(uint8_t *from)
{
	struct rig_wr wr = write_of(from);
	uint16_t index = rig_post(&a, &wr);

	blueflame(index, a.sq_pi);
}

static void write_often(void)
{
	unsigned int i;

	for (i = 0; i < OFTEN; i++) {
		write_by_blueflame(ra.data + 8 * i);
		cr_assert_eq(rig_wait(&ra, &rb).op, 0);
	}
}

Test(rc_plain, blueflame__is_on_its_way_when_the_doorbell_returns)
{
	struct softnic_counters ctr;

	rig_fill(ra.data, 8 * OFTEN, 3);
	write_by_blueflame(ra.data + 8);
	softnic_pump(rb.nic);
	cr_assert_arr_eq(rb.data, ra.data + 8, 8);
	cr_assert_eq(rig_wait(&ra, &rb).op, 0);
	write_often();
	cr_assert_arr_eq(rb.data, ra.data + 8 * (OFTEN - 1), 8);
	softnic_counters(ra.nic, &ctr);
	cr_assert_eq(ctr.blueflames, OFTEN + 1);
	cr_assert_eq(ctr.wqes, OFTEN + 1);
	rig_expect_violations(&ra, "");
	rig_expect_violations(&rb, "");
}

Test(rc_plain, doorbell__that_its_record_belies_is_seen)
{
	struct rig_wr wr = write_of(ra.data);
	uint16_t index;

	write_often();
	index = rig_post(&a, &wr);
	rig_post(&a, &wr);
	blueflame(index, a.sq_pi);
	expect_seen(&ra, "db.record");
	cr_assert_eq(rig_wait(&ra, &rb).op, 0);
	cr_assert_eq(rig_wait(&ra, &rb).op, 0);
}

Test(rc_plain, wqe__with_a_reserved_bit_is_seen)
{
	struct rig_wr wr = write_of(ra.data);
	uint16_t index;

	write_often();
	index = rig_post(&a, &wr);
	a.sq[(index & ((1u << LOG_SQ) - 1)) * 64 + 8] = 1;
	blueflame(index, a.sq_pi);
	expect_seen(&ra, "wqe.reserved_bits");
	cr_assert_eq(rig_wait(&ra, &rb).op, 0);
}

Test(rc_plain, write__after_its_key_is_destroyed_is_refused)
{
	write_often();
	memset(rb.data, 0, 8);
	rig_fill(ra.data, 8, 9);
	rig_destroy_key(&rb, rb.key);
	write_by_blueflame(ra.data);
	cr_assert_eq(rig_wait(&ra, &rb).syndrome, 0x13);
	cr_assert_arr_eq(rb.data, ((uint8_t[8]){0}), 8);
	expect_seen(&rb, "remote.access");
}

Test(rc_plain, write__beyond_a_key_in_use_is_refused)
{
	rb.key = rig_key(&rb, rb.data, 8, 15);
	write_often();
	rb.data += 1;
	write_by_blueflame(ra.data);
	cr_assert_eq(rig_wait(&ra, &rb).syndrome, 0x13);
	rb.data -= 1;
	expect_seen(&rb, "remote.access");
}

static struct rig_cqe message(void)
{
	struct rig_cqe cqe;

	rig_recv(&b, rb.data, 64);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = 8});
	cqe = rig_wait(&rb, &ra);
	rig_wait(&ra, &rb);
	return cqe;
}

Test(rc_plain, send__into_a_destroyed_key_fails)
{
	unsigned int i;

	for (i = 0; i < OFTEN; i++)
		cr_assert_eq(message().op, 2);
	rig_destroy_key(&rb, rb.key);
	cr_assert_eq(message().syndrome, 0x04);
	expect_seen(&rb, "mkey.stale,remote.operational");
}

Test(rc_plain, message__longer_than_its_receive_fails)
{
	unsigned int i;

	for (i = 0; i < OFTEN; i++)
		cr_assert_eq(message().op, 2);
	rig_recv(&b, rb.data, 7);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = 8});
	cr_assert_eq(rig_wait(&rb, &ra).syndrome, 0x01);
}
