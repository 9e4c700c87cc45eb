/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection Zones. */
#include "tests/conformance/fixture.h"

STATEMENT(pz_create__belongs_to_its_ia, dat_pz_create, DESCRIPTION)
{
	DAT_PZ_HANDLE pz;
	DAT_PZ_PARAM param;
	struct side s;

	side_open(&s);
	must(dat_pz_create(s.ia, &pz));
	must(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param));
	check(param.ia_handle == s.ia);
	must(dat_pz_free(pz));
	side_free(&s);
}

STATEMENT(pz_create__nowhere_to_put_the_handle, dat_pz_create, RETURNS)
{
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia = ia_open(&async);

	must_be(DAT_INVALID_PARAMETER, dat_pz_create(ia, NULL));
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

STATEMENT(pz_free__in_use_by_an_endpoint, dat_pz_free, DESCRIPTION)
{
	struct side s;

	side_open(&s);
	must(dat_lmr_free(s.lmr));
	must_be(DAT_INVALID_STATE, dat_pz_free(s.pz));
	must(dat_ep_free(s.ep));
	must(dat_pz_free(s.pz));
	side_close(&s);
}

STATEMENT(pz_free__in_use_by_an_lmr, dat_pz_free, DESCRIPTION)
{
	struct side s;

	side_open(&s);
	must(dat_ep_free(s.ep));
	must_be(DAT_INVALID_STATE, dat_pz_free(s.pz));
	must(dat_lmr_free(s.lmr));
	must(dat_pz_free(s.pz));
	side_close(&s);
}

STATEMENT(pz_free__in_use_by_an_rmr, dat_pz_free, DESCRIPTION)
{
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;
	struct side s;

	side_open(&s);
	must(dat_pz_create(s.ia, &pz));
	must(dat_rmr_create(pz, &rmr));
	must_be(DAT_INVALID_STATE, dat_pz_free(pz));
	must(dat_rmr_free(rmr));
	must(dat_pz_free(pz));
	side_close(&s);
}

STATEMENT(pz_free__handle_is_dead_afterwards, dat_pz_free, DESCRIPTION)
{
	DAT_PZ_HANDLE pz;
	DAT_PZ_PARAM param;
	struct side s;

	side_open(&s);
	must(dat_pz_create(s.ia, &pz));
	must(dat_pz_free(pz));
	must_be(DAT_INVALID_HANDLE, dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param));
	must_be(DAT_INVALID_HANDLE, dat_pz_free(pz));
	side_close(&s);
}

STATEMENT(pz_query__mask_out_of_range, dat_pz_query, RETURNS)
{
	DAT_PZ_PARAM param;
	struct side s;

	side_open(&s);
	must_be(DAT_INVALID_PARAMETER,
		dat_pz_query(s.pz, (DAT_PZ_PARAM_MASK)(DAT_PZ_FIELD_ALL + 1), &param));
	must_be(DAT_INVALID_PARAMETER, dat_pz_query(s.pz, DAT_PZ_FIELD_ALL, NULL));
	side_close(&s);
}

/* An endpoint cannot access memory of another zone, whatever the rights. */
STATEMENT(pz_create__keeps_other_zones_out, dat_pz_create, DESCRIPTION)
{
	struct side a, b;
	DAT_LMR_CONTEXT lmr_context;
	DAT_LMR_TRIPLET t;
	DAT_PZ_HANDLE pz;
	DAT_RETURN ret;

	two_open(&a, &b);
	must(dat_pz_create(a.ia, &pz));
	side_lmr(&a, pz, DAT_MEM_PRIV_ALL_FLAG, &lmr_context, NULL);
	must(do_recv(&b, 1, 0, 64));
	t = seg(&a, 0, 64);
	t.lmr_context = lmr_context;
	ret = tried(dat_ep_post_send(a.ep, 1, &t, cookie(2), DEFAULT));
	if (ret == DAT_SUCCESS)
		same(took_any(a.req_evd, 2).status, DAT_DTO_ERR_LOCAL_PROTECTION);
	else
		check(is(ret, DAT_PROTECTION_VIOLATION));
	two_close(&a, &b);
}
