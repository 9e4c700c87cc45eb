/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The states of an endpoint (DAT 1.2 section 6.6) and the transitions for each cause. Only this
 * file writes ep->state, ep->connection and ep->obj.table.
 *
 * State and table are separate words. A call that still finds the old table behaves as if it came
 * before the change: its QP flushes, but exists.
 */
#include "core/ep/fsm.h"

#define NO (-1)

/* Short names keep a row of the table on one line. */
enum {
	UNC = DAP_EP_UNCONNECTED, RSV = DAP_EP_RESERVED, PAS = DAP_EP_PASSIVE_PENDING,
	TEN = DAP_EP_TENTATIVE_PENDING, ACT = DAP_EP_ACTIVE_PENDING,
	CPL = DAP_EP_COMPLETION_PENDING,
	CON = DAP_EP_CONNECTED, DSP = DAP_EP_DISCONNECT_PENDING, DIS = DAP_EP_DISCONNECTED,
};

/*
 * Rows are causes, columns states. The three unconfigured states have no column: an endpoint has
 * its attributes from its creation, so no cause leads to these states, and they refuse every
 * cause.
 */
static const int8_t next_state[DAP_CAUSES][DAP_EP_STATES] = {
#define ROW(cause, unc, rsv, pas, ten, act, cpl, con, dsp, dis)                                    \
	[DAP_CAUSE_##cause] = {                                                                    \
		[DAP_EP_UNCONFIGURED_UNCONNECTED] = NO, [DAP_EP_UNCONFIGURED_RESERVED] = NO,       \
		[DAP_EP_UNCONFIGURED_PASSIVE] = NO, [DAP_EP_UNCONFIGURED_TENTATIVE] = NO,          \
		[UNC] = unc, [RSV] = rsv, [PAS] = pas, [TEN] = ten, [ACT] = act, [CPL] = cpl,      \
		[CON] = con, [DSP] = dsp, [DIS] = dis }
	/*                   UNC  RSV  PAS  TEN  ACT  CPL  CON  DSP  DIS */
	ROW(CONNECT,             ACT, NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO),
	ROW(RESERVE,             RSV, NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO),
	ROW(UNRESERVE,           NO,  UNC, NO,  NO,  NO,  NO,  NO,  NO,  NO),
	ROW(REQUEST,             NO,  PAS, NO,  NO,  NO,  NO,  NO,  NO,  NO),
	ROW(TENTATIVE,           TEN, TEN, NO,  NO,  NO,  NO,  NO,  NO,  NO),
	ROW(ACCEPT,              CPL, NO,  CPL, CPL, NO,  NO,  NO,  NO,  NO),
	ROW(REJECT,              NO,  NO,  UNC, UNC, NO,  NO,  NO,  NO,  NO),
	ROW(ESTABLISHED,         NO,  NO,  NO,  NO,  CON, CON, NO,  NO,  NO),
	ROW(FAILED,              NO,  NO,  NO,  NO,  DIS, DIS, NO,  NO,  NO),
	ROW(DISCONNECT_GRACEFUL, NO,  NO,  NO,  NO,  DIS, DIS, DSP, DSP, DIS),
	ROW(DISCONNECT_ABRUPT,   NO,  NO,  NO,  NO,  DIS, DIS, DIS, DIS, DIS),
	ROW(ENDED,               NO,  NO,  NO,  NO,  NO,  NO,  DIS, DIS, NO),
	ROW(BROKEN,              NO,  NO,  NO,  NO,  DIS, DIS, DIS, DIS, NO),
	ROW(RESET,               UNC, NO,  NO,  NO,  NO,  NO,  NO,  NO,  UNC),
	ROW(FREE,                UNC, NO,  NO,  NO,  DIS, DIS, DIS, DIS, DIS),
#undef ROW
};

/* Release: a thread that sees the state also sees what came before it, such as the peer's
 * address. */
static void set_state(struct dap_ep *ep, enum dap_ep_state state)
{
	const void *const *tables = (const void *const *)ep->obj.ia->tables;
	enum dap_table which = state == DAP_EP_CONNECTED ? DAP_TABLE_EP_LIVE : DAP_TABLE_CHECKED;

	static uint64_t connections;
	uint64_t number = state == DAP_EP_CONNECTED ?
			  __atomic_add_fetch(&connections, 1, __ATOMIC_RELAXED) : 0;

	dap_invariant(&ep->obj, state != DAP_EP_CONNECTED || ep->has_qp);
	__atomic_store_n(&ep->state, (uint32_t)state, __ATOMIC_RELEASE);
	__atomic_store_n(&ep->connection, number, __ATOMIC_RELEASE);
	__atomic_store_n(&ep->obj.table, tables[which], __ATOMIC_RELEASE);
}

void dap_ep_fsm_init(struct dap_ep *ep)
{
	set_state(ep, DAP_EP_UNCONNECTED);
}

int dap_ep_fsm_next(enum dap_ep_state state, enum dap_ep_cause cause)
{
	return next_state[cause][state];
}

int dap_ep_fsm(struct dap_ep *ep, enum dap_ep_cause cause)
{
	enum dap_ep_state state = dap_ep_state(ep);
	int next = next_state[cause][state];

	if (next == NO)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP + state);
	if (next != (int)state)
		set_state(ep, (enum dap_ep_state)next);
	return 0;
}
