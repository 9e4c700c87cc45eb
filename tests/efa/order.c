/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of writes as seen by a thread that polls memory: write_order=kept, and relaxed. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/efa/rig.h"

enum { LONG = 64 * 1024, WRITES = 20, SLOT = 64, SEEDS = 24 };

static struct rig r;

TestSuite(efa_order, .timeout = 60);

static void open_with(const char *order, const char *profile, unsigned int seed)
{
	char params[128];

	snprintf(params, sizeof(params), "adversarial=1 seed=%u efa_profile=%s write_order=%s", seed,
		 profile, order);
	rig_open_pair(&r, params);
	memset(r.a.mem, 0xa5, RIG_MEM);
	memset(r.b.mem, 0, RIG_MEM);
}

/* Have exactly the first slots been written? */
static bool is_prefix(const uint8_t *mem, uint32_t places, uint32_t size)
{
	bool ended = false;

	for (uint32_t i = 0; i < places; i++)
		for (uint32_t k = 0; k < (size < 8 ? size : 8u); k++) {
			bool written = mem[i * size + k];

			if (written && ended)
				return false;
			ended |= !written;
		}
	return true;
}

/* Polls until n writes have arrived. False: memory was written in another order. */
static bool in_order_until(unsigned int n, uint32_t places, uint32_t size)
{
	struct dap_event ev;
	bool ordered = true;

	for (unsigned int i = 0; n && i < 200000; i++) {
		if (rig_poll(r.b.recv, &ev))
			cr_assert_fail("a receive completed that was not posted");
		ordered = ordered && is_prefix(r.b.mem, places, size);
		if (!rig_poll(r.a.req, &ev)) {
			efa_tick(efa_ia(r.ia)->eng);
			continue;
		}
		cr_assert_eq(ev.dto.status, DAP_DTO_SUCCESS, "a write failed: %s", fake.said);
		n--;
	}
	cr_assert_eq(n, 0, "not every write has completed");
	return ordered;
}

static bool long_write_in_order(const char *order, const char *profile, unsigned int seed)
{
	bool ordered;

	open_with(order, profile, seed);
	cr_assert_eq(rig_write(&r, &r.a, 1, 0, 0, LONG), DAT_SUCCESS);
	ordered = in_order_until(1, LONG, 1);
	cr_assert_eq(memcmp(r.a.mem, r.b.mem, LONG), 0);
	rig_close_pair(&r);
	return ordered;
}

static bool short_writes_in_order(const char *order, const char *profile, unsigned int seed)
{
	bool ordered;

	open_with(order, profile, seed);
	for (uint32_t i = 0; i < WRITES; i++)
		cr_assert_eq(rig_write(&r, &r.a, i, i * SLOT, i * SLOT, 8), DAT_SUCCESS);
	ordered = in_order_until(WRITES, WRITES, SLOT);
	rig_close_pair(&r);
	return ordered;
}

/* Profiles of devices with RDMA write. */
static const char *const writers[] = { "write", "unsol", "wide", "reqid64" };

static void all_kept(bool (*run)(const char *, const char *, unsigned int), const char *profile)
{
	for (unsigned int seed = 1; seed <= SEEDS; seed++)
		cr_assert(run("kept", profile, seed),
			  "profile %s, seed %u: data became visible out of order", profile, seed);
}

Test(efa_order, write__kept_becomes_visible_in_ascending_order)
{
	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++)
		all_kept(long_write_in_order, writers[i]);
}

Test(efa_order, writes__kept_become_visible_as_posted)
{
	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++)
		all_kept(short_writes_in_order, writers[i]);
}

Test(efa_order, writes__emulated_become_visible_as_posted)
{
	all_kept(long_write_in_order, "read");
	all_kept(short_writes_in_order, "read");
}

/* Shows that the tests above detect reordering: with an EFA that reorders writes, they find a wrong
 * order. */
Test(efa_order, writes__relaxed_become_visible_in_any_order)
{
	unsigned int longs = 0, shorts = 0;

	for (unsigned int seed = 1; seed <= SEEDS; seed++) {
		longs += !long_write_in_order("relaxed", "wide", seed);
		shorts += !short_writes_in_order("relaxed", "wide", seed);
	}
	cr_assert(longs, "no long write was reordered by the relaxed device");
	cr_assert(shorts, "no series of writes was reordered by the relaxed device");
}

/* During the call a write of one packet is posted to the device. */
Test(efa_order, write__kept_of_one_packet_is_native)
{
	struct efa_ep *e;
	uint32_t before;

	open_with("kept", "wide", 1);
	e = efa_ep(r.a.ep);
	before = e->sq.pi;
	cr_assert_eq(rig_write(&r, &r.a, 1, 0, 0, e->tx.mtu), DAT_SUCCESS);
	cr_assert_eq(e->sq.pi, before + 1);
	cr_assert_eq(e->tx.waiting, 0);
	cr_assert(in_order_until(1, 1, 1));
	rig_close_pair(&r);
}

Test(efa_order, open__unknown_order_is_refused)
{
	struct efa_params p;
	char why[128] = "";

	cr_assert_lt(efa_params_parse("write_order=none", &p, why, sizeof(why)), 0);
	cr_assert(strstr(why, "write_order"), "the error does not name write_order: %s", why);
}

/* The peer delivers a message after the writes before it, which it counts by their numbers. A write without
 * credit has no number. */
Test(efa_order, send__waits_for_a_write_that_had_no_credit)
{
	struct efa_tx *tx;
	uint32_t seq;

	open_with("relaxed", "wide", 1);
	tx = &efa_ep(r.a.ep)->tx;
	cr_assert_eq(rig_write(&r, &r.a, 1, 0, 0, SLOT), DAT_SUCCESS);
	rig_next(&r, r.a.req);
	tx->limit = tx->seq;
	cr_assert_eq(rig_write(&r, &r.a, 2, 0, SLOT, SLOT), DAT_SUCCESS);
	cr_assert_eq(tx->waiting, 0, "the write was not posted");
	seq = tx->seq;
	tx->limit += 4;
	cr_assert_eq(rig_recv(&r, &r.b, 1, 0, SLOT), DAT_SUCCESS);
	cr_assert_eq(rig_send(&r, &r.a, 3, 0, SLOT), DAT_SUCCESS);
	cr_assert_eq(tx->seq, seq, "the send was posted beside the write");
	cr_assert_eq(rig_write(&r, &r.a, 4, 0, 2 * SLOT, SLOT), DAT_SUCCESS);
	for (uint64_t cookie = 2; cookie <= 4; cookie++)
		cr_assert_eq(rig_next(&r, r.a.req).dto.cookie, cookie);
	rig_next(&r, r.b.recv);
	rig_close_pair(&r);
}
