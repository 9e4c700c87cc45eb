/* SPDX-License-Identifier: BSD-2-Clause */
/* Event Dispatchers: life and states. evd_wait.c has the waits. */
#include "tests/conformance/fixture.h"

static const int streams[6] = {
	DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG, DAT_EVD_DTO_FLAG, DAT_EVD_CONNECTION_FLAG,
	DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
};

static DAT_EVD_PARAM params(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	must(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	return param;
}

STATEMENT(evd_create__each_pair_of_streams_announced, dat_ia_query, DESCRIPTION)
{
	DAT_EVD_HANDLE evd;
	struct side s;

	side_open(&s);
	for (int i = 0; i < 6; i++) {
		for (int j = 0; j < 6; j++) {
			if (!s.attr.evd_stream_merging_supported[i][j])
				continue;
			evd = side_evd(&s, 10, streams[i] | streams[j]);
			same(params(evd).evd_flags, streams[i] | streams[j]);
			must(dat_evd_free(evd));
		}
	}
	side_close(&s);
}

STATEMENT(evd_create__begins_enabled_and_waitable, dat_evd_create, DESCRIPTION)
{
	DAT_EVD_PARAM p;
	struct side s;

	side_open(&s);
	p = params(s.recv_evd);
	check(p.ia_handle == s.ia);
	check(p.evd_qlen >= 64);
	check(p.cno_handle == DAT_HANDLE_NULL);
	same(p.evd_state & 0xf, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
	nothing_on(s.recv_evd);
	side_close(&s);
}

STATEMENT(evd_create__lengths, dat_evd_create, PARAMETERS)
{
	DAT_COUNT most;
	DAT_EVD_HANDLE evd;
	struct side s;

	side_open(&s);
	most = s.ia_attr.max_evd_qlen;
	must(dat_evd_free(side_evd(&s, 1, DAT_EVD_DTO_FLAG)));
	must(dat_evd_free(side_evd(&s, most, DAT_EVD_SOFTWARE_FLAG)));
	must_be(DAT_INVALID_PARAMETER,
		dat_evd_create(s.ia, 0, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	must_be(DAT_INVALID_PARAMETER,
		dat_evd_create(s.ia, -1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	if (most < INT32_MAX)
		check(tried(dat_evd_create(s.ia, most + 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
					   &evd)) != DAT_SUCCESS);
	side_close(&s);
}

STATEMENT(evd_create__flags_out_of_range, dat_evd_create, RETURNS)
{
	static const int bad[] = { 0, 0x2, 0x4, 0x8, 0x200, 0x1f2, -1 };
	DAT_EVD_HANDLE evd;
	struct side s;

	side_open(&s);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		must_be(DAT_INVALID_PARAMETER,
			dat_evd_create(s.ia, 8, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)bad[i], &evd));
	must_be(DAT_INVALID_PARAMETER,
		dat_evd_create(s.ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, NULL));
	side_close(&s);
}

/* ---- Dequeue and post ---- */

STATEMENT(evd_dequeue__empty, dat_evd_dequeue, RETURNS)
{
	struct side s;

	side_open(&s);
	nothing_on(s.soft_evd);
	nothing_on(s.recv_evd);
	nothing_on(s.async);
	side_close(&s);
}

STATEMENT(evd_dequeue__order_within_a_stream, dat_evd_dequeue, DESCRIPTION)
{
	struct side s;

	side_open(&s);
	for (uintptr_t i = 1; i <= 8; i++)
		post_soft(s.soft_evd, i);
	for (uintptr_t i = 1; i <= 8; i++)
		same(took_soft(s.soft_evd), i);
	nothing_on(s.soft_evd);
	side_close(&s);
}

STATEMENT(evd_post_se__carried_as_it_is, dat_evd_post_se, DESCRIPTION)
{
	struct side s;

	side_open(&s);
	post_soft(s.soft_evd, ~(uintptr_t)0);
	same(took_soft(s.soft_evd), ~(uintptr_t)0);
	side_close(&s);
}

STATEMENT(evd_post_se__queue_full_is_no_overflow, dat_evd_post_se, DESCRIPTION)
{
	DAT_EVENT ev = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_COUNT room;
	struct side s;

	side_open(&s);
	room = params(s.soft_evd).evd_qlen;
	for (DAT_COUNT i = 0; i < room; i++)
		post_soft(s.soft_evd, (uintptr_t)i);
	must_be(DAT_QUEUE_FULL, dat_evd_post_se(s.soft_evd, &ev));
	nothing_on(s.async);
	for (DAT_COUNT i = 0; i < room; i++)
		same(took_soft(s.soft_evd), i);
	post_soft(s.soft_evd, 1);
	side_close(&s);
}

STATEMENT(evd_post_se__no_software_event, dat_evd_post_se, RETURNS)
{
	DAT_EVENT ev = { .event_number = DAT_DTO_COMPLETION_EVENT };
	struct side s;

	side_open(&s);
	must_be(DAT_INVALID_PARAMETER, dat_evd_post_se(s.soft_evd, &ev));
	must_be(DAT_INVALID_PARAMETER, dat_evd_post_se(s.soft_evd, NULL));
	nothing_on(s.soft_evd);
	side_close(&s);
}

/* ---- States ---- */

STATEMENT(evd_disable__is_reported_and_repeats, dat_evd_disable, DESCRIPTION)
{
	struct side s;

	side_open(&s);
	for (int i = 0; i < 2; i++) {
		must(dat_evd_disable(s.soft_evd));
		same(params(s.soft_evd).evd_state & 0x3, DAT_EVD_STATE_DISABLED);
	}
	side_close(&s);
}

STATEMENT(evd_disable__events_still_arrive, dat_evd_disable, DESCRIPTION)
{
	DAT_EVENT ev;
	DAT_COUNT more;
	struct side s;

	side_open(&s);
	must(dat_evd_disable(s.soft_evd));
	post_soft(s.soft_evd, 5);
	must(dat_evd_wait(s.soft_evd, 0, 1, &ev, &more));
	side_close(&s);
}

STATEMENT(evd_enable__is_reported_and_repeats, dat_evd_enable, DESCRIPTION)
{
	struct side s;

	side_open(&s);
	must(dat_evd_disable(s.soft_evd));
	for (int i = 0; i < 2; i++) {
		must(dat_evd_enable(s.soft_evd));
		same(params(s.soft_evd).evd_state & 0x3, DAT_EVD_STATE_ENABLED);
	}
	side_close(&s);
}

STATEMENT(evd_set_unwaitable__wait_is_refused, dat_evd_set_unwaitable, DESCRIPTION)
{
	DAT_EVENT ev;
	DAT_COUNT more;
	struct side s;

	side_open(&s);
	must(dat_evd_set_unwaitable(s.soft_evd));
	same(params(s.soft_evd).evd_state & 0xc, DAT_EVD_STATE_UNWAITABLE);
	post_soft(s.soft_evd, 3);
	must_be(DAT_INVALID_STATE, dat_evd_wait(s.soft_evd, SOON, 1, &ev, &more));
	same(took_soft(s.soft_evd), 3);
	side_close(&s);
}

STATEMENT(evd_clear_unwaitable__wait_is_permitted, dat_evd_clear_unwaitable, DESCRIPTION)
{
	DAT_EVENT ev;
	DAT_COUNT more;
	struct side s;

	side_open(&s);
	must(dat_evd_set_unwaitable(s.soft_evd));
	must(dat_evd_clear_unwaitable(s.soft_evd));
	same(params(s.soft_evd).evd_state & 0xc, DAT_EVD_STATE_WAITABLE);
	post_soft(s.soft_evd, 3);
	must(dat_evd_wait(s.soft_evd, SOON, 1, &ev, &more));
	side_close(&s);
}

/* ---- Resize, query and free ---- */

STATEMENT(evd_resize__keeps_every_event, dat_evd_resize, DESCRIPTION)
{
	struct side s;

	side_open(&s);
	for (uintptr_t i = 1; i <= 8; i++)
		post_soft(s.soft_evd, i);
	must(dat_evd_resize(s.soft_evd, 100));
	check(params(s.soft_evd).evd_qlen >= 100);
	for (uintptr_t i = 9; i <= 100; i++)
		post_soft(s.soft_evd, i);
	for (uintptr_t i = 1; i <= 100; i++)
		same(took_soft(s.soft_evd), i);
	side_close(&s);
}

/* Resizes an EVD with completions. Whether that succeeds or fails for lack of resources, each
 * completion is still there. */
static bool resize_under_completions(struct side *a, struct side *b, DAT_COUNT qlen)
{
	DAT_RETURN ret;

	for (uint64_t i = 0; i < 4; i++) {
		must(do_recv(b, i, i * 64, 64));
		must(do_send(a, i, i * 64, 64, DEFAULT));
	}
	took_dto(b->recv_evd, 0, DAT_DTO_SUCCESS);
	ret = tried(dat_evd_resize(b->recv_evd, qlen));
	if (!is(ret, DAT_INSUFFICIENT_RESOURCES))
		must_be(DAT_SUCCESS, ret);
	if (ret == DAT_SUCCESS)
		check(params(b->recv_evd).evd_qlen >= qlen);
	for (uint64_t i = 1; i < 4; i++)
		took_dto(b->recv_evd, i, DAT_DTO_SUCCESS);
	for (uint64_t i = 0; i < 4; i++)
		took_dto(a->req_evd, i, DAT_DTO_SUCCESS);
	return ret == DAT_SUCCESS;
}

STATEMENT(evd_resize__under_completions, dat_evd_resize, DESCRIPTION)
{
	struct side a, b;
	bool done;

	two_open(&a, &b);
	done = resize_under_completions(&a, &b, 80);
	resize_under_completions(&a, &b, b.ia_attr.max_evd_qlen);
	resize_under_completions(&a, &b, 70);
	if (!done)
		skip("dat_evd_resize answers INSUFFICIENT_RESOURCES, which its page allows");
	two_close(&a, &b);
}

STATEMENT(evd_resize__below_the_number_of_events, dat_evd_resize, DESCRIPTION)
{
	DAT_RETURN ret;
	struct side s;

	side_open(&s);
	for (uintptr_t i = 0; i < 8; i++)
		post_soft(s.soft_evd, i);
	ret = tried(dat_evd_resize(s.soft_evd, 4));
	check(ret == DAT_SUCCESS || is(ret, DAT_INVALID_STATE));
	for (uintptr_t i = 0; i < 8; i++)
		same(took_soft(s.soft_evd), i);
	side_close(&s);
}

STATEMENT(evd_resize__lengths_out_of_range, dat_evd_resize, RETURNS)
{
	DAT_COUNT before;
	struct side s;

	side_open(&s);
	before = params(s.recv_evd).evd_qlen;
	must_be(DAT_INVALID_PARAMETER, dat_evd_resize(s.recv_evd, 0));
	must_be(DAT_INVALID_PARAMETER, dat_evd_resize(s.recv_evd, -1));
	if (s.ia_attr.max_evd_qlen < INT32_MAX)
		check(tried(dat_evd_resize(s.recv_evd, s.ia_attr.max_evd_qlen + 1)) != DAT_SUCCESS);
	same(params(s.recv_evd).evd_qlen, before);
	side_close(&s);
}

STATEMENT(evd_query__mask_out_of_range, dat_evd_query, RETURNS)
{
	DAT_EVD_PARAM param;
	struct side s;

	side_open(&s);
	must_be(DAT_INVALID_PARAMETER,
		dat_evd_query(s.recv_evd, (DAT_EVD_PARAM_MASK)(DAT_EVD_FIELD_ALL + 1), &param));
	must_be(DAT_INVALID_PARAMETER, dat_evd_query(s.recv_evd, DAT_EVD_FIELD_ALL, NULL));
	side_close(&s);
}

STATEMENT(evd_free__while_a_stream_feeds_it, dat_evd_free, RETURNS)
{
	struct side s;

	side_open(&s);
	side_listen(&s);
	must_be(DAT_INVALID_STATE, dat_evd_free(s.recv_evd));
	must_be(DAT_INVALID_STATE, dat_evd_free(s.req_evd));
	must_be(DAT_INVALID_STATE, dat_evd_free(s.conn_evd));
	must_be(DAT_INVALID_STATE, dat_evd_free(s.cr_evd));
	must(dat_ep_free(s.ep));
	must(dat_evd_free(s.recv_evd));
	must(dat_evd_free(s.req_evd));
	must(dat_evd_free(s.conn_evd));
	must(dat_psp_free(s.psp));
	must(dat_evd_free(s.cr_evd));
	side_close(&s);
}

STATEMENT(evd_free__queued_events_are_lost, dat_evd_free, DESCRIPTION)
{
	DAT_EVENT ev;
	struct side s;

	side_open(&s);
	post_soft(s.soft_evd, 1);
	must(dat_evd_free(s.soft_evd));
	must_be(DAT_INVALID_HANDLE, dat_evd_dequeue(s.soft_evd, &ev));
	must_be(DAT_INVALID_HANDLE, dat_evd_free(s.soft_evd));
	side_close(&s);
}
