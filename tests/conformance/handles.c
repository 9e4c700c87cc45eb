/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each call with each of its handles bad in turn: null, of every other type, freed, and of another
 * IA where two handles have to be of one. All other arguments are good. A row is one statement.
 */
#include "tests/conformance/fixture.h"

enum kind { IA, PZ, EVD, SOFT_EVD, CR_EVD, CONN_EVD, EP, LMR, RMR, PSP, RSP, CR, CNO, SRQ, KINDS };

enum {
	NULL_OK = 1,		/* null means none there */
	ANY_TYPE = 2,		/* a handle of any type does */
	TWO = 4,		/* another handle says which IA it has to be of */
	AN_EVD = 8,		/* of whatever streams */
};

struct zoo {
	struct bring b;
	DAT_HANDLE handle[KINDS];
};

static struct zoo here, other;
static struct side *s;		/* of here */
static DAT_EP_HANDLE ep2;	/* unconnected; RSP and CR have the other */

/* Where outputs go. */
static union {
	unsigned char bytes[2048];
	DAT_HANDLE handle;
	DAT_IA_ATTR ia;
	DAT_EVENT event;
	DAT_EP_PARAM ep;
	DAT_LMR_PARAM lmr;
	DAT_RMR_PARAM rmr;
	DAT_EVD_PARAM evd;
	DAT_CNO_PARAM cno;
	DAT_SRQ_PARAM srq;
	DAT_CONTEXT context;
	DAT_HANDLE_TYPE type;
	DAT_EP_STATE state;
	DAT_CONN_QUAL qual;
} out;
static DAT_COUNT n;
static DAT_LMR_CONTEXT lc;
static DAT_RMR_CONTEXT rc;
static DAT_VLEN size;
static DAT_VADDR at;
static DAT_LMR_TRIPLET t;
static DAT_RMR_TRIPLET far_off;
static DAT_EP_ATTR attr;
static DAT_SRQ_ATTR srq_attr = { 8, 1, DAT_SRQ_LW_DEFAULT };
static DAT_EVENT soft = { .event_number = DAT_SOFTWARE_EVENT };

static DAT_HANDLE maybe_cno(DAT_IA_HANDLE ia)
{
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

	return dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno) == DAT_SUCCESS ? cno : NULL;
}

static DAT_HANDLE maybe_srq(struct side *side)
{
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

	return dat_srq_create(side->ia, side->pz, &srq_attr, &srq) == DAT_SUCCESS ? srq : NULL;
}

static void make(struct zoo *z)
{
	struct side *side = &z->b.s;
	DAT_RMR_HANDLE rmr;

	bring(&z->b, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	side_listen(side);
	must(dat_rmr_create(side->pz, &rmr));
	z->handle[IA] = side->ia;
	z->handle[PZ] = side->pz;
	z->handle[EVD] = side->recv_evd;
	z->handle[SOFT_EVD] = side->soft_evd;
	z->handle[CR_EVD] = side->cr_evd;
	z->handle[CONN_EVD] = side->conn_evd;
	z->handle[EP] = side->ep;
	z->handle[LMR] = side->lmr;
	z->handle[RMR] = rmr;
	z->handle[PSP] = side->psp;
	z->handle[RSP] = z->b.rsp;
	z->handle[CR] = z->b.cr;
	z->handle[CNO] = maybe_cno(side->ia);
	z->handle[SRQ] = maybe_srq(side);
}

struct row {
	const char *page;
	void (*call)(DAT_HANDLE h, DAT_RETURN *ret);
	enum kind kind;
	int flags;
};

static bool is_evd(enum kind k)
{
	return k >= EVD && k <= CONN_EVD;
}

static bool is_good(const struct row *row, enum kind k)
{
	return row->flags & ANY_TYPE || row->kind == k || (is_evd(row->kind) && is_evd(k));
}

static const char *const names[KINDS] = {
	"an IA", "a PZ", "an EVD", "an EVD", "an EVD", "an EVD", "an EP", "an LMR", "an RMR", "a PSP",
	"an RSP", "a CR", "a CNO", "an SRQ",
};

static void is_refused(const struct row *row, DAT_HANDLE h, const char *how, const char *what)
{
	DAT_RETURN ret;

	row->call(h, &ret);
	conform_note(row->page, ret);
	if (!is(ret, DAT_INVALID_HANDLE))
		conform_fail(__FILE__, __LINE__, "with %s%s: %s (0x%08x)", how, what,
			     code_name(DAT_GET_TYPE(ret)), ret);
}

static void each_bad_handle(const void *arg)
{
	const struct row *row = arg;
	struct zoo gone;

	make(&gone);
	bring_done(&gone.b);
	make(&here);
	make(&other);
	s = &here.b.s;
	ep2 = side_ep(s, NULL);
	attr = side_attr();
	t = seg(s, 0, 64);
	far_off = far(s, 0, 64);
	if (!(row->flags & NULL_OK))
		is_refused(row, DAT_HANDLE_NULL, "null", "");
	for (enum kind k = IA; k < KINDS; k++) {
		if (gone.handle[k])
			is_refused(row, gone.handle[k], "a freed handle of ", names[k]);
		if (here.handle[k] && !is_good(row, k))
			is_refused(row, here.handle[k], "a handle of ", names[k]);
	}
	if (row->flags & TWO && other.handle[row->kind])
		is_refused(row, other.handle[row->kind], "one of another IA: ", names[row->kind]);
	bring_done(&here.b);
	bring_done(&other.b);
}

#define H(name_, page_, kind_, flags_, ...)                                                        \
	static void name_##_call(DAT_HANDLE h, DAT_RETURN *ret)                                    \
	{                                                                                          \
		*ret = (__VA_ARGS__);                                                              \
	}                                                                                          \
	static const struct row name_##_row = { #page_, name_##_call, kind_, flags_ };             \
	STATEMENT_ROW(name_##__bad_handle, page_, RETURNS, each_bad_handle, &name_##_row)

static DAT_REGION_DESCRIPTION region(void)
{
	return (DAT_REGION_DESCRIPTION){ .for_va = s->mem };
}

static DAT_REGION_DESCRIPTION base(DAT_HANDLE h)
{
	return (DAT_REGION_DESCRIPTION){ .for_lmr_handle = h };
}

static DAT_OS_WAIT_PROXY_AGENT no_agent(void)
{
	return DAT_OS_WAIT_PROXY_AGENT_NULL;
}

H(ia_query, dat_ia_query, IA, 0, dat_ia_query(h, NULL, DAT_IA_FIELD_ALL, &out.ia, 0, NULL));
H(ia_close, dat_ia_close, IA, 0, dat_ia_close(h, DAT_CLOSE_GRACEFUL_FLAG));
H(get_consumer_context, dat_get_consumer_context, IA, ANY_TYPE,
  dat_get_consumer_context(h, &out.context));
H(set_consumer_context, dat_set_consumer_context, IA, ANY_TYPE,
  dat_set_consumer_context(h, cookie(1)));
H(get_handle_type, dat_get_handle_type, IA, ANY_TYPE, dat_get_handle_type(h, &out.type));

H(cno_create, dat_cno_create, IA, 0, dat_cno_create(h, no_agent(), &out.handle));
H(cno_free, dat_cno_free, CNO, 0, dat_cno_free(h));
H(cno_modify_agent, dat_cno_modify_agent, CNO, 0, dat_cno_modify_agent(h, no_agent()));
H(cno_query, dat_cno_query, CNO, 0, dat_cno_query(h, DAT_CNO_FIELD_ALL, &out.cno));
H(cno_wait, dat_cno_wait, CNO, 0, dat_cno_wait(h, 0, &out.handle));

H(evd_create, dat_evd_create, IA, 0, dat_evd_create(h, 4, NULL, DAT_EVD_DTO_FLAG, &out.handle));
H(evd_create_cno, dat_evd_create, CNO, NULL_OK | TWO,
  dat_evd_create(s->ia, 4, h, DAT_EVD_DTO_FLAG, &out.handle));
H(evd_query, dat_evd_query, EVD, 0, dat_evd_query(h, DAT_EVD_FIELD_ALL, &out.evd));
H(evd_modify_cno, dat_evd_modify_cno, EVD, 0, dat_evd_modify_cno(h, NULL));
H(evd_modify_cno_cno, dat_evd_modify_cno, CNO, NULL_OK | TWO, dat_evd_modify_cno(s->soft_evd, h));
H(evd_enable, dat_evd_enable, EVD, 0, dat_evd_enable(h));
H(evd_disable, dat_evd_disable, EVD, 0, dat_evd_disable(h));
H(evd_wait, dat_evd_wait, EVD, 0, dat_evd_wait(h, 0, 1, &out.event, &n));
H(evd_resize, dat_evd_resize, EVD, 0, dat_evd_resize(h, 64));
H(evd_post_se, dat_evd_post_se, SOFT_EVD, 0, dat_evd_post_se(h, &soft));
H(evd_dequeue, dat_evd_dequeue, EVD, 0, dat_evd_dequeue(h, &out.event));
H(evd_free, dat_evd_free, EVD, 0, dat_evd_free(h));
H(evd_set_unwaitable, dat_evd_set_unwaitable, EVD, 0, dat_evd_set_unwaitable(h));
H(evd_clear_unwaitable, dat_evd_clear_unwaitable, EVD, 0, dat_evd_clear_unwaitable(h));

H(ep_create, dat_ep_create, IA, 0, dat_ep_create(h, s->pz, s->recv_evd, s->req_evd, s->conn_evd,
						 &attr, &out.handle));
H(ep_create_pz, dat_ep_create, PZ, TWO,
  dat_ep_create(s->ia, h, s->recv_evd, s->req_evd, s->conn_evd, &attr, &out.handle));
H(ep_create_recv_evd, dat_ep_create, EVD, NULL_OK | TWO,
  dat_ep_create(s->ia, s->pz, h, s->req_evd, s->conn_evd, &attr, &out.handle));
H(ep_create_request_evd, dat_ep_create, EVD, NULL_OK | TWO,
  dat_ep_create(s->ia, s->pz, s->recv_evd, h, s->conn_evd, &attr, &out.handle));
H(ep_create_connect_evd, dat_ep_create, CONN_EVD, NULL_OK | TWO,
  dat_ep_create(s->ia, s->pz, s->recv_evd, s->req_evd, h, &attr, &out.handle));
H(ep_create_with_srq, dat_ep_create_with_srq, IA, 0,
  dat_ep_create_with_srq(h, s->pz, s->recv_evd, s->req_evd, s->conn_evd, here.handle[SRQ], &attr,
			 &out.handle));
H(ep_query, dat_ep_query, EP, 0, dat_ep_query(h, DAT_EP_FIELD_ALL, &out.ep));
H(ep_modify, dat_ep_modify, EP, 0, dat_ep_modify(h, DAT_EP_FIELD_EP_ATTR_QOS, &out.ep));
H(ep_connect, dat_ep_connect, EP, 0, dat_ep_connect(h, side_address(s), 1, SOON, 0, NULL,
						    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
H(ep_dup_connect, dat_ep_dup_connect, EP, 0,
  dat_ep_dup_connect(h, ep2, SOON, 0, NULL, DAT_QOS_BEST_EFFORT));
H(ep_dup_connect_dup, dat_ep_dup_connect, EP, TWO,
  dat_ep_dup_connect(ep2, h, SOON, 0, NULL, DAT_QOS_BEST_EFFORT));
H(ep_disconnect, dat_ep_disconnect, EP, 0, dat_ep_disconnect(h, DAT_CLOSE_ABRUPT_FLAG));
H(ep_post_send, dat_ep_post_send, EP, 0, dat_ep_post_send(h, 1, &t, cookie(1), DEFAULT));
H(ep_post_recv, dat_ep_post_recv, EP, 0, dat_ep_post_recv(h, 1, &t, cookie(1), DEFAULT));
H(ep_post_rdma_read, dat_ep_post_rdma_read, EP, 0,
  dat_ep_post_rdma_read(h, 1, &t, cookie(1), &far_off, DEFAULT));
H(ep_post_rdma_write, dat_ep_post_rdma_write, EP, 0,
  dat_ep_post_rdma_write(h, 1, &t, cookie(1), &far_off, DEFAULT));
H(ep_get_status, dat_ep_get_status, EP, 0, dat_ep_get_status(h, &out.state, NULL, NULL));
H(ep_reset, dat_ep_reset, EP, 0, dat_ep_reset(h));
H(ep_free, dat_ep_free, EP, 0, dat_ep_free(h));
H(ep_recv_query, dat_ep_recv_query, EP, 0, dat_ep_recv_query(h, &n, &n));
H(ep_set_watermark, dat_ep_set_watermark, EP, 0, dat_ep_set_watermark(h, 1, 2));

H(pz_create, dat_pz_create, IA, 0, dat_pz_create(h, &out.handle));
H(pz_query, dat_pz_query, PZ, 0, dat_pz_query(h, DAT_PZ_FIELD_ALL, (DAT_PZ_PARAM *)&out));
H(pz_free, dat_pz_free, PZ, 0, dat_pz_free(h));
H(lmr_create, dat_lmr_create, IA, 0,
  dat_lmr_create(h, DAT_MEM_TYPE_VIRTUAL, region(), 64, s->pz, DAT_MEM_PRIV_LOCAL_READ_FLAG,
		 &out.handle, &lc, &rc, &size, &at));
H(lmr_create_pz, dat_lmr_create, PZ, TWO,
  dat_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, region(), 64, h, DAT_MEM_PRIV_LOCAL_READ_FLAG,
		 &out.handle, &lc, &rc, &size, &at));
H(lmr_create_lmr, dat_lmr_create, LMR, TWO,
  dat_lmr_create(s->ia, DAT_MEM_TYPE_LMR, base(h), 0, s->pz, DAT_MEM_PRIV_LOCAL_READ_FLAG,
		 &out.handle, &lc, &rc, &size, &at));
H(lmr_query, dat_lmr_query, LMR, 0, dat_lmr_query(h, DAT_LMR_FIELD_ALL, &out.lmr));
H(lmr_free, dat_lmr_free, LMR, 0, dat_lmr_free(h));
H(lmr_sync_rdma_read, dat_lmr_sync_rdma_read, IA, 0, dat_lmr_sync_rdma_read(h, &t, 1));
H(lmr_sync_rdma_write, dat_lmr_sync_rdma_write, IA, 0, dat_lmr_sync_rdma_write(h, &t, 1));
H(rmr_create, dat_rmr_create, PZ, 0, dat_rmr_create(h, &out.handle));
H(rmr_query, dat_rmr_query, RMR, 0, dat_rmr_query(h, DAT_RMR_FIELD_ALL, &out.rmr));
H(rmr_bind, dat_rmr_bind, RMR, 0,
  dat_rmr_bind(h, &t, DAT_MEM_PRIV_REMOTE_READ_FLAG, s->ep, cookie(1), DEFAULT, &rc));
H(rmr_bind_ep, dat_rmr_bind, EP, TWO,
  dat_rmr_bind(here.handle[RMR], &t, DAT_MEM_PRIV_REMOTE_READ_FLAG, h, cookie(1), DEFAULT, &rc));
H(rmr_free, dat_rmr_free, RMR, 0, dat_rmr_free(h));

H(psp_create, dat_psp_create, IA, 0,
  dat_psp_create(h, some_qual(9), s->cr_evd, DAT_PSP_CONSUMER_FLAG, &out.handle));
H(psp_create_evd, dat_psp_create, CR_EVD, TWO,
  dat_psp_create(s->ia, some_qual(9), h, DAT_PSP_CONSUMER_FLAG, &out.handle));
H(psp_create_any, dat_psp_create_any, IA, 0,
  dat_psp_create_any(h, &out.qual, s->cr_evd, DAT_PSP_CONSUMER_FLAG, &out.handle));
H(psp_create_any_evd, dat_psp_create_any, CR_EVD, TWO,
  dat_psp_create_any(s->ia, &out.qual, h, DAT_PSP_CONSUMER_FLAG, &out.handle));
H(psp_query, dat_psp_query, PSP, 0, dat_psp_query(h, DAT_PSP_FIELD_ALL, (DAT_PSP_PARAM *)&out));
H(psp_free, dat_psp_free, PSP, 0, dat_psp_free(h));
H(rsp_create, dat_rsp_create, IA, 0,
  dat_rsp_create(h, some_qual(9), ep2, s->cr_evd, &out.handle));
H(rsp_create_ep, dat_rsp_create, EP, TWO,
  dat_rsp_create(s->ia, some_qual(9), h, s->cr_evd, &out.handle));
H(rsp_create_evd, dat_rsp_create, CR_EVD, TWO,
  dat_rsp_create(s->ia, some_qual(9), ep2, h, &out.handle));
H(rsp_query, dat_rsp_query, RSP, 0, dat_rsp_query(h, DAT_RSP_FIELD_ALL, (DAT_RSP_PARAM *)&out));
H(rsp_free, dat_rsp_free, RSP, 0, dat_rsp_free(h));
H(cr_query, dat_cr_query, CR, 0, dat_cr_query(h, DAT_CR_FIELD_ALL, (DAT_CR_PARAM *)&out));
H(cr_accept, dat_cr_accept, CR, 0, dat_cr_accept(h, ep2, 0, NULL));
H(cr_accept_ep, dat_cr_accept, EP, NULL_OK | TWO, dat_cr_accept(here.handle[CR], h, 0, NULL));
H(cr_reject, dat_cr_reject, CR, 0, dat_cr_reject(h));
H(cr_handoff, dat_cr_handoff, CR, 0, dat_cr_handoff(h, s->qual));

H(srq_create, dat_srq_create, IA, 0, dat_srq_create(h, s->pz, &srq_attr, &out.handle));
H(srq_create_pz, dat_srq_create, PZ, TWO, dat_srq_create(s->ia, h, &srq_attr, &out.handle));
H(srq_free, dat_srq_free, SRQ, 0, dat_srq_free(h));
H(srq_post_recv, dat_srq_post_recv, SRQ, 0, dat_srq_post_recv(h, 1, &t, cookie(1)));
H(srq_query, dat_srq_query, SRQ, 0, dat_srq_query(h, DAT_SRQ_FIELD_ALL, &out.srq));
H(srq_resize, dat_srq_resize, SRQ, 0, dat_srq_resize(h, 16));
H(srq_set_lw, dat_srq_set_lw, SRQ, 0, dat_srq_set_lw(h, 1));
