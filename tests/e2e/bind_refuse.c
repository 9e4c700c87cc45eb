/* SPDX-License-Identifier: BSD-2-Clause */
/* Binds that are refused at once, without side effects. */
#include "tests/e2e/window.h"

static struct end a, b;
static DAT_RMR_HANDLE rmr;
static DAT_RMR_CONTEXT bound;

static void setup(void)
{
	window_pair(&a, &b, &rmr);
	bound = window_bind(&b, rmr, 0, 100, RIGHTS_RW);
}

/* Checks that the window is unchanged, and that nothing has been posted. */
static void teardown(void)
{
	rig_empty(b.req_evd);
	same(window_query(rmr), bound);
	window_opens(&a, &b, bound, 0, 100);
	window_bind(&b, rmr, 200, 100, RIGHTS_RW);
	pair_close(&a, &b);
}

TestSuite(bind_refuse, .timeout = 60);

static DAT_RETURN try_bind(DAT_LMR_TRIPLET t, int priv, DAT_EP_HANDLE ep, int flags)
{
	DAT_RMR_COOKIE c = { .as_64 = 1 };
	DAT_RMR_CONTEXT context = 0x1234;
	DAT_RETURN ret = dat_rmr_bind(rmr, &t, (DAT_MEM_PRIV_FLAGS)priv, ep, c,
				      (DAT_COMPLETION_FLAGS)flags, &context);

	if (ret != DAT_SUCCESS)
		same(context, 0x1234);
	return ret;
}

RIG_TEST(bind_refuse, range__outside_the_lmr_is_refused)
{
	DAT_LMR_TRIPLET t = seg(&b, 0, 100);
	static const struct {
		int64_t off;
		uint64_t len;
	} bad[] = {
		{ -1, 1 }, { -1, 2 }, { -1, RIG_MEM + 2 }, { RIG_MEM, 1 }, { RIG_MEM - 1, 2 },
		{ 0, RIG_MEM + 1 }, { 1, RIG_MEM }, { 0, UINT64_MAX }, { 1, UINT64_MAX },
		{ 100, UINT64_MAX - 99 }, { INT64_MAX, 1 }, { INT64_MIN, 1 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		t.virtual_address = (DAT_VADDR)(uintptr_t)b.mem + (uint64_t)bad[i].off;
		t.segment_length = bad[i].len;
		must_code(try_bind(t, RIGHTS_RW, b.ep, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
}

RIG_TEST(bind_refuse, lmr__invalid_context_is_refused)
{
	DAT_LMR_TRIPLET t = seg(&b, 0, 100);
	DAT_LMR_CONTEXT stale;
	DAT_LMR_HANDLE lmr = end_lmr(&b, b.mem, 4096, DAT_MEM_PRIV_ALL_FLAG, &stale, NULL);
	static const DAT_LMR_CONTEXT none[] = { 0, 1, 0x100, 0xffffffff, 0x12345678 };

	must(dat_lmr_free(lmr));
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		t.lmr_context = none[i];
		must_code(try_bind(t, RIGHTS_RW, b.ep, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
	t.lmr_context = stale;
	must_code(try_bind(t, RIGHTS_RW, b.ep, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	t.lmr_context = b.lmr_context ^ 1;
	must_code(try_bind(t, RIGHTS_RW, b.ep, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	t.lmr_context = bound;			/* the context of a window is no LMR */
	must_code(try_bind(t, RIGHTS_RW, b.ep, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}

RIG_TEST(bind_refuse, lmr__of_another_zone_is_refused)
{
	DAT_REGION_DESCRIPTION region = { .for_va = b.mem };
	DAT_LMR_TRIPLET t = seg(&b, 0, 100);
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(b.ia, &pz));
	must(dat_lmr_create(b.ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, pz, DAT_MEM_PRIV_ALL_FLAG,
			    &lmr, &t.lmr_context, NULL, NULL, NULL));
	must_code(try_bind(t, RIGHTS_RW, b.ep, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must(dat_lmr_free(lmr));
	must(dat_pz_free(pz));
}

RIG_TEST(bind_refuse, endpoint__of_another_zone_is_refused)
{
	DAT_EP_ATTR attr = rig_attr();
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE x = end_ep(&a, NULL), y;

	must(dat_pz_create(b.ia, &pz));
	must(dat_ep_create(b.ia, pz, b.recv_evd, b.req_evd, b.conn_evd, &attr, &y));
	end_join(&a, x, &b, y);
	must_code(try_bind(seg(&b, 0, 100), RIGHTS_RW, y, 0), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG4);
	must_code(try_bind(seg(&b, 0, 0), RIGHTS_RW, y, 0), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG4);
}

RIG_TEST(bind_refuse, endpoint__of_another_adapter_is_refused)
{
	must_code(try_bind(seg(&b, 0, 100), RIGHTS_RW, a.ep, 0), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EP);
}

RIG_TEST(bind_refuse, endpoint__not_connected_is_refused)
{
	DAT_EP_HANDLE ep = end_ep(&b, NULL);

	must_code(try_bind(seg(&b, 0, 100), RIGHTS_RW, ep, 0), DAT_INVALID_STATE,
		  DAT_INVALID_STATE_EP_UNCONNECTED);
	must_code(try_bind(seg(&b, 0, 0), RIGHTS_RW, ep, 0), DAT_INVALID_STATE,
		  DAT_INVALID_STATE_EP_UNCONNECTED);
	must(dat_ep_free(ep));
	must_code(try_bind(seg(&b, 0, 100), RIGHTS_RW, ep, 0), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EP);
	must_code(try_bind(seg(&b, 0, 100), RIGHTS_RW, NULL, 0), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EP);
	must_code(try_bind(seg(&b, 0, 100), RIGHTS_RW, (DAT_EP_HANDLE)rmr, 0), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EP);
}

/* Tries each set of local rights of an LMR with each set of remote rights. */
RIG_TEST(bind_refuse, rights__that_the_lmr_lacks_are_refused)
{
	DAT_LMR_TRIPLET t = seg(&b, 0, 100);
	DAT_LMR_HANDLE reads, writes;

	reads = end_lmr(&b, b.mem, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG, &t.lmr_context, NULL);
	must_code(try_bind(t, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, b.ep, 0), DAT_PRIVILEGES_VIOLATION,
		  DAT_PRIVILEGES_WRITE);
	must_code(try_bind(t, RIGHTS_RW, b.ep, 0), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	writes = end_lmr(&b, b.mem, 4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &t.lmr_context, NULL);
	must_code(try_bind(t, DAT_MEM_PRIV_REMOTE_READ_FLAG, b.ep, 0), DAT_PRIVILEGES_VIOLATION,
		  DAT_PRIVILEGES_READ);
	must(dat_lmr_free(reads));
	must(dat_lmr_free(writes));
}

/* The window is bound to the LMR already. */
RIG_TEST(bind_refuse, rights__that_the_lmr_of_the_last_bind_lacks_are_refused)
{
	DAT_LMR_TRIPLET t = seg(&b, 0, 100);
	DAT_LMR_HANDLE reads = end_lmr(&b, b.mem, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG, &t.lmr_context, NULL);

	must(try_bind(t, DAT_MEM_PRIV_REMOTE_READ_FLAG, b.ep, 0));
	took_bind(b.req_evd, rmr, 1, DAT_RMR_BIND_SUCCESS);
	must_code(try_bind(t, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, b.ep, 0), DAT_PRIVILEGES_VIOLATION,
		  DAT_PRIVILEGES_WRITE);
	must_code(try_bind(t, RIGHTS_RW, b.ep, 0), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	rig_empty(b.req_evd);
	bound = window_bind(&b, rmr, 0, 100, RIGHTS_RW);
	must(dat_lmr_free(reads));
}

RIG_TEST(bind_refuse, lmr__freed_after_the_last_bind_is_refused)
{
	DAT_LMR_TRIPLET t = seg(&b, 0, 100), nothing = { .segment_length = 0 };
	DAT_LMR_HANDLE lmr = end_lmr(&b, b.mem, 4096, DAT_MEM_PRIV_ALL_FLAG, &t.lmr_context, NULL);

	must(try_bind(t, RIGHTS_RW, b.ep, 0));
	must(try_bind(nothing, DAT_MEM_PRIV_NONE_FLAG, b.ep, 0));
	took_bind(b.req_evd, rmr, 1, DAT_RMR_BIND_SUCCESS);
	took_bind(b.req_evd, rmr, 1, DAT_RMR_BIND_SUCCESS);
	must(dat_lmr_free(lmr));
	must_code(try_bind(t, RIGHTS_RW, b.ep, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	bound = window_bind(&b, rmr, 0, 100, RIGHTS_RW);
}

RIG_TEST(bind_refuse, arguments__invalid_ones_are_refused)
{
	DAT_LMR_TRIPLET t = seg(&b, 0, 100);
	DAT_RMR_COOKIE c = { .as_64 = 1 };
	DAT_RMR_CONTEXT context;

	must_code(try_bind(t, 4, b.ep, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_code(try_bind(t, 0x40 | RIGHTS_RW, b.ep, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_code(try_bind(t, -1, b.ep, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_code(try_bind(t, RIGHTS_RW, b.ep, DAT_COMPLETION_SOLICITED_WAIT_FLAG),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	must_code(try_bind(t, RIGHTS_RW, b.ep, DAT_COMPLETION_UNSIGNALLED_FLAG),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	must_code(try_bind(t, RIGHTS_RW, b.ep, 0x40), DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	must_code(dat_rmr_bind(rmr, NULL, RIGHTS_RW, b.ep, c, 0, &context), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_code(dat_rmr_bind(rmr, &t, RIGHTS_RW, b.ep, c, 0, NULL), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG7);
}

RIG_TEST(bind_refuse, rmr__invalid_handle_is_refused)
{
	DAT_LMR_TRIPLET t = seg(&b, 0, 100);
	DAT_RMR_COOKIE c = { .as_64 = 1 };
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE bad[] = { NULL, (DAT_RMR_HANDLE)b.ep, (DAT_RMR_HANDLE)b.lmr,
				 (DAT_RMR_HANDLE)b.req_evd };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		must_fail(dat_rmr_bind(bad[i], &t, RIGHTS_RW, b.ep, c, 0, &context),
			  DAT_INVALID_HANDLE);
}

/*
 * If an endpoint has as many outstanding binds as it allows, the next bind is refused. The window
 * stays as the last accepted bind has set it.
 */
RIG_TEST(bind_refuse, queue__full_refuses_and_keeps_the_last_bind)
{
	DAT_RMR_CONTEXT c = 0, last = 0;
	uint64_t n = 0;

	while (do_bind(&b, rmr, n, n * 8, 8, RIGHTS_RW, &c) == DAT_SUCCESS) {
		last = c;
		check(++n <= RIG_DTOS);
	}
	same(n, RIG_DTOS);
	same(window_query(rmr), last);
	must_code(try_bind(seg(&b, 0, 0), 0, b.ep, 0), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	for (uint64_t i = 0; i < n; i++)
		took_bind(b.req_evd, rmr, i, DAT_RMR_BIND_SUCCESS);
	window_opens(&a, &b, last, (n - 1) * 8, 8);
	bound = window_bind(&b, rmr, 0, 100, RIGHTS_RW);
}
