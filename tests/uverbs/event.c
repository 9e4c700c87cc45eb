/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of port and device reach the consumer's asynchronous EVD. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "tests/uverbs/calls.h"
#include "tests/uverbs/told.h"

static void open_truly(void)
{
	calls_port.true_events = true;
	told_open();
}

TestSuite(event, .init = told_open, .fini = told_close, .timeout = 60);

Test(event, port__down_is_reported_and_up_is_not)
{
	calls_async(IBV_EVENT_PORT_ERR, 2);
	calls_async(IBV_EVENT_PORT_ERR, 1);
	told(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	calls_async(IBV_EVENT_PORT_ACTIVE, 1);
	calls_async(IBV_EVENT_GID_CHANGE, 1);
	pair_moves(&told_a, &told_b);
	rig_empty(told_b.async);
}

Test(event, channel__that_overflows_is_reported)
{
	calls_port.events_lost = 1;
	calls_async(IBV_EVENT_SM_CHANGE, 1);
	told(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	pair_moves(&told_a, &told_b);
}

Test(event, device__failure_ends_the_ia)
{
	calls_async(IBV_EVENT_DEVICE_FATAL, 0);
	told_died();
}

/* This is the kernel's answer for a device that was taken from its programs. */
Test(event, channel__that_ends_counts_as_a_dead_device)
{
	calls_fail_named("mlx5dv_devx_get_event", EIO);
	calls_async(IBV_EVENT_SM_CHANGE, 1);
	told_died();
	calls_stop();
}

Test(event, device__that_vanishes_ends_the_ia)
{
	calls_vanish();
	told_died();
}

/*
 * Linux, devx_async_event_poll() and devx_async_event_read(): the channel of a device that is gone is
 * readable for ever, and its peer has closed it. A read that does not block finds no event.
 */
static int gone(void)
{
	int ends[2];

	check(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) && !shutdown(ends[1], SHUT_WR));
	return ends[0];
}

Test(event, evd_wait__of_a_device_that_is_gone_sleeps)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	/* The first wait creates the channel. */
	must_fail(dat_evd_wait(told_a.req_evd, 1000, 1, &ev, &more), DAT_TIMEOUT_EXPIRED);
	told_sleeps(gone);
}

/* An epoll set keeps a descriptor until all its duplicates are closed. A child that was forked has one. */
static int gone_beside_a_child(void)
{
	int fd = gone();

	check(fcntl(fd, F_DUPFD_CLOEXEC, 0) >= 0);
	return fd;
}

Test(event, cno_wait__of_a_device_that_is_gone_sleeps_although_a_child_has_it)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	must_fail(dat_evd_wait(told_a.req_evd, 1000, 1, &ev, &more), DAT_TIMEOUT_EXPIRED);
	told_cno_sleeps(gone_beside_a_child);
}

/* A peer can still use what the QP gives access to. */
Test(event, ep_free__whose_qp_is_not_destroyed_ends_the_ia)
{
	calls_fail_named("mlx5dv_devx_obj_destroy", EBUSY);
	must(dat_ep_free(told_b.ep));
	calls_stop();
	told(DAT_ASYNC_ERROR_IA_CATASTROPHIC);
}

/* The work of the QP is not flushed, so the consumer would wait for its completions forever. */
Test(event, disconnect__whose_qp_is_not_flushed_ends_the_ia)
{
	calls_fail_named("mlx5dv_devx_obj_modify", ENOMEM);
	must(dat_ep_disconnect(told_b.ep, DAT_CLOSE_ABRUPT_FLAG));
	told(DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	calls_stop();
}

/* ---- The device itself fails, through softnic-run's front ---- */

TestSuite(front, .init = open_truly, .fini = told_close, .timeout = 60);

static void fault(const char *script)
{
	same(th_front_fault(0, script), 0);
}

Test(front, port__down_is_reported_and_up_is_not)
{
	fault("link_down");
	told(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	fault("");
	pair_moves(&told_a, &told_b);
	rig_empty(told_b.async);
}

Test(front, device__failure_ends_the_ia)
{
	fault("fatal");
	told_died();
}
