/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that stop for a while, exit without disconnecting, fork, or exit at the same time as this one. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/death.h"

TestSuite(death_other, .timeout = 120);

/* ---- Stopped processes ---- */

#define STOPPED 3

static struct end ends[STOPPED];
static struct th_child peers[STOPPED];
static struct opposite sides[STOPPED];
static const struct peer_plan plans[STOPPED] = { { IDLES, true }, { RECEIVES, true }, { SENDS, true } };

static void signal_all(int signal)
{
	for (int i = 0; i < STOPPED; i++)
		kill(peers[i].pid, signal);
}

static void work_for(uint64_t ms)
{
	uint64_t until = th_now_ms() + ms;

	while (th_now_ms() < until) {
		for (int i = 0; i < STOPPED; i++)
			opposite_work(&sides[i]);
		th_yield();
	}
}

/* A stopped process does not count as dead: everything continues later, whatever it was doing. */
RIG_TEST(death_other, stopped__peers_keep_their_connections)
{
	struct card card;

	for (int i = 0; i < STOPPED; i++)
		peer_start(&peers[i], &plans[i]);
	for (int i = 0; i < STOPPED; i++) {
		end_open(&ends[i], RIG_MEM, NULL);
		peer_meet(&peers[i], &plans[i], &ends[i], &card);
		opposite_init(&sides[i], &ends[i], &card, plans[i].does);
	}
	work_for(50);
	signal_all(SIGSTOP);
	work_for(2000);
	for (int i = 0; i < STOPPED; i++) {
		same(end_state(ends[i].ep), DAT_EP_STATE_CONNECTED);
		rig_empty(ends[i].conn_evd);
		ledger_take(&sides[i].requests);
		ledger_take(&sides[i].receives);
		sides[i].moved = 0;
	}
	signal_all(SIGCONT);
	for (int i = 0; i < STOPPED; i++) {
		check(TH_WITHIN(SOON_MS, (opposite_work(&sides[i]), sides[i].moved > 5)));
		check(!sides[i].requests.failed && !sides[i].receives.failed);
	}
	for (int i = 0; i < STOPPED; i++) {
		th_kill(&peers[i]);
		end_close(&ends[i]);
	}
}

/* ---- Exiting processes ---- */

enum leaving { EXIT, EXIT_AT_ONCE, EXEC, ABORT };

static int leaves(int sock, void *arg)
{
	enum leaving how = *(enum leaving *)arg;
	struct card other;
	struct end e;
	char c;

	end_open(&e, RIG_MEM, NULL);
	peer_join(sock, &e, &other, false);
	must(do_recv(&e, 1, 0, 64));
	same(th_recv(sock, &c, 1), 0);
	signal(SIGABRT, SIG_DFL);
	switch (how) {
	case EXIT:
		return 0;		/* flushes stdio, and skips the runner's atexit handlers */
	case EXIT_AT_ONCE:
		_exit(0);
	case EXEC:
		execl("/bin/sleep", "sleep", "60", NULL);
		_exit(3);
	default:
		abort();
	}
}

/* The process has exited or executed another program: the connection has ended. */
static void left(enum leaving how)
{
	DAT_EVENT ev;
	DAT_COUNT more;
	struct card card;

	peer_spawn(&peer, leaves, &how);
	end_open(&s, RIG_MEM, NULL);
	peer_join(peer.sock, &s, &card, true);
	for (uint64_t i = 0; i < 8; i++)
		must(do_recv(&s, i, 0, 64));
	th_watch();
	same(th_send(peer.sock, "x", 1), 0);
	must(dat_evd_wait(s.conn_evd, SOON_MS * 1000u, 1, &ev, &more));
	same(ev.event_number, DAT_CONNECTION_EVENT_BROKEN);
	check(th_watched_ms() < A_SECOND);
	took_range(s.recv_evd, 0, 7, FLUSHED);
	rig_empty(s.recv_evd);
	rig_empty(s.conn_evd);
}

RIG_TEST(death_other, leaves__by_exit_breaks_the_connection)
{
	left(EXIT);
}

RIG_TEST(death_other, leaves__by_exit_at_once_breaks_the_connection)
{
	left(EXIT_AT_ONCE);
}

RIG_TEST(death_other, leaves__by_exec_breaks_the_connection)
{
	left(EXEC);
}

RIG_TEST(death_other, leaves__by_abort_breaks_the_connection)
{
	left(ABORT);
}

/* Library threads and live objects remain. exit() must still finish. */
static int exits(int sock, void *arg)
{
	struct card other;
	struct end e;
	char c;

	(void)arg;
	end_open(&e, RIG_MEM, NULL);
	peer_join(sock, &e, &other, false);
	same(th_recv(sock, &c, 1), 0);
	exit(0);
}

RIG_TEST(death_other, leaves__with_exit_handlers_breaks_the_connection)
{
	struct card card;
	int status;

	peer_spawn(&peer, exits, NULL);
	end_open(&s, RIG_MEM, NULL);
	peer_join(peer.sock, &s, &card, true);
	same(th_send(peer.sock, "x", 1), 0);
	took_conn(&s, s.ep, DAT_CONNECTION_EVENT_BROKEN);
	status = th_join(&peer, SOON_MS);
	check(status >= 0 && status < 128);
}

/* ---- Both processes exit at once ---- */

static int ends_with_us(int sock, void *arg)
{
	struct card other;
	struct end e;

	(void)arg;
	end_open(&e, RIG_MEM, NULL);
	card_swap(sock, &e, &other, true);
	for (int i = 0; i < 60; i++) {
		must(dat_cr_accept(end_request(&e), e.ep, 0, NULL));
		took_conn(&e, e.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		same(th_meet(sock), 0);
		must(dat_ep_disconnect(e.ep, (DAT_CLOSE_FLAGS)(i & 1)));
		took_conn(&e, e.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		rig_empty(e.conn_evd);
		must(dat_ep_reset(e.ep));
	}
	same(th_meet(sock), 0);
	end_free(&e);
	return 0;
}

RIG_TEST(death_other, disconnect__by_both_at_once_gives_one_event)
{
	struct card card;

	peer_spawn(&peer, ends_with_us, NULL);
	end_open(&s, RIG_MEM, NULL);
	card_swap(peer.sock, &s, &card, false);
	for (int i = 0; i < 60; i++) {
		must(end_dial(s.ep, card.qual, SOON_MS * 1000u));
		took_conn(&s, s.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		for (uint64_t k = 0; k < 4; k++)
			must(do_recv(&s, k, 0, 64));
		same(th_meet(peer.sock), 0);
		must(dat_ep_disconnect(s.ep, (DAT_CLOSE_FLAGS)(i >> 1 & 1)));
		took_conn(&s, s.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		took_range(s.recv_evd, 0, 3, FLUSHED);
		rig_empty(s.conn_evd);
		rig_empty(s.recv_evd);
		must(dat_ep_reset(s.ep));
	}
	same(th_meet(peer.sock), 0);
	peer_done(&peer);
	end_free(&s);
}

/* ---- Fork ---- */

static struct end t;

static void still_works(uint64_t seed)
{
	fill(s.mem, 5000, seed);
	must(do_recv(&t, 1, 10000, 5000));
	must(do_send(&s, 2, 0, 5000, 0));
	must(do_write(&s, 3, 0, far(&t, 20000, 5000), 0));
	took(t.recv_evd, 1, DAT_DTO_SUCCESS);
	took_range(s.req_evd, 2, 3, DAT_DTO_SUCCESS);
	check(filled(t.mem + 10000, 5000, seed) && filled(t.mem + 20000, 5000, seed));
	rig_empty(s.conn_evd);
	rig_empty(t.conn_evd);
}

static void child_work(int what)
{
	struct end x, y;

	if (what == 1)
		execl("/bin/true", "true", NULL);
	/* the inherited IA belongs to the parent; the child may have its own */
	if (what == 2) {
		pair_open(&x, &y);
		fill(x.mem, 5000, 1);
		must(do_write(&x, 3, 0, far(&y, 20000, 5000), 0));
		took(x.req_evd, 3, DAT_DTO_SUCCESS);
		check(filled(y.mem + 20000, 5000, 1));
		end_free(&x);
		took_conn(&y, y.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		end_free(&y);
	}
	_exit(0);
}

static void child_of_ours(int what)
{
	pid_t pid;
	int status;

	pid = th_fork();
	check(pid >= 0);
	if (!pid) {
		rig_second();
		th_is_child();
		child_work(what);
	}
	still_works((uint64_t)pid);
	check(TH_WITHIN(SOON_MS, waitpid(pid, &status, WNOHANG) == pid));
	check(WIFEXITED(status) && !WEXITSTATUS(status));
	still_works((uint64_t)pid + 1);
}

RIG_TEST(death_other, fork__child_leaves_parent_alone)
{
	pair_open(&s, &t);
	for (int i = 0; i < 9; i++)
		child_of_ours(i % 3);
	end_free(&s);
	took_conn(&t, t.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	end_free(&t);
}

/* A child that lives until this process closes its end of the pipe does not keep the connection alive. */
static int forks_and_dies(int sock, void *arg)
{
	const int *life = arg;
	struct card other;
	struct end e;
	char c;

	close(life[1]);
	end_open(&e, RIG_MEM, NULL);
	peer_join(sock, &e, &other, false);
	if (!th_fork()) {
		close(sock);
		_exit(read(life[0], &c, 1) != 0);
	}
	same(th_send(sock, "f", 1), 0);
	pause();
	return 0;
}

RIG_TEST(death_other, fork__grandchild_does_not_hide_a_death)
{
	struct card card;
	int life[2];
	char c;

	same(pipe(life), 0);
	peer_spawn(&peer, forks_and_dies, life);
	close(life[0]);
	end_open(&s, RIG_MEM, NULL);
	peer_join(peer.sock, &s, &card, true);
	same(th_recv(peer.sock, &c, 1), 0);
	th_watch();
	th_kill(&peer);
	took_conn(&s, s.ep, DAT_CONNECTION_EVENT_BROKEN);
	check(th_watched_ms() < A_SECOND);
	close(life[1]);
}
