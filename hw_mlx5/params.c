/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "core/param.h"
#include "hw_mlx5/params.h"

static int read_ip(const char *value, void *out, char *why, size_t whylen)
{
	struct m5_params *p = out;

	(void)why;
	(void)whylen;
	p->has_ip = inet_pton(AF_INET, value, p->ip) == 1;
	return p->has_ip ? 0 : -EINVAL;
}

static int read_mac(const char *value, void *out, char *why, size_t whylen)
{
	struct m5_params *p = out;
	uint8_t m[6];
	int end = 0;

	(void)why;
	(void)whylen;
	p->has_mac = sscanf(value, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &m[0], &m[1], &m[2],
			    &m[3], &m[4], &m[5], &end) == 6 && !value[end] && !(m[0] & 1);
	if (!p->has_mac)
		return -EINVAL;
	memcpy(p->mac, m, sizeof(p->mac));
	return 0;
}

static int read_gid(const char *value, void *out, char *why, size_t whylen)
{
	struct m5_params *p = out;

	(void)why;
	(void)whylen;
	p->gid_from = strcmp(value, "auto") ? M5_GID_GIVEN : M5_GID_AUTO;
	return p->gid_from == M5_GID_AUTO || inet_pton(AF_INET6, value, p->gid) == 1 ? 0 : -EINVAL;
}

static const char *const mmio[] = { "auto", "blueflame", "combined", "doorbell", "measure", NULL };
static const char *const strict[] = { "strict", NULL };
static const char *const silicon[] = { "silicon", NULL };
static const char *const base[] = { "base", NULL };

#define AT(field) DAP_PARAM_AT(struct m5_params, field)
#define NUMBER(name, max, value, field) \
	{ .key = name, .most = max, .otherwise = value, AT(field) }
#define FLAG(name, value, field) NUMBER(name, 1, value, field)
#define CHOICE(name, list, first, field) \
	{ .key = name, .type = DAP_PARAM_CHOICE, .words = list, .least = first, AT(field) }

/*
 * RNR retries repeat for ever: DAT gives no time within which a receive must be posted, and a peer
 * that has died is noticed by the connection manager. The ACK timeout of 268 ms, eight times,
 * outlasts a peer that is descheduled, not one that is gone. 0.64 ms between RNR retries.
 */
static const struct dap_param table[] = {
	NUMBER("rnr_retry", 7, 7, rnr_retry),
	NUMBER("retry_cnt", 7, 7, retry_cnt),
	NUMBER("ack_timeout", 31, 16, ack_timeout),
	NUMBER("min_rnr", 31, 12, min_rnr),
	NUMBER("inline", 220, 188, inline_max),
	NUMBER("bf_eps", 255, 8, bf_eps),
	CHOICE("mmio", mmio, M5_MMIO_AUTO, mmio),
	NUMBER("scatter_cqe", M5_SCATTER_READS_TOO, M5_SCATTER_NONE, scatter_cqe),
	FLAG("eal", WITH_DPDK, eal),
	CHOICE("isa", base, true, base),
	NUMBER("gid_index", INT16_MAX, (uint64_t)-1, gid_index),
	NUMBER("pkey", UINT16_MAX, 0xffff, pkey),
	NUMBER("sl", 15, 0, sl),
	{ .key = "ip", .type = DAP_PARAM_OWN, .read = read_ip, .must = "an IPv4 address" },
	{ .key = "mac", .type = DAP_PARAM_OWN, .read = read_mac,
	  .must = "six hexadecimal bytes with colons, not a multicast address" },
	{ .key = "gid", .type = DAP_PARAM_OWN, .read = read_gid,
	  .must = "auto or an IPv6 address" },
	NUMBER("seed", UINT64_MAX, 0, seed),
	FLAG("strict", 0, strict),
	FLAG("adversarial", 0, adversarial),
	CHOICE("memlock", strict, true, memlock),
	CHOICE("variant", silicon, true, silicon),
	{ .key = "fault", .type = DAP_PARAM_SCRIPT, AT(fault) },
	{ .key = NULL },
};

int m5_params_parse(const char *params, struct m5_params *p, char *why, size_t whylen)
{
	*p = (struct m5_params){ 0 };
	return dap_params_parse(params, table, p, why, whylen);
}
