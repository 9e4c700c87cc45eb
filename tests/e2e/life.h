/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole life of two connected adapters in which any step may fail: opened, connected, every kind
 * of transfer, disconnected, reset, closed. Nothing in it asserts, since that allocates.
 */
#ifndef TESTS_E2E_LIFE_H
#define TESTS_E2E_LIFE_H

#include "tests/e2e/rig.h"

struct life {
	struct end a, b;
	DAT_RMR_HANDLE rmr;
	const char *step;		/* the one it ended with; NULL: all went well */
	DAT_RETURN ret;			/* what that call returned, or */
	DAT_EVENT_NUMBER event;		/* what came, and was not hoped for: 0 is nothing in time */
	DAT_DTO_COMPLETION_STATUS status;
};

/* True when all went well. Either way everything is closed when it returns. */
bool life_run(struct life *l, unsigned int connect_ms);
/* What it ended with is a shortage, or a connection that did not come about. */
bool life_ended_well(const struct life *l);
const char *life_words(const struct life *l);

#endif
