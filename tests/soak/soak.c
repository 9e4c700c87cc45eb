/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Servers that live long, and short-lived clients. Each client connects or listens, does one kind of work,
 * and then ends in a random way: it is killed, stopped, replaced by exec, or left. After a warm-up the
 * servers hold no more memory, descriptors, mappings and threads than before.
 *
 * `make check` runs CLIENTS clients, `make soak MINUTES=N` as many as end in N minutes (SOAK_MINUTES).
 * SOAK_SEED repeats a run, SOAK_TSV names a file for the samples.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/e2e/peer.h"
#include "tests/scale/scale.h"

enum { SERVERS = 3, CLIENTS = 150, WARM_UP = 45, MOST_MS = 12 };
/*
 * Queues of the software adapters grow to what their busiest moment needs. In an hour a leak of 100 bytes
 * per client is more. Each QP uses the next doorbell page of a software ConnectX, until all of its BAR is
 * resident.
 */
enum { HEAP_SLACK = 1 << 20, RESIDENT_SLACK = 2 << 20, BAR = 8 << 20, MAPS_SLACK = 8 };

enum ending { KILLED, STOPPED_KILLED, STOPPED_CONTINUED, EXECED, LEFT_ABRUPTLY, LEFT_GRACEFULLY, ENDINGS };

struct job {
	struct peer_plan plan;
	enum ending ending;
	unsigned int ms;		/* for how long the client works */
};

/* ---- A server ---- */

static bool is_over(struct opposite *o)
{
	ledger_take(&o->requests);
	ledger_take(&o->receives);
	return end_state(o->e->ep) == DAT_EP_STATE_DISCONNECTED;
}

static void leave(struct opposite *o, enum ending how)
{
	DAT_CLOSE_FLAGS flag = how == LEFT_ABRUPTLY ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG;

	must(dat_ep_disconnect(o->e->ep, flag));
	check(TH_WITHIN(SOON_MS, is_over(o)));
}

/* Works until the client has ended. */
static void go_on(struct opposite *o)
{
	uint64_t end = th_now_ms() + SOON_MS;

	for (; end_state(o->e->ep) == DAT_EP_STATE_CONNECTED; opposite_work(o))
		check(th_now_ms() < end);
}

static void work(struct opposite *o, const struct job *job)
{
	uint64_t end = th_now_ms() + job->ms;

	while (th_now_ms() < end && end_state(o->e->ep) == DAT_EP_STATE_CONNECTED)
		opposite_work(o);
	if (job->ending >= LEFT_ABRUPTLY)
		leave(o, job->ending);
	else
		go_on(o);
}

static bool is_told(struct end *e)
{
	DAT_EVENT ev;

	return dat_evd_dequeue(e->conn_evd, &ev) == DAT_SUCCESS;
}

static void serve_one(int sock, struct end *e, const struct job *job)
{
	struct opposite o;
	struct card card;

	e->ep = end_ep(e, NULL);
	peer_join(sock, e, &card, !job->plan.listens);
	opposite_init(&o, e, &card, job->plan.does);
	same(th_meet(sock), 0);
	work(&o, job);
	check(TH_WITHIN(SOON_MS, is_told(e)));
	must(dat_ep_free(e->ep));
	rig_empty(e->req_evd);
	rig_empty(e->recv_evd);
	rig_empty(e->conn_evd);
}

static bool holds_at_most(struct end *e, unsigned int fds, struct holding *h)
{
	rig_empty(e->recv_evd);		/* polls the adapter */
	holding_now(h);
	return h->fds <= fds;
}

/* The software adapter closes the link to a dead client at one of its next polls. So a server that holds more
 * descriptors than during the warm-up looks again. */
static void settled(struct end *e, unsigned int served, unsigned int *fds, struct holding *h)
{
	if (served >= WARM_UP / SERVERS) {
		(void)TH_WITHIN(SOON_MS, holds_at_most(e, *fds, h));
		return;
	}
	holding_now(h);
	if (h->fds > *fds)
		*fds = h->fds;
}

/* Serves clients until the socket is closed. */
static int server_main(int sock, void *arg)
{
	unsigned int fds = 0;
	struct job job;
	struct end e;

	(void)arg;
	end_open(&e, RIG_MEM, NULL);
	must(dat_ep_free(e.ep));
	end_listen(&e);
	for (unsigned int served = 0; !th_recv(sock, &job, sizeof(job)); served++) {
		struct holding h;

		serve_one(sock, &e, &job);
		settled(&e, served, &fds, &h);
		same(th_send(sock, &h, sizeof(h)), 0);
	}
	e.ep = end_ep(&e, NULL);
	end_free(&e);
	return 0;
}

/* ---- The clients' parent, which opens no IA ---- */

struct server {
	struct th_child child;
	struct holding base;		/* the highest values of the server during the warm-up */
	unsigned int served;
};

static struct server servers[SERVERS];
static FILE *samples;
static uint64_t seed, started;

static unsigned int any(unsigned int below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(seed >> 33) % below;
}

static void replace(int signal)
{
	(void)signal;
	execl("/bin/sleep", "sleep", "60", (char *)NULL);
	_exit(1);
}

static void relay_cards(int a, int b)
{
	struct card card;

	for (int i = 0; i < 2; i++) {
		same(th_recv(i ? a : b, &card, sizeof(card)), 0);
		same(th_send(i ? b : a, &card, sizeof(card)), 0);
	}
}

static void end_client(const struct th_child *client, const struct job *job)
{
	th_sleep_ms(job->ms);
	switch (job->ending) {
	case STOPPED_KILLED:
	case STOPPED_CONTINUED:
		kill(client->pid, SIGSTOP);
		th_sleep_ms(any(20));
		if (job->ending == STOPPED_CONTINUED)
			kill(client->pid, SIGCONT);
		break;
	case EXECED:
		kill(client->pid, SIGUSR1);
		return;
	case LEFT_ABRUPTLY:
	case LEFT_GRACEFULLY:
		return;
	default:
		break;
	}
	kill(client->pid, SIGKILL);
}

static void sample(const struct server *s, const struct holding *h)
{
	if (samples)
		fprintf(samples, "%.3f\t%d\t%u\t%zu\t%zu\t%zu\t%u\t%u\t%u\n",
			(double)(th_now_ms() - started) / 1000, (int)(s - servers), s->served, h->heap,
			h->anon, h->shared, h->fds, h->maps, h->threads);
}

static size_t most(size_t a, size_t b)
{
	return a > b ? a : b;
}

static void judge(struct server *s, const struct holding *h)
{
	struct holding *b = &s->base;

	sample(s, h);
	if (s->served++ < WARM_UP / SERVERS) {
		*b = (struct holding){
			.heap = most(b->heap, h->heap), .anon = most(b->anon, h->anon),
			.shared = most(b->shared, h->shared),
			.fds = (unsigned int)most(b->fds, h->fds),
			.maps = (unsigned int)most(b->maps, h->maps),
			.threads = (unsigned int)most(b->threads, h->threads),
		};
		return;
	}
	check(h->fds <= b->fds);
	check(h->threads <= b->threads);
	check(h->maps <= b->maps + MAPS_SLACK);
	check(TH_ASAN || h->heap <= b->heap + HEAP_SLACK);
	check(TH_ASAN || h->anon <= b->anon + RESIDENT_SLACK);
	check(h->shared <= b->shared + BAR + RESIDENT_SLACK);
}

/*
 * A client that is left lives until its server has been judged, and the server holds the link to it. So
 * each kind of end is part of the warm-up.
 */
static enum ending next_ending(const struct server *s)
{
	return s->served < ENDINGS ? (enum ending)s->served : (enum ending)any(ENDINGS);
}

static void one_client(struct server *s)
{
	struct job job = { { any(ACTIVITIES), any(2) }, next_ending(s), any(MOST_MS) };
	struct th_child client;
	struct holding h;

	peer_start(&client, &job.plan);
	same(th_send(s->child.sock, &job, sizeof(job)), 0);
	relay_cards(s->child.sock, client.sock);
	same(th_meet(s->child.sock), 0);
	end_client(&client, &job);
	same(th_recv(s->child.sock, &h, sizeof(h)), 0);
	th_kill(&client);
	judge(s, &h);
}

static unsigned int number_of(const char *variable, unsigned int otherwise)
{
	const char *text = getenv(variable);

	return text ? (unsigned int)strtoul(text, NULL, 10) : otherwise;
}

static void open_samples(void)
{
	const char *file = getenv("SOAK_TSV");

	samples = file ? fopen(file, "we") : NULL;
	if (samples)
		fputs("seconds\tserver\tclients\theap\tanonymous\tshared\tdescriptors\tmappings\t"
		      "threads\n", samples);
}

TestSuite(soak, .timeout = 100000);

Test(soak, clients__come_and_go_and_leave_nothing)
{
	unsigned int minutes = number_of("SOAK_MINUTES", 0), n = 0;

	started = th_now_ms();
	seed = number_of("SOAK_SEED", (unsigned int)started);
	fprintf(stderr, "note: SOAK_SEED=%u\n", (unsigned int)seed);
	signal(SIGUSR1, replace);
	open_samples();
	for (int i = 0; i < SERVERS; i++)
		peer_spawn(&servers[i].child, server_main, NULL);
	while (minutes ? th_now_ms() - started < minutes * 60000ull : n < CLIENTS)
		one_client(&servers[n++ % SERVERS]);
	for (int i = 0; i < SERVERS; i++) {
		shutdown(servers[i].child.sock, SHUT_WR);
		peer_done(&servers[i].child);
	}
	if (samples)
		fclose(samples);
	fprintf(stderr, "note: %u clients in %.0f s; a server holds %zu KiB of heap, %u descriptors, %u "
		"mappings\n", n, (double)(th_now_ms() - started) / 1000, servers[0].base.heap >> 10,
		servers[0].base.fds, servers[0].base.maps);
}
