/* SPDX-License-Identifier: BSD-2-Clause */
/* How this side ends a connection: disconnect, breakage, reset, and free. */
#include "core/clock.h"
#include "core/ep/conn_parts.h"
#include "core/ep/ep.h"
#include "core/evd/evd.h"

#define REAP_US 50000
#define DRAIN_LOOK_US 500
#define DRAIN_LOOKS 20000		/* most checks: ten seconds in total */

/* All endpoints are due at the same time, so the manager's thread wakes once for all of them. */
void dap_conn_reap_later(struct dap_ep *ep)
{
	if (core_evd(ep->request_evd)->internal)
		dap_cm_timer(ep->obj.ia->cm, &core_ep(ep)->drain,
			     REAP_US - dap_now_ns() / 1000 % REAP_US);
}

/* ---- graceful: posted work completes first, for up to ten seconds ---- */

static void check_drain(struct dap_ep *ep)
{
	struct core_ep *own = core_ep(ep);
	struct dap_ia *ia = ep->obj.ia;
	bool done = ia->hw->qp_drain_done(ep) || !own->drain_looks--;

	/* The connection is breaking: its end must report the failure, not a disconnection. */
	if (__atomic_load_n(&own->breaking, __ATOMIC_ACQUIRE) == own->incarnation + 1)
		return;
	if (done)
		dap_cm_disconnect(own->conn, false);
	else
		dap_cm_timer(ia->cm, &own->drain, DRAIN_LOOK_US);
}

static void on_drain_timer(void *arg)
{
	struct dap_ep *ep = arg;
	struct core_ep *own = core_ep(ep);

	pthread_mutex_lock(&own->lock);
	if (dap_ep_state(ep) == DAP_EP_CONNECTED) {
		dap_ep_reap(ep, false);
		dap_conn_reap_later(ep);
	} else if (dap_ep_state(ep) == DAP_EP_DISCONNECT_PENDING && own->conn) {
		check_drain(ep);
	}
	pthread_mutex_unlock(&own->lock);
}

static void disconnect_gracefully(struct dap_ep *ep)
{
	struct dap_ia *ia = ep->obj.ia;

	dap_ep_fsm(ep, DAP_CAUSE_DISCONNECT_GRACEFUL);
	core_ep(ep)->drain_looks = DRAIN_LOOKS;
	if (ia->hw->qp_drain_begin)
		ia->hw->qp_drain_begin(ep);
	check_drain(ep);
}

static void disconnect_now(struct dap_ep *ep, enum dap_ep_cause cause)
{
	struct dap_cm_conn *conn = core_ep(ep)->conn;

	core_ep(ep)->conn = NULL;
	dap_conn_finish(ep, cause, DAP_EV_DISCONNECTED);
	if (conn) {
		dap_cm_disconnect(conn, true);
		dap_cm_release(conn);
	}
}

int dap_ep_disconnect(struct dap_ep *ep, bool graceful)
{
	struct core_ep *own = core_ep(ep);
	enum dap_ep_cause cause = graceful ? DAP_CAUSE_DISCONNECT_GRACEFUL :
					     DAP_CAUSE_DISCONNECT_ABRUPT;
	enum dap_ep_state state;
	int next, err = 0;

	pthread_mutex_lock(&own->lock);
	state = dap_ep_state(ep);
	next = dap_ep_fsm_next(state, cause);
	if (next < 0)
		err = DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP + state);
	else if (next != (int)state)
		own->counts.disconnects++;
	if (err || next == (int)state)
		goto unlock;		/* refused, or nothing to do */
	if (next == DAP_EP_DISCONNECT_PENDING)
		disconnect_gracefully(ep);
	else
		disconnect_now(ep, cause);
unlock:
	pthread_mutex_unlock(&own->lock);
	return err;
}

/* ---- breakage ---- */

static void on_broken_timer(void *arg)
{
	struct dap_ep *ep = arg;
	struct core_ep *own = core_ep(ep);
	const struct dap_hw *hw = ep->obj.ia->hw;
	uint32_t event, incarnation;
	struct dap_cm_conn *conn;
	const char *why;

	pthread_mutex_lock(&own->lock);
	/* Under the lock, because check_drain() reads own->breaking under the lock. */
	incarnation = __atomic_exchange_n(&own->breaking, 0, __ATOMIC_ACQ_REL) - 1;
	event = dap_conn_end_event(dap_ep_state(ep), DAP_CM_BROKEN);
	if (incarnation == own->incarnation)
		dap_conn_settle(ep);
	if (incarnation == own->incarnation && dap_conn_finish(ep, DAP_CAUSE_BROKEN, event)) {
		why = hw->qp_why ? hw->qp_why(ep) : NULL;
		dap_log(DAP_LOG_CM, "endpoint %p of %s: this side broke the connection: %s", (void *)ep,
			ep->obj.ia->name, why ? why : "a request or receive failed");
		conn = own->conn;
		own->conn = NULL;
		if (conn)
			dap_cm_break(conn, why);
	}
	pthread_mutex_unlock(&own->lock);
}

/* Sets up the timers once, before the endpoint enters a state in which they can be set. */
void dap_conn_timers(struct dap_ep *ep)
{
	struct core_ep *own = core_ep(ep);

	if (own->broken.fn)
		return;
	own->broken.fn = on_broken_timer;
	own->broken.arg = ep;
	own->drain.fn = on_drain_timer;
	own->drain.arg = ep;
}

/* ---- reset and free ---- */

static int reset_locked(struct dap_ep *ep)
{
	struct core_ep *own = core_ep(ep);
	enum dap_ep_state state = dap_ep_state(ep);
	int next = dap_ep_fsm_next(state, DAP_CAUSE_RESET), err;

	if (next < 0)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP + state);
	if (next == (int)state)
		return 0;		/* posted receives stay */
	__atomic_store_n(&own->incarnation, own->incarnation + 1, __ATOMIC_RELEASE);
	dap_ep_detach(ep);
	err = dap_ep_reattach(ep);
	if (err)
		return err;
	own->private_data_size = 0;
	own->active_side = false;
	return dap_ep_fsm(ep, DAP_CAUSE_RESET);
}

int dap_ep_reset(struct dap_ep *ep)
{
	int err, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&core_ep(ep)->lock);
	err = reset_locked(ep);
	pthread_mutex_unlock(&core_ep(ep)->lock);
	pthread_setcancelstate(cancel, NULL);
	return err;
}

void dap_conn_ep_release(struct dap_ep *ep)
{
	struct core_ep *own = core_ep(ep);
	struct dap_ia *ia = ep->obj.ia;
	struct dap_cm_conn *conn;

	pthread_mutex_lock(&own->lock);
	conn = own->conn;
	own->conn = NULL;
	/* The QP sends its last acknowledgements before the peer learns of the disconnection. */
	if (conn && ep->has_qp)
		ia->hw->qp_error(ep);
	if (conn) {
		dap_log(DAP_LOG_CM, "endpoint %p of %s: freed while connected: disconnected", (void *)ep,
			ia->name);
		dap_cm_disconnect(conn, true);
		dap_cm_release(conn);
	}
	dap_ep_fsm(ep, DAP_CAUSE_FREE);
	dap_conn_not_early(ep);
	pthread_mutex_unlock(&own->lock);
	dap_cm_timer_close(ia->cm, &own->drain);
	dap_cm_timer_close(ia->cm, &own->broken);
}
