/* SPDX-License-Identifier: BSD-2-Clause */
/* Remote Memory Regions: binds, and the contexts that they give. */
#include <string.h>

#include "tests/conformance/fixture.h"

#define READ DAT_MEM_PRIV_REMOTE_READ_FLAG
#define WRITE DAT_MEM_PRIV_REMOTE_WRITE_FLAG

static DAT_RMR_HANDLE rmr_of(struct side *s)
{
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;

	must(dat_rmr_create(s->pz, &rmr));
	return rmr;
}

/* Binds the RMR to 4096 bytes at 4096, and waits for the completion. */
static DAT_RMR_CONTEXT bound(struct side *s, DAT_RMR_HANDLE rmr, int priv)
{
	DAT_RMR_CONTEXT context = 0;

	must(do_bind(s, rmr, 100, 4096, 4096, priv, &context));
	took_bind(s->req_evd, rmr, 100, DAT_DTO_SUCCESS);
	return context;
}

/* Checks that a request of a through b's context is refused, and that the connection breaks. */
static void is_refused(struct side *a, struct side *b, DAT_RETURN posted, uint64_t n)
{
	must_be(DAT_SUCCESS, posted);
	same(took_any(a->req_evd, n).status, DAT_DTO_ERR_REMOTE_ACCESS);
	took_conn(a, a->ep, DAT_CONNECTION_EVENT_BROKEN);
	took_conn(b, b->ep, DAT_CONNECTION_EVENT_BROKEN);
}

STATEMENT(rmr_create__not_bound, dat_rmr_create, DESCRIPTION)
{
	DAT_RMR_PARAM p;
	struct side s;

	side_open(&s);
	must(dat_rmr_query(rmr_of(&s), DAT_RMR_FIELD_ALL, &p));
	check(p.ia_handle == s.ia && p.pz_handle == s.pz);
	side_close(&s);
}

STATEMENT(rmr_bind__opens_the_piece, dat_rmr_bind, DESCRIPTION)
{
	DAT_RMR_CONTEXT context;
	struct side a, b;

	two_open(&a, &b);
	context = bound(&b, rmr_of(&b), READ | WRITE);
	memset(a.mem, 0x11, 64);
	must(do_write(&a, 1, 0, through(context, &b, 4096, 64), DEFAULT));
	took_dto(a.req_evd, 1, DAT_DTO_SUCCESS);
	same(memcmp(b.mem + 4096, a.mem, 64), 0);
	must(do_read(&a, 2, 128, through(context, &b, 8192 - 64, 64), DEFAULT));
	took_dto(a.req_evd, 2, DAT_DTO_SUCCESS);
	two_close(&a, &b);
}

STATEMENT(rmr_bind__nothing_beside_the_piece, dat_rmr_bind, DESCRIPTION)
{
	DAT_RMR_CONTEXT context;
	struct side a, b;

	two_open(&a, &b);
	context = bound(&b, rmr_of(&b), READ | WRITE);
	is_refused(&a, &b, do_write(&a, 1, 0, through(context, &b, 8192 - 63, 64), DEFAULT), 1);
	two_close(&a, &b);
}

STATEMENT(rmr_bind__no_right_beyond_the_lmrs, dat_rmr_bind, DESCRIPTION)
{
	DAT_RMR_CONTEXT context;
	struct side a, b;

	two_open(&a, &b);
	context = bound(&b, rmr_of(&b), READ);
	must(do_read(&a, 1, 0, through(context, &b, 4096, 64), DEFAULT));
	took_dto(a.req_evd, 1, DAT_DTO_SUCCESS);
	is_refused(&a, &b, do_write(&a, 2, 0, through(context, &b, 4096, 64), DEFAULT), 2);
	two_close(&a, &b);
}

STATEMENT(rmr_bind__each_makes_a_new_context, dat_rmr_bind, DESCRIPTION)
{
	DAT_RMR_CONTEXT now, before = 0;
	DAT_RMR_HANDLE rmr;
	struct side a, b;

	two_open(&a, &b);
	rmr = rmr_of(&b);
	for (int i = 0; i < 16; i++, before = now) {
		now = bound(&b, rmr, READ);
		check(now != before);
	}
	two_close(&a, &b);
}

STATEMENT(rmr_bind__old_context_dies, dat_rmr_bind, DESCRIPTION)
{
	DAT_RMR_CONTEXT old, new;
	DAT_RMR_HANDLE rmr;
	struct side a, b;

	two_open(&a, &b);
	rmr = rmr_of(&b);
	old = bound(&b, rmr, READ | WRITE);
	new = bound(&b, rmr, READ | WRITE);
	must(do_write(&a, 1, 0, through(new, &b, 4096, 64), DEFAULT));
	took_dto(a.req_evd, 1, DAT_DTO_SUCCESS);
	is_refused(&a, &b, do_write(&a, 2, 0, through(old, &b, 4096, 64), DEFAULT), 2);
	two_close(&a, &b);
}

STATEMENT(rmr_bind__length_zero_unbinds, dat_rmr_bind, DESCRIPTION)
{
	DAT_RMR_CONTEXT context, none;
	DAT_RMR_HANDLE rmr;
	struct side a, b;

	two_open(&a, &b);
	rmr = rmr_of(&b);
	context = bound(&b, rmr, READ | WRITE);
	must(do_bind(&b, rmr, 7, 0, 0, 0, &none));
	took_bind(b.req_evd, rmr, 7, DAT_DTO_SUCCESS);
	is_refused(&a, &b, do_write(&a, 2, 0, through(context, &b, 4096, 64), DEFAULT), 2);
	must(dat_lmr_free(b.lmr));
	two_close(&a, &b);
}

/* A context that is sent after the bind is valid when the message arrives. */
STATEMENT(rmr_bind__fences_later_work, dat_rmr_bind, DESCRIPTION)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	struct side a, b;

	two_open(&a, &b);
	rmr = rmr_of(&b);
	for (uint64_t i = 0; i < 50; i++) {
		must(do_recv(&a, i, 0, 64));
		must(do_bind(&b, rmr, i, 4096, 4096, READ | WRITE, &context));
		memcpy(b.mem, &context, sizeof(context));
		must(do_send(&b, 1000 + i, 0, 64, DEFAULT));
		took_dto(a.recv_evd, i, DAT_DTO_SUCCESS);
		memcpy(&context, a.mem, sizeof(context));
		must(do_write(&a, i, 128, through(context, &b, 4096, 64), DEFAULT));
		took_dto(a.req_evd, i, DAT_DTO_SUCCESS);
		took_bind(b.req_evd, rmr, i, DAT_DTO_SUCCESS);
		took_dto(b.req_evd, 1000 + i, DAT_DTO_SUCCESS);
	}
	two_close(&a, &b);
}

STATEMENT(rmr_bind__through_another_endpoint_of_the_zone, dat_rmr_bind, DESCRIPTION)
{
	DAT_EP_HANDLE ea, eb;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	struct side a, b;

	two_open(&a, &b);
	rmr = rmr_of(&b);
	bound(&b, rmr, READ);
	ea = side_ep(&a, NULL);
	eb = side_ep(&b, NULL);
	join(&a, ea, &b, eb);
	b.ep = eb;
	context = bound(&b, rmr, READ | WRITE);
	must(do_write(&a, 1, 0, through(context, &b, 4096, 64), DEFAULT));
	took_dto(a.req_evd, 1, DAT_DTO_SUCCESS);
	two_close(&a, &b);
}

STATEMENT(rmr_bind__flushed_when_disconnected, dat_rmr_bind, DESCRIPTION)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	struct bring b;

	bring(&b, DAT_EP_STATE_DISCONNECTED);
	rmr = rmr_of(&b.s);
	must(do_bind(&b.s, rmr, 5, 0, 64, READ, &context));
	took_bind(b.s.req_evd, rmr, 5, FLUSHED);
	bring_done(&b);
}

/* ---- Refused binds ---- */

STATEMENT(rmr_bind__beyond_the_lmr, dat_rmr_bind, RETURNS)
{
	DAT_RMR_CONTEXT context;
	struct side a, b;
	DAT_RETURN ret;

	two_open(&a, &b);
	ret = do_bind(&a, rmr_of(&a), 1, MEM - 32, 64, READ, &context);
	check(is(ret, DAT_INVALID_PARAMETER) || is(ret, DAT_PROTECTION_VIOLATION));
	two_close(&a, &b);
}

STATEMENT(rmr_bind__privileges_the_lmr_lacks, dat_rmr_bind, DESCRIPTION)
{
	DAT_LMR_CONTEXT poor;
	DAT_RMR_CONTEXT context;
	DAT_LMR_TRIPLET t;
	struct side a, b;

	two_open(&a, &b);
	side_lmr(&a, a.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG, &poor, NULL);
	t = seg(&a, 0, 64);
	t.lmr_context = poor;
	must_be(DAT_PRIVILEGES_VIOLATION,
		dat_rmr_bind(rmr_of(&a), &t, WRITE, a.ep, cookie(1), DEFAULT, &context));
	two_close(&a, &b);
}

STATEMENT(rmr_bind__zones_differ, dat_rmr_bind, RETURNS)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;
	struct side a, b;
	DAT_RETURN ret;

	two_open(&a, &b);
	must(dat_pz_create(a.ia, &pz));
	must(dat_rmr_create(pz, &rmr));
	ret = do_bind(&a, rmr, 1, 0, 64, READ, &context);
	check(is(ret, DAT_PROTECTION_VIOLATION) || is(ret, DAT_INVALID_PARAMETER));
	two_close(&a, &b);
}

STATEMENT(rmr_bind__bad_arguments, dat_rmr_bind, RETURNS)
{
	DAT_LMR_TRIPLET t;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	struct side a, b;

	two_open(&a, &b);
	rmr = rmr_of(&a);
	t = seg(&a, 0, 64);
	must_be(DAT_INVALID_PARAMETER,
		dat_rmr_bind(rmr, NULL, READ, a.ep, cookie(1), DEFAULT, &context));
	must_be(DAT_INVALID_PARAMETER,
		dat_rmr_bind(rmr, &t, (DAT_MEM_PRIV_FLAGS)0x40, a.ep, cookie(1), DEFAULT, &context));
	must_be(DAT_INVALID_PARAMETER,
		dat_rmr_bind(rmr, &t, READ, a.ep, cookie(1), (DAT_COMPLETION_FLAGS)0x40, &context));
	must_be(DAT_INVALID_PARAMETER,
		dat_rmr_bind(rmr, &t, READ, a.ep, cookie(1), UNSIGNALLED, &context));
	nothing_on(a.req_evd);
	two_close(&a, &b);
}

STATEMENT(rmr_bind__queue_full, dat_rmr_bind, RETURNS)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	struct bring b;

	bring(&b, DAT_EP_STATE_DISCONNECTED);
	rmr = rmr_of(&b.s);
	for (int i = 0; ret == DAT_SUCCESS && i < 1000; i++)
		ret = do_bind(&b.s, rmr, 1, 0, 64, READ, &context);
	same(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
	bring_done(&b);
}

/* ---- Query and free ---- */

STATEMENT(rmr_query__as_it_was_bound, dat_rmr_query, DESCRIPTION)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_PARAM p;
	struct side a, b;

	two_open(&a, &b);
	rmr = rmr_of(&a);
	context = bound(&a, rmr, READ);
	must(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &p));
	same(p.rmr_context, context);
	same(p.mem_priv, READ);
	same(p.lmr_triplet.lmr_context, a.lmr_context);
	same(p.lmr_triplet.virtual_address, (uintptr_t)a.mem + 4096);
	same(p.lmr_triplet.segment_length, 4096);
	two_close(&a, &b);
}

STATEMENT(rmr_query__mask_out_of_range, dat_rmr_query, RETURNS)
{
	DAT_RMR_HANDLE rmr;
	DAT_RMR_PARAM p;
	struct side s;

	side_open(&s);
	rmr = rmr_of(&s);
	must_be(DAT_INVALID_PARAMETER,
		dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)(DAT_RMR_FIELD_ALL + 1), &p));
	must_be(DAT_INVALID_PARAMETER, dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, NULL));
	side_close(&s);
}

STATEMENT(rmr_free__while_bound, dat_rmr_free, DESCRIPTION)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	struct side a, b;

	two_open(&a, &b);
	rmr = rmr_of(&b);
	context = bound(&b, rmr, READ | WRITE);
	must(dat_rmr_free(rmr));
	is_refused(&a, &b, do_write(&a, 2, 0, through(context, &b, 4096, 64), DEFAULT), 2);
	must(dat_lmr_free(b.lmr));
	two_close(&a, &b);
}

STATEMENT(rmr_free__handle_is_dead_afterwards, dat_rmr_free, DESCRIPTION)
{
	DAT_RMR_HANDLE rmr;
	DAT_RMR_PARAM p;
	struct side s;

	side_open(&s);
	rmr = rmr_of(&s);
	must(dat_rmr_free(rmr));
	must_be(DAT_INVALID_HANDLE, dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &p));
	must_be(DAT_INVALID_HANDLE, dat_rmr_free(rmr));
	side_close(&s);
}
