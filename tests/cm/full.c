/* SPDX-License-Identifier: BSD-2-Clause */
/* A local stream that takes no more messages, because the peer reads nothing for a while. */
#include <sys/socket.h>

#include "tests/cm/node.h"

#define MANY 32

static struct node a, b;
static int listener, fd;		/* sockets of the test in place of the peer */

static void open_all(void)
{
	struct sockaddr_un name;
	socklen_t len = listener_name(&name);

	node_open_two(&a, &b);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(listener, (struct sockaddr *)&name, len), 0);
	cr_assert_eq(listen(listener, 16), 0);
}

static void close_all(void)
{
	close(fd);
	close(listener);
	node_close_two(&a, &b);
}

#define FULL(name) Test(full, name, .init = open_all, .fini = close_all, .timeout = 60)

static void hears(enum cm_type type, uint64_t id)
{
	struct cm_msg m;

	cr_assert_eq(raw_hear(fd, &m), 1, "no message came, instead of %s", cm_type_name(type));
	cr_assert_eq(m.type, type, "%s came, not %s", cm_type_name(m.type), cm_type_name(type));
	cr_assert_eq(m.id, id);
}

/* ---- Messages of connections that have ended ---- */

static void establish(struct dap_cm_conn **c)
{
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c[i]), 0);
	fd = raw_accept(listener);
	for (int i = 0; i < MANY; i++)
		hears(CM_REQ, c[i]->id);
	for (int i = 0; i < MANY; i++) {
		raw_say(fd, CM_REP, c[i]->id, 0);
		hears(CM_RTU, c[i]->id);
		raw_say(fd, CM_GO, c[i]->id, 0);
	}
	SOON(a.established == MANY);
}

static bool is_closed(void)
{
	return !__atomic_load_n(&cm_loop.n_muxes, __ATOMIC_RELAXED);
}

/* Otherwise the peer would take the disconnections that it has not read yet for breaks. */
FULL(idle__stream_with_unsent_messages_stays_until_they_are_read)
{
	struct dap_cm_conn *c[MANY];
	const int small = 1;
	uint64_t id[MANY], due;
	struct cm_mux *mux;

	cm_limits.idle_us = 1000;
	establish(c);
	mux = c[0]->mux;
	cr_assert_eq(setsockopt(mux->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	for (int i = 0; i < MANY; i++) {
		id[i] = c[i]->id;
		cr_assert_eq(dap_cm_disconnect(c[i], false), 0);
		dap_cm_release(c[i]);
	}
	cr_assert(__atomic_load_n(&mux->wants_out, __ATOMIC_RELAXED), "the stream took all messages");
	due = __atomic_load_n(&mux->idle.due, __ATOMIC_RELAXED);
	SOON(is_closed() || __atomic_load_n(&mux->idle.due, __ATOMIC_RELAXED) > due);
	for (int i = 0; i < MANY; i++)
		hears(CM_DISC, id[i]);
	SOON(is_closed());
}

/* ---- Answers to a request that was not sent ---- */

static void refuse(uint64_t id)
{
	const struct cm_msg m = { .type = CM_REJ, .id = id, .reason = CM_REASON_NO_LISTENER };
	struct cm_wire w;

	cm_wire_put(&m, &w);
	raw_send(fd, &w, sizeof(w));
}

/*
 * Makes an attempt whose id the peer knows: the peer has refused it once. The request is repeated on another
 * stream, which is full.
 */
static struct dap_cm_conn *repeat_on_full_stream(void)
{
	struct dap_cm_conn *c, *other;

	clock_stop();
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	fd = raw_accept(listener);
	hears(CM_REQ, c->id);
	refuse(c->id);
	SOON(node_retries(&a) == 1);
	close(fd);
	do
		cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &other), 0);
	while (!__atomic_load_n(&other->mux->wants_out, __ATOMIC_RELAXED));
	fd = raw_accept(listener);
	SOON((clock_pass(10000), __atomic_load_n(&c->out_mux, __ATOMIC_RELAXED)));
	clock_go_on();
	return c;
}

/* The attempt has ended. The stream goes on, and takes the requests that follow. */
static void only_ends(uint64_t id)
{
	struct dap_cm_conn *last;
	struct cm_msg m;

	ENDED(&a, DAP_CM_NON_PEER_REJECTED);
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &last), 0);
	do {
		cr_assert_eq(raw_hear(fd, &m), 1);
		cr_assert_neq(m.id, id, "%s of the ended attempt came", cm_type_name(m.type));
	} while (m.id != last->id);
	SOON(!__atomic_load_n(&last->mux->n_out, __ATOMIC_RELAXED));
}

/* The attempt must not go on by TCP while its request is still queued for the stream. */
FULL(refusal__of_an_unsent_request_ends_the_attempt)
{
	uint64_t id = repeat_on_full_stream()->id;

	refuse(id);
	only_ends(id);
}

FULL(move__of_an_unsent_request_ends_the_attempt)
{
	uint64_t id = repeat_on_full_stream()->id;
	struct cm_wire w;
	int sv[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	raw_message(&w, CM_MOVE, id, 0);
	cm_send_fd(fd, &(struct iovec){ &w, sizeof(w) }, 1, sv[1]);
	close(sv[1]);
	only_ends(id);
	close(sv[0]);
}

/* ---- An attempt that the caller breaks ---- */

static void break_attempt(void *c)
{
	dap_cm_break(c, "a receive failed");
}

/* The manager's thread sends messages at the end of its turn: until then they are queued. */
FULL(break__of_a_sent_request_is_heard)
{
	struct dap_timer timer = { .fn = break_attempt };
	struct dap_cm_conn *c;
	uint64_t id;

	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	id = c->id;
	fd = raw_accept(listener);
	hears(CM_REQ, id);
	timer.arg = c;
	dap_cm_timer(a.cm, &timer, 0);
	hears(CM_CUT, id);
	dap_cm_timer_close(a.cm, &timer);
}
