/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the API tests: one object of each type on the IA in DAPL_TEST_IA (soft-mlx5-0). They use
 * only <dat/udat.h> and libdat.
 */
#ifndef TESTS_API_H
#define TESTS_API_H

#include <criterion/criterion.h>
#include <dat/udat.h>

#include "tests/harness/assert_ret.h"
#include "tests/harness/harness.h"

#define API_MEM 8192
#define API_LONG 30000000	/* in us: longer than any wait in these tests */

struct api {
	DAT_IA_HANDLE ia;
	/* evd is for DTOs and RMR binds; conn_evd is for all other streams */
	DAT_EVD_HANDLE async, evd, conn_evd;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
	DAT_CNO_HANDLE cno;		/* a CNO that nothing triggers */
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_IA_ATTR ia_attr;
	DAT_PROVIDER_ATTR provider_attr;
	char *mem;			/* API_MEM bytes, page aligned */
};

const char *api_ia_name(void);
void api_open(struct api *a);
/* api_needs_srq() skips the test if the provider does not support SRQs, api_skip_if() if a named attribute
 * has the value. */
void api_needs_srq(DAT_IA_HANDLE ia);
void api_skip_if(DAT_IA_HANDLE ia, const char *name, const char *value);
void api_close(struct api *a);		/* closes the IA abruptly */
/* Frees the objects one by one, then closes the IA gracefully. */
void api_close_gracefully(struct api *a);
/* The objects of most suites, opened by .init and closed by .fini. */
extern struct api t;
void api_setup(void);
void api_teardown(void);

DAT_EVD_HANDLE api_evd(struct api *a, DAT_COUNT qlen, DAT_EVD_FLAGS flags);
DAT_EP_HANDLE api_ep(struct api *a, const DAT_EP_ATTR *attr);

#endif
