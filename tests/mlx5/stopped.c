/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread is stopped while it waits for the device. Its time is up then, but the device has gone on. */
#include <criterion/criterion.h>

#include "hw_mlx5/ops.h"
#include "tests/harness/clock.h"
#include "tests/mlx5/rig.h"

static struct rig r;
static const struct m5_ctl_ops *real;
static struct m5_ctl_ops ops;

static void drive_after_a_stop(struct m5_ctl *ctl)
{
	if (!skipped)
		stand_still(10);
	else
		for (int i = 0; i < 100; i++)
			real->drive(ctl);
}

static void open_rig(void)
{
	struct rig_config c = { 0 };

	cr_assert_eq(rig_open(&r, &c), 0);
	real = m5_ia(r.ia)->ctl->ops;
	ops = *real;
	ops.drive = drive_after_a_stop;
}

static void close_rig(void)
{
	rig_close(&r, NULL);
}

static void error_with_a_stop(struct dap_ep *ep)
{
	ep->state = DAP_EP_DISCONNECTED;
	m5_ia(r.ia)->ctl->ops = &ops;
	cr_assert_eq(m5_hw.qp_error(ep), 0);
	m5_ia(r.ia)->ctl->ops = real;
}

static void stopped_qp_error__returns_when_the_queues_are_flushed(void)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 64);
	DAT_EVENT ev;

	cr_assert_eq(r.hot->post_recv(r.a.ep, 1, &l, rig_cookie(1), 0), DAT_SUCCESS);
	error_with_a_stop(r.a.ep);
	cr_expect_eq(m5_ia(r.ia)->flush_ms, M5_FLUSH_MS);
	cr_expect_eq(m5_cq_end(m5_cq(r.a.recv)) - m5_cq(r.a.recv)->ci, 1);
	cr_expect(rig_event(&r, r.a.recv, &ev));
}

RIG_TEST_ON(stopped, qp_error__returns_when_the_queues_are_flushed, RIG_ADVERSARIAL, adversarial)

static void stopped_qp_error__waits_for_the_last_wqe(void)
{
	struct dap_srq *srq;
	struct dap_ep *ep, *peer;

	cr_assert_eq(rig_srq(&r, 4, 2, &srq), 0);
	r.a.srq = srq;
	cr_assert_eq(rig_ep(&r, &r.a, &ep), 0);
	r.a.srq = NULL;
	cr_assert_eq(rig_ep(&r, &r.b, &peer), 0);
	cr_assert_eq(rig_connect(ep, peer), 0);
	error_with_a_stop(ep);
	cr_expect_eq(m5_ia(r.ia)->last_wqe_ms, M5_LAST_WQE_MS);
	rig_ep_free(peer);
	rig_ep_free(ep);
	rig_srq_free(srq);
}

RIG_TEST_ON(stopped, qp_error__waits_for_the_last_wqe, RIG_MODEL, model)
