/* SPDX-License-Identifier: BSD-2-Clause */
/* The descriptor that dapl_cno_fd() of dapl_direct.h returns: when it is readable, and wrong
 * arguments. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <dat/dapl_direct.h>

#include "tests/api/api.h"

static DAT_CNO_HANDLE cno;
static DAT_EVD_HANDLE soft, recv_evd;
static DAT_EP_HANDLE ep;
static int fd;

static void setup(void)
{
	api_setup();
	assert_ok(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	assert_ok(dat_evd_create(t.ia, 64, cno, DAT_EVD_SOFTWARE_FLAG, &soft));
	assert_ok(dat_evd_create(t.ia, 64, cno, DAT_EVD_DTO_FLAG, &recv_evd));
	assert_ok(dat_ep_create(t.ia, t.pz, recv_evd, DAT_HANDLE_NULL, t.conn_evd, NULL, &ep));
	assert_ok(dapl_cno_fd(cno, &fd));
}

TestSuite(cno_fd, .init = setup, .fini = api_teardown, .timeout = 60);

static bool readable(int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1 && p.revents == POLLIN;
}

static void post_se(void)
{
	DAT_EVENT ev = { .event_number = DAT_SOFTWARE_EVENT };

	assert_ok(dat_evd_post_se(soft, &ev));
}

/* Disconnects. A receive that is posted afterwards is flushed at once: the adapter writes a CQE. */
static void disconnect(void)
{
	assert_ok(dat_ep_connect(ep, t.ia_attr.ia_address_ptr, 45672, DAT_TIMEOUT_INFINITE, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	assert_ok(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
}

static void flush_receives(int n)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	for (int i = 0; i < n; i++)
		assert_ok(dat_ep_post_recv(ep, 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

/* Arms the CNO again as the man page says. Returns the number of events. */
static int rearm(void)
{
	DAT_EVD_HANDLE which;
	DAT_RETURN ret;
	DAT_EVENT ev;
	int n = 0;

	while ((ret = dat_cno_wait(cno, 0, &which)) == DAT_SUCCESS) {
		while (dat_evd_dequeue(which, &ev) == DAT_SUCCESS)
			n++;
	}
	assert_code(ret, DAT_QUEUE_EMPTY, 0);
	return n;
}

Test(cno_fd, cno_fd__is_readable_until_the_trigger_is_taken)
{
	DAT_EVD_HANDLE which;
	DAT_EVENT ev;

	cr_assert_not(readable(0));
	post_se();
	cr_assert(readable(API_LONG / 1000));
	assert_ok(dat_evd_dequeue(soft, &ev));
	cr_assert(readable(0));		/* a dequeue does not take a trigger */
	assert_ok(dat_cno_wait(cno, 0, &which));
	cr_assert_eq(which, soft);
	cr_assert_not(readable(0));
}

Test(cno_fd, cno_fd__is_readable_until_the_last_trigger_is_taken)
{
	DAT_EVENT ev = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVD_HANDLE other, which;

	assert_ok(dat_evd_create(t.ia, 64, cno, DAT_EVD_SOFTWARE_FLAG, &other));
	post_se();
	assert_ok(dat_evd_post_se(other, &ev));
	assert_ok(dat_cno_wait(cno, 0, &which));
	cr_assert_eq(which, soft);
	cr_assert(readable(0));
	assert_ok(dat_cno_wait(cno, 0, &which));
	cr_assert_eq(which, other);
	cr_assert_not(readable(0));
}

/* If the trigger of a freed EVD remained, a thread in dat_cno_wait(3) would not sleep. */
Test(cno_fd, evd_free__takes_its_trigger_along)
{
	post_se();
	cr_assert(readable(0));
	assert_ok(dat_evd_free(soft));
	cr_assert_not(readable(0));
}

Test(cno_fd, cno_fd__each_call_returns_the_same)
{
	struct th_usage before, after;
	int again = -1;

	th_usage(&before);
	assert_ok(dapl_cno_fd(cno, &again));
	th_usage(&after);
	cr_assert_eq(again, fd);
	cr_assert_eq(before.fds, after.fds);
	cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

/*
 * Runs a loop that only waits for events. In each round it finds all completions, whatever their
 * number.
 */
static void serve(uint32_t mode)
{
	struct epoll_event want = { .events = EPOLLIN | mode, .data.fd = fd }, got;
	int set = epoll_create1(0);

	cr_assert_eq(epoll_ctl(set, EPOLL_CTL_ADD, fd, &want), 0);
	disconnect();
	rearm();
	for (int round = 0; round < 100; round++) {
		int n = 1 + round % 7, have = 0;

		if (round % 3 == 0)
			post_se();
		flush_receives(n);
		n += round % 3 == 0;
		while (have < n) {
			cr_assert_eq(epoll_wait(set, &got, 1, API_LONG / 1000), 1);
			cr_assert_eq(got.data.fd, fd);
			have += rearm();
		}
		cr_assert_eq(have, n);
	}
	/* Completions that a rearm took early may have left the descriptor readable once. */
	while (epoll_wait(set, &got, 1, 50) == 1)
		cr_assert_eq(rearm(), 0);
	close(set);
}

Test(cno_fd, cno_fd__level_triggered_epoll_finds_each_completion)
{
	serve(0);
}

Test(cno_fd, cno_fd__edge_triggered_epoll_finds_each_completion)
{
	serve(EPOLLET);
}

Test(cno_fd, cno_fd__beside_another_descriptor_is_reported_separately)
{
	int other = eventfd(0, 0);
	struct epoll_event want = { .events = EPOLLIN, .data.fd = fd }, got[2];
	int set = epoll_create1(0);

	cr_assert_eq(epoll_ctl(set, EPOLL_CTL_ADD, fd, &want), 0);
	want.data.fd = other;
	cr_assert_eq(epoll_ctl(set, EPOLL_CTL_ADD, other, &want), 0);
	cr_assert_eq(eventfd_write(other, 1), 0);
	cr_assert_eq(epoll_wait(set, got, 2, API_LONG / 1000), 1);
	cr_assert_eq(got[0].data.fd, other);
	post_se();
	cr_assert_eq(epoll_wait(set, got, 2, API_LONG / 1000), 2);
	cr_assert_eq(rearm(), 1);
	cr_assert_eq(epoll_wait(set, got, 2, 0), 1);
	cr_assert_eq(got[0].data.fd, other);
	close(set);
	close(other);
}

Test(cno_fd, cno_fd__is_closed_with_the_cno)
{
	DAT_CNO_HANDLE own;
	int its = -1;

	assert_ok(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &own));
	assert_ok(dapl_cno_fd(own, &its));
	cr_assert_neq(its, fd);
	assert_ok(dat_cno_free(own));
	cr_assert_eq(fcntl(its, F_GETFD), -1);
	its = -1;
	assert_code(dapl_cno_fd(own, &its), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	cr_assert_eq(its, -1);
}

Test(cno_fd, cno_fd__without_a_descriptor_returns_insufficient_resources)
{
	DAT_CNO_HANDLE own;
	int its = -1;

	assert_ok(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &own));
	cr_assert_eq(th_fds_limit(0), 0);
	assert_code(dapl_cno_fd(own, &its), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	th_fds_restore();
	cr_assert_eq(its, -1);
	assert_ok(dapl_cno_fd(own, &its));
	cr_assert(fcntl(its, F_GETFD) & FD_CLOEXEC);
	assert_ok(dat_cno_free(own));
}

Test(cno_fd, cno_fd__invalid_arguments_are_refused)
{
	DAT_HANDLE others[] = { DAT_HANDLE_NULL, t.pz, t.ep, t.evd, t.rmr };
	int got = -1;

	for (unsigned int i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_code(dapl_cno_fd(others[i], &got), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	assert_code(dapl_cno_fd(cno, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	cr_assert_eq(got, -1);
}

/* The call gets handles of another provider, and of a release of this one without the call. */
Test(cno_fd, cno_fd__provider_without_the_call_returns_not_implemented)
{
	struct dapl_direct old = *dapl_direct_of(cno);
	const void *table[2] = { NULL, NULL }, *handle[1] = { table };
	int got = -1;

	assert_code(dapl_cno_fd((DAT_CNO_HANDLE)handle, &got), DAT_NOT_IMPLEMENTED, 0);
	old.size = offsetof(struct dapl_direct, cno_fd);
	table[1] = &old;
	assert_code(dapl_cno_fd((DAT_CNO_HANDLE)handle, &got), DAT_NOT_IMPLEMENTED, 0);
	cr_assert_eq(got, -1);
}
