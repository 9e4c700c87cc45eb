/* SPDX-License-Identifier: BSD-2-Clause */
/* Data transfers: the data, the completion, and refused posts. */
#include <string.h>

#include "tests/conformance/fixture.h"

#define BAD_FLAG ((DAT_COMPLETION_FLAGS)0x40)

static void fill(struct side *s, size_t off, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		s->mem[off + i] = (char)(seed + i * 7);
}

/* ---- Transfers and their data ---- */

STATEMENT(ep_post_send__arrives_whole, dat_ep_post_send, DESCRIPTION)
{
	static const size_t sizes[] = { 0, 1, 63, 64, 65, 1024, 4096, 4097, MEM / 2 };
	struct side a, b;

	two_open(&a, &b);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fill(&a, 0, sizes[i], (unsigned int)i);
		memset(b.mem, 0xee, MEM);
		must(do_recv(&b, i, 0, MEM / 2));
		must(do_send(&a, i, 0, sizes[i], DEFAULT));
		same(took_dto(b.recv_evd, i, DAT_DTO_SUCCESS), sizes[i]);
		took_dto(a.req_evd, i, DAT_DTO_SUCCESS);
		same(memcmp(a.mem, b.mem, sizes[i]), 0);
		same((unsigned char)b.mem[sizes[i]], 0xee);
	}
	two_close(&a, &b);
}

STATEMENT(ep_post_send__segments_in_order, dat_ep_post_send, DESCRIPTION)
{
	DAT_LMR_TRIPLET t[3];
	struct side a, b;

	two_open(&a, &b);
	fill(&a, 0, 1000, 3);
	t[0] = seg(&a, 500, 100);
	t[1] = seg(&a, 0, 0);
	t[2] = seg(&a, 10, 200);
	must(do_recv(&b, 1, 0, 4096));
	must(dat_ep_post_send(a.ep, 3, t, cookie(2), DEFAULT));
	same(took_dto(b.recv_evd, 1, DAT_DTO_SUCCESS), 300);
	same(memcmp(b.mem, a.mem + 500, 100), 0);
	same(memcmp(b.mem + 100, a.mem + 10, 200), 0);
	two_close(&a, &b);
}

STATEMENT(ep_post_recv__segments_fill_in_order, dat_ep_post_recv, DESCRIPTION)
{
	DAT_LMR_TRIPLET t[3];
	struct side a, b;

	two_open(&a, &b);
	fill(&a, 0, 150, 9);
	memset(b.mem, 0xee, MEM);
	t[0] = seg(&b, 1000, 100);
	t[1] = seg(&b, 2000, 100);
	t[2] = seg(&b, 3000, 100);
	must(dat_ep_post_recv(b.ep, 3, t, cookie(1), DEFAULT));
	must(do_send(&a, 2, 0, 150, DEFAULT));
	same(took_dto(b.recv_evd, 1, DAT_DTO_SUCCESS), 150);
	same(memcmp(b.mem + 1000, a.mem, 100), 0);
	same(memcmp(b.mem + 2000, a.mem + 100, 50), 0);
	same((unsigned char)b.mem[2050], 0xee);
	same((unsigned char)b.mem[3000], 0xee);
	two_close(&a, &b);
}

STATEMENT(ep_post_recv__message_larger_than_the_buffer, dat_ep_post_recv, DESCRIPTION)
{
	struct side a, b;

	two_open(&a, &b);
	needs_end_to_end(&a);
	must(do_recv(&b, 1, 0, 64));
	must(do_send(&a, 2, 0, 65, DEFAULT));
	took_dto(b.recv_evd, 1, DAT_DTO_LENGTH_ERROR);
	check(took_any(a.req_evd, 2).status != DAT_DTO_SUCCESS);
	two_close(&a, &b);
}

STATEMENT(ep_post_recv__not_before_connected, dat_ep_post_recv, DESCRIPTION)
{
	struct side a, b;

	two_open_apart(&a, &b);
	for (uint64_t i = 0; i < 4; i++)
		must(do_recv(&b, i, i * 64, 64));
	nothing_on(b.recv_evd);
	join(&a, a.ep, &b, b.ep);
	for (uint64_t i = 0; i < 4; i++) {
		must(do_send(&a, i, 0, 64, DEFAULT));
		took_dto(b.recv_evd, i, DAT_DTO_SUCCESS);
	}
	two_close(&a, &b);
}

STATEMENT(ep_post_rdma_write__moves_the_data, dat_ep_post_rdma_write, DESCRIPTION)
{
	DAT_LMR_TRIPLET t[2];
	DAT_RMR_TRIPLET to;
	struct side a, b;

	two_open(&a, &b);
	fill(&a, 0, 8192, 5);
	t[0] = seg(&a, 4000, 3000);
	t[1] = seg(&a, 100, 1000);
	to = far(&b, 512, 4000);
	must(dat_ep_post_rdma_write(a.ep, 2, t, cookie(4), &to, DEFAULT));
	took_dto(a.req_evd, 4, DAT_DTO_SUCCESS);
	same(memcmp(b.mem + 512, a.mem + 4000, 3000), 0);
	same(memcmp(b.mem + 3512, a.mem + 100, 1000), 0);
	nothing_on(b.recv_evd);
	two_close(&a, &b);
}

STATEMENT(ep_post_rdma_read__moves_the_data, dat_ep_post_rdma_read, DESCRIPTION)
{
	DAT_LMR_TRIPLET t[2];
	DAT_RMR_TRIPLET from;
	struct side a, b;

	two_open(&a, &b);
	fill(&b, 0, 8192, 5);
	t[0] = seg(&a, 4000, 3000);
	t[1] = seg(&a, 100, 1000);
	from = far(&b, 512, 4000);
	must(dat_ep_post_rdma_read(a.ep, 2, t, cookie(4), &from, DEFAULT));
	same(took_dto(a.req_evd, 4, DAT_DTO_SUCCESS), 4000);
	same(memcmp(a.mem + 4000, b.mem + 512, 3000), 0);
	same(memcmp(a.mem + 100, b.mem + 3512, 1000), 0);
	nothing_on(b.req_evd);
	two_close(&a, &b);
}

STATEMENT(ep_post_rdma_read__fills_front_segments_only, dat_ep_post_rdma_read, DESCRIPTION)
{
	DAT_LMR_TRIPLET t[2];
	DAT_RMR_TRIPLET from;
	struct side a, b;

	two_open(&a, &b);
	fill(&b, 0, 150, 5);
	memset(a.mem, 0xee, MEM);
	t[0] = seg(&a, 0, 100);
	t[1] = seg(&a, 1000, 100);
	from = far(&b, 0, 150);
	must(dat_ep_post_rdma_read(a.ep, 2, t, cookie(4), &from, DEFAULT));
	took_dto(a.req_evd, 4, DAT_DTO_SUCCESS);
	same(memcmp(a.mem + 1000, b.mem + 100, 50), 0);
	same((unsigned char)a.mem[1050], 0xee);
	two_close(&a, &b);
}

STATEMENT(ep_post_send__the_iov_may_be_reused, dat_ia_query, DESCRIPTION)
{
	DAT_LMR_TRIPLET t;
	struct side a, b;

	two_open(&a, &b);
	if (a.attr.iov_ownership_on_return != DAT_IOV_CONSUMER)
		skip("iov_ownership_on_return says that the provider owns the segments after the "
		     "post");
	fill(&a, 0, 64, 3);
	must(do_recv(&b, 1, 0, 64));
	t = seg(&a, 0, 64);
	must(dat_ep_post_send(a.ep, 1, &t, cookie(2), DEFAULT));
	memset(&t, 0xff, sizeof(t));
	took_dto(b.recv_evd, 1, DAT_DTO_SUCCESS);
	same(memcmp(a.mem, b.mem, 64), 0);
	two_close(&a, &b);
}

/* ---- Refusals by posts of all four kinds ---- */

enum kind { SEND, RECV, RDMA_READ, RDMA_WRITE };

struct post {
	enum kind kind;
	DAT_COUNT most;			/* largest number of segments */
	int need;			/* the right that the LMR needs */
};

static const struct post sending = { SEND, 4, DAT_MEM_PRIV_LOCAL_READ_FLAG };
static const struct post receiving = { RECV, 4, DAT_MEM_PRIV_LOCAL_WRITE_FLAG };
static const struct post reading = { RDMA_READ, 4, DAT_MEM_PRIV_LOCAL_WRITE_FLAG };
static const struct post writing = { RDMA_WRITE, 4, DAT_MEM_PRIV_LOCAL_READ_FLAG };

static DAT_RETURN post(const struct post *p, struct side *s, DAT_COUNT n, DAT_LMR_TRIPLET *t,
		       DAT_RMR_TRIPLET remote, int f)
{
	const DAT_COMPLETION_FLAGS flags = (DAT_COMPLETION_FLAGS)f;

	switch (p->kind) {
	case SEND: return tried(dat_ep_post_send(s->ep, n, t, cookie(9), flags));
	case RECV: return tried(dat_ep_post_recv(s->ep, n, t, cookie(9), flags));
	case RDMA_READ:
		return tried(dat_ep_post_rdma_read(s->ep, n, t, cookie(9), &remote, flags));
	default:
		return tried(dat_ep_post_rdma_write(s->ep, n, t, cookie(9), &remote, flags));
	}
}

static DAT_EVD_HANDLE evd_of(const struct post *p, struct side *s)
{
	return p->kind == RECV ? s->recv_evd : s->req_evd;
}

#define EACH_POST(suffix, section, fn)                                                             \
	STATEMENT_ROW(ep_post_send__##suffix, dat_ep_post_send, section, fn, &sending);            \
	STATEMENT_ROW(ep_post_recv__##suffix, dat_ep_post_recv, section, fn, &receiving);          \
	STATEMENT_ROW(ep_post_rdma_read__##suffix, dat_ep_post_rdma_read, section, fn, &reading);  \
	STATEMENT_ROW(ep_post_rdma_write__##suffix, dat_ep_post_rdma_write, section, fn, &writing)

static void bad_counts(const void *row)
{
	const struct post *p = row;
	DAT_LMR_TRIPLET t[256];
	DAT_EP_PARAM param;
	struct side a, b;
	DAT_COUNT most;

	two_open(&a, &b);
	must(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &param));
	most = p->kind == SEND ? param.ep_attr.max_request_iov :
	       p->kind == RECV ? param.ep_attr.max_recv_iov :
	       p->kind == RDMA_READ ? param.ep_attr.max_rdma_read_iov :
				      param.ep_attr.max_rdma_write_iov;
	check(most < 255);
	for (int i = 0; i < 256; i++)
		t[i] = seg(&a, (size_t)i * 8, 8);
	must_be(DAT_INVALID_PARAMETER, post(p, &a, -1, t, far(&b, 0, 8), DEFAULT));
	must_be(DAT_INVALID_PARAMETER, post(p, &a, INT32_MIN, t, far(&b, 0, 8), DEFAULT));
	must_be(DAT_INVALID_PARAMETER,
		post(p, &a, most + 1, t, far(&b, 0, ((size_t)most + 1) * 8), DEFAULT));
	must_be(DAT_INVALID_PARAMETER, post(p, &a, INT32_MAX, t, far(&b, 0, 8), DEFAULT));
	must_be(DAT_INVALID_PARAMETER, post(p, &a, 1, NULL, far(&b, 0, 8), DEFAULT));
	nothing_on(evd_of(p, &a));
	two_close(&a, &b);
}
EACH_POST(bad_counts_of_segments, RETURNS, bad_counts);

static void bad_flags(const void *row)
{
	const struct post *p = row;
	DAT_LMR_TRIPLET t;
	struct side a, b;

	two_open(&a, &b);
	t = seg(&a, 0, 8);
	must_be(DAT_INVALID_PARAMETER, post(p, &a, 1, &t, far(&b, 0, 8), BAD_FLAG));
	must_be(DAT_INVALID_PARAMETER, post(p, &a, 1, &t, far(&b, 0, 8), -1));
	must_be(DAT_INVALID_PARAMETER, post(p, &a, 1, &t, far(&b, 0, 8), UNSIGNALLED));
	if (p->kind == RECV) {
		must_be(DAT_INVALID_PARAMETER, post(p, &a, 1, &t, far(&b, 0, 8), SUPPRESS));
		must_be(DAT_INVALID_PARAMETER, post(p, &a, 1, &t, far(&b, 0, 8), BARRIER));
	}
	nothing_on(evd_of(p, &a));
	two_close(&a, &b);
}
EACH_POST(flags_out_of_range, PARAMETERS, bad_flags);

static void none_at_all(const void *row)
{
	const struct post *p = row;
	struct side a, b;

	two_open(&a, &b);
	must(post(p, &a, 0, NULL, far(&b, 0, 0), DEFAULT));
	if (p->kind == SEND)
		must(do_recv(&b, 1, 0, 8));
	if (p->kind == RECV)
		must(do_send(&b, 1, 0, 0, DEFAULT));
	took_dto(evd_of(p, &a), 9, DAT_DTO_SUCCESS);
	two_close(&a, &b);
}
EACH_POST(no_segments, PARAMETERS, none_at_all);

static void full(const void *row)
{
	const struct post *p = row;
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EP_PARAM param;
	DAT_LMR_TRIPLET t;
	struct bring b;
	DAT_COUNT n = 0;

	bring(&b, DAT_EP_STATE_DISCONNECTED);
	must(dat_ep_query(b.s.ep, DAT_EP_FIELD_ALL, &param));
	t = seg(&b.s, 0, 8);
	while (n < 4000 && (ret = post(p, &b.s, 1, &t, far(&b.peer, 0, 8), DEFAULT)) == DAT_SUCCESS)
		n++;
	same(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
	check(n >= (p->kind == RECV ? param.ep_attr.max_recv_dtos : param.ep_attr.max_request_dtos));
	bring_done(&b);
}
EACH_POST(queue_full, RETURNS, full);

/* A provider may report the error at once, or in the completion: the pages allow both. */
static void refused_or_completed(const struct post *p, struct side *a, struct side *b, DAT_RETURN ret,
				 uint32_t at_once, uint32_t or_at_once)
{
	if (ret != DAT_SUCCESS) {
		check(is(ret, at_once) || is(ret, or_at_once));
		return;
	}
	if (p->kind == SEND)
		must(do_recv(b, 1, 0, 64));
	if (p->kind == RECV)
		must(do_send(b, 1, 0, 64, DEFAULT));
	same(took_any(evd_of(p, a), 9).status, DAT_DTO_ERR_LOCAL_PROTECTION);
}

static void other_zone(const void *row)
{
	const struct post *p = row;
	DAT_LMR_CONTEXT context;
	DAT_LMR_TRIPLET t;
	DAT_PZ_HANDLE pz;
	struct side a, b;

	two_open(&a, &b);
	must(dat_pz_create(a.ia, &pz));
	side_lmr(&a, pz, DAT_MEM_PRIV_ALL_FLAG, &context, NULL);
	t = seg(&a, 0, 64);
	t.lmr_context = context;
	refused_or_completed(p, &a, &b, post(p, &a, 1, &t, far(&b, 0, 64), DEFAULT),
			     DAT_PROTECTION_VIOLATION, DAT_PROTECTION_VIOLATION);
	two_close(&a, &b);
}
EACH_POST(lmr_of_another_zone, RETURNS, other_zone);

static void no_right(const void *row)
{
	const struct post *p = row;
	const int other = p->need ^ RIGHTS_LOCAL;
	DAT_LMR_CONTEXT context;
	DAT_LMR_TRIPLET t;
	struct side a, b;
	DAT_RETURN ret;

	two_open(&a, &b);
	side_lmr(&a, a.pz, other, &context, NULL);
	t = seg(&a, 0, 64);
	t.lmr_context = context;
	ret = post(p, &a, 1, &t, far(&b, 0, 64), DEFAULT);
	/* On an InfiniBand adapter every key allows local reads. */
	if (ret == DAT_SUCCESS && p->need == DAT_MEM_PRIV_LOCAL_READ_FLAG)
		skip("the transport reads any registered memory: the page leaves the check to it");
	refused_or_completed(p, &a, &b, ret, DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION);
	two_close(&a, &b);
}
EACH_POST(lmr_lacks_the_right, RETURNS, no_right);

static void outside(const void *row)
{
	const struct post *p = row;
	DAT_LMR_TRIPLET t;
	struct side a, b;

	two_open(&a, &b);
	t = seg(&a, MEM - 32, 64);
	refused_or_completed(p, &a, &b, post(p, &a, 1, &t, far(&b, 0, 64), DEFAULT),
			     DAT_INVALID_PARAMETER, DAT_PROTECTION_VIOLATION);
	two_close(&a, &b);
}
EACH_POST(outside_the_lmr, RETURNS, outside);

/* ---- Lengths and rights at the peer ---- */

STATEMENT(ep_post_rdma_write__remote_buffer_too_small, dat_ep_post_rdma_write, RETURNS)
{
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET to;
	struct side a, b;

	two_open(&a, &b);
	t = seg(&a, 0, 65);
	to = far(&b, 0, 64);
	must_be(DAT_LENGTH_ERROR, dat_ep_post_rdma_write(a.ep, 1, &t, cookie(1), &to, DEFAULT));
	nothing_on(a.req_evd);
	two_close(&a, &b);
}

STATEMENT(ep_post_rdma_read__local_buffer_too_small, dat_ep_post_rdma_read, RETURNS)
{
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET from;
	struct side a, b;

	two_open(&a, &b);
	t = seg(&a, 0, 64);
	from = far(&b, 0, 65);
	must_be(DAT_LENGTH_ERROR, dat_ep_post_rdma_read(a.ep, 1, &t, cookie(1), &from, DEFAULT));
	nothing_on(a.req_evd);
	two_close(&a, &b);
}

STATEMENT(ep_post_rdma__remote_buffer_null, dat_ep_post_rdma_read, PARAMETERS)
{
	DAT_LMR_TRIPLET t;
	struct side a, b;

	two_open(&a, &b);
	t = seg(&a, 0, 64);
	must_be(DAT_INVALID_PARAMETER,
		dat_ep_post_rdma_read(a.ep, 1, &t, cookie(1), NULL, DEFAULT));
	must_be(DAT_INVALID_PARAMETER,
		dat_ep_post_rdma_write(a.ep, 1, &t, cookie(1), NULL, DEFAULT));
	two_close(&a, &b);
}

static void remote_right(bool write)
{
	DAT_RMR_CONTEXT context;
	struct side a, b;

	two_open(&a, &b);
	side_lmr(&b, b.pz, RIGHTS_LOCAL | (write ? DAT_MEM_PRIV_REMOTE_READ_FLAG :
		 DAT_MEM_PRIV_REMOTE_WRITE_FLAG), NULL, &context);
	if (write)
		must(do_write(&a, 1, 0, through(context, &b, 0, 64), DEFAULT));
	else
		must(do_read(&a, 1, 0, through(context, &b, 0, 64), DEFAULT));
	same(took_any(a.req_evd, 1).status, DAT_DTO_ERR_REMOTE_ACCESS);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_BROKEN);
	two_close(&a, &b);
}

STATEMENT(ep_post_rdma_write__no_remote_right, dat_ep_post_rdma_write, RETURNS)
{
	remote_right(true);
}

STATEMENT(ep_post_rdma_read__no_remote_right, dat_ep_post_rdma_read, RETURNS)
{
	remote_right(false);
}
