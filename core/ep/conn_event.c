/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of connections, and how connections end. Locks: see conn_parts.h. */
#include "core/ep/conn_parts.h"
#include "core/evd/evd.h"
#include "core/ia.h"
#include "core/probe.h"

/* Before DAT 2.0 a rejection has no private data. */
static bool has_private_data(const struct dap_ep *ep, uint32_t number)
{
	return number == DAP_EV_ESTABLISHED ||
	       (number == DAP_EV_PEER_REJECTED && ep->obj.api == DAP_API_20);
}

static void log_event(const struct dap_ep *ep, uint32_t number)
{
	static const char *const what[] = {
		[DAP_EV_ESTABLISHED & 0xff] = "connected",
		[DAP_EV_PEER_REJECTED & 0xff] = "the peer rejected the connection",
		[DAP_EV_NON_PEER_REJECTED & 0xff] = "no Service Point took the request",
		[DAP_EV_ACCEPT_ERROR & 0xff] = "the accepted connection failed",
		[DAP_EV_DISCONNECTED & 0xff] = "disconnected",
		[DAP_EV_BROKEN & 0xff] = "the connection is broken",
		[DAP_EV_TIMED_OUT & 0xff] = "the peer did not answer in time",
		[DAP_EV_UNREACHABLE & 0xff] = "no route to the peer",
	};

	dap_log(DAP_LOG_CM, "endpoint %p of %s: %s", (const void *)ep, ep->obj.ia->name,
		what[number & 0xff]);
}

/* The end of a connection comes after its completions. */
static bool is_after_cq(uint32_t number)
{
	return number == DAP_EV_DISCONNECTED || number == DAP_EV_BROKEN;
}

void dap_conn_event(struct dap_ep *ep, uint32_t number)
{
	struct core_ep *own = core_ep(ep);
	struct dap_event ev = { .number = number, .conn.ep = ep };

	log_event(ep, number);
	if (number == DAP_EV_BROKEN)
		DAP_PROBE2(break, ep, ep->obj.ia->name);
	__atomic_add_fetch(&core_ia(ep->obj.ia)->totals.connections[number - DAP_EV_ESTABLISHED], 1,
			   __ATOMIC_RELAXED);
	if (!own->connect_evd)
		return;
	ev.after_cq = is_after_cq(number);
	if (own->private_data_size && has_private_data(ep, number)) {
		ev.conn.private_data = own->private_data;
		ev.conn.private_data_size = own->private_data_size;
	}
	dap_evd_post(own->connect_evd, &ev);
}

void dap_conn_not_early(struct dap_ep *ep)
{
	if (core_ep(ep)->early)
		dap_evd_not_early(ep);
}

/* An endpoint in error takes no more receives from its SRQ. Consumers of 2.0 wait for this event
 * (dtestsrq). */
static void report_last_receive(struct dap_ep *ep)
{
	if (ep->srq && ep->obj.api == DAP_API_20)
		dap_async_post(ep->obj.ia, DAP_EV_ASYNC_EP_BROKEN, &ep->obj, 0);
}

void dap_conn_settle(struct dap_ep *ep)
{
	const struct dap_hw *hw = ep->obj.ia->hw;

	if (hw->qp_settle && ep->has_qp && dap_ep_fsm_next(dap_ep_state(ep), DAP_CAUSE_BROKEN) >= 0)
		hw->qp_settle(ep);
}

bool dap_conn_finish(struct dap_ep *ep, enum dap_ep_cause cause, uint32_t event)
{
	if (dap_ep_fsm_next(dap_ep_state(ep), cause) < 0)
		return false;
	if (ep->has_qp)
		ep->obj.ia->hw->qp_error(ep);
	dap_ep_fsm(ep, cause);
	/* DISCONNECTED and BROKEN come after the messages, other events before them. */
	if (is_after_cq(event))
		dap_conn_not_early(ep);
	dap_conn_event(ep, event);
	dap_conn_not_early(ep);
	report_last_receive(ep);
	return true;
}

uint32_t dap_conn_end_event(enum dap_ep_state state, enum dap_cm_end why)
{
	if (state == DAP_EP_COMPLETION_PENDING)
		return DAP_EV_ACCEPT_ERROR;
	if (state != DAP_EP_ACTIVE_PENDING)
		return why == DAP_CM_DISCONNECTED ? DAP_EV_DISCONNECTED : DAP_EV_BROKEN;
	switch (why) {
	case DAP_CM_REJECTED:
		return DAP_EV_PEER_REJECTED;
	case DAP_CM_UNREACHABLE:
		return DAP_EV_UNREACHABLE;
	case DAP_CM_TIMED_OUT:
		return DAP_EV_TIMED_OUT;
	default:
		return DAP_EV_NON_PEER_REJECTED;
	}
}

static bool can_break(const struct dap_ep *ep)
{
	return dap_ep_fsm_next(dap_ep_state(ep), DAP_CAUSE_BROKEN) >= 0;
}

/*
 * Called from within polls, with any locks held, and once for each flushed completion: only sets a
 * timer, once, so that the manager's thread does the work.
 */
void dap_ep_broken(struct dap_ep *ep)
{
	struct core_ep *own = core_ep(ep);
	uint32_t token = __atomic_load_n(&own->incarnation, __ATOMIC_ACQUIRE) + 1;

	if (!can_break(ep) || __atomic_exchange_n(&own->breaking, token, __ATOMIC_ACQ_REL) == token)
		return;
	dap_cm_timer(ep->obj.ia->cm, &own->broken, 0);
}
