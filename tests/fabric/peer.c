/* SPDX-License-Identifier: BSD-2-Clause */
/* Two processes that sleep, die or fork. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "softnic/fabric/link.h"
#include "tests/fabric/port.h"
#include "tests/harness/harness.h"

#define PINGS 10000u

/* Opens a port in the child and exchanges addresses with the parent. */
static void join_parent(struct port *port, int sock)
{
	struct sn_addr peer;

	port_open(port, 0);
	th_send(sock, &port->addr, sizeof(port->addr));
	th_recv(sock, &peer, sizeof(peer));
	port_aim(port, &peer);
}

static void join_child(struct port *port, int sock)
{
	struct sn_addr peer;

	port_open(port, 0);
	cr_assert_eq(th_recv(sock, &peer, sizeof(peer)), 0);
	cr_assert_eq(th_send(sock, &port->addr, sizeof(port->addr)), 0);
	port_aim(port, &peer);
}

/* Sleeps until a packet arrives. False: a timeout, because a wake-up was lost. */
static bool await_packet(struct port *port)
{
	unsigned int before = port->got;
	struct pollfd fd = {sn_fab_fd(port->fab), POLLIN, 0};

	while (port->got == before) {
		if (sn_fab_poll(port->fab, 16))
			continue;
		if (!sn_fab_sleep(port->fab))
			continue;
		if (poll(&fd, 1, 20000) != 1)
			return false;
		sn_fab_awake(port->fab);
		sn_fab_service(port->fab);
		if (port->down)
			return false;
	}
	return true;
}

static int echo(int sock, void *arg)
{
	struct port port;
	uint32_t i;

	(void)arg;
	join_parent(&port, sock);
	for (i = 0; i < PINGS; i++)
		if (!await_packet(&port) || port_send(&port, i, 64))
			return 1;
	th_meet(sock);
	sn_fab_close(port.fab);
	return port.bad || port.disordered;
}

Test(peer, sleeping_pingpong__loses_no_wakeup, .timeout = 60)
{
	struct th_child child;
	struct port port;
	uint32_t i;

	cr_assert_eq(th_spawn(&child, echo, NULL), 0);
	join_child(&port, child.sock);
	for (i = 0; i < PINGS; i++) {
		cr_assert_eq(port_send(&port, i, 64), 0);
		cr_assert(await_packet(&port), "packet %u has not come back", i);
	}
	cr_assert_eq(port.bad + port.disordered, 0);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, TH_PEER_MS), 0);
	sn_fab_close(port.fab);
}

/* Sends endlessly, as much as fits. Sleeps when the ring is full. */
static int flood(int sock, void *arg)
{
	struct port port;
	struct pollfd fd;
	uint32_t i;

	(void)arg;
	join_parent(&port, sock);
	fd = (struct pollfd){sn_fab_fd(port.fab), POLLIN, 0};
	for (i = 0;;) {
		int err = port_send(&port, i, port_len(i));

		if (!err) {
			i++;
		} else if (err != -EAGAIN) {
			return 1;
		} else if (sn_fab_sleep(port.fab)) {
			poll(&fd, 1, 1000);
			sn_fab_awake(port.fab);
			sn_fab_service(port.fab);
		}
	}
}

Test(peer, sigkill_in_mid_stream__ends_the_link_and_nothing_else, .timeout = 60)
{
	struct th_child child;
	struct port port;
	int round;

	for (round = 0; round < 5; round++) {
		cr_assert_eq(th_spawn(&child, flood, NULL), 0);
		join_child(&port, child.sock);
		cr_assert(TH_WITHIN(10000, (sn_fab_poll(port.fab, 64), port.got > 3000)));
		th_kill(&child);
		cr_assert(TH_WITHIN(10000, (sn_fab_poll(port.fab, 64), port.down == 1)));
		cr_assert_eq(port.bad + port.disordered, 0,
			     "packets arrived damaged or out of order");
		cr_assert_eq(port_send(&port, 0, 64), -EHOSTUNREACH);
		sn_fab_close(port.fab);
	}
}

Test(peer, sigkill__wakes_a_sleeper, .timeout = 60)
{
	struct th_child child;
	struct port port;

	cr_assert_eq(th_spawn(&child, echo, NULL), 0);
	join_child(&port, child.sock);
	cr_assert_eq(port_send(&port, 0, 64), 0);
	cr_assert(await_packet(&port));
	kill(child.pid, SIGKILL);
	cr_assert_not(await_packet(&port));
	cr_assert_eq(port.down, 1);
	th_kill(&child);
	sn_fab_close(port.fab);
}

/*
 * The child of the peer uses its copy of the fabric and lives longer than the peer. This must have
 * no effect.
 */
static int fork_and_die(int sock, void *arg)
{
	struct port port;
	pid_t self = getpid();
	char c;

	(void)arg;
	join_parent(&port, sock);
	if (port_send(&port, 0, 64) || port_send(&port, 1, 64))
		return 1;
	if (th_fork() == 0) {
		if (port_send(&port, 77, 64) != -EHOSTUNREACH || sn_fab_poll(port.fab, 8))
			_exit(1);
		sn_fab_close(port.fab);
		th_send(sock, "f", 1);
		while (getppid() == self)
			th_sleep_ms(1);
		th_recv(sock, &c, 1);
		_exit(0);
	}
	th_recv(sock, &c, 1);
	_exit(port_send(&port, 2, 64) ? 1 : 0);
}

Test(peer, fork__leaves_the_link_to_the_parent, .timeout = 60)
{
	struct th_child child;
	struct port port;
	char c;

	cr_assert_eq(th_spawn(&child, fork_and_die, NULL), 0);
	join_child(&port, child.sock);
	cr_assert_eq(th_recv(child.sock, &c, 1), 0);
	cr_assert_eq(c, 'f', "a send of the peer's forked child was not refused");
	cr_assert_eq(th_send(child.sock, &c, 1), 0);
	cr_assert(TH_WITHIN(10000, (sn_fab_poll(port.fab, 64), port.down == 1)),
		  "the death of a peer was not noticed while its child lives");
	cr_assert_eq(port.got, 3);
	cr_assert_eq(port.bad + port.disordered, 0);
	cr_assert_eq(th_send(child.sock, &c, 1), 0);
	cr_assert_eq(th_join(&child, TH_PEER_MS), 0);
	sn_fab_close(port.fab);
}

/* Even a child without fork handlers has no mapping that it could damage. */
Test(peer, raw_clone__cannot_touch_the_rings, .timeout = 60)
{
	struct port a, b;
	int status;
	pid_t pid;

	port_open(&a, 0);
	port_open(&b, 0);
	port_aim(&a, &b.addr);
	port_aim(&b, &a.addr);
	cr_assert_eq(port_send(&a, 0, 64), 0);
	ports_settle(&a, &b);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		port_send(&a, 66, 64);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status));
	cr_assert_eq(port_send(&a, 1, 64), 0);
	ports_settle(&a, &b);
	cr_assert_eq(b.got, 2);
	cr_assert_eq(b.bad + b.disordered, 0);
	sn_fab_close(a.fab);
	sn_fab_close(b.fab);
}

/* Connects when asked to. Returns true if the device closed the socket, at once or later. */
static int calls_and_waits(int sock, void *arg)
{
	struct port port;
	bool told;

	port_open(&port, 0);
	port_aim(&port, arg);
	th_meet(sock);
	told = port_send(&port, 0, 64) != 0 ||
	       TH_WITHIN(10000, (sn_fab_service(port.fab), port.down == 1));
	th_meet(sock);
	sn_fab_close(port.fab);
	return told ? 0 : 1;
}

static bool readable(const struct port *port)
{
	struct pollfd fd = {sn_fab_fd(port->fab), POLLIN, 0};

	return poll(&fd, 1, 0) == 1;
}

Test(peer, accept__out_of_descriptors_hangs_up_on_the_caller, .timeout = 60)
{
	struct th_child child;
	struct port port;

	port_open(&port, 0);
	cr_assert_eq(th_spawn(&child, calls_and_waits, &port.addr), 0);
	cr_assert_eq(th_fds_limit(0), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert(TH_WITHIN(10000, readable(&port)));
	sn_fab_service(port.fab);
	cr_assert_not(readable(&port),
		      "the descriptor stays readable, so a waiting thread would spin");
	cr_assert_eq(th_meet(child.sock), 0);
	th_fds_restore();
	cr_assert_eq(th_join(&child, TH_PEER_MS), 0);
	sn_fab_close(port.fab);
}

static int calls_until_answered(int sock, void *arg)
{
	struct port port;
	bool sent;

	port_open(&port, 0);
	port_aim(&port, arg);
	th_meet(sock);
	sent = !port_send(&port, 0, 64);
	th_meet(sock);
	sn_fab_close(port.fab);
	return sent ? 0 : 1;
}

Test(peer, accept__without_a_spare_descriptor_waits_and_continues, .timeout = 60)
{
	struct th_child child;
	struct port port;

	port_open(&port, 0);
	cr_assert_eq(th_spawn(&child, calls_until_answered, &port.addr), 0);
	close(port.fab->spare);
	port.fab->spare = -1;
	cr_assert_eq(th_fds_limit(0), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert(TH_WITHIN(10000, readable(&port)));
	sn_fab_service(port.fab);
	cr_assert_not(readable(&port),
		      "the descriptor stays readable, so a waiting thread would spin");
	cr_assert_gt(sn_fab_deadline(port.fab), 0);
	th_fds_restore();
	cr_assert(TH_WITHIN(10000, (sn_fab_poll(port.fab, 16), port.got == 1)));
	cr_assert_eq(sn_fab_deadline(port.fab), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, TH_PEER_MS), 0);
	sn_fab_close(port.fab);
}
