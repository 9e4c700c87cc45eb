/* SPDX-License-Identifier: BSD-2-Clause */
/* Multiplexed streams: many connections over one socket, and bad messages over it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/cm/node.h"

#define ID UINT64_C(0x1122334455667788)
#define MANY 64

static struct node a, b;

static void open_both(void)
{
	node_open_two(&a, &b);
}

/* Serves one more connection before both nodes close, to show that nothing is damaged. */
static void close_both(void)
{
	struct dap_cm_conn *c;

	b.answer = NODE_ACCEPT;
	node_pair(&a, &b, QUAL, &c);
	node_close_two(&a, &b);
}

#define LINE(name) Test(line, name, .init = open_both, .fini = close_both, .timeout = 60)

static int bare_line(void)
{
	struct sockaddr_un name;
	socklen_t len = listener_name(&name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&name, len), 0, "%s", strerror(errno));
	return fd;
}

/* Replaces node b by a socket of the test. */
static int bare_listener(void)
{
	struct sockaddr_un name;
	socklen_t len = listener_name(&name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(bind(fd, (struct sockaddr *)&name, len), 0);
	cr_assert_eq(listen(fd, 16), 0);
	return fd;
}

static void hears(int fd, enum cm_type type, uint64_t id)
{
	struct cm_msg m;

	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, type, "%s came, not %s", cm_type_name(m.type), cm_type_name(type));
	cr_assert_eq(m.id, id);
}

static void establish(int fd, uint64_t id)
{
	raw_say(fd, CM_REQ, id, QUAL);
	hears(fd, CM_REP, id);
	raw_say(fd, CM_RTU, id, 0);
	hears(fd, CM_GO, id);
}

/* ---- Correct use ---- */

LINE(connections__between_two_nodes_share_one_stream)
{
	struct dap_cm_conn *c[MANY];

	node_listen(&b, QUAL);
	for (int i = 0; i < MANY; i++) {
		cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c[i]), 0);
		cr_assert_eq(c[i]->mux, c[0]->mux);
		cr_assert_eq(c[i]->fd, -1);
	}
	SOON(a.established == MANY && b.readies == MANY);
	cr_assert_eq(cm_loop.n_muxes, 2, "the connections do not share one stream");
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(dap_cm_disconnect(c[i], i % 2), 0);
	SOON(a.why[DAP_CM_DISCONNECTED] == MANY && b.why[DAP_CM_DISCONNECTED] == MANY);
}

/* A program may have closed its standard input. */
LINE(stream__with_descriptor_0_carries_messages)
{
	struct dap_cm_conn *c;

	node_listen(&b, QUAL);
	close(0);
	node_pair(&a, &b, QUAL, &c);
	cr_assert_eq(c->mux->fd, 0);
}

LINE(idle__is_hung_up)
{
	struct dap_cm_conn *c;

	cm_limits.idle_us = 20000;
	node_listen(&b, QUAL);
	node_pair(&a, &b, QUAL, &c);
	th_sleep_ms(50);
	cr_assert_eq(a.ended, 0, "a connection that uses the stream has ended");
	cr_assert_eq(dap_cm_disconnect(c, false), 0);
	SOON(__atomic_load_n(&cm_loop.n_muxes, __ATOMIC_RELAXED) == 0);
	cr_assert_eq(a.why[DAP_CM_DISCONNECTED], 1);
}

/* The listener has moved to another process, so the stream to the first process is of no use. */
LINE(stale__is_not_used_again)
{
	struct dap_cm_conn *c, *d;
	struct dap_cm_listener *l = node_listen(&b, QUAL);
	struct cm_mux *first;

	node_pair(&a, &b, QUAL, &c);
	first = c->mux;
	dap_cm_unlisten(l);
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &d), 0);
	SOON(__atomic_load_n(&first->stale, __ATOMIC_RELAXED));	/* the first stream is marked as stale */
	node_listen(&b, QUAL);
	SOON(a.established == 2);
	cr_assert_neq(d->mux, first);
	cr_assert_eq(a.ended, 0);
}

LINE(released__is_a_break_for_that_one_alone)
{
	struct dap_cm_conn *c, *d;

	node_listen(&b, QUAL);
	node_pair(&a, &b, QUAL, &c);
	node_pair(&a, &b, QUAL, &d);
	dap_cm_release(c);
	SOON(b.why[DAP_CM_BROKEN] == 1);
	cr_assert_eq(dap_cm_disconnect(d, false), 0);
	SOON(b.why[DAP_CM_DISCONNECTED] == 1);
	cr_assert_eq(b.ended, 2);
}

/* ---- Correct and malicious callers ---- */

LINE(caller__request_byte_by_byte_is_answered)
{
	int fd;
	struct cm_wire w;

	node_listen(&b, QUAL);
	fd = bare_line();
	raw_message(&w, CM_REQ, ID, QUAL);
	for (size_t i = 0; i < sizeof(w); i++)
		raw_send(fd, (uint8_t *)&w + i, 1);
	hears(fd, CM_REP, ID);
	close(fd);
	ENDED(&b, DAP_CM_BROKEN);
}

/* All messages come in one segment, with the next request. They are handled in their order. */
LINE(caller__messages_in_one_segment_are_handled_in_order)
{
	struct cm_wire w[5];
	int fd;

	node_listen(&b, QUAL);
	fd = bare_line();
	for (unsigned int i = 0; i < 5; i++)
		raw_message(&w[i], CM_REQ, ID + i, QUAL);
	raw_message(&w[1], CM_DISC, ID, 0);
	raw_message(&w[3], CM_CUT, ID + 2, 0);
	raw_send(fd, w, sizeof(w));
	hears(fd, CM_REP, ID);
	hears(fd, CM_DISC, ID);
	hears(fd, CM_REP, ID + 2);
	hears(fd, CM_REP, ID + 4);
	SOON(b.requests == 3 && b.why[DAP_CM_DISCONNECTED] == 1 && b.why[DAP_CM_BROKEN] == 1);
	close(fd);
	SOON(b.why[DAP_CM_BROKEN] == 2);
}

/* A malformed message ends the caller's stream and nothing else. */
static void is_cut_off(const void *bytes, size_t len)
{
	struct dap_cm_conn *c;
	int fd;

	node_listen(&b, QUAL);
	node_pair(&a, &b, QUAL, &c);
	fd = bare_line();
	establish(fd, ID);
	establish(fd, ID + 1);
	raw_send(fd, bytes, len);
	cr_assert(raw_is_cut(fd));
	SOON(b.why[DAP_CM_BROKEN] == 2);
	cr_assert_eq(a.ended, 0);
	cr_assert_eq(dap_cm_disconnect(c, false), 0);
	SOON(b.why[DAP_CM_DISCONNECTED] == 1);
	close(fd);
}

LINE(caller__malformed_message_ends_its_stream_alone)
{
	is_cut_off("and now", 7);
}

LINE(caller__valid_prefix_with_unknown_type_ends_its_stream_alone)
{
	struct cm_wire w;

	raw_message(&w, CM_DISC, ID, 0);
	w.type = CM_TYPES;
	is_cut_off(&w, CM_PREFIX_SIZE);
}

LINE(caller__second_request_with_the_same_id_ends_its_stream_alone)
{
	struct cm_wire w;

	raw_message(&w, CM_REQ, ID, QUAL);
	is_cut_off(&w, sizeof(w));
}

LINE(caller__move_of_its_own_connection_ends_its_stream_alone)
{
	struct cm_wire w;

	raw_message(&w, CM_MOVE, ID, 0);
	is_cut_off(&w, sizeof(w));
}

LINE(caller__message_of_another_version_ends_its_stream_alone)
{
	struct cm_wire w;

	raw_message(&w, CM_REQ, ID + 2, QUAL);
	w.version = cpu_to_be16(CM_VERSION + 1);
	is_cut_off(&w, sizeof(w));
}

/* An unexpected message ends its connection; the others on the stream continue. */
LINE(caller__unexpected_message_ends_only_its_connection)
{
	int fd;

	node_listen(&b, QUAL);
	fd = bare_line();
	establish(fd, ID);
	establish(fd, ID + 1);
	raw_say(fd, CM_GO, ID, 0);
	hears(fd, CM_CUT, ID);
	ENDED(&b, DAP_CM_BROKEN);
	raw_say(fd, CM_DISC, ID + 1, 0);
	hears(fd, CM_DISC, ID + 1);
	SOON(b.why[DAP_CM_DISCONNECTED] == 1);
	close(fd);
}

/* A message that was in flight when its connection ended is ignored. */
LINE(caller__message_for_a_missing_connection_is_ignored)
{
	int fd;

	node_listen(&b, QUAL);
	fd = bare_line();
	for (enum cm_type t = CM_REP; t < CM_MOVE; t++)
		raw_say(fd, t, ID, 0);
	establish(fd, ID);
	close(fd);
	ENDED(&b, DAP_CM_BROKEN);
}

LINE(caller__request_for_an_unknown_qualifier_is_refused)
{
	uint64_t other = QUAL ^ (UINT64_C(1) << 14 | 1);
	struct cm_msg m;
	int fd;

	node_listen(&b, QUAL);
	fd = bare_line();
	for (uint64_t i = 0; i < 600; i++) {
		raw_say(fd, CM_REQ, ID + i, other);
		cr_assert_eq(raw_hear(fd, &m), 1);
		cr_assert(m.reason == CM_REASON_NO_LISTENER && m.id == ID + i);
	}
	establish(fd, ID);
	close(fd);
	ENDED(&b, DAP_CM_BROKEN);
}

/* Unread answers are queued, up to a limit. */
LINE(caller__that_never_reads_is_disconnected_at_a_limit)
{
	struct cm_wire w;
	int fd, sent = 0;

	node_listen(&b, QUAL);
	b.answer = NODE_REJECT;
	fd = bare_line();
	raw_message(&w, CM_REQ, ID, QUAL);
	for (; sent < 100000; sent++) {
		w.id = cpu_to_be64(ID + (uint64_t)sent);
		if (th_send(fd, &w, sizeof(w)))
			break;
	}
	cr_assert_lt(sent, 100000, "the listener did not close the stream after 100000 requests");
	close(fd);
}

static struct dap_cm_conn *bystander;
static bool asked, queued;

/* When the first connection of a lost stream ends, core posts a send on another connection of that
 * stream. */
static void send_on_bystander(struct node *n, const struct dap_cm_conn *conn)
{
	(void)n;
	if (conn == bystander)
		queued = bystander->out_mux;
	else if (!asked)
		dap_cm_disconnect(bystander, false);
	asked = true;
}

/* The lost stream must not keep this connection, or it would never be freed. */
LINE(lost__connection_that_sends_meanwhile_is_not_kept)
{
	struct cm_mux *line;
	struct cm_wire w;
	int fd;

	b.on_end = send_on_bystander;
	node_listen(&b, QUAL);
	fd = bare_line();
	raw_say(fd, CM_REQ, ID, QUAL);
	SOON(b.requests == 1);
	bystander = b.passive;
	line = bystander->mux;
	for (uint64_t i = 1; !__atomic_load_n(&line->wants_out, __ATOMIC_RELAXED); i++) {
		raw_message(&w, CM_REQ, ID + i, QUAL);
		raw_send(fd, &w, sizeof(w));
		SOON(b.requests == i + 1);
	}
	close(fd);
	SOON(b.ended == b.requests);
	cr_assert(asked);
	cr_assert_not(queued);
	b.on_end = NULL;
}

LINE(caller__that_sends_nothing_is_disconnected_at_its_deadline)
{
	int fd;

	cm_limits.request_us = 50000;
	node_listen(&b, QUAL);
	fd = bare_line();
	cr_assert(raw_is_cut(fd));
	close(fd);
}

/* Descriptors that were not requested are closed. */
LINE(caller__unrequested_descriptors_are_closed)
{
	struct th_usage before, after;
	struct cm_wire w;
	int fd;

	node_listen(&b, QUAL);
	fd = bare_line();
	establish(fd, ID);
	th_usage(&before);
	for (int i = 0; i < 3; i++) {
		raw_message(&w, CM_GO, ID + 1, 0);
		cm_send_fd(fd, &(struct iovec){ &w, sizeof(w) }, 1, 0);
	}
	cr_assert(raw_is_cut(fd));
	ENDED(&b, DAP_CM_BROKEN);
	th_usage(&after);
	cr_assert_lt(after.fds, before.fds);
	close(fd);
}

/* ---- Both directions ---- */

static int called_by_a(struct dap_cm_conn **c, int n)
{
	int listener = bare_listener(), fd;

	for (int i = 0; i < n; i++)
		cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c[i]), 0);
	fd = raw_accept(listener);
	close(listener);
	for (int i = 0; i < n; i++)
		hears(fd, CM_REQ, c[i]->id);
	return fd;
}

static void answers_with(enum cm_type type, const int *along)
{
	struct dap_cm_conn *c[2];
	struct cm_wire w;
	int fd = called_by_a(c, 2);

	raw_message(&w, type, c[0]->id, type == CM_REQ ? QUAL : 0);
	if (along)
		cm_send_fd(fd, &(struct iovec){ &w, sizeof(w) }, 1, *along);
	else
		raw_send(fd, &w, sizeof(w));
	cr_assert(raw_is_cut(fd));
	SOON(a.ended == 2);
	close(fd);
	node_listen(&b, QUAL);
}

LINE(called__request_back_ends_its_stream)
{
	answers_with(CM_REQ, NULL);
}

LINE(called__move_without_a_descriptor_ends_its_stream)
{
	answers_with(CM_MOVE, NULL);
}

LINE(called__move_to_a_file_ends_its_stream)
{
	answers_with(CM_MOVE, &(int){ 0 });
}

LINE(called__move_to_a_datagram_socket_ends_its_stream)
{
	int sv[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, sv), 0);
	answers_with(CM_MOVE, &sv[0]);
	close(sv[0]);
	close(sv[1]);
}

LINE(called__move_to_a_stream_socket_continues_there)
{
	struct dap_cm_conn *c[2];
	struct cm_wire w;
	int fd = called_by_a(c, 2), sv[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	raw_message(&w, CM_MOVE, ID, 0);
	/* the message names no connection */
	cm_send_fd(fd, &(struct iovec){ &w, sizeof(w) }, 1, sv[1]);
	raw_message(&w, CM_MOVE, c[0]->id, 0);
	cm_send_fd(fd, &(struct iovec){ &w, sizeof(w) }, 1, sv[1]);
	close(sv[1]);
	raw_say(sv[0], CM_REP, c[0]->id, 0);
	hears(sv[0], CM_RTU, c[0]->id);
	raw_say(fd, CM_REP, c[1]->id, 0);
	hears(fd, CM_RTU, c[1]->id);
	raw_say(sv[0], CM_GO, c[0]->id, 0);
	SOON(a.established == 1);
	close(fd);
	SOON(a.ended == 1);
	close(sv[0]);
	SOON(a.why[DAP_CM_BROKEN] == 2);
	node_listen(&b, QUAL);
}

LINE(called__hangup_with_many_connections_ends_each_once)
{
	struct dap_cm_conn *c[MANY];
	int fd = called_by_a(c, MANY);

	for (int i = 0; i < MANY / 2; i++)
		raw_say(fd, CM_REP, c[i]->id, 0);
	SOON(a.replies == MANY / 2);
	for (int i = 0; i < MANY / 2; i++)
		hears(fd, CM_RTU, c[i]->id);
	close(fd);
	SOON(a.ended == MANY);
	cr_assert_eq(a.why[DAP_CM_BROKEN], MANY / 2);
	cr_assert_eq(a.why[DAP_CM_NON_PEER_REJECTED], MANY / 2);
	node_listen(&b, QUAL);
}

/* ---- A process that dies in the middle ---- */

static int victim(int sock, void *arg)
{
	struct dap_cm_conn *c;
	struct node n;

	(void)arg;
	node_open(&n, "127.0.0.1");
	th_meet(sock);
	for (int i = 0; i < MANY; i++) {
		n.no_rtu = i % 2;
		if (node_connect(&n, QUAL, FOR_EVER, &c))
			return 1;
	}
	SOON(n.replies == MANY);
	th_meet(sock);
	th_sleep_ms(60000);
	return 0;
}

Test(line, kill__caller_with_many_half_open_breaks_only_its_connections, .timeout = 60)
{
	struct th_child child;
	struct dap_cm_conn *c;

	th_qual();
	cr_assert_eq(th_spawn(&child, victim, NULL), 0);
	open_both();
	node_listen(&b, QUAL);
	node_pair(&a, &b, QUAL, &c);
	th_meet(child.sock);
	th_meet(child.sock);
	th_kill(&child);
	SOON(b.why[DAP_CM_BROKEN] == MANY);
	cr_assert_eq(a.ended, 0);
	cr_assert_eq(dap_cm_disconnect(c, false), 0);
	SOON(b.why[DAP_CM_DISCONNECTED] == 1);
	close_both();
}

/* ---- The thread that handles messages ---- */

/* A caller that drives the manager handles arriving messages in its own thread. */
LINE(drive__by_a_caller_handles_messages_in_its_own_thread)
{
	struct cm_wire w;
	int fd;

	node_listen(&b, QUAL);
	fd = bare_line();
	establish(fd, ID);
	/* from here on the manager's thread leaves streams to this caller */
	cr_assert_geq(dap_cm_sleep_begin(b.cm), 0);
	dap_cm_sync(b.cm);
	raw_message(&w, CM_REQ, ID + 1, QUAL);
	raw_send(fd, &w, sizeof(w));
	th_sleep_ms(20);
	cr_assert_eq(b.requests, 1);
	cr_assert(dap_cm_drive(b.cm));
	cr_assert_eq(b.requests, 2);
	cr_assert_not(dap_cm_drive(b.cm));
	hears(fd, CM_REP, ID + 1);
	dap_cm_sleep_end(b.cm, cm_loop.mux_fd);
	/* the driving caller has stopped, so the thread takes over */
	raw_say(fd, CM_RTU, ID + 1, 0);
	hears(fd, CM_GO, ID + 1);
	close(fd);
}

LINE(drive__second_sleeper_gets_no_descriptor)
{
	int fd, first, second;

	node_listen(&b, QUAL);
	fd = bare_line();
	establish(fd, ID);
	first = dap_cm_sleep_begin(a.cm);
	second = dap_cm_sleep_begin(b.cm);
	cr_assert_geq(first, 0);
	cr_assert_eq(second, -1);
	dap_cm_sleep_end(a.cm, first);
	establish(fd, ID + 1);			/* the caller sleeps, so the thread takes over */
	dap_cm_sleep_end(b.cm, second);
	establish(fd, ID + 2);
	close(fd);
}

/* A connection for which there is no memory gets an error, and the stream continues. */
LINE(drive__without_memory_ends_one_connection_and_keeps_the_stream)
{
	const char *san = getenv("SAN");
	int fd, first;

	if (san && *san)
		cr_skip_test("not under a sanitizer");
	node_listen(&b, QUAL);
	fd = bare_line();
	establish(fd, ID);
	first = dap_cm_sleep_begin(b.cm);
	dap_cm_sync(b.cm);
	raw_say(fd, CM_REQ, ID + 1, QUAL);
	raw_say(fd, CM_REQ, ID + 2, QUAL);
	th_fail_start(TH_FAIL_HEAP, 1);
	dap_cm_drive(b.cm);
	th_fail_stop();
	hears(fd, CM_CUT, ID + 1);
	dap_cm_sleep_end(b.cm, first);
	cr_assert_eq(b.ended, 0);
	close(fd);
}
