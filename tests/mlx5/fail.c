/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every request to the access fails once, in turn: the call returns the error and leaks nothing. The
 * leak checker, if it is on, finds leaks of memory too.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "hw_mlx5/ctl/soft.h"
#include "softnic/softnic.h"
#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

static const char *const kinds[] = { "qp", "cq", "mkey", "pd", "uar", "umem", "eq" };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct rig r;

static void count_objects(size_t *n)
{
	for (size_t i = 0; i < KINDS; i++)
		n[i] = softnic_object_count(m5_ia(r.ia)->ctl->soft, kinds[i]);
}

/* Runs the call with each of its requests failing in turn, and once more without a failure, when it
 * must succeed. */
static void each_fails(const char *what, int (*call)(void), void (*undo)(void))
{
	size_t before[KINDS], after[KINDS];
	unsigned long n;
	int err = -1;

	fake.quiet = true;
	count_objects(before);
	for (n = 1; err && n < 200; n++) {
		hw_soft_fail(n);
		err = call();
		hw_soft_fail(0);
		if (!err)
			undo();
		count_objects(after);
		for (size_t i = 0; i < KINDS; i++)
			cr_assert_eq(before[i], after[i],
				     "%s, after request %lu failed: %zu objects of kind %s are "
				     "left, not %zu",
				     what, n, after[i], kinds[i], before[i]);
	}
	cr_assert_eq(err, 0, "%s failed although no request failed", what);
	cr_assert_gt(n, 2, "%s made no more than 2 requests", what);
	fake.quiet = false;
}

Test(fail, open__each_refused_request_leaks_nothing)
{
	struct rig_config c = { 0 };
	struct th_usage before, after;
	unsigned long n;
	int err = -1;

	fake.quiet = true;
	/* Objects created once per process (thread stacks, tables) do not count as leaks. */
	cr_assert_eq(rig_open(&r, &c), 0);
	rig_close(&r, NULL);
	fake.quiet = true;
	th_usage(&before);
	for (n = 1; err && n < 300; n++) {
		hw_soft_fail(n);
		err = rig_open(&r, &c);
		hw_soft_fail(0);
		if (!err)
			rig_close(&r, NULL);
		fake.quiet = true;
		cr_assert_eq(fake.nobj, 0);
		th_usage(&after);
		cr_assert_eq(after.fds, before.fds,
			     "after request %lu failed: %u descriptors are open, not %u", n,
			     after.fds, before.fds);
		cr_assert_eq(after.threads, before.threads);
	}
	cr_assert_eq(err, 0);
	cr_assert_gt(n, 30);
}

static struct dap_evd *evd;
static struct dap_ep *ep, *other;
static struct dap_rmr *rmr;

static int make_evd(void) { return rig_evd(&r, 10, &evd); }
static void free_evd(void) { rig_evd_free(evd); }
static int make_ep(void) { return rig_ep(&r, &r.a, &ep); }
static void free_ep(void) { rig_ep_free(ep); }
static int make_rmr(void) { return rig_rmr(&r, &rmr); }
static void free_rmr(void) { rig_rmr_free(rmr); }

static int connect_pair(void)
{
	int err = rig_ep(&r, &r.a, &ep);

	if (err)
		return err;
	err = rig_ep(&r, &r.b, &other);
	if (!err)
		err = rig_connect(ep, other);
	if (err && other)
		rig_ep_free(other);
	if (err)
		rig_ep_free(ep);
	other = err ? NULL : other;
	return err;
}

static void free_pair(void)
{
	rig_ep_free(ep);
	rig_ep_free(other);
	other = NULL;
}

/* Arms a CQ. The first arm creates the channel that waiting needs. */
static int make_channel(void)
{
	int err = rig_evd(&r, 10, &evd);

	if (err)
		return err;
	err = m5_hw.cq_arm(evd, false);
	if (!err)
		err = m5_hw.cq_fd(evd) < 0;
	if (err)
		rig_evd_free(evd);
	return err;
}

Test(fail, objects__each_refused_request_leaks_nothing)
{
	struct rig_config c = { 0 };

	cr_assert_eq(rig_open(&r, &c), 0);
	each_fails("evd", make_evd, free_evd);
	each_fails("ep", make_ep, free_ep);
	each_fails("rmr", make_rmr, free_rmr);
	each_fails("connect", connect_pair, free_pair);
	each_fails("channel", make_channel, free_evd);
	rig_close(&r, NULL);
}

static struct m5_obj *kept;

/* The device refuses; the test destroys the object later. */
static int refuse_destroy(struct m5_obj *obj)
{
	kept = obj;
	return -EIO;
}

/* The QP that the device did not destroy, and its memory. */
struct kept_qp {
	struct m5_obj *obj;
	struct m5_mem mem;
	uint32_t uidx, internal;
};

/* Frees an endpoint whose QP the device does not destroy. */
static struct kept_qp keep_qp(struct dap_ep *victim)
{
	struct m5_ia *ia = m5_ia(r.ia);
	const struct m5_ctl_ops *ops = ia->ctl->ops;
	struct m5_ctl_ops refusing = *ops;
	struct kept_qp qp = { .mem = m5_ep(victim)->mem, .uidx = m5_ep(victim)->uidx,
			      .internal = m5_ep(victim)->internal };

	refusing.obj_destroy = refuse_destroy;
	ia->ctl->ops = &refusing;
	fake.quiet = true;
	rig_ep_free(victim);
	fake.quiet = false;
	ia->ctl->ops = ops;
	qp.obj = kept;
	return qp;
}

/* The QP used memory and a page that the driver could not give back before: the device refused that. */
static void close_with_kept(struct kept_qp *qp)
{
	struct m5_ctl *ctl = m5_ia(r.ia)->ctl;

	cr_assert_eq(ctl->ops->obj_destroy(qp->obj), 0);
	m5_mem_free(ctl, &qp->mem, 0);
	rig_close(&r, "cmd.busy");
}

/* The QP is still in the device. If it completes work, the CQE must name no other endpoint. */
Test(fail, qp_destroy__refused_by_the_device_keeps_its_user_index)
{
	struct rig_config c = { 0 };
	struct kept_qp qp;
	struct m5_ia *ia;
	uint32_t other;

	cr_assert_eq(rig_open(&r, &c), 0);
	ia = m5_ia(r.ia);
	cr_assert_eq(rig_ep(&r, &r.a, &ep), 0);
	qp = keep_qp(ep);
	for (int i = 0; i < 5000; i++) {
		cr_assert_eq(m5_uidx_get(ia, r.a.ep, &other), 0);
		cr_assert_neq(other, qp.uidx, "the index of the QP is given to another endpoint");
		m5_uidx_put(ia, other, 0);
	}
	close_with_kept(&qp);
}

static int refuse_command(struct m5_obj *obj, const void *in, size_t inlen, void *out, size_t outlen)
{
	(void)obj, (void)in, (void)inlen, (void)out, (void)outlen;
	return -EIO;
}

static struct m5_mem kept_mem;

static int refuse_memory(struct m5_ctl *ctl, struct m5_umem *umem)
{
	(void)ctl;
	kept_mem = *(struct m5_mem *)((uint8_t *)umem - offsetof(struct m5_mem, umem));
	return -EBUSY;
}

/* The device has the QP, although dat_ep_create() has failed. */
Test(fail, qp_create__whose_undo_is_refused_keeps_the_user_index)
{
	struct rig_config c = { 0 };
	const struct m5_ctl_ops *ops;
	struct m5_ctl_ops refusing;
	uint32_t uidx, other;
	struct m5_ia *ia;

	cr_assert_eq(rig_open(&r, &c), 0);
	ia = m5_ia(r.ia);
	refusing = *(ops = ia->ctl->ops);
	refusing.obj_cmd = refuse_command;
	refusing.obj_destroy = refuse_destroy;
	refusing.umem_dereg = refuse_memory;
	uidx = ia->uidx_rest[ia->uidx_tail % ia->uidx_size];
	ia->ctl->ops = &refusing;
	fake.quiet = true;
	cr_assert_eq(rig_ep(&r, &r.a, &ep), -EIO);
	fake.quiet = false;
	ia->ctl->ops = ops;
	for (int i = 0; i < 5000; i++) {
		cr_assert_eq(m5_uidx_get(ia, r.a.ep, &other), 0);
		cr_assert_neq(other, uidx, "the index of the QP is given to another endpoint");
		m5_uidx_put(ia, other, 0);
	}
	cr_assert_eq(ops->obj_destroy(kept), 0);
	m5_mem_free(ia->ctl, &kept_mem, 0);
	rig_close(&r, "cmd.busy");
}

/* The QP can still complete what it has. Its CQEs must have room, or the CQ overruns. */
Test(fail, qp_destroy__refused_by_the_device_keeps_its_cq_entries)
{
	struct rig_config c = { 0 };
	uint32_t before;
	struct kept_qp qp;

	cr_assert_eq(rig_open(&r, &c), 0);
	before = m5_cq(r.a.request)->reserved;
	cr_assert_eq(rig_ep(&r, &r.a, &ep), 0);
	qp = keep_qp(ep);
	cr_expect_eq(m5_cq(r.a.request)->reserved, before + qp.internal);
	close_with_kept(&qp);
}

/* Its peer can still use what it had access to, so the consumer must close the IA. */
Test(fail, qp_destroy__refused_by_the_device_fails_the_ia)
{
	struct rig_config c = { 0 };
	struct kept_qp qp;

	cr_assert_eq(rig_open(&r, &c), 0);
	cr_assert_eq(rig_ep(&r, &r.a, &ep), 0);
	qp = keep_qp(ep);
	cr_expect(strstr(fake.log, "did not end the access to an endpoint"), "the log says: %s", fake.log);
	close_with_kept(&qp);
}

/* The QP goes on: its work is not flushed, and its peer keeps its access. */
Test(fail, qp_error__refused_by_the_device_fails_the_ia)
{
	struct rig_config c = { 0 };

	cr_assert_eq(rig_open(&r, &c), 0);
	fake.quiet = true;
	hw_soft_fail(1);
	cr_expect_eq(m5_hw.qp_error(r.a.ep), -EIO);
	hw_soft_fail(0);
	fake.quiet = false;
	cr_expect(strstr(fake.log, "did not end the access to an endpoint"), "the log says: %s",
		  fake.log);
	rig_close(&r, NULL);
}

/* All keys of an RMR are created with it, so no bind needs a command. */
Test(fail, rmr_bind__where_no_command_succeeds_needs_none)
{
	DAT_RMR_CONTEXT ctx, before = 0;
	struct rig_config c = { 0 };
	DAT_LMR_TRIPLET t;
	DAT_EVENT ev;

	cr_assert_eq(rig_open(&r, &c), 0);
	cr_assert_eq(rig_rmr(&r, &rmr), 0);
	t = rig_local(&r.b, 0, 64);
	hw_soft_fail(1);
	for (int i = 0; i < 1100; i++) {
		cr_assert_eq(r.hot->rmr_bind(rmr, &t, 0x22, r.b.ep, rig_cookie(1), 0, &ctx),
			     DAT_SUCCESS, "bind %d failed", i);
		cr_assert_neq(ctx, before);
		before = ctx;
		cr_assert(rig_event(&r, r.b.request, &ev));
		cr_assert_eq(ev.event_data.rmr_completion_event_data.status, DAT_DTO_SUCCESS);
	}
	cr_assert_eq(hw_soft_fail(0), 0, "a bind sent a command");
	rig_rmr_free(rmr);
	rig_close(&r, NULL);
}

Test(fail, open__invalid_parameters_are_refused)
{
	static const char *const bad[] = { "rnr_retry=8", "rnr_retry=x", "rnr_retry=", "retry_cnt=-1",
					   "inline=221", "seed=0x", "memlock=yes", "variant=gold",
					   "fault=nonsense", "strict=2", "bf_eps=256", "ack_timeout" };
	char why[200];

	fake.quiet = true;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct m5_ctl *ctl = NULL;

		why[0] = 0;
		cr_expect_eq(m5_ctl_open("soft-mlx5-0", bad[i], &ctl, why, sizeof(why)), -EINVAL,
			     "the invalid parameter \"%s\" was not refused", bad[i]);
		cr_expect_null(ctl);
		cr_expect(why[0], "the error for the parameter \"%s\" has no message", bad[i]);
	}
	cr_expect_eq(m5_ctl_open("soft-mlx5-9", "", &(struct m5_ctl *){ NULL }, why, sizeof(why)),
		     -ENODEV);
	cr_expect_eq(m5_ctl_open("soft-mlx5-00", "", &(struct m5_ctl *){ NULL }, why, sizeof(why)),
		     -ENODEV);
}

/* On hardware, pinning would detect these pages. */
Test(fail, lmr_create__of_unmapped_memory_returns_efault)
{
	struct rig_config c = { .params = "memlock=strict" };
	const struct m5_ctl_ops *ops;
	struct m5_mr mr = { 0 }, big[80];
	struct m5_ctl *ctl;
	uint8_t *p = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *huge = mmap(NULL, 8u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t pdn;
	unsigned int n = 0;
	int err;

	fake.quiet = true;
	err = th_memlock(4u << 20);
	if (err == -EPERM)
		cr_skip_test(TH_NO_MEMLOCK);
	cr_assert_eq(err, 0);
	cr_assert_eq(rig_open(&r, &c), 0);
	ctl = m5_ia(r.ia)->ctl;
	ops = ctl->ops;
	pdn = m5_pz(r.pz)->pdn;
	munmap(p + 8192, 4096);
	mprotect(p + 4096, 4096, PROT_READ);
	cr_expect_eq(ops->mr_reg(ctl, NULL, pdn, p, 16384, 0, &mr), -EFAULT);
	cr_expect_eq(ops->mr_reg(ctl, NULL, pdn, p + 8191, 2, 0, &mr), -EFAULT);
	cr_expect_eq(ops->mr_reg(ctl, NULL, pdn, p, 8192, M5_ACCESS_LOCAL_WRITE, &mr), -EFAULT);
	cr_expect_eq(ops->mr_reg(ctl, NULL, pdn, p, UINT64_MAX, 0, &mr), -EFAULT);
	cr_expect_eq(ops->mr_reg(ctl, NULL, pdn, p, 8192, 0, &mr), 0);
	cr_expect_eq(ops->mr_dereg(ctl, &mr), 0);
	cr_expect_eq(ops->mr_reg(ctl, NULL, pdn, huge, 8u << 20, 0, &mr), -ENOMEM);
	while (n < 80 && !ops->mr_reg(ctl, NULL, pdn, huge, 1u << 20, 0, &big[n]))
		n++;
	cr_expect_eq(n, 3, "%u MiB could be registered; only 3 fit below the limit of 4", n);
	while (n)
		cr_expect_eq(ops->mr_dereg(ctl, &big[--n]), 0);
	cr_expect_eq(ops->mr_reg(ctl, NULL, pdn, huge, 3u << 20, 0, &mr), 0);
	cr_expect_eq(ops->mr_dereg(ctl, &mr), 0);
	rig_close(&r, NULL);
}
