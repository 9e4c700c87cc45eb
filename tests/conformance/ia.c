/* SPDX-License-Identifier: BSD-2-Clause */
/* Interface Adapters, and the calls that take a handle of any type. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/conformance/fixture.h"

static DAT_NAME_PTR name(void)
{
	return (DAT_NAME_PTR)(uintptr_t)conform_options.ia;
}

/* ---- dat_ia_open ---- */

STATEMENT(ia_open__makes_an_async_evd, dat_ia_open, DESCRIPTION)
{
	DAT_EVD_HANDLE async, told = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = ia_open(&async);
	DAT_EVD_PARAM param;

	check(async != DAT_HANDLE_NULL);
	must(dat_evd_query(async, DAT_EVD_FIELD_ALL, &param));
	check(param.evd_qlen >= 8);
	check(param.evd_flags & DAT_EVD_ASYNC_FLAG);
	check(param.cno_handle == DAT_HANDLE_NULL);
	must(dat_ia_query(ia, &told, 0, NULL, 0, NULL));
	check(told == async);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

STATEMENT(ia_open__several_instances, dat_ia_open, DESCRIPTION)
{
	DAT_EVD_HANDLE async[4];
	DAT_IA_HANDLE ia[4];
	DAT_PZ_HANDLE pz;

	for (int i = 0; i < 4; i++)
		ia[i] = ia_open(&async[i]);
	for (int i = 0; i < 3; i++) {
		check(ia[i] != ia[i + 1]);
		must(dat_ia_close(ia[i], DAT_CLOSE_GRACEFUL_FLAG));
	}
	must(dat_pz_create(ia[3], &pz));
	must(dat_ia_close(ia[3], DAT_CLOSE_ABRUPT_FLAG));
}

STATEMENT(ia_open__shares_an_async_evd, dat_ia_open, DESCRIPTION)
{
	DAT_EVD_HANDLE async, shared;
	DAT_IA_HANDLE first = ia_open(&async), second;

	shared = async;
	must(dat_ia_open(name(), 0, &shared, &second));
	check(shared == async);
	must(dat_ia_close(second, DAT_CLOSE_GRACEFUL_FLAG));
	nothing_on(async);
	must(dat_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG));
}

STATEMENT(ia_open__async_evd_exists_elsewhere, dat_ia_open, DESCRIPTION)
{
	DAT_EVD_HANDLE async = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE ia;

	must(dat_ia_open(name(), 8, &async, &ia));
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

STATEMENT(ia_open__name_is_not_registered, dat_ia_open, RETURNS)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	char none[] = "conformance-no-such-ia";

	must_be(DAT_PROVIDER_NOT_FOUND, dat_ia_open(none, 8, &async, &ia));
}

STATEMENT(ia_open__bad_arguments, dat_ia_open, RETURNS)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	must_be(DAT_INVALID_PARAMETER, dat_ia_open(NULL, 8, &async, &ia));
	must_be(DAT_INVALID_PARAMETER, dat_ia_open(name(), 8, &async, NULL));
	must_be(DAT_INVALID_PARAMETER, dat_ia_open(name(), -1, &async, &ia));
}

STATEMENT(ia_open__async_evd_is_another_object, dat_ia_open, RETURNS)
{
	DAT_EVD_HANDLE bad;
	DAT_IA_HANDLE ia;
	struct side s;

	side_open(&s);
	bad = s.recv_evd;
	must_be(DAT_INVALID_HANDLE, dat_ia_open(name(), 8, &bad, &ia));
	check(bad == s.recv_evd);
	bad = s.pz;
	must_be(DAT_INVALID_HANDLE, dat_ia_open(name(), 8, &bad, &ia));
	side_close(&s);
}

/* ---- dat_ia_close ---- */

STATEMENT(ia_close__graceful_with_objects_left, dat_ia_close, DESCRIPTION)
{
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia = ia_open(&async);
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(ia, &pz));
	must_be(DAT_INVALID_STATE, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	must(dat_pz_free(pz));
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

STATEMENT(ia_close__graceful_refused_changes_nothing, dat_ia_close, DESCRIPTION)
{
	struct side s;

	side_open(&s);
	must_be(DAT_INVALID_STATE, dat_ia_close(s.ia, DAT_CLOSE_GRACEFUL_FLAG));
	side_free(&s);
}

STATEMENT(ia_close__abrupt_destroys_all, dat_ia_close, DESCRIPTION)
{
	DAT_CONTEXT c;
	struct side s;

	side_open(&s);
	side_listen(&s);
	side_close(&s);
	must_be(DAT_INVALID_HANDLE, dat_get_consumer_context(s.ep, &c));
	must_be(DAT_INVALID_HANDLE, dat_get_consumer_context(s.pz, &c));
	must_be(DAT_INVALID_HANDLE, dat_get_consumer_context(s.lmr, &c));
	must_be(DAT_INVALID_HANDLE, dat_get_consumer_context(s.conn_evd, &c));
	must_be(DAT_INVALID_HANDLE, dat_get_consumer_context(s.psp, &c));
	must_be(DAT_INVALID_HANDLE, dat_get_consumer_context(s.async, &c));
}

STATEMENT(ia_close__ends_connections, dat_ia_close, DESCRIPTION)
{
	struct side a, b;
	DAT_EVENT ev;

	two_open(&a, &b);
	side_close(&b);
	ev = took(a.conn_evd);
	check(ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
	      ev.event_number == DAT_CONNECTION_EVENT_BROKEN);
	side_close(&a);
}

static pid_t waiter;

static void *wait_for_abort(void *arg)
{
	struct side *s = arg;
	DAT_EVENT ev;
	DAT_COUNT more;

	__atomic_store_n(&waiter, gettid(), __ATOMIC_RELEASE);
	must_be(DAT_ABORT, dat_evd_wait(s->soft_evd, DAT_TIMEOUT_INFINITE, 1, &ev, &more));
	return NULL;
}

STATEMENT(ia_close__abrupt_aborts_a_waiter, dat_ia_close, DESCRIPTION)
{
	pthread_t thread;
	struct side s;

	side_open(&s);
	same(pthread_create(&thread, NULL, wait_for_abort, &s), 0);
	is_waiting(&waiter);
	side_close(&s);
	same(pthread_join(thread, NULL), 0);
}

STATEMENT(ia_close__flags_out_of_range, dat_ia_close, RETURNS)
{
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia = ia_open(&async);

	must_be(DAT_INVALID_PARAMETER, dat_ia_close(ia, (DAT_CLOSE_FLAGS)2));
	must_be(DAT_INVALID_PARAMETER, dat_ia_close(ia, (DAT_CLOSE_FLAGS)-1));
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

STATEMENT(ia_close__handle_is_dead_afterwards, dat_ia_close, RETURNS)
{
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia = ia_open(&async), other = ia_open(&async);

	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	must_be(DAT_INVALID_HANDLE, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	must(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG));
}

STATEMENT(ia_close__leaves_nothing_behind, dat_ia_close, USAGE)
{
	struct th_usage before, after;
	struct side a, b;

	two_open(&a, &b);
	two_close(&a, &b);
	th_usage(&before);
	for (int i = 0; i < 5; i++) {
		two_open(&a, &b);
		two_close(&a, &b);
	}
	check(TH_WITHIN(SOON_MS, (th_usage(&after), after.threads <= before.threads)));
	check(after.fds <= before.fds);
}

/* ---- dat_ia_query ---- */

STATEMENT(ia_query__adapter_is_named_as_opened, dat_ia_query, DESCRIPTION)
{
	struct side s;

	side_open(&s);
	same(strcmp(s.ia_attr.adapter_name, conform_options.ia), 0);
	check(s.ia_attr.ia_address_ptr != NULL);
	side_close(&s);
}

STATEMENT(ia_query__attributes_that_all_providers_owe, dat_ia_query, DESCRIPTION)
{
	struct side s;

	side_open(&s);
	check(s.attr.max_private_data_size >= 64);
	check(s.attr.optimal_buffer_alignment > 0 && s.attr.optimal_buffer_alignment <= 256);
	same(256 % s.attr.optimal_buffer_alignment, 0);
	same(s.attr.dapl_version_major, DAT_VERSION_MAJOR);
	check(s.attr.iov_ownership_on_return <= DAT_IOV_PROVIDER_MOD);
	check(s.ia_attr.max_eps > 0 && s.ia_attr.max_evds > 0 && s.ia_attr.max_pzs > 0);
	check(s.ia_attr.max_lmrs > 0 && s.ia_attr.max_dto_per_ep > 0);
	check(s.ia_attr.max_message_size > 0 && s.ia_attr.max_iov_segments_per_dto > 0);
	side_close(&s);
}

STATEMENT(ia_query__three_types_of_memory, dat_ia_query, DESCRIPTION)
{
	const DAT_MEM_TYPE all = DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL;
	struct side s;

	side_open(&s);
	if ((s.attr.lmr_mem_types_supported & all) != all)
		skip("lmr_mem_types_supported is 0x%x: the page of dat_lmr_create allows to refuse "
		     "a type",
		     (unsigned int)s.attr.lmr_mem_types_supported);
	side_close(&s);
}

STATEMENT(ia_query__four_completion_flags, dat_ia_query, DESCRIPTION)
{
	struct side s;

	side_open(&s);
	same(s.attr.completion_flags_supported & 0xf, SUPPRESS | SOLICITED | UNSIGNALLED | BARRIER);
	side_close(&s);
}

STATEMENT(ia_query__merging_is_symmetric, dat_ia_query, DESCRIPTION)
{
	struct side s;

	side_open(&s);
	for (int i = 0; i < 6; i++) {
		for (int j = 0; j < 6; j++)
			same(s.attr.evd_stream_merging_supported[i][j],
			     s.attr.evd_stream_merging_supported[j][i]);
	}
	side_close(&s);
}

STATEMENT(ia_query__masks_out_of_range, dat_ia_query, RETURNS)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;
	struct side s;

	side_open(&s);
	must_be(DAT_INVALID_PARAMETER,
		dat_ia_query(s.ia, NULL, DAT_IA_FIELD_ALL + 1, &attr, 0, NULL));
	must_be(DAT_INVALID_PARAMETER,
		dat_ia_query(s.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL + 1, &provider));
	must_be(DAT_INVALID_PARAMETER, dat_ia_query(s.ia, NULL, DAT_IA_FIELD_ALL, NULL, 0, NULL));
	must_be(DAT_INVALID_PARAMETER,
		dat_ia_query(s.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL));
	side_close(&s);
}

/* ---- Handles of any type ---- */

static const DAT_HANDLE_TYPE types[] = {
	DAT_HANDLE_TYPE_IA, DAT_HANDLE_TYPE_EP, DAT_HANDLE_TYPE_EVD, DAT_HANDLE_TYPE_PZ,
	DAT_HANDLE_TYPE_LMR, DAT_HANDLE_TYPE_RMR, DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP,
	DAT_HANDLE_TYPE_CR,
};
#define TYPES (sizeof(types) / sizeof(types[0]))

static void all_types(struct bring *b, DAT_HANDLE *handle)
{
	DAT_RMR_HANDLE rmr;

	bring(b, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	must(dat_rmr_create(b->s.pz, &rmr));
	side_listen(&b->s);
	memcpy(handle, (DAT_HANDLE[]){ b->s.ia, b->s.ep, b->s.cr_evd, b->s.pz, b->s.lmr, rmr,
				       b->s.psp, b->rsp, b->cr }, TYPES * sizeof(*handle));
}

STATEMENT(get_handle_type__each, dat_get_handle_type, DESCRIPTION)
{
	DAT_HANDLE handle[TYPES];
	DAT_HANDLE_TYPE type;
	struct bring b;

	all_types(&b, handle);
	for (size_t i = 0; i < TYPES; i++) {
		must(dat_get_handle_type(handle[i], &type));
		same(type, types[i]);
	}
	bring_done(&b);
}

STATEMENT(set_consumer_context__each_keeps_its_own, dat_set_consumer_context, DESCRIPTION)
{
	DAT_HANDLE handle[TYPES];
	DAT_CONTEXT c;
	struct bring b;

	all_types(&b, handle);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < TYPES; i++)
			must(dat_set_consumer_context(handle[i], cookie(~UINT64_C(0) - i * 7 -
									(size_t)round)));
		for (size_t i = 0; i < TYPES; i++) {
			must(dat_get_consumer_context(handle[i], &c));
			same(c.as_64, ~UINT64_C(0) - i * 7 - (size_t)round);
		}
	}
	bring_done(&b);
}

STATEMENT(get_consumer_context__null_disassociates, dat_set_consumer_context, DESCRIPTION)
{
	DAT_CONTEXT c = { .as_ptr = NULL };
	struct side s;

	side_open(&s);
	must(dat_set_consumer_context(s.ep, cookie(77)));
	must(dat_set_consumer_context(s.ep, c));
	must(dat_get_consumer_context(s.ep, &c));
	check(c.as_ptr == NULL);
	side_close(&s);
}
