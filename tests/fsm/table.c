/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks every cause in every state against a table written from the manual pages: one line per state,
 * with the next state for each cause in the order of enum dap_ep_cause.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/fsm/names.h"

#define U DAP_EP_UNCONNECTED
#define R DAP_EP_RESERVED
#define P DAP_EP_PASSIVE_PENDING
#define T DAP_EP_TENTATIVE_PENDING
#define A DAP_EP_ACTIVE_PENDING
#define C DAP_EP_CONNECTED
#define G DAP_EP_DISCONNECT_PENDING
#define D DAP_EP_DISCONNECTED
#define M DAP_EP_COMPLETION_PENDING
#define x (-1)

static const int want[DAP_EP_STATES][DAP_CAUSES] = {
/* causes: connect reserve unreserve request tentative accept reject established failed graceful
 * abrupt ended broken reset free */
[U] = { A, R, x, x, T, M, x, x, x, x, x, x, x, U, U },
[R] = { x, x, U, P, T, x, x, x, x, x, x, x, x, x, x },
[P] = { x, x, x, x, x, M, U, x, x, x, x, x, x, x, x },
[T] = { x, x, x, x, x, M, U, x, x, x, x, x, x, x, x },
[A] = { x, x, x, x, x, x, x, C, D, D, D, x, D, x, D },
[M] = { x, x, x, x, x, x, x, C, D, D, D, x, D, x, D },
[C] = { x, x, x, x, x, x, x, x, x, G, D, D, D, x, D },
[G] = { x, x, x, x, x, x, x, x, x, G, D, D, D, x, D },
[D] = { x, x, x, x, x, x, x, x, x, D, D, x, x, U, D },
[DAP_EP_UNCONFIGURED_UNCONNECTED] = { x, x, x, x, x, x, x, x, x, x, x, x, x, x, x },
[DAP_EP_UNCONFIGURED_RESERVED] = { x, x, x, x, x, x, x, x, x, x, x, x, x, x, x },
[DAP_EP_UNCONFIGURED_PASSIVE] = { x, x, x, x, x, x, x, x, x, x, x, x, x, x, x },
[DAP_EP_UNCONFIGURED_TENTATIVE] = { x, x, x, x, x, x, x, x, x, x, x, x, x, x, x },
};

static int checked, live;	/* two objects that stand for the checked and the live table */
static struct dap_ia ia;
static struct dap_ep ep;

static void setup(void)
{
	ia.tables[DAP_TABLE_CHECKED] = &checked;
	ia.tables[DAP_TABLE_EP_LIVE] = &live;
	ep.obj.ia = &ia;
	ep.has_qp = true;
}

Test(fsm, dap_ep_fsm__each_cause_in_each_state_follows_the_table, .init = setup)
{
	for (enum dap_ep_state s = 0; s < DAP_EP_STATES; s++) {
		int refused = DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP + s);

		for (enum dap_ep_cause c = 0; c < DAP_CAUSES; c++) {
			int next = want[s][c], err;

			ep.state = (uint32_t)s;
			ep.obj.table = s == C ? &live : &checked;
			err = dap_ep_fsm(&ep, c);
			cr_expect_eq(err, next == x ? refused : 0,
				     "state %s, cause %s: wrong return code", state_name(s),
				     cause_name(c));
			cr_expect_eq((int)dap_ep_state(&ep), next == x ? (int)s : next,
				     "state %s, cause %s: wrong next state", state_name(s),
				     cause_name(c));
			cr_expect_eq(ep.obj.table, dap_ep_state(&ep) == C ? &live : &checked);
			cr_expect_eq(dap_ep_fsm_next(s, c), next);
		}
	}
}

Test(fsm, fresh_endpoint_is_unconnected_and_checked, .init = setup)
{
	ep.state = C;
	ep.obj.table = &live;
	dap_ep_fsm_init(&ep);
	cr_assert_eq(dap_ep_state(&ep), U);
	cr_assert_eq(ep.obj.table, &checked);
}

/* No endpoint is stuck: from each reachable state, free or a release ends it. */
Test(fsm, every_state_is_reached_from_unconnected_and_left)
{
	bool seen[DAP_EP_STATES] = { [U] = true };

	for (int round = 0; round < DAP_EP_STATES; round++) {
		for (enum dap_ep_state s = 0; s < DAP_EP_STATES; s++) {
			for (enum dap_ep_cause c = 0; c < DAP_CAUSES && seen[s]; c++) {
				int next = dap_ep_fsm_next(s, c);

				if (next >= 0)
					seen[next] = true;
			}
		}
	}
	for (enum dap_ep_state s = 0; s < DAP_EP_STATES; s++) {
		bool unconfigured = strstr(state_name(s), "UNCONFIGURED");

		cr_expect_eq(seen[s], !unconfigured,
			     "state %s: it is reachable though it should not be, or the reverse",
			     state_name(s));
	}
}
