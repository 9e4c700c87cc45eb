/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <stdio.h>
#include <stdlib.h>

#include "core/param.h"
#include "hw_common/address.h"
#include "hw_efa/params.h"
#include "hw_efa/proto.h"

static int read_ip(const char *value, void *out, char *why, size_t whylen)
{
	struct efa_params *p = out;

	return hw_address_read(value, p->ip, why, whylen);
}

static const char *const profiles[] = {
	"efa0", "efa1", "read", "write", "unsol", "wide", "reqid64", NULL,
};
static const char *const orders[] = { "kept", "relaxed", NULL };
static const char *const silicon[] = { "silicon", NULL };

#define AT(field) DAP_PARAM_AT(struct efa_params, field)
#define NUMBER(name, min, max, value, field) \
	{ .key = name, .least = min, .most = max, .otherwise = value, AT(field) }
#define POWER(name, min, max, value, field) \
	{ .key = name, .power_of_two = true, .least = min, .most = max, .otherwise = value, AT(field) }
#define FLAG(name, field) NUMBER(name, 0, 1, 0, field)

static const struct dap_param table[] = {
	POWER("efa_window", 4, EFA_MAX_WINDOW, 64, window),
	NUMBER("efa_rendezvous", 0, 1u << 30, 32768, rendezvous),
	POWER("efa_cq", 16, 1u << 20, 65536, cq_entries),
	NUMBER("efa_inline", 0, 80, 32, inl),
	NUMBER("efa_look", 1, 60000, 20, look_ms),
	{ .key = "ip", .type = DAP_PARAM_OWN, .read = read_ip,
	  .must = "an IPv4 address of this machine or a network interface that has one" },
	{ .key = "write_order", .type = DAP_PARAM_CHOICE, .words = orders, AT(relaxed) },
	NUMBER("efa_reorder", 0, 4096, 0, reorder),
	{ .key = "efa_profile", .type = DAP_PARAM_TEXT, .words = profiles, AT(profile) },
	FLAG("efa_step", step),
	NUMBER("seed", 0, UINT64_MAX, 0, seed),
	FLAG("strict", strict),
	FLAG("adversarial", adversarial),
	{ .key = "variant", .type = DAP_PARAM_CHOICE, .words = silicon, .least = true, AT(silicon) },
	{ .key = "fault", .type = DAP_PARAM_SCRIPT, AT(fault) },
	{ .key = NULL },
};

int efa_params_parse(const char *params, struct efa_params *p, char *why, size_t whylen)
{
	const char *env = secure_getenv("DAPL_EFA_PROFILE");
	int err;

	*p = (struct efa_params){ 0 };
	err = dap_params_parse(params, table, p, why, whylen);
	if (!err && !p->profile[0] && env)
		snprintf(p->profile, sizeof(p->profile), "%s", env);
	return err;
}
