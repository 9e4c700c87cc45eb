/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints, connections and posts. */
#include "tests/walk/model.h"

static void need_stream(struct model *m, const struct call *c, int arg, int flags, struct verdict *v)
{
	const struct obj *evd = c->a[arg] < 0 ? NULL : need(m, c, arg, EVD, v);

	if (evd && !(evd->flags & flags))
		v->must |= ERR(INVALID_HANDLE) | ERR(INVALID_PARAMETER);
}

void judge_ep_create(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {.can = ERR(INSUFFICIENT_RESOURCES)};
	struct obj *ep;

	need(m, c, 0, IA, &v);
	need(m, c, 2, PZ, &v);
	need_stream(m, c, 3, DAT_EVD_DTO_FLAG, &v);
	need_stream(m, c, 4, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &v);
	need_stream(m, c, 5, DAT_EVD_CONNECTION_FLAG, &v);
	if (c->a[6] < 0)
		v.must |= ERR(INVALID_PARAMETER);
	if (!succeeded(m, &v, o))
		return;
	ep = make(m, c, 1, EP);
	ep->pz = c->a[2];
	ep->dtos = c->a[6];
	ep->states = STATE(UNCONNECTED);
	ep->recv = calloc(1, sizeof(*ep->recv));
	ep->request = calloc(1, sizeof(*ep->request));
	use(m, c->proc, ep->pz, 1);
	for (int i = 0; i < 3; i++) {
		ep->evd[i] = c->a[3 + i] < 0 ? -1 : c->a[3 + i];
		use(m, c->proc, ep->evd[i], 1);
	}
}

static void forget_connection(struct model *m, struct obj *ep)
{
	drop_work(m, ep->process, ep->recv);
	drop_work(m, ep->process, ep->request);
	ep->ended = ep->late = false;
	ep->conn_n = 0;
	ep->peer = -1;
}

void judge_ep_free(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {0};
	struct obj *ep = need(m, c, 0, EP, &v);

	if (!succeeded(m, &v, o))
		return;
	if (peer_of(m, ep) && !ep->ended)
		end_connection(m, c->proc, ep, 0, CONN(DISCONNECTED) | CONN(BROKEN), true);
	forget_connection(m, ep);
	ep->live = false;
	use(m, c->proc, ep->pz, -1);
	for (int i = 0; i < 3; i++) {
		use(m, c->proc, ep->evd[i], -1);
		if (ep->evd[i] >= 0)
			m->objs[c->proc][ep->evd[i]].freed = true;
	}
}

void judge_ep_query(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {0};
	struct obj *ep = need(m, c, 0, EP, &v);

	if (!succeeded(m, &v, o))
		return;
	if (!(ep->states & (1u << o->v[1])))
		mismatch(m, "ep_state is %lld; allowed is the mask 0x%x", (long long)o->v[1], ep->states);
	else if (o->v[6] < ep->dtos || o->v[7] < ep->dtos)
		mismatch(m, "the endpoint has %lld receives and %lld requests, fewer than %d",
			 (long long)o->v[6], (long long)o->v[7], ep->dtos);
	else if (same(m, o, 0, 0, "ia_handle") && same(m, o, 2, ep->pz, "pz_handle") &&
		 same(m, o, 3, ep->evd[0], "recv_evd_handle") &&
		 same(m, o, 4, ep->evd[1], "request_evd_handle"))
		same(m, o, 5, ep->evd[2], "connect_evd_handle");
}

/* Returns true if the post cannot have completed yet. */
static bool waits(const struct queue *q)
{
	return q->n && !q->w[q->n - 1].done && !q->w[q->n - 1].maybe;
}

void judge_ep_status(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {0};
	struct obj *ep = need(m, c, 0, EP, &v);
	bool ended;

	if (!succeeded(m, &v, o))
		return;
	ended = o->v[0] == DAT_EP_STATE_DISCONNECTED;	/* the posts are flushed, if it may have ended */
	if (!(ep->states & (1u << o->v[0])))
		mismatch(m, "ep_state is %lld; allowed is the mask 0x%x", (long long)o->v[0], ep->states);
	else if (o->v[1] && !ended && waits(ep->recv))
		mismatch(m, "receives are idle, but %d are posted", ep->recv->n);
	else if (o->v[2] && !ended && waits(ep->request))
		mismatch(m, "requests are idle, but %d are posted", ep->request->n);
	else if (!o->v[1] && !ep->recv->n)
		mismatch(m, "receives are not idle, but none is posted");
	else if (!o->v[2] && !ep->request->n)
		mismatch(m, "requests are not idle, but none is posted");
}

void judge_ep_reset(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {.can = ERR(INSUFFICIENT_RESOURCES)};
	struct obj *ep = need(m, c, 0, EP, &v);

	if (ep)
		need_state(&v, ep, STATE(UNCONNECTED) | STATE(DISCONNECTED));
	if (!succeeded(m, &v, o) || ep->states == STATE(UNCONNECTED))
		return;
	forget_connection(m, ep);
	ep->states = STATE(UNCONNECTED);
}

struct obj *listener(const struct model *m, int qual)
{
	for (int p = 0; p < PROCS; p++) {
		for (int i = 0; i < SLOTS; i++) {
			struct obj *psp = find(m, p, i, PSP);

			if (psp && psp->qual == qual)
				return psp;
		}
	}
	return NULL;
}

void judge_connect(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {.can = ERR(INSUFFICIENT_RESOURCES)};
	struct obj *ep = need(m, c, 0, EP, &v), *psp = listener(m, c->a[1]);

	if (ep)
		need_state(&v, ep, STATE(UNCONNECTED));
	if (c->a[2] < 0)
		v.must |= ERR(INVALID_PARAMETER);
	if (!succeeded(m, &v, o))
		return;
	ep->states = STATE(ACTIVE_CONNECTION_PENDING);
	psp->crs[psp->crs_n].process = c->proc;
	psp->crs[psp->crs_n].ep = c->a[0];
	psp->crs[psp->crs_n++].private_size = c->a[2];
}

/* Returns the request that an endpoint has made and that the program has not answered. */
static struct obj *request_of(const struct model *m, const struct obj *ep)
{
	for (int p = 0; p < PROCS; p++) {
		for (int i = 0; i < SLOTS; i++) {
			struct obj *cr = find(m, p, i, CR);

			if (cr && cr->crs[0].process == ep->process && cr->crs[0].ep == ep->slot &&
			    !cr->aborted)
				return cr;
		}
	}
	return NULL;
}

/* Returns true if the connection of this endpoint may end now, with one result at each side. */
bool end_may(const struct model *m, const struct obj *ep)
{
	const struct obj *peer;

	if (ep->states & STATE(ACTIVE_CONNECTION_PENDING))
		return ep->states == STATE(ACTIVE_CONNECTION_PENDING) && request_of(m, ep);
	if (ep->states & STATE(COMPLETION_PENDING) || ep->conn_n > 1)
		return false;
	peer = peer_of((struct model *)m, ep);
	return ep->ended || !peer || (ep->states == STATE(CONNECTED) && peer->states == STATE(CONNECTED));
}

void judge_disconnect(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {0};
	struct obj *ep = need(m, c, 0, EP, &v), *cr;
	bool graceful = c->a[1] == DAT_CLOSE_GRACEFUL_FLAG;

	if (ep)
		need_state(&v, ep, ~(unsigned)STATE(UNCONNECTED));
	if (c->a[1] & ~1)
		v.must |= ERR(INVALID_PARAMETER);
	if (!succeeded(m, &v, o) || ep->states == STATE(DISCONNECTED))
		return;
	cr = request_of(m, ep);
	if (cr) {
		cr->aborted = true;
		end_connection(m, c->proc, ep, CONN(DISCONNECTED), 0, true);
	} else if (!ep->ended) {
		end_connection(m, c->proc, ep, CONN(DISCONNECTED), CONN(DISCONNECTED), !graceful);
	} else {
		end_twice(m, ep);
	}
	ep->states = STATE(DISCONNECTED) | (graceful && !cr ? STATE(DISCONNECT_PENDING) : 0);
}

void judge_psp_create(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {.can = ERR(INSUFFICIENT_RESOURCES) | ERR(CONN_QUAL_IN_USE)};
	const struct obj *evd;
	struct obj *psp;

	need(m, c, 0, IA, &v);
	evd = need(m, c, 2, EVD, &v);
	if (evd && !(evd->flags & DAT_EVD_CR_FLAG))
		v.must |= ERR(INVALID_HANDLE) | ERR(INVALID_PARAMETER);
	if (listener(m, c->a[3]))
		v.must |= ERR(CONN_QUAL_IN_USE);
	if (!succeeded(m, &v, o))
		return;
	psp = make(m, c, 1, PSP);
	psp->evd[0] = c->a[2];
	psp->qual = c->a[3];
	use(m, c->proc, psp->evd[0], 1);
}

void judge_psp_query(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {0};
	struct obj *psp = need(m, c, 0, PSP, &v);

	if (succeeded(m, &v, o) && same(m, o, 0, 0, "ia_handle") && same(m, o, 1, psp->qual, "conn_qual") &&
	    same(m, o, 2, psp->evd[0], "evd_handle"))
		same(m, o, 3, DAT_PSP_CONSUMER_FLAG, "psp_flags");
}

void judge_cr_query(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {0};
	struct obj *cr = need(m, c, 0, CR, &v);
	uint8_t bytes[64] = {0};

	if (!succeeded(m, &v, o))
		return;
	private_data(cr->crs[0].private_size, bytes);
	if (same(m, o, 0, cr->crs[0].private_size, "private_data_size") &&
	    same(m, o, 1, sum_of(bytes, cr->crs[0].private_size), "sum of the private data"))
		same(m, o, 2, -1, "local_ep_handle");
}

void judge_accept(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {.can = ERR(INSUFFICIENT_RESOURCES)};
	struct obj *cr = need(m, c, 0, CR, &v), *ep = need(m, c, 1, EP, &v), *peer;

	if (ep && ep->states != STATE(UNCONNECTED))
		v.must |= ERR(INVALID_STATE) | ERR(INVALID_PARAMETER) | ERR(INVALID_HANDLE);
	if (c->a[2] < 0)
		v.must |= ERR(INVALID_PARAMETER);
	if (!succeeded(m, &v, o))
		return;
	cr->live = false;
	if (cr->aborted) {
		ep->states = STATE(COMPLETION_PENDING);
		end_connection(m, c->proc, ep, CONN(ACCEPT_COMPLETION_ERROR), 0, true);
		return;
	}
	peer = &m->objs[cr->crs[0].process][cr->crs[0].ep];
	ep->states = STATE(COMPLETION_PENDING) | STATE(CONNECTED);
	peer->states |= STATE(CONNECTED);
	ep->peer = peer->slot;
	ep->peer_process = peer->process;
	peer->peer = ep->slot;
	peer->peer_process = ep->process;
	/* If memory was short, the attempt may fail at any time. */
	ep->accepted = peer->accepted = c->fail ? 0 : m->begun;
	ep->conn[ep->conn_n++] = (struct conn_event){CONN(ESTABLISHED), 0};
	peer->conn[peer->conn_n++] = (struct conn_event){CONN(ESTABLISHED), c->a[2]};
}

void judge_reject(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {0};
	struct obj *cr = need(m, c, 0, CR, &v);

	if (!succeeded(m, &v, o))
		return;
	if (!cr->aborted)
		end_connection(m, c->proc, &m->objs[cr->crs[0].process][cr->crs[0].ep], CONN(PEER_REJECTED),
			       0, true);
	cr->live = false;
}

/* ---- Transfers ---- */

void judge_post(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {0};
	struct obj *ep = need(m, c, 0, EP, &v);
	bool recv = c->op == EP_POST_RECV, rdma = c->op == EP_POST_RDMA_WRITE || c->op == EP_POST_RDMA_READ;
	int flags = recv ? 0
			 : DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG |
				    (rdma ? 0 : DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	struct queue *q = !ep ? NULL : recv ? ep->recv : ep->request;
	struct work w = {.silent = c->a[6] & DAT_COMPLETION_SUPPRESS_FLAG,
			 .cookie = c->a[5],
			 .lmr = c->a[1],
			 .n = c->a[2],
			 .off = c->a[3],
			 .len = c->a[4],
			 .process = -1};

	w.kind = recv ? RECV : c->op == EP_POST_SEND ? SEND : c->op == EP_POST_RDMA_READ ? READ : WRITE;
	if (w.kind == SEND || w.kind == WRITE)
		fill_shadow(m, c, w.n, w.off, w.len, w.cookie);
	if (rdma) {
		w.process = c->a[7];
		w.slot = c->a[8];
		w.at = c->a[9];
	}
	if (c->a[2] < 0 || c->a[2] > IOV || (c->a[6] & ~flags))
		v.must |= ERR(INVALID_PARAMETER);
	if (ep && !recv)
		need_state(&v, ep, STATE(CONNECTED) | STATE(DISCONNECTED));
	if (q && q->n >= ep->dtos)
		v.can |= ERR(INSUFFICIENT_RESOURCES);
	if (w.len && !find(m, c->proc, w.lmr, LMR))
		v.can |= ERR(PRIVILEGES_VIOLATION) | ERR(PROTECTION_VIOLATION) | ERR(INVALID_PARAMETER);
	else if (w.len && ep && find(m, c->proc, w.lmr, LMR))
		v.can |= ERR(PRIVILEGES_VIOLATION) | ERR(PROTECTION_VIOLATION) | ERR(INVALID_PARAMETER);
	if (succeeded(m, &v, o))
		queue_work(m, c->proc, ep, q, &w);
}
