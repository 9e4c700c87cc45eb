/* SPDX-License-Identifier: BSD-2-Clause */
/* What creating and modifying an endpoint share. */
#ifndef DAP_EP_INT_H
#define DAP_EP_INT_H

#include "core/api.h"
#include "core/hw.h"

/* Joins the EVDs, making internal ones where the consumer gave none, and creates the QP. Without a PZ
 * it only joins those that there are. On failure recv_evd and request_evd are unspecified. */
int dap_ep_attach(struct dap_ep *ep);
/* Undoes it; completions not yet dequeued are gone. recv_evd and request_evd are left dangling. */
void dap_ep_detach(struct dap_ep *ep);

/* ---- recv.c; ep->lock is held, or nobody knows the endpoint yet ---- */
/* The attribute srq_soft_hw of an endpoint with an SRQ; 0 is for none. INVALID_PARAMETER. */
int dap_ep_soft_high(struct dap_ep *ep, uint32_t soft);
/* Counts receives if there is a watermark to compare them with. */
int dap_ep_count(struct dap_ep *ep);
/* Does so no more. */
void dap_ep_uncount(struct dap_ep *ep);

#endif
