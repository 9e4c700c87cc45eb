/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Eager RDMA, as in ParaStation's pscom and other MPI libraries: a message is one RDMA write into a slot
 * of the peer, and the peer polls the last word of the slot. No completion and no DAT call shows that a
 * message has arrived. The DAT specification does not promise that this works, but the attribute
 * write_order can. If its value is relaxed, a send after each write announces the message instead of the
 * last word.
 */
#include <string.h>

#include "tests/programs/programs.h"

#define SLOT (1u << 20)
#define SLOTS 4u
/* bytes of the slots for the peer's messages, and of those for this side's */
#define BYTES (2 * SLOTS * SLOT)

struct tail {
	uint32_t len, number;		/* number is the last word in memory; the peer polls it */
};

static const uint32_t sizes[] = { 1, 0, 7, 64, 200, 4095, 11585, 65536, SLOT - sizeof(struct tail) };
#define SIZES (sizeof(sizes) / sizeof(*sizes))

TestSuite(eager, .timeout = 100);

/* Returns the tail of a message, which ends where its slot ends. */
static struct tail *tail_of(const struct program *p, uint32_t n, bool ours)
{
	unsigned char *slot = (unsigned char *)p->mem.buf + (n % SLOTS + (ours ? SLOTS : 0)) * SLOT;

	return (struct tail *)(void *)(slot + SLOT - sizeof(struct tail));
}

static unsigned char byte_of(uint32_t n, uint32_t i)
{
	return (unsigned char)(n * 31 + i * 7 + i / 256);
}

static bool relaxed;			/* true if the adapter's write_order is relaxed */
static uint32_t notes;			/* if relaxed: number of sends that have arrived */

static void note_receive(struct program *p)
{
	ok(dat_ep_post_recv(p->c.ep, 0, NULL, cookie_of(0), DAT_COMPLETION_DEFAULT_FLAG));
}

static bool note_has_come(struct program *p)
{
	DAT_EVENT ev;

	if (dat_evd_dequeue(p->c.recv_evd, &ev) != DAT_SUCCESS ||
	    ev.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		return false;
	note_receive(p);
	notes++;
	return true;
}

static bool has_come(struct program *p, uint32_t n)
{
	if (!relaxed)
		return __atomic_load_n(&tail_of(p, n, false)->number, __ATOMIC_ACQUIRE) == n + 1;
	return notes > n || (note_has_come(p) && notes > n);
}

/* Checks that all bytes before the last word have arrived. */
static void message_is_whole(const struct program *p, uint32_t n)
{
	const struct tail *t = tail_of(p, n, false);
	const unsigned char *data = (const unsigned char *)t - t->len;

	must(t->number == n + 1);
	must(t->len == sizes[n % SIZES]);
	for (uint32_t i = 0; i < t->len; i++)
		must(data[i] == byte_of(n, i));
}

/* Posts a message. Its slot is free, because the peer has answered the message before it in that slot.
 * False: the connection has ended. */
static bool message_post(struct program *p, const struct card *peer, uint32_t n)
{
	struct tail *t = tail_of(p, n, true);
	uint32_t len = sizes[n % SIZES];
	unsigned char *data = (unsigned char *)t - len;
	size_t at = (size_t)(data - (unsigned char *)p->mem.buf);
	DAT_LMR_TRIPLET from = piece_of(p, at, len + (uint32_t)sizeof(*t));
	DAT_RMR_TRIPLET to = place_at(peer, at - SLOTS * SLOT, len + (uint32_t)sizeof(*t));
	DAT_EVENT ev;

	if (n >= SLOTS && consumer_completion(&p->c, p->c.req_evd, &ev))
		return false;
	for (uint32_t i = 0; i < len; i++)
		data[i] = byte_of(n, i);
	*t = (struct tail){ len, n + 1 };
	return dat_ep_post_rdma_write(p->c.ep, 1, &from, cookie_of(n), &to,
				      DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS &&
	       (!relaxed || dat_ep_post_send(p->c.ep, 0, NULL, cookie_of(n),
					     DAT_COMPLETION_SUPPRESS_FLAG) == DAT_SUCCESS);
}

/* Returns a provider attribute; "" if there is none of this name. */
static const char *attribute(struct program *p, const char *name)
{
	static DAT_PROVIDER_ATTR attr;

	ok(dat_ia_query(p->c.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	for (DAT_COUNT i = 0; i < attr.num_provider_specific_attr; i++)
		if (!strcmp(attr.provider_specific_attr[i].name, name))
			return attr.provider_specific_attr[i].value;
	return "";
}

static void eager_open(struct program *p)
{
	program_open_ia(p, relaxed ? program_relaxed_ia() : program_ia(), BYTES, NULL);
	for (unsigned int i = 0; relaxed && i < 2 * SLOTS; i++)
		note_receive(p);
}

/* ---- The second process: a client that sends up to SLOTS messages ahead of the answers ---- */

static int client(int sock, void *arg)
{
	uint32_t messages = *(uint32_t *)arg;
	struct card server, own;
	struct program p;

	eager_open(&p);
	own = program_card(&p, 0);
	must(!th_recv(sock, &server, sizeof(server)));
	must(!th_send(sock, &own, sizeof(own)));
	program_dial(&p, server.qual);
	for (uint32_t n = 0; n < messages + SLOTS; n++) {
		if (n >= SLOTS) {
			must(TH_WITHIN(SOON_MS, has_come(&p, n - SLOTS)));
			message_is_whole(&p, n - SLOTS);
		}
		if (n < messages)
			must(message_post(&p, &server, n));
	}
	ok(dat_ep_disconnect(p.c.ep, DAT_CLOSE_GRACEFUL_FLAG));
	program_close(&p);
	return 0;
}

static void server_open(struct program *p)
{
	const char *order;

	eager_open(p);
	order = attribute(p, "write_order");
	cr_assert(*order, "the provider has no attribute write_order");
	if (strcmp(order, relaxed ? "relaxed" : "kept"))
		cr_skip_test("the adapter says write_order = %s", order);
	must(!consumer_listen(&p->c, th_qual()));
}

static void client_start(struct th_child *child, uint32_t *messages, struct program *server,
			 struct card *its)
{
	struct card own = program_card(server, th_qual());

	must(!th_spawn(child, client, messages));
	must(!th_send(child->sock, &own, sizeof(own)));
	must(!th_recv(child->sock, its, sizeof(*its)));
	program_accept(server);
}

/* Polls memory for messages and answers each, until the connection ends. Returns their number. */
static uint32_t serve(struct program *p, const struct card *peer, struct th_child *child, uint32_t kill_at)
{
	for (uint32_t n = 0;; n++) {
		must(TH_WITHIN(SOON_MS, has_come(p, n) || consumer_ended(&p->c)));
		if (!has_come(p, n))
			return n;
		message_is_whole(p, n);
		if (n == kill_at)
			th_kill(child);
		if (!message_post(p, peer, n))
			must(consumer_heard_end(&p->c) == 0);
	}
}

static void exchange(void)
{
	uint32_t messages = 12 * SIZES;
	struct th_child child;
	struct program p;
	struct card its;

	server_open(&p);
	client_start(&child, &messages, &p, &its);
	must(serve(&p, &its, &child, UINT32_MAX) == messages);
	must(p.c.end == DAT_CONNECTION_EVENT_DISCONNECTED);
	must(!th_join(&child, SOON_MS));
	program_close(&p);
}

Test(eager, rdma_write__polled_tail_comes_after_its_data)
{
	exchange();
}

/* The client inherits the value of `relaxed`. */
Test(eager, rdma_write__in_relaxed_order_is_there_when_a_later_send_is)
{
	if (!program_relaxed_ia())
		cr_skip_test("the adapter says write_order = kept");
	relaxed = true;
	exchange();
}

/* The server sees the end of the connection but no partial message, and serves the next client. */
Test(eager, rdma_write__of_a_killed_client_shows_no_partial_message)
{
	uint32_t for_ever = UINT32_MAX - SLOTS, some = 3 * SIZES, kill_at = 5 * SIZES + 1;
	struct th_child child;
	struct program p;
	struct card its;

	server_open(&p);
	client_start(&child, &for_ever, &p, &its);
	must(serve(&p, &its, &child, kill_at) > kill_at);
	must(p.c.end == DAT_CONNECTION_EVENT_BROKEN || p.c.end == DAT_CONNECTION_EVENT_DISCONNECTED);

	ok(dat_ep_free(p.c.ep));
	p.c.broken = false;
	memset(p.mem.buf, 0, BYTES);
	must(!consumer_make_ep(&p.c, NULL));
	client_start(&child, &some, &p, &its);
	must(serve(&p, &its, &child, UINT32_MAX) == some);
	must(!th_join(&child, SOON_MS));
	program_close(&p);
}
