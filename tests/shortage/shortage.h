/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole scenarios, with each allocation, device request and descriptor lacking in turn. The call that
 * needed it returns a permitted code, earlier objects still work, and after freeing everything nothing
 * is left. The provider is linked in, so that its objects can be counted.
 */
#ifndef TESTS_SHORTAGE_H
#define TESTS_SHORTAGE_H

#include <criterion/criterion.h>
#include <dat/udat.h>

#include "tests/harness/harness.h"

#define SOON_MS 20000		/* only guards against hangs */
#define MEM 65536

/* The adapter of a test. It is opened before any failure, and closed gracefully at the end. */
struct bench {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, cr_evd, conn_evd, dto_evd, soft_evd;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_IA_ADDRESS_PTR address;
	bool has_srq;
	DAT_CONN_QUAL qual;		/* qualifier of the service point that feeds cr_evd */
	char *mem;
};
extern struct bench b;

/* The adapter in DAPL_TEST_IA, if it has a software device. */
const char *bench_name(void);
void bench_open(void);
void bench_close(void);
/* sets a fault script, see softnic_fault() and softnic_efa_fault() */
void bench_fault(const char *script);

/*
 * Records a return code. Returns true if the call succeeded. A failure must be a lack of resources, in
 * a call that may lack them: never in one that frees or queries. Nothing here asserts, since asserting
 * allocates.
 */
bool step(DAT_RETURN ret, const char *text);
#define STEP(call) step((call), #call)
void odd(const char *text);	/* records an error that is not a return code */
void no_trouble(void);		/* clears the recorded error */

/* Keeps a handle. The objects of a scenario are freed in reverse order, according to their type. */
DAT_HANDLE *keep(void);		/* the slot for the next handle */
#define MAKE(call) kept(STEP(call))
bool kept(bool made);
void free_all(void);

/*
 * Runs the scenario with each of its failures, and once without any. The scenario returns true if all
 * of its steps succeeded, and starts anew each time.
 */
void each_failure(bool (*scenario)(void));
/*
 * Checks that act needs no allocation: it is run while no allocation succeeds. before prepares each
 * try.
 */
void needs_nothing(bool (*before)(void), void (*act)(void));

DAT_LMR_TRIPLET piece(size_t off, size_t len);
DAT_EP_ATTR small(void);
/*
 * Returns the next event of either EVD, or 0. An attempt to connect continues while a shortage
 * lasts. If no event comes for a while, the shortage ends, and then an event must come.
 */
DAT_EVENT_NUMBER next_of(DAT_EVD_HANDLE evd, DAT_EVD_HANDLE other, DAT_EVENT *ev);
DAT_EVENT_NUMBER next(DAT_EVD_HANDLE evd, DAT_EVENT *ev);

#endif
