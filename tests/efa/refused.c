/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA writes that are refused in part. If their first packets are refused, the other packets and later
 * writes change nothing, and later sends are not delivered. If their last packets are refused, no byte
 * outside of the window changes.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/efa/rig.h"

enum { LEN = 30000, BEFORE = 20000, SEEDS = 40 };

TestSuite(efa_refused, .timeout = 120);

static struct rig r;

/* Writes to offset `at` of the memory that the context opens. */
static DAT_RETURN write_to(uint32_t context, int at)
{
	DAT_LMR_TRIPLET from = {
		.lmr_context = r.a.lmr->lmr_context, .segment_length = LEN,
		.virtual_address = (DAT_VADDR)(uintptr_t)r.a.mem,
	};
	DAT_RMR_TRIPLET to = {
		.rmr_context = context, .segment_length = LEN,
		.target_address = (DAT_VADDR)(uintptr_t)r.b.mem + (DAT_VADDR)at,
	};

	return r.hot->rdma_write(r.a.ep, 1, &from, (DAT_DTO_COOKIE){ .as_64 = 1 }, &to, 0);
}

/* The later write must not complete with success. */
static void drive_until_idle(void)
{
	struct dap_event ev;

	for (unsigned int i = 0; i < 1000; i++) {
		efa_tick(efa_ia(r.ia)->eng);
		cr_assert(!rig_poll(r.a.req, &ev) || ev.dto.status == DAP_DTO_FLUSHED);
		cr_assert(!rig_poll(r.b.recv, &ev));
	}
}

static struct dap_rmr *rmr;

/* Opens LEN bytes of b's memory, and returns the context. */
static uint32_t open_with(const char *profile, unsigned int seed)
{
	uint32_t context;
	char params[80];

	snprintf(params, sizeof(params), "seed=%u efa_profile=%s", seed, profile);
	rig_open_pair(&r, params);
	rmr = rig_rmr(&r, &r.b);
	cr_assert_eq(rig_bind(rmr, &r.b, LEN, &context), 0);
	cr_assert_eq(rig_next(&r, r.b.req).number, DAP_EV_RMR_BIND);
	memset(r.a.mem, 0xee, RIG_MEM);
	memset(r.b.mem, 0x11, RIG_MEM);
	return context;
}

static void close_all(void)
{
	efa_hw.rmr_destroy(rmr);
	free(rmr);
	rig_close_pair(&r);
}

static void refuse_with(const char *profile, unsigned int seed)
{
	uint32_t context = open_with(profile, seed);

	cr_assert_eq(write_to(context, -BEFORE), DAT_SUCCESS);
	cr_assert_eq(rig_write(&r, &r.a, 2, 0, LEN, 8), DAT_SUCCESS);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_REMOTE_ACCESS,
		     "%s, seed %u: the write was not refused", profile, seed);
	drive_until_idle();
	for (unsigned int i = 0; i < LEN + 8; i++)
		cr_assert_eq(r.b.mem[i], 0x11, "%s, seed %u: the refused write changed byte %u",
			     profile, seed, i);
	close_all();
}

Test(efa_refused, write__emulated_changes_nothing)
{
	for (unsigned int seed = 1; seed <= SEEDS; seed++)
		refuse_with("read", seed);
}

Test(efa_refused, write__native_changes_nothing)
{
	for (unsigned int seed = 1; seed <= SEEDS; seed++)
		refuse_with("wide", seed);
}

static void send_behind(const char *profile, unsigned int seed)
{
	uint32_t context = open_with(profile, seed);

	cr_assert_eq(rig_recv(&r, &r.b, 3, LEN, 64), DAT_SUCCESS);
	cr_assert_eq(write_to(context, -BEFORE), DAT_SUCCESS);
	cr_assert_eq(rig_send(&r, &r.a, 4, 0, 8), DAT_SUCCESS);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_REMOTE_ACCESS,
		     "%s, seed %u: the write was not refused", profile, seed);
	drive_until_idle();
	close_all();
}

Test(efa_refused, send__behind_a_refused_write_is_not_delivered)
{
	for (unsigned int seed = 1; seed <= SEEDS; seed++) {
		send_behind("read", seed);
		send_behind("wide", seed);
	}
}

/* dat_ep_post_rdma_write(3): bytes up to the end of the window may be changed. */
static void exceed_with(const char *profile, unsigned int seed)
{
	uint32_t context = open_with(profile, seed);

	cr_assert_eq(write_to(context, BEFORE), DAT_SUCCESS);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_REMOTE_ACCESS,
		     "%s, seed %u: the write was not refused", profile, seed);
	drive_until_idle();
	for (unsigned int i = 0; i < LEN + BEFORE; i++)
		cr_assert(r.b.mem[i] == 0x11 || (i >= BEFORE && i < LEN && r.b.mem[i] == 0xee),
			  "%s, seed %u: the refused write changed byte %u outside the window",
			  profile, seed, i);
	close_all();
}

Test(efa_refused, write__beyond_a_window_changes_no_byte_outside)
{
	for (unsigned int seed = 1; seed <= SEEDS; seed++) {
		exceed_with("read", seed);
		exceed_with("wide", seed);
	}
}
