/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dap.h"
#include "hw_common/address.h"
#include "hw_efa/efa_params.h"
#include "hw_efa/efa_proto.h"

struct number {
	const char *key;
	unsigned long least, most, otherwise;
	unsigned long value;
};

enum { WINDOW, RENDEZVOUS, CQ_ENTRIES, INLINE, LOOK, REORDER, STRICT, ADVERSARIAL, STEP, NUMBERS };

static int read_numbers(const char *params, struct number *n, char *why, size_t whylen)
{
	for (int i = 0; i < NUMBERS; i++) {
		n[i].value = dap_param_num(params, n[i].key, n[i].otherwise);
		if (n[i].value >= n[i].least && n[i].value <= n[i].most)
			continue;
		snprintf(why, whylen, "ia_params: %s is from %lu to %lu", n[i].key, n[i].least,
			 n[i].most);
		return -EINVAL;
	}
	return 0;
}

/* Commas separate keys as well, but within a fault script they belong to it. */
static int read_fault(const char *params, struct efa_params *p, char *why, size_t whylen)
{
	const char *at = strstr(params, "fault=");
	size_t n;

	if (!at)
		return 0;
	at += strlen("fault=");
	n = strcspn(at, " \t;");
	if (n >= sizeof(p->fault)) {
		snprintf(why, whylen, "ia_params: fault= is longer than %zu bytes",
			 sizeof(p->fault) - 1);
		return -EINVAL;
	}
	memcpy(p->fault, at, n);
	return 0;
}

static void read_seed(const char *params, struct efa_params *p)
{
	char text[32];

	if (dap_param(params, "seed", text, sizeof(text)))
		p->seed = strtoull(text, NULL, 0);
}

static int read_ip(const char *params, struct efa_params *p, char *why, size_t whylen)
{
	char text[32] = "";

	return dap_param(params, "ip", text, sizeof(text)) ?
	       hw_address_read(text, p->ip, why, whylen) : 0;
}

static bool power_of_two(unsigned long v)
{
	return v && !(v & (v - 1));
}

int efa_params_parse(const char *params, struct efa_params *p, char *why, size_t whylen)
{
	struct number n[NUMBERS] = {
		[WINDOW] = { "efa_window", 4, EFA_MAX_WINDOW, 64, 0 },
		[RENDEZVOUS] = { "efa_rendezvous", 0, 1u << 30, 32768, 0 },
		[CQ_ENTRIES] = { "efa_cq", 16, 1u << 20, 65536, 0 },
		[INLINE] = { "efa_inline", 0, 80, 32, 0 },
		[LOOK] = { "efa_look", 1, 60000, 20, 0 },
		[REORDER] = { "efa_reorder", 0, 4096, 0, 0 },
		[STRICT] = { "strict", 0, 1, 0, 0 },
		[ADVERSARIAL] = { "adversarial", 0, 1, 0, 0 },
		[STEP] = { "efa_step", 0, 1, 0, 0 },
	};
	const char *env = secure_getenv("DAPL_EFA_PROFILE");
	char variant[16] = "";
	int err;

	*p = (struct efa_params){ 0 };
	params = params ? params : "";
	err = read_numbers(params, n, why, whylen);
	if (err)
		return err;
	if (!power_of_two(n[WINDOW].value) || !power_of_two(n[CQ_ENTRIES].value)) {
		snprintf(why, whylen, "ia_params: efa_window and efa_cq are powers of two");
		return -EINVAL;
	}
	p->window = (uint32_t)n[WINDOW].value;
	p->rendezvous = (uint32_t)n[RENDEZVOUS].value;
	p->cq_entries = (uint32_t)n[CQ_ENTRIES].value;
	p->inl = (uint32_t)n[INLINE].value;
	p->look_ms = (uint32_t)n[LOOK].value;
	p->reorder = (uint32_t)n[REORDER].value;
	p->strict = n[STRICT].value;
	p->adversarial = n[ADVERSARIAL].value;
	p->step = n[STEP].value;
	if (dap_param(params, "variant", variant, sizeof(variant)))
		p->silicon = !strcmp(variant, "silicon");
	if (!dap_param(params, "efa_profile", p->profile, sizeof(p->profile)) && env)
		snprintf(p->profile, sizeof(p->profile), "%s", env);
	read_seed(params, p);
	err = read_ip(params, p, why, whylen);
	return err ? err : read_fault(params, p, why, whylen);
}
