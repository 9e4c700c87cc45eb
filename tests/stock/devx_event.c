/* SPDX-License-Identifier: BSD-2-Clause */
/* DEVX event channels and asynchronous queries. */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/stock/devx.h"

typedef struct mlx5dv_devx_event_channel channel;

enum { COMPLETION = 0x00, CQ_ERROR = 0x04, PORT_CHANGE = 0x09, QUIET_MS = 20 };

static channel *open_channel(struct dx *d, bool omit_data, uint64_t cookie)
{
	uint16_t events[] = { COMPLETION, CQ_ERROR };
	channel *ch;

	ch = mlx5dv_devx_create_event_channel(d->ctx, omit_data ?
					      MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA : 0);
	cr_assert_not_null(ch);
	cr_assert_eq(mlx5dv_devx_subscribe_devx_event(ch, d->cq, sizeof(events), events, cookie), 0);
	return ch;
}

static void start(struct dx *d)
{
	dx_create(d, dx_open());
	dx_connect(d);
}

static void end(struct dx *d)
{
	dx_destroy(d);
	st_close(d->ctx);
}

/* Causes n completions with an event each, and reads no event. */
static void complete(struct dx *d, unsigned int n)
{
	while (n--) {
		dx_arm(d);
		dx_nop(d);
		dx_wait(d);
	}
}

Test(stock, devx_event__each_arm_causes_one)
{
	struct mlx5dv_devx_async_event_hdr hdr[8];
	struct dx d;
	channel *ch;

	start(&d);
	ch = open_channel(&d, true, 0xc00c1e);
	for (int i = 0; i < 5; i++) {
		dx_arm(&d);
		dx_nop(&d);
		dx_nop(&d);
		dx_wait(&d);
		dx_wait(&d);
		cr_assert(st_readable(ch->fd, ST_LIMIT_MS));
		cr_assert_eq(mlx5dv_devx_get_event(ch, hdr, sizeof(hdr)), (ssize_t)sizeof(hdr[0]));
		cr_assert_eq(hdr[0].cookie, 0xc00c1e);
		cr_assert_not(st_readable(ch->fd, QUIET_MS), "one arm caused two events");
	}
	mlx5dv_devx_destroy_event_channel(ch);
	end(&d);
}

Test(stock, devx_event__unread_counts_once)
{
	struct mlx5dv_devx_async_event_hdr hdr;
	struct dx d, e;
	channel *ch;
	uint16_t comp = COMPLETION;

	start(&d);
	dx_create(&e, d.ctx);
	dx_connect(&e);
	ch = open_channel(&d, true, 1);
	cr_assert_eq(mlx5dv_devx_subscribe_devx_event(ch, e.cq, sizeof(comp), &comp, 2), 0);
	complete(&d, 200);
	complete(&e, 1);
	for (uint64_t i = 1; i <= 2; i++) {
		cr_assert(st_readable(ch->fd, ST_LIMIT_MS));
		cr_assert_eq(mlx5dv_devx_get_event(ch, &hdr, sizeof(hdr)), (ssize_t)sizeof(hdr));
		cr_assert_eq(hdr.cookie, i);
	}
	cr_expect_not(st_readable(ch->fd, QUIET_MS));
	dx_arm(&d);
	dx_nop(&d);
	cr_assert(st_readable(ch->fd, ST_LIMIT_MS),
		  "the next event did not come after the first was read");
	mlx5dv_devx_destroy_event_channel(ch);
	dx_destroy(&e);
	end(&d);
}

/* Linux keeps all unread events in a list. */
Test(stock, devx_event__unread_by_the_hundred_are_all_kept)
{
	enum { EACH = 300 };
	union dx_event event[2];
	uint16_t comp = COMPLETION;
	struct dx d, e;
	channel *ch;

	start(&d);
	dx_create(&e, d.ctx);
	dx_connect(&e);
	ch = open_channel(&d, false, 1);
	cr_assert_eq(mlx5dv_devx_subscribe_devx_event(ch, e.cq, sizeof(comp), &comp, 2), 0);
	complete(&d, EACH);
	complete(&e, EACH);
	for (uint64_t i = 0; i < 2 * EACH; i++) {
		cr_assert(st_readable(ch->fd, ST_LIMIT_MS), "event %d of %d was lost", (int)i, 2 * EACH);
		cr_assert_eq(mlx5dv_devx_get_event(ch, &event->hdr, sizeof(event)), 8 + 64,
			     "a read does not return one event");
		cr_assert_eq(event->hdr.cookie, i / EACH + 1);
	}
	cr_expect_not(st_readable(ch->fd, QUIET_MS));
	mlx5dv_devx_destroy_event_channel(ch);
	dx_destroy(&e);
	end(&d);
}

/* Linux, devx_async_event_read: a lost event is reported once, before those that were kept. */
Test(stock, devx_event__that_is_lost_is_reported_by_the_next_read)
{
	enum { KEPT = 56, PAGE = 4096 };	/* a pipe of one page */
	union dx_event event;
	struct dx d;
	channel *ch;

	start(&d);
	ch = open_channel(&d, false, 7);
	cr_assert_eq(fcntl(ch->fd, F_SETPIPE_SZ, PAGE), PAGE);
	complete(&d, KEPT + 10);
	cr_expect_lt(mlx5dv_devx_get_event(ch, &event.hdr, sizeof(event)), 0);
	cr_expect_eq(errno, EOVERFLOW);
	for (int i = 0; i < KEPT; i++) {
		cr_assert(st_readable(ch->fd, ST_LIMIT_MS));
		cr_assert_eq(mlx5dv_devx_get_event(ch, &event.hdr, sizeof(event)), (ssize_t)sizeof(event));
	}
	cr_expect_not(st_readable(ch->fd, QUIET_MS));
	mlx5dv_devx_destroy_event_channel(ch);
	end(&d);
}

/* Linux, devx_async_event_read: EINVAL, and the event stays in the channel. */
Test(stock, devx_event__longer_than_the_buffer_is_kept)
{
	union dx_event event;
	struct dx d;
	channel *ch;

	start(&d);
	ch = open_channel(&d, false, 7);
	complete(&d, 1);
	cr_expect_lt(mlx5dv_devx_get_event(ch, &event.hdr, sizeof(event) - 1), 0);
	cr_expect_eq(errno, EINVAL);
	cr_assert(st_readable(ch->fd, ST_LIMIT_MS));
	cr_expect_eq(mlx5dv_devx_get_event(ch, &event.hdr, sizeof(event)), (ssize_t)sizeof(event));
	mlx5dv_devx_destroy_event_channel(ch);
	end(&d);
}

Test(stock, devx_event__comes_with_its_data)
{
	union dx_event event[4];
	struct dx d;
	channel *ch;

	start(&d);
	ch = open_channel(&d, false, 7);
	dx_arm(&d);
	dx_nop(&d);
	cr_assert(st_readable(ch->fd, ST_LIMIT_MS));
	cr_assert_eq(mlx5dv_devx_get_event(ch, &event->hdr, sizeof(event)), 8 + 64);
	cr_expect_eq(event->hdr.cookie, 7);
	cr_expect_eq(event->bytes[8 + 1], COMPLETION);
	cr_expect_eq(dx_get(event->bytes + 8, 56, 8, 24), d.cqn);
	mlx5dv_devx_destroy_event_channel(ch);
	end(&d);
}

Test(stock, devx_event__to_an_eventfd_is_counted_there)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	eventfd_t n;
	struct dx d;
	channel *ch;

	start(&d);
	ch = mlx5dv_devx_create_event_channel(d.ctx, 0);
	cr_assert(ch && fd >= 0);
	cr_expect_neq(mlx5dv_devx_subscribe_devx_event_fd(ch, 1 << 20, d.cq, COMPLETION), 0);
	cr_expect_eq(mlx5dv_devx_subscribe_devx_event_fd(ch, d.ctx->async_fd, d.cq, COMPLETION), EINVAL,
		     "a descriptor that is no eventfd was accepted");
	cr_assert_eq(mlx5dv_devx_subscribe_devx_event_fd(ch, fd, d.cq, COMPLETION), 0);
	for (int i = 0; i < 3; i++) {
		dx_arm(&d);
		dx_nop(&d);
		cr_assert(st_readable(fd, ST_LIMIT_MS));
		cr_assert_eq(eventfd_read(fd, &n), 0);
		cr_assert_eq(n, 1);
		dx_wait(&d);
	}
	cr_expect_not(st_readable(ch->fd, QUIET_MS));
	mlx5dv_devx_destroy_event_channel(ch);
	close(fd);
	end(&d);
}

/* Linux, eventfd_signal: the value does not change if it has no room, and no thread waits. */
Test(stock, devx_event__to_an_eventfd_without_room_blocks_nothing)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	struct dx d;
	channel *ch;

	start(&d);
	cr_assert_eq(eventfd_write(fd, UINT64_MAX - 1), 0);
	cr_assert_not_null(ch = mlx5dv_devx_create_event_channel(d.ctx, 0));
	cr_assert_eq(mlx5dv_devx_subscribe_devx_event_fd(ch, fd, d.cq, COMPLETION), 0);
	complete(&d, 2);
	mlx5dv_devx_destroy_event_channel(ch);
	close(fd);
	end(&d);
}

Test(stock, devx_event__channel_closed_with_a_copy_still_gets_it)
{
	struct dx d;
	channel *ch;
	int copy;

	start(&d);
	ch = open_channel(&d, true, 1);
	mlx5dv_devx_destroy_event_channel(ch);
	complete(&d, 1);
	ch = open_channel(&d, true, 2);
	cr_assert_geq(copy = fcntl(ch->fd, F_DUPFD_CLOEXEC, 0), 0);
	mlx5dv_devx_destroy_event_channel(ch);
	dx_arm(&d);
	dx_nop(&d);
	cr_expect(st_readable(copy, ST_LIMIT_MS),
		  "the copied descriptor of the channel gets no event");
	close(copy);
	end(&d);
}

Test(stock, devx_event__invalid_subscriptions_return_einval)
{
	uint16_t port = PORT_CHANGE, comp = COMPLETION, odd = 0x77, many[17] = { 0 };
	struct dx d;
	channel *ch;

	start(&d);
	ch = mlx5dv_devx_create_event_channel(d.ctx, 0);
	cr_assert_not_null(ch);
	cr_expect_eq(mlx5dv_devx_subscribe_devx_event(ch, NULL, 2, &port, 0), 0);
	cr_expect_eq(mlx5dv_devx_subscribe_devx_event(ch, NULL, 2, &comp, 0), EINVAL);
	cr_expect_eq(mlx5dv_devx_subscribe_devx_event(ch, d.cq, 2, &port, 0), EINVAL);
	cr_expect_eq(mlx5dv_devx_subscribe_devx_event(ch, d.cq, 2, &odd, 0), EINVAL);
	cr_expect_eq(mlx5dv_devx_subscribe_devx_event(ch, d.cq, sizeof(many), many, 0), EINVAL);
	mlx5dv_devx_destroy_event_channel(ch);
	end(&d);
}

Test(stock, devx_query_async__answers_in_order)
{
	union {
		struct mlx5dv_devx_async_cmd_hdr hdr;
		uint8_t bytes[8 + DX_LONG];
	} answer;
	struct mlx5dv_devx_cmd_comp *comp;
	uint8_t in[DX_SHORT] = { 0 };
	struct dx d;

	start(&d);
	cr_assert_not_null(comp = mlx5dv_devx_create_cmd_comp(d.ctx));
	dx_head(in, DX_QUERY_QP, d.qpn);
	for (uint64_t i = 0; i < 3; i++)
		cr_assert_eq(mlx5dv_devx_obj_query_async(d.qp, in, sizeof(in), DX_LONG, i, comp), 0);
	for (uint64_t i = 0; i < 3; i++) {
		cr_assert_eq(mlx5dv_devx_get_async_cmd_comp(comp, &answer.hdr, sizeof(answer)), 0);
		cr_assert_eq(answer.hdr.wr_id, i);
		cr_assert_eq(dx_get(answer.bytes + 8 + 0x18, 0x10, 8, 24), 0x123);
	}
	dx_head(in, DX_2ERR_QP, d.qpn);
	cr_expect_eq(mlx5dv_devx_obj_query_async(d.qp, in, sizeof(in), DX_SHORT, 0, comp), EINVAL);
	mlx5dv_devx_destroy_cmd_comp(comp);
	end(&d);
}
