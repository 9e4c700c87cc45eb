/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of port and device reach the consumer's asynchronous EVD. */
#include <fcntl.h>
#include <unistd.h>

#include "tests/efadv/efa_calls.h"
#include "tests/uverbs/told.h"

TestSuite(event, .init = told_open, .fini = told_close, .timeout = 60);

Test(event, port__down_is_reported_and_up_is_not)
{
	calls_async(IBV_EVENT_PORT_ERR, 2);
	calls_async((enum ibv_event_type)99, 1);
	calls_async(IBV_EVENT_PORT_ERR, 1);
	told(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	calls_async(IBV_EVENT_PORT_ACTIVE, 1);
	calls_async(IBV_EVENT_GID_CHANGE, 1);
	pair_moves(&told_a, &told_b);
	rig_empty(told_b.async);
}

Test(event, device__failure_ends_the_ia)
{
	calls_async(IBV_EVENT_DEVICE_FATAL, 0);
	told_died();
}

Test(event, device__that_vanishes_ends_the_ia)
{
	calls_vanish();
	told_died();
}

/*
 * Linux, ib_uverbs_event_poll() and ib_uverbs_event_read(): the channel of a device that is gone is in
 * error for ever. A read that does not block finds no event.
 */
static int gone(void)
{
	int ends[2];

	check(!pipe2(ends, O_CLOEXEC) && !close(ends[0]));
	return ends[1];
}

Test(event, evd_wait__of_a_device_that_is_gone_sleeps)
{
	told_sleeps(gone);
}

/* An epoll set keeps a descriptor until all its duplicates are closed. A child that was forked has one. */
static int gone_beside_a_child(void)
{
	int fd = gone();

	check(fcntl(fd, F_DUPFD_CLOEXEC, 0) >= 0);
	return fd;
}

Test(event, evd_wait__of_a_device_that_is_gone_sleeps_although_a_child_has_it)
{
	told_sleeps(gone_beside_a_child);
}
