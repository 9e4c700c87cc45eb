/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that are handed off to another listener of the host. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cm/trio.h"

TestSuite(handoff, .init = trio_open, .fini = trio_close, .timeout = 60);

Test(handoff, handoff__to_another_adapter_of_the_process_moves_the_request)
{
	struct dap_path sent = path_of(1);
	uint8_t pd[100];

	node_listen(&trio.c, NEXT);
	trio_ask();
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), 0);
	SOON(trio.c.requests == 1);
	pattern(pd, sizeof(pd), 5);
	cr_assert_eq(trio.c.conn_qual, NEXT);
	cr_assert(same_path(&trio.c.path, &sent));
	cr_assert_eq(trio.c.got_size, sizeof(pd));
	cr_assert_arr_eq(trio.c.got, pd, sizeof(pd));
	cr_assert_eq(trio.c.from.v4.sin_addr.s_addr, trio.b.from.v4.sin_addr.s_addr);
	cr_assert_eq(trio.c.from.v4.sin_port, trio.b.from.v4.sin_port);
	SOON(trio.a.established == 1);
	cr_assert_eq(dap_cm_disconnect(trio.conn, false), 0);
	ENDED(&trio.a, DAP_CM_DISCONNECTED);
	ENDED(&trio.c, DAP_CM_DISCONNECTED);
	cr_assert_eq(trio.b.ended, 0);
}

Test(handoff, handoff__many_times_still_establishes)
{
	node_listen(&trio.c, NEXT);
	trio.c.answer = NODE_HOLD;
	trio_ask();
	for (unsigned int i = 1; i <= 20; i++) {
		cr_assert_eq(trio_hand_off(&trio.b, NEXT), 0);
		SOON(trio.c.requests == i);
		cr_assert_eq(trio_hand_off(&trio.c, QUAL), 0);
		SOON(trio.b.requests == i + 1);
	}
	cr_assert_eq(node_accept(&trio.b), 0);
	SOON(trio.a.established == 1);
}

Test(handoff, handoff__without_a_listener_returns_enoent)
{
	trio_ask();
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), -ENOENT);
	cr_assert_eq(node_accept(&trio.b), 0);
	SOON(trio.a.established == 1);
}

Test(handoff, handoff__without_descriptors_returns_emfile)
{
	node_listen(&trio.c, NEXT);
	trio_ask();
	/* accept(2) uses a descriptor for a moment even if it fails, so this waits */
	dap_cm_sync(trio.b.cm);
	cr_assert_eq(th_fds_limit(0), 0);
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), -EMFILE);
	th_fds_restore();
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), 0);
	SOON(trio.a.established == 1);
}

Test(handoff, handoff__refused_by_the_new_listener_ends_as_non_peer_rejected)
{
	node_listen(&trio.c, NEXT);
	trio.c.answer = NODE_REFUSE;
	trio_ask();
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), 0);
	ENDED(&trio.a, DAP_CM_NON_PEER_REJECTED);
}

/* Frees the listener at once. Whichever side sees the request first, the peer gets an answer. */
Test(handoff, handoff__to_a_listener_that_leaves_ends_the_attempt)
{
	struct dap_cm_listener *l = node_listen(&trio.c, NEXT);

	trio.c.answer = NODE_REJECT;
	trio_ask();
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), 0);
	dap_cm_unlisten(l);
	SOON(trio.a.ended == 1);
	cr_assert_eq(trio.a.established, 0);
}

/* The peer is moved to a socket that has no name which another process could have bound before. */
Test(handoff, handoff__with_guessed_socket_names_bound_still_establishes)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	for (unsigned int i = 0; i < 8; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
				   "dapl-direct.near.7f000001.%u.%d.%u", cm_port_of(QUAL), getpid(), i);

		cr_assert_eq(bind(fd, (struct sockaddr *)&name, (socklen_t)(offsetof(
			     struct sockaddr_un, sun_path) + 1 + (size_t)len)), 0);
	}
	node_listen(&trio.c, NEXT);
	trio_ask();
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), 0);
	SOON(trio.a.established == 1);
}

/* ---- Peers that are sockets of the test ---- */

Test(handoff, handoff__after_the_peer_has_gone_delivers_no_request)
{
	int fd = trio_ask_bare();

	node_listen(&trio.c, NEXT);
	close(fd);
	SOON(__atomic_load_n(&trio.b.request->state, __ATOMIC_RELAXED) == CM_GONE);
	cr_assert_eq(trio_hand_off(&trio.b, NEXT + 1), -ENOENT);
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), 0);
	cr_assert_eq(trio.c.requests, 0);
}

/* Half of a message was read before the handoff, the other half arrives afterwards. */
Test(handoff, handoff__in_the_middle_of_a_message_loses_no_byte)
{
	int fd = trio_ask_bare();
	struct cm_wire w;
	struct cm_msg m;

	node_listen(&trio.c, NEXT);
	trio.c.answer = NODE_HOLD;
	raw_message(&w, CM_DISC, ID, 0);
	raw_send(fd, &w, 150);
	SOON(__atomic_load_n(&trio.b.request->in_len, __ATOMIC_RELAXED) == 150);
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), 0);
	SOON(trio.c.requests == 1);
	raw_send(fd, (char *)&w + 150, sizeof(w) - 150);
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_DISC);
	close(fd);
	cr_assert_eq(node_accept(&trio.c), -ECONNRESET);
}

/* ---- Other processes ---- */

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

/* Forks a child before this process opens nodes, as the other tests of the suite do. */
static void with_other(enum node_answer answer, struct th_child *child)
{
	trio_close();
	cr_assert_eq(th_spawn(child, other, &answer), 0);
	trio_open();
	cr_assert_eq(th_meet(child->sock), 0);
	trio_ask();
}

Test(handoff, process__serves_handed_off_requests)
{
	struct th_child child;

	with_other(NODE_ACCEPT, &child);
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	SOON(trio.a.established == 1);
	th_kill(&child);
	ENDED(&trio.a, DAP_CM_BROKEN);
}

Test(handoff, process__keeps_the_connection_when_the_handing_adapter_closes)
{
	struct th_child child;

	with_other(NODE_ACCEPT, &child);
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), 0);
	node_close(&trio.b);
	cr_assert_eq(th_meet(child.sock), 0);
	SOON(trio.a.established == 1);
	cr_assert_eq(trio.a.ended, 0);
	th_kill(&child);
	node_open(&trio.b, "127.0.0.1");
}

static void stop(const struct th_child *child)
{
	int status;

	cr_assert_eq(kill(child->pid, SIGSTOP), 0);
	cr_assert_eq(waitpid(child->pid, &status, WUNTRACED), child->pid);
}

Test(handoff, process__that_dies_before_reading_the_request_ends_the_attempt)
{
	struct th_child child;

	with_other(NODE_ACCEPT, &child);
	stop(&child);
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), 0);
	th_kill(&child);
	ENDED(&trio.a, DAP_CM_NON_PEER_REJECTED);
}

Test(handoff, process__that_dies_with_the_request_ends_the_attempt)
{
	struct th_child child;

	with_other(NODE_HOLD, &child);
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	th_kill(&child);
	ENDED(&trio.a, DAP_CM_NON_PEER_REJECTED);
}

Test(handoff, process__that_has_died_is_no_listener)
{
	struct th_child child;

	with_other(NODE_ACCEPT, &child);
	th_kill(&child);
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), -ENOENT);
	cr_assert_eq(node_accept(&trio.b), 0);
	SOON(trio.a.established == 1);
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

/* The requests wait in the backlog while the process sleeps. Then it serves them all. */
Test(handoff, process__stopped_under_many_handoffs_serves_them_all_later)
{
	struct th_child child;

	trio_close();
	cr_assert_eq(th_spawn(&child, other_of_many, NULL), 0);
	trio_open();
	cr_assert_eq(th_meet(child.sock), 0);
	stop(&child);
	for (int i = 0; i < MANY; i++) {
		trio_ask();
		cr_assert_eq(trio_hand_off(&trio.b, NEXT), 0);
	}
	cr_assert_eq(kill(child.pid, SIGCONT), 0);
	SOON(trio.a.established == MANY);
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

/* A forked child does not keep its parent's handoff sockets open. */
Test(handoff, fork__child_holds_no_door_open)
{
	struct dap_cm_listener *l = node_listen(&trio.c, NEXT);
	struct th_child child;

	trio_ask();
	cr_assert_eq(th_spawn(&child, sleeper, NULL), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	dap_cm_unlisten(l);
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), -ENOENT);
	th_kill(&child);
}

/* The process sleeps, and the backlog of its handoff socket is full. */
Test(handoff, process__with_a_full_backlog_returns_eagain)
{
	struct th_child child;
	int *doors = calloc(100000, sizeof(int)), n = 0;

	raw_raise_limit();
	with_other(NODE_ACCEPT, &child);
	stop(&child);
	while (n < 100000 && (doors[n] = trio_knock(NEXT, SOCK_NONBLOCK)) >= 0)
		n++;
	cr_assert_eq(doors[n], -EAGAIN);
	cr_assert_eq(trio_hand_off(&trio.b, NEXT), -EAGAIN);
	for (int i = 0; i < n; i++)
		close(doors[i]);
	free(doors);
	cr_assert_eq(kill(child.pid, SIGCONT), 0);
	SOON(trio_hand_off(&trio.b, NEXT) == 0);
	SOON(trio.a.established == 1);
	th_kill(&child);
}
