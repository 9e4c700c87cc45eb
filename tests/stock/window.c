/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows of both types, which libmlx5 binds: access, the end of access, and sends that
 * invalidate windows of the peer.
 */
#include <string.h>

#include "tests/stock/rig.h"

enum { AT = 4096, LEN = 512 };

struct fixture {
	struct st_end a, b;		/* b owns the window, a writes through it */
};

static void setup(struct fixture *f)
{
	st_pair(&f->a, &f->b);
	memset(f->a.buf, 0x5a, LEN);
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

static enum ibv_wc_status bind2_for(struct st_end *end, struct ibv_mw *mw, uint32_t rkey,
				    unsigned int rights)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = mw, .rkey = rkey,
			     .bind_info = { end->mr, (uintptr_t)end->buf + AT, LEN, rights } },
	};

	st_post(end, &wr);
	return st_poll(end);
}

static enum ibv_wc_status bind2(struct st_end *end, struct ibv_mw *mw, uint32_t rkey)
{
	return bind2_for(end, mw, rkey, IBV_ACCESS_REMOTE_WRITE);
}

static bool has_landed(struct fixture *f)
{
	return memcmp(f->b.buf + AT, f->a.buf, LEN) == 0;
}

Test(stock, bind_type_1__opens_its_range_until_the_unbind)
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
	st_unpair(&f.a, &f.b);
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
	st_unpair(&f.a, &f.b);
}

Test(stock, bind_type_1__write_outside_its_bounds_is_refused)
{
	struct fixture f;
	struct ibv_mw *mw;

	setup(&f);
	cr_assert_not_null(mw = ibv_alloc_mw(f.b.pd, IBV_MW_TYPE_1));
	cr_assert_eq(bind1(&f.b, mw, AT, LEN), IBV_WC_SUCCESS);
	cr_assert_eq(st_write(&f.a, (uintptr_t)f.b.buf + AT + 1, mw->rkey, LEN),
		     IBV_WC_REM_ACCESS_ERR);
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
	st_unpair(&f.a, &f.b);
}

Test(stock, bind_type_2__invalidated_window_can_be_bound_again)
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
	st_unpair(&f.a, &f.b);
}

/* Sends from a and invalidates a window of b, with ibv_post_send or with the newer calls. */
static void send_end(struct st_end *a, uint32_t rkey, bool new_calls)
{
	struct ibv_sge sge = { (uintptr_t)a->buf, 32, a->mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_INV, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge,
		.num_sge = 1, .invalidate_rkey = rkey,
	};
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(a->qp);

	if (!new_calls) {
		st_post(a, &wr);
		return;
	}
	cr_assert_not_null(qp);
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_inv(qp, rkey);
	ibv_wr_set_sge(qp, a->mr->lkey, (uintptr_t)a->buf, 32);
	cr_assert_eq(ibv_wr_complete(qp), 0);
}

/* Checks b's receive completion, and a's completion. */
static void ends(struct fixture *f, uint32_t rkey, bool new_calls, enum ibv_wc_status at_a,
		 enum ibv_wc_status at_b)
{
	struct ibv_wc wc;

	st_recv(&f->b, 64);
	send_end(&f->a, rkey, new_calls);
	wc = st_wc(&f->b);
	cr_assert_eq(wc.status, at_b, "the receive has the wrong status \"%s\"",
		     ibv_wc_status_str(wc.status));
	if (wc.status == IBV_WC_SUCCESS) {
		cr_assert_eq(wc.opcode, IBV_WC_RECV);
		cr_assert(wc.wc_flags & IBV_WC_WITH_INV);
		cr_assert_eq(wc.invalidated_rkey, rkey);
		cr_assert_eq(wc.byte_len, 32);
	}
	wc = st_wc(&f->a);
	cr_assert_eq(wc.status, at_a, "the send has the wrong status \"%s\"",
		     ibv_wc_status_str(wc.status));
}

Test(stock, send_with_invalidate__ends_a_window_of_type_2)
{
	struct fixture f;
	struct ibv_mw *mw;
	uint64_t addr;

	setup(&f);
	addr = (uintptr_t)f.b.buf + AT;
	cr_assert_not_null(mw = ibv_alloc_mw(f.b.pd, IBV_MW_TYPE_2));
	for (int i = 0; i < 4; i++) {
		mw->rkey = ibv_inc_rkey(mw->rkey);
		cr_assert_eq(bind2(&f.b, mw, mw->rkey), IBV_WC_SUCCESS);
		cr_assert_eq(st_write(&f.a, addr, mw->rkey, LEN), IBV_WC_SUCCESS);
		ends(&f, mw->rkey, i % 2, IBV_WC_SUCCESS, IBV_WC_SUCCESS);
	}
	cr_assert_eq(st_write(&f.a, addr, mw->rkey, LEN), IBV_WC_REM_ACCESS_ERR);
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
	st_unpair(&f.a, &f.b);
}

/* IBTA 9.9.6.3, class J: the peer gets no answer, so its retries are exhausted. */
Test(stock, send_with_invalidate__of_what_may_not_be_ended_fails_both_sides)
{
	for (int what = 0; what < 3; what++) {
		struct fixture f;
		struct ibv_mw *mw;
		uint32_t rkey;

		setup(&f);
		cr_assert_not_null(mw = ibv_alloc_mw(f.b.pd, what ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1));
		if (what == 0) {
			cr_assert_eq(bind1(&f.b, mw, AT, LEN), IBV_WC_SUCCESS);
			rkey = mw->rkey;
		} else {
			rkey = what == 1 ? f.b.mr->rkey : mw->rkey;
		}
		ends(&f, rkey, false, IBV_WC_RETRY_EXC_ERR, IBV_WC_MW_BIND_ERR);
		cr_assert_eq(ibv_dealloc_mw(mw), 0);
		st_unpair(&f.a, &f.b);
	}
}

Test(stock, read__through_a_window_of_a_region_that_is_gone_fails)
{
	struct ibv_send_wr read = { .opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_sge sge = { .length = LEN };
	struct fixture f;
	struct ibv_mw *mw;

	for (int gone = 0; gone < 2; gone++) {
		setup(&f);
		cr_assert_not_null(mw = ibv_alloc_mw(f.b.pd, IBV_MW_TYPE_2));
		mw->rkey = ibv_inc_rkey(mw->rkey);
		cr_assert_eq(bind2_for(&f.b, mw, mw->rkey, IBV_ACCESS_REMOTE_READ), IBV_WC_SUCCESS);
		sge.addr = (uintptr_t)f.a.buf;
		sge.lkey = f.a.mr->lkey;
		read.sg_list = &sge;
		read.num_sge = 1;
		read.wr.rdma.remote_addr = (uintptr_t)f.b.buf + AT;
		read.wr.rdma.rkey = mw->rkey + !gone;
		if (gone) {
			cr_assert_eq(ibv_dereg_mr(f.b.mr), 0);
			cr_assert_not_null(f.b.mr = ibv_reg_mr(f.b.pd, f.b.buf, ST_BUF, 0));
		}
		st_post(&f.a, &read);
		cr_assert_eq(st_poll(&f.a), gone ? IBV_WC_REM_OP_ERR : IBV_WC_REM_ACCESS_ERR);
		cr_assert_eq(ibv_dealloc_mw(mw), 0);
		st_unpair(&f.a, &f.b);
	}
}
