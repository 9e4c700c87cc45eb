/* SPDX-License-Identifier: BSD-2-Clause */
/* The state table of endpoints: the only writer of an endpoint's state and table. */
#ifndef DAP_EP_FSM_H
#define DAP_EP_FSM_H

#include "core/dap.h"

enum dap_ep_cause {			/* events in an endpoint's life */
	DAP_CAUSE_CONNECT, DAP_CAUSE_RESERVE, DAP_CAUSE_UNRESERVE, DAP_CAUSE_REQUEST,
	DAP_CAUSE_TENTATIVE, DAP_CAUSE_ACCEPT, DAP_CAUSE_REJECT, DAP_CAUSE_ESTABLISHED,
	DAP_CAUSE_FAILED, DAP_CAUSE_DISCONNECT_GRACEFUL, DAP_CAUSE_DISCONNECT_ABRUPT,
	DAP_CAUSE_ENDED, DAP_CAUSE_BROKEN, DAP_CAUSE_RESET, DAP_CAUSE_FREE, DAP_CAUSES
};
/* Applies the cause. Returns 0, or DAP_ERR(INVALID_STATE, SUB_STATE_EP + state) with the state
 * unchanged. ep->lock is held. */
int dap_ep_fsm(struct dap_ep *ep, enum dap_ep_cause cause);
/* Only looks up the next state; -1 if the cause is refused. */
int dap_ep_fsm_next(enum dap_ep_state state, enum dap_ep_cause cause);
/* Sets a new endpoint to UNCONNECTED. */
void dap_ep_fsm_init(struct dap_ep *ep);

#endif
