/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread forks while another one is in a call of the fabric. The test replaces functions of the C library,
 * so that the fork comes between two steps of the call, or waits until its end. The child must have no
 * descriptor of the fabric: it would hide the end of the parent's. In the last test a hook of the program
 * drives another fabric between two such steps.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fabric/port.h"
#include "tests/harness/harness.h"

static struct port a, b;
static pthread_t forker;
static int sock[2];			/* ends of the parent and of the child */
static pid_t pid;
static bool forked;
static void (*in_accept)(void), (*in_close)(void);

static void call_once(void (**hook)(void))
{
	void (*fn)(void) = *hook;

	*hook = NULL;
	if (fn)
		fn();
}

int accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	int s = (int)syscall(SYS_accept4, fd, addr, len, flags);

	if (s >= 0)
		call_once(&in_accept);
	return s;
}

int close(int fd)
{
	call_once(&in_close);
	return (int)syscall(SYS_close, fd);
}

/* The child lives until its parent closes the socket. */
static void *fork_now(void *arg)
{
	char c;

	(void)arg;
	pid = th_fork();
	if (!pid) {
		th_is_child();
		close(sock[0]);
		th_send(sock[1], "f", 1);
		th_recv(sock[1], &c, 1);
		_exit(0);
	}
	__atomic_store_n(&forked, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Lets another thread fork. Returns when it has forked, or after 200 ms, because the fork may have to
 * wait for this thread. */
static void fork_beside(void)
{
	cr_assert_eq(pthread_create(&forker, NULL, fork_now, NULL), 0);
	(void)TH_WITHIN(200, __atomic_load_n(&forked, __ATOMIC_ACQUIRE));
}

static void await_child(void)
{
	char c;

	cr_assert_eq(pthread_join(forker, NULL), 0);
	cr_assert_gt(pid, 0);
	close(sock[1]);
	cr_assert_eq(th_recv(sock[0], &c, 1), 0);
}

static void end_child(void)
{
	int status;

	close(sock[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
}

static void open_both(void)
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock), 0);
	ports_open(&a, &b);
}

Test(fork, accept__leaves_the_caller_to_the_parent, .init = open_both, .timeout = 60)
{
	cr_assert_eq(port_send(&a, 0, 64), 0);
	in_accept = fork_beside;
	ports_settle(&a, &b);
	cr_assert_eq(b.got, 1);
	await_child();
	sn_fab_close(b.fab);
	cr_assert(TH_WITHIN(10000, (sn_fab_poll(a.fab, 1), a.down == 1)),
		  "the end of a peer was not noticed while its child lives");
	end_child();
	sn_fab_close(a.fab);
}

Test(fork, close__gives_its_address_back, .init = open_both, .timeout = 60)
{
	struct sn_addr addr = a.addr;

	in_close = fork_beside;
	sn_fab_close(a.fab);
	await_child();
	port_open_at(&a, &addr, 0);
	end_child();
	ports_close(&a, &b);
}

static void reach_from_inside(void)
{
	cr_expect_eq(sn_fab_reach(b.fab, &b.addr), 0);
}

/* UCX polls in its hook of munmap(2), which a fabric calls when it closes a link. */
Test(fork, close__in_whose_call_a_hook_drives_another_fabric_returns, .init = open_both, .timeout = 60)
{
	cr_assert_eq(port_send(&a, 0, 64), 0);
	in_close = reach_from_inside;
	sn_fab_close(a.fab);
	cr_assert(sn_fab_linked(b.fab, &b.addr));
	sn_fab_close(b.fab);
}
