/* SPDX-License-Identifier: BSD-2-Clause */
/* The model's objects: which calls DAT allows, what they return, and what they change. */
#include "tests/walk/model.h"

struct model *model_new(const struct shared *s)
{
	struct model *m = calloc(1, sizeof(*m));

	m->s = s;
	/* an EFA keeps messages for which no receive has been posted yet */
	m->eager = strstr(s->ia, "efa");
	m->lossy = s->faults;
	m->bad_at = -1;
	memcpy(m->shadow, s->mem, sizeof(m->shadow));
	for (int p = 0; p < PROCS; p++) {
		for (int i = 0; i < SLOTS; i++) {
			m->objs[p][i].process = p;
			m->objs[p][i].slot = i;
			m->objs[p][i].lmr = m->objs[p][i].peer = -1;
		}
		m->objs[p][0].kind = IA;
		m->objs[p][0].live = true;
	}
	return m;
}

static void free_queue(struct queue *q)
{
	for (int i = 0; q && i < q->n; i++)
		free(q->w[i].data);
	free(q);
}

void model_free(struct model *m)
{
	for (int p = 0; p < PROCS; p++) {
		for (int i = 0; i < SLOTS; i++) {
			free_queue(m->objs[p][i].recv);
			free_queue(m->objs[p][i].request);
		}
	}
	free(m);
}

const char *model_why(const struct model *m)
{
	return m->why;
}

/* ---- Return codes ---- */

struct obj *need(struct model *m, const struct call *c, int arg, enum kind kind, struct verdict *v)
{
	struct obj *o = find(m, c->proc, c->a[arg], kind);

	if (!o)
		v->must |= ERR(INVALID_HANDLE);
	return o;
}

/* Does the return code's subtype name the object's actual state? */
static bool subtype_fits(unsigned states, DAT_RETURN ret)
{
	static const struct {
		unsigned state, subtype;
	} names[] = {
		{STATE(UNCONNECTED), DAT_INVALID_STATE_EP_UNCONNECTED},
		{STATE(ACTIVE_CONNECTION_PENDING), DAT_INVALID_STATE_EP_ACTCONNPENDING},
		{STATE(COMPLETION_PENDING), DAT_INVALID_STATE_EP_COMPLPENDING},
		{STATE(CONNECTED), DAT_INVALID_STATE_EP_CONNECTED},
		{STATE(DISCONNECT_PENDING), DAT_INVALID_STATE_EP_DISCPENDING},
		{STATE(DISCONNECTED), DAT_INVALID_STATE_EP_DISCONNECTED},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if ((names[i].state & states) && names[i].subtype == DAT_GET_SUBTYPE(ret))
			return true;
	}
	return false;
}

void need_state(struct verdict *v, const struct obj *ep, unsigned states)
{
	if (!(ep->states & states))
		v->must |= ERR(INVALID_STATE);
	else if (ep->states & ~states)
		v->can |= ERR(INVALID_STATE);
}

/* Returns true if the call succeeded and was allowed to. An outcome that is not allowed is a
 * mismatch. */
bool succeeded(struct model *m, const struct verdict *v, const struct outcome *o)
{
	const char *major = "?", *minor = "";
	unsigned type = DAT_GET_TYPE(o->ret) >> 16;

	if (o->ret == DAT_SUCCESS) {
		if (v->must)
			mismatch(m,
				 "the call succeeds, but must fail; the mask of its errors is 0x%x",
				 v->must);
		return !v->must;
	}
	dat_strerror(o->ret, &major, &minor);
	if (type > 31 || !((v->must | v->can) & (1u << type)))
		mismatch(m, "the call returns %s %s; the mask of allowed errors is 0x%x", major,
			 minor, v->must | v->can);
	else if (!(o->ret & (DAT_CLASS_ERROR | DAT_CLASS_WARNING)))
		mismatch(m, "the return code %s has no class", major);
	return false;
}

bool same(struct model *m, const struct outcome *o, int i, int64_t expected, const char *what)
{
	if (o->v[i] == expected)
		return true;
	return mismatch(m, "%s is %lld, not %lld", what, (long long)o->v[i], (long long)expected);
}

struct obj *make(struct model *m, const struct call *c, int arg, enum kind kind)
{
	struct obj *o = at(m, c->proc, c->a[arg]);

	o->kind = kind;
	o->live = true;
	o->context = 0;
	return o;
}

void use(struct model *m, int process, int slot, int delta)
{
	if (slot >= 0)
		m->objs[process][slot].users += delta;
}

/* ---- IA, PZ, CNO, EVD ---- */

static void judge_free(struct model *m, const struct call *c, enum kind kind, const struct outcome *o)
{
	struct verdict v = {0};
	struct obj *obj = need(m, c, 0, kind, &v);

	if (obj && obj->users)
		v.must |= ERR(INVALID_STATE);
	if (!succeeded(m, &v, o))
		return;
	obj->live = false;
	if (kind == EVD)
		use(m, c->proc, obj->cno, -1);
	if (kind == LMR || kind == RMR)
		use(m, c->proc, obj->pz, -1);
	if (kind == RMR && obj->lmr >= 0)
		use(m, c->proc, obj->lmr, -1);
	if (kind == PSP)
		use(m, c->proc, obj->evd[0], -1);
}

static void judge_evd_create(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {.can = ERR(INSUFFICIENT_RESOURCES)};
	struct obj *evd;

	need(m, c, 0, IA, &v);
	if (c->a[2] >= 0)
		need(m, c, 2, CNO, &v);
	if (c->a[3] < 1 || !c->a[4] || (c->a[4] & ~(DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG)))
		v.must |= ERR(INVALID_PARAMETER);
	if (!succeeded(m, &v, o))
		return;
	if (o->v[1] < c->a[3]) {
		mismatch(m, "the EVD has room for %lld events, fewer than the requested %d",
			 (long long)o->v[1], c->a[3]);
		return;
	}
	evd = make(m, c, 1, EVD);
	evd->qlen = (int)o->v[1];
	evd->cno = c->a[2] < 0 ? -1 : c->a[2];
	evd->flags = c->a[4];
	use(m, c->proc, evd->cno, 1);
}

static void judge_evd_query(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {0};
	struct obj *evd = need(m, c, 0, EVD, &v);
	int state;

	if (!succeeded(m, &v, o))
		return;
	state = (evd->disabled ? DAT_EVD_STATE_DISABLED : DAT_EVD_STATE_ENABLED) |
		(evd->unwaitable ? DAT_EVD_STATE_UNWAITABLE : DAT_EVD_STATE_WAITABLE);
	if ((o->v[2] & 0xf) != state)
		mismatch(m, "evd_state is 0x%llx, not 0x%x", (long long)o->v[2], state);
	else if (same(m, o, 0, 0, "ia_handle") && same(m, o, 1, evd->qlen, "evd_qlen") &&
		 same(m, o, 3, evd->cno, "cno_handle"))
		same(m, o, 4, evd->flags, "evd_flags");
}

/* A resize to a length below the number of queued events is refused, so no event is lost. */
static void judge_evd_resize(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {.can = ERR(INSUFFICIENT_RESOURCES)};
	struct obj *evd = need(m, c, 0, EVD, &v);
	int certain, possible;

	if (c->a[1] < 1)
		v.must |= ERR(INVALID_PARAMETER);
	if (evd) {
		count_events(m, c->proc, c->a[0], &certain, &possible);
		if (evd->se_n > c->a[1])
			v.must |= ERR(INVALID_STATE);
		if (evd_load(m, c->proc, c->a[0]) > c->a[1])
			v.can |= ERR(INVALID_STATE);
	}
	if (!succeeded(m, &v, o))
		return;
	if (o->v[1] < c->a[1])
		mismatch(m, "the EVD was resized to %lld events, fewer than the requested %d",
			 (long long)o->v[1], c->a[1]);
	evd->qlen = (int)o->v[1];
}

static void judge_evd_switch(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {0};
	struct obj *evd = need(m, c, 0, EVD, &v);

	if (!succeeded(m, &v, o))
		return;
	if (c->op == EVD_ENABLE || c->op == EVD_DISABLE)
		evd->disabled = c->op == EVD_DISABLE;
	else
		evd->unwaitable = c->op == EVD_SET_UNWAITABLE;
}

static void judge_evd_modify_cno(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {.can = ERR(INSUFFICIENT_RESOURCES)};
	struct obj *evd = need(m, c, 0, EVD, &v);

	if (c->a[1] >= 0)
		need(m, c, 1, CNO, &v);
	if (!succeeded(m, &v, o))
		return;
	evd->triggered = false;
	use(m, c->proc, evd->cno, -1);
	evd->cno = c->a[1] < 0 ? -1 : c->a[1];
	use(m, c->proc, evd->cno, 1);
}

static void judge_post_se(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {0};
	struct obj *evd = need(m, c, 0, EVD, &v);

	if (evd && !(evd->flags & DAT_EVD_SOFTWARE_FLAG))
		v.must |= ERR(INVALID_HANDLE) | ERR(INVALID_PARAMETER);
	if (evd && evd->se_n >= evd->qlen)
		v.must |= ERR(QUEUE_FULL);
	else if (evd && evd_load(m, c->proc, c->a[0]) >= evd->qlen)
		v.can |= ERR(QUEUE_FULL);
	if (succeeded(m, &v, o)) {
		evd->se[evd->se_n++] = c->a[1];
		if (evd->cno >= 0 && !evd->disabled && !evd->waiting)
			evd->triggered = true;
	}
}

static void judge_dequeue(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {.can = ERR(QUEUE_EMPTY)};
	struct obj *evd = need(m, c, 0, EVD, &v);
	int certain = 0, possible = 0;

	if (evd)
		count_events(m, c->proc, c->a[0], &certain, &possible);
	if (succeeded(m, &v, o))
		judge_event(m, c, evd, o);
	else if (DAT_GET_TYPE(o->ret) == DAT_QUEUE_EMPTY && certain)
		mismatch(m, "no event came in %d ms, but %d must come", c->a[2], certain);
}

static void judge_wait(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {.can = ERR(TIMEOUT_EXPIRED)};
	struct obj *evd = need(m, c, 0, EVD, &v);
	int certain = 0, possible = 0;

	if (evd) {
		count_events(m, c->proc, c->a[0], &certain, &possible);
		evd->waiting = false;
		if (c->a[3] < 1 || c->a[3] > evd->qlen)
			v.must |= ERR(INVALID_PARAMETER);
		if (evd->unwaitable && c->background && possible)
			v.can |= ERR(INVALID_STATE);
		else if (evd->unwaitable)
			v.must |= ERR(INVALID_STATE);
	}
	if (came_before_free(m, c, evd, o))
		return;
	if (succeeded(m, &v, o)) {
		if (!judge_event(m, c, evd, o))
			return;
		if (o->v[7] < c->a[3] - 1 || (!c->background && o->v[7] > possible - 1))
			mismatch(m, "nmore is %lld; threshold is %d and %d events are possible",
				 (long long)o->v[7], c->a[3], possible);
	} else if (DAT_GET_TYPE(o->ret) == DAT_TIMEOUT_EXPIRED && certain >= c->a[3]) {
		mismatch(m, "the wait expired, but %d events must come", certain);
	} else if (DAT_GET_TYPE(o->ret) == DAT_TIMEOUT_EXPIRED && o->v[7] > possible) {
		mismatch(m, "nmore is %lld at the timeout, but %d events are possible", (long long)o->v[7],
			 possible);
	}
}

/* A trigger must name an EVD of the CNO. The model knows only triggers by software events. */
static void judge_cno_wait(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {.can = ERR(QUEUE_EMPTY)};
	struct obj *cno = need(m, c, 0, CNO, &v);
	bool due = false;

	for (int i = 0; cno && i < SLOTS; i++) {
		struct obj *evd = find(m, c->proc, i, EVD);

		due |= evd && evd->cno == c->a[0] && evd->triggered;
	}
	if (succeeded(m, &v, o)) {
		struct obj *evd = find(m, c->proc, (int)o->v[0], EVD);

		if (evd)
			evd->triggered = false;
	} else if (DAT_GET_TYPE(o->ret) == DAT_QUEUE_EMPTY && due) {
		mismatch(m, "the CNO was not triggered, although a software event was posted");
	}
}

/* ---- Memory ---- */

static void judge_lmr_create(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {.can = ERR(INSUFFICIENT_RESOURCES)};
	struct obj *lmr;

	need(m, c, 0, IA, &v);
	need(m, c, 2, PZ, &v);
	if (c->a[4] < 1 || (c->a[5] & ~DAT_MEM_PRIV_ALL_FLAG))
		v.must |= ERR(INVALID_PARAMETER);
	if (!succeeded(m, &v, o))
		return;
	if (o->v[0] < 0 || o->v[1] < o->v[0] + c->a[4]) {
		mismatch(m, "the registered range does not cover the requested one");
		return;
	}
	if (!(c->a[5] & (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)) &&
	    !same(m, o, 3, 0, "rmr_context without remote privileges"))
		return;
	lmr = make(m, c, 1, LMR);
	lmr->pz = c->a[2];
	lmr->off = c->a[3];
	lmr->len = c->a[4];
	lmr->priv = c->a[5];
	lmr->lmr_key = o->v[2];
	lmr->rmr_key = o->v[3];
	use(m, c->proc, lmr->pz, 1);
}

static void judge_lmr_query(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {0};
	struct obj *lmr = need(m, c, 0, LMR, &v);

	if (succeeded(m, &v, o) && same(m, o, 0, 0, "ia_handle") && same(m, o, 1, lmr->pz, "pz_handle") &&
	    same(m, o, 2, lmr->off, "region_desc") && same(m, o, 3, lmr->len, "length") &&
	    same(m, o, 4, lmr->priv, "mem_priv") && same(m, o, 5, lmr->lmr_key, "lmr_context"))
		same(m, o, 6, lmr->rmr_key, "rmr_context");
}

static void judge_rmr_create(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {.can = ERR(INSUFFICIENT_RESOURCES)};
	struct obj *rmr;

	need(m, c, 0, PZ, &v);
	if (!succeeded(m, &v, o))
		return;
	rmr = make(m, c, 1, RMR);
	rmr->pz = c->a[0];
	rmr->lmr = -1;
	use(m, c->proc, rmr->pz, 1);
}

static void judge_rmr_query(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {0};
	struct obj *rmr = need(m, c, 0, RMR, &v);

	if (!succeeded(m, &v, o) || !same(m, o, 0, 0, "ia_handle") || !same(m, o, 1, rmr->pz, "pz_handle"))
		return;
	if (rmr->lmr >= 0 && !rmr->unsure && same(m, o, 2, rmr->len, "length") &&
	    same(m, o, 3, rmr->priv, "mem_priv"))
		same(m, o, 4, rmr->rmr_key, "rmr_context");
}

static void bind_errors(struct model *m, const struct call *c, const struct obj *rmr, const struct obj *ep,
			struct verdict *v)
{
	const struct obj *lmr = find(m, c->proc, c->a[1], LMR);
	const uint32_t wrong =
		ERR(INVALID_PARAMETER) | ERR(PROTECTION_VIOLATION) | ERR(PRIVILEGES_VIOLATION);

	if (c->a[7] & ~(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
			DAT_COMPLETION_BARRIER_FENCE_FLAG))
		v->must |= ERR(INVALID_PARAMETER);
	if (rmr && ep && rmr->pz != ep->pz)
		v->must |= wrong;
	if (!c->a[4])
		return;
	if (!lmr || c->a[3] < lmr->off || c->a[3] + c->a[4] > lmr->off + lmr->len ||
	    (rmr && rmr->pz != lmr->pz))
		v->must |= wrong;
	if (lmr &&
	    (((c->a[5] & DAT_MEM_PRIV_REMOTE_READ_FLAG) && !(lmr->priv & DAT_MEM_PRIV_LOCAL_READ_FLAG)) ||
	     ((c->a[5] & DAT_MEM_PRIV_REMOTE_WRITE_FLAG) && !(lmr->priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))))
		v->must |= wrong;
}

static void judge_bind_post(struct model *m, const struct call *c, const struct outcome *o)
{
	struct verdict v = {.can = ERR(INSUFFICIENT_RESOURCES)};
	struct obj *rmr = need(m, c, 0, RMR, &v), *ep = need(m, c, 2, EP, &v);
	struct work w = {.kind = BIND,
			 .silent = c->a[7] & DAT_COMPLETION_SUPPRESS_FLAG,
			 .cookie = c->a[6],
			 .lmr = -1,
			 .slot = c->a[0],
			 .process = -1};

	if (ep)
		need_state(&v, ep, STATE(CONNECTED) | STATE(DISCONNECTED));
	bind_errors(m, c, rmr, ep, &v);
	if (ep && ep->request->n < ep->dtos && rmr && (rmr->bound_by == c->a[2] || rmr->lmr < 0))
		v.can = 0;
	if (!succeeded(m, &v, o))
		return;
	use(m, c->proc, rmr->lmr, -1);
	rmr->lmr = c->a[4] ? c->a[1] : -1;
	use(m, c->proc, rmr->lmr, 1);
	rmr->off = c->a[3];
	rmr->len = c->a[4];
	rmr->priv = c->a[5];
	rmr->rmr_key = o->v[0];
	rmr->bound_by = c->a[2];
	rmr->binding = true;
	queue_work(m, c->proc, ep, ep->request, &w);
}

/* ---- Objects of any type ---- */

static void judge_type(struct model *m, const struct call *c, const struct outcome *o)
{
	static const DAT_HANDLE_TYPE types[KINDS] = {
		[IA] = DAT_HANDLE_TYPE_IA,   [PZ] = DAT_HANDLE_TYPE_PZ,   [EVD] = DAT_HANDLE_TYPE_EVD,
		[CNO] = DAT_HANDLE_TYPE_CNO, [LMR] = DAT_HANDLE_TYPE_LMR, [RMR] = DAT_HANDLE_TYPE_RMR,
		[EP] = DAT_HANDLE_TYPE_EP,   [PSP] = DAT_HANDLE_TYPE_PSP, [CR] = DAT_HANDLE_TYPE_CR,
	};
	const struct obj *obj = at(m, c->proc, c->a[0]);
	struct verdict v = {.must = obj && obj->live ? 0 : ERR(INVALID_HANDLE)};

	if (succeeded(m, &v, o))
		same(m, o, 0, types[obj->kind], "handle_type");
}

static void judge_context(struct model *m, const struct call *c, const struct outcome *o)
{
	struct obj *obj = at(m, c->proc, c->a[0]);
	struct verdict v = {.must = obj && obj->live ? 0 : ERR(INVALID_HANDLE)};

	if (!succeeded(m, &v, o))
		return;
	if (c->op == SET_CONSUMER_CONTEXT)
		obj->context = c->a[1];
	else
		same(m, o, 0, obj->context, "the consumer's context");
}

static void judge_simple(struct model *m, const struct call *c, enum kind kind, enum kind made,
			 const struct outcome *o)
{
	struct verdict v = {.can = made ? ERR(INSUFFICIENT_RESOURCES) : 0};

	need(m, c, 0, kind, &v);
	if (!succeeded(m, &v, o))
		return;
	if (made)
		make(m, c, 1, made);
	else
		same(m, o, 0, 0, "ia_handle");
}

/* clang-format off */
static void judge_call(struct model *m, const struct call *c, const struct outcome *o)
{
	switch ((enum op)c->op) {
	case PZ_CREATE: judge_simple(m, c, IA, PZ, o); break;
	case CNO_CREATE: judge_simple(m, c, IA, CNO, o); break;
	case PZ_QUERY: judge_simple(m, c, PZ, NONE, o); break;
	case CNO_QUERY: judge_simple(m, c, CNO, NONE, o); break;
	case PZ_FREE: judge_free(m, c, PZ, o); break;
	case EVD_FREE: judge_free(m, c, EVD, o); break;
	case CNO_FREE: judge_free(m, c, CNO, o); break;
	case LMR_FREE: judge_free(m, c, LMR, o); break;
	case RMR_FREE: judge_free(m, c, RMR, o); break;
	case PSP_FREE: judge_free(m, c, PSP, o); break;
	case EVD_CREATE: judge_evd_create(m, c, o); break;
	case EVD_QUERY: judge_evd_query(m, c, o); break;
	case EVD_RESIZE: judge_evd_resize(m, c, o); break;
	case EVD_ENABLE:
	case EVD_DISABLE:
	case EVD_SET_UNWAITABLE:
	case EVD_CLEAR_UNWAITABLE: judge_evd_switch(m, c, o); break;
	case EVD_MODIFY_CNO: judge_evd_modify_cno(m, c, o); break;
	case EVD_POST_SE: judge_post_se(m, c, o); break;
	case EVD_DEQUEUE: judge_dequeue(m, c, o); break;
	case EVD_WAIT: judge_wait(m, c, o); break;
	case CNO_WAIT: judge_cno_wait(m, c, o); break;
	case LMR_CREATE: judge_lmr_create(m, c, o); break;
	case LMR_QUERY: judge_lmr_query(m, c, o); break;
	case RMR_CREATE: judge_rmr_create(m, c, o); break;
	case RMR_QUERY: judge_rmr_query(m, c, o); break;
	case RMR_BIND: judge_bind_post(m, c, o); break;
	case EP_CREATE: judge_ep_create(m, c, o); break;
	case EP_FREE: judge_ep_free(m, c, o); break;
	case EP_QUERY: judge_ep_query(m, c, o); break;
	case EP_GET_STATUS: judge_ep_status(m, c, o); break;
	case EP_RESET: judge_ep_reset(m, c, o); break;
	case EP_CONNECT: judge_connect(m, c, o); break;
	case EP_DISCONNECT: judge_disconnect(m, c, o); break;
	case EP_POST_RECV:
	case EP_POST_SEND:
	case EP_POST_RDMA_WRITE:
	case EP_POST_RDMA_READ: judge_post(m, c, o); break;
	case PSP_CREATE: judge_psp_create(m, c, o); break;
	case PSP_QUERY: judge_psp_query(m, c, o); break;
	case CR_QUERY: judge_cr_query(m, c, o); break;
	case CR_ACCEPT: judge_accept(m, c, o); break;
	case CR_REJECT: judge_reject(m, c, o); break;
	case GET_HANDLE_TYPE: judge_type(m, c, o); break;
	case SET_CONSUMER_CONTEXT:
	case GET_CONSUMER_CONTEXT: judge_context(m, c, o); break;
	case DIE:
	case OPS: break;
	}
}
/* clang-format on */

/* If an endpoint is in a wrong state, the return code of the call names that state. */
static void judge_subtype(struct model *m, const struct call *c, unsigned states, const struct outcome *o)
{
	int arg = c->op == RMR_BIND ? 2 : c->op == CR_ACCEPT ? 1 : 0;

	if (DAT_GET_TYPE(o->ret) == DAT_INVALID_STATE && op_args[c->op][arg] == 'p' && !m->why[0] &&
	    !subtype_fits(states, o->ret))
		mismatch(m, "the subtype %u of INVALID_STATE is not that of a state in the mask 0x%x",
			 DAT_GET_SUBTYPE(o->ret), states);
}

bool model_judge(struct model *m, const struct call *c, const struct outcome *o)
{
	const struct obj *ep = at(m, c->proc, c->a[c->op == RMR_BIND ? 2 : c->op == CR_ACCEPT ? 1 : 0]);
	unsigned states;

	let_attempts_time_out(m);
	states = ep && ep->kind == EP ? ep->states : 0;
	judge_call(m, c, o);
	judge_subtype(m, c, states, o);
	return !m->why[0];
}

bool model_judge_memory(struct model *m)
{
	for (int p = 0; p < PROCS && !m->why[0]; p++) {
		for (int i = 0; i < BYTES; i++) {
			if (m->shadow[p][i] == m->s->mem[p][i] || m->busy[p][i] || m->unknown[p][i])
				continue;
			m->bad_process = p;
			m->bad_at = i;
			return mismatch(m, "byte %d of process %d is 0x%02x, not 0x%02x", i, p,
					m->s->mem[p][i], m->shadow[p][i]);
		}
	}
	return !m->why[0];
}

bool model_wrong_byte(const struct model *m, int *process, int *at_byte, int *value)
{
	*process = m->bad_process;
	*at_byte = m->bad_at;
	*value = m->bad_at < 0 ? 0 : m->shadow[m->bad_process][m->bad_at];
	return m->bad_at >= 0;
}
