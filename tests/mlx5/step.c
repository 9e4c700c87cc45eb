/* SPDX-License-Identifier: BSD-2-Clause */
/* A poller counts a bind while another thread gives the RMR a new generation of keys. */
#include <criterion/criterion.h>

#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

#define OLD 5u
#define NEW 6u
#define COUNTED 3u

static struct rig r;
static struct dap_rmr *rmr;
static struct m5_slot slots[2];
static volatile unsigned int steps, renew_at;

/* Does the same as renew_keys() of hw_mlx5/rmr.c, between two instructions of the poller. */
static void renew(const uint8_t *insn)
{
	(void)insn;
	if (steps++ == renew_at)
		__atomic_store_n(&m5_rmr(rmr)->done, (uint64_t)NEW << 32, __ATOMIC_RELAXED);
}

static void count(void)
{
	m5_bind_done(slots, 0, 0, true);
}

Test(bind_step, bind_done__beside_renew_counts_nothing_of_the_new_generation, .timeout = 60)
{
	struct rig_config config = { 0 };
	uint64_t kept;

	cr_assert_eq(rig_open(&r, &config), 0);
	cr_assert_eq(rig_rmr(&r, &rmr), 0);
	kept = m5_rmr(rmr)->done;
	slots[1] = (struct m5_slot){ .cookie = (uintptr_t)rmr, .bytes = OLD };
	do {
		m5_rmr(rmr)->done = (uint64_t)OLD << 32 | COUNTED;
		steps = 0;
		if (!th_step(count, renew))
			cr_skip_test("a call can be executed step by step only on x86-64");
		cr_assert_eq(m5_rmr(rmr)->done,
			     renew_at < steps ? (uint64_t)NEW << 32
					      : (uint64_t)OLD << 32 | (COUNTED + 1),
			     "wrong state of the RMR after it was renewed before instruction %u of "
			     "%u",
			     renew_at, steps);
	} while (renew_at++ < steps);
	cr_assert_gt(steps, 10);
	m5_rmr(rmr)->done = kept;
	rig_rmr_free(rmr);
	rig_close(&r, NULL);
}

static struct dap_lmr *other;
static unsigned int held;

/* dat_lmr_free(3) refuses an LMR if this is true of an RMR. */
static void look(const uint8_t *insn)
{
	(void)insn;
	held += dap_rmr_is_bound(rmr) && rmr->lmr == other;
}

static void post_bind(const struct dap_hot *calls, const struct dap_lmr *lmr)
{
	DAT_LMR_TRIPLET to = rig_local(&r.b, 0, lmr ? 64 : 0);
	DAT_RMR_CONTEXT context;

	if (lmr)
		to.lmr_context = lmr->lmr_context;
	cr_assert_eq(calls->rmr_bind(rmr, &to, DAT_MEM_PRIV_REMOTE_READ_FLAG, r.b.ep, rig_cookie(1), 0,
				     &context), DAT_SUCCESS);
}

/* Calls the function for hardware, because the model takes many more instructions. The model gets its
 * doorbell with that of the next bind. */
static void bind_again(void)
{
	post_bind(m5_ia(r.ia)->calls, r.b.lmr);
}

static void take_binds(unsigned int n)
{
	DAT_EVENT ev;

	while (n--)
		cr_assert(rig_event(&r, r.b.request, &ev));
}

/* Another thread may free the LMR of an earlier bind meanwhile. */
Test(bind_step, rmr_bind__holds_the_lmr_of_no_earlier_bind, .timeout = 60)
{
	struct rig_config config = { 0 };

	cr_assert_eq(rig_open(&r, &config), 0);
	cr_assert_eq(rig_rmr(&r, &rmr), 0);
	cr_assert_eq(rig_lmr(&r, &r.b, false, &other), 0);
	post_bind(r.hot, other);
	post_bind(r.hot, NULL);
	take_binds(2);
	if (!th_step(bind_again, look))
		cr_skip_test("a call can be executed step by step only on x86-64");
	cr_assert_eq(rmr->lmr, r.b.lmr);
	cr_assert_eq(held, 0, "the bind to another LMR held the first one for %u instructions", held);
	post_bind(r.hot, NULL);
	take_binds(2);
	rig_lmr_free(other);
	rig_rmr_free(rmr);
	rig_close(&r, NULL);
}
