/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The posts in one direction of an endpoint, and their completions: each once, in order; after the first
 * failure all are flushed. Cookies are numbers in the ledger.
 */
#ifndef TESTS_E2E_LEDGER_H
#define TESTS_E2E_LEDGER_H

#include "tests/e2e/rig.h"

#define LEDGER_MAX 4096		/* outstanding at a time */

struct ledger {
	DAT_EVD_HANDLE evd;
	uint64_t posted, done;		/* all before done have completed */
	bool failed;
	DAT_DTO_COMPLETION_STATUS how;	/* the first failure */
	bool silent[LEDGER_MAX];	/* suppressed */
};

struct ledger ledger_of(DAT_EVD_HANDLE evd);
/* The cookie for the next post; ledger_posted() when it was accepted. */
uint64_t ledger_next(const struct ledger *l);
bool ledger_posted(struct ledger *l, DAT_RETURN ret, bool silent);
/* Dequeues completions and checks them against the ledger. True if there were any. */
bool ledger_take(struct ledger *l);
/* Dequeues until everything has completed, except successful suppressed posts. */
void ledger_settle(struct ledger *l);
/* For an endpoint that has ended: everything has completed, and nothing is left. */
void ledger_close(struct ledger *l);

#endif
