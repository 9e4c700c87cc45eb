/* SPDX-License-Identifier: BSD-2-Clause */
/* Events: which ones must come at an EVD, which ones may, and their order. */
#include <stdarg.h>

#include "tests/walk/model.h"

bool mismatch(struct model *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(m->why, sizeof(m->why), format, args);
	va_end(args);
	return false;
}

struct obj *peer_of(struct model *m, const struct obj *ep)
{
	struct obj *peer = ep->peer < 0 ? NULL : find(m, ep->peer_process, ep->peer, EP);

	return peer && peer->peer == ep->slot && peer->peer_process == ep->process ? peer : NULL;
}

/*
 * A silent request has an event only if it fails. The provider detects a failed transfer when its
 * completion is dequeued at either side. Until then, the other effects of the failure may or may not have
 * come. Posts up to the failed one complete in any case.
 */
static void count_queue(const struct obj *ep, const struct queue *q, int *certain, int *possible)
{
	int cause = q->n - 1;
	bool sure = true;

	while (cause >= 0 && !q->w[cause].cause)
		cause--;

	for (int i = 0; i < q->n && (q->w[i].done || q->w[i].maybe || may_fail_to_connect(ep)); i++) {
		const struct work *w = &q->w[i];

		if (w->reported)
			continue;
		sure &= w->done;
		sure &= !ep->late || i <= cause || !(w->allowed & STATUS(ERR_FLUSHED));
		if (sure && (!w->silent || !(w->allowed & STATUS(SUCCESS))))
			(*certain)++;
		if (!w->silent || w->allowed != STATUS(SUCCESS))
			(*possible)++;
	}
}

void end_late(struct model *m, struct obj *ep)
{
	struct obj *peer = peer_of(m, ep);

	ep->late = false;
	if (peer)
		peer->late = false;
}

/* A process that has died may not have sent its request. */
static void count_requests(const struct model *m, const struct obj *psp, int *certain, int *possible)
{
	for (int i = 0; i < psp->crs_n; i++)
		*certain += !m->dead[psp->crs[i].process];
	*possible += psp->crs_n;
}

void count_events(const struct model *m, int process, int evd, int *certain, int *possible)
{
	int sure = m->objs[process][evd].se_n;

	*certain = *possible = 0;
	for (int i = 0; i < SLOTS; i++) {
		const struct obj *o = &m->objs[process][i];

		if (o->kind == PSP && o->evd[0] == evd)
			count_requests(m, o, certain, possible);
		if (o->kind != EP || !o->live)
			continue;
		if (o->evd[TO_CONNECT] == evd)
			*possible += o->conn_n;
		if (o->evd[TO_CONNECT] == evd && !o->late)
			*certain += may_fail_to_connect(o) ? 1 : o->conn_n;
		if (o->evd[TO_RECV] == evd)
			count_queue(o, o->recv, certain, possible);
		if (o->evd[TO_REQUEST] == evd)
			count_queue(o, o->request, certain, possible);
	}
	*certain += sure;
	*possible += sure;
}

/* The number of events if all posted work completes. */
int evd_load(const struct model *m, int process, int evd)
{
	int load = m->objs[process][evd].se_n;

	for (int i = 0; i < SLOTS; i++) {
		const struct obj *o = &m->objs[process][i];

		if (o->kind == PSP && o->evd[0] == evd)
			load += o->crs_n;
		if (o->kind != EP || !o->live)
			continue;
		load += (o->evd[TO_CONNECT] == evd ? 2 : 0) + (o->evd[TO_RECV] == evd ? o->recv->n : 0) +
			(o->evd[TO_REQUEST] == evd ? o->request->n : 0);
	}
	return load;
}

/* ---- Completions ---- */

static struct work *next_with_event(struct queue *q, int cookie)
{
	for (int i = 0; i < q->n; i++) {
		if (q->w[i].reported)
			continue;
		if (q->w[i].cookie == cookie)
			return &q->w[i];
		if (!q->w[i].silent || !(q->w[i].allowed & STATUS(SUCCESS)))
			return NULL;
	}
	return NULL;
}

static bool judge_work(struct model *m, const struct call *c, struct obj *ep, struct queue *q,
		       struct work *w, const struct outcome *o)
{
	DAT_DTO_COMPLETION_STATUS status = (DAT_DTO_COMPLETION_STATUS)o->v[2];
	int expected = w->kind == RECV ? w->length : w->len;

	if (status == DAT_DTO_ERR_FLUSHED && may_fail_to_connect(ep))
		fail_to_connect(m, ep);
	if (!w->done && !w->maybe)
		return mismatch(m, "the post with cookie %d cannot have completed", w->cookie);
	if (!(w->allowed & (1u << status)))
		return mismatch(m, "status %d of the post with cookie %d; allowed is the mask 0x%x", status,
				w->cookie, w->allowed);
	if (q->failed && status == DAT_DTO_SUCCESS)
		return mismatch(m, "the post with cookie %d succeeds after an earlier one has failed",
				w->cookie);
	if (status == DAT_DTO_SUCCESS && w->silent)
		return mismatch(m, "the suppressed post with cookie %d has an event", w->cookie);
	if (status == DAT_DTO_SUCCESS && w->kind != BIND && expected >= 0 && o->v[3] != expected)
		return mismatch(m,
				"%lld bytes were reported for the post with cookie %d instead of "
				"%d",
				(long long)o->v[3], w->cookie, expected);
	for (int i = 0; i < ep->conn_n; i++) {
		if (ep->conn[i].allowed == CONN(ESTABLISHED) && ep->evd[TO_CONNECT] == c->a[0])
			return mismatch(m, "a completion comes before ESTABLISHED");
	}
	q->failed |= status != DAT_DTO_SUCCESS;
	if (q->failed)
		/* also if the work was flushed only because this side knows of the end */
		end_late(m, ep);
	complete_work(m, c->proc, ep, q, w, status);
	return true;
}

static bool judge_completion(struct model *m, const struct call *c, const struct outcome *o)
{
	struct obj *ep = find(m, c->proc, (int)o->v[0], EP);
	struct work *w;

	if (!ep)
		return mismatch(m, "a completion names endpoint %lld, which does not exist",
				(long long)o->v[0]);
	if (ep->evd[TO_RECV] == c->a[0]) {
		w = next_with_event(ep->recv, (int)o->v[1]);
		if (w)
			return judge_work(m, c, ep, ep->recv, w, o);
	}
	if (ep->evd[TO_REQUEST] == c->a[0]) {
		w = next_with_event(ep->request, (int)o->v[1]);
		if (w && w->kind != BIND)
			return judge_work(m, c, ep, ep->request, w, o);
	}
	return mismatch(m, "cookie %lld is not that of the next completion of endpoint %lld",
			(long long)o->v[1], (long long)o->v[0]);
}

static bool judge_bind(struct model *m, const struct call *c, const struct outcome *o)
{
	for (int i = 0; i < SLOTS; i++) {
		struct obj *ep = find(m, c->proc, i, EP);
		struct work *w = ep && ep->evd[TO_REQUEST] == c->a[0]
					 ? next_with_event(ep->request, (int)o->v[1])
					 : NULL;

		if (!w || w->kind != BIND)
			continue;
		if (w->slot != o->v[0] && find(m, c->proc, w->slot, RMR))
			return mismatch(m, "the bind with cookie %d names another RMR", w->cookie);
		return judge_work(m, c, ep, ep->request, w, o);
	}
	return mismatch(m, "cookie %lld is not the one of the next bind", (long long)o->v[1]);
}

/* ---- Connections ---- */

static bool judge_request(struct model *m, const struct call *c, const struct outcome *o)
{
	struct obj *psp = find(m, c->proc, (int)o->v[0], PSP), *cr = at(m, c->proc, c->a[1]);

	if (!psp || psp->evd[0] != c->a[0] || !psp->crs_n)
		return mismatch(m, "no endpoint made the connection request at service point %lld",
				(long long)o->v[0]);
	if (o->v[1] != psp->qual)
		return mismatch(m, "the connection request is for qualifier %lld instead of %d",
				(long long)o->v[1], psp->qual);
	if (cr) {
		cr->kind = CR;
		cr->live = true;
		cr->crs[0] = psp->crs[0];
		cr->aborted = m->dead[cr->crs[0].process];
		cr->context = 0;
	}
	psp->crs_n--;
	memmove(psp->crs, psp->crs + 1, sizeof(psp->crs[0]) * (size_t)psp->crs_n);
	return true;
}

static bool judge_connection(struct model *m, const struct call *c, const struct outcome *o)
{
	struct obj *ep = find(m, c->proc, (int)o->v[0], EP);
	bool established = o->event == DAT_CONNECTION_EVENT_ESTABLISHED;
	struct conn_event next;
	uint8_t bytes[64] = {0};

	if (!ep || ep->evd[TO_CONNECT] != c->a[0] || !ep->conn_n)
		return mismatch(m, "event 0x%x was not due for endpoint %lld", o->event,
				(long long)o->v[0]);
	next = ep->conn[0];
	if (!(next.allowed & (1u << (o->event & 0xf))))
		return mismatch(m, "event 0x%x of endpoint %d; allowed is the mask 0x%x", o->event,
				ep->slot, next.allowed);
	if (!established && may_fail_to_connect(ep)) {
		fail_to_connect(m, ep);
		ep->conn_n = 1;
		next.private_size = 0;
	}
	if (o->v[1] != next.private_size)
		return mismatch(m, "%lld bytes of private data came to endpoint %d instead of %d",
				(long long)o->v[1], ep->slot, next.private_size);
	private_data(next.private_size, bytes);
	if (o->v[2] != sum_of(bytes, next.private_size))
		return mismatch(m, "endpoint %d got other private data than was sent", ep->slot);
	if (ep->late && !established)
		end_late(m, ep);
	memmove(ep->conn, ep->conn + 1, sizeof(ep->conn[0]) * (size_t)--ep->conn_n);
	if (established)
		ep->states = ep->ended ? STATE(CONNECTED) | STATE(DISCONNECTED) : STATE(CONNECTED);
	else
		ep->states = STATE(DISCONNECTED);
	return true;
}

bool came_before_free(const struct model *m, const struct call *c, const struct obj *evd,
		      const struct outcome *o)
{
	return evd && evd->freed && o->ret == DAT_SUCCESS && o->event == DAT_DTO_COMPLETION_EVENT &&
	       !model_live(m, c->proc, (int)o->v[0]);
}

bool judge_event(struct model *m, const struct call *c, struct obj *evd, const struct outcome *o)
{
	if (o->v[6] != 1)
		return mismatch(m, "an event names another EVD as its own");
	switch (o->event) {
	case DAT_DTO_COMPLETION_EVENT:
		return judge_completion(m, c, o);
	case DAT_RMR_BIND_COMPLETION_EVENT:
		return judge_bind(m, c, o);
	case DAT_CONNECTION_REQUEST_EVENT:
		return judge_request(m, c, o);
	case DAT_SOFTWARE_EVENT:
		if (!evd->se_n || evd->se[0] != o->v[0])
			return mismatch(m, "software event %lld is not the next one", (long long)o->v[0]);
		memmove(evd->se, evd->se + 1, sizeof(evd->se[0]) * (size_t)--evd->se_n);
		return true;
	default:
		if (o->event >> 12 != 4)
			return mismatch(m, "event 0x%x belongs to no stream of this EVD", o->event);
		return judge_connection(m, c, o);
	}
}
