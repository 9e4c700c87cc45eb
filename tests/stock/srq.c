/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues by verbs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stock/rig.h"

enum { DEPTH = 8, LEN = 64 };

struct shared {
	struct st_end a, b;		/* b's QP receives from the SRQ */
	struct ibv_srq *srq;
};

static void use_srq(struct st_end *end, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.srq = srq,
		.cap = { .max_send_wr = ST_DEPTH, .max_send_sge = 1 },
	};

	cr_assert_eq(ibv_destroy_qp(end->qp), 0);
	cr_assert_not_null(end->qp = ibv_create_qp(end->pd, &attr));
}

static void start(struct shared *s)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = DEPTH, .max_sge = 2 } };

	st_create(&s->a, st_open());
	st_create(&s->b, s->a.ctx);
	cr_assert_not_null(s->srq = ibv_create_srq(s->b.pd, &attr));
	cr_assert_geq(attr.attr.max_wr, DEPTH);
	use_srq(&s->b, s->srq);
	st_connect(&s->a, &s->b);
}

static void end(struct shared *s)
{
	cr_assert_eq(ibv_destroy_qp(s->b.qp), 0);
	cr_assert_eq(ibv_destroy_srq(s->srq), 0);
	s->b.qp = NULL;
	st_unpair(&s->a, &s->b);
}

static void give(struct shared *s, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)s->b.buf + id * LEN, LEN, s->b.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	cr_assert_eq(ibv_post_srq_recv(s->srq, &wr, &bad), 0);
}

static void send_text(struct shared *s, const char *text)
{
	memset(s->a.buf, 0, LEN);
	memcpy(s->a.buf, text, strlen(text));
	st_send(&s->a, LEN, 0);
	cr_assert_eq(st_poll(&s->a), IBV_WC_SUCCESS);
}

Test(stock, srq__receives_in_the_order_of_posting)
{
	struct shared s;

	start(&s);
	for (unsigned int lap = 0; lap < 3 * DEPTH; lap++) {
		give(&s, lap % DEPTH);
		send_text(&s, lap % 2 ? "odd" : "even");
		cr_assert_eq(st_poll(&s.b), IBV_WC_SUCCESS);
		cr_assert_str_eq((char *)s.b.buf + lap % DEPTH * LEN, lap % 2 ? "odd" : "even");
	}
	end(&s);
}

static void take_async(struct shared *s, enum ibv_event_type type)
{
	struct ibv_async_event event;

	cr_assert(st_readable(s->a.ctx->async_fd, ST_LIMIT_MS),
		  "no asynchronous event came in time");
	cr_assert_eq(ibv_get_async_event(s->a.ctx, &event), 0);
	cr_assert_eq(event.event_type, type, "the wrong event came: %s",
		     ibv_event_type_str(event.event_type));
	if (type == IBV_EVENT_SRQ_LIMIT_REACHED)
		cr_assert_eq(event.element.srq, s->srq);
	else
		cr_assert_eq(event.element.qp, s->b.qp);
	ibv_ack_async_event(&event);
}

Test(stock, srq__limit_raises_one_event_when_fewer_are_left)
{
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct shared s;

	start(&s);
	for (uint64_t i = 0; i < 4; i++)
		give(&s, i);
	cr_assert_eq(ibv_modify_srq(s.srq, &attr, IBV_SRQ_LIMIT), 0);
	cr_assert_eq(ibv_query_srq(s.srq, &attr), 0);
	cr_expect_eq(attr.srq_limit, 2);
	cr_expect_geq(attr.max_sge, 2);
	send_text(&s, "3");
	send_text(&s, "2");
	cr_expect_not(st_readable(s.a.ctx->async_fd, 0),
		      "the limit event came with two receives left; the limit is two");
	send_text(&s, "1");
	take_async(&s, IBV_EVENT_SRQ_LIMIT_REACHED);
	cr_assert_eq(ibv_query_srq(s.srq, &attr), 0);
	cr_expect_eq(attr.srq_limit, 0, "the limit is still set after its event");
	attr.max_wr = 2 * DEPTH;
	cr_expect_eq(ibv_modify_srq(s.srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	attr.srq_limit = 1 << 20;
	cr_expect_eq(ibv_modify_srq(s.srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(st_poll(&s.b), IBV_WC_SUCCESS);
	end(&s);
}

Test(stock, srq__failed_qp_raises_last_wqe_reached)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct shared s;

	start(&s);
	cr_expect_eq(ibv_destroy_srq(s.srq), EBUSY);
	cr_assert_eq(ibv_modify_qp(s.b.qp, &attr, IBV_QP_STATE), 0);
	take_async(&s, IBV_EVENT_QP_LAST_WQE_REACHED);
	end(&s);
}

Test(stock, srq__of_impossible_shape_is_refused)
{
	struct ibv_context *ctx = st_open();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1 << 20, .max_sge = 1 } };

	cr_expect_null(ibv_create_srq(pd, &attr));
	attr.attr.max_wr = 8;
	attr.attr.max_sge = 1000;
	cr_expect_null(ibv_create_srq(pd, &attr));
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
	st_close(ctx);
}

/* Linux, mlx5_ib_query_device. Programs look at these limits before they moderate a CQ. */
Test(stock, query_device_ex__has_the_limits_of_moderation)
{
	struct ibv_context *ctx = st_open();
	struct ibv_device_attr_ex attr;

	cr_assert_eq(ibv_query_device_ex(ctx, NULL, &attr), 0);
	cr_expect_eq(attr.cq_mod_caps.max_cq_count, 0xffff);
	cr_expect_eq(attr.cq_mod_caps.max_cq_period, 0xfff);
	st_close(ctx);
}

Test(stock, modify_cq__moderation_is_accepted_up_to_its_limit)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = { 4, 100 } };
	struct st_end a;

	st_create(&a, st_open());
	cr_expect_eq(ibv_modify_cq(a.cq, &attr), 0);
	attr.moderate.cq_period = 0xffff;
	cr_expect_eq(ibv_modify_cq(a.cq, &attr), EINVAL);
	st_finish(&a);
}

/* The queue is empty. (libmlx5 takes the queue's memory from huge pages if there are any.) */
Test(stock, srq_create__of_no_receives_with_huge_pages_preferred_succeeds)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 0 } };
	struct ibv_context *ctx;
	struct ibv_srq *srq;
	struct ibv_pd *pd;

	setenv("MLX_SRQ_ALLOC_TYPE", "PREFER_HUGE", 1);
	ctx = st_open();
	cr_assert_not_null(pd = ibv_alloc_pd(ctx));
	cr_assert_not_null(srq = ibv_create_srq(pd, &attr), "the SRQ cannot be created, errno %d",
			   errno);
	cr_expect_eq(ibv_destroy_srq(srq), 0);
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
	st_close(ctx);
}
