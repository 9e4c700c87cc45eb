/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers in other processes that are killed; forks; and leak checks. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/cm/node.h"

#define A_SECOND 1000

/* Acts until the given phase, reports it, and waits to be killed. */
static int victim_passive(int sock, void *arg)
{
	enum cm_state phase = *(enum cm_state *)arg;
	struct node n;

	node_open(&n, "127.0.0.1");
	n.answer = phase == CM_WAIT_ACCEPT ? NODE_HOLD : NODE_ACCEPT;
	n.no_go = phase == CM_READY;
	node_listen(&n, QUAL);
	th_meet(sock);
	if (phase == CM_WAIT_ACCEPT)
		SOON(n.requests == 1);
	else if (phase == CM_WAIT_RTU)
		SOON(n.passive);
	else
		SOON(n.readies == 1);
	th_meet(sock);
	th_sleep_ms(60000);
	return 0;
}

static void kill_passive_in(enum cm_state phase, enum dap_cm_end why)
{
	struct th_child child;
	struct dap_cm_conn *c;
	struct node a;

	th_qual();
	cr_assert_eq(th_spawn(&child, victim_passive, &phase), 0);
	node_open(&a, "127.0.0.1");
	a.no_rtu = phase == CM_WAIT_RTU;
	th_meet(child.sock);
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	th_meet(child.sock);
	if (phase == CM_LIVE)
		SOON(a.established == 1);
	else if (phase != CM_WAIT_ACCEPT)
		SOON(a.replies == 1);
	th_watch();
	th_kill(&child);
	ENDED(&a, why);
	cr_assert_lt(th_watched_ms(), A_SECOND);
	node_close(&a);
}

/* Defines each test twice: with the local stream and with TCP. */
#define BOTH_WAYS(name)                                                                            \
	static void name(void);                                                                    \
	Test(near, name) { name(); }                                                               \
	Test(cm, name) { cm_limits.tcp = true; name(); }                                           \
	static void name(void)

BOTH_WAYS(kill__peer_that_has_the_request_ends_the_attempt)
{
	kill_passive_in(CM_WAIT_ACCEPT, DAP_CM_NON_PEER_REJECTED);
}

BOTH_WAYS(kill__peer_that_has_accepted_breaks_the_connection)
{
	kill_passive_in(CM_WAIT_RTU, DAP_CM_BROKEN);
}

BOTH_WAYS(kill__peer_that_owes_the_go_breaks_the_connection)
{
	kill_passive_in(CM_READY, DAP_CM_BROKEN);
}

BOTH_WAYS(kill__peer_that_was_connected_to_breaks_the_connection)
{
	kill_passive_in(CM_LIVE, DAP_CM_BROKEN);
}

static int victim_active(int sock, void *arg)
{
	enum cm_state phase = *(enum cm_state *)arg;
	struct dap_cm_conn *c;
	struct node n;

	node_open(&n, "127.0.0.1");
	n.no_rtu = phase == CM_REPLIED;
	th_meet(sock);
	if (node_connect(&n, QUAL, FOR_EVER, &c))
		return 1;
	if (phase == CM_REPLIED)
		SOON(n.replies == 1);
	else if (phase == CM_LIVE)
		SOON(n.established == 1);
	th_meet(sock);
	th_sleep_ms(60000);
	return 0;
}

static void kill_active_in(enum cm_state phase)
{
	struct th_child child;
	struct node b;

	th_qual();
	cr_assert_eq(th_spawn(&child, victim_active, &phase), 0);
	node_open(&b, "127.0.0.1");
	node_listen(&b, QUAL);
	b.answer = phase == CM_WAIT_REP ? NODE_HOLD : NODE_ACCEPT;
	th_meet(child.sock);
	SOON(b.requests == 1);
	th_meet(child.sock);
	th_watch();
	th_kill(&child);
	if (phase == CM_WAIT_REP) {
		SOON(((volatile struct dap_cm_conn *)b.request)->state == CM_GONE);
		cr_assert_eq(node_accept(&b), -ECONNRESET);
	} else {
		ENDED(&b, DAP_CM_BROKEN);
	}
	cr_assert_lt(th_watched_ms(), A_SECOND);
	node_close(&b);
}

BOTH_WAYS(kill__peer_whose_request_is_pending_fails_the_accept)
{
	kill_active_in(CM_WAIT_REP);
}

BOTH_WAYS(kill__peer_that_owes_the_rtu_breaks_the_connection)
{
	kill_active_in(CM_REPLIED);
}

BOTH_WAYS(kill__peer_that_connected_breaks_the_connection)
{
	kill_active_in(CM_LIVE);
}

/* ---- Fork ---- */

/* A peer that will be killed, and has a child of its own. The child must not keep the connection
 * open. */
static int victim_with_child(int sock, void *arg)
{
	struct dap_cm_conn *c;
	struct node n;
	pid_t pid;

	(void)arg;
	node_open(&n, "127.0.0.1");
	if (node_connect(&n, QUAL, FOR_EVER, &c))
		return 1;
	SOON(n.established == 1);
	pid = th_fork();
	if (!pid) {
		dap_cm_disconnect(c, true);	/* has no effect, because this is a child */
		dap_cm_release(c);
		dap_cm_close(n.cm);
		th_sleep_ms(20000);
		_exit(0);
	}
	th_send(sock, &pid, sizeof(pid));
	th_sleep_ms(60000);
	return 0;
}

Test(cm, fork__childs_copy_is_silent_and_does_not_hide_the_parents_death)
{
	struct th_child child;
	struct node b;
	pid_t grandchild;

	node_open(&b, "127.0.0.1");
	node_listen(&b, QUAL);
	cr_assert_eq(th_spawn(&child, victim_with_child, NULL), 0);
	cr_assert_eq(th_recv(child.sock, &grandchild, sizeof(grandchild)), 0);
	th_sleep_ms(20);
	cr_assert_eq(b.ended, 0);
	th_kill(&child);
	ENDED(&b, DAP_CM_BROKEN);
	cr_assert_eq(kill(grandchild, 0), 0,
		     "the peer's child was not alive at the end, as this test needs");
	kill(grandchild, SIGKILL);
	node_close(&b);
}

static int open_another(int sock, void *arg)
{
	uint64_t qual = QUAL + 1;
	struct dap_cm_conn *c;
	struct node a, b;

	(void)sock;
	(void)arg;
	node_open_two(&a, &b);
	node_listen(&b, qual);
	node_pair(&a, &b, qual, &c);
	node_close_two(&a, &b);
	return 0;
}

Test(cm, fork__child_that_opens_its_own_manager_leaves_the_parents_alone)
{
	struct th_child child;
	struct dap_cm_conn *c;
	struct node a, b;

	node_open_two(&a, &b);
	node_listen(&b, QUAL);
	node_pair(&a, &b, QUAL, &c);
	cr_assert_eq(th_spawn(&child, open_another, NULL), 0);
	cr_assert_eq(th_join(&child, SOON_MS), 0);
	cr_assert_eq(a.ended + b.ended, 0);
	node_pair(&a, &b, QUAL, &c);
	node_close_two(&a, &b);
}

static struct th_child sleeper;

static int sleep_on(int sock, void *arg)
{
	(void)arg;
	th_meet(sock);
	th_sleep_ms(60000);
	return 0;
}

static void fork_sleeper(struct node *n)
{
	n->on_request = NULL;
	cr_expect_eq(th_spawn(&sleeper, sleep_on, NULL), 0);
}

/* The manager accepts a connection, and first reads the request of the one that it would replace. The
 * callback for this request forks: the child must not keep the new connection open. */
Test(cm, fork__within_a_callback_leaves_no_new_connection_to_the_child)
{
	int fds[3];
	struct node b;

	cm_limits.half_open_source = 1;
	node_open(&b, "127.0.0.1");
	b.on_request = fork_sleeper;
	node_listen(&b, QUAL);
	fds[0] = raw_connect(QUAL);
	SOON(cm_loop.half_opens == 1);
	cr_assert(cm_enter(cm_loop.generation));
	fds[1] = raw_connect(QUAL);		/* the listener's socket becomes ready first */
	raw_say(fds[0], CM_REQ, 1, QUAL);
	cm_leave();
	SOON(b.requests == 1);
	th_meet(sleeper.sock);
	fds[2] = raw_connect(QUAL);		/* replaces the second connection */
	cr_assert(raw_is_cut(fds[1]));
	th_kill(&sleeper);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	node_close(&b);
}

/* The lock of a device, whose fork handler runs before the manager's. */
static pthread_mutex_t device = PTHREAD_MUTEX_INITIALIZER;
static struct th_aside closer, forker;
static atomic_bool forking;
static pid_t child;

static void lock_device(void)
{
	pthread_mutex_lock(&device);
}

static void unlock_device(void)
{
	pthread_mutex_unlock(&device);
}

static void use_device(struct node *n)
{
	(void)n;
	(void)TH_WITHIN(SOON_MS, forking);
	lock_device();
	unlock_device();
}

static void close_node(void *n)
{
	node_close(n);
}

static void fork_child(void *arg)
{
	(void)arg;
	child = th_fork();
	if (!child)
		_exit(0);
}

static bool is_done(const struct th_aside *a)
{
	return __atomic_load_n(&a->done, __ATOMIC_ACQUIRE);
}

/* The close waits for the callback of the other node, which waits for the device, which the fork holds. */
Test(cm, fork__beside_a_close_that_waits_for_a_callback_returns)
{
	struct node a, b;
	int fd;

	node_open_two(&a, &b);
	cr_assert_eq(pthread_atfork(lock_device, unlock_device, unlock_device), 0);
	b.on_request = use_device;
	node_listen(&b, QUAL);
	fd = raw_connect(QUAL);
	raw_say(fd, CM_REQ, 1, QUAL);
	SOON(__atomic_load_n(&cm_loop.calling, __ATOMIC_RELAXED));
	cr_assert_not(th_aside(&closer, close_node, &a, SOON_MS));
	th_aside(&forker, fork_child, NULL, SOON_MS);
	forking = true;
	SOON(is_done(&closer) && is_done(&forker));
	th_aside_end(&closer);
	th_aside_end(&forker);
	cr_assert_eq(waitpid(child, NULL, 0), child);
	SOON(b.requests == 1);
	close(fd);
	node_close(&b);
}

/* ---- Leaks ---- */

static void connect_and_part(struct node *a, struct node *b, unsigned int i)
{
	struct dap_cm_conn *c;

	node_pair(a, b, QUAL, &c);
	if (i % 2)
		dap_cm_disconnect(c, i % 3 == 0);
	else
		node_disconnect(b, i % 3 == 0);
	SOON(a->ended == i + 1 && b->ended == i + 1);
}

/* The address sanitizer keeps freed memory for a while. */
#define RSS_SLACK_KB (TH_ASAN ? 1 << 20 : 512)

/* DAPL_CONNECTIONS sets the number of connections. */
Test(cm, successive__connections_leave_nothing_behind, .timeout = 600)
{
	const char *env = getenv("DAPL_CONNECTIONS");
	unsigned int rounds = env ? (unsigned int)atoi(env) : 10000;
	struct th_usage before, first, last;
	struct node a, b;

	th_usage(&before);
	node_open_two(&a, &b);
	node_listen(&b, QUAL);
	for (unsigned int i = 0; i < rounds; i++) {
		connect_and_part(&a, &b, i);
		if (i == rounds / 4)
			th_usage(&first);
	}
	SOON(cm_loop.half_opens == 0);
	th_usage(&last);
	cr_assert_leq(last.fds, first.fds + 4);
	cr_assert_leq(last.rss_kb, first.rss_kb + RSS_SLACK_KB);
	cr_assert_eq(a.why[DAP_CM_DISCONNECTED], rounds);
	cr_assert_eq(b.why[DAP_CM_DISCONNECTED], rounds);
	node_close_two(&a, &b);
	th_usage(&last);
	cr_assert_eq(last.fds, before.fds);
	cr_assert_eq(last.threads, before.threads);
}

Test(cm, open__many_times_starts_one_thread)
{
	struct th_usage before, now;
	struct node n[8];

	th_usage(&before);
	for (int i = 0; i < 8; i++)
		node_open(&n[i], "127.0.0.1");
	th_usage(&now);
	cr_assert_eq(now.threads, before.threads + 1);
	for (int i = 0; i < 8; i++)
		node_close(&n[i]);
	th_usage(&now);
	cr_assert_eq(now.threads, before.threads);
	cr_assert_eq(now.fds, before.fds);
}

/* The limit of descriptors must stay as it is: select(2) of the program has no room for descriptors
 * beyond FD_SETSIZE. */
Test(cm, open__leaves_the_limit_of_descriptors)
{
	struct rlimit before, after;
	struct node n;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	before.rlim_cur = before.rlim_max / 2;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	node_open(&n, "127.0.0.1");
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &after), 0);
	cr_assert_eq(after.rlim_cur, before.rlim_cur);
	node_close(&n);
}

Test(cm, open__without_descriptors_or_memory_fails_and_leaks_nothing)
{
	union dap_addr local = dap_addr_v4(INADDR_ANY);
	struct th_usage before, now;
	struct dap_cm *cm = NULL;

	th_usage(&before);
	for (unsigned int room = 0; room < 2; room++) {
		cr_assert_eq(th_fds_limit(room), 0);
		cr_assert_eq(dap_cm_open(NULL, &local, false, &cm), -EMFILE);
		th_fds_restore();
	}
	th_fail_start(TH_FAIL_HEAP, 1);
	cr_assert_eq(dap_cm_open(NULL, &local, false, &cm), -ENOMEM);
	th_fail_stop();
	cr_assert_null(cm);
	th_usage(&now);
	cr_assert_eq(now.fds, before.fds);
	cr_assert_eq(now.threads, before.threads);
}

/* The manager is closed with connections in every phase. */
Test(cm, close__with_connections_in_any_phase_leaks_nothing)
{
	struct th_usage before, after;

	th_usage(&before);
	for (int round = 0; round < 30; round++) {
		struct dap_cm_conn *c[20];
		struct node a, b;

		node_open_two(&a, &b);
		node_listen(&b, QUAL);
		for (unsigned int i = 0; i < 20; i++)
			cr_assert_eq(node_connect(&a, QUAL + i % 2, FOR_EVER, &c[i]), 0);
		for (int i = 0; i < round; i++)
			th_yield();
		node_close(round % 2 ? &a : &b);
		node_close(round % 2 ? &b : &a);
	}
	th_usage(&after);
	cr_assert_eq(after.fds, before.fds);
	cr_assert_eq(after.threads, before.threads);
}
