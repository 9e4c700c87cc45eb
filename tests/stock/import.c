/* SPDX-License-Identifier: BSD-2-Clause */
/* A context, a PD and a region imported through a duplicate of the command descriptor. */
#include <errno.h>
#include <unistd.h>

#include "tests/stock/rig.h"

struct imported {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
};

static void import(struct imported *i, const struct st_end *from)
{
	int fd = dup(from->ctx->cmd_fd);

	cr_assert_geq(fd, 0);
	cr_assert_not_null(i->ctx = ibv_import_device(fd),
			   "the context cannot be imported, errno %d", errno);
	cr_assert_not_null(i->pd = ibv_import_pd(i->ctx, from->pd->handle),
			   "the PD cannot be imported, errno %d", errno);
	cr_assert_not_null(i->mr = ibv_import_mr(i->pd, from->mr->handle),
			   "the MR cannot be imported, errno %d", errno);
	cr_expect_eq(i->mr->lkey, from->mr->lkey);
	cr_expect_eq(i->mr->rkey, from->mr->rkey);
	cr_expect_eq(i->mr->length, from->mr->length);
}

static void unimport(struct imported *i)
{
	ibv_unimport_mr(i->mr);
	ibv_unimport_pd(i->pd);
	cr_expect_eq(ibv_close_device(i->ctx), 0);
}

/* Creates a QP with the imported objects, in place of the end's own QP. */
static struct ibv_qp *qp_of(const struct imported *i, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					 .cap = { ST_DEPTH, ST_DEPTH, 1, 1, 0 } };
	struct ibv_qp *qp = ibv_create_qp(i->pd, &attr);

	cr_assert_not_null(qp, "the QP cannot be created, errno %d", errno);
	return qp;
}

Test(stock, import_device__write_with_an_imported_pd_and_region_succeeds)
{
	struct st_end a, b, c;
	struct imported i;

	st_create(&a, st_open());
	st_create(&b, a.ctx);
	import(&i, &a);
	c = a;
	cr_assert_not_null(c.cq = ibv_create_cq(i.ctx, 16, NULL, NULL, 0));
	c.qp = qp_of(&i, c.cq);
	st_connect(&c, &b);
	c.mr = i.mr;
	cr_assert_eq(st_write(&c, (uintptr_t)b.buf, b.mr->rkey, 64), IBV_WC_SUCCESS);
	cr_expect_eq(ibv_destroy_qp(c.qp), 0);
	cr_expect_eq(ibv_destroy_cq(c.cq), 0);
	unimport(&i);
	st_connect(&a, &a);
	cr_assert_eq(st_write(&a, (uintptr_t)a.buf, a.mr->rkey, 64), IBV_WC_SUCCESS,
		     "the original context fails after the imported one was closed");
	st_unpair(&b, &a);
}

Test(stock, import_device__makes_a_shared_receive_queue)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 2 } };
	struct ibv_srq_attr is;
	struct imported i;
	struct ibv_srq *srq;
	struct st_end a;

	st_create(&a, st_open());
	import(&i, &a);
	cr_assert_not_null(srq = ibv_create_srq(i.pd, &attr), "the SRQ cannot be created, errno %d",
			   errno);
	cr_expect_geq(attr.attr.max_wr, 8);
	cr_expect_geq(attr.attr.max_sge, 2);
	cr_assert_eq(ibv_query_srq(srq, &is), 0);
	cr_expect_geq(is.max_wr, attr.attr.max_wr);
	cr_expect_eq(ibv_destroy_srq(srq), 0);
	unimport(&i);
	st_finish(&a);
}

/* The kernel's file exists until its last descriptor is closed. */
Test(stock, import_device__outlives_the_first_descriptor)
{
	struct ibv_context *ctx = st_open();
	struct ibv_context *imported = ibv_import_device(dup(ctx->cmd_fd));
	struct ibv_pd *pd;

	cr_assert_not_null(imported, "the context cannot be imported, errno %d", errno);
	st_close(ctx);
	cr_assert_not_null(pd = ibv_alloc_pd(imported), "the PD cannot be allocated, errno %d",
			   errno);
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
	st_close(imported);
}

/* The event of a QP goes to the context that created it. */
Test(stock, import_device__has_asynchronous_events_of_its_own)
{
	struct ibv_async_event event;
	struct st_end a, b, c;
	struct imported i;

	st_create(&a, st_open());
	st_create(&b, a.ctx);
	import(&i, &a);
	c = a;
	cr_assert_not_null(c.cq = ibv_create_cq(i.ctx, 16, NULL, NULL, 0));
	c.qp = qp_of(&i, c.cq);
	st_connect(&c, &b);
	cr_assert_eq(st_write(&b, (uintptr_t)a.buf, a.mr->rkey + 1, 64), IBV_WC_REM_ACCESS_ERR);
	cr_assert(st_readable(i.ctx->async_fd, ST_LIMIT_MS));
	do {
		cr_assert_eq(ibv_get_async_event(i.ctx, &event), 0);
		cr_expect_eq(event.element.qp, c.qp);
		ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_QP_ACCESS_ERR);
	cr_expect_not(st_readable(a.ctx->async_fd, 0));
	cr_expect_eq(ibv_destroy_qp(c.qp), 0);
	cr_expect_eq(ibv_destroy_cq(c.cq), 0);
	unimport(&i);
	st_unpair(&b, &a);
}

Test(stock, import__of_what_is_not_there_returns_enoent)
{
	struct ibv_context *ctx = st_open();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	cr_expect_null(ibv_import_pd(ctx, 1u << 20));
	cr_expect_eq(errno, ENOENT);
	cr_expect_null(ibv_import_mr(pd, 1u << 20));
	cr_expect_eq(errno, ENOENT);
	cr_expect_null(ibv_import_device(STDIN_FILENO));
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
	st_close(ctx);
}
