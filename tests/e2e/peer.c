/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <unistd.h>

#include "tests/e2e/peer.h"

#define BLOCK 4096u
#define NOTE 60000u		/* offset of a context in a message */

void card_swap(int sock, struct end *e, struct card *other, bool listens)
{
	struct card own;

	if (listens)
		end_listen(e);
	own = (struct card){ .qual = e->qual, .memory = far(e, 0, e->len) };
	same(th_send(sock, &own, sizeof(own)), 0);
	same(th_recv(sock, other, sizeof(*other)), 0);
}

void peer_join(int sock, struct end *e, struct card *other, bool listens)
{
	card_swap(sock, e, other, listens);
	if (listens)
		must(dat_cr_accept(end_request(e), e->ep, 0, NULL));
	else
		must(end_dial(e->ep, other->qual, SOON_MS * 1000u));
	took_conn(e, e->ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* ---- The work of the second process ---- */

static DAT_RMR_TRIPLET part(DAT_RMR_TRIPLET memory, uint64_t at, size_t len)
{
	memory.target_address += at * BLOCK % (RIG_MEM / 2);
	memory.segment_length = len;
	return memory;
}

/* Keeps both directions of an endpoint busy. */
static void one_post(struct ledger *requests, struct end *e, enum activity does,
		     DAT_RMR_TRIPLET far_memory)
{
	uint64_t n = ledger_next(requests);
	size_t len = n % 3 ? n % 200 : BLOCK;
	int flags = n % 4 ? SUPPRESS : 0;
	DAT_RETURN ret;

	if (does == SENDS)
		ret = do_send(e, n, 0, len, flags);
	else if (does == WRITES)
		ret = do_write(e, n, 0, part(far_memory, n, len), flags);
	else
		ret = do_read(e, n, RIG_MEM / 2, part(far_memory, n, len), flags);
	ledger_posted(requests, ret, flags == SUPPRESS);
}

static void bind_and_tell(struct ledger *requests, struct end *e, DAT_RMR_HANDLE rmr)
{
	DAT_RMR_CONTEXT c;

	if (!ledger_posted(requests, do_bind(e, rmr, ledger_next(requests), 0, BLOCK, RIGHTS_RW, &c),
			   false))
		return;
	memcpy(e->mem + NOTE, &c, sizeof(c));	/* the context is short, so the post copies it */
	ledger_posted(requests, do_send(e, ledger_next(requests), NOTE, sizeof(c), SUPPRESS), true);
}

static void receive(struct ledger *receives, struct end *e)
{
	while (ledger_posted(receives, do_recv(e, ledger_next(receives), NOTE, BLOCK), false))
		;
}

static _Noreturn void act(int sock, struct end *e, const struct card *other, enum activity does)
{
	struct ledger requests = ledger_of(e->req_evd), receives = ledger_of(e->recv_evd);
	bool any, told = false;
	DAT_RMR_HANDLE rmr;

	must(dat_rmr_create(e->pz, &rmr));
	for (;;) {
		if (does == IDLES)
			pause();
		else if (does == RECEIVES)
			receive(&receives, e);
		else if (does == BINDS)
			bind_and_tell(&requests, e, rmr);
		else
			one_post(&requests, e, does, other->memory);
		any = ledger_take(&requests);
		any |= ledger_take(&receives);
		if (any && !told)
			told = !th_send(sock, "w", 1);
	}
}

static int peer_main(int sock, void *arg)
{
	const struct peer_plan *plan = arg;
	struct card other;
	struct end e;

	end_open(&e, RIG_MEM, NULL);
	peer_join(sock, &e, &other, plan->listens);
	act(sock, &e, &other, plan->does);
}

void peer_start(struct th_child *child, const struct peer_plan *plan)
{
	peer_spawn(child, peer_main, (void *)(uintptr_t)plan);
}

void peer_meet(struct th_child *child, const struct peer_plan *plan, struct end *e,
	       struct card *other)
{
	peer_join(child->sock, e, other, !plan->listens);
}

/* ---- The work of the first process ---- */

void opposite_init(struct opposite *o, struct end *e, const struct card *peer, enum activity does)
{
	*o = (struct opposite){ .e = e, .peer = *peer, .peer_does = does };
	o->requests = ledger_of(e->req_evd);
	o->receives = ledger_of(e->recv_evd);
}

static void opposite_post(struct opposite *o)
{
	switch (o->peer_does) {
	case IDLES:
		one_post(&o->requests, o->e, o->requests.posted & 1 ? WRITES : READS, o->peer.memory);
		break;
	case RECEIVES:
		one_post(&o->requests, o->e, SENDS, o->peer.memory);
		break;
	default:
		receive(&o->receives, o->e);
	}
}

void opposite_work(struct opposite *o)
{
	opposite_post(o);
	o->moved += ledger_take(&o->requests);
	o->moved += ledger_take(&o->receives);
}
