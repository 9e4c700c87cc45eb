/* SPDX-License-Identifier: BSD-2-Clause */
/* The extension of dapl_direct.h with handles of Debian's libdat2. */
#include "tests/dat2/dat2.h"

#include <poll.h>

#include <dat/dapl_direct.h>

TestSuite(dequeue_n, .init = sides_open, .fini = sides_close, .timeout = 60);

static void write8(uint64_t cookie)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 0, 8);
	DAT_RMR_TRIPLET to = side_remote(&b, 0, 8);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	assert_ok(dat_ep_post_rdma_write(a.ep, 1, &from, c, &to, DAT_COMPLETION_DEFAULT_FLAG));
}

Test(dequeue_n, dequeue_n__returns_completions_in_order)
{
	DAT_COUNT have = 0, count;
	DAT_EVENT got[8];

	sides_connect();
	for (uint64_t i = 0; i < 8; i++)
		write8(i);
	while (have < 8) {
		if (dapl_evd_dequeue_n(a.dto, 8 - have, &got[have], &count) == DAT_SUCCESS)
			have += count;
	}
	for (uint64_t i = 0; i < 8; i++) {
		const DAT_DTO_COMPLETION_EVENT_DATA *d =
			&got[i].event_data.dto_completion_event_data;

		cr_assert_eq(got[i].event_number, DAT_DTO_COMPLETION_EVENT);
		cr_assert_eq(d->user_cookie.as_64, i);
		cr_assert_eq(d->status, DAT_DTO_SUCCESS);
		cr_assert_eq(d->operation, DAT_DTO_RDMA_WRITE);
		cr_assert_eq(d->transfered_length, 8);
		cr_assert_eq(d->ep_handle, a.ep);
	}
	assert_ret(dapl_evd_dequeue_n(a.dto, 8, got, &count), DAT_QUEUE_EMPTY);
}

Test(dequeue_n, dequeue_n__invalid_arguments_are_refused)
{
	DAT_COUNT count = 77;
	DAT_EVENT ev;

	assert_ret(dapl_evd_dequeue_n(a.dto, 0, &ev, &count), DAT_INVALID_PARAMETER);
	assert_ret(dapl_evd_dequeue_n(a.dto, 1, NULL, &count), DAT_INVALID_PARAMETER);
	assert_ret(dapl_evd_dequeue_n(a.dto, 1, &ev, NULL), DAT_INVALID_PARAMETER);
	assert_ret(dapl_evd_dequeue_n(a.ep, 1, &ev, &count), DAT_INVALID_HANDLE);
	assert_ret(dapl_evd_dequeue_n(DAT_HANDLE_NULL, 1, &ev, &count), DAT_INVALID_HANDLE);
	cr_assert_eq(count, 77);
}

/* Events of 2.0 with the timestamps of completions; their operation shows that they are of this level. */
Test(dequeue_n, dequeue_ts__completions_ascend)
{
	struct dapl_stamp stamp = { .realtime = 1 };
	DAT_UINT64 last = 0;
	DAT_RETURN ret;
	DAT_EVENT ev;

	ret = dapl_evd_dequeue_ts(a.dto, &ev, &stamp);
	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED)
		side_skip("the adapter says timestamps = ");
	assert_ret(ret, DAT_QUEUE_EMPTY);
	sides_connect();
	for (uint64_t i = 0; i < 8; i++)
		write8(i);
	for (uint64_t i = 0; i < 8; i++) {
		while (DAT_GET_TYPE(ret = dapl_evd_dequeue_ts(a.dto, &ev, &stamp)) == DAT_QUEUE_EMPTY)
			;
		assert_ok(ret);
		cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, i);
		cr_assert_eq(ev.event_data.dto_completion_event_data.operation, DAT_DTO_RDMA_WRITE);
		cr_assert(stamp.realtime && stamp.raw >= last);
		last = stamp.raw;
	}
	assert_ret(dapl_evd_dequeue_ts(a.dto, NULL, &stamp), DAT_INVALID_PARAMETER);
	assert_ret(dapl_evd_dequeue_ts(a.ep, &ev, &stamp), DAT_INVALID_HANDLE);
}

Test(dequeue_n, cno_fd__is_readable_after_an_event)
{
	DAT_EVENT se = { .event_number = DAT_SOFTWARE_EVENT };
	struct pollfd fd = { .events = POLLIN };
	DAT_EVD_HANDLE evd, which = NULL;
	DAT_CNO_HANDLE cno;
	int same = -1;

	assert_ok(dat_cno_create(a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	assert_ok(dat_evd_create(a.ia, 4, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	assert_ok(dapl_cno_fd(cno, &fd.fd));
	cr_assert_eq(poll(&fd, 1, 0), 0);
	assert_ok(dat_evd_post_se(evd, &se));
	cr_assert_eq(poll(&fd, 1, SOON / 1000), 1);
	assert_ok(dat_cno_wait(cno, 0, &which));
	cr_assert_eq(which, evd);
	cr_assert_eq(poll(&fd, 1, 0), 0);
	assert_ok(dat_evd_free(evd));
	assert_ok(dat_cno_free(cno));
	/* dapl_cno_fd(3): the descriptor of dat_cno_fd_create() is the same one. */
	assert_ok(PROVIDER(a.pz)->cno_fd_create_func(side_own_handle(&a), &fd.fd, &cno));
	assert_ok(dapl_cno_fd(cno, &same));
	cr_assert_eq(same, fd.fd);
	assert_ok(dat_cno_free(cno));
	assert_code(dapl_cno_fd(cno, &same), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	assert_ret(dapl_cno_fd(DAT_HANDLE_NULL, &same), DAT_INVALID_HANDLE);
}
