/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that go to another listener of the host, and what else may come in by its door. */
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/cm/node.h"

#define QUAL my_qual()
#define NEXT (my_qual() + 1)
#define ID 0x1122334455667788
#define NOBODY_UID 65534

static struct node a, b, c;	/* a connects to b, which hands off to c */
static struct dap_cm_conn *conn;

static void open_all(void)
{
	node_open(&a, "127.0.0.1");
	node_open(&b, "127.0.0.1");
	node_open(&c, "127.0.0.2");
	b.answer = NODE_HOLD;
	node_listen(&b, QUAL);
}

static void close_all(void)
{
	node_close(&a);
	node_close(&b);
	if (c.cm)
		node_close(&c);
}

TestSuite(handoff, .init = open_all, .fini = close_all, .timeout = 60);

static void ask(void)
{
	unsigned int before = b.requests;
	uint8_t pd[100];

	pattern(pd, sizeof(pd), 5);
	cr_assert_eq(node_connect_pd(&a, QUAL, FOR_EVER, pd, sizeof(pd), &conn), 0);
	SOON(b.requests == before + 1);
}

static int hand_off(struct node *from, uint64_t to)
{
	struct dap_cm_conn *request = from->request;
	int err = dap_cm_handoff(request, to, &from->path, from->got, from->got_size);

	if (!err)
		from->request = NULL;
	return err;
}

Test(handoff, handoff__to_another_adapter_of_the_process)
{
	struct dap_path sent = path_of(1);
	uint8_t pd[100];

	node_listen(&c, NEXT);
	ask();
	cr_assert_eq(hand_off(&b, NEXT), 0);
	SOON(c.requests == 1);
	pattern(pd, sizeof(pd), 5);
	cr_assert_eq(c.conn_qual, NEXT);
	cr_assert(same_path(&c.path, &sent));
	cr_assert_eq(c.got_size, sizeof(pd));
	cr_assert_arr_eq(c.got, pd, sizeof(pd));
	cr_assert_eq(c.from.sin_addr.s_addr, b.from.sin_addr.s_addr);
	cr_assert_eq(c.from.sin_port, b.from.sin_port);
	SOON(a.established == 1);
	cr_assert_eq(dap_cm_disconnect(conn, false), 0);
	ENDED(&a, DAP_CM_DISCONNECTED);
	ENDED(&c, DAP_CM_DISCONNECTED);
	cr_assert_eq(b.ended, 0);
}

Test(handoff, handoff__on_and_on)
{
	node_listen(&c, NEXT);
	c.answer = NODE_HOLD;
	ask();
	for (unsigned int i = 1; i <= 20; i++) {
		cr_assert_eq(hand_off(&b, NEXT), 0);
		SOON(c.requests == i);
		cr_assert_eq(hand_off(&c, QUAL), 0);
		SOON(b.requests == i + 1);
	}
	cr_assert_eq(node_accept(&b), 0);
	SOON(a.established == 1);
}

Test(handoff, handoff__nobody_listens)
{
	ask();
	cr_assert_eq(hand_off(&b, NEXT), -ENOENT);
	cr_assert_eq(node_accept(&b), 0);
	SOON(a.established == 1);
}

Test(handoff, handoff__no_descriptor)
{
	node_listen(&c, NEXT);
	ask();
	cr_assert_eq(th_fds_limit(0), 0);
	cr_assert_eq(hand_off(&b, NEXT), -EMFILE);
	th_fds_restore();
	cr_assert_eq(hand_off(&b, NEXT), 0);
	SOON(a.established == 1);
}

Test(handoff, handoff__refused_there)
{
	node_listen(&c, NEXT);
	c.answer = NODE_REFUSE;
	ask();
	cr_assert_eq(hand_off(&b, NEXT), 0);
	ENDED(&a, DAP_CM_NON_PEER_REJECTED);
}

/* The listener goes at once: whoever sees the request first, the peer is told. */
Test(handoff, handoff__listener_that_leaves)
{
	struct dap_cm_listener *l = node_listen(&c, NEXT);

	c.answer = NODE_REJECT;
	ask();
	cr_assert_eq(hand_off(&b, NEXT), 0);
	dap_cm_unlisten(l);
	SOON(a.ended == 1);
	cr_assert_eq(a.established, 0);
}

/* ---- bare peers ---- */

static int ask_bare(void)
{
	int fd = raw_connect(QUAL);

	raw_say(fd, CM_REQ, ID, QUAL);
	SOON(b.requests == 1);
	return fd;
}

Test(handoff, handoff__peer_has_gone)
{
	int fd = ask_bare();

	node_listen(&c, NEXT);
	close(fd);
	SOON(__atomic_load_n(&b.request->state, __ATOMIC_RELAXED) == CM_GONE);
	cr_assert_eq(hand_off(&b, NEXT + 1), -ENOENT);
	cr_assert_eq(hand_off(&b, NEXT), 0);
	cr_assert_eq(c.requests, 0);
}

/* Half of a message was read before, the other half comes afterwards. */
Test(handoff, handoff__in_the_middle_of_a_message)
{
	int fd = ask_bare();
	struct cm_wire w;
	struct cm_msg m;

	node_listen(&c, NEXT);
	c.answer = NODE_HOLD;
	raw_message(&w, CM_DISC, ID, 0);
	raw_send(fd, &w, 150);
	SOON(__atomic_load_n(&b.request->in_len, __ATOMIC_RELAXED) == 150);
	cr_assert_eq(hand_off(&b, NEXT), 0);
	SOON(c.requests == 1);
	raw_send(fd, (char *)&w + 150, sizeof(w) - 150);
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_DISC);
	close(fd);
	cr_assert_eq(node_accept(&c), -ECONNRESET);
}

/* ---- other processes ---- */

static int other(int sock, void *arg)
{
	struct node n;

	node_open(&n, "127.0.0.1");
	n.answer = *(enum node_answer *)arg;
	node_listen(&n, NEXT);
	th_meet(sock);
	SOON(n.requests == 1);
	th_meet(sock);
	th_sleep_ms(60000);
	return 0;
}

/* Before this process has nodes a child is forked, as the others of the suite are. */
static void with_other(enum node_answer answer, struct th_child *child)
{
	close_all();
	cr_assert_eq(th_spawn(child, other, &answer), 0);
	open_all();
	cr_assert_eq(th_meet(child->sock), 0);
	ask();
}

Test(handoff, process__serves_what_it_is_handed)
{
	struct th_child child;

	with_other(NODE_ACCEPT, &child);
	cr_assert_eq(hand_off(&b, NEXT), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	SOON(a.established == 1);
	th_kill(&child);
	ENDED(&a, DAP_CM_BROKEN);
}

Test(handoff, process__outlives_who_handed_off)
{
	struct th_child child;

	with_other(NODE_ACCEPT, &child);
	cr_assert_eq(hand_off(&b, NEXT), 0);
	node_close(&b);
	cr_assert_eq(th_meet(child.sock), 0);
	SOON(a.established == 1);
	cr_assert_eq(a.ended, 0);
	th_kill(&child);
	node_open(&b, "127.0.0.1");
}

static void stop(const struct th_child *child)
{
	int status;

	cr_assert_eq(kill(child->pid, SIGSTOP), 0);
	cr_assert_eq(waitpid(child->pid, &status, WUNTRACED), child->pid);
}

Test(handoff, process__dies_before_it_looks)
{
	struct th_child child;

	with_other(NODE_ACCEPT, &child);
	stop(&child);
	cr_assert_eq(hand_off(&b, NEXT), 0);
	th_kill(&child);
	ENDED(&a, DAP_CM_NON_PEER_REJECTED);
}

Test(handoff, process__dies_with_the_request)
{
	struct th_child child;

	with_other(NODE_HOLD, &child);
	cr_assert_eq(hand_off(&b, NEXT), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	th_kill(&child);
	ENDED(&a, DAP_CM_NON_PEER_REJECTED);
}

Test(handoff, process__that_has_died_is_nobody)
{
	struct th_child child;

	with_other(NODE_ACCEPT, &child);
	th_kill(&child);
	cr_assert_eq(hand_off(&b, NEXT), -ENOENT);
	cr_assert_eq(node_accept(&b), 0);
	SOON(a.established == 1);
}

enum { MANY = 100 };

static int other_of_many(int sock, void *arg)
{
	struct node n;

	(void)arg;
	node_open(&n, "127.0.0.1");
	n.answer = NODE_ACCEPT;
	node_listen(&n, NEXT);
	th_meet(sock);
	SOON(n.readies == MANY);
	return th_meet(sock);
}

/* They stand at its door while it sleeps; then it serves them all. */
Test(handoff, process__wakes_up_to_many)
{
	struct th_child child;

	close_all();
	cr_assert_eq(th_spawn(&child, other_of_many, NULL), 0);
	open_all();
	cr_assert_eq(th_meet(child.sock), 0);
	stop(&child);
	for (int i = 0; i < MANY; i++) {
		ask();
		cr_assert_eq(hand_off(&b, NEXT), 0);
	}
	cr_assert_eq(kill(child.pid, SIGCONT), 0);
	SOON(a.established == MANY);
	cr_assert_eq(th_meet(child.sock), 0);
	th_kill(&child);
}

static int sleeper(int sock, void *arg)
{
	(void)arg;
	th_meet(sock);
	th_sleep_ms(60000);
	return 0;
}

/* A forked child has no part in the doors of its parent. */
Test(handoff, fork__child_holds_no_door_open)
{
	struct dap_cm_listener *l = node_listen(&c, NEXT);
	struct th_child child;

	ask();
	cr_assert_eq(th_spawn(&child, sleeper, NULL), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	dap_cm_unlisten(l);
	cr_assert_eq(hand_off(&b, NEXT), -ENOENT);
	th_kill(&child);
}

/* ---- liars ---- */

static int knock(uint64_t conn_qual, int flags)
{
	struct sockaddr_un name;
	socklen_t len = cm_door_name(conn_qual, &name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0), err;

	cr_assert(fd >= 0);
	if (!connect(fd, (struct sockaddr *)&name, len))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

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
	cr_assert_eq(sendmsg(door, &m, MSG_NOSIGNAL), (ssize_t)len, "%s", strerror(errno));
}

/* It hangs up, with or without having read everything. */
static bool is_sent_away(int door)
{
	struct timeval soon = { .tv_sec = SOON_MS / 1000 };
	char byte;

	setsockopt(door, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
	return recv(door, &byte, 1, 0) <= 0 && errno != EAGAIN;
}

static void lie(const char *what, const void *bytes, size_t len, const int *fds, size_t n)
{
	int door = knock(NEXT, 0);

	cr_assert(door >= 0);
	say(door, bytes, len, fds, n);
	errno = 0;
	cr_assert(is_sent_away(door), "%s", what);
	cr_assert_eq(c.requests, 0, "%s", what);
	close(door);
}

/* The last lie told, the truth is believed. */
static void tell_the_truth(void)
{
	ask();
	cr_assert_eq(hand_off(&b, NEXT), 0);
	SOON(c.requests == 1);
	SOON(a.established == 1);
}

Test(handoff, liar__says_no_request)
{
	int tcp = raw_connect(QUAL);
	uint8_t buf[2 * CM_WIRE_SIZE] = { 0 };
	struct cm_wire w;

	node_listen(&c, NEXT);
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

Test(handoff, liar__brings_no_connection)
{
	int tcp = raw_connect(QUAL), listener = raw_listen(NEXT + 1), sv[2], fds[4];
	int idle = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0);
	struct th_usage before, after;
	struct cm_wire w;

	node_listen(&c, NEXT);
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

/* One bit of a good one is wrong, or it is cut: most are sent away, and none does harm. */
Test(handoff, liar__mutilates_requests)
{
	unsigned int seed = 1;
	struct cm_wire w;

	node_listen(&c, NEXT);
	c.answer = NODE_REJECT;
	for (int i = 0; i < 300; i++) {
		int tcp = raw_connect(QUAL), door = knock(NEXT, 0);
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
	c.answer = NODE_ACCEPT;
	c.requests = 0;
	tell_the_truth();
}

/* The socket is not non-blocking any more: nobody waits for it. */
Test(handoff, liar__brings_a_blocking_connection)
{
	int fd = ask_bare(), door;
	struct cm_wire w;

	node_listen(&c, NEXT);
	c.answer = NODE_HOLD;
	raw_message(&w, CM_REQ, ID, NEXT);
	door = knock(NEXT, 0);
	say(door, &w, sizeof(w), &fd, 1);	/* the peer's own end */
	SOON(c.requests == 1);
	close(door);
	dap_cm_release(c.request);
	dap_cm_release(b.request);
	b.requests = c.requests = 0;
	c.answer = NODE_ACCEPT;
	tell_the_truth();
	close(fd);
}

Test(handoff, guest__says_nothing)
{
	int door;

	cm_limits.request_us = 100000;
	node_listen(&c, NEXT);
	door = knock(NEXT, 0);
	errno = 0;
	cr_assert(is_sent_away(door));
	close(door);
	cm_limits.request_us = 10000000;
	tell_the_truth();
}

Test(handoff, guest__one_of_too_many)
{
	int doors[80], gone = 0;

	node_listen(&c, NEXT);
	for (int i = 0; i < 80; i++)
		doors[i] = knock(NEXT, 0);
	for (int i = 64; i < 80; i++) {
		errno = 0;
		gone += is_sent_away(doors[i]);
	}
	cr_assert_eq(gone, 16);
	for (int i = 0; i < 80; i++)
		close(doors[i]);
	SOON(__atomic_load_n(&cm_loop.n_guests, __ATOMIC_RELAXED) == 0);
	tell_the_truth();
}

/* It is asleep, and as many as the door's backlog holds stand there. */
Test(handoff, process__is_busy)
{
	struct th_child child;
	int *doors = calloc(100000, sizeof(int)), n = 0;

	with_other(NODE_ACCEPT, &child);
	stop(&child);
	while (n < 100000 && (doors[n] = knock(NEXT, SOCK_NONBLOCK)) >= 0)
		n++;
	cr_assert_eq(doors[n], -EAGAIN);
	cr_assert_eq(hand_off(&b, NEXT), -EAGAIN);
	for (int i = 0; i < n; i++)
		close(doors[i]);
	free(doors);
	cr_assert_eq(kill(child.pid, SIGCONT), 0);
	SOON(hand_off(&b, NEXT) == 0);
	SOON(a.established == 1);
	th_kill(&child);
}

/* ---- other users ---- */

static int stranger(int sock, void *arg)
{
	struct sockaddr_un name;
	socklen_t len = cm_door_name(NEXT, &name);	/* of the user who is still us */
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
		cr_skip_test("only root has other users");
	cr_assert_eq(th_spawn(child, stranger, &guest), 0);
}

Test(handoff, stranger__as_a_guest)
{
	struct th_child child;

	with_stranger(true, &child);
	node_listen(&c, NEXT);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, SOON_MS), 0);
	cr_assert_eq(c.requests, 0);
	tell_the_truth();
}

/* Who has taken the name gets no request; who listens there after all, does so without a door. */
Test(handoff, stranger__as_the_host)
{
	struct th_child child;

	with_stranger(false, &child);
	cr_assert_eq(th_meet(child.sock), 0);
	ask();
	cr_assert_eq(hand_off(&b, NEXT), -ENOENT);
	node_listen(&c, NEXT);
	cr_assert_eq(hand_off(&b, NEXT), -ENOENT);
	node_pair(&a, &c, NEXT, &conn);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, SOON_MS), 0);
}
