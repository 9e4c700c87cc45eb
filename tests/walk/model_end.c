/* SPDX-License-Identifier: BSD-2-Clause */
/* How connections, attempts to connect, and processes end. */
#include "tests/walk/model.h"

/* Returns the events that an attempt to connect may have instead of ESTABLISHED. */
static uint32_t failed_attempt(const struct obj *ep)
{
	return ep->states & STATE(COMPLETION_PENDING) ? CONN(ACCEPT_COMPLETION_ERROR)
						      : CONN(NON_PEER_REJECTED) | CONN(TIMED_OUT);
}

/* Flushes the requests of a queue. Those that were done before keep their success. */
static void end_queue(struct queue *q, bool keep, uint32_t also)
{
	for (int i = 0; i < q->n; i++) {
		struct work *w = &q->w[i];

		if (!w->done)
			w->allowed = STATUS(ERR_FLUSHED) | also | (w->maybe ? STATUS(SUCCESS) : 0) |
				     (w->cause ? w->allowed : 0);
		else if (!keep)
			w->allowed |= STATUS(ERR_FLUSHED) | also;
		w->done = true;
	}
}

/* here and there: the events that the two sides may get */
void end_connection(struct model *m, int process, struct obj *ep, uint32_t here, uint32_t there,
		    bool abrupt)
{
	struct obj *peer = peer_of(m, ep);
	uint32_t retried = STATUS(ERR_TRANSPORT);

	(void)process;
	ep->ended = true;
	end_queue(ep->request, !abrupt, m->lossy ? retried : 0);
	end_queue(ep->recv, false, 0);
	if (here)
		ep->conn[ep->conn_n++] = (struct conn_event){here, 0};
	ep->states |= STATE(DISCONNECTED);
	if (!peer || peer->ended)
		return;
	peer->ended = true;
	end_queue(peer->request, false, retried);
	end_queue(peer->recv, !abrupt, 0);
	if (peer->conn_n)
		peer->conn[0].allowed |= failed_attempt(peer);
	peer->conn[peer->conn_n++] = (struct conn_event){there, 0};
	peer->states |= STATE(DISCONNECTED);
}

/* ---- Attempts to connect that fail ---- */

bool may_fail_to_connect(const struct obj *ep)
{
	return ep->conn_n && (ep->conn[0].allowed & CONN(ESTABLISHED)) &&
	       ep->conn[0].allowed != CONN(ESTABLISHED);
}

/* Each side gets an event of failure, or the event of the connection's end after ESTABLISHED. */
void fail_to_connect(struct model *m, struct obj *ep)
{
	const uint32_t end = CONN(BROKEN) | CONN(DISCONNECTED);

	if (!ep->ended)
		end_connection(m, ep->process, ep, end, end, true);
}

/*
 * dat_cr_accept(3): the attempt may fail for any reason; the provider's is a peer that does not answer
 * within ten seconds. A process that is stopped, or a busy machine, may take longer.
 */
void let_attempts_time_out(struct model *m)
{
	enum { ANSWER_MS = 10000 };

	for (int i = 0; i < PROCS * SLOTS; i++) {
		struct obj *ep = &m->objs[i / SLOTS][i % SLOTS];

		if (ep->kind != EP || !ep->live || !ep->conn_n || ep->conn[0].allowed != CONN(ESTABLISHED) ||
		    now_ms() - ep->accepted < ANSWER_MS)
			continue;
		ep->conn[0].allowed |= failed_attempt(ep);
		ep->states |= STATE(DISCONNECTED);
	}
}

/* ---- The death of a process ---- */

/* The process with the request has died. The attempt fails, or is repeated until the timeout. */
static void lose_request(struct model *m, int process, int slot)
{
	struct obj *ep = find(m, process, slot, EP);

	if (!ep || m->dead[process] || ep->ended)
		return;
	end_connection(m, process, ep, CONN(NON_PEER_REJECTED), 0, true);
	ep->late = true;
}

static void lose_object(struct model *m, struct obj *o)
{
	if (o->kind == EP && o->ended)
		end_twice(m, o);
	else if (o->kind == EP && peer_of(m, o))
		end_connection(m, o->process, o, 0, CONN(BROKEN) | CONN(DISCONNECTED), true);
	for (int i = 0; (o->kind == PSP && i < o->crs_n) || (o->kind == CR && !o->aborted && i < 1); i++)
		lose_request(m, o->crs[i].process, o->crs[i].ep);
}

/* Transfers of the dead process may still arrive, so the bytes that they use stay in use. */
void model_die(struct model *m, int process)
{
	m->dead[process] = true;
	for (int i = 0; i < SLOTS; i++) {
		struct obj *o = &m->objs[process][i], *other = &m->objs[!process][i];

		if (o->live)
			lose_object(m, o);
		if (other->kind == CR && other->crs[0].process == process)
			other->aborted = true;
	}
	for (int i = 0; i < SLOTS; i++)
		m->objs[process][i].live = false;
}

/* The connection ends a second time, perhaps by death, before the first end has been seen. Any
 * transfer may be flushed. */
void end_twice(struct model *m, struct obj *ep)
{
	const uint32_t also = m->dead[ep->process] ? CONN(BROKEN) : 0;
	struct obj *sides[] = {ep, peer_of(m, ep)};

	for (int i = 0; i < 2 && sides[i]; i++) {
		end_queue(sides[i]->request, false, STATUS(ERR_TRANSPORT));
		end_queue(sides[i]->recv, false, 0);
		if (sides[i]->conn_n)
			sides[i]->conn[sides[i]->conn_n - 1].allowed |= CONN(DISCONNECTED) | also;
	}
	end_late(m, ep);
}
