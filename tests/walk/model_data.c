/* SPDX-License-Identifier: BSD-2-Clause */
/* Transfers: the bytes that they move, the rights that they need, and how they end. */
#include "tests/walk/model.h"

static bool range_free(const struct model *m, int process, int off, int len)
{
	if (off < 0 || len < 0 || off + len > BYTES)
		return false;
	for (int i = off; i < off + len; i++) {
		if (m->busy[process][i])
			return false;
	}
	return true;
}

static void range_hold(struct model *m, int process, int off, int len, int delta)
{
	for (int i = off; i < off + len; i++)
		m->busy[process][i] = (uint8_t)(m->busy[process][i] + delta);
}

static void range_forget(struct model *m, int process, int off, int len)
{
	memset(&m->unknown[process][off], 1, (size_t)len);
}

/* Keeps the bytes of a message as they are at its post. */
void fill_shadow(struct model *m, const struct call *c, int n, int off, int len, int cookie)
{
	for (int i = 0; i < len; i++) {
		int to = locate(n, off, len, i);

		m->shadow[c->proc][to] = pattern(cookie, i);
		m->unknown[c->proc][to] = false;
	}
}

static uint8_t *message_bytes(const struct model *m, int process, int n, int off, int len)
{
	uint8_t *bytes = malloc((size_t)len + 1);

	for (int i = 0; i < len; i++)
		bytes[i] = m->shadow[process][locate(n, off, len, i)];
	return bytes;
}

/* ---- The end of a transfer ---- */

static void store_local(struct model *m, int process, const struct work *w, int len)
{
	for (int i = 0; i < len; i++) {
		int to = locate(w->n, w->off, w->len, i);

		m->shadow[process][to] = w->data[i];
		m->unknown[process][to] = false;
	}
}

static void store_remote(struct model *m, struct work *w)
{
	if (w->visible)
		return;
	range_hold(m, w->process, w->at, w->len, -1);
	memcpy(&m->shadow[w->process][w->at], w->data, (size_t)w->len);
	memset(&m->unknown[w->process][w->at], 0, (size_t)w->len);
	w->visible = true;
}

static void settle_rmr(struct model *m, int process, const struct work *w, bool success)
{
	struct obj *rmr = find(m, process, w->slot, RMR);

	if (!rmr)
		return;
	rmr->binding = false;
	if (!success)
		rmr->unsure = true;
}

/* A message has arrived, so the writes that were posted before it have arrived as well. */
static void settle_earlier_writes(struct model *m, const struct obj *ep, const struct work *recv)
{
	struct obj *from = peer_of(m, ep);
	int n = from ? from->request->n : 0, sent = 0;

	while (sent < n && from->request->w[sent].cookie != recv->from_cookie)
		sent++;
	for (int i = 0; sent < n && i < sent; i++) {
		struct work *w = &from->request->w[i];

		if (w->kind == WRITE && w->allowed == STATUS(SUCCESS))
			store_remote(m, w);
	}
}

/* An EFA writes each segment by itself, so those that are inside the window may have arrived. */
static void forget_segments(struct model *m, const struct work *w)
{
	const struct obj *o = &m->objs[w->process][w->slot];
	int from = w->at > o->off ? w->at : o->off, end = w->at + w->len;

	if (end > o->off + o->len)
		end = o->off + o->len;
	if (m->eager && w->n > 1 && end > from)
		range_forget(m, w->process, from, end - from);
}

static void settle(struct model *m, int process, const struct obj *ep, struct work *w,
		   DAT_DTO_COMPLETION_STATUS status)
{
	bool success = status == DAT_DTO_SUCCESS;

	if (w->kind == GONE)
		return;
	if (w->kind == BIND) {
		settle_rmr(m, process, w, success);
		return;
	}
	range_hold(m, process, w->off, w->len, -1);
	if (w->kind == RECV && success && w->length >= 0) {
		store_local(m, process, w, w->length);
		settle_earlier_writes(m, ep, w);
	} else if (w->kind == READ && success) {
		store_local(m, process, w, w->len);
	} else if (w->kind == RECV || w->kind == READ) {
		range_forget(m, process, w->off, w->len);
	}
	if (w->kind == WRITE && success) {
		store_remote(m, w);
	} else if (m->lossy && w->kind == WRITE && !w->visible) {
		/* A packet that was delayed may still come, so these bytes are not used again. */
		w->visible = true;
	} else if ((w->kind == WRITE || w->kind == READ) && !w->visible) {
		range_hold(m, w->process, w->at, w->len, -1);
		/* A refused write of one segment changes no byte. */
		if (w->kind == WRITE && w->data && status != DAT_DTO_ERR_REMOTE_ACCESS)
			range_forget(m, w->process, w->at, w->len);
		else if (w->kind == WRITE)
			forget_segments(m, w);
	}
	free(w->data);
	w->data = NULL;
}

/* A completion implies those of earlier silent requests. A send is kept until its message has a
 * receive. */
void complete_work(struct model *m, int process, const struct obj *ep, struct queue *q, struct work *w,
		   DAT_DTO_COMPLETION_STATUS status)
{
	int n = 0;

	for (struct work *x = q->w; x <= w; x++) {
		if (!x->reported && (x->done || x->kind != SEND)) {
			settle(m, process, ep, x, x == w ? status : DAT_DTO_SUCCESS);
			x->done = true;
			x->kind = GONE;
		}
		x->reported = true;
	}
	while (n < q->n && q->w[n].kind == GONE)
		n++;
	q->n -= n;
	memmove(q->w, &q->w[n], (size_t)q->n * sizeof(q->w[0]));
}

/* Posts that were discarded have no completion, so their bytes are unknown. */
void drop_work(struct model *m, int process, struct queue *q)
{
	for (int i = 0; i < q->n; i++)
		settle(m, process, NULL, &q->w[i], DAT_DTO_ERR_FLUSHED);
	q->n = 0;
	q->failed = false;
}

/* ---- Rights ---- */

static bool local_right(const struct model *m, int process, const struct obj *ep, const struct work *w,
			int priv)
{
	const struct obj *lmr = find(m, process, w->lmr, LMR);

	return !w->len || (lmr && lmr->pz == ep->pz && (lmr->priv & priv) && w->off >= lmr->off &&
			   w->off + w->len <= lmr->off + lmr->len);
}

static bool remote_right(const struct model *m, const struct obj *target_ep, const struct work *w)
{
	const struct obj *o = &m->objs[w->process][w->slot];
	int priv = w->kind == WRITE ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : DAT_MEM_PRIV_REMOTE_READ_FLAG;

	if (!o->live || (o->kind != LMR && o->kind != RMR) || (o->kind == RMR && o->lmr < 0))
		return false;
	return o->pz == target_ep->pz && (o->priv & priv) && w->at >= o->off &&
	       w->at + w->len <= o->off + o->len;
}

bool uses_lmr(const struct model *m, int process, int slot)
{
	for (int p = 0; p < PROCS; p++) {
		for (int i = 0; i < SLOTS; i++) {
			const struct obj *o = &m->objs[p][i];
			const struct queue *q[] = {o->recv, o->request};

			for (int k = 0; o->live && k < 2; k++) {
				for (int j = 0; q[k] && j < q[k]->n; j++) {
					const struct work *w = &q[k]->w[j];

					if ((p == process && w->lmr == slot) ||
					    (w->kind != RECV && w->kind != SEND && w->slot == slot &&
					     w->process == process))
						return true;
				}
			}
		}
	}
	return false;
}

/* May the key of a freed object belong to another object? */
bool key_again(const struct model *m, int process, int slot, bool remote)
{
	const struct obj *o = &m->objs[process][slot];

	for (int i = 0; i < SLOTS; i++) {
		const struct obj *other = &m->objs[process][i];

		if (i == slot || !other->live || (other->kind != LMR && other->kind != RMR))
			continue;
		if (remote ? other->rmr_key == o->rmr_key : other->lmr_key == o->lmr_key)
			return true;
	}
	return false;
}

/* ---- Execution in the order of the posts ---- */

/* A failure ends the connection; later requests are flushed. */
static void fail_request(struct model *m, int process, struct obj *ep, int i, uint32_t allowed)
{
	ep->request->w[i].done = true;
	/* The peer may end the connection before the answer arrives, or the answer is lost. */
	ep->request->w[i].allowed = allowed | STATUS(ERR_FLUSHED) | (m->lossy ? STATUS(ERR_TRANSPORT) : 0);
	ep->request->w[i].cause = true;
	for (int k = i + 1; k < ep->request->n; k++) {
		ep->request->w[k].done = true;
		ep->request->w[k].allowed =
			STATUS(ERR_FLUSHED) | (ep->request->w[k].maybe ? STATUS(SUCCESS) : 0);
	}
	end_connection(m, process, ep, CONN(BROKEN), CONN(BROKEN) | CONN(DISCONNECTED), m->lossy);
	ep->late = true;
	if (peer_of(m, ep))
		peer_of(m, ep)->late = true;
}

static struct work *next_receive(struct obj *peer)
{
	for (int i = 0; i < peer->recv->n; i++) {
		if (!peer->recv->w[i].done)
			return &peer->recv->w[i];
	}
	return NULL;
}

/* Executes a send. False: the message waits, because no receive is posted. */
static bool run_send(struct model *m, int process, struct obj *ep, struct obj *peer, int i)
{
	struct work *w = &ep->request->w[i], *r;

	if (!local_right(m, process, ep, w, DAT_MEM_PRIV_LOCAL_READ_FLAG)) {
		fail_request(m, process, ep, i, STATUS(ERR_LOCAL_PROTECTION));
		return true;
	}
	r = next_receive(peer);
	if (!r)
		return false;
	r->done = true;
	r->length = w->len;
	r->from_cookie = w->cookie;
	/* An adapter may find either error first. */
	r->allowed = w->len > r->len ? STATUS(ERR_LOCAL_LENGTH) : 0;
	if (w->len && !local_right(m, ep->peer_process, peer, r, DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		r->allowed |= STATUS(ERR_LOCAL_PROTECTION);
	if (r->allowed) {
		r->cause = true;
		fail_request(m, process, ep, i,
			     STATUS(ERR_REMOTE_RESPONDER) | (m->eager ? STATUS(SUCCESS) : 0));
		return true;
	}
	r->allowed = STATUS(SUCCESS);
	r->data = message_bytes(m, process, w->n, w->off, w->len);
	w->done = true;
	return true;
}

static void run_rdma(struct model *m, int process, struct obj *ep, struct obj *peer, int i)
{
	struct work *w = &ep->request->w[i];
	int priv = w->kind == WRITE ? DAT_MEM_PRIV_LOCAL_READ_FLAG : DAT_MEM_PRIV_LOCAL_WRITE_FLAG;

	if (w->data) {
		/* the request was executed before, while an earlier message waited */
		w->done = true;
		return;
	}
	if (w->len && !remote_right(m, peer, w)) {
		uint32_t allowed = STATUS(ERR_REMOTE_ACCESS);

		if (!local_right(m, process, ep, w, priv))
			allowed |= STATUS(ERR_LOCAL_PROTECTION);
		fail_request(m, process, ep, i, allowed);
		return;
	}
	if (!local_right(m, process, ep, w, priv)) {
		fail_request(m, process, ep, i, STATUS(ERR_LOCAL_PROTECTION));
		return;
	}
	w->done = true;
	if (w->kind == WRITE) {
		w->data = message_bytes(m, process, w->n, w->off, w->len);
	} else {
		w->data = malloc((size_t)w->len + 1);
		memcpy(w->data, &m->shadow[w->process][w->at], (size_t)w->len);
	}
}

/* Executes requests. A message without a receive waits. Requests behind it wait as well, unless the
 * adapter is eager. */
static void run_requests(struct model *m, int process, struct obj *ep)
{
	struct obj *peer = peer_of(m, ep);
	bool blocked = false;

	for (int i = 0; peer && i < ep->request->n && !ep->ended; i++) {
		struct work *w = &ep->request->w[i];

		if (w->done)
			continue;
		if (w->kind == SEND && !blocked)
			blocked = !run_send(m, process, ep, peer, i);
		else if (w->kind == WRITE || w->kind == READ)
			run_rdma(m, process, ep, peer, i);
		else if (w->kind == BIND)
			w->done = true;
		if (!blocked)
			continue;
		w->maybe = m->eager;
		w->done = false;
		if (!m->eager)
			return;
	}
}

void queue_work(struct model *m, int process, struct obj *ep, struct queue *q, const struct work *w)
{
	struct work *to = &q->w[q->n++];

	*to = *w;
	to->allowed = STATUS(SUCCESS);
	to->length = -1;
	if (w->kind != BIND)
		range_hold(m, process, w->off, w->len, 1);
	if (w->kind == WRITE || w->kind == READ)
		range_hold(m, w->process, w->at, w->len, 1);
	if (!ep)
		return;
	if (ep->states == STATE(DISCONNECTED)) {
		to->done = true;
		to->allowed = STATUS(ERR_FLUSHED);
		return;
	}
	if (w->kind != RECV)
		run_requests(m, process, ep);
	else if (peer_of(m, ep) && !ep->ended)
		run_requests(m, ep->peer_process, peer_of(m, ep));
}

/* ---- Posts whose result DAT defines ---- */

static bool rdma_may(const struct model *m, const struct call *c, const struct obj *ep)
{
	const struct obj *o;
	int process = c->a[7], slot = c->a[8];

	if (process < 0 || process >= PROCS || slot < 0 || !range_free(m, process, c->a[9], c->a[4]))
		return false;
	if (process == c->proc && c->a[9] < c->a[3] + c->a[4] && c->a[3] < c->a[9] + c->a[4])
		return false;
	o = &m->objs[process][slot];
	if ((o->kind != LMR && o->kind != RMR) || o->unsure || o->binding)
		return false;
	if (ep && ep->peer >= 0 && ep->peer_process != process)
		return false;
	if (key_again(m, process, slot, true) || memchr(&m->unknown[process][c->a[9]], 1, (size_t)c->a[4]))
		return false;
	if (ep && ep->request->n && !ep->request->w[ep->request->n - 1].done &&
	    peer_of((struct model *)m, ep)) {
		struct work w = {.kind = c->op == EP_POST_RDMA_READ ? READ : WRITE,
				 .lmr = c->a[1],
				 .off = c->a[3],
				 .len = c->a[4],
				 .process = process,
				 .slot = slot,
				 .at = c->a[9]};

		/* The request is behind a message that waits, so the time of its failure is
		 * unknown. */
		return local_right(m, c->proc, ep, &w, DAT_MEM_PRIV_LOCAL_WRITE_FLAG) &&
		       local_right(m, c->proc, ep, &w, DAT_MEM_PRIV_LOCAL_READ_FLAG) &&
		       remote_right(m, peer_of((struct model *)m, ep), &w);
	}
	return true;
}

/*
 * If the peer has no receive, a message from unreadable memory fails at once, or when it is sent.
 */
static bool local_error_may(const struct model *m, const struct call *c, const struct obj *ep)
{
	struct work w = {.lmr = c->a[1], .off = c->a[3], .len = c->a[4]};
	struct obj *peer = peer_of((struct model *)m, ep);

	return !peer || local_right(m, c->proc, ep, &w, DAT_MEM_PRIV_LOCAL_READ_FLAG) ||
	       ((!ep->request->n || ep->request->w[ep->request->n - 1].done) && next_receive(peer));
}

/*
 * A request has one result if the state is known. A message to the active side may come before its
 * ESTABLISHED. The pages exclude that, the provider does not: both sides have their events first.
 */
bool request_may(const struct model *m, const struct obj *ep)
{
	const struct obj *peer = peer_of((struct model *)m, ep);

	if (ep->states == STATE(CONNECTED))
		return peer && peer->states == STATE(CONNECTED);
	return !(ep->states & STATE(CONNECTED));
}

bool post_may(const struct model *m, const struct call *c)
{
	bool recv = c->op == EP_POST_RECV;
	const struct obj *ep = find(m, c->proc, c->a[0], EP);
	const struct queue *q = !ep ? NULL : recv ? ep->recv : ep->request;
	int lmr = c->a[1];

	if (c->a[2] < 1 || c->a[2] > IOV) {
		if (c->a[4])
			return false;
	} else if (!range_free(m, c->proc, c->a[3], c->a[4])) {
		return false;
	}
	/* The context of an object that is no LMR, or was freed, belongs to no region. */
	if (lmr < 0 || m->objs[c->proc][lmr].kind != LMR || key_again(m, c->proc, lmr, false))
		return false;
	/* A receive that is only partly in its region may fail, depending on the message. */
	if (recv && c->a[3] < m->objs[c->proc][lmr].off + m->objs[c->proc][lmr].len &&
	    c->a[3] + c->a[4] > m->objs[c->proc][lmr].off &&
	    (c->a[3] < m->objs[c->proc][lmr].off ||
	     c->a[3] + c->a[4] > m->objs[c->proc][lmr].off + m->objs[c->proc][lmr].len))
		return false;
	if (c->op == EP_POST_RDMA_WRITE || c->op == EP_POST_RDMA_READ) {
		if (!rdma_may(m, c, ep))
			return false;
	}
	if (!ep)
		return true;
	if (q->n > MAX_WORK - 4 || ep->evd[recv ? TO_RECV : TO_REQUEST] < 0)
		return false;
	if (evd_load(m, c->proc, ep->evd[recv ? TO_RECV : TO_REQUEST]) + 2 >=
	    m->objs[c->proc][ep->evd[recv ? TO_RECV : TO_REQUEST]].qlen)
		return false;
	if (c->op == EP_POST_SEND && !local_error_may(m, c, ep))
		return false;
	/* Until the event of the connection's end comes, it is unknown whether a post came before
	 * the end. */
	if (ep->ended && ep->states != STATE(DISCONNECTED))
		return false;
	return recv || request_may(m, ep);
}
