/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries each call with each of its arguments invalid, one at a time, all others good. The call returns
 * the code of its page and writes nothing. Afterwards no object has been created, freed or left open.
 * With only good arguments the call succeeds, so none was refused for another reason.
 */
#include <dat/dat_registry.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/bad.h"

static struct world here, other, gone;
static union room room[MAX_ARGS];

struct trial {
	const struct call *c;
	const struct param *p;		/* the argument that is invalid */
	unsigned int at;
	union value v[MAX_ARGS];
	/* For a handle: where it is, which may be inside the target of a pointer argument. */
	DAT_HANDLE *handle;
	uint32_t code;
};

static void begin(struct trial *t, const struct call *c, unsigned int at)
{
	*t = (struct trial){ .c = c, .p = &c->params[at], .at = at, .code = DAT_INVALID_HANDLE };
	t->handle = &t->v[at].ptr;
	good_values(&here, c, room, t->v);
}

/* dat_registry_list_providers(3) returns the number of providers even if they do not fit. */
static bool may_write(const struct param *p)
{
	return !strcmp(p->name, "entries_returned");
}

static void wrote_nothing(const struct trial *t, const char *what)
{
	for (unsigned int i = 0; i < t->c->n_params; i++) {
		const struct param *p = &t->c->params[i];

		if (!p->points || p->direction != ARG_OUT || t->v[i].ptr != &room[i] || may_write(p))
			continue;
		for (size_t k = 0; k < sizeof(room[i].bytes); k++) {
			if (room[i].bytes[k] != 0xa5)
				conform_fail(__FILE__, __LINE__,
					     "%s with the wrong argument %s (%s) wrote to its "
					     "output %s",
					     t->c->name, t->p->name, what, p->name);
		}
	}
}

/* Returns the subtype of this provider: the number of the argument, or the kind of the handle. */
static uint32_t subtype_of(const struct trial *t, uint32_t code)
{
	static const struct {
		const char *is;		/* type or name of the parameter */
		uint32_t subtype;
	} handles[] = {
		{ "DAT_IA_HANDLE", DAT_INVALID_HANDLE_IA }, { "DAT_EP_HANDLE", DAT_INVALID_HANDLE_EP },
		{ "DAT_LMR_HANDLE", DAT_INVALID_HANDLE_LMR }, { "DAT_RMR_HANDLE", DAT_INVALID_HANDLE_RMR },
		{ "DAT_PZ_HANDLE", DAT_INVALID_HANDLE_PZ }, { "DAT_PSP_HANDLE", DAT_INVALID_HANDLE_PSP },
		{ "DAT_RSP_HANDLE", DAT_INVALID_HANDLE_RSP }, { "DAT_CR_HANDLE", DAT_INVALID_HANDLE_CR },
		{ "DAT_CNO_HANDLE", DAT_INVALID_HANDLE_CNO }, { "DAT_SRQ_HANDLE", DAT_INVALID_HANDLE_SRQ },
		{ "request_evd_handle", DAT_INVALID_HANDLE_EVD_REQUEST },
		{ "recv_evd_handle", DAT_INVALID_HANDLE_EVD_RECV },
		{ "connect_evd_handle", DAT_INVALID_HANDLE_EVD_CONN },
		{ "async_evd_handle", DAT_INVALID_HANDLE_EVD_ASYNC },
	};

	if (code == DAT_INVALID_PARAMETER)
		return DAT_INVALID_ARG1 + t->at;
	for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
		if (!strcmp(t->p->type, handles[i].is) || !strcmp(t->p->name, handles[i].is))
			return handles[i].subtype;
	}
	return strstr(t->c->name, "sp_create") ? DAT_INVALID_HANDLE_EVD_CR : DAT_INVALID_HANDLE1 + t->at;
}

static void refused(const struct trial *t, uint32_t code, const char *what)
{
	DAT_RETURN ret = t->c->make(t->v);

	conform_note(t->c->page, ret);
	if (conform_options.own && is(ret, code) && DAT_GET_SUBTYPE(ret) != subtype_of(t, code))
		conform_fail(__FILE__, __LINE__,
			     "%s with the wrong argument %s (%s) returned the subtype %u instead of %u",
			     t->c->name, t->p->name, what, DAT_GET_SUBTYPE(ret), subtype_of(t, code));
	if (!is(ret, code) && !(is(ret, DAT_MODEL_NOT_SUPPORTED) && is_good_code(t->c, ret)))
		conform_fail(__FILE__, __LINE__,
			     "%s with the wrong argument %s (%s) returned %s (0x%08x)", t->c->name,
			     t->p->name, what, code_name(DAT_GET_TYPE(ret)), ret);
	wrote_nothing(t, what);
}

/* ---- Handles ---- */

/* Returns memory that begins like an object but is none. If it is used from offset 1 on, it is not even
 * aligned. */
static void *false_object(size_t at)
{
	static char mem[2][4096] __attribute__((aligned(64)));

	memcpy(mem[at] + at, here.s.ia, sizeof(void *));
	return mem[at] + at;
}

static bool null_is_none(const struct trial *t)
{
	static const char *const names[] = { "cno_handle", "recv_evd_handle", "request_evd_handle",
					     "connect_evd_handle" };

	/* The provider has created the endpoint, or creates it during the call. */
	if (!strcmp(t->c->name, "dat_cr_accept") || !strcmp(t->c->name, "dat_rsp_create"))
		return !strcmp(t->p->name, "ep_handle");
	for (size_t i = 0; t->at && i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(t->p->name, names[i]))
			return true;
	}
	return false;
}

static void try_handle(struct trial *t, void *h, const char *what)
{
	*t->handle = h;
	refused(t, t->code, what);
}

/* libdat loads the handle's first word with acquire order, which on arm64 needs an aligned address. */
static bool loads_unaligned(void)
{
#if defined(__aarch64__)
	return false;
#else
	/* the sanitizer would report that load itself */
	return !getenv("SAN") || !*getenv("SAN");
#endif
}

/* A call jumps through the first word of its first handle, so garbage there would crash. */
static void try_garbage(struct trial *t)
{
	const void *elsewhere[64] = { &here.provider };
	char *good = *t->handle;

	try_handle(t, false_object(0), "no object");
	if (loads_unaligned())
		try_handle(t, false_object(1), "unaligned");
	if (!t->at)
		return;
	try_handle(t, elsewhere, "of another provider");
	try_handle(t, (void *)64, "where no memory is");
	try_handle(t, (void *)UINTPTR_MAX, "at the end of all memory");
	try_handle(t, good + 1, "one byte behind an object's");
	try_handle(t, good + 64, "within an object");
}

static void try_handles(struct trial *t)
{
	char what[64];

	try_garbage(t);
	if (!null_is_none(t))
		try_handle(t, DAT_HANDLE_NULL, "null");
	for (enum kind k = IA; k < KINDS; k++) {
		snprintf(what, sizeof(what), "freed, %s", kind_names[k]);
		if (gone.handle[k])
			try_handle(t, gone.handle[k], what);
		snprintf(what, sizeof(what), "%s", kind_names[k]);
		if (here.handle[k] && !kind_fits(t->p, k))
			try_handle(t, here.handle[k], what);
		snprintf(what, sizeof(what), "of another IA, %s", kind_names[k]);
		if (t->at && other.handle[k])
			try_handle(t, other.handle[k], what);
	}
}

/*
 * Tries other invalid handles inside the region: for an LMR another LMR; for the attributes of an
 * endpoint, new objects, which dat_ep_modify(3) calls invalid parameters.
 */
static void try_region(struct trial *t)
{
	static const struct param base = { "region_description", "DAT_LMR_HANDLE", ARG_IN, false };

	begin(t, t->c, 2);
	t->p = &base;
	t->handle = &t->v[2].region.for_lmr_handle;
	*t->handle = here.s.lmr;
	t->v[1].n = DAT_MEM_TYPE_LMR;
	try_handles(t);
}

static void try_members(struct trial *t)
{
	static const struct param members[] = {
		{ "pz_handle", "DAT_PZ_HANDLE", ARG_IN, false },
		{ "recv_evd_handle", "DAT_EVD_HANDLE", ARG_IN, false },
		{ "request_evd_handle", "DAT_EVD_HANDLE", ARG_IN, false },
		{ "connect_evd_handle", "DAT_EVD_HANDLE", ARG_IN, false },
	};
	DAT_EP_PARAM *p = &here.ep_param;
	DAT_HANDLE *const at[] = { &p->pz_handle, &p->recv_evd_handle, &p->request_evd_handle,
				   &p->connect_evd_handle };

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		DAT_HANDLE good = *at[i];

		begin(t, t->c, 2);
		t->p = &members[i];
		t->handle = at[i];
		t->code = DAT_INVALID_PARAMETER;
		t->v[1].n = DAT_EP_FIELD_PZ_HANDLE << i;
		try_handles(t);
		*at[i] = good;
	}
}

/* ---- Enums and masks ---- */

static const struct set {
	const char *type;
	/* the valid bits; for an enum, one bit for each valid value */
	uint64_t valid;
	bool is_enum, wide;		/* wide: the mask has 64 bits */
} sets[] = {
	{ "DAT_CNO_PARAM_MASK", DAT_CNO_FIELD_ALL, false, false },
	{ "DAT_CR_PARAM_MASK", DAT_CR_FIELD_ALL, false, false },
	{ "DAT_EP_PARAM_MASK", DAT_EP_FIELD_ALL, false, true },
	{ "DAT_EVD_PARAM_MASK", DAT_EVD_FIELD_ALL, false, false },
	{ "DAT_IA_ATTR_MASK", DAT_IA_FIELD_ALL, false, true },
	{ "DAT_PROVIDER_ATTR_MASK", DAT_PROVIDER_FIELD_ALL, false, true },
	{ "DAT_LMR_PARAM_MASK", DAT_LMR_FIELD_ALL, false, false },
	{ "DAT_PSP_PARAM_MASK", DAT_PSP_FIELD_ALL, false, false },
	{ "DAT_PZ_PARAM_MASK", DAT_PZ_FIELD_ALL, false, false },
	{ "DAT_RMR_PARAM_MASK", DAT_RMR_FIELD_ALL, false, false },
	{ "DAT_RSP_PARAM_MASK", DAT_RSP_FIELD_ALL, false, false },
	{ "DAT_SRQ_PARAM_MASK", DAT_SRQ_FIELD_ALL, false, false },
	{ "DAT_EVD_FLAGS", DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG, false, false },
	{ "DAT_MEM_PRIV_FLAGS", DAT_MEM_PRIV_ALL_FLAG, false, false },
	{ "DAT_COMPLETION_FLAGS", SUPPRESS | SOLICITED | UNSIGNALLED | BARRIER, false, false },
	{ "DAT_CONNECT_FLAGS", DAT_CONNECT_MULTIPATH_FLAG, false, false },
	{ "DAT_CLOSE_FLAGS", 0x3, true, false },	/* the values 0 and 1 */
	{ "DAT_PSP_FLAGS", 0x3, true, false },
	{ "DAT_MEM_TYPE", 0x7, true, false },		/* the values 0, 1 and 2 */
	{ "DAT_QOS", 0x117, true, false },		/* the values 0, 1, 2, 4 and 8 */
};

static const struct set *set_of(const struct param *p)
{
	for (size_t i = 0; !p->points && i < sizeof(sets) / sizeof(sets[0]); i++) {
		if (!strcmp(p->type, sets[i].type))
			return &sets[i];
	}
	return NULL;
}

static void try_number(struct trial *t, uint64_t n)
{
	char what[32];

	t->v[t->at].n = n;
	snprintf(what, sizeof(what), "0x%llx", (unsigned long long)n);
	refused(t, DAT_INVALID_PARAMETER, what);
}

/* Tries each invalid bit together with valid ones, or each value in the gaps and a little beyond the
 * ends. */
static void try_set(struct trial *t, const struct set *set)
{
	const uint64_t all = set->wide ? UINT64_MAX : UINT32_MAX, good = t->v[t->at].n;
	uint64_t bit = 1;

	for (unsigned int i = 0; bit & all && i < 64; i++, bit <<= 1) {
		if (set->valid & bit)
			continue;
		if (!set->is_enum)
			try_number(t, good | bit);
		else if (i < 32)
			try_number(t, i);
	}
	try_number(t, all);
	if (set->is_enum)
		try_number(t, INT_MAX);
	if (!strcmp(t->p->name, "evd_flags"))
		try_number(t, 0);		/* an EVD for no stream */
}

/* ---- Sizes ---- */

struct size {
	const char *call, *param;
	int64_t least;			/* the smallest good value; most_of() has the largest */
};

static const struct size sizes[] = {
	{ "dat_ia_openv", "async_evd_min_qlen", 0 },
	{ "dat_evd_create", "evd_min_qlen", 1 },
	{ "dat_evd_resize", "evd_min_qlen", 1 },
	{ "dat_evd_wait", "threshold", 1 },
	{ "dat_ep_connect", "private_data_size", 0 },
	{ "dat_ep_dup_connect", "private_data_size", 0 },
	{ "dat_cr_accept", "private_data_size", 0 },
	{ "dat_ep_post_send", "num_segments", 0 },
	{ "dat_ep_post_recv", "num_segments", 0 },
	{ "dat_ep_post_rdma_read", "num_segments", 0 },
	{ "dat_ep_post_rdma_write", "num_segments", 0 },
	{ "dat_srq_post_recv", "num_segments", 0 },
	{ "dat_srq_resize", "srq_max_recv_dto", 1 },
	{ "dat_srq_set_lw", "low_watermark", 0 },
};

static int64_t most_of(struct world *w, const struct size *size)
{
	const DAT_EP_ATTR *ep = &w->ep_param.ep_attr;
	const DAT_IA_ATTR *ia = &w->s.ia_attr;
	DAT_SRQ_PARAM srq = { .max_recv_dtos = 0 };
	DAT_EVD_PARAM evd;

	must(dat_evd_query(w->s.soft_evd, DAT_EVD_FIELD_ALL, &evd));
	if (w->handle[SRQ])
		must(dat_srq_query(w->handle[SRQ], DAT_SRQ_FIELD_ALL, &srq));
	if (strstr(size->param, "qlen"))
		return ia->max_evd_qlen;
	if (!strcmp(size->param, "threshold"))
		return evd.evd_qlen;
	if (!strcmp(size->param, "private_data_size"))
		return w->s.attr.max_private_data_size;
	if (!strcmp(size->call, "dat_srq_resize"))
		return ia->max_recv_per_srq;
	if (!strcmp(size->call, "dat_srq_set_lw"))
		return srq.max_recv_dtos;
	if (!strcmp(size->call, "dat_srq_post_recv"))
		return srq.max_recv_iov;
	if (!strcmp(size->call, "dat_ep_post_rdma_read"))
		return ep->max_rdma_read_iov;
	if (!strcmp(size->call, "dat_ep_post_rdma_write"))
		return ep->max_rdma_write_iov;
	return strstr(size->call, "recv") ? ep->max_recv_iov : ep->max_request_iov;
}

static const struct size *size_of(const struct call *c, const struct param *p)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (!strcmp(c->name, sizes[i].call) && !strcmp(p->name, sizes[i].param))
			return &sizes[i];
	}
	return NULL;
}

static void try_size(struct trial *t, const struct size *size)
{
	int64_t most = most_of(&here, size);

	try_number(t, (uint64_t)(size->least - 1));
	try_number(t, (uint64_t)(int64_t)-1);
	try_number(t, (uint64_t)(int64_t)INT_MIN);
	if (most < INT_MAX) {
		try_number(t, (uint64_t)(most + 1));
		try_number(t, INT_MAX);
	}
}

/* ---- Pointers ---- */

/*
 * NULL is valid for optional pointers, and for pointers to data, which the fast path does not check.
 */
static bool null_will_do(const struct trial *t)
{
	static const char *const names[] = {
		"async_evd_handle", "lmr_context", "rmr_context", "registered_size",
		"registered_address", "ep_attributes", "private_data", "local_iov", "remote_buffer",
		"ia_attributes", "provider_attributes", "local_segments", "nbufs_allocated",
		"bufs_alloc_span",
	};

	if (!strcmp(t->c->name, "dat_ia_openv"))
		return false;
	if (!strcmp(t->c->name, "dat_rmr_bind"))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(t->p->name, names[i]))
			return true;
	}
	return false;
}

/* If a page has no code for a null pointer, any result is allowed. */
static void try_null(struct trial *t)
{
	if (null_will_do(t) || !strstr(t->c->codes, " DAT_INVALID_PARAMETER "))
		return;
	t->v[t->at].ptr = NULL;
	refused(t, DAT_INVALID_PARAMETER, "null");
}

/* ---- All arguments of all calls ---- */

static bool is_pointer(const struct param *p)
{
	return p->points || strstr(p->type, "_PTR") || !strcmp(p->type, "DAT_PVOID");
}

/* Zero is invalid for a length, and for the time limit of a connection. */
static bool zero_is_bad(const struct trial *t)
{
	return !strcmp(t->p->name, "length") ||
	       (!strcmp(t->p->name, "timeout") && strstr(t->c->name, "connect"));
}

static void try_param(const struct call *c, unsigned int at)
{
	const struct size *size = size_of(c, &c->params[at]);
	const struct set *set = set_of(&c->params[at]);
	struct trial t;

	begin(&t, c, at);
	if (set)
		try_set(&t, set);
	else if (size)
		try_size(&t, size);
	else if (zero_is_bad(&t))
		try_number(&t, 0);
	else if (is_pointer(t.p))
		try_null(&t);
	else if (strstr(t.p->type, "_HANDLE"))
		try_handles(&t);
}

enum amount { LEAST, ONE_MORE, MOST, AMOUNTS };

/* Calls that have a size at its minimum or maximum, where a shortage of resources is possible. */
static void is_done(const struct call *c, unsigned int at, const struct size *size, enum amount amount)
{
	union value v[MAX_ARGS];
	DAT_RETURN ret;

	world_make(&here, 0);
	good_begin(&here, c);
	good_values(&here, c, room, v);
	if (size)
		v[at].n = (uint64_t)(amount == MOST ? most_of(&here, size) : size->least + amount);
	ret = c->make(v);
	conform_note(c->page, ret);
	if (!is_good_code(c, ret) && !(amount == MOST && is(ret, DAT_INSUFFICIENT_RESOURCES)))
		conform_fail(__FILE__, __LINE__, "%s with %s: %s (0x%08x)", c->name,
			     size ? size->param : "good arguments", code_name(DAT_GET_TYPE(ret)), ret);
	good_end(&here, c, v, ret);
	world_drop(&here);
}

static void each_good(const struct call *c)
{
	is_done(c, 0, NULL, LEAST);
	for (unsigned int i = 0; i < c->n_params; i++) {
		const struct size *size = size_of(c, &c->params[i]);

		for (enum amount a = LEAST; size && a < AMOUNTS; a++)
			is_done(c, i, size, a);
	}
}

static void bad_input(const void *arg)
{
	const struct call *c = arg;
	struct th_usage before, after;

	world_make(&gone, 2);
	if (strstr(c->name, "srq") && !gone.handle[SRQ])
		skip("srq_supported is false: dat_srq_create answers MODEL_NOT_SUPPORTED");
	world_free(&gone);
	th_usage(&before);
	world_make(&here, 0);
	world_make(&other, 1);
	for (unsigned int i = 0; i < c->n_params; i++)
		try_param(c, i);
	if (!strcmp(c->name, "dat_lmr_create"))
		try_region(&(struct trial){ .c = c });
	if (!strcmp(c->name, "dat_ep_modify"))
		try_members(&(struct trial){ .c = c });
	world_free(&here);
	world_free(&other);
	each_good(c);
	check(TH_WITHIN(SOON_MS, (th_usage(&after), after.fds <= before.fds &&
						    after.threads <= before.threads)));
}

#include "conform_calls.h"
