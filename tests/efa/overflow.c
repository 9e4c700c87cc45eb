/* SPDX-License-Identifier: BSD-2-Clause */
/* The report of an overflow takes locks of EVDs. A call under such a lock leaves the report to others. */
#include <criterion/criterion.h>

#include "tests/efa/rig.h"

static struct rig r;

/* Another thread has put the completion into the EVD, and has not reported the overflow yet. */
Test(efa_overflow, call__under_a_lock_of_the_report_does_not_report, .timeout = 60)
{
	struct dap_ep_counts counts;

	rig_open_pair(&r, "seed=7");
	efa_ia(r.ia)->eng->over = efa_evd(r.a.req)->overflowed = true;
	cr_assert_eq(efa_hw.cq_resize(r.a.req, 4096), 0);
	cr_assert_null(fake.overflowed, "cq_resize reports the overflow");
	efa_hw.ep_total(r.a.ep, &counts);
	cr_assert_null(fake.overflowed, "ep_total reports the overflow");
	efa_hw.cq_settle(r.a.req);
	cr_assert_eq(fake.overflowed, r.a.req);
	rig_close_pair(&r);
}
