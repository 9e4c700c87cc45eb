/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fsm/names.h"

static const char *const state_names[DAP_EP_STATES] = {
	"UNCONNECTED", "UNCONFIGURED_UNCONNECTED", "RESERVED", "UNCONFIGURED_RESERVED",
	"PASSIVE_PENDING", "UNCONFIGURED_PASSIVE", "ACTIVE_PENDING", "TENTATIVE_PENDING",
	"UNCONFIGURED_TENTATIVE", "CONNECTED", "DISCONNECT_PENDING", "DISCONNECTED",
	"COMPLETION_PENDING",
};

static const char *const cause_names[DAP_CAUSES] = {
	"connect", "reserve", "unreserve", "request", "tentative", "accept", "reject",
	"established", "failed", "disconnect graceful", "disconnect abrupt", "ended", "broken",
	"reset", "free",
};

const char *state_name(enum dap_ep_state state)
{
	return state < DAP_EP_STATES ? state_names[state] : "?";
}

const char *cause_name(enum dap_ep_cause cause)
{
	return cause < DAP_CAUSES ? cause_names[cause] : "?";
}

static bool is_unconfigured(int state)
{
	return state == DAP_EP_UNCONFIGURED_UNCONNECTED || state == DAP_EP_UNCONFIGURED_RESERVED ||
	       state == DAP_EP_UNCONFIGURED_PASSIVE || state == DAP_EP_UNCONFIGURED_TENTATIVE;
}

void print_table(FILE *out)
{
	fprintf(out, "| state |");
	for (int c = 0; c < DAP_CAUSES; c++)
		fprintf(out, " %s |", cause_names[c]);
	fprintf(out, "\n|---|");
	for (int c = 0; c < DAP_CAUSES; c++)
		fprintf(out, "---|");
	fprintf(out, "\n");
	for (int s = 0; s < DAP_EP_STATES; s++) {
		if (is_unconfigured(s))
			continue;
		fprintf(out, "| %s |", state_names[s]);
		for (int c = 0; c < DAP_CAUSES; c++) {
			int next = dap_ep_fsm_next((enum dap_ep_state)s, (enum dap_ep_cause)c);
			const char *text = next < 0 ? "-" : state_names[next];

			fprintf(out, " %s |", next == s ? "stays" : text);
		}
		fprintf(out, "\n");
	}
}
