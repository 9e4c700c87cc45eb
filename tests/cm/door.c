/* SPDX-License-Identifier: BSD-2-Clause */
/* Bad input at the handoff socket of a listener, and other processes that bind its name. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/cm/trio.h"
#include "tests/harness/capture.h"

TestSuite(door, .init = trio_open, .fini = trio_close, .timeout = 60);

#define NOBODY_UID 65534

/* ---- Bad messages ---- */

static void say(int door, const void *bytes, size_t len, const int *fds, size_t n)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *h;

	if (n) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		h = CMSG_FIRSTHDR(&m);
		*h = (struct cmsghdr){ CMSG_LEN(n * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(h), fds, n * sizeof(int));
	}
	cr_assert_eq(sendmsg(door, &m, MSG_NOSIGNAL), (ssize_t)len, "sendmsg failed: %s",
		     strerror(errno));
}

/* The listener closes the socket, whether it has read everything or not. */
static bool is_sent_away(int door)
{
	struct timeval soon = { .tv_sec = SOON_MS / 1000 };
	char byte;

	setsockopt(door, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
	return recv(door, &byte, 1, 0) <= 0 && errno != EAGAIN;
}

static void lie(const char *what, const void *bytes, size_t len, const int *fds, size_t n)
{
	int door = trio_knock(NEXT, 0);

	cr_assert(door >= 0);
	say(door, bytes, len, fds, n);
	errno = 0;
	cr_assert(is_sent_away(door), "the listener does not close after a bad handoff: %s", what);
	cr_assert_eq(trio.c.requests, 0, "a bad handoff caused a connection request: %s", what);
	close(door);
}

/* A good message is accepted after the last bad message. */
static void tell_the_truth(void)
{
	trio_ask();
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), 0);
	SOON(trio.c.requests == 1);
	SOON(trio.a.established == 1);
}

Test(door, bad_caller__without_a_valid_request_is_disconnected)
{
	int tcp = raw_connect(QUAL);
	uint8_t buf[2 * CM_WIRE_SIZE] = { 0 };
	struct cm_wire w;

	node_listen(&trio.c, NEXT);
	raw_message(&w, CM_REQ, ID, NEXT);
	lie("one byte", "D", 1, &tcp, 1);
	lie("not all of it", &w, sizeof(w) - 1, &tcp, 1);
	lie("zeros", buf, CM_WIRE_SIZE, &tcp, 1);
	memcpy(buf, &w, sizeof(w));
	lie("more than two messages", buf, sizeof(buf), &tcp, 1);
	for (int type = CM_REP; type < CM_TYPES; type++) {
		raw_message(&w, (enum cm_type)type, ID, 0);
		lie("of another type", &w, sizeof(w), &tcp, 1);
	}
	raw_message(&w, CM_REQ, ID, QUAL);
	lie("for another qualifier", &w, sizeof(w), &tcp, 1);
	raw_message(&w, CM_REQ, ID, NEXT);
	w.pd_size = cpu_to_be16(DAP_MAX_PRIVATE_DATA + 1);
	lie("too much private data", &w, sizeof(w), &tcp, 1);
	raw_message(&w, CM_REQ, ID, NEXT);
	w.version = cpu_to_be16(CM_VERSION + 1);
	lie("another version", &w, sizeof(w), &tcp, 1);
	close(tcp);
	tell_the_truth();
}

Test(door, bad_caller__passing_no_single_connection_is_disconnected)
{
	int tcp = raw_connect(QUAL), listener = raw_listen(NEXT + 1), sv[2], fds[4];
	int idle = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0);
	struct th_usage before, after;
	struct cm_wire w;

	node_listen(&trio.c, NEXT);
	raw_message(&w, CM_REQ, ID, NEXT);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	SOON(__atomic_load_n(&cm_loop.half_opens, __ATOMIC_RELAXED) == 1);
	th_usage(&before);
	for (int i = 0; i < 4; i++)
		fds[i] = tcp;
	lie("nothing", &w, sizeof(w), NULL, 0);
	lie("two", &w, sizeof(w), fds, 2);
	lie("four", &w, sizeof(w), fds, 4);
	lie("a listener", &w, sizeof(w), &listener, 1);
	lie("a socket that is not connected", &w, sizeof(w), &idle, 1);
	lie("a datagram socket", &w, sizeof(w), &udp, 1);
	lie("a local socket", &w, sizeof(w), sv, 1);
	lie("standard input", &w, sizeof(w), &(int){ 0 }, 1);
	th_usage(&after);
	cr_assert_eq(after.fds, before.fds);
	close(tcp);
	close(listener);
	close(idle);
	close(udp);
	close(sv[0]);
	close(sv[1]);
	tell_the_truth();
}

/* Changes one bit of a good message, or truncates it. Most of these messages are refused, and none does
 * harm. */
Test(door, bad_caller__with_corrupt_requests_does_no_harm)
{
	unsigned int seed = 1;
	struct cm_wire w;

	node_listen(&trio.c, NEXT);
	trio.c.answer = NODE_REJECT;
	for (int i = 0; i < 300; i++) {
		int tcp = raw_connect(QUAL), door = trio_knock(NEXT, 0);
		uint8_t *bytes = (uint8_t *)&w;
		size_t len = sizeof(w);

		raw_message(&w, CM_REQ, ID, NEXT);
		bytes[(size_t)rand_r(&seed) % sizeof(w)] ^= (uint8_t)(1 << rand_r(&seed) % 8);
		if (i % 3 == 0)
			len = 1 + (size_t)rand_r(&seed) % (sizeof(w) - 1);
		say(door, &w, len, &tcp, 1);
		errno = 0;
		cr_assert(is_sent_away(door));
		close(door);
		close(tcp);
	}
	trio.c.answer = NODE_ACCEPT;
	trio.c.requests = 0;
	tell_the_truth();
}

/* The socket was made blocking before it was passed. No thread of the manager may block on it. */
Test(door, bad_caller__passing_a_blocking_socket_blocks_no_thread)
{
	int fd = trio_ask_bare(), door;
	struct cm_wire w;

	node_listen(&trio.c, NEXT);
	trio.c.answer = NODE_HOLD;
	raw_message(&w, CM_REQ, ID, NEXT);
	door = trio_knock(NEXT, 0);
	say(door, &w, sizeof(w), &fd, 1);	/* the descriptor is the other end of this socket */
	SOON(trio.c.requests == 1);
	close(door);
	dap_cm_release(trio.c.request);
	dap_cm_release(trio.b.request);
	trio.b.requests = trio.c.requests = 0;
	trio.c.answer = NODE_ACCEPT;
	tell_the_truth();
	close(fd);
}

/* The request is lost, and the log says why. */
Test(door, handoff__without_a_free_descriptor_is_logged)
{
	struct cm_wire w;
	const char *text;
	int fd, door;

	setenv("DAPL_DBG_TYPE", "2", 1);	/* the first message, of any kind, reads it */
	fd = trio_ask_bare();
	node_listen(&trio.c, NEXT);
	door = trio_knock(NEXT, 0);
	SOON(__atomic_load_n(&cm_loop.n_pending, __ATOMIC_RELAXED) == 1);
	/* accept(2) uses a descriptor for a moment even if it fails, so this waits */
	dap_cm_sync(trio.c.cm);
	raw_message(&w, CM_REQ, ID, NEXT);
	capture_begin(STDERR_FILENO);
	cr_assert_eq(th_fds_limit(0), 0);
	say(door, &w, sizeof(w), &fd, 1);
	errno = 0;
	cr_assert(is_sent_away(door));
	th_fds_restore();
	text = capture_end();
	cr_assert_not_null(strstr(text, "ulimit -n"), "the log does not name the cause: %s", text);
	cr_assert_eq(trio.c.requests, 0);
	close(door);
	close(fd);
}

/* An empty packet can still carry descriptors. */
Test(door, pending__empty_packet_with_descriptors_leaves_none_open)
{
	struct th_usage before, after;
	int fds[2] = { 0, 0 };

	node_listen(&trio.c, NEXT);
	th_usage(&before);
	for (size_t i = 0; i < 8; i++)
		lie("an empty packet", "", 0, fds, i % 2 + 1);
	th_usage(&after);
	cr_assert_eq(after.fds, before.fds);
	tell_the_truth();
}

Test(door, pending__that_sends_nothing_is_disconnected_at_its_deadline)
{
	int door;

	cm_limits.request_us = 100000;
	node_listen(&trio.c, NEXT);
	door = trio_knock(NEXT, 0);
	errno = 0;
	cr_assert(is_sent_away(door));
	close(door);
	cm_limits.request_us = 10000000;
	tell_the_truth();
}

Test(door, pending__beyond_the_64th_is_disconnected)
{
	int doors[80], gone = 0;

	node_listen(&trio.c, NEXT);
	for (int i = 0; i < 80; i++)
		doors[i] = trio_knock(NEXT, 0);
	for (int i = 64; i < 80; i++) {
		errno = 0;
		gone += is_sent_away(doors[i]);
	}
	cr_assert_eq(gone, 16);
	for (int i = 0; i < 80; i++)
		close(doors[i]);
	SOON(__atomic_load_n(&cm_loop.n_pending, __ATOMIC_RELAXED) == 0);
	tell_the_truth();
}

Test(door, pending__is_disconnected_when_the_last_adapter_closes)
{
	int door;

	node_listen(&trio.c, NEXT);
	door = trio_knock(NEXT, 0);
	SOON(__atomic_load_n(&cm_loop.n_pending, __ATOMIC_RELAXED) == 1);
	trio_close();
	errno = 0;
	cr_assert(is_sent_away(door));
	close(door);
	trio_open();
}

/* ---- Other users ---- */

/* Each connection that the listener does not accept takes a place in its backlog, until it is full. */
static void fill_backlog(const struct sockaddr_un *name, socklen_t len)
{
	int caller;

	do
		caller = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	while (!connect(caller, (const struct sockaddr *)name, len));
	cr_assert_eq(errno, EAGAIN);
}

/* A process of another user that has bound the name, listens, and accepts no connection. */
static int busy_stranger(int sock, void *arg)
{
	struct sockaddr_un name;
	socklen_t len = cm_handoff_name(NEXT, &name);	/* the socket still belongs to our user */
	int fd;

	(void)arg;
	if (setresuid(NOBODY_UID, NOBODY_UID, NOBODY_UID))
		return 1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (bind(fd, (struct sockaddr *)&name, len) || listen(fd, 0))
		return 1;
	fill_backlog(&name, len);
	th_meet(sock);
	return th_meet(sock);
}

/* The kernel reports another user for this socket, so it does not count as a busy listener of ours. */
Test(door, handoff__full_backlog_of_another_user_finds_no_listener)
{
	struct th_child child;

	if (geteuid())
		cr_skip_test("only root can start a process of another user");
	cr_assert_eq(th_spawn(&child, busy_stranger, NULL), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	trio_ask();
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), -ENOENT);
	cr_assert_eq(node_accept(&trio.b), 0);
	SOON(trio.a.established == 1);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, SOON_MS), 0);
}

static int stranger(int sock, void *arg)
{
	struct sockaddr_un name;
	socklen_t len = cm_handoff_name(NEXT, &name);	/* the socket still belongs to our user */
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), tcp = socket(AF_INET, SOCK_STREAM, 0);
	bool guest = *(bool *)arg;
	struct cm_wire w;

	raw_message(&w, CM_REQ, ID, NEXT);
	if (setresuid(NOBODY_UID, NOBODY_UID, NOBODY_UID))
		return 1;
	if (!guest && (bind(fd, (struct sockaddr *)&name, len) || listen(fd, 1)))
		return 1;
	th_meet(sock);
	if (!guest)
		return th_meet(sock);
	if (connect(fd, (struct sockaddr *)&name, len))
		return 1;
	send(fd, &w, sizeof(w), MSG_NOSIGNAL);
	errno = 0;
	close(tcp);
	return !is_sent_away(fd);
}

static void with_stranger(bool guest, struct th_child *child)
{
	if (geteuid())
		cr_skip_test("only root can act as another user");
	cr_assert_eq(th_spawn(child, stranger, &guest), 0);
}

Test(door, other_user__connecting_to_the_handoff_socket_sends_no_request)
{
	struct th_child child;

	with_stranger(true, &child);
	node_listen(&trio.c, NEXT);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, SOON_MS), 0);
	cr_assert_eq(trio.c.requests, 0);
	tell_the_truth();
}

/* If another process has bound the name, it gets no request. The listener, without the name, works
 * without handoff. */
Test(door, other_user__that_binds_the_handoff_name_gets_no_request)
{
	struct th_child child;

	with_stranger(false, &child);
	cr_assert_eq(th_meet(child.sock), 0);
	trio_ask();
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), -ENOENT);
	node_listen(&trio.c, NEXT);
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), -ENOENT);
	inet_pton(AF_INET, "127.0.0.2", &trio.a.calls);
	node_pair(&trio.a, &trio.c, NEXT, &trio.conn);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, SOON_MS), 0);
}
