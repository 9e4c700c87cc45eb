/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "tests/api/api.h"

const char *api_ia_name(void)
{
	const char *name = getenv("DAPL_TEST_IA");

	return th_ia(name ? name : "soft-mlx5-0");
}

DAT_EVD_HANDLE api_evd(struct api *a, DAT_COUNT qlen, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd = NULL;

	assert_ok(dat_evd_create(a->ia, qlen, DAT_HANDLE_NULL, flags, &evd));
	return evd;
}

DAT_EP_HANDLE api_ep(struct api *a, const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep = NULL;

	assert_ok(dat_ep_create(a->ia, a->pz, a->evd, a->evd, a->conn_evd, attr, &ep));
	return ep;
}

void api_open(struct api *a)
{
	DAT_REGION_DESCRIPTION region;

	memset(a, 0, sizeof(*a));
	a->mem = aligned_alloc(4096, API_MEM);
	cr_assert_not_null(a->mem);
	memset(a->mem, 0, API_MEM);
	region.for_va = a->mem;
	assert_ok(dat_ia_open((char *)api_ia_name(), 8, &a->async, &a->ia));
	assert_ok(dat_ia_query(a->ia, NULL, DAT_IA_FIELD_ALL, &a->ia_attr, DAT_PROVIDER_FIELD_ALL,
			       &a->provider_attr));
	assert_ok(dat_pz_create(a->ia, &a->pz));
	a->evd = api_evd(a, 64, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	a->conn_evd = api_evd(a, 16, DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG |
			      DAT_EVD_SOFTWARE_FLAG);
	a->ep = api_ep(a, NULL);
	assert_ok(dat_lmr_create(a->ia, DAT_MEM_TYPE_VIRTUAL, region, API_MEM, a->pz,
				 DAT_MEM_PRIV_ALL_FLAG, &a->lmr, &a->lmr_context, &a->rmr_context,
				 NULL, NULL));
	assert_ok(dat_rmr_create(a->pz, &a->rmr));
	assert_ok(dat_cno_create(a->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &a->cno));
}

void api_close(struct api *a)
{
	assert_ok(dat_ia_close(a->ia, DAT_CLOSE_ABRUPT_FLAG));
	free(a->mem);
}

void api_close_gracefully(struct api *a)
{
	assert_ok(dat_cno_free(a->cno));
	assert_ok(dat_rmr_free(a->rmr));
	assert_ok(dat_lmr_free(a->lmr));
	assert_ok(dat_ep_free(a->ep));
	assert_ok(dat_evd_free(a->conn_evd));
	assert_ok(dat_evd_free(a->evd));
	assert_ok(dat_pz_free(a->pz));
	assert_ok(dat_ia_close(a->ia, DAT_CLOSE_GRACEFUL_FLAG));
	free(a->mem);
}

struct api t;

void api_setup(void)
{
	api_open(&t);
}

void api_teardown(void)
{
	api_close(&t);
}

void api_needs_srq(DAT_IA_HANDLE ia)
{
	DAT_PROVIDER_ATTR attr;

	assert_ok(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	if (!attr.srq_supported)
		cr_skip_test("the adapter says srq_supported = FALSE");
}

void api_skip_if(DAT_IA_HANDLE ia, const char *name, const char *value)
{
	DAT_PROVIDER_ATTR attr;

	assert_ok(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	for (int i = 0; i < attr.num_provider_specific_attr; i++)
		if (!strcmp(attr.provider_specific_attr[i].name, name) &&
		    !strcmp(attr.provider_specific_attr[i].value, value))
			cr_skip_test("the adapter says %s = %s", name, value);
}
