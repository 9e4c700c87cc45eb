/* SPDX-License-Identifier: BSD-2-Clause */
/* The access by itself: failures leak nothing, and it checks its arguments. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "hw_efa/ctl/efadv.h"
#include "hw_efa/wqe.h"
#include "tests/efadv/efa_calls.h"
#include "tests/harness/harness.h"

enum { ENTRIES = 64, SQ = 64, LEAST_SQ = 32, RQ = 16, QKEY = 0x1234 };

static struct efa_ctl *ctl;

static void open_one(void)
{
	char why[160] = "";

	setenv("DAPL_DBG_TYPE", "0", 1);
	cr_assert_eq(efa_ctl_open("efa_0-1", "", &ctl, why, sizeof(why)), 0,
		     "the device cannot be opened: %s", why);
}

static void close_one(void)
{
	ctl->ops->close(ctl);
	cr_assert_eq(calls_held(), 0, "%ld objects are leaked", calls_held());
}

TestSuite(ctl, .init = open_one, .fini = close_one, .timeout = 60);

static int cq_create_when(const struct efa_told *told)
{
	struct efa_cq_res cq;
	int err;

	efa_told = *told;
	err = ctl->ops->cq_create(ctl, ENTRIES, &cq);
	efa_told = (struct efa_told){ 0 };
	if (!err)
		ctl->ops->cq_destroy(ctl, &cq);
	return err;
}

Test(ctl, cq_create__with_too_few_or_too_long_entries_returns_eproto)
{
	cr_assert_eq(cq_create_when(&(struct efa_told){ 0 }), 0);
	cr_assert_eq(cq_create_when(&(struct efa_told){ .cq_entries = ENTRIES / 2 }), -EPROTO);
	cr_assert_eq(cq_create_when(&(struct efa_told){ .cq_entries = 2 * ENTRIES }), 0);
	cr_assert_eq(cq_create_when(&(struct efa_told){ .cqe_size = 64 }), -EPROTO);
}

Test(ctl, cq_create__without_memory_returns_enomem)
{
	struct efa_cq_res cq;
	int ret;

	th_fail_start(TH_FAIL_HEAP, 1);
	ret = ctl->ops->cq_create(ctl, ENTRIES, &cq);
	th_fail_stop();
	cr_assert_eq(ret, -ENOMEM);
}

Test(ctl, cq_create__whose_channel_cannot_be_nonblocking_fails)
{
	struct efa_cq_res cq;
	int ret;

	calls_fail_named("fcntl", EMFILE);
	ret = ctl->ops->cq_create(ctl, ENTRIES, &cq);
	calls_stop();
	cr_assert_eq(ret, -EMFILE);
}

static int qp_create_when(bool wide, const struct efa_told *told, uint32_t entries)
{
	struct efa_cq_res cq;
	struct efa_qp_res qp;
	struct efa_qp_param p = { .cq = &cq, .sq_entries = entries, .rq_entries = RQ,
				  .wide = wide };
	int err;

	cr_assert_eq(ctl->ops->pd_alloc(ctl, &p.pd), 0);
	cr_assert_eq(ctl->ops->cq_create(ctl, ENTRIES, &cq), 0);
	efa_told = *told;
	err = ctl->ops->qp_create(ctl, &p, QKEY, &qp);
	efa_told = (struct efa_told){ 0 };
	if (!err) {
		cr_expect_eq(qp.sq.entries, entries < LEAST_SQ ? LEAST_SQ : entries);
		cr_expect_eq(qp.sq.entry_size, wide ? 128 : 64);
		cr_expect_eq(qp.rq.entries, RQ);
		cr_expect_gt(qp.max_batch, 0);
		cr_assert_eq(ctl->ops->qp_destroy(ctl, &qp), 0);
	}
	ctl->ops->cq_destroy(ctl, &cq);
	cr_assert_eq(ctl->ops->pd_free(ctl, p.pd), 0);
	return err;
}

Test(ctl, qp_create__with_too_long_wqes_returns_eproto)
{
	const struct efa_told truth = { 0 };

	cr_assert_eq(qp_create_when(false, &truth, SQ), 0);
	cr_assert_eq(qp_create_when(true, &truth, SQ), 0);
	cr_assert_eq(qp_create_when(false, &(struct efa_told){ .wqe_size = 128 }, SQ), -EPROTO);
}

Test(ctl, qp_create__below_the_least_depth_gets_that_depth)
{
	cr_assert_eq(qp_create_when(false, &(struct efa_told){ 0 }, LEAST_SQ / 2), 0);
	cr_assert_eq(qp_create_when(true, &(struct efa_told){ 0 }, LEAST_SQ / 2), 0);
}

Test(ctl, qp_create__each_failed_call_returns_its_error)
{
	static const struct { const char *call; int answer, err; } calls[] = {
		{ "efadv_create_qp_ex", EPERM, -EPERM },
		{ "efadv_query_qp_wqs", EINVAL, -EIO },
		{ "ibv_modify_qp", EINVAL, -EIO },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		int err;

		calls_fail_named(calls[i].call, calls[i].answer);
		err = qp_create_when(false, &(struct efa_told){ 0 }, SQ);
		calls_stop();
		cr_expect_eq(err, calls[i].err, "after %s failed, the QP creation returned %d",
			     calls[i].call, err);
	}
}

/* Arming an empty CQ causes no event, because an arm causes an event only for a new completion. */
Test(ctl, cq_arm__of_an_empty_cq_causes_no_event)
{
	struct efa_cq_res cq;
	struct pollfd p = { .events = POLLIN };

	cr_assert_eq(ctl->ops->cq_create(ctl, ENTRIES, &cq), 0);
	p.fd = cq.fd;
	cr_assert_geq(p.fd, 0);
	*cq.ring.doorbell = efa_cq_doorbell_of(&cq, 0, true);
	ctl->ops->cq_drain(ctl, &cq);
	cr_assert_eq(poll(&p, 1, 100), 0, "arming caused an event without a completion");
	ctl->ops->cq_destroy(ctl, &cq);
}

Test(ctl, cq_create__without_a_reported_doorbell_has_no_descriptor)
{
	struct efa_cq_res cq;

	setenv("SOFTNIC_EFADV", "59", 1);
	close_one();
	open_one();
	cr_assert_eq(ctl->ops->cq_create(ctl, ENTRIES, &cq), 0);
	cr_assert_eq(cq.fd, -1);
	cr_assert_null(cq.ring.doorbell);
	ctl->ops->cq_drain(ctl, &cq);
	ctl->ops->cq_destroy(ctl, &cq);
}

/* libefa 59 and 60 refuse a structure that is shorter than their own. */
Test(ctl, cq_create__by_rdma_core_59_and_60_succeeds)
{
	static const char *const releases[] = { "59", "60" };

	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
		setenv("SOFTNIC_EFADV", releases[i], 1);
		cr_assert_eq(cq_create_when(&(struct efa_told){0}), 0,
			     "no CQ can be created with rdma-core release %s", releases[i]);
	}
}

static int ah_create(void *pd, void **priv)
{
	struct efa_ah ah = { .pd = pd, .gid = { 0xfe, 0x80 } };
	int err = ctl->ops->ah_create(ctl, &ah);

	*priv = ah.priv;
	return err;
}

/* ah.c takes EINVAL as a sign of another availability zone, so the access must not turn another
 * errno into EINVAL. */
Test(ctl, ah_create__einval_is_kept)
{
	void *pd, *priv = NULL;

	cr_assert_eq(ctl->ops->pd_alloc(ctl, &pd), 0);
	calls_fail_named("ibv_create_ah", EINVAL);
	cr_expect_eq(ah_create(pd, &priv), -EINVAL);
	calls_fail_named("ibv_create_ah", EBADMSG);
	cr_expect_eq(ah_create(pd, &priv), -EIO);
	calls_stop();
	cr_expect_null(priv);
	cr_assert_eq(ctl->ops->pd_free(ctl, pd), 0);
}
