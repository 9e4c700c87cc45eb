/* SPDX-License-Identifier: BSD-2-Clause */
/* Which calls have a result that DAT defines. */
#include "tests/walk/model.h"

static bool connect_may(const struct model *m, const struct call *c)
{
	const struct obj *ep = find(m, c->proc, c->a[0], EP), *psp = listener(m, c->a[1]);

	if (ep && (ep->evd[TO_CONNECT] < 0 || ep->conn_n))
		return false;
	if (ep && evd_load(m, c->proc, ep->evd[TO_CONNECT]) >= m->objs[c->proc][ep->evd[TO_CONNECT]].qlen)
		return false;
	/* Requests of several endpoints arrive in any order, so only one may be outstanding. */
	return psp && !psp->crs_n &&
	       evd_load(m, psp->process, psp->evd[0]) < m->objs[psp->process][psp->evd[0]].qlen;
}

static bool accept_may(const struct model *m, const struct call *c)
{
	const struct obj *ep = find(m, c->proc, c->a[1], EP), *cr = find(m, c->proc, c->a[0], CR);

	/* An endpoint that is connected to itself is in another state. */
	(void)cr;
	return !ep ||
	       (ep->evd[TO_CONNECT] >= 0 && !ep->conn_n &&
		evd_load(m, c->proc, ep->evd[TO_CONNECT]) < m->objs[c->proc][ep->evd[TO_CONNECT]].qlen);
}

static bool unfinished(const struct queue *q)
{
	for (int i = 0; i < q->n; i++) {
		if (!q->w[i].done)
			return true;
	}
	return false;
}

static bool bind_may(const struct model *m, const struct call *c)
{
	const struct obj *rmr = find(m, c->proc, c->a[0], RMR), *lmr = find(m, c->proc, c->a[1], LMR);
	const struct obj *ep = find(m, c->proc, c->a[2], EP);

	if (rmr && (rmr->binding || rmr->unsure || uses_lmr(m, c->proc, c->a[0])))
		return false;
	if (c->a[4] && !lmr && (c->a[1] < 0 || key_again(m, c->proc, c->a[1], false)))
		return false;
	if (!ep)
		return true;
	/* After a flushed bind, the old context may be valid or not. */
	return ep->evd[TO_REQUEST] >= 0 && ep->request->n < MAX_WORK - 4 && !ep->ended &&
	       evd_load(m, c->proc, ep->evd[TO_REQUEST]) + 2 < m->objs[c->proc][ep->evd[TO_REQUEST]].qlen &&
	       request_may(m, ep) && !(ep->states & STATE(DISCONNECTED));
}

static bool ep_may(const struct model *m, const struct call *c)
{
	const struct obj *ep = find(m, c->proc, c->a[0], EP);

	if (!ep || c->op == EP_QUERY || c->op == EP_GET_STATUS)
		return true;
	if (c->op == EP_RESET)
		return !ep->conn_n &&
		       (ep->states == STATE(DISCONNECTED) || !(ep->states & STATE(DISCONNECTED)));
	if (c->op == EP_DISCONNECT)
		return end_may(m, ep) && !(c->a[1] == DAT_CLOSE_GRACEFUL_FLAG && unfinished(ep->request));
	return !ep->conn_n && end_may(m, ep) && ep->states != STATE(ACTIVE_CONNECTION_PENDING);
}

static bool evd_may(const struct model *m, const struct call *c)
{
	const struct obj *evd = find(m, c->proc, c->a[0], EVD);
	int certain, possible;

	if (!evd)
		return !c->background;
	if (evd->waiting)
		return c->op == EVD_POST_SE || c->op == EVD_SET_UNWAITABLE || c->op == EVD_QUERY;
	if (c->op == EVD_POST_SE)
		return evd->se_n < MAX_EVENTS;
	/* An EVD that is too short for its possible events overflows. */
	if (c->op == EVD_RESIZE)
		return c->a[1] < evd->se_n || c->a[1] >= evd_load(m, c->proc, c->a[0]) + 4 || c->a[1] < 1;
	if (c->op != EVD_WAIT)
		return true;
	count_events(m, c->proc, c->a[0], &certain, &possible);
	if (c->background)
		return !possible && !evd->unwaitable && c->a[3] == 1 && !(evd->flags & DAT_EVD_CR_FLAG);
	return certain >= c->a[3] || possible < c->a[3];
}

bool model_may(const struct model *m, const struct call *c)
{
	const struct obj *o;

	if (m->dead[c->proc])
		return false;
	switch ((enum op)c->op) {
	case DIE:
		return !m->dead[!c->proc];
	case EP_POST_RECV:
	case EP_POST_SEND:
	case EP_POST_RDMA_WRITE:
	case EP_POST_RDMA_READ:
		return post_may(m, c);
	case RMR_BIND:
		return bind_may(m, c);
	case LMR_FREE:
		return !find(m, c->proc, c->a[0], LMR) || !uses_lmr(m, c->proc, c->a[0]);
	case RMR_FREE:
		o = find(m, c->proc, c->a[0], RMR);
		return !o || (!o->binding && !o->unsure && !uses_lmr(m, c->proc, c->a[0]));
	case PSP_FREE:
		o = find(m, c->proc, c->a[0], PSP);
		return !o || !o->crs_n;
	case EP_CONNECT:
		return connect_may(m, c);
	case CR_ACCEPT:
		return accept_may(m, c);
	case CR_REJECT:
		return true;
	case EP_FREE:
	case EP_RESET:
	case EP_DISCONNECT:
		return ep_may(m, c);
	case EVD_FREE:
	case EVD_RESIZE:
	case EVD_MODIFY_CNO:
	case EVD_POST_SE:
	case EVD_DEQUEUE:
	case EVD_WAIT:
	case EVD_ENABLE:
	case EVD_DISABLE:
	case EVD_SET_UNWAITABLE:
	case EVD_CLEAR_UNWAITABLE:
		return evd_may(m, c);
	default:
		return true;
	}
}

void model_plan(struct model *m, struct call *c)
{
	int certain = 0, possible = 0;

	m->begun = now_ms();

	if (find(m, c->proc, c->a[0], EVD))
		count_events(m, c->proc, c->a[0], &certain, &possible);
	if (c->op == EVD_DEQUEUE)
		c->a[2] = certain ? patience_ms : 0;
	else if (c->op == EVD_WAIT)
		c->a[2] = c->background        ? (int)DAT_TIMEOUT_INFINITE
			  : certain >= c->a[3] ? patience_ms * 1000
					       : 1000;
	else if (c->op == CNO_WAIT)
		c->a[1] = 0;
}

void model_begin_wait(struct model *m, const struct call *c)
{
	struct obj *evd = &m->objs[c->proc][c->a[0]];

	evd->waiting = true;
	evd->freed = false;
}

bool model_waiter_due(const struct model *m, const struct call *c)
{
	int certain, possible;

	count_events(m, c->proc, c->a[0], &certain, &possible);
	return certain >= c->a[3] || m->objs[c->proc][c->a[0]].unwaitable;
}
