/* SPDX-License-Identifier: BSD-2-Clause */
/* Two IAs of one process through Debian's libdat2, and the provider tables behind their handles. */
#ifndef TESTS_DAT2_H
#define TESTS_DAT2_H

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdbool.h>

#include <dat2/udat.h>
#include <dat2/udat_redirection.h>
#include <dat2/dat_ib_extensions.h>

#include "tests/harness/assert_ret.h"

#define SOON 20000000			/* in us: only guards against hangs */
#define MEM 8192

struct side {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, dto, conn, cr;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	char *mem;
};

extern struct side a, b;		/* two sides, opened for each test */

/* The IA in DAPL_TEST_IA, or the software ConnectX in this process. */
const char *side_ia_name(void);
/* Does the provider's attribute have this value? */
bool side_says(const char *name, const char *value);
/* Skips the test if the attribute says that the feature is missing. */
void side_needs(const char *name);
void side_needs_windows(void);
void side_needs_zero_based(void);
void side_needs_srq(void);
/* Returns the provider's own handle of the IA, which the calls of the table take. */
DAT_IA_HANDLE side_own_handle(const struct side *s);
void sides_open(void);
void sides_close(void);
/* Skips a test. This ends the test at once, without its .fini, and libdat2 frees only objects that
 * are closed. */
#define side_skip(...) (sides_close(), cr_skip_test(__VA_ARGS__))
/* Makes b listen and the endpoint connect to it. Returns the request. */
DAT_CR_HANDLE side_request(DAT_EP_HANDLE from);
/* Connects a.ep to b.ep. */
void sides_connect(void);
/* Connects two more endpoints. The first belongs to a. */
void sides_connect_more(DAT_EP_HANDLE *of_a, DAT_EP_HANDLE *of_b);
DAT_EVENT side_wait(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number);
DAT_LMR_TRIPLET side_segment(const struct side *s, DAT_VADDR offset, DAT_SEG_LENGTH length);
DAT_RMR_TRIPLET side_remote(const struct side *s, DAT_VADDR offset, DAT_SEG_LENGTH length);
DAT_IA_ADDRESS_PTR side_address(in_port_t port);

#define PROVIDER(handle) DAT_HANDLE_TO_PROVIDER(handle)

#endif
