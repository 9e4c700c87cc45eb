/* SPDX-License-Identifier: BSD-2-Clause */
/* The hot calls, and their table. */
#ifndef EFA_HOT_H
#define EFA_HOT_H

#include "core/hot.h"

/* ---- recv.c, dequeue.c ---- */
DAT_RETURN efa_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
		    DAT_COMPLETION_FLAGS flags);
DAT_RETURN efa_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event);

/* ---- bind.c ---- */
#ifdef DAP_DAT20
DAT_RETURN efa_hot_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,
			DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep,
			DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			DAT_RMR_CONTEXT *context);
#else
DAT_RETURN efa_hot_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS priv,
			DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			DAT_RMR_CONTEXT *context);
#endif

/* ---- hot.c ---- */
/* Returns the table, or NULL if the level is another than this library's. */
const void *efa_hot_calls(const struct dap_ia *ia, enum dap_api api);

#endif
