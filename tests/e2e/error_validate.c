/* SPDX-License-Identifier: BSD-2-Clause */
/* With validation, a post fails at once in cases where the adapter would break the connection. */
#include "tests/e2e/rig.h"

static struct end a, b;

static void setup(void)
{
	rig_conf("strict=1;validate=1");
	pair_open(&a, &b);
}

/* Checks after a refusal that nothing has been posted, and that everything still works. */
static void teardown(void)
{
	rig_empty(a.req_evd);
	rig_empty(a.recv_evd);
	pair_moves(&a, &b);
	pair_close(&a, &b);
}

TestSuite(error_validate, .timeout = 60);

static const DAT_DTO_COOKIE c = { .as_64 = 1 };

static DAT_RETURN post(int what, DAT_LMR_TRIPLET t)
{
	DAT_RMR_TRIPLET r = far(&b, 0, t.segment_length);

	switch (what) {
	case 0:
		return dat_ep_post_send(a.ep, 1, &t, c, 0);
	case 1:
		return dat_ep_post_rdma_write(a.ep, 1, &t, c, &r, 0);
	case 2:
		return dat_ep_post_rdma_read(a.ep, 1, &t, c, &r, 0);
	default:
		return dat_ep_post_recv(a.ep, 1, &t, c, 0);
	}
}

/* Sends and writes read local memory, reads and receives write to it. */
static bool reads(int what)
{
	return what < 2;
}

RIG_TEST(error_validate, segment__of_no_lmr_is_refused)
{
	for (int i = 0; i < 4; i++) {
		DAT_LMR_TRIPLET t = seg(&a, 0, 64);
		DAT_RETURN sub = reads(i) ? DAT_PRIVILEGES_READ : DAT_PRIVILEGES_WRITE;

		t.lmr_context ^= 1;
		must_code(post(i, t), DAT_PRIVILEGES_VIOLATION, sub);
		t.lmr_context = 0;
		must_code(post(i, t), DAT_PRIVILEGES_VIOLATION, sub);
		must(dat_lmr_free(end_lmr(&a, a.mem, 4096, DAT_MEM_PRIV_ALL_FLAG, &t.lmr_context,
					  NULL)));
		must_code(post(i, t), DAT_PRIVILEGES_VIOLATION, sub);
	}
}

RIG_TEST(error_validate, segment__without_the_right_is_refused)
{
	DAT_LMR_TRIPLET r = seg(&a, 0, 64), w = seg(&a, 0, 64);

	end_lmr(&a, a.mem, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG, &r.lmr_context, NULL);
	end_lmr(&a, a.mem, 4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &w.lmr_context, NULL);
	for (int i = 0; i < 4; i++)
		must_code(post(i, reads(i) ? w : r), DAT_PRIVILEGES_VIOLATION,
			  reads(i) ? DAT_PRIVILEGES_READ : DAT_PRIVILEGES_WRITE);
}

RIG_TEST(error_validate, segment__of_another_zone_is_refused)
{
	DAT_REGION_DESCRIPTION region = { .for_va = a.mem };
	DAT_LMR_TRIPLET t = seg(&a, 0, 64);
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(a.ia, &pz));
	must(dat_lmr_create(a.ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, pz, DAT_MEM_PRIV_ALL_FLAG,
			    &lmr, &t.lmr_context, NULL, NULL, NULL));
	for (int i = 0; i < 4; i++)
		must_code(post(i, t), DAT_PROTECTION_VIOLATION,
			  reads(i) ? DAT_PROTECTION_READ : DAT_PROTECTION_WRITE);
}

RIG_TEST(error_validate, segment__beyond_its_lmr_is_refused)
{
	static const struct {
		int64_t off;
		uint64_t len;
	} bad[] = {
		{ -1, 1 }, { RIG_MEM, 1 }, { RIG_MEM - 1, 2 }, { 0, RIG_MEM + 1 },
		{ 0, UINT64_MAX }, { 1, UINT64_MAX }, { INT64_MIN, 1 },
	};

	for (int i = 0; i < 4; i++) {
		for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
			DAT_LMR_TRIPLET t = seg(&a, 0, bad[k].len);

			t.virtual_address += (uint64_t)bad[k].off;
			must_fail(post(i, t), DAT_INVALID_PARAMETER);
		}
	}
}

RIG_TEST(error_validate, segment__last_of_several_without_an_lmr_is_refused)
{
	DAT_LMR_TRIPLET t[3] = { seg(&a, 0, 10), { 0 }, seg(&a, 0, 10) };
	DAT_RMR_TRIPLET r = far(&b, 0, 20);

	/* the context of an empty segment is not checked */
	must(dat_ep_post_rdma_write(a.ep, 3, t, c, &r, 0));
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
	t[2].lmr_context ^= 1;
	must_code(dat_ep_post_rdma_write(a.ep, 3, t, c, &r, 0), DAT_PRIVILEGES_VIOLATION,
		  DAT_PRIVILEGES_READ);
}

RIG_TEST(error_validate, arguments__have_the_codes_of_every_instance)
{
	DAT_LMR_TRIPLET t[5] = { seg(&a, 0, 10), seg(&a, 0, 10), seg(&a, 0, 10), seg(&a, 0, 10),
				 seg(&a, 0, 10) };
	DAT_RMR_TRIPLET r = far(&b, 0, 20);

	must_code(dat_ep_post_send(a.ep, 5, t, c, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_code(dat_ep_post_send(a.ep, -1, t, c, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_code(dat_ep_post_send(a.ep, INT32_MAX, t, c, 0), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_code(dat_ep_post_rdma_write(a.ep, INT32_MAX, t, c, &r, 0), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_code(dat_ep_post_rdma_read(a.ep, 1, NULL, c, &r, 0), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	must_code(dat_ep_post_send(a.ep, 1, NULL, c, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_code(dat_ep_post_recv(a.ep, 5, t, c, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_code(dat_ep_post_recv(a.ep, 1, NULL, c, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_code(dat_ep_post_rdma_write(a.ep, 1, t, c, NULL, 0), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG5);
	must_fail(dat_ep_post_rdma_write(a.ep, 3, t, c, &r, 0), DAT_LENGTH_ERROR);
	r.segment_length = 31;
	must_fail(dat_ep_post_rdma_read(a.ep, 3, t, c, &r, 0), DAT_LENGTH_ERROR);
	must_code(do_send(&a, 1, 0, 8, DAT_COMPLETION_UNSIGNALLED_FLAG), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG5);
}

RIG_TEST(error_validate, bind__across_zones_is_refused)
{
	DAT_LMR_TRIPLET t = seg(&a, 0, 64);
	DAT_RMR_COOKIE rc = { .as_64 = 1 };
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr, own;
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(a.ia, &pz));
	must(dat_rmr_create(pz, &rmr));
	must(dat_rmr_create(a.pz, &own));
	must_fail(dat_rmr_bind(rmr, &t, RIGHTS_RW, a.ep, rc, 0, &context), DAT_PROTECTION_VIOLATION);
	t.segment_length = RIG_MEM + 1;
	must_fail(dat_rmr_bind(own, &t, RIGHTS_RW, a.ep, rc, 0, &context), DAT_INVALID_PARAMETER);
}

RIG_TEST(error_validate, srq_segment__outside_its_lmr_is_refused)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 2 };
	DAT_LMR_TRIPLET t[2] = { seg(&a, 0, 64), { 0 } }, r = seg(&a, 0, 64);
	DAT_SRQ_HANDLE srq;

	rig_needs_srq();
	must(dat_srq_create(a.ia, a.pz, &attr, &srq));
	end_lmr(&a, a.mem, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG, &r.lmr_context, NULL);
	must_code(dat_srq_post_recv(srq, 1, &r, c), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	t[0].lmr_context ^= 1;
	must_code(dat_srq_post_recv(srq, 1, t, c), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	t[0] = seg(&a, RIG_MEM - 1, 2);
	must_fail(dat_srq_post_recv(srq, 1, t, c), DAT_INVALID_PARAMETER);
	must_code(dat_srq_post_recv(srq, -1, t, c), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_code(dat_srq_post_recv(srq, INT32_MAX, t, c), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_code(dat_srq_post_recv(srq, 1, NULL, c), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	/* the context of an empty segment is not checked */
	t[0] = seg(&a, 0, 64);
	must(dat_srq_post_recv(srq, 2, t, c));
	must(dat_srq_free(srq));
}

/* Correct posts succeed as without validation. */
RIG_TEST(error_validate, good_posts__are_carried_out)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	must(dat_rmr_create(b.pz, &rmr));
	must(do_bind(&b, rmr, 4, 0, RIG_MEM, RIGHTS_RW, &context));
	took_bind(b.req_evd, rmr, 4, DAT_RMR_BIND_SUCCESS);
	for (size_t size = 0; size < 6000; size = size * 2 + 1) {
		fill(a.mem, size, size);
		must(do_write(&a, 1, 0, through(context, &b, 20000, size), 0));
		must(do_read(&a, 2, 30000, through(context, &b, 20000, size), 0));
		took_range(a.req_evd, 1, 2, DAT_DTO_SUCCESS);
		check(filled(a.mem + 30000, size, size));
	}
}
