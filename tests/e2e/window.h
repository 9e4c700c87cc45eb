/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows from the peer's view: b opens memory, and a accesses it. */
#ifndef TESTS_E2E_WINDOW_H
#define TESTS_E2E_WINDOW_H

#include "tests/e2e/rig.h"

#define WINDOW_COOKIE 77

/* Opens a pair, and an unbound RMR in b's zone. */
void window_pair(struct end *a, struct end *b, DAT_RMR_HANDLE *rmr);
/* Checks that a can write to b's memory under the context and can read it back, and that each byte
 * is right. */
void window_opens(struct end *a, struct end *b, DAT_RMR_CONTEXT context, size_t off, size_t len);
/*
 * Checks that a write or read of a under the context is refused: REMOTE_ACCESS, no byte changed,
 * and both endpoints BROKEN. Reconnects them afterwards.
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
