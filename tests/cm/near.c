/* SPDX-License-Identifier: BSD-2-Clause */
/* The local stream between processes of one host: when it is used, and other processes that interfere
 * with it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/cm/node.h"
#include "tests/harness/capture.h"

#define NOBODY_UID 65534u

static struct node a, b;

static void open_both(void)
{
	node_open_two(&a, &b);
}

static void close_both(void)
{
	node_close_two(&a, &b);
}

#define NEAR(name) Test(near, name, .init = open_both, .fini = close_both)

static bool by_tcp(const struct dap_cm_conn *c)
{
	struct sockaddr_storage at = { 0 };
	socklen_t len = sizeof(at);

	return !c->mux && !getsockname(c->fd, (struct sockaddr *)&at, &len) &&
	       at.ss_family == AF_INET;
}

NEAR(way__is_local_within_a_host)
{
	struct dap_cm_conn *c;

	node_listen(&b, QUAL);
	node_pair(&a, &b, QUAL, &c);
	cr_assert(c->mux);
	cr_assert_eq(c->fd, -1);
	cr_assert_eq(b.from.v4.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
}

NEAR(way__is_tcp_when_it_is_to_be)
{
	struct dap_cm_conn *c;

	cm_limits.tcp = true;
	node_listen(&b, QUAL);
	node_pair(&a, &b, QUAL, &c);
	cr_assert(by_tcp(c));
}

/* Binds a socket to the listener's name; len is the length of that address. */
static int squat(socklen_t *len, struct sockaddr_un *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	*len = listener_name(name);
	cr_assert_eq(bind(fd, (struct sockaddr *)name, *len), 0);
	return fd;
}

/* A stream that carries a connection is not closed. */
NEAR(flood__of_streams_without_a_request_closes_the_oldest)
{
	enum { MOST = 4 };
	struct sockaddr_un name;
	socklen_t len = listener_name(&name);
	struct dap_cm_conn *c;
	int fds[MOST + 1];
	struct cm_msg m;

	cm_limits.idle_muxes = MOST;
	node_listen(&b, QUAL);
	node_pair(&a, &b, QUAL, &c);
	for (int i = 0; i <= MOST; i++) {
		fds[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		cr_assert_eq(connect(fds[i], (struct sockaddr *)&name, len), 0);
	}
	cr_assert(raw_is_cut(fds[0]));
	for (int i = 1; i <= MOST; i++) {
		raw_say(fds[i], CM_REQ, (uint64_t)i, QUAL);
		cr_assert_eq(raw_hear(fds[i], &m), 1);
		cr_assert_eq(m.type, CM_REP);
	}
	cr_assert_eq(a.ended, 0);
	for (int i = 0; i <= MOST; i++)
		close(fds[i]);
}

/* A process that binds the name and closes each connection cannot keep callers from the listener. */
NEAR(squatter__that_hangs_up_is_passed_by)
{
	struct sockaddr_un name;
	struct dap_cm_conn *c;
	socklen_t len;
	int fd = squat(&len, &name), guest;

	cr_assert_eq(listen(fd, 1), 0);
	node_listen(&b, QUAL);
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	guest = accept(fd, NULL, NULL);
	raw_reset(guest);
	SOON(a.established == 1);
	cr_assert(by_tcp(c));
	close(fd);
}

NEAR(squatter__that_does_not_listen_is_passed_by)
{
	struct sockaddr_un name;
	struct dap_cm_conn *c;
	socklen_t len;
	int fd = squat(&len, &name);

	node_listen(&b, QUAL);
	node_pair(&a, &b, QUAL, &c);
	cr_assert(by_tcp(c));
	close(fd);
}

static bool pair_warns(struct node *n)
{
	struct dap_cm_conn *c;

	capture_begin(STDERR_FILENO);
	node_pair(n, &b, QUAL, &c);
	return strstr(capture_end(), "another user");
}

/* Hardware reaches processes of other users. */
NEAR(connect__by_tcp_warns_on_software_adapters_only)
{
	struct sockaddr_un name;
	struct node hardware;
	socklen_t len;
	int fd = squat(&len, &name);

	setenv("DAPL_DBG_TYPE", "2", 1);
	node_open(&hardware, "0.0.0.0");
	cr_assert(hardware.cm->everywhere);
	node_listen(&b, QUAL);
	cr_expect(pair_warns(&a));
	cr_expect_not(pair_warns(&hardware));
	node_close(&hardware);
	close(fd);
}

/* Each connection that the squatter does not accept takes a place in its backlog, until it is full. */
static void fill_backlog(int fd, const struct sockaddr_un *name, socklen_t len)
{
	int caller;

	cr_assert_eq(listen(fd, 0), 0);
	do
		caller = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	while (!connect(caller, (const struct sockaddr *)name, len));
	cr_assert_eq(errno, EAGAIN);
}

NEAR(connect__name_taken_with_full_backlog_goes_by_tcp)
{
	struct sockaddr_un name;
	struct dap_cm_conn *c;
	socklen_t len;
	int fd = squat(&len, &name);

	fill_backlog(fd, &name, len);
	node_listen(&b, QUAL);
	node_pair(&a, &b, QUAL, &c);
	cr_assert(by_tcp(c));
	close(fd);
}

/* A process of another user, whose backlog is full at first; later it accepts. */
static int other_user(int sock, void *arg)
{
	struct sockaddr_un name;
	socklen_t len = listener_name(&name);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (setresuid(NOBODY_UID, NOBODY_UID, NOBODY_UID) || bind(fd, (struct sockaddr *)&name, len))
		return 1;
	if (*(bool *)arg)
		fill_backlog(fd, &name, len);
	else if (listen(fd, 16))
		return 1;
	th_meet(sock);
	return th_meet(sock);
}

static void connect_beside_other_user(bool full)
{
	struct th_child child;
	struct dap_cm_conn *c;

	if (geteuid())
		cr_skip_test("only root can start a process of another user");
	th_qual();
	cr_assert_eq(th_spawn(&child, other_user, &full), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	open_both();
	node_listen(&b, QUAL);
	node_pair(&a, &b, QUAL, &c);
	cr_assert(by_tcp(c));
	close_both();
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, SOON_MS), 0);
}

Test(near, connect__name_taken_by_another_user_goes_by_tcp)
{
	connect_beside_other_user(false);
}

Test(near, connect__full_backlog_of_another_user_goes_by_tcp)
{
	connect_beside_other_user(true);
}

/* A peer that reads nothing would otherwise make its callers keep each request that they have given up. */
NEAR(connect__given_up_before_it_is_sent_leaves_no_request)
{
	struct sockaddr_un name;
	struct dap_cm_conn *c;
	struct cm_msg m;
	uint64_t gone[2];
	socklen_t len;
	int listener = squat(&len, &name), fd;

	cr_assert_eq(listen(listener, 1), 0);
	do
		cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	while (!__atomic_load_n(&c->mux->wants_out, __ATOMIC_RELAXED));
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	gone[0] = c->id;
	cr_assert_eq(dap_cm_disconnect(c, true), 0);
	SOON(a.why[DAP_CM_DISCONNECTED] == 1);
	clock_stop();
	cr_assert_eq(node_connect(&a, QUAL, 1000, &c), 0);
	gone[1] = c->id;
	clock_go_on();
	SOON(a.why[DAP_CM_TIMED_OUT] == 1);
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	fd = raw_accept(listener);
	do {
		cr_assert_eq(raw_hear(fd, &m), 1);
		cr_assert_neq(m.id, gone[0], "the peer hears of the disconnected attempt");
		cr_assert_neq(m.id, gone[1], "the peer hears of the attempt that timed out");
	} while (m.id != c->id);
	cr_assert_eq(a.ended, 2);
	close(fd);
	close(listener);
}

/* A process without a free descriptor loses the connection that the peer moves, and no other. */
NEAR(move__to_a_process_without_a_descriptor_ends_one_connection)
{
	struct dap_cm_conn *c[2];
	struct sockaddr_un name;
	struct cm_msg m;
	struct cm_wire w;
	socklen_t len;
	int listener = squat(&len, &name), fd, sv[2];
	bool ended;

	cr_assert_eq(listen(listener, 1), 0);
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c[0]), 0);
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c[1]), 0);
	fd = raw_accept(listener);
	cr_assert(raw_hear(fd, &m) == 1 && raw_hear(fd, &m) == 1);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	raw_message(&w, CM_MOVE, c[0]->id, 0);
	cr_assert_eq(th_fds_limit(0), 0);
	cm_send_fd(fd, &(struct iovec){ &w, sizeof(w) }, 1, sv[1]);
	ended = TH_WITHIN(SOON_MS, a.ended);
	th_fds_restore();
	cr_assert(ended);
	ENDED(&a, DAP_CM_NON_PEER_REJECTED);
	raw_say(fd, CM_REP, c[1]->id, 0);
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_RTU);
	close(fd);
	SOON(a.why[DAP_CM_BROKEN] == 1);
}

/* ---- User namespaces ---- */

enum { NO_NAMESPACE = 77 };

/* Writes uid_map, unless map is NULL: then no user has a number in the namespace. */
static int enter_user_namespace(const char *map)
{
	int fd;

	if (unshare(CLONE_NEWUSER))
		return NO_NAMESPACE;
	if (!map)
		return 0;
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	if (write(fd, map, strlen(map)) != (ssize_t)strlen(map))
		return NO_NAMESPACE;
	close(fd);
	return 0;
}

/* Returns 0: the connection shares a stream, as between processes of one user; 1: it has a TCP
 * socket. */
static int connect_in_namespace(int sock, void *arg)
{
	struct dap_cm_conn *c;
	char *map = arg;
	int err = enter_user_namespace(map);

	(void)sock;
	if (err)
		return err;
	open_both();
	node_listen(&b, QUAL);
	node_pair(&a, &b, QUAL, &c);
	err = by_tcp(c);
	close_both();
	return err;
}

static int in_namespace(char *map)
{
	struct th_child child;
	int result;

	th_qual();
	cr_assert_eq(th_spawn(&child, connect_in_namespace, map), 0);
	result = th_join(&child, SOON_MS);
	if (result == NO_NAMESPACE)
		cr_skip_test("this machine forbids user namespaces");
	return result;
}

/* The kernel reports every user that the namespace does not map as 65534, including the caller. */
Test(near, connect__user_without_number_goes_by_tcp)
{
	cr_assert_eq(in_namespace(NULL), 1);
}

/* The namespace maps uid 65534, but the kernel reports unmapped users by the same number. */
Test(near, connect__user_with_overflow_number_goes_by_tcp)
{
	char map[32];

	snprintf(map, sizeof(map), "%u %u 1", NOBODY_UID, geteuid());
	cr_assert_eq(in_namespace(map), 1);
}

Test(near, connect__mapped_user_shares_a_stream)
{
	char map[32];

	snprintf(map, sizeof(map), "0 %u 1", geteuid());
	cr_assert_eq(in_namespace(map), 0);
}

/* A name is used only if it was read completely. */
Test(near, name__that_is_malformed_is_refused)
{
	static const char *const bad[] = {
		"", "dapl-direct.near.", "dapl-direct.near.7f000001", "dapl-direct.near.7f000001.",
		"dapl-direct.near.7f000001.65536", "dapl-direct.near.7f00000.80",
		"dapl-direct.0.7f000001.1", "x",
	};
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t head = offsetof(struct sockaddr_un, sun_path) + 1;
	union dap_addr at = { .sa = { 0 } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		strcpy(name.sun_path + 1, bad[i]);
		cr_assert_not(cm_local_parse(&name, head + (socklen_t)strlen(bad[i]), &at),
			      "the malformed socket name \"%s\" was accepted", bad[i]);
	}
	strcpy(name.sun_path + 1, "dapl-direct.near.7f000001.20674");
	cr_assert(cm_local_parse(&name, head + 31, &at));
	cr_assert_eq(at.v4.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	cr_assert_eq(at.v4.sin_port, htons(20674));
	strcpy(name.sun_path + 1, "dapl-direct.near.20010db8000000000000000000000009.80");
	cr_assert(cm_local_parse(&name, head + 52, &at));
	cr_assert_eq(at.v6.sin6_family, AF_INET6);
	cr_assert_eq(at.v6.sin6_addr.s6_addr[0], 0x20);
	cr_assert_eq(at.v6.sin6_addr.s6_addr[15], 9);
	cr_assert_eq(at.v6.sin6_port, htons(80));
	name.sun_path[0] = '/';
	cr_assert_not(cm_local_parse(&name, head + 31, &at));
}

/* ---- A deadline that passes before a thread has read the answer ---- */

/* Lets the deadline of the connection's state pass now. */
static void time_passes(struct dap_cm_conn *c)
{
	cr_assert(cm_enter(c->generation));
	cm_timer_set(&c->timer, 1);
	cm_leave();
}

static void wait_for_message(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	cr_assert_eq(poll(&p, 1, SOON_MS), 1);
}

static int call_parent(int sock, void *arg)
{
	struct dap_cm_conn *c;
	struct node n;

	(void)arg;
	node_open(&n, "127.0.0.1");
	th_meet(sock);
	if (node_connect(&n, QUAL, FOR_EVER, &c))
		return 1;
	SOON(n.established == 1);
	th_meet(sock);
	node_close(&n);
	return 0;
}

/* This process stood still after its REP. The RTU has come in time, but a consumer that sleeps on the stream
 * has not read it yet. */
Test(near, accepted__answer_unread_at_the_deadline_still_connects)
{
	struct th_child child;
	int fd;

	th_qual();
	cr_assert_eq(th_spawn(&child, call_parent, NULL), 0);
	node_open(&b, "127.0.0.1");
	b.answer = NODE_HOLD;
	node_listen(&b, QUAL);
	th_meet(child.sock);
	SOON(b.requests == 1);
	fd = dap_cm_sleep_begin(b.cm);
	cr_assert_eq(node_accept(&b), 0);
	wait_for_message(fd);
	time_passes(b.passive);
	SOON(b.readies || b.ended);
	cr_assert_eq(b.ended, 0);
	dap_cm_sleep_end(b.cm, fd);
	th_meet(child.sock);
	cr_assert_eq(th_join(&child, SOON_MS), 0);
	node_close(&b);
}

static int go_when_told(int sock, void *arg)
{
	struct node n;

	(void)arg;
	node_open(&n, "127.0.0.1");
	n.no_go = true;
	node_listen(&n, QUAL);
	th_meet(sock);
	SOON(n.readies == 1);
	th_meet(sock);
	th_meet(sock);
	if (dap_cm_go(n.passive))
		return 1;
	th_meet(sock);
	node_close(&n);
	return 0;
}

Test(near, connect__go_unread_at_the_deadline_still_connects)
{
	struct th_child child;
	struct dap_cm_conn *c;
	int fd;

	th_qual();
	cr_assert_eq(th_spawn(&child, go_when_told, NULL), 0);
	node_open(&a, "127.0.0.1");
	th_meet(child.sock);
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	th_meet(child.sock);
	fd = dap_cm_sleep_begin(a.cm);
	th_meet(child.sock);
	wait_for_message(fd);
	time_passes(c);
	SOON(a.established || a.ended);
	cr_assert_eq(a.ended, 0);
	dap_cm_sleep_end(a.cm, fd);
	th_meet(child.sock);
	cr_assert_eq(th_join(&child, SOON_MS), 0);
	node_close(&a);
}

static int close_stream_when_told(int sock, void *arg)
{
	struct node n;

	(void)arg;
	node_open(&n, "127.0.0.1");
	node_listen(&n, QUAL);
	th_meet(sock);
	SOON(n.readies == 1);
	th_meet(sock);
	cm_limits.request_us = 1000;	/* request_us is also the time that an idle stream stays open */
	node_disconnect(&n, true);
	SOON(!__atomic_load_n(&cm_loop.n_muxes, __ATOMIC_RELAXED));
	cm_limits.request_us = 10000000;
	th_meet(sock);
	SOON(n.readies == 2);
	th_meet(sock);
	node_close(&n);
	return 0;
}

/* This process stood still, and has not read yet that the peer has closed the idle stream. */
Test(near, connect__by_a_stream_that_the_peer_has_closed_tries_again)
{
	struct dap_cm_conn *c, *again;
	struct th_child child;
	int fd;

	th_qual();
	cr_assert_eq(th_spawn(&child, close_stream_when_told, NULL), 0);
	node_open(&a, "127.0.0.1");
	th_meet(child.sock);
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	SOON(a.established == 1);
	fd = dap_cm_sleep_begin(a.cm);
	th_meet(child.sock);
	th_meet(child.sock);
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &again), 0);
	dap_cm_sleep_end(a.cm, fd);
	SOON(a.established == 2 || a.why[DAP_CM_NON_PEER_REJECTED]);
	cr_assert_eq(a.established, 2);
	th_meet(child.sock);
	cr_assert_eq(th_join(&child, SOON_MS), 0);
	node_close(&a);
}
