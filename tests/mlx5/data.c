/* SPDX-License-Identifier: BSD-2-Clause */
/* Data moves from one endpoint to the other, by every operation, and is reported. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/mlx5/rig.h"

static struct rig r;

static void open_rig(void)
{
	struct rig_config c = { 0 };

	cr_assert_eq(rig_open(&r, &c), 0);
}

static void close_rig(void)
{
	cr_assert_eq(rig_close(&r), 0, "the device found fault with the driver");
}

static void expect_dto(struct dap_evd *evd, struct dap_ep *ep, uint64_t cookie, uint64_t len)
{
	DAT_EVENT ev;
	DAT_DTO_COMPLETION_EVENT_DATA *d = &ev.event_data.dto_completion_event_data;

	memset(&ev, 0xaa, sizeof(ev));
	cr_assert(rig_event(&r, evd, &ev), "no event");
	cr_assert_eq(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	cr_assert_eq(ev.evd_handle, evd);
	cr_assert_eq(d->ep_handle, ep);
	cr_assert_eq(d->user_cookie.as_64, cookie);
	cr_assert_eq(d->status, DAT_DTO_SUCCESS);
	cr_assert_eq(d->transfered_length, len);
}

TestSuite(data, .init = open_rig, .fini = close_rig, .timeout = 60);

Test(data, rdma_write__inline_8)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8);
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 100, 8);

	memcpy(r.a.mem, "12345678", 8);
	cr_assert_eq(r.hot->rdma_write(r.a.ep, 1, &l, rig_cookie(7), &t, 0), DAT_SUCCESS);
	expect_dto(r.a.request, r.a.ep, 7, 8);
	cr_assert_arr_eq(r.b.mem + 100, "12345678", 8);
	cr_assert(rig_empty(&r, r.b.recv));
}
