/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The posts in one direction of an endpoint, and their completions: each once, in order; after the first
 * failure all are flushed. Cookies are numbers in the ledger.
 */
#ifndef TESTS_E2E_LEDGER_H
#define TESTS_E2E_LEDGER_H

#include "tests/e2e/rig.h"

#define LEDGER_MAX 4096		/* most outstanding posts at a time */

struct ledger {
	DAT_EVD_HANDLE evd;
	uint64_t posted, done;		/* counters: posts before `done` have completed */
	bool failed;
	DAT_DTO_COMPLETION_STATUS how;	/* status of the first failure */
	bool silent[LEDGER_MAX];	/* whether each post was suppressed */
};

struct ledger ledger_of(DAT_EVD_HANDLE evd);
/* Returns the cookie for the next post; call ledger_posted() when it was accepted. */
uint64_t ledger_next(const struct ledger *l);
bool ledger_posted(struct ledger *l, DAT_RETURN ret, bool silent);
/* Dequeues completions and checks them. True if there were any. */
bool ledger_take(struct ledger *l);
/* Checks an endpoint that has ended: everything has completed, and nothing is left. */
void ledger_close(struct ledger *l);

#endif
