/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The peer's process is killed during each operation that it can do. Within a second the survivor gets
 * the event, and the completions of all its posted work, once each; and it leaks nothing.
 */
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/e2e/death.h"

TestSuite(death_kill, .timeout = 120);

/* Loads the libraries that stay loaded, before resources are counted. */
static void warm_up(struct th_usage *usage)
{
	end_open(&s, RIG_MEM, NULL);
	end_free(&s);
	th_usage(usage);
}

static bool is_told(DAT_EVENT *ev)
{
	return dat_evd_dequeue(s.conn_evd, ev) == DAT_SUCCESS;
}

/* Checks that the event of the connection's end comes in time, and only once. */
static void told(DAT_EVENT_NUMBER number)
{
	DAT_EVENT ev;

	check(TH_WITHIN(SOON_MS, is_told(&ev)));
	check(th_watched_ms() < A_SECOND);
	same(ev.event_number, number);
	same(ev.event_data.connect_event_data.ep_handle, s.ep);
	rig_empty(s.conn_evd);
	same(end_state(s.ep), DAT_EP_STATE_DISCONNECTED);
}

/* Posts a last request and a last receive. Checks that all work completes in order, and that no
 * completion follows these two. */
static void all_came_back(struct opposite *o)
{
	check(TH_WITHIN(SOON_MS, (ledger_take(&o->requests),
		ledger_posted(&o->requests, do_send(&s, ledger_next(&o->requests), 0, 8, 0), false))));
	check(TH_WITHIN(SOON_MS, (ledger_take(&o->receives),
		ledger_posted(&o->receives, do_recv(&s, ledger_next(&o->receives), 0, 8), false))));
	ledger_close(&o->requests);
	ledger_close(&o->receives);
}

/* Only the peer sees its writes and reads complete. */
static bool peer_has_begun(const struct opposite *o)
{
	char c;

	if (o->peer_does == WRITES || o->peer_does == READS)
		return recv(peer.sock, &c, 1, MSG_DONTWAIT) == 1;
	return o->moved >= 3;
}

static void kill_while(enum activity does, bool listens, unsigned int after_ms)
{
	struct peer_plan plan = { does, listens };
	struct opposite o;
	struct card card;
	uint64_t since;

	peer_start(&peer, &plan);
	end_open(&s, RIG_MEM, NULL);
	peer_meet(&peer, &plan, &s, &card);
	opposite_init(&o, &s, &card, does);
	check(TH_WITHIN(SOON_MS, (opposite_work(&o), peer_has_begun(&o))));
	/* The peer works for some time. */
	since = th_now_ms();
	while (th_now_ms() - since < after_ms)
		opposite_work(&o);
	since = th_now_ms();
	th_watch();
	kill(peer.pid, SIGKILL);
	while (end_state(s.ep) == DAT_EP_STATE_CONNECTED && th_now_ms() - since < SOON_MS)
		opposite_work(&o);
	told(DAT_CONNECTION_EVENT_BROKEN);
	for (int i = 0; i < 10; i++)
		opposite_work(&o);
	all_came_back(&o);
	th_kill(&peer);
	end_free(&s);
}

static void kill_each(enum activity does)
{
	struct th_usage before;

	warm_up(&before);
	for (unsigned int i = 0; i < 4; i++)
		kill_while(does, i & 1, i * 7);
	usage_is_back(&before, 4);
}

RIG_TEST(death_kill, peer__killed_while_it_idles_breaks_the_connection)
{
	kill_each(IDLES);
}

RIG_TEST(death_kill, peer__killed_while_it_sends_breaks_the_connection)
{
	kill_each(SENDS);
}

RIG_TEST(death_kill, peer__killed_while_it_receives_breaks_the_connection)
{
	kill_each(RECEIVES);
}

RIG_TEST(death_kill, peer__killed_while_it_writes_breaks_the_connection)
{
	kill_each(WRITES);
}

RIG_TEST(death_kill, peer__killed_while_it_reads_breaks_the_connection)
{
	kill_each(READS);
}

RIG_TEST(death_kill, peer__killed_while_it_binds_breaks_the_connection)
{
	kill_each(BINDS);
}

/* ---- Death before the connection is established ---- */

static int dials_and_waits(int sock, void *arg)
{
	struct card other;
	struct end e;

	(void)arg;
	end_open(&e, RIG_MEM, NULL);
	card_swap(sock, &e, &other, false);
	must(end_dial(e.ep, other.qual, SOON_MS * 1000u));
	th_sleep_ms(SOON_MS * 3);
	return 0;
}

RIG_TEST(death_kill, peer__killed_before_our_accept_fails_the_accept)
{
	struct th_usage before;
	DAT_CR_HANDLE cr;
	struct card card;

	warm_up(&before);
	for (int lap = 0; lap < 4; lap++) {
		peer_spawn(&peer, dials_and_waits, NULL);
		end_open(&s, RIG_MEM, NULL);
		for (uint64_t i = 0; i < RIG_DTOS; i++)
			must(do_recv(&s, i, 0, 64));
		card_swap(peer.sock, &s, &card, true);
		cr = end_request(&s);
		th_kill(&peer);
		if (lap & 1)
			th_sleep_ms(20);	/* the peer's death may be known by then, or not */
		if (lap & 2) {
			must(dat_cr_reject(cr));
		} else {
			th_watch();
			must(dat_cr_accept(cr, s.ep, 0, NULL));
			told(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
			took_range(s.recv_evd, 0, RIG_DTOS - 1, FLUSHED);
		}
		end_free(&s);
	}
	usage_is_back(&before, 4);
}

static int listens_and_waits(int sock, void *arg)
{
	struct card other;
	struct end e;

	(void)arg;
	end_open(&e, RIG_MEM, NULL);
	card_swap(sock, &e, &other, true);
	end_request(&e);
	same(th_send(sock, "r", 1), 0);
	th_sleep_ms(SOON_MS * 3);
	return 0;
}

RIG_TEST(death_kill, peer__killed_before_it_accepts_ends_our_attempt)
{
	struct th_usage before;
	struct card card;
	char c;

	warm_up(&before);
	for (int lap = 0; lap < 3; lap++) {
		peer_spawn(&peer, listens_and_waits, NULL);
		end_open(&s, RIG_MEM, NULL);
		for (uint64_t i = 0; i < RIG_DTOS; i++)
			must(do_recv(&s, i, 0, 64));
		card_swap(peer.sock, &s, &card, false);
		must(end_dial(s.ep, card.qual, SOON_MS * 1000u));
		same(th_recv(peer.sock, &c, 1), 0);
		th_watch();
		th_kill(&peer);
		told(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		took_range(s.recv_evd, 0, RIG_DTOS - 1, FLUSHED);
		end_free(&s);
	}
	usage_is_back(&before, 4);
}

/* The peer is stopped while it connects, so that our accept is never answered. */
RIG_TEST(death_kill, peer__killed_after_our_accept_fails_the_accept)
{
	struct th_usage before;
	DAT_CR_HANDLE cr;
	struct card card;
	int status;

	warm_up(&before);
	for (int lap = 0; lap < 3; lap++) {
		peer_spawn(&peer, dials_and_waits, NULL);
		end_open(&s, RIG_MEM, NULL);
		for (uint64_t i = 0; i < RIG_DTOS; i++)
			must(do_recv(&s, i, 0, 64));
		card_swap(peer.sock, &s, &card, true);
		cr = end_request(&s);
		kill(peer.pid, SIGSTOP);
		/* waits for each thread of the peer */
		same(waitpid(peer.pid, &status, WUNTRACED), peer.pid);
		must(dat_cr_accept(cr, s.ep, 0, NULL));
		same(end_state(s.ep), DAT_EP_STATE_COMPLETION_PENDING);
		th_watch();
		th_kill(&peer);
		told(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		took_range(s.recv_evd, 0, RIG_DTOS - 1, FLUSHED);
		end_free(&s);
	}
	usage_is_back(&before, 4);
}

/*
 * Our disconnect waits for sends that the peer will never receive. On an adapter whose sends complete at
 * the peer's adapter, the first of them may have succeeded.
 */
RIG_TEST(death_kill, peer__killed_while_we_disconnect_breaks_the_connection)
{
	bool near = rig_sends_end_near();
	struct peer_plan plan = { IDLES, true };
	struct th_usage before;
	struct card card;

	warm_up(&before);
	for (int lap = 0; lap < 3; lap++) {
		struct ledger sends;

		peer_start(&peer, &plan);
		end_open(&s, RIG_MEM, NULL);
		peer_meet(&peer, &plan, &s, &card);
		sends = ledger_of(s.req_evd);
		for (uint64_t i = 0; i < RIG_DTOS; i++)
			check(ledger_posted(&sends, do_send(&s, i, 0, 64, i & 1 ? SUPPRESS : 0), i & 1));
		must(dat_ep_disconnect(s.ep, DAT_CLOSE_GRACEFUL_FLAG));
		same(end_state(s.ep), DAT_EP_STATE_DISCONNECT_PENDING);
		th_watch();
		th_kill(&peer);
		told(DAT_CONNECTION_EVENT_BROKEN);
		for (uint64_t i = 0; i < RIG_DTOS && !near; i++)
			took_error(s.req_evd, i);
		if (near)
			ledger_close(&sends);
		rig_empty(s.req_evd);
		end_free(&s);
	}
	usage_is_back(&before, 4);
}

/* ---- Connecting and disconnecting again and again ---- */

static int comes_and_goes(int sock, void *arg)
{
	struct card other;
	struct end e;
	int i = 0;

	(void)arg;
	end_open(&e, RIG_MEM, NULL);
	card_swap(sock, &e, &other, false);
	do {
		must(end_dial(e.ep, other.qual, SOON_MS * 1000u));
		took_conn(&e, e.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		must(dat_ep_disconnect(e.ep, (DAT_CLOSE_FLAGS)(i & 1)));
		took_conn(&e, e.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		must(dat_ep_reset(e.ep));
	} while (++i < 1000000);
	return 0;
}

/* Accepts all requests, one after the other, until no more arrive. Returns their number. */
static unsigned int serve(uint64_t ms)
{
	uint64_t end = th_now_ms() + ms;
	unsigned int n = 0;
	DAT_EVENT ev;

	while (th_now_ms() < end) {
		if (end_state(s.ep) == DAT_EP_STATE_DISCONNECTED)
			must(dat_ep_reset(s.ep));
		if (end_state(s.ep) == DAT_EP_STATE_UNCONNECTED &&
		    dat_evd_dequeue(s.cr_evd, &ev) == DAT_SUCCESS) {
			must(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, s.ep, 0,
					   NULL));
			n++;
		}
		while (is_told(&ev))
			;
		th_yield();
	}
	return n;
}

static bool has_ended(void)
{
	DAT_EP_STATE state = end_state(s.ep);

	return state == DAT_EP_STATE_DISCONNECTED || state == DAT_EP_STATE_UNCONNECTED;
}

RIG_TEST(death_kill, peer__killed_while_connecting_and_disconnecting_leaks_nothing)
{
	struct th_usage before;
	struct card card;
	unsigned int n;

	warm_up(&before);
	for (unsigned int lap = 0; lap < 8; lap++) {
		peer_spawn(&peer, comes_and_goes, NULL);
		end_open(&s, RIG_MEM, NULL);
		card_swap(peer.sock, &s, &card, true);
		n = serve(100 + lap * 3);
		check(TH_WITHIN(SOON_MS, n > 3 || (n += serve(20)) > 3));
		th_kill(&peer);
		serve(20);
		th_watch();
		check(TH_WITHIN(SOON_MS, has_ended()));
		check(th_watched_ms() < A_SECOND);
		must(dat_ep_reset(s.ep));
		end_free(&s);
	}
	usage_is_back(&before, 4);
}
