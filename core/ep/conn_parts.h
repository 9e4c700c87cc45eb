/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of the connection code share.
 *
 * Locks, outermost first:
 *	rsp_lock (psp.c)	who takes a reserved service point: its request, or its release
 *	ep->lock		state and connection of one endpoint, never two at a time; the
 *				backend's qp_* calls about it are under it, too
 *	evd->lock, the backend's, the manager's own: taken within calls, nothing of ours inside
 *
 * The manager calls back with no lock held, and no call that waits for its thread (dap_cm_sync,
 * _timer_close, _close) is made with one of ours. A callback names its connection: when that is not
 * ep->conn any more, the endpoint has let go of it and the callback has come too late.
 */
#ifndef DAP_CONN_INT_H
#define DAP_CONN_INT_H

#include "core/api.h"
#include "core/cm/cm.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/hw.h"

/* All with ep->lock held. */

/* Before a connection: the QP's address, and the timers. */
int dap_conn_prepare(struct dap_ep *ep);
void dap_conn_timers(struct dap_ep *ep);
/* The two ends speak the same protocol of the same backend. */
bool dap_conn_compatible(const struct dap_path *a, const struct dap_path *b);
/* Appends the event to the endpoint's connect EVD, with the peer's private data where it has some. */
void dap_conn_event(struct dap_ep *ep, uint32_t number);
/* If the cause applies: QP to error, state, then the event, so that who sees the event finds all
 * flushed. False, and nothing, if it does not. */
bool dap_conn_finish(struct dap_ep *ep, enum dap_ep_cause cause, uint32_t event);
/* What a connection that ended in this way is to the consumer, by the state it ended in. */
uint32_t dap_conn_end_event(enum dap_ep_state state, enum dap_cm_end why);

int dap_conn_request(void *sp, struct dap_cm_conn *conn, const struct dap_cm_request *r);
/* A request for it has arrived: appends the event. */
int dap_sp_deliver(struct dap_psp *sp, struct dap_cr *cr);

#endif
