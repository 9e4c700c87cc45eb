/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of stores to an LLQ, which no model of the device can observe: the doorbell must not
 * overtake a WQE in write-combining memory.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "hw_efa/sq.h"
#include "tests/efa/rig.h"
#include "tests/harness/harness.h"

#define UNWRITTEN UINT64_C(0xa5a5a5a5a5a5a5a5)

static struct rig r;
static _Alignas(64) uint64_t ring[2048];
static volatile const uint64_t *slot;		/* the first word of the WQE */
static volatile unsigned int flushes, flushes_before;
static volatile bool written;

static void look(const uint8_t *insn)
{
	static const uint8_t sfence[3] = { 0x0f, 0xae, 0xf8 };

	if (!written && *slot != UNWRITTEN) {
		written = true;
		flushes_before = flushes;
	}
	flushes += !memcmp(insn, sfence, sizeof(sfence));
}

static void post(void)
{
	struct efa_wr wr = { .op = EFA_OP_SEND, .inl = true, .data = "x", .bytes = 1 };

	efa_wr_post(r.a.ep, &wr);
}

Test(efa_flush, slow_post__after_a_doorbell_flushes_before_its_wqe, .timeout = 60)
{
	struct efa_sq *sq, before;

	rig_open_pair(&r, "seed=7");
	sq = &efa_ep(r.a.ep)->sq;
	cr_assert_eq(sq->unrung, 0, "the last WQE got no doorbell");
	before = *sq;
	memset(ring, 0xa5, sizeof(ring));
	sq->next = (uint8_t *)ring;
	slot = ring;
	if (!th_step(post, look))
		cr_skip_test("a call can be executed step by step only on x86-64");
	cr_assert(written);
	cr_assert_gt(flushes_before, 0,
		     "no flush came before the WQE; the earlier doorbell may be late");
	efa_slot_free(sq, sq->ids[sq->used - 1]);
	*sq = before;
	rig_close_pair(&r);
}
