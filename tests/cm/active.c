/* SPDX-License-Identifier: BSD-2-Clause */
/* The connecting side, against peers that are absent, silent or wrong. */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tests/cm/node.h"

static struct node a;
static int listener = -1;

static void open_one(void)
{
	node_open(&a, "127.0.0.1");
}

static void close_one(void)
{
	node_close(&a);
	if (listener >= 0)
		close(listener);
}

#define ACTIVE(name) Test(cm, name, .init = open_one, .fini = close_one)

/* Connects to a bare socket; returns it and the id of the REQ that arrived. */
static int reach(uint32_t timeout_us, uint64_t *id)
{
	struct dap_cm_conn *c;
	struct cm_msg m;
	int fd;

	if (listener < 0)
		listener = raw_listen(QUAL);
	cr_assert_eq(node_connect(&a, QUAL, timeout_us, &c), 0);
	fd = raw_accept(listener);
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_REQ);
	cr_assert_eq(m.conn_qual, QUAL);
	*id = m.id;
	return fd;
}

ACTIVE(connect__without_a_listener_ends_at_the_timeout)
{
	struct dap_cm_conn *c;
	uint64_t start = th_now_ms();

	cr_assert_eq(node_connect(&a, QUAL, 300000, &c), 0);
	ENDED(&a, DAP_CM_NON_PEER_REJECTED);
	cr_assert_geq(th_now_ms() - start, 299);
}

ACTIVE(connect__waits_for_a_listener_within_the_timeout)
{
	struct dap_cm_conn *c;
	struct node b;

	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	th_sleep_ms(50);
	node_open(&b, "127.0.0.1");
	node_listen(&b, QUAL);
	SOON(a.established == 1);
	cr_assert_eq(a.ended, 0);
	node_close(&b);
}

ACTIVE(connect__peer_never_answers_times_out)
{
	uint64_t id;
	int fd;

	clock_stop();
	fd = reach(200000, &id);
	clock_go_on();
	ENDED(&a, DAP_CM_TIMED_OUT);
	cr_assert(raw_is_cut(fd));
	close(fd);
}

ACTIVE(connect__missing_go_times_out)
{
	struct cm_msg m;
	uint64_t id;
	int fd;

	clock_stop();
	fd = reach(200000, &id);
	raw_say(fd, CM_REP, id, 0);
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_RTU);
	clock_go_on();
	ENDED(&a, DAP_CM_TIMED_OUT);
	cr_assert_eq(a.established, 0);
	close(fd);
}

/* An infinite timeout means waiting for the peer's consumer. It does not apply to a peer that stops
 * in the middle of the exchange. */
ACTIVE(connect__missing_go_with_infinite_timeout_times_out_too)
{
	uint64_t id;
	int fd;

	cm_limits.answer_us = 100000;
	fd = reach(FOR_EVER, &id);
	raw_say(fd, CM_REP, id, 0);
	ENDED(&a, DAP_CM_TIMED_OUT);
	close(fd);
}

ACTIVE(connect__to_an_unreachable_address_ends_as_unreachable)
{
	union dap_addr to = dap_addr_v4(INADDR_BROADCAST);
	struct dap_path path = path_of(1);
	struct dap_cm_conn *c;

	cr_assert_eq(dap_cm_connect(a.cm, &to, QUAL, FOR_EVER, &path, NULL, 0, &a, &c), 0);
	ENDED(&a, DAP_CM_UNREACHABLE);
}

/* The full backlog drops SYNs, as does a host that is still starting. The kernel gives up before the
 * caller's timeout, which is shortened here from ten seconds. */
ACTIVE(connect__silent_host_is_tried_again)
{
	const int user_ms = 1;
	struct dap_cm_conn *c;
	int first;

	listener = raw_listen(QUAL);
	cr_assert_eq(listen(listener, 0), 0);
	first = raw_connect(QUAL);
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	cr_assert_eq(setsockopt(c->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_ms, sizeof(user_ms)), 0);
	SOON(node_retries(&a) || a.ended);
	cr_assert_eq(a.ended, 0);
	close(first);
	cr_assert_eq(dap_cm_disconnect(c, true), 0);
	ENDED(&a, DAP_CM_DISCONNECTED);
}

ACTIVE(connect__hangup_before_an_answer_ends_as_non_peer_rejected)
{
	uint64_t id;

	close(reach(FOR_EVER, &id));
	ENDED(&a, DAP_CM_NON_PEER_REJECTED);
}

/* the errno of the manager's next read */
static atomic_int read_errno;

__attribute__((visibility("default"))) ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	int err = flags == MSG_DONTWAIT ? atomic_exchange(&read_errno, 0) : 0;

	if (!err)
		return syscall(SYS_recvfrom, fd, buf, len, flags, NULL, NULL);
	errno = err;
	return -1;
}

/* TCP's probes find the host gone, which has the request but has not answered it. */
static int lose_host(int err, uint64_t *id)
{
	int fd = reach(FOR_EVER, id);

	read_errno = err;
	raw_send(fd, "D", 1);
	return fd;
}

ACTIVE(connect__host_that_falls_silent_before_its_answer_is_tried_again)
{
	uint64_t id;
	int lost = lose_host(ETIMEDOUT, &id), fd;
	struct cm_msg m;

	fd = raw_accept(listener);
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert(m.type == CM_REQ && m.id == id);
	cr_assert_eq(a.ended, 0);
	close(fd);
	close(lost);
}

ACTIVE(connect__host_that_loses_its_route_before_its_answer_is_unreachable)
{
	uint64_t id;
	int fd = lose_host(EHOSTUNREACH, &id);

	ENDED(&a, DAP_CM_UNREACHABLE);
	close(fd);
}

/* The kernel resets connections that a listener has not accepted when it is closed. */
ACTIVE(connect__reset_before_the_request_was_read_is_tried_again)
{
	struct dap_cm_conn *c;
	struct node b;

	listener = raw_listen(QUAL);
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	raw_reset(raw_accept(listener));
	close(listener);
	listener = -1;
	node_open(&b, "127.0.0.1");
	node_listen(&b, QUAL);
	SOON(a.established == 1);
	node_close(&b);
}

/* the peer resets the connection when the next REQ is to be sent */
static atomic_bool reset_first, was_reset;
/* the kernel has no memory for the next message */
static atomic_bool no_memory;

__attribute__((visibility("default"))) ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	struct pollfd p = { .fd = fd };

	if (len == CM_WIRE_SIZE && atomic_exchange(&reset_first, false)) {
		raw_reset(raw_accept(listener));
		poll(&p, 1, SOON_MS);
		was_reset = true;
	}
	if (flags == (MSG_NOSIGNAL | MSG_DONTWAIT) && atomic_exchange(&no_memory, false)) {
		errno = ENOBUFS;
		return -1;
	}
	return syscall(SYS_sendto, fd, buf, len, flags, NULL, 0);
}

/* The socket of a request that was handed off is local, so the kernel allocates each message. */
ACTIVE(connect__message_that_the_kernel_has_no_memory_for_is_sent_later)
{
	struct cm_msg m;
	uint64_t id;
	int fd = reach(FOR_EVER, &id);

	no_memory = true;
	raw_say(fd, CM_REP, id, 0);
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_RTU);
	cr_assert_not(no_memory);
	close(fd);
}

/* A flooded listener that drops a request to make room also resets the connection. */
ACTIVE(connect__reset_before_the_request_is_sent_is_tried_again)
{
	struct dap_cm_conn *c;
	struct cm_msg m;
	int fd;

	listener = raw_listen(QUAL);
	reset_first = true;
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	SOON(was_reset);
	fd = raw_accept(listener);
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_REQ);
	cr_assert_eq(a.ended, 0);
	close(fd);
}

static void answer_wrongly(const struct cm_wire *w, size_t len)
{
	uint64_t id;
	unsigned int before = a.ended;
	int fd = reach(FOR_EVER, &id);

	raw_send(fd, w, len);
	if (len < sizeof(*w))
		shutdown(fd, SHUT_WR);
	SOON(a.ended == before + 1);
	cr_assert_eq(a.why[DAP_CM_NON_PEER_REJECTED], before + 1);
	close(fd);
}

/* The first attempt is refused. The second one is not answered within its timeout. */
static void time_ends_after_a_refusal(uint64_t young_us, enum dap_cm_end why)
{
	struct dap_cm_conn *c;
	struct cm_msg m;
	int fd;

	cm_limits.young_us = young_us;
	listener = raw_listen(QUAL);
	reset_first = true;
	clock_stop();
	cr_assert_eq(node_connect(&a, QUAL, 700000, &c), 0);
	SOON(node_retries(&a) == 1);
	clock_pass(10000);
	fd = raw_accept(listener);
	cr_assert_eq(raw_hear(fd, &m), 1);
	clock_go_on();
	SOON(a.ended == 1);
	cr_assert_eq(a.why[why], 1);
	close(fd);
}

ACTIVE(connect__timeout_soon_after_a_refusal_ends_as_non_peer_rejected)
{
	time_ends_after_a_refusal(FOR_EVER, DAP_CM_NON_PEER_REJECTED);
}

ACTIVE(connect__timeout_long_after_a_refusal_ends_as_timed_out)
{
	time_ends_after_a_refusal(1, DAP_CM_TIMED_OUT);
}

ACTIVE(answer__garbage_ends_the_attempt)
{
	struct cm_wire w;

	memset(&w, 'x', sizeof(w));
	answer_wrongly(&w, sizeof(w));
	answer_wrongly(&w, 1);
}

ACTIVE(answer__of_another_version_ends_the_attempt)
{
	struct cm_wire w;

	raw_message(&w, CM_REP, 0, 0);
	w.version = cpu_to_be16(2);
	answer_wrongly(&w, sizeof(w));
}

ACTIVE(answer__with_another_id_ends_the_attempt)
{
	struct cm_wire w;

	raw_message(&w, CM_REP, 12345, 0);
	answer_wrongly(&w, sizeof(w));
	raw_message(&w, CM_REJ, 12345, 0);
	answer_wrongly(&w, sizeof(w));
	cr_assert_eq(a.replies, 0);
}

ACTIVE(answer__of_unexpected_type_ends_the_attempt)
{
	static const enum cm_type types[] = { CM_REQ, CM_RTU, CM_GO, CM_DISC };

	for (unsigned int i = 0; i < 4; i++) {
		uint64_t id;
		int fd = reach(FOR_EVER, &id);

		raw_say(fd, types[i], id, 0);
		SOON(a.why[DAP_CM_NON_PEER_REJECTED] == i + 1);
		close(fd);
	}
}

ACTIVE(answer__cut_off_at_any_byte_ends_the_attempt)
{
	for (uint32_t len = 0; len < CM_WIRE_SIZE; len += len < 90 ? 1 : 49) {
		struct cm_wire w;
		uint64_t id;
		int fd = reach(FOR_EVER, &id);

		raw_message(&w, CM_REP, id, 0);
		raw_send(fd, &w, len);
		close(fd);
		SOON(a.ended);
		cr_assert_eq(a.why[DAP_CM_NON_PEER_REJECTED], 1,
			     "the connection was not rejected after %u bytes of a REP", len);
		a.ended = 0;
		a.why[DAP_CM_NON_PEER_REJECTED] = 0;
	}
	cr_assert_eq(a.replies, 0);
}

ACTIVE(answer__byte_by_byte_establishes_the_connection)
{
	struct cm_wire w[2];
	uint64_t id;
	int fd = reach(FOR_EVER, &id);

	raw_message(&w[0], CM_REP, id, 0);
	raw_message(&w[1], CM_GO, id, 0);
	for (size_t i = 0; i < sizeof(w); i++) {
		raw_send(fd, (uint8_t *)w + i, 1);
		if (i == sizeof(w[0]))
			SOON(a.replies == 1);
		if (i % 16 == 0)
			th_yield();
	}
	SOON(a.established == 1);
	raw_say(fd, CM_DISC, id, 0);
	ENDED(&a, DAP_CM_DISCONNECTED);
	close(fd);
}

/*
 * All messages arrive in one segment, including the one that closes. They are still handled one
 * after the other.
 */
ACTIVE(answer__all_messages_in_one_segment_are_handled_in_order)
{
	struct cm_wire w[3];
	uint64_t id;
	int fd = reach(FOR_EVER, &id);

	raw_message(&w[0], CM_REP, id, 0);
	raw_message(&w[1], CM_GO, id, 0);
	raw_message(&w[2], CM_DISC, id, 0);
	raw_send(fd, w, sizeof(w));
	ENDED(&a, DAP_CM_DISCONNECTED);
	cr_assert_eq(a.replies, 1);
	cr_assert_eq(a.established, 1);
	close(fd);
}

ACTIVE(live__anything_but_a_disconnect_breaks_it)
{
	for (enum cm_type t = CM_REQ; t < CM_DISC; t++) {
		uint64_t id;
		int fd = reach(FOR_EVER, &id);

		raw_say(fd, CM_REP, id, 0);
		raw_say(fd, CM_GO, id, 0);
		SOON(a.established == t);
		raw_say(fd, t, id, 0);
		SOON(a.why[DAP_CM_BROKEN] == t);
		close(fd);
	}
}

ACTIVE(disconnect__unanswered_by_the_peer_closes_after_the_linger_time)
{
	struct dap_cm_conn *c;
	struct cm_msg m;
	int fd;

	cm_limits.linger_us = 50000;
	listener = raw_listen(QUAL);
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	fd = raw_accept(listener);
	cr_assert_eq(raw_hear(fd, &m), 1);
	raw_say(fd, CM_REP, m.id, 0);
	raw_say(fd, CM_GO, m.id, 0);
	SOON(a.established == 1);
	cr_assert_eq(dap_cm_disconnect(c, false), 0);
	ENDED(&a, DAP_CM_DISCONNECTED);
	cr_assert_eq(raw_hear(fd, &m), 1);	/* the message is the RTU */
	cr_assert_eq(raw_hear(fd, &m), 1);
	cr_assert_eq(m.type, CM_DISC);
	cr_assert(raw_is_cut(fd));
	close(fd);
}

static void *connect_while_cancelled(void *conn)
{
	pthread_cancel(pthread_self());
	node_connect(&a, QUAL, FOR_EVER, conn);
	pthread_testcancel();
	return NULL;
}

/* The call ends before the thread does, so that no lock stays taken. */
Test(cm, connect__by_a_cancelled_thread_is_completed, .init = open_one, .fini = close_one, .timeout = 120)
{
	struct dap_cm_conn *c = NULL;
	pthread_t thread;
	struct cm_msg m;
	void *result;
	int fd;

	listener = raw_listen(QUAL);
	cr_assert_eq(pthread_create(&thread, NULL, connect_while_cancelled, &c), 0);
	cr_assert_eq(pthread_join(thread, &result), 0);
	cr_assert_eq(result, PTHREAD_CANCELED);
	cr_assert_not_null(c, "the thread ended within the call");
	fd = raw_accept(listener);
	cr_assert_eq(raw_hear(fd, &m), 1);
	close(fd);
}

ACTIVE(connect__without_descriptors_returns_emfile)
{
	struct dap_cm_conn *c = NULL;
	int err;

	cr_assert_eq(th_fds_limit(0), 0);
	err = node_connect(&a, QUAL, FOR_EVER, &c);
	th_fds_restore();
	cr_assert_eq(err, -EMFILE);
	cr_assert_null(c);
	dap_cm_sync(a.cm);
	cr_assert_eq(a.ended, 0);
}

ACTIVE(connect__without_memory_returns_enomem)
{
	struct dap_cm_conn *c = NULL;
	int err;

	th_fail_start(TH_FAIL_HEAP, 1);
	err = node_connect(&a, QUAL, FOR_EVER, &c);
	th_fail_stop();
	cr_assert_eq(err, -ENOMEM);
	cr_assert_null(c);
}
