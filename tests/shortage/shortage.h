/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole scenarios, with each allocation, each request to the device and each descriptor lacking in
 * turn: the call that needed it says so with a code it may have, what was there before works as
 * before, and when all is freed nothing is left. The provider is linked in, so that its objects can
 * be counted.
 */
#ifndef TESTS_SHORTAGE_H
#define TESTS_SHORTAGE_H

#include <criterion/criterion.h>
#include <dat/udat.h>

#include "tests/harness/harness.h"

#define SOON_MS 20000		/* a limit against hangs */
#define MEM 65536

/* The adapter of a test: opened before anything fails, closed gracefully after all. */
struct bench {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, cr_evd, conn_evd, dto_evd, soft_evd;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_IA_ADDRESS_PTR address;
	bool has_srq;
	DAT_CONN_QUAL qual;		/* that nobody has taken */
	char *mem;
};
extern struct bench b;

/* The adapter that DAPL_TEST_IA names, one of those with a software device. */
const char *bench_name(void);
void bench_open(void);
void bench_close(void);
void bench_fault(const char *script);	/* see softnic_fault(), softnic_efa_fault() */

/*
 * Notes what a call returned, and whether it was done. One that was not has to be for want of
 * something, and of a call that may lack something: never of one that frees or asks. Nothing here
 * asserts, since asserting allocates.
 */
bool step(DAT_RETURN ret, const char *text);
#define STEP(call) step((call), #call)
void odd(const char *text);	/* something went wrong that no code tells */
void no_trouble(void);		/* nothing has been odd so far */

/* What a scenario makes is freed in reverse order, by its type. */
DAT_HANDLE *keep(void);		/* where the next handle goes */
#define MAKE(call) kept(STEP(call))
bool kept(bool made);
void free_all(void);

/*
 * Runs it with each of its failures, and once without any. It returns whether all of its steps were
 * done, and begins anew each time.
 */
void each_failure(bool (*scenario)(void));
/* What undoes all that was before lacks nothing, from whichever allocation on none is granted. */
void needs_nothing(bool (*before)(void), void (*act)(void));

DAT_LMR_TRIPLET piece(size_t off, size_t len);
DAT_EP_ATTR small(void);
/*
 * The next event of either, or 0. An attempt to connect goes on while a shortage lasts: where nothing
 * comes for a while that is over, and then something has to come.
 */
DAT_EVENT_NUMBER next_of(DAT_EVD_HANDLE evd, DAT_EVD_HANDLE other, DAT_EVENT *ev);
DAT_EVENT_NUMBER next(DAT_EVD_HANDLE evd, DAT_EVENT *ev);

#endif
