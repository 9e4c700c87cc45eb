/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that are unread when their object is destroyed: the device may give its number to another object. */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdlib.h>

#include "hw_mlx5/cmd.h"
#include "tests/harness/harness.h"
#include "tests/uverbs/calls.h"
#include "tests/uverbs/opened.h"

enum { LOG_WQES = 4, LOG_STRIDE = 6 };

static _Alignas(4096) uint8_t memory[4096];
static struct m5_umem umem;
static struct m5_ctl *ctl;
static uint32_t pdn;
static void *pd;

static void open_one(void)
{
	const char *params = getenv("RIG_PARAMS");

	setenv("DAPL_DBG_TYPE", "0", 1);
	ctl = opened(getenv("DAPL_TEST_IA"), params ? params : "");
	cr_assert_eq(ctl->ops->pd_alloc(ctl, &pdn, &pd), 0);
	cr_assert_eq(ctl->ops->umem_reg(ctl, memory, sizeof(memory), &umem), 0);
}

static void close_one(void)
{
	cr_assert_eq(ctl->ops->umem_dereg(ctl, &umem), 0);
	cr_assert_eq(ctl->ops->pd_free(ctl, pdn, pd), 0);
	ctl->ops->close(ctl);
	cr_assert_eq(calls_held(), 0, "%ld objects are leaked", calls_held());
}

TestSuite(stale, .init = open_one, .fini = close_one, .timeout = 60);

/* Creates an empty RMP, which reports at once that it has fewer WQEs than its limit. */
static struct m5_rmp_ref rmp_below_limit(void)
{
	const struct m5_rmp_param p = { .pdn = pdn, .umem_id = umem.id, .log_size = LOG_WQES,
					.log_stride = LOG_STRIDE, .dbrec = 1 << LOG_WQES << LOG_STRIDE };
	struct m5_rmp_ref rmp = { .ctl = ctl };

	cr_assert_eq(m5_cmd_rmp(ctl, &p, &rmp.obj, &rmp.rmpn), 0);
	cr_assert_eq(m5_cmd_rmp_arm(&rmp, 1), 0);
	return rmp;
}

/* Takes events until that of this RMP. */
static bool reports(const struct m5_rmp_ref *rmp, unsigned int *others)
{
	struct m5_event ev;

	while (ctl->ops->async_read(ctl, &ev) == 1) {
		if (ev.kind == M5_EVENT_SRQ_LIMIT && ev.number == rmp->rmpn)
			return true;
		*others += ev.kind == M5_EVENT_SRQ_LIMIT;
	}
	return false;
}

Test(stale, async_read__drops_events_of_destroyed_objects)
{
	struct pollfd fd = { .fd = ctl->ops->async_fd(ctl), .events = POLLIN };
	struct m5_rmp_ref first = rmp_below_limit(), gone = rmp_below_limit(), last;
	unsigned int others = 0;

	cr_assert_eq(poll(&fd, 1, 20000), 1, "the RMPs report no event");
	cr_assert_eq(ctl->ops->obj_destroy(gone.obj), 0);
	last = rmp_below_limit();
	cr_assert(TH_WITHIN(20000, reports(&first, &others)));
	cr_assert(TH_WITHIN(20000, reports(&last, &others)));
	cr_expect_eq(others, 0, "the event of the destroyed RMP is delivered");
	cr_assert_eq(ctl->ops->obj_destroy(first.obj), 0);
	cr_assert_eq(ctl->ops->obj_destroy(last.obj), 0);
}
