/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the files of the connection code.
 *
 * Locks, outermost first:
 *	rsp_lock (psp.c)	whether a request or the release gets a reserved service point
 *	ep->lock		state and connection of one endpoint; the backend's qp_* calls for it;
 *				a thread holds at most one
 *	evd->lock, the backend's and the manager's: taken within calls, nothing of ours inside
 *
 * The manager calls back with no lock held. Calls that wait for its thread (dap_cm_sync,
 * _timer_close, _close) are made without our locks. A callback names its connection: if that is
 * not ep->conn, the endpoint has released it, and the callback is ignored.
 */
#ifndef DAP_CONN_INT_H
#define DAP_CONN_INT_H

#include "core/api.h"
#include "core/cm/cm.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/fsm.h"
#include "core/hw.h"

/* All with ep->lock held. */

/* Before a connection: fills the QP's address and sets up the timers. qos is what the call asks
 * for; if it is best effort, the endpoint's attributes decide. */
int dap_conn_prepare(struct dap_ep *ep, uint32_t qos);
void dap_conn_timers(struct dap_ep *ep);
/* The endpoint is CONNECTED. If its request EVD is internal, perhaps no call of the consumer polls the CQ,
 * and a failed request would not end the connection. So the manager's thread polls it while CONNECTED. */
void dap_conn_reap_later(struct dap_ep *ep);
/* Returns true if both ends use the same backend and protocol version; otherwise logs the
 * difference. */
bool dap_conn_compatible(const struct dap_ep *ep, const struct dap_path *peer);
/* Posts the event to the endpoint's connect EVD, with the peer's private data if it has any. */
void dap_conn_event(struct dap_ep *ep, uint32_t number);
/* Ends dap_evd_early(): called when an event of the connection is posted, and when the endpoint is
 * freed. */
void dap_conn_not_early(struct dap_ep *ep);
/* Called before the connection ends: completes earlier requests that the peer has taken (hw.h,
 * qp_settle). */
void dap_conn_settle(struct dap_ep *ep);
/* If the cause applies: moves the QP to error, changes the state, then posts the event, so that all
 * work is flushed when the consumer sees the event. If the cause does not apply, does nothing and
 * returns false. */
bool dap_conn_finish(struct dap_ep *ep, enum dap_ep_cause cause, uint32_t event);
/* Returns the event for a connection that ended in this way and in this state. */
uint32_t dap_conn_end_event(enum dap_ep_state state, enum dap_cm_end why);

int dap_conn_request(void *sp, struct dap_cm_conn *conn, const struct dap_cm_request *r);
/* Posts the event of a request that has arrived for sp. */
int dap_sp_deliver(struct dap_psp *sp, struct dap_cr *cr);

#endif
