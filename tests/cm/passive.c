/* SPDX-License-Identifier: BSD-2-Clause */
/* The listening side with misbehaving clients. Whatever a client does, the next client is
 * served. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tests/cm/node.h"

#define ID 0x1122334455667788

static struct node a, b;
static struct dap_cm_listener *l;

static void open_both(void)
{
	node_open_two(&a, &b);
	l = node_listen(&b, QUAL);
}

/* Serves one more connection before both nodes close, to show that nothing is damaged. */
static void close_both(void)
{
	struct dap_cm_conn *c;

	b.answer = NODE_ACCEPT;
	b.no_go = false;
	node_pair(&a, &b, QUAL, &c);
	node_close_two(&a, &b);
}

#define PASSIVE(name) Test(cm, name, .init = open_both, .fini = close_both)

PASSIVE(client__of_another_protocol_is_disconnected)
{
	static const char http[] = "GET / HTTP/1.1\r\n\r\n";
	int fd = raw_connect(QUAL);

	raw_send(fd, http, sizeof(http));
	cr_assert(raw_is_cut(fd));
	cr_assert_eq(b.requests, 0);
	close(fd);
}

PASSIVE(client__with_a_wrong_first_byte_is_disconnected)
{
	int fd = raw_connect(QUAL);

	raw_send(fd, "X", 1);
	cr_assert(raw_is_cut(fd));
	close(fd);
}

PASSIVE(client__of_another_version_gets_a_reply)
{
	struct cm_wire w;
	struct cm_msg m;
	int fd = raw_connect(QUAL);

	raw_message(&w, CM_REQ, ID, QUAL);
	w.version = cpu_to_be16(CM_VERSION + 1);
	raw_send(fd, &w, sizeof(w));
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_REJ);
	cr_assert_eq(m.reason, CM_REASON_VERSION);
	cr_assert_eq(b.requests, 0);
	close(fd);
}

PASSIVE(client__whose_first_message_is_no_request_is_disconnected)
{
	for (enum cm_type t = CM_REP; t < CM_TYPES; t++) {
		int fd = raw_connect(QUAL);

		raw_say(fd, t, ID, 0);
		cr_assert(raw_is_cut(fd), "the connection stays open after the first message %s",
			  cm_type_name(t));
		close(fd);
	}
	cr_assert_eq(b.requests, 0);
}

PASSIVE(client__request_cut_off_at_any_byte_is_not_delivered)
{
	struct cm_wire w;

	raw_message(&w, CM_REQ, ID, QUAL);
	for (size_t len = 0; len < sizeof(w); len++) {
		int fd = raw_connect(QUAL);

		raw_send(fd, &w, len);
		if (len % 2)
			raw_reset(fd);
		else
			close(fd);
	}
	SOON(cm_loop.half_opens == 0);
	cr_assert_eq(b.requests, 0);
}

PASSIVE(client__request_byte_by_byte_is_answered)
{
	struct cm_wire w;
	struct cm_msg m;
	int fd = raw_connect(QUAL);

	raw_message(&w, CM_REQ, ID, QUAL);
	for (size_t i = 0; i < sizeof(w); i++) {
		raw_send(fd, (uint8_t *)&w + i, 1);
		if (i % 8 == 0)
			th_yield();
	}
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_REP);
	cr_assert_eq(m.id, ID);
	raw_say(fd, CM_RTU, ID, 0);
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_GO);
	close(fd);
	SOON(b.why[DAP_CM_BROKEN] == 1);
}

/* A slow client is treated like a silent one, because the deadline counts from the start of its
 * connection. On a busy machine the manager may be late by many of these bytes. */
PASSIVE(client__slow_one_is_dropped_at_its_deadline)
{
	struct cm_wire w;
	bool cut = false;
	int fd;

	cm_limits.request_us = 100000;
	fd = raw_connect(QUAL);
	raw_message(&w, CM_REQ, ID, QUAL);
	for (size_t i = 0; i < sizeof(w) - 1 && !cut; i++) {
		cut = th_send(fd, (uint8_t *)&w + i, 1) != 0;
		th_sleep_ms(50);
	}
	cr_assert(cut);
	cr_assert_eq(b.requests, 0);
	close(fd);
}

/* ---- The end of a connection in each phase ---- */

static int to_phase(enum cm_type last, bool accept)
{
	struct cm_msg m;
	int fd = raw_connect(QUAL);

	b.answer = accept ? NODE_ACCEPT : NODE_HOLD;
	raw_say(fd, CM_REQ, ID, QUAL);
	if (!accept) {
		SOON(b.request);
		return fd;
	}
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_REP);
	if (last == CM_REQ)
		return fd;
	raw_say(fd, CM_RTU, ID, 0);
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_GO);
	return fd;
}

/* Does the manager of node b still have a connection? */
static bool keeps_one(void)
{
	bool some;

	cr_assert(cm_enter(cm_loop.generation));
	some = !TAILQ_EMPTY(&b.cm->conns);
	cm_leave();
	return some;
}

static void hold_request_then(void (*end)(int fd))
{
	end(to_phase(CM_REQ, false));
	SOON(((volatile struct dap_cm_conn *)b.request)->state == CM_GONE);
	cr_assert_eq(node_accept(&b), -ECONNRESET);
	cr_assert_not(keeps_one());
	dap_cm_sync(b.cm);
	cr_assert_eq(b.ended, 0);
}

static void hang_up(int fd)
{
	close(fd);
}

static void say_rtu(int fd)
{
	raw_say(fd, CM_RTU, ID, 0);
	cr_assert(raw_is_cut(fd));
	close(fd);
}

static void say_disc(int fd)
{
	struct cm_msg m;

	raw_say(fd, CM_DISC, ID, 0);
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_DISC);
	close(fd);
}

PASSIVE(request__whose_peer_hung_up_cannot_be_accepted)
{
	hold_request_then(hang_up);
}

PASSIVE(request__whose_peer_was_reset_cannot_be_accepted)
{
	hold_request_then(raw_reset);
}

PASSIVE(request__whose_peer_disconnected_cannot_be_accepted)
{
	hold_request_then(say_disc);
}

PASSIVE(request__whose_peer_sent_rtu_early_cannot_be_accepted)
{
	hold_request_then(say_rtu);
}

PASSIVE(request__can_be_rejected_or_released_after_its_end)
{
	hang_up(to_phase(CM_REQ, false));
	SOON(((volatile struct dap_cm_conn *)b.request)->state == CM_GONE);
	cr_assert_eq(dap_cm_reject(b.request, NULL, 0), 0);
	cr_assert_not(keeps_one());
	b.request = NULL;
	hang_up(to_phase(CM_REQ, false));
	SOON(((volatile struct dap_cm_conn *)b.request)->state == CM_GONE);
	cr_assert(keeps_one());
	dap_cm_release(b.request);
	cr_assert_not(keeps_one());
}

PASSIVE(accepted__hangup_of_the_peer_breaks_the_connection)
{
	hang_up(to_phase(CM_REQ, true));
	ENDED(&b, DAP_CM_BROKEN);
}

PASSIVE(accepted__peer_that_never_answers_times_out)
{
	int fd;

	cm_limits.answer_us = 100000;
	fd = to_phase(CM_REQ, true);
	ENDED(&b, DAP_CM_TIMED_OUT);
	cr_assert(raw_is_cut(fd));
	close(fd);
	cm_limits.answer_us = 10000000;
}

PASSIVE(accepted__answer_with_another_id_breaks_the_connection)
{
	int fd = to_phase(CM_REQ, true);

	raw_say(fd, CM_RTU, ID + 1, 0);
	ENDED(&b, DAP_CM_BROKEN);
	cr_assert_eq(b.readies, 0);
	close(fd);
}

PASSIVE(accepted__answer_cut_off_at_any_byte_breaks_the_connection)
{
	struct cm_wire w;

	raw_message(&w, CM_RTU, ID, 0);
	for (unsigned int i = 1, len = 0; len < sizeof(w); i++, len += len < 8 ? 1 : 41) {
		int fd = to_phase(CM_REQ, true);

		raw_send(fd, &w, len);
		close(fd);
		SOON(b.why[DAP_CM_BROKEN] == i);
	}
	cr_assert_eq(b.readies, 0);
}

PASSIVE(live__hangup_of_the_peer_breaks_the_connection)
{
	hang_up(to_phase(CM_RTU, true));
	ENDED(&b, DAP_CM_BROKEN);
}

PASSIVE(live__reset_by_the_peer_breaks_the_connection)
{
	raw_reset(to_phase(CM_RTU, true));
	ENDED(&b, DAP_CM_BROKEN);
}

PASSIVE(live__disconnect_by_the_peer_ends_the_connection)
{
	say_disc(to_phase(CM_RTU, true));
	ENDED(&b, DAP_CM_DISCONNECTED);
}

PASSIVE(live__disconnect_then_reset_is_a_disconnect)
{
	int fd = to_phase(CM_RTU, true);

	raw_say(fd, CM_DISC, ID, 0);
	raw_reset(fd);
	ENDED(&b, DAP_CM_DISCONNECTED);
}

PASSIVE(live__malformed_message_of_the_peer_breaks_the_connection)
{
	int fd = to_phase(CM_RTU, true);

	raw_send(fd, "and now", 7);
	ENDED(&b, DAP_CM_BROKEN);
	close(fd);
}

/* ---- Many clients ---- */

PASSIVE(flood__of_ten_thousand_half_open_does_not_stop_others)
{
	enum { FLOOD = 10000 };
	static int fds[FLOOD];
	struct dap_cm_conn *c;

	raw_raise_limit();
	for (unsigned int i = 0; i < FLOOD; i++) {
		fds[i] = raw_connect(QUAL);
		if (i % 3 == 0)
			th_send(fds[i], "DATC", 1 + i % 4);
		if (i % 2500 == 2499) {
			node_pair(&a, &b, QUAL, &c);
			cr_assert_eq(dap_cm_disconnect(c, false), 0);
		}
	}
	SOON(a.why[DAP_CM_DISCONNECTED] == 4);
	cr_assert_leq(cm_loop.half_opens, cm_limits.half_open_source);
	for (unsigned int i = 0; i < FLOOD; i++)
		close(fds[i]);
	SOON(cm_loop.half_opens == 0);
}

/* Clients whose request has arrived are served. They are not dropped to make room. */
PASSIVE(storm__no_request_that_has_come_is_dropped)
{
	struct cm_msg m;
	int fds[6];

	cm_limits.half_open_source = 3;
	for (unsigned int i = 0; i < 3; i++)
		fds[i] = raw_connect(QUAL);
	SOON(cm_loop.half_opens == 3);
	cr_assert(cm_enter(cm_loop.generation));
	/* The listener's socket becomes ready first, and the manager accepts connections before it
	 * reads from them. */
	for (unsigned int i = 3; i < 6; i++)
		fds[i] = raw_connect(QUAL);
	for (unsigned int i = 0; i < 6; i++)
		raw_say(fds[i], CM_REQ, ID, QUAL);
	cm_leave();
	for (unsigned int i = 0; i < 6; i++) {
		cr_assert_eq(raw_hear(fds[i], &m), 1, "request %u got no reply", i);
		cr_assert_eq(m.type, CM_REP);
		close(fds[i]);
	}
}

/* A refused client counts against the limit until it has closed its socket. */
PASSIVE(flood__of_requests_without_a_listener_stays_within_the_limit)
{
	uint64_t other = QUAL ^ (UINT64_C(1) << 14 | 1);
	static int fds[600];
	struct cm_msg m;

	for (unsigned int i = 0; i < 600; i++) {
		fds[i] = raw_connect(QUAL);
		raw_say(fds[i], CM_REQ, ID, other);
		cr_assert_eq(raw_hear(fds[i], &m), 1);
		cr_assert_eq(m.reason, CM_REASON_NO_LISTENER);
	}
	cr_assert_leq(cm_loop.half_opens, cm_limits.half_open_source);
	for (unsigned int i = 0; i < 600; i++)
		close(fds[i]);
	SOON(cm_loop.half_opens == 0);
}

PASSIVE(flood__of_one_source_drops_the_oldest_beyond_its_limit)
{
	static int fds[100];

	cm_limits.half_open = 30;
	cm_limits.half_open_source = 20;
	for (unsigned int i = 0; i < 100; i++)
		fds[i] = raw_connect(QUAL);
	/* the oldest connections were dropped to make room */
	cr_assert(raw_is_cut(fds[79]));
	cr_assert_leq(cm_loop.half_opens, 20);
	for (unsigned int i = 0; i < 100; i++)
		close(fds[i]);
}

static int connect_from(uint32_t host)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(host) };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(cm_port_of(QUAL)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

PASSIVE(flood__of_many_sources_drops_the_oldest_beyond_the_total)
{
	enum { CLIENTS = 8, TOTAL = 5 };
	int fds[CLIENTS];

	cm_limits.half_open = TOTAL;
	cm_limits.half_open_source = 2;
	for (unsigned int i = 0; i < CLIENTS; i++)
		fds[i] = connect_from(0x7f000010 + i);
	for (unsigned int i = 0; i < CLIENTS - TOTAL; i++)
		cr_assert(raw_is_cut(fds[i]), "connection %u is among the oldest, and stays open", i);
	cr_assert_eq(cm_loop.half_opens, TOTAL);
	for (unsigned int i = 0; i < CLIENTS; i++)
		close(fds[i]);
	SOON(cm_loop.half_opens == 0);
}

static bool probed(const struct dap_cm_conn *c)
{
	socklen_t len = sizeof(int);
	int on = -1;

	cr_assert_eq(getsockopt(c->fd, SOL_SOCKET, SO_KEEPALIVE, &on, &len), 0);
	return on;
}

/*
 * Keepalive is off here: the probes of thousands of connections within one host would delay each
 * other.
 */
PASSIVE(keepalive__is_for_other_hosts)
{
	struct dap_cm_conn *c;
	struct cm_msg m;
	int fd;

	cm_limits.tcp = true;
	node_pair(&a, &b, QUAL, &c);
	cr_assert_not(probed(c));
	cr_assert_not(probed(b.passive));
	fd = connect_from(0x7f000002);
	raw_say(fd, CM_REQ, ID, QUAL);
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert(probed(b.passive),
		  "no keepalive for a peer with another address, which counts as another host");
	close(fd);
}

/*
 * If no descriptor is free for a connection, it waits in the backlog, and the thread does not spin.
 */
PASSIVE(accept__without_descriptors_waits_in_the_backlog)
{
	struct cm_msg m;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(cm_port_of(QUAL)) };
	struct timespec before, after;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(th_fds_limit(0), 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	raw_say(fd, CM_REQ, ID, QUAL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	th_sleep_ms(200);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	cr_assert_eq(b.requests, 0);
	th_fds_restore();
	cr_assert_lt((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec,
		     100 * 1000000,
		     "the manager's thread used CPU time although no descriptor is free");
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_REP);
	close(fd);
}

/* the system forbids this process to accept a connection, as a security module may */
static atomic_bool forbidden;
static atomic_uint tries;

__attribute__((visibility("default"))) int accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	if (forbidden) {
		tries++;
		errno = EACCES;
		return -1;
	}
	return (int)syscall(SYS_accept4, fd, addr, len, flags);
}

PASSIVE(accept__that_is_forbidden_waits_without_spinning)
{
	struct cm_msg m;
	uint64_t begin;
	int fd;

	forbidden = true;
	fd = raw_connect(QUAL);
	raw_say(fd, CM_REQ, ID, QUAL);
	SOON(tries);
	begin = th_now_ms();
	th_sleep_ms(100);
	cr_assert_lt(tries, 64 + (th_now_ms() - begin) / 10, "the manager's thread spins");
	forbidden = false;
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_REP);
	close(fd);
}

/* Counts the lines of the log that say so. */
static unsigned int failures_logged(int log)
{
	char text[4096] = "";
	unsigned int lines = 0;

	cr_assert(pread(log, text, sizeof(text) - 1, 0) >= 0);
	for (const char *at = text; (at = strstr(at, "cannot accept a connection yet")); at++)
		lines++;
	return lines;
}

/* Each period without a descriptor or permission has one line, however often the thread tries. */
PASSIVE(accept__that_fails_again_and_again_is_logged_once)
{
	int log = memfd_create("log", MFD_CLOEXEC), err = dup(STDERR_FILENO);
	struct cm_msg m;

	setenv("DAPL_DBG_TYPE", "2", 1);
	cm_limits.pause_us = 1000;
	cr_assert(log >= 0 && err >= 0 && dup2(log, STDERR_FILENO) >= 0);
	for (unsigned int period = 1; period <= 2; period++) {
		int fd;

		tries = 0;
		forbidden = true;
		fd = raw_connect(QUAL);
		raw_say(fd, CM_REQ, ID, QUAL);
		SOON(tries >= 4);
		forbidden = false;
		cr_assert_eq(raw_hear(fd, &m), 1);
		cr_assert_eq(m.type, CM_REP);
		cr_expect_eq(failures_logged(log), period);
		close(fd);
	}
	dup2(err, STDERR_FILENO);
}

/* A connection whose struct cannot be allocated is closed, without further effects. */
PASSIVE(accept__without_memory_closes_that_connection)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(cm_port_of(QUAL)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err;
	const char *san = getenv("SAN");
	struct cm_msg m;
	bool cut;

	if (san && *san)	/* under a sanitizer, allocations fail in the calling thread only */
		cr_skip_test("not under a sanitizer");
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	th_fail_start(TH_FAIL_HEAP, 1);
	err = connect(fd, (struct sockaddr *)&to, sizeof(to));
	cut = raw_is_cut(fd);
	cr_assert_geq(th_fail_stop(), 1);
	cr_assert_eq(err, 0);
	cr_assert(cut);
	close(fd);
	fd = raw_connect(QUAL);
	raw_say(fd, CM_REQ, ID, QUAL);
	cr_assert_eq(raw_hear(fd, &m), 1);
	close(fd);
}
