/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the CNO share. Its lock is held where a comment does not say otherwise. */
#ifndef DAP_CNO_INT_H
#define DAP_CNO_INT_H

#include "core/api.h"
#include "core/hw.h"

/* An EVD joins or leaves; evd->lock is held, the CNO's is not. An EVD that is being destroyed is
 * forgotten altogether, and the last one of them ends the waits. */
void dap_cno_add(struct dap_cno *cno, struct dap_evd *evd);
void dap_cno_remove(struct dap_cno *cno, struct dap_evd *evd);
/* Nobody of the CNO looks at the EVD any more when it returns. No lock is held. */
void dap_cno_unpinned(struct dap_cno *cno, struct dap_evd *evd);

/* The EVD that triggered first, or NULL. */
struct dap_evd *dap_cno_take(struct dap_cno *cno, unsigned int ear);

/* ---- cno_wait.c; no lock is held ---- */
/* Looks at each CQ that has news. */
void dap_cno_look(struct dap_cno *cno);
/* Until the ear has news or a CQ has: 0 or -errno. deadline in ns, UINT64_MAX for none. */
int dap_cno_sleep(struct dap_cno *cno, unsigned int ear, uint64_t now, uint64_t deadline);
void dap_cno_signal(struct dap_cno *cno, unsigned int ear);
void dap_cno_quiet(struct dap_cno *cno, unsigned int ear);

/* ---- cno_agent.c; no lock is held ---- */
struct dap_agent *dap_agent_start(struct dap_cno *cno, dap_agent_fn fn, void *data, bool once);
/* It has returned, and is not called again; or it is it that asks. */
void dap_agent_stop(struct dap_cno *cno);

#endif
