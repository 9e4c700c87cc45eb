/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests other than plain SEND, WRITE and READ, as libmlx5 posts them; resizing a CQ. */
#include <endian.h>
#include <string.h>

#include "tests/stock/rig.h"

enum { AT = 8192, LEN = 64 };

struct two {
	struct st_end a, b;
	struct ibv_mr *mr;		/* region of b's memory, with all rights */
};

static void start(struct two *t)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
		IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };

	st_pair(&t->a, &t->b);
	cr_assert_eq(ibv_modify_qp(t->b.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	t->mr = ibv_reg_mr(t->b.pd, t->b.buf, ST_BUF, attr.qp_access_flags | IBV_ACCESS_LOCAL_WRITE);
	cr_assert_not_null(t->mr);
}

static void end(struct two *t)
{
	cr_assert_eq(ibv_dereg_mr(t->mr), 0);
	st_unpair(&t->a, &t->b);
}

static enum ibv_wc_status post(struct two *t, struct ibv_send_wr *wr, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)t->a.buf, len, t->a.mr->lkey };

	wr->send_flags = IBV_SEND_SIGNALED;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	st_post(&t->a, wr);
	return st_poll(&t->a);
}

static struct ibv_wc poll_one(struct st_end *end)
{
	struct ibv_wc wc = st_wc(end);

	cr_assert_eq(wc.status, IBV_WC_SUCCESS, "the completion has the status \"%s\"",
		     ibv_wc_status_str(wc.status));
	return wc;
}

Test(stock, post_send__with_immediate_arrives_with_it)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htobe32(0xfeed) };
	struct ibv_wc wc;
	struct two t;

	start(&t);
	st_recv(&t.b, LEN);
	strcpy((char *)t.a.buf, "sent");
	cr_assert_eq(post(&t, &wr, LEN), IBV_WC_SUCCESS);
	wc = poll_one(&t.b);
	cr_expect_eq(wc.opcode, IBV_WC_RECV);
	cr_expect(wc.wc_flags & IBV_WC_WITH_IMM);
	cr_expect_eq(wc.imm_data, htobe32(0xfeed));
	cr_expect_eq(wc.byte_len, LEN);
	cr_expect_str_eq((char *)t.b.buf, "sent");
	end(&t);
}

Test(stock, post_write__with_immediate_completes_a_receive_with_it)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = htobe32(7) };
	struct ibv_wc wc;
	struct two t;

	start(&t);
	st_recv(&t.b, LEN);
	strcpy((char *)t.a.buf, "written");
	wr.wr.rdma.remote_addr = (uintptr_t)t.b.buf + AT;
	wr.wr.rdma.rkey = t.mr->rkey;
	cr_assert_eq(post(&t, &wr, LEN), IBV_WC_SUCCESS);
	wc = poll_one(&t.b);
	cr_expect_eq(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	cr_expect_eq(wc.imm_data, htobe32(7));
	cr_expect_eq(wc.byte_len, LEN);
	cr_expect_str_eq((char *)t.b.buf + AT, "written");
	cr_expect_eq(t.b.buf[0], 0, "the write with immediate wrote to the receive's buffer");
	end(&t);
}

Test(stock, post_atomic__returns_the_old_value_and_changes_the_word)
{
	struct ibv_send_wr add = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct ibv_send_wr swap = { .opcode = IBV_WR_ATOMIC_CMP_AND_SWP };
	struct two t;
	uint64_t *there, *here;

	start(&t);
	there = (uint64_t *)(void *)(t.b.buf + AT);
	here = (uint64_t *)(void *)t.a.buf;
	*there = 40;
	add.wr.atomic.remote_addr = swap.wr.atomic.remote_addr = (uintptr_t)there;
	add.wr.atomic.rkey = swap.wr.atomic.rkey = t.mr->rkey;
	add.wr.atomic.compare_add = 2;
	cr_assert_eq(post(&t, &add, 8), IBV_WC_SUCCESS);
	cr_expect_eq(*here, 40);
	cr_expect_eq(*there, 42);
	swap.wr.atomic.compare_add = 42;
	swap.wr.atomic.swap = UINT64_C(0x1122334455667788);
	cr_assert_eq(post(&t, &swap, 8), IBV_WC_SUCCESS);
	cr_expect_eq(*here, 42);
	cr_expect_eq(*there, UINT64_C(0x1122334455667788));
	cr_assert_eq(post(&t, &swap, 8), IBV_WC_SUCCESS);
	cr_expect_eq(*here, UINT64_C(0x1122334455667788),
		     "compare-and-swap swapped although the values differ");
	add.wr.atomic.rkey = t.b.mr->rkey;
	cr_expect_eq(post(&t, &add, 8), IBV_WC_REM_ACCESS_ERR,
		     "an atomic to an MR without the right for atomics was not refused");
	end(&t);
}

static void send_numbered(struct two *t, uint32_t number)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htobe32(number) };

	st_recv(&t->b, LEN);
	cr_assert_eq(post(t, &wr, LEN), IBV_WC_SUCCESS);
}

/* Completions from before the resize come first, whether the CQ grows or shrinks. */
Test(stock, resize_cq__keeps_what_is_in_it)
{
	static const int size[] = { 255, 31, 1023, 15 };
	uint32_t sent = 0, got = 0;
	struct two t;

	start(&t);
	for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		for (int k = 0; k < 5; k++)
			send_numbered(&t, sent++);
		for (int k = 0; k < 2; k++)
			cr_assert_eq(poll_one(&t.b).imm_data, htobe32(got++));
		cr_assert_eq(ibv_resize_cq(t.b.cq, size[i]), 0,
			     "the CQ cannot be resized to %d entries", size[i]);
		cr_assert_eq(t.b.cq->cqe, size[i]);
		send_numbered(&t, sent++);
		while (got < sent)
			cr_assert_eq(poll_one(&t.b).imm_data, htobe32(got++));
	}
	cr_expect_neq(ibv_resize_cq(t.b.cq, 1 << 24), 0);
	end(&t);
}
