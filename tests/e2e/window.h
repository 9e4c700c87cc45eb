/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows from a peer's view: b opens memory, a accesses it. */
#ifndef TESTS_E2E_WINDOW_H
#define TESTS_E2E_WINDOW_H

#include "tests/e2e/rig.h"

#define WINDOW_COOKIE 77

/* pair_open(), and an RMR of b's zone with nothing bound. */
void window_pair(struct end *a, struct end *b, DAT_RMR_HANDLE *rmr);
/* a writes to b's memory under the context, and reads it back: both succeed, each byte right. */
void window_opens(struct end *a, struct end *b, DAT_RMR_CONTEXT context, size_t off, size_t len);
/*
 * One write or read of a under the context is refused: REMOTE_ACCESS, no byte changed, and both
 * endpoints BROKEN. Reconnects them afterwards.
 */
void window_refuses_write(struct end *a, struct end *b, DAT_RMR_CONTEXT context, size_t off,
			  size_t len);
void window_refuses_read(struct end *a, struct end *b, DAT_RMR_CONTEXT context, size_t off,
			 size_t len);
/* Binds through b->ep and waits for the completion. */
DAT_RMR_CONTEXT window_bind(struct end *b, DAT_RMR_HANDLE rmr, size_t off, size_t len,
			    DAT_MEM_PRIV_FLAGS priv);
DAT_RMR_CONTEXT window_query(DAT_RMR_HANDLE rmr);

#endif
