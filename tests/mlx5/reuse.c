/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An asynchronous event names an object by its number. After it was read, another thread destroys the object,
 * and makes one to which the adapter gives that number. The event is not one of the new object.
 */
#include <criterion/criterion.h>

#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

static struct rig r;
static struct dap_ep *ep;
static struct dap_evd *evd;
static struct dap_srq *srq;

static struct {
	struct m5_event event;
	struct th_aside remaker;
	void (*remake)(void *arg);
	int err;			/* of remake */
	bool read;
} once;

/* The model gives no number twice, so each of these functions changes that of the new object. */
static void remake_ep(void *unused)
{
	(void)unused;
	rig_ep_free(ep);
	once.err = rig_ep(&r, &r.a, &ep);
	if (!once.err)
		m5_ep(ep)->qp.qpn = once.event.number;
}

static void remake_evd(void *unused)
{
	(void)unused;
	rig_evd_free(evd);
	once.err = rig_evd(&r, 10, &evd);
	if (!once.err)
		m5_cq(evd)->cqn = once.event.number;
}

static void remake_srq(void *unused)
{
	(void)unused;
	rig_srq_free(srq);
	once.err = rig_srq(&r, 4, 2, &srq);
	if (!once.err)
		m5_srq(srq)->rmp.rmpn = once.event.number;
}

static int read_and_remake(struct m5_ctl *ctl, struct m5_event *ev)
{
	(void)ctl;
	if (once.read)
		return 0;
	once.read = true;
	*ev = once.event;
	th_aside(&once.remaker, once.remake, NULL, 20000);
	return 1;
}

static void handle(enum m5_event_kind kind, uint8_t type, uint32_t number, void (*remake)(void *arg))
{
	const struct m5_ctl_ops *real = m5_ia(r.ia)->ctl->ops;
	struct m5_ctl_ops ops = *real;

	once.event = (struct m5_event){ .kind = kind, .type = type, .number = number };
	once.remake = remake;
	ops.async_read = read_and_remake;
	m5_ia(r.ia)->ctl->ops = &ops;
	m5_hw.async_handle(r.ia);
	th_aside_end(&once.remaker);
	m5_ia(r.ia)->ctl->ops = real;
	cr_assert_eq(once.err, 0);
}

static void setup(void)
{
	cr_assert_eq(rig_open(&r, &(struct rig_config){ 0 }), 0);
	cr_assert_eq(rig_ep(&r, &r.a, &ep), 0);
	cr_assert_eq(rig_evd(&r, 10, &evd), 0);
	cr_assert_eq(rig_srq(&r, 4, 2, &srq), 0);
}

static void teardown(void)
{
	rig_srq_free(srq);
	rig_evd_free(evd);
	rig_ep_free(ep);
	rig_close(&r, NULL);
}

TestSuite(reuse, .init = setup, .fini = teardown, .timeout = 60);

Test(reuse, async_handle__event_of_an_earlier_qp_breaks_no_endpoint)
{
	handle(M5_EVENT_QP, M5_EV_WQ_ACCESS_ERROR, m5_ep(ep)->qp.qpn, remake_ep);
	cr_expect_null(fake.broken);
}

Test(reuse, async_handle__last_wqe_of_an_earlier_qp_is_not_that_of_the_next)
{
	handle(M5_EVENT_QP, M5_EV_SRQ_LAST_WQE, m5_ep(ep)->qp.qpn, remake_ep);
	cr_expect_not(m5_ep(ep)->last_wqe);
}

Test(reuse, async_handle__event_of_an_earlier_cq_overflows_no_evd)
{
	handle(M5_EVENT_CQ_ERROR, M5_EV_CQ_ERROR, m5_cq(evd)->cqn, remake_evd);
	cr_expect_null(fake.overflowed);
}

Test(reuse, async_handle__event_of_an_earlier_rmp_is_not_that_of_an_srq)
{
	handle(M5_EVENT_SRQ_ERROR, M5_EV_SRQ_CATASTROPHIC, m5_srq(srq)->rmp.rmpn, remake_srq);
	cr_expect_null(fake.broken_srq);
}
