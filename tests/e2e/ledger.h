/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was posted in one direction of an endpoint, and what has completed: each once, in order;
 * after the first that failed all are flushed. Cookies are numbers in the ledger.
 */
#ifndef TESTS_E2E_LEDGER_H
#define TESTS_E2E_LEDGER_H

#include "tests/e2e/rig.h"

#define LEDGER_MAX 4096		/* outstanding at a time */

struct ledger {
	DAT_EVD_HANDLE evd;
	uint64_t posted, done;		/* before done all have completed */
	bool failed;
	DAT_DTO_COMPLETION_STATUS how;	/* the first failure */
	bool silent[LEDGER_MAX];	/* suppressed */
};

struct ledger ledger_of(DAT_EVD_HANDLE evd);
/* The cookie for the next post; ledger_posted() when it was accepted. */
uint64_t ledger_next(const struct ledger *l);
bool ledger_posted(struct ledger *l, DAT_RETURN ret, bool silent);
/* Takes what has come, and holds it against the ledger. True when there was something. */
bool ledger_take(struct ledger *l);
/* Takes until all but what was suppressed and succeeded has completed. */
void ledger_settle(struct ledger *l);
/* Of an endpoint that has ended: all has completed, and is nothing left. */
void ledger_close(struct ledger *l);

#endif
