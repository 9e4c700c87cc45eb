/* SPDX-License-Identifier: BSD-2-Clause */
/* A world: one object of each type, and an endpoint in each state that calls need. */
#include <dat/dat_registry.h>
#include <string.h>

#include "tests/conformance/bad.h"

const char *const kind_names[KINDS] = {
	"an IA", "a PZ", "an EVD", "an EVD", "an EVD", "an EVD", "an EP", "an LMR", "an RMR", "a PSP",
	"an RSP", "a CR", "a CNO", "an SRQ",
};

static const char *const handle_types[KINDS] = {
	"DAT_IA_HANDLE", "DAT_PZ_HANDLE", "DAT_EVD_HANDLE", "DAT_EVD_HANDLE", "DAT_EVD_HANDLE",
	"DAT_EVD_HANDLE", "DAT_EP_HANDLE", "DAT_LMR_HANDLE", "DAT_RMR_HANDLE", "DAT_PSP_HANDLE",
	"DAT_RSP_HANDLE", "DAT_CR_HANDLE", "DAT_CNO_HANDLE", "DAT_SRQ_HANDLE",
};

bool kind_fits(const struct param *p, enum kind kind)
{
	return !strcmp(p->type, "DAT_HANDLE") || !strcmp(p->type, handle_types[kind]);
}

/* ---- Making a world ---- */

/* Two endpoints of one adapter: the connection goes back to the same adapter. */
static void be_up(struct world *w)
{
	struct side *s = &w->s;
	DAT_EVENT ev;
	DAT_COUNT more;

	w->up[0] = side_ep(s, NULL);
	w->up[1] = side_ep(s, NULL);
	must(dial(w->up[0], s, s->qual, SOON));
	must(dat_cr_accept(side_request(s), w->up[1], 0, NULL));
	for (int i = 0; i < 2; i++) {
		must(dat_evd_wait(s->conn_evd, SOON, 1, &ev, &more));
		same(ev.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
}

static DAT_RETURN opens_nothing(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
				DAT_IA_HANDLE *ia)
{
	(void)name;
	(void)qlen;
	(void)async_evd;
	(void)ia;
	return DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND;
}

static void fill_arguments(struct world *w)
{
	struct side *s = &w->s;

	w->ep_attr = side_attr();
	must(dat_ep_query(w->idle, DAT_EP_FIELD_ALL, &w->ep_param));
	w->srq_attr = (DAT_SRQ_ATTR){ 8, 1, DAT_SRQ_LW_DEFAULT };
	w->event.event_number = DAT_SOFTWARE_EVENT;
	for (size_t i = 0; i < sizeof(w->iov) / sizeof(w->iov[0]); i++)
		w->iov[i] = seg(s, i * 64, 64);
	w->remote = far(s, 0, 8192);
	w->info = (DAT_PROVIDER_INFO){ "conformance-bad", DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
				       DAT_THREADSAFE };
	w->provider.ia_open_func = opens_nothing;
	for (size_t i = 0; i < sizeof(w->list) / sizeof(w->list[0]); i++)
		w->list[i] = &w->infos[i];
}

void world_make(struct world *w, int i)
{
	struct side *s = &w->s;

	memset(w, 0, sizeof(*w));
	side_open(s);
	side_listen(s);
	be_up(w);
	w->idle = s->ep;
	w->reserved = side_ep(s, NULL);
	w->reserved_qual = some_qual(10 + i);
	must(dat_rsp_create(s->ia, w->reserved_qual, w->reserved, s->cr_evd, &w->handle[RSP]));
	w->dialler = side_ep(s, NULL);
	must(dial(w->dialler, s, s->qual, DAT_TIMEOUT_INFINITE));
	w->handle[CR] = side_request(s);
	must(dat_rmr_create(s->pz, &w->handle[RMR]));
	if (!is(dat_cno_create(s->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &w->handle[CNO]), DAT_SUCCESS))
		w->handle[CNO] = DAT_HANDLE_NULL;
	fill_arguments(w);
	if (s->attr.srq_supported)
		must(dat_srq_create(s->ia, s->pz, &w->srq_attr, &w->handle[SRQ]));
	w->handle[IA] = s->ia;
	w->handle[PZ] = s->pz;
	w->handle[EVD] = s->recv_evd;
	w->handle[SOFT_EVD] = s->soft_evd;
	w->handle[CR_EVD] = s->cr_evd;
	w->handle[CONN_EVD] = s->conn_evd;
	w->handle[EP] = s->ep;
	w->handle[LMR] = s->lmr;
	w->handle[PSP] = s->psp;
}

void world_free(struct world *w)
{
	struct side *s = &w->s;

	must(dat_cr_reject(w->handle[CR]));
	must(dat_rsp_free(w->handle[RSP]));
	must(dat_ep_free(w->dialler));
	must(dat_ep_free(w->reserved));
	must(dat_ep_free(w->up[0]));
	must(dat_ep_free(w->up[1]));
	must(dat_rmr_free(w->handle[RMR]));
	if (w->handle[CNO])
		must(dat_cno_free(w->handle[CNO]));
	if (w->handle[SRQ])
		must(dat_srq_free(w->handle[SRQ]));
	side_free(s);
}

void world_drop(struct world *w)
{
	(void)dat_ia_close(w->s.ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* ---- Good arguments ---- */

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static DAT_HANDLE good_evd(struct world *w, const struct call *c, const char *name)
{
	if (begins(name, "recv_"))
		return w->s.recv_evd;
	if (begins(name, "request_"))
		return w->s.req_evd;
	if (begins(name, "connect_"))
		return w->s.conn_evd;
	if (begins(c->name, "dat_psp_") || begins(c->name, "dat_rsp_"))
		return w->s.cr_evd;
	return w->s.soft_evd;		/* no stream feeds this EVD */
}

static DAT_HANDLE good_ep(struct world *w, const struct call *c, const char *name)
{
	static const char *const connected[] = { "dat_ep_post_", "dat_ep_disconnect", "dat_rmr_bind" };

	if (!strcmp(name, "dup_ep_handle"))
		return w->up[0];
	for (size_t i = 0; i < sizeof(connected) / sizeof(connected[0]); i++) {
		if (begins(c->name, connected[i]))
			return w->up[0];
	}
	return w->idle;
}

static DAT_HANDLE good_handle(struct world *w, const struct call *c, const struct param *p)
{
	if (!strcmp(p->type, "DAT_EVD_HANDLE"))
		return good_evd(w, c, p->name);
	if (!strcmp(p->type, "DAT_EP_HANDLE") || !strcmp(p->type, "DAT_HANDLE"))
		return good_ep(w, c, p->name);
	for (enum kind k = IA; k < KINDS; k++) {
		if (!strcmp(p->type, handle_types[k]))
			return w->handle[k];
	}
	return DAT_HANDLE_NULL;
}

/* Returns a good target for any other pointer to input. */
static void *good_pointer(struct world *w, const struct param *p)
{
	const struct {
		const char *type;
		void *ptr;
	} things[] = {
		{ "DAT_EP_ATTR", &w->ep_attr }, { "DAT_EP_PARAM", &w->ep_param },
		{ "DAT_SRQ_ATTR", &w->srq_attr }, { "DAT_EVENT", &w->event },
		{ "DAT_LMR_TRIPLET", w->iov }, { "DAT_RMR_TRIPLET", &w->remote },
		{ "DAT_IA_ADDRESS_PTR", side_address(&w->s) }, { "DAT_PVOID", w->s.mem },
		{ "DAT_NAME_PTR", (void *)(uintptr_t)conform_options.ia },
		{ "DAT_PROVIDER", &w->provider }, { "DAT_PROVIDER_INFO", &w->info },
	};

	for (size_t i = 0; i < sizeof(things) / sizeof(things[0]); i++) {
		if (!strcmp(p->type, things[i].type))
			return things[i].ptr;
	}
	conform_fail(__FILE__, __LINE__, "the test has no valid object for the parameter %s",
		     p->name);
}

static uint64_t good_number(struct world *w, const struct call *c, const char *name)
{
	const struct {
		const char *name;
		uint64_t n;
	} numbers[] = {
		{ "evd_min_qlen", 16 }, { "async_evd_min_qlen", 8 }, { "threshold", 1 },
		{ "num_segments", 1 }, { "length", 4096 }, { "srq_max_recv_dto", 8 },
		{ "low_watermark", 1 }, { "max_to_return", 64 }, { "evd_flags", DAT_EVD_SOFTWARE_FLAG },
		{ "mem_privileges", DAT_MEM_PRIV_ALL_FLAG }, { "dapl_major", DAT_VERSION_MAJOR },
		{ "dapl_minor", DAT_VERSION_MINOR }, { "thread_safety", DAT_THREADSAFE },
		{ "conn_qual", some_qual(9) }, { "remote_conn_qual", w->s.qual },
		{ "handoff", w->s.qual }, { "soft_high_watermark", (uint64_t)DAT_WATERMARK_INFINITE },
		{ "hard_high_watermark", (uint64_t)DAT_WATERMARK_INFINITE },
	};

	if (!strcmp(name, "timeout"))	/* the timeout of a connection may not be 0 */
		return begins(c->name, "dat_ep_") ? SOON : 0;
	if (!strcmp(c->name, "dat_ep_modify"))
		return DAT_EP_FIELD_EP_ATTR_QOS;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!strcmp(name, numbers[i].name))
			return numbers[i].n;
	}
	/* 0 means nothing, the default, or none of the flags */
	return 0;
}

static bool is_handle(const struct param *p)
{
	const char *end = strstr(p->type, "_HANDLE");

	return end && !end[strlen("_HANDLE")] && !p->points;
}

void good_values(struct world *w, const struct call *c, union room *room, union value *v)
{
	/* A read needs room for its data; a write has enough for all lengths. */
	w->remote.segment_length = strcmp(c->name, "dat_ep_post_rdma_read") ? 8192 : 0;
	for (unsigned int i = 0; i < c->n_params; i++) {
		const struct param *p = &c->params[i];

		memset(&v[i], 0, sizeof(v[i]));
		memset(&room[i], 0xa5, sizeof(room[i]));
		if (p->direction == ARG_INOUT)
			memset(&room[i], 0, sizeof(DAT_HANDLE));
		if (!strcmp(p->type, "DAT_REGION_DESCRIPTION"))
			v[i].region.for_va = w->s.mem;
		else if (is_handle(p))
			v[i].ptr = good_handle(w, c, p);
		else if (!strcmp(p->name, "dat_provider_list"))
			v[i].ptr = w->list;
		else if (p->points && p->direction != ARG_IN)
			v[i].ptr = &room[i];
		else if (p->points || strstr(p->type, "_PTR") || !strcmp(p->type, "DAT_PVOID"))
			v[i].ptr = good_pointer(w, p);
		else if (!strstr(p->type, "AGENT") && !strstr(p->type, "CONTEXT") &&
			 !strstr(p->type, "COOKIE"))
			v[i].n = good_number(w, c, p->name);
	}
}

bool is_good_code(const struct call *c, DAT_RETURN ret)
{
	static const struct {
		const char *call;
		uint32_t code;
	} also[] = {
		{ "dat_evd_wait", DAT_TIMEOUT_EXPIRED }, { "dat_evd_dequeue", DAT_QUEUE_EMPTY },
		{ "dat_cno_wait", DAT_QUEUE_EMPTY }, { "dat_ep_recv_query", DAT_MODEL_NOT_SUPPORTED },
		{ "dat_ep_set_watermark", DAT_MODEL_NOT_SUPPORTED },
		{ "dat_srq_set_lw", DAT_MODEL_NOT_SUPPORTED },
	};

	for (size_t i = 0; i < sizeof(also) / sizeof(also[0]); i++) {
		if (!strcmp(c->name, also[i].call) && is(ret, also[i].code))
			return true;
	}
	return is(ret, DAT_SUCCESS);
}

/* Calls that free an object succeed only while nothing uses the object. */
void good_begin(struct world *w, const struct call *c)
{
	if (!strcmp(c->name, "dat_registry_remove_provider"))
		must(dat_registry_add_provider(&w->provider, &w->info));
	if (!strcmp(c->name, "dat_pz_free"))
		must(dat_pz_create(w->s.ia, &w->handle[PZ]));
}

void good_end(struct world *w, const struct call *c, const union value *v, DAT_RETURN ret)
{
	if (!is(ret, DAT_SUCCESS))
		return;
	if (!strcmp(c->name, "dat_registry_add_provider"))
		must(dat_registry_remove_provider(&w->provider, &w->info));
	if (!strcmp(c->name, "dat_ia_openv"))
		must(dat_ia_close(*(DAT_IA_HANDLE *)v[3].ptr, DAT_CLOSE_ABRUPT_FLAG));
}
