/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two software EFAs with a connection between them, as seen by a consumer: DAT calls and events, with
 * all of core. The provider is linked in, so that one end can send wrong data and a device can fail; its
 * messages go to said() instead of a log.
 */
#ifndef TESTS_EFA_DAT_RIG_H
#define TESTS_EFA_DAT_RIG_H

#include <criterion/criterion.h>
#include <dat/udat.h>

#include "core/hw.h"
#include "hw_efa/lock.h"
#include "hw_efa/ops.h"
#include "softnic/softnic_efa.h"
#include "tests/harness/harness.h"

#define SOON_MS 30000		/* only guards against hangs */
#define MEM 131072u
#define DTOS 24

struct end {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, cr, conn, req, recv;
	DAT_EP_HANDLE ep;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	char *mem;
};

extern struct end a, b;

/* Opens an adapter ("soft-efa-0") with its ia_params. */
void end_open(struct end *e, const char *name, const char *params);
void end_close(struct end *e);
void end_new_ep(struct end *e);		/* creates another endpoint, which becomes e->ep */
/* Makes b listen and a connect; returns the request. */
DAT_CR_HANDLE end_request(void);
void pair_join(void);			/* accepts; ESTABLISHED has come on both sides */
void pair_open(const char *a_params, const char *b_params);
void pair_close(void);

struct dap_ep *inner(const struct end *e);
struct efa_ep *inner_efa(const struct end *e);
struct softnic_efa *device(const struct end *e);

DAT_RETURN do_send(struct end *e, uint64_t cookie, uint32_t off, uint32_t len);
DAT_RETURN do_recv(struct end *e, uint64_t cookie, uint32_t off, uint32_t len);
/* Writes to the other end's memory: from offset `from` to offset `at`. */
DAT_RETURN do_write(struct end *e, uint64_t cookie, uint32_t off, uint32_t at, uint32_t len);
DAT_RETURN do_read(struct end *e, uint64_t cookie, uint32_t off, uint32_t at, uint32_t len);

/* Takes the next completion, which must have this cookie; returns its status. */
DAT_DTO_COMPLETION_STATUS took(DAT_EVD_HANDLE evd, uint64_t cookie);
/* Checks that there is no completion. */
void took_none(DAT_EVD_HANDLE evd);
/* Takes the next event of the end's connection. */
void took_conn(struct end *e, DAT_EVENT_NUMBER number);
/* Checks that both ends get the event of the broken connection, and no other. */
void both_broken(void);
/* Waits for a message with these words. */
void said(const char *words);
bool was_said(const char *words);

#define ok(call) cr_assert_eq((call), DAT_SUCCESS, "%s did not succeed", #call)

#endif
