/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <stdio.h>
#include <stdlib.h>

#include "hw_common/address.h"
#include "hw_common/soft.h"
#include "hw_efa/params.h"
#include "hw_efa/proto.h"

static int read_ip(const char *value, void *out, char *why, size_t whylen)
{
	return hw_address_read(value, &((struct efa_params *)out)->ip, why, whylen);
}

static const char *const profiles[] = { "read", "write", "unsol", "wide", "reqid64", NULL };
static const char *const orders[] = { "kept", "relaxed", NULL };

#define AT(field) DAP_PARAM_AT(struct efa_params, field)
#define NUMBER(name, min, max, value, field) \
	.key = name, .least = min, .most = max, .otherwise = value, AT(field)
#define POWER(name, min, max, value, field) \
	.power_of_two = true, NUMBER(name, min, max, value, field)

const struct dap_param efa_param_table[] = {
	{ POWER("efa_window", 4, EFA_MAX_WINDOW, 64, window), .unit = "packets",
	  .meaning = "packets that a peer may have in flight to an Endpoint" },
	{ NUMBER("efa_rendezvous", 0, 1u << 30, 32768, rendezvous), .unit = "bytes",
	  .meaning = "a longer message is read by its receiver" },
	{ POWER("efa_cq", 16, 1u << 20, 32768, cq_entries), .unit = "entries",
	  .meaning = "number of entries of the IA's only CQ" },
	{ NUMBER("efa_inline", 0, 80, 32, inl), .unit = "bytes",
	  .meaning = "largest message that is copied into its WQE; above 32: WQEs of 128 bytes" },
	{ NUMBER("efa_look", 1, 60000, 20, look_ms), .unit = "milliseconds",
	  .meaning = "interval at which the library polls the CQ while the program does not" },
	{ .key = "ip", .type = DAP_PARAM_OWN, .read = read_ip,
	  .must = "an IPv4 or IPv6 address of this machine, or a network interface with IPv4",
	  .without = "the address of the default route; 127.0.0.1 for a software adapter",
	  .meaning = "address by which peers reach the adapter" },
	{ .key = "write_order", .type = DAP_PARAM_CHOICE, .words = orders, AT(relaxed),
	  .meaning = "order in which RDMA writes become visible in the peer's memory" },
	{ NUMBER("efa_reorder", 0, 512, 0, reorder), .unit = "packets",
	  .meaning = "software adapter: packets held back to reorder them; 0: its default" },
	{ .key = "efa_profile", .type = DAP_PARAM_TEXT, .words = profiles, AT(profile),
	  .without = "DAPL_EFA_PROFILE, or wide",
	  .meaning = "software adapter: which generation of the device it is" },
	{ NUMBER("efa_step", 0, 1, 0, step),
	  .meaning = "software adapter, 1: no thread, only calls drive the device" },
	HW_SOFT_PARAMS(struct efa_params),
	{ .key = NULL },
};

int efa_params_parse(const char *params, struct efa_params *p, char *why, size_t whylen)
{
	const char *env = secure_getenv("DAPL_EFA_PROFILE");
	int err;

	*p = (struct efa_params){ 0 };
	err = dap_params_parse(params, efa_param_table, p, why, whylen);
	if (!err && !p->profile[0] && env)
		snprintf(p->profile, sizeof(p->profile), "%s", env);
	return err;
}
