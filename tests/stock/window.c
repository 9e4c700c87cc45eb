/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory windows of both types, as libmlx5 binds them: what they let through, and until when. */
#include <string.h>

#include "tests/stock/rig.h"

enum { AT = 4096, LEN = 512 };

struct fixture {
	struct st_end a, b;		/* b owns the window, a writes through it */
};

static void setup(struct fixture *f)
{
	struct ibv_context *ctx = st_open();

	st_create(&f->a, ctx);
	st_create(&f->b, ctx);
	st_connect(&f->a, &f->b);
	memset(f->a.buf, 0x5a, LEN);
}

static void teardown(struct fixture *f)
{
	st_destroy(&f->a);
	st_destroy(&f->b);
	st_close(f->a.ctx);
}

static enum ibv_wc_status bind1(struct st_end *end, struct ibv_mw *mw, uint32_t at, uint32_t len)
{
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = len ? end->mr : NULL, .addr = len ? (uintptr_t)end->buf + at : 0,
			       .length = len, .mw_access_flags = len ? IBV_ACCESS_REMOTE_WRITE : 0 },
	};

	cr_assert_eq(ibv_bind_mw(end->qp, mw, &bind), 0);
	return st_poll(end);
}

static enum ibv_wc_status bind2(struct st_end *end, struct ibv_mw *mw, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = mw, .rkey = rkey,
			     .bind_info = { end->mr, (uintptr_t)end->buf + AT, LEN,
					    IBV_ACCESS_REMOTE_WRITE } },
	};

	st_post(end, &wr);
	return st_poll(end);
}

static bool has_landed(struct fixture *f)
{
	return memcmp(f->b.buf + AT, f->a.buf, LEN) == 0;
}

Test(stock, bind_type_1__write_then_unbind)
{
	struct fixture f;
	struct ibv_mw *mw;
	uint64_t addr;

	setup(&f);
	addr = (uintptr_t)f.b.buf + AT;
	cr_assert_not_null(mw = ibv_alloc_mw(f.b.pd, IBV_MW_TYPE_1));
	cr_assert_eq(bind1(&f.b, mw, AT, LEN), IBV_WC_SUCCESS);
	cr_assert_eq(st_write(&f.a, addr, mw->rkey, LEN), IBV_WC_SUCCESS);
	cr_assert(has_landed(&f));
	cr_assert_eq(bind1(&f.b, mw, 0, 0), IBV_WC_SUCCESS);
	cr_assert_eq(st_write(&f.a, addr, mw->rkey, LEN), IBV_WC_REM_ACCESS_ERR);
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
	teardown(&f);
}

Test(stock, bind_type_1__rebind_ends_the_old_key)
{
	struct fixture f;
	struct ibv_mw *mw;
	uint32_t old;

	setup(&f);
	cr_assert_not_null(mw = ibv_alloc_mw(f.b.pd, IBV_MW_TYPE_1));
	cr_assert_eq(bind1(&f.b, mw, AT, LEN), IBV_WC_SUCCESS);
	old = mw->rkey;
	cr_assert_eq(bind1(&f.b, mw, 2 * AT, LEN), IBV_WC_SUCCESS);
	cr_assert_neq(mw->rkey, old);
	cr_assert_eq(st_write(&f.a, (uintptr_t)f.b.buf + 2 * AT, mw->rkey, LEN), IBV_WC_SUCCESS);
	cr_assert_eq(st_write(&f.a, (uintptr_t)f.b.buf + AT, old, LEN), IBV_WC_REM_ACCESS_ERR);
	cr_assert_not(has_landed(&f));
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
	teardown(&f);
}

Test(stock, bind_type_1__bounds_and_rights)
{
	struct fixture f;
	struct ibv_mw *mw;

	setup(&f);
	cr_assert_not_null(mw = ibv_alloc_mw(f.b.pd, IBV_MW_TYPE_1));
	cr_assert_eq(bind1(&f.b, mw, AT, LEN), IBV_WC_SUCCESS);
	cr_assert_eq(st_write(&f.a, (uintptr_t)f.b.buf + AT + 1, mw->rkey, LEN),
		     IBV_WC_REM_ACCESS_ERR);
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
	teardown(&f);
}

Test(stock, bind_type_2__write_invalidate_bind_again)
{
	struct ibv_send_wr inval = { .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED };
	struct fixture f;
	struct ibv_mw *mw;
	uint64_t addr;

	setup(&f);
	addr = (uintptr_t)f.b.buf + AT;
	cr_assert_not_null(mw = ibv_alloc_mw(f.b.pd, IBV_MW_TYPE_2));
	for (int i = 0; i < 3; i++) {
		uint32_t rkey = ibv_inc_rkey(mw->rkey);

		cr_assert_eq(bind2(&f.b, mw, rkey), IBV_WC_SUCCESS);
		mw->rkey = rkey;
		memset(f.a.buf, 0x60 + i, LEN);
		cr_assert_eq(st_write(&f.a, addr, mw->rkey, LEN), IBV_WC_SUCCESS);
		cr_assert(has_landed(&f));
		inval.invalidate_rkey = mw->rkey;
		st_post(&f.b, &inval);
		cr_assert_eq(st_poll(&f.b), IBV_WC_SUCCESS);
	}
	cr_assert_eq(st_write(&f.a, addr, mw->rkey, LEN), IBV_WC_REM_ACCESS_ERR);
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
	teardown(&f);
}
