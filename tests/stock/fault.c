/* SPDX-License-Identifier: BSD-2-Clause */
/* A port that goes down and up, and a device that fails, as reported to programs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/harness.h"
#include "tests/stock/devx.h"

enum { PORT_CHANGE = 0x09 };

static void fault(const char *script)
{
	cr_assert_eq(th_front_fault(0, script), 0);
}

static void take(struct ibv_context *ctx, enum ibv_event_type type)
{
	struct ibv_async_event event;

	cr_assert(st_readable(ctx->async_fd, ST_LIMIT_MS), "no asynchronous event came in time");
	cr_assert_eq(ibv_get_async_event(ctx, &event), 0);
	cr_assert_eq(event.event_type, type, "the wrong event came: %s",
		     ibv_event_type_str(event.event_type));
	ibv_ack_async_event(&event);
}

static enum ibv_port_state state(struct ibv_context *ctx)
{
	struct ibv_port_attr port;

	cr_assert_eq(ibv_query_port(ctx, 1, &port), 0);
	return port.state;
}

Test(stock, port__down_then_up_raises_an_event_for_each)
{
	struct ibv_context *ctx = dx_open();
	struct mlx5dv_devx_event_channel *ch = mlx5dv_devx_create_event_channel(ctx, 0);
	union dx_event event;
	uint16_t change = PORT_CHANGE;

	cr_assert_not_null(ch);
	cr_assert_eq(mlx5dv_devx_subscribe_devx_event(ch, NULL, sizeof(change), &change, 5), 0);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(state(ctx), IBV_PORT_ACTIVE);
		fault("link_down");
		take(ctx, IBV_EVENT_PORT_ERR);
		cr_assert_eq(state(ctx), IBV_PORT_DOWN);
		fault("");
		take(ctx, IBV_EVENT_PORT_ACTIVE);
	}
	for (int i = 0; i < 4; i++) {
		cr_assert(st_readable(ch->fd, ST_LIMIT_MS));
		cr_assert_eq(mlx5dv_devx_get_event(ch, &event.hdr, sizeof(event)), (ssize_t)sizeof(event));
		cr_expect_eq(event.hdr.cookie, 5);
		cr_expect_eq(event.bytes[8 + 1], PORT_CHANGE);
		cr_expect_eq(event.bytes[8 + 3], i % 2 ? 4 : 1,
			     "port states 1 (down) and 4 (active) do not alternate");
	}
	mlx5dv_devx_destroy_event_channel(ch);
	st_close(ctx);
}

/* A program may close the descriptor itself, or close its context while an event is on its way. */
Test(stock, async_event__without_a_reader_does_not_end_the_program)
{
	struct ibv_context *ctx = st_open();

	close(ctx->async_fd);
	ctx->async_fd = -1;
	fault("link_down");
	cr_assert(TH_WITHIN(ST_LIMIT_MS, state(ctx) == IBV_PORT_DOWN));
	fault("");
	cr_assert(TH_WITHIN(ST_LIMIT_MS, state(ctx) == IBV_PORT_ACTIVE));
	st_close(ctx);
}

Test(stock, device__failure_raises_an_event_and_refuses_creation)
{
	struct st_end a;

	st_create(&a, st_open());
	st_connect(&a, &a);
	fault("fatal");
	take(a.ctx, IBV_EVENT_DEVICE_FATAL);
	cr_expect_null(ibv_create_cq(a.ctx, 8, NULL, NULL, 0));
	cr_expect_null(ibv_alloc_pd(a.ctx));
	st_finish(&a);
}

/* Linux, mlx5_ib_alloc_ucontext. */
Test(stock, device__that_failed_cannot_be_opened_again)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = st_open();

	cr_assert(list && list[0]);
	fault("fatal");
	take(ctx, IBV_EVENT_DEVICE_FATAL);
	errno = 0;
	cr_expect_null(ibv_open_device(list[0]));
	cr_expect_eq(errno, EAGAIN);
	ibv_free_device_list(list);
	st_close(ctx);
}

static void lossy(const char *script)
{
	struct st_end a, b;

	st_pair(&a, &b);
	fault(script);
	for (int i = 0; i < 50; i++) {
		memset(a.buf, i + 1, ST_BUF / 2);
		cr_assert_eq(st_write(&a, (uintptr_t)b.buf, b.mr->rkey, ST_BUF / 2), IBV_WC_SUCCESS);
		cr_assert_arr_eq(a.buf, b.buf, ST_BUF / 2);
	}
	fault("");
	st_unpair(&a, &b);
}

Test(stock, fabric__that_loses_and_reorders_delivers_all_writes)
{
	lossy("drop=0.02,dup=0.02,reorder=0.02,seed=11");
}

enum { MANY = 2000 };			/* random numbers reach each of 256 lists of sources */

/* The front creates the CQ, does not find its channel of events, and cannot destroy the CQ either. */
Test(stock, create_cq__failed_and_not_destroyed_leaves_no_source_of_events)
{
	struct ibv_context *ctx = st_open(), *imported = ibv_import_device(dup(ctx->cmd_fd));
	static struct ibv_cq *cq[MANY];
	int async_fd;

	cr_assert_not_null(imported);
	async_fd = imported->async_fd;
	imported->async_fd = imported->cmd_fd;
	fault("cmd_fail=0x401");
	cr_expect_null(ibv_create_cq(imported, 4, NULL, NULL, 0));
	cr_expect_eq(errno, EBADF);
	imported->async_fd = async_fd;
	for (int i = 0; i < MANY; i++)
		cr_assert_not_null(cq[i] = ibv_create_cq(ctx, 4, NULL, NULL, 0));
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(ibv_destroy_cq(cq[i]), 0);
	st_close(imported);
	st_close(ctx);
}

/* The device creates the new key, and refuses to destroy the old one. */
Test(stock, rereg_mr__old_key_that_stays_leaves_the_region_unchanged)
{
	struct st_end a;

	st_create(&a, st_open());
	st_connect(&a, &a);
	fault("cmd_fail=0x202");
	cr_expect_eq(ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, a.buf, ST_BUF / 2, 0),
		     IBV_REREG_MR_ERR_CMD);
	cr_expect_eq(st_write(&a, (uintptr_t)a.buf + ST_BUF / 2, a.mr->rkey, 64), IBV_WC_SUCCESS);
	st_finish(&a);
}

Test(stock, modify_qp__refused_change_of_the_port_keeps_the_port)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 2 };
	union ibv_gid gid;
	struct st_end a;

	setenv("SOFTNIC_PORTS", "2", 1);
	st_create(&a, st_open());
	cr_assert_eq(ibv_query_gid(a.ctx, 1, 0, &gid), 0);
	cr_assert_eq(st_to_init(a.qp), 0);
	fault("cmd_fail=0x50e");
	cr_expect_neq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_PORT), 0);
	cr_expect_eq(st_to_rtr(a.qp, &gid, a.qp->qp_num), 0);
	st_finish(&a);
}
