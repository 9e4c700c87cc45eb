/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The whole life of two connected adapters in which any step may fail: opened, connected, every kind of
 * transfer, disconnected, reset, closed. It does not assert, since that allocates.
 */
#ifndef TESTS_E2E_LIFE_H
#define TESTS_E2E_LIFE_H

#include "tests/e2e/rig.h"

struct life {
	struct end a, b;
	DAT_RMR_HANDLE rmr;
	const char *step;		/* the step that failed; NULL: all succeeded */
	DAT_RETURN ret;			/* return code of the call that failed */
	/* unexpected event, if no call failed; 0: no event came in time */
	DAT_EVENT_NUMBER event;
	DAT_DTO_COMPLETION_STATUS status;
};

/* Returns true if all steps succeeded. In any case everything is closed on return. */
bool life_run(struct life *l, unsigned int connect_ms);
/* Is the failure a lack of resources, or a connection that was not established? */
bool life_ended_well(const struct life *l);
const char *life_words(const struct life *l);

#endif
