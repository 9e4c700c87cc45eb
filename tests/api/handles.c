/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each call with each of its handles bad in turn: null, of every other type, freed, of another IA.
 * It answers INVALID_HANDLE and leaves its outputs alone. All other arguments are good.
 */
#include <string.h>

#include "tests/api/api.h"

static struct api t, other;

enum kind { IA, PZ, EVD, CONN_EVD, EP, LMR, RMR, CNO, KINDS };

static struct {			/* of t, freed in setup */
	DAT_HANDLE handle[KINDS];
} freed;

/* Where outputs go: filled with a pattern that no call writes. */
static union {
	unsigned char bytes[2048];
	DAT_HANDLE handle;
	DAT_IA_ATTR ia;
	DAT_EVD_PARAM evd;
	DAT_EP_PARAM ep;
	DAT_LMR_PARAM lmr;
	DAT_RMR_PARAM rmr;
	DAT_CNO_PARAM cno;
	DAT_PZ_PARAM pz;
	DAT_EVENT event;
	DAT_CONTEXT context;
	DAT_HANDLE_TYPE type;
	DAT_EP_STATE state;
	DAT_RMR_CONTEXT rmr_context;
} out;

static DAT_COUNT nmore;
static const DAT_DTO_COOKIE cookie;

static DAT_REGION_DESCRIPTION region(void)
{
	return (DAT_REGION_DESCRIPTION){.for_va = t.mem};
}

static DAT_REGION_DESCRIPTION base(DAT_HANDLE h)
{
	return (DAT_REGION_DESCRIPTION){.for_lmr_handle = h};
}

#define CALL(id, expr) static void id(DAT_HANDLE h, DAT_RETURN *ret) { *ret = (expr); }
CALL(ia_query, dat_ia_query(h, NULL, DAT_IA_FIELD_ALL, &out.ia, 0, NULL))
CALL(ia_close, dat_ia_close(h, DAT_CLOSE_GRACEFUL_FLAG))
CALL(evd_create, dat_evd_create(h, 4, NULL, DAT_EVD_DTO_FLAG, &out.handle))
CALL(evd_create_cno, dat_evd_create(t.ia, 4, h, DAT_EVD_DTO_FLAG, &out.handle))
CALL(evd_query, dat_evd_query(h, DAT_EVD_FIELD_ALL, &out.evd))
CALL(evd_modify_cno, dat_evd_modify_cno(h, NULL))
CALL(evd_modify_cno_cno, dat_evd_modify_cno(t.evd, h))
CALL(evd_enable, dat_evd_enable(h))
CALL(evd_disable, dat_evd_disable(h))
CALL(evd_wait, dat_evd_wait(h, 0, 1, &out.event, &nmore))
CALL(evd_resize, dat_evd_resize(h, 64))
CALL(evd_dequeue, dat_evd_dequeue(h, &out.event))
CALL(evd_free, dat_evd_free(h))
CALL(evd_set_unwaitable, dat_evd_set_unwaitable(h))
CALL(evd_clear_unwaitable, dat_evd_clear_unwaitable(h))
CALL(ep_create, dat_ep_create(h, t.pz, t.evd, t.evd, t.conn_evd, NULL, &out.handle))
CALL(ep_create_pz, dat_ep_create(t.ia, h, t.evd, t.evd, t.conn_evd, NULL, &out.handle))
CALL(ep_create_recv, dat_ep_create(t.ia, t.pz, h, t.evd, t.conn_evd, NULL, &out.handle))
CALL(ep_create_request, dat_ep_create(t.ia, t.pz, t.evd, h, t.conn_evd, NULL, &out.handle))
CALL(ep_create_connect, dat_ep_create(t.ia, t.pz, t.evd, t.evd, h, NULL, &out.handle))
CALL(ep_query, dat_ep_query(h, DAT_EP_FIELD_ALL, &out.ep))
CALL(ep_modify, dat_ep_modify(h, DAT_EP_FIELD_EP_ATTR_QOS, &out.ep))
CALL(ep_post_send, dat_ep_post_send(h, 0, NULL, cookie, 0))
CALL(ep_post_recv, dat_ep_post_recv(h, 0, NULL, cookie, 0))
CALL(ep_get_status, dat_ep_get_status(h, &out.state, NULL, NULL))
CALL(ep_free, dat_ep_free(h))
CALL(ep_recv_query, dat_ep_recv_query(h, &nmore, &nmore))
CALL(ep_set_watermark, dat_ep_set_watermark(h, 1, 2))
CALL(pz_create, dat_pz_create(h, &out.handle))
CALL(pz_query, dat_pz_query(h, DAT_PZ_FIELD_ALL, &out.pz))
CALL(pz_free, dat_pz_free(h))
CALL(lmr_create, dat_lmr_create(h, DAT_MEM_TYPE_VIRTUAL, region(), 64, t.pz, 1, &out.handle, NULL,
				NULL, NULL, NULL))
CALL(lmr_create_pz, dat_lmr_create(t.ia, DAT_MEM_TYPE_VIRTUAL, region(), 64, h, 1, &out.handle,
				   NULL, NULL, NULL, NULL))
CALL(lmr_create_lmr, dat_lmr_create(t.ia, DAT_MEM_TYPE_LMR, base(h), 0, t.pz, 1, &out.handle, NULL,
				    NULL, NULL, NULL))
CALL(lmr_query, dat_lmr_query(h, DAT_LMR_FIELD_ALL, &out.lmr))
CALL(lmr_free, dat_lmr_free(h))
CALL(lmr_sync_read, dat_lmr_sync_rdma_read(h, NULL, 0))
CALL(lmr_sync_write, dat_lmr_sync_rdma_write(h, NULL, 0))
CALL(rmr_create, dat_rmr_create(h, &out.handle))
CALL(rmr_query, dat_rmr_query(h, DAT_RMR_FIELD_ALL, &out.rmr))
CALL(rmr_free, dat_rmr_free(h))
CALL(psp_create, dat_psp_create(h, 45678, t.conn_evd, DAT_PSP_CONSUMER_FLAG, &out.handle))
CALL(psp_create_evd, dat_psp_create(t.ia, 45678, h, DAT_PSP_CONSUMER_FLAG, &out.handle))
CALL(rsp_create, dat_rsp_create(h, 45678, t.ep, t.conn_evd, &out.handle))
CALL(rsp_create_ep, dat_rsp_create(t.ia, 45678, h, t.conn_evd, &out.handle))
CALL(rsp_create_evd, dat_rsp_create(t.ia, 45678, t.ep, h, &out.handle))
CALL(psp_free, dat_psp_free(h))
CALL(rsp_free, dat_rsp_free(h))
CALL(cr_reject, dat_cr_reject(h))
CALL(cno_create, dat_cno_create(h, DAT_OS_WAIT_PROXY_AGENT_NULL, &out.handle))
CALL(cno_free, dat_cno_free(h))
CALL(cno_query, dat_cno_query(h, DAT_CNO_FIELD_ALL, &out.cno))
CALL(cno_wait, dat_cno_wait(h, 0, &out.handle))
CALL(cno_modify_agent, dat_cno_modify_agent(h, DAT_OS_WAIT_PROXY_AGENT_NULL))
CALL(srq_free, dat_srq_free(h))
CALL(ep_disconnect, dat_ep_disconnect(h, DAT_CLOSE_ABRUPT_FLAG))
CALL(ep_reset, dat_ep_reset(h))
CALL(get_context, dat_get_consumer_context(h, &out.context))
CALL(set_context, dat_set_consumer_context(h, cookie))
CALL(get_type, dat_get_handle_type(h, &out.type))

static void post_rdma_read(DAT_HANDLE h, DAT_RETURN *ret)
{
	DAT_RMR_TRIPLET remote = {.segment_length = 0};

	*ret = dat_ep_post_rdma_read(h, 0, NULL, cookie, &remote, 0);
}

static void post_rdma_write(DAT_HANDLE h, DAT_RETURN *ret)
{
	DAT_RMR_TRIPLET remote = {.segment_length = 0};

	*ret = dat_ep_post_rdma_write(h, 0, NULL, cookie, &remote, 0);
}

static DAT_RETURN try_bind(DAT_HANDLE rmr, DAT_HANDLE ep)
{
	DAT_LMR_TRIPLET seg = {.lmr_context = t.lmr_context,
			       .virtual_address = (uintptr_t)t.mem, .segment_length = 64};

	return dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep, cookie, 0,
			    &out.rmr_context);
}

static void rmr_bind(DAT_HANDLE h, DAT_RETURN *ret)
{
	*ret = try_bind(h, t.ep);
}

static void rmr_bind_ep(DAT_HANDLE h, DAT_RETURN *ret)
{
	*ret = try_bind(t.rmr, h);
}

static void post_se(DAT_HANDLE h, DAT_RETURN *ret)
{
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	*ret = dat_evd_post_se(h, &ev);
}

enum {
	NULL_OK = 1,		/* null means none there */
	ANY_TYPE = 2,		/* a handle of any type does */
	ANY_IA = 4,		/* the only handle: whichever IA it is of is meant */
	NO_KIND = 8,		/* there is no good handle yet */
};

static const struct call {
	const char *name;
	void (*fn)(DAT_HANDLE h, DAT_RETURN *ret);
	enum kind kind;		/* what is good there */
	unsigned int flags;
} calls[] = {
#define C(fn, kind, flags) {#fn, fn, kind, flags}
	C(ia_query, IA, ANY_IA), C(ia_close, IA, ANY_IA), C(evd_create, IA, ANY_IA),
	C(evd_create_cno, CNO, NULL_OK), C(evd_query, EVD, ANY_IA),
	C(evd_modify_cno, EVD, ANY_IA), C(evd_modify_cno_cno, CNO, NULL_OK),
	C(evd_enable, EVD, ANY_IA), C(evd_disable, EVD, ANY_IA),
	C(evd_wait, EVD, ANY_IA), C(evd_resize, EVD, ANY_IA), C(evd_dequeue, EVD, ANY_IA),
	C(evd_free, EVD, ANY_IA), C(evd_set_unwaitable, EVD, ANY_IA),
	C(evd_clear_unwaitable, EVD, ANY_IA), C(post_se, CONN_EVD, ANY_IA),
	C(ep_create, IA, ANY_IA), C(ep_create_pz, PZ, 0), C(ep_create_recv, EVD, NULL_OK),
	C(ep_create_request, EVD, NULL_OK), C(ep_create_connect, CONN_EVD, NULL_OK),
	C(ep_query, EP, ANY_IA), C(ep_modify, EP, ANY_IA), C(ep_post_send, EP, ANY_IA),
	C(ep_post_recv, EP, ANY_IA), C(post_rdma_read, EP, ANY_IA), C(post_rdma_write, EP, ANY_IA),
	C(ep_get_status, EP, ANY_IA), C(ep_free, EP, ANY_IA), C(ep_recv_query, EP, ANY_IA),
	C(ep_set_watermark, EP, ANY_IA), C(pz_create, IA, ANY_IA), C(pz_query, PZ, ANY_IA),
	C(pz_free, PZ, ANY_IA), C(lmr_create, IA, ANY_IA), C(lmr_create_pz, PZ, 0),
	C(lmr_create_lmr, LMR, 0), C(lmr_query, LMR, ANY_IA), C(lmr_free, LMR, ANY_IA),
	C(lmr_sync_read, IA, ANY_IA), C(lmr_sync_write, IA, ANY_IA), C(rmr_create, PZ, ANY_IA),
	C(rmr_query, RMR, ANY_IA), C(rmr_free, RMR, ANY_IA), C(rmr_bind, RMR, ANY_IA),
	C(rmr_bind_ep, EP, 0), C(psp_create, IA, ANY_IA), C(psp_create_evd, CONN_EVD, 0),
	C(rsp_create, IA, ANY_IA), C(rsp_create_ep, EP, NULL_OK), C(rsp_create_evd, CONN_EVD, 0),
	C(psp_free, IA, NO_KIND), C(rsp_free, IA, NO_KIND), C(cr_reject, IA, NO_KIND),
	C(cno_create, IA, ANY_IA), C(cno_free, CNO, ANY_IA), C(cno_query, CNO, ANY_IA),
	C(cno_wait, CNO, ANY_IA), C(cno_modify_agent, CNO, ANY_IA),
	C(srq_free, IA, NO_KIND), C(ep_disconnect, EP, ANY_IA),
	C(ep_reset, EP, ANY_IA), C(get_context, IA, ANY_TYPE | ANY_IA),
	C(set_context, IA, ANY_TYPE | ANY_IA), C(get_type, IA, ANY_TYPE | ANY_IA),
#undef C
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

static DAT_HANDLE of(const struct api *a, unsigned int kind)
{
	const DAT_HANDLE handle[KINDS] = {
		[IA] = a->ia, [PZ] = a->pz, [EVD] = a->evd, [CONN_EVD] = a->conn_evd,
		[EP] = a->ep, [LMR] = a->lmr, [RMR] = a->rmr, [CNO] = a->cno};

	return handle[kind];
}

static void setup(void)
{
	struct api gone;

	api_open(&t);
	api_open(&other);
	api_open(&gone);
	for (unsigned int k = 0; k < KINDS; k++)
		freed.handle[k] = of(&gone, k);
	api_close_gracefully(&gone);
}

static void teardown(void)
{
	api_close(&t);
	api_close(&other);
}

TestSuite(handles, .init = setup, .fini = teardown, .timeout = 120);

static void expect_refused(const struct call *c, DAT_HANDLE h, const char *what)
{
	DAT_RETURN ret;

	memset(&out, 0xa5, sizeof(out));
	c->fn(h, &ret);
	cr_expect_eq(DAT_GET_TYPE(ret), (DAT_RETURN)DAT_INVALID_HANDLE, "%s of %s: 0x%08x", c->name,
		     what, ret);
	for (size_t i = 0; i < sizeof(out.bytes); i++)
		cr_assert_eq(out.bytes[i], 0xa5, "%s of %s wrote an output", c->name, what);
}

Test(handles, each_call__null)
{
	for (const struct call *c = calls; c < calls + CALLS; c++) {
		if (!(c->flags & NULL_OK))
			expect_refused(c, DAT_HANDLE_NULL, "null");
	}
}

Test(handles, each_call__freed)
{
	static const char *const names[KINDS] = {"freed IA", "freed PZ", "freed EVD",
						 "freed EVD", "freed EP", "freed LMR", "freed RMR",
						 "freed CNO"};

	for (const struct call *c = calls; c < calls + CALLS; c++) {
		for (unsigned int k = 0; k < KINDS; k++)
			expect_refused(c, freed.handle[k], names[k]);
	}
}

static bool is_good(const struct call *c, unsigned int kind)
{
	bool evds = (c->kind == EVD || c->kind == CONN_EVD) && (kind == EVD || kind == CONN_EVD);

	return !(c->flags & NO_KIND) && (c->flags & ANY_TYPE || c->kind == kind || evds);
}

Test(handles, each_call__other_type)
{
	static const char *const names[KINDS] = {"an IA", "a PZ", "an EVD", "an EVD", "an EP",
						 "an LMR", "an RMR", "a CNO"};

	for (const struct call *c = calls; c < calls + CALLS; c++) {
		for (unsigned int k = 0; k < KINDS; k++) {
			if (!is_good(c, k))
				expect_refused(c, of(&t, k), names[k]);
		}
	}
}

Test(handles, each_call__other_ia)
{
	for (const struct call *c = calls; c < calls + CALLS; c++) {
		if (!(c->flags & (ANY_IA | NO_KIND)))
			expect_refused(c, of(&other, c->kind), "another IA");
	}
}

/* The EVD of a stream has to have been made for it. */
Test(handles, ep_create__evd_for_other_streams)
{
	DAT_EP_HANDLE ep;

	assert_code(dat_ep_create(t.ia, t.pz, t.conn_evd, t.evd, t.conn_evd, NULL, &ep),
		    DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV);
	assert_code(dat_ep_create(t.ia, t.pz, t.evd, t.conn_evd, t.conn_evd, NULL, &ep),
		    DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	assert_code(dat_ep_create(t.ia, t.pz, t.evd, t.evd, t.evd, NULL, &ep), DAT_INVALID_HANDLE,
		    DAT_INVALID_HANDLE_EVD_CONN);
}

Test(handles, get_handle_type__each)
{
	static const DAT_HANDLE_TYPE types[KINDS] = {
		[IA] = DAT_HANDLE_TYPE_IA, [PZ] = DAT_HANDLE_TYPE_PZ, [EVD] = DAT_HANDLE_TYPE_EVD,
		[CONN_EVD] = DAT_HANDLE_TYPE_EVD, [EP] = DAT_HANDLE_TYPE_EP,
		[LMR] = DAT_HANDLE_TYPE_LMR, [RMR] = DAT_HANDLE_TYPE_RMR,
		[CNO] = DAT_HANDLE_TYPE_CNO};
	DAT_HANDLE_TYPE type;

	for (unsigned int k = 0; k < KINDS; k++) {
		assert_ok(dat_get_handle_type(of(&t, k), &type));
		cr_assert_eq(type, types[k]);
	}
	assert_ret(dat_get_handle_type(t.ep, NULL), DAT_INVALID_PARAMETER);
}

Test(handles, consumer_context__each)
{
	DAT_CONTEXT c;

	for (unsigned int k = 0; k < KINDS; k++) {
		assert_ok(dat_get_consumer_context(of(&t, k), &c));
		cr_assert_eq(c.as_64, 0);
		c.as_64 = UINT64_C(0x123456789abcdef0) + k;
		assert_ok(dat_set_consumer_context(of(&t, k), c));
	}
	for (unsigned int k = 0; k < KINDS; k++) {
		assert_ok(dat_get_consumer_context(of(&t, k), &c));
		cr_assert_eq(c.as_64, UINT64_C(0x123456789abcdef0) + k);
	}
	assert_ret(dat_get_consumer_context(t.ep, NULL), DAT_INVALID_PARAMETER);
}
