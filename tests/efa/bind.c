/* SPDX-License-Identifier: BSD-2-Clause */
/* Binds that fail: there is a message, and the previous context stays valid. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/efa/rig.h"
#include "tests/harness/harness.h"

enum { LEN = 4096 };

static struct rig r;
static struct dap_rmr *rmr;
static uint32_t context;

/* The operations of the device. Only the results of registrations are replaced. */
static const struct efa_ctl_ops *real;
static struct efa_ctl_ops ops;
static int answer;

static int answers(struct efa_ctl *ctl, void *pd, uint64_t addr, uint64_t len, unsigned int access,
		   struct efa_mr *mr)
{
	return answer ? answer : real->mr_reg(ctl, pd, addr, len, access, mr);
}

static void setup(void)
{
	rig_open_pair(&r, "seed=7");
	real = efa_ia(r.ia)->ctl->ops;
	ops = *real;
	ops.mr_reg = answers;
	efa_ia(r.ia)->ctl->ops = &ops;
	rmr = rig_rmr(&r, &r.b);
	cr_assert_eq(rig_bind(rmr, &r.b, LEN, &context), 0);
	cr_assert_eq(rig_next(&r, r.b.req).number, DAP_EV_RMR_BIND);
	r.b.lmr->rmr_context = context;		/* requests of side a use this context */
}

TestSuite(efa_bind, .init = setup, .timeout = 60);

static void lacks(int err)
{
	cr_assert_eq(err, DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY_REGION));
}

static void said(const char *cause, const char *cure)
{
	cr_assert_eq(fake.said_kind, DAP_LOG_ERR);
	cr_assert_not_null(strstr(fake.said, cause), "the error does not explain the cause: %s",
			   fake.said);
	cr_assert_not_null(strstr(fake.said, cure), "the error does not explain the cure: %s",
			   fake.said);
}

static void is_as_before(uint32_t given)
{
	cr_assert_eq(given, 0x5a5a5a5a, "the failed bind returned a context");
	cr_assert_eq(rmr->rmr_context, context);
	cr_assert_eq(rig_write(&r, &r.a, 1, 0, LEN - 8, 8), DAT_SUCCESS);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_SUCCESS);
}

static void refused(int err, const char *cause, const char *cure)
{
	uint32_t given = 0x5a5a5a5a;

	memset(&fake, 0, sizeof(fake));
	answer = err;
	lacks(rig_bind(rmr, &r.b, LEN, &given));
	answer = 0;
	said(cause, cure);
	is_as_before(given);
}

Test(efa_bind, rmr_bind__refused_for_want_of_keys_changes_nothing)
{
	refused(-ENOMEM, "cannot register memory", "free LMRs");
}

Test(efa_bind, rmr_bind__of_unmapped_memory_changes_nothing)
{
	refused(-EFAULT, "some of it is not mapped", "dat_lmr_free()");
}

Test(efa_bind, rmr_bind__refused_for_another_cause_changes_nothing)
{
	refused(-EIO, "cannot register memory", strerror(EIO));
}

/* Each allocation of a bind fails in turn, if a bind allocates. */
Test(efa_bind, rmr_bind__without_heap_changes_nothing)
{
	uint32_t given = 0x5a5a5a5a;
	unsigned long n = 0;
	int err;

	do {
		memset(&fake, 0, sizeof(fake));
		th_fail_start(TH_FAIL_HEAP, ++n);
		err = rig_bind(rmr, &r.b, LEN, &given);
		th_fail_stop();
		if (!err)
			break;
		lacks(err);
		said("memory", "");
		is_as_before(given);
	} while (n < 100);
	cr_assert(n < 100, "the bind still failed after all %lu allocations were tried", n);
	cr_assert_neq(given, context);
}

/* dat_rmr_query() in another thread has seen the length of the bind, and reads the LMR next. */
Test(efa_bind, unbind__leaves_the_lmr_to_a_query_in_another_thread)
{
	uint32_t none;

	cr_assert_eq(rig_bind(rmr, &r.b, 0, &none), 0);
	cr_assert_not(dap_rmr_is_bound(rmr));
	cr_assert_eq(rmr->lmr, r.b.lmr);
}

/* ---- The connection ends while the device ends the previous registration ---- */

static int ends_the_connection(struct efa_ctl *ctl, struct efa_mr *mr)
{
	cr_assert_eq(efa_hw.qp_error(r.b.ep), 0);
	return real->mr_dereg(ctl, mr);
}

Test(efa_bind, unbind__that_was_carried_out_before_the_connection_ended_succeeds)
{
	struct dap_event ev;

	ops.mr_dereg = ends_the_connection;
	cr_assert_eq(rig_bind(rmr, &r.b, 0, &context), 0);
	ops.mr_dereg = real->mr_dereg;
	ev = rig_next(&r, r.b.req);
	cr_assert_eq(ev.number, DAP_EV_RMR_BIND);
	cr_assert_eq(ev.bind.status, 0, "the unbind completed with the wrong status %d",
		     ev.bind.status);
	cr_assert_eq(rmr->rmr_context, 0);
}

/* ---- The device refuses to end a registration ---- */

static int refuses(struct efa_ctl *ctl, struct efa_mr *mr)
{
	(void)ctl;
	(void)mr;
	return -EIO;
}

Test(efa_bind, unbind__that_the_device_refuses_is_reported)
{
	uint32_t none;

	ops.mr_dereg = refuses;
	cr_assert_eq(rig_bind(rmr, &r.b, 0, &none), 0);
	said("did not end the access to an RMR", "close the IA");
}

static int gives_the_last_key(struct efa_ctl *ctl, void *pd, uint64_t addr, uint64_t len,
			      unsigned int access, struct efa_mr *mr)
{
	int err = real->mr_reg(ctl, pd, addr, len, access, mr);

	mr->rkey = context;
	ops.mr_reg = answers;
	return err;
}

/* The registration with the last key is ended as soon as there is one with another key. */
Test(efa_bind, rebind__whose_first_registration_stays_is_reported)
{
	uint32_t none;

	cr_assert_eq(rig_bind(rmr, &r.b, 0, &none), 0);
	ops.mr_dereg = refuses;
	ops.mr_reg = gives_the_last_key;
	cr_assert_eq(rig_bind(rmr, &r.b, LEN, &none), 0);
	said("did not end the access to an RMR", "close the IA");
}

Test(efa_bind, rmr_destroy__that_the_device_refuses_fails)
{
	ops.mr_dereg = refuses;
	cr_assert_eq(efa_hw.rmr_destroy(rmr), -EIO);
}

/* ---- The connection ends while the device registers the new range ---- */

static uint32_t ended;			/* the key of the registration that ended last */

static int registers_late(struct efa_ctl *ctl, void *pd, uint64_t addr, uint64_t len, unsigned int access,
			  struct efa_mr *mr)
{
	cr_assert_eq(efa_hw.qp_error(r.b.ep), 0);
	return real->mr_reg(ctl, pd, addr, len, access, mr);
}

static int notes_the_key(struct efa_ctl *ctl, struct efa_mr *mr)
{
	ended = mr->rkey;
	return real->mr_dereg(ctl, mr);
}

Test(efa_bind, bind__whose_connection_ends_meanwhile_is_flushed_and_ends_no_window)
{
	struct dap_event ev;
	uint32_t given;

	ops.mr_reg = registers_late;
	ops.mr_dereg = notes_the_key;
	cr_assert_eq(rig_bind(rmr, &r.b, LEN / 2, &given), 0);
	ev = rig_next(&r, r.b.req);
	cr_assert_eq(ev.number, DAP_EV_RMR_BIND);
	cr_assert_eq(ev.bind.status, DAP_DTO_FLUSHED);
	cr_assert_eq(rmr->rmr_context, context);
	cr_assert_eq(rmr->length, LEN);
	cr_assert(ended && ended != context, "the bind ended the registration with key %#x", ended);
}
