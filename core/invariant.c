/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hw.h"
#include "core/ia.h"

static const char *const type_names[DAP_TYPES] = {
	[DAP_IA] = "IA", [DAP_PZ] = "PZ", [DAP_LMR] = "LMR", [DAP_RMR] = "RMR", [DAP_EVD] = "EVD",
	[DAP_EP] = "endpoint", [DAP_PSP] = "PSP", [DAP_RSP] = "RSP", [DAP_CR] = "CR", [DAP_CNO] = "CNO",
	[DAP_SRQ] = "SRQ",
};

static void log_object(const struct dap_obj *obj)
{
	const struct dap_hw *hw = obj->ia->hw;
	const char *type = obj->type < DAP_TYPES && type_names[obj->type] ? type_names[obj->type] : "object";
	char state[24] = "", queues[400] = "";

	if (obj->type == DAP_EP)
		snprintf(state, sizeof(state), " in state %u", dap_ep_state((const struct dap_ep *)obj));
	if (hw && hw->describe)
		hw->describe(obj, queues, sizeof(queues));
	dap_log(DAP_LOG_ERR, "%s %p%s%s%s", type, (const void *)obj, state, *queues ? ": " : "", queues);
}

/* Leaves it to the manager's thread to fail the IA, since the caller may hold any lock. */
static void fail_later(struct dap_ia *ia)
{
	if (ia->cm)
		dap_cm_timer(ia->cm, &core_ia(ia)->failure, 0);
}

void dap_access_kept(const struct dap_obj *obj, int err)
{
	dap_log(DAP_LOG_ERR, "%s: the adapter did not end the access to an %s: %s; close the IA, whose "
		"connections are broken so that no peer has access", obj->ia->name, type_names[obj->type],
		dap_reason(err));
	fail_later(obj->ia);
}

bool dap_invariant_broken(const struct dap_obj *obj, const char *what, const char *file, int line)
{
	const char *abort_wanted = secure_getenv("DAPL_DBG_ABORT");

	dap_log(DAP_LOG_ERR, "%s: a defect of this library: \"%s\" does not hold at %s:%d; please report it",
		obj->ia ? obj->ia->name : "no IA", what, file, line);
	if (obj->ia)
		log_object(obj);
	if (abort_wanted && strcmp(abort_wanted, "0") != 0)
		abort();
	if (obj->ia)
		fail_later(obj->ia);
	return false;
}
