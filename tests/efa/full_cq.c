/* SPDX-License-Identifier: BSD-2-Clause */
/* The CQ has an entry for each completion, although the device learns late which ones were taken. */
#include <criterion/criterion.h>

#include "hw_efa/lock.h"
#include "tests/efa/rig.h"

TestSuite(efa_full_cq, .timeout = 60);

static struct rig r;

/* Takes completions until as many as possible are unknown to the device. A read has one completion. */
static void lag_behind(const struct efa_cqring *cq)
{
	while ((cq->ci & cq->lag) != cq->lag) {
		cr_assert_eq(rig_read(&r, &r.a, 1, 0, 0, 8), DAT_SUCCESS);
		cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_SUCCESS);
	}
}

/* Fills the send queue with the packets of long messages. */
static void fill(struct side *s)
{
	const struct efa_sq *sq = &efa_ep(s->ep)->sq;

	s->lmr->priv &= ~(uint32_t)DAP_PRIV_REMOTE_READ;
	for (uint64_t i = 0; i < RIG_DTOS; i++)
		cr_assert_eq(rig_send(&r, s, i, 0, 60000), DAT_SUCCESS);
	cr_assert_eq(sq->used, sq->room, "only %u of %u requests are outstanding", sq->used, sq->room);
}

static void fail_qp(struct side *s)
{
	struct efa_ctl *ctl = efa_ia(r.ia)->ctl;

	cr_assert_eq(ctl->ops->qp_error(ctl, &efa_ep(s->ep)->cold->qp), 0);
}

/*
 * Both QPs of a CQ without room for more flush all that they have, while nothing polls. The device counts
 * the entries of the CQ by the doorbell, and drops a CQE for which there is none.
 */
Test(efa_full_cq, flush__of_all_queues_loses_no_completion)
{
	struct efa_engine *eng;
	uint32_t missing;
	int turns = 0;

	rig_open_pair(&r, "seed=7 efa_cq=1024 efa_window=256");
	eng = efa_ia(r.ia)->eng;
	cr_assert_gt(eng->cq_used + efa_ia(r.ia)->shape.cqes, eng->cq_entries);
	cr_assert_eq(softnic_efa_fault(r.nic, "consumer"), 0);
	lag_behind(&eng->cq);
	cr_assert_eq(softnic_efa_fault(r.nic, "consumer,drop=1"), 0);
	fill(&r.a);
	fill(&r.b);
	fail_qp(&r.a);
	fail_qp(&r.b);
	while (softnic_efa_pump(r.nic))
		cr_assert_lt(turns++, 100000);
	efa_enter(eng);
	efa_drain(eng);
	efa_leave(eng);
	missing = efa_ep(r.a.ep)->sq.used + efa_ep(r.b.ep)->sq.used;
	cr_assert_eq(missing, 0, "%u completions are missing", missing);
	rig_close_pair(&r);
}
