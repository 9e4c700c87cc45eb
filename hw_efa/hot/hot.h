/* SPDX-License-Identifier: BSD-2-Clause */
/* The hot calls, and their table. */
#ifndef EFA_HOT_H
#define EFA_HOT_H

#include "core/hot.h"

/* ---- dequeue.c ---- */
DAT_RETURN efa_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event);

/* ---- hot.c ---- */
/* Returns the table, or NULL if the level is another than this library's. */
const void *efa_hot_calls(const struct dap_ia *ia, enum dap_api api);

#endif
