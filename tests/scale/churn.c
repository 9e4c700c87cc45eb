/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A server with one shared receive queue. 1,000 connections of eight processes begin, send requests, and
 * end in one of three ways, again and again; nothing may leak.
 */
#include <stdio.h>
#include <string.h>

#include "hw_mlx5/ctl/soft.h"
#include "hw_mlx5/obj.h"
#include "softnic/softnic.h"
#include "tests/scale/scale.h"

#define PROCESSES 8u
#define EACH (TH_ASAN ? 25u : 125u)
#define ALL (PROCESSES * EACH)
#define ROUNDS 10u
#define ASKED 4u			/* number of requests of each connection in a round */
#define RECVS 512u
#define PIECE 64u
#define SENT (1ull << 32)		/* a bit in a cookie: it is the answer from that slot */
/* The model's hash tables vary by this number of bytes. A leak per connection would be more: at least 32
 * bytes each. */
#define HEAP_SLACK (200u << 10)

TestSuite(churn, .timeout = 300);

/* ---- A process of clients ---- */

static DAT_EP_HANDLE client[125];

static DAT_EP_ATTR small_attr(void)
{
	DAT_EP_ATTR attr = rig_attr();

	attr.max_recv_dtos = 2;
	attr.max_request_dtos = 4;
	return attr;
}

static void come(struct end *e, DAT_CONN_QUAL qual)
{
	DAT_EP_ATTR attr = small_attr();

	for (unsigned int i = 0; i < EACH; i++) {
		client[i] = end_ep(e, &attr);
		must(end_dial(client[i], qual, SOON_MS * 1000u));
	}
	for (unsigned int i = 0; i < EACH; i++)
		next_event(e->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Sends a request on each connection. Each answer equals its request. */
static void ask(struct end *e, uint64_t seed)
{
	const size_t answers = EACH * PIECE;

	memset(e->mem + answers, 0, answers);
	fill(e->mem, answers, seed);
	for (unsigned int i = 0; i < EACH; i++) {
		e->ep = client[i];
		must(do_recv(e, i, answers + i * PIECE, PIECE));
		must(do_send(e, i, i * PIECE, PIECE, SUPPRESS));
	}
	for (unsigned int i = 0; i < EACH; i++) {
		DAT_EVENT ev = next_event(e->recv_evd, DAT_DTO_COMPLETION_EVENT);

		same(ev.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	}
	check(!memcmp(e->mem, e->mem + answers, answers));
}

/* Ends the connections: 0: gracefully; 1: abruptly; 2: by closing the IA. */
static void leave(struct end *e, unsigned int how)
{
	for (unsigned int i = 0; how < 2 && i < EACH; i++)
		must(dat_ep_disconnect(client[i], how ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG));
	for (unsigned int i = 0; how < 2 && i < EACH; i++)
		next_event(e->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (unsigned int i = 0; how < 2 && i < EACH; i++)
		must(dat_ep_free(client[i]));
	end_close(e);
}

struct plan {
	unsigned int number, rounds;
};

static int client_main(int sock, void *arg)
{
	const struct plan *plan = arg;
	DAT_CONN_QUAL qual;

	same(th_recv(sock, &qual, sizeof(qual)), 0);
	for (unsigned int round = 0; round < plan->rounds; round++) {
		struct end e;

		same(th_meet(sock), 0);
		wide_end(&e, EACH);
		come(&e, qual);
		for (unsigned int i = 0; i < ASKED; i++)
			ask(&e, (round * PROCESSES + plan->number) * ASKED + i);
		leave(&e, (round + plan->number) % 3);
	}
	return 0;
}

/* ---- The server ---- */

static struct end s;
static DAT_SRQ_HANDLE srq;
static DAT_EVD_HANDLE evd;		/* the EVD for all events */
static DAT_CR_HANDLE waiting[1000];

static void give(uint64_t place)
{
	DAT_LMR_TRIPLET t = seg(&s, place * PIECE, PIECE);

	must(dat_srq_post_recv(srq, 1, &t, (DAT_DTO_COOKIE){ .as_64 = place }));
}

static void open_server(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = RECVS, .max_recv_iov = 1 };
	DAT_COUNT more;
	DAT_EVENT ev;

	end_open(&s, RIG_MEM, NULL);
	check(RECVS * PIECE <= s.len);
	must(dat_evd_create(s.ia, 8 * 1000, NULL, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG |
			    DAT_EVD_CR_FLAG, &evd));
	must(dat_srq_create(s.ia, s.pz, &attr, &srq));
	for (uint64_t place = 0; place < RECVS; place++)
		give(place);
	must(dat_psp_create_any(s.ia, &s.qual, evd, DAT_PSP_CONSUMER_FLAG, &s.psp));
	/* The first wait creates descriptors, which stay open. */
	must_fail(dat_evd_wait(evd, 1000, 1, &ev, &more), DAT_TIMEOUT_EXPIRED);
}

static void admit(DAT_CR_HANDLE cr)
{
	DAT_EP_ATTR attr = small_attr();
	DAT_EP_HANDLE ep = NULL;

	must(dat_ep_create_with_srq(s.ia, s.pz, evd, evd, evd, srq, &attr, &ep));
	must(dat_cr_accept(cr, ep, 0, NULL));
}

/* When the answer in a slot has been sent, or can no longer be sent, posts the slot to the SRQ again. */
static void dto(const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	uint64_t cookie = d->user_cookie.as_64;
	DAT_LMR_TRIPLET t = seg(&s, cookie % RECVS * PIECE, PIECE);

	if (cookie & SENT) {
		give(cookie % RECVS);
		return;
	}
	same(d->status, DAT_DTO_SUCCESS);
	same(d->transfered_length, PIECE);
	must(dat_ep_post_send(d->ep_handle, 1, &t, (DAT_DTO_COOKIE){ .as_64 = cookie | SENT },
			      DAT_COMPLETION_DEFAULT_FLAG));
}

/*
 * Serves until to_leave clients have left. Keeps the first `kept` clients waiting until all of them are
 * there.
 */
static void serve(unsigned int to_leave, unsigned int kept)
{
	unsigned int left = 0, came = 0;
	DAT_COUNT more;
	DAT_EVENT ev;

	while (left < to_leave) {
		must(dat_evd_wait(evd, SOON_MS * 1000u, 1, &ev, &more));
		switch (ev.event_number) {
		case DAT_CONNECTION_REQUEST_EVENT:
			waiting[came++] = ev.event_data.cr_arrival_event_data.cr_handle;
			for (unsigned int i = came <= kept ? 0 : came - 1; came >= kept && i < came; i++)
				admit(waiting[i]);
			break;
		case DAT_DTO_COMPLETION_EVENT:
			dto(&ev.event_data.dto_completion_event_data);
			break;
		case DAT_CONNECTION_EVENT_DISCONNECTED:
		case DAT_CONNECTION_EVENT_BROKEN:
			must(dat_ep_free(ev.event_data.connect_event_data.ep_handle));
			left++;
			break;
		default:
			same(ev.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
		}
	}
	same(came, to_leave);
}

/* ---- The server's resources ---- */

#define KINDS 8

struct state {
	struct holding holding;
	size_t objects[KINDS];		/* number of objects of the device */
	unsigned int links;		/* number of mappings of the fabric */
};

static unsigned int links(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned int n = 0;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, "softnic-link") != NULL;
	if (f)
		fclose(f);
	return n;
}

static void state_now(struct state *st)
{
	static const char *const kinds[KINDS] = { "qp", "cq", "mkey", "pd", "uar", "umem", "eq", "rmp" };
	struct softnic *nic = m5_ia((struct dap_ia *)s.ia)->ctl->soft;

	holding_now(&st->holding);
	for (unsigned int i = 0; i < KINDS; i++)
		st->objects[i] = softnic_object_count(nic, kinds[i]);
	st->links = links();
}

static DAT_COUNT receives(void)
{
	DAT_SRQ_PARAM p;

	must(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &p));
	return p.available_dto_count;
}

/* The last client's socket and link are freed a moment later. */
static bool nothing_stays(const struct state *before, struct state *now)
{
	state_now(now);
	return now->holding.fds <= before->holding.fds && now->links <= before->links;
}

/* first: the state after the first round; NULL in that round itself, which allocates the slabs that
 * stay. */
static void judge(const struct state *before, unsigned int round, const struct holding *first)
{
	struct state now;

	bool gone = TH_WITHIN(SOON_MS, nothing_stays(before, &now));

	fprintf(stderr, "churn: round %u: %u descriptors, %u links, %u mappings, heap %zu KiB\n",
		round + 1, now.holding.fds, now.links, now.holding.maps, now.holding.heap >> 10);
	check(gone);
	for (unsigned int i = 0; i < KINDS; i++)
		same(now.objects[i], before->objects[i]);
	same(now.holding.threads, before->holding.threads);
	same(receives(), RECVS);
	check(TH_ASAN || !first || now.holding.heap <= first->heap + HEAP_SLACK);
	check(TH_ASAN || !first || now.holding.maps <= first->maps + 8);
}

static void rounds(struct th_child *peers, unsigned int n)
{
	struct state before, first, now;

	state_now(&before);
	for (unsigned int round = 0; round < n; round++) {
		for (unsigned int i = 0; i < PROCESSES; i++)
			same(th_meet(peers[i].sock), 0);
		/* In the first round, all clients wait for each other, so that the slabs reach
		 * their final size. */
		serve(ALL, round ? 0 : ALL);
		judge(&before, round, round ? &first.holding : NULL);
		state_now(&now);
		if (!round)
			first = now;
	}
	fprintf(stderr, "note: %u rounds of %u connections of %u processes: descriptors %u before and "
		"%u after, mappings %u and %u, heap after the first round %zu KiB, in the end %zu "
		"KiB\n", n, ALL, PROCESSES, before.holding.fds, now.holding.fds, before.holding.maps,
		now.holding.maps, first.holding.heap >> 10, now.holding.heap >> 10);
}

Test(churn, connections__come_and_leave_nothing)
{
	struct plan plan = { .rounds = ROUNDS };
	struct th_child peers[PROCESSES];

	same(scale_connections(ALL), ALL);
	for (plan.number = 0; plan.number < PROCESSES; plan.number++)
		peer_spawn(&peers[plan.number], client_main, &plan);
	open_server();
	for (unsigned int i = 0; i < PROCESSES; i++)
		same(th_send(peers[i].sock, &s.qual, sizeof(s.qual)), 0);
	rounds(peers, plan.rounds);
	for (unsigned int i = 0; i < PROCESSES; i++)
		peer_done(&peers[i]);
	must(dat_srq_free(srq));
	must(dat_psp_free(s.psp));
	must(dat_evd_free(evd));
	s.psp = NULL;
	end_free(&s);
}
