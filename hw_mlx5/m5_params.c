/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "hw_mlx5/m5_params.h"

/*
 * RNR retries repeat for ever: DAT gives no time within which a receive must be posted, and a peer
 * that has died is noticed by the connection manager. The ACK timeout of 268 ms, eight times,
 * outlasts a peer that is descheduled, not one that is gone. 0.64 ms between RNR retries.
 */
static const struct m5_params defaults = {
	.rnr_retry = 7,
	.retry_cnt = 7,
	.ack_timeout = 16,
	.min_rnr = 12,
	.inline_max = 188,
	.bf_eps = 8,
	.gid_index = -1,
	.pkey = 0xffff,
	.eal = WITH_DPDK,
};

static bool number(const char *s, uint64_t max, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(s, &end, 0);
	return *s >= '0' && *s <= '9' && !*end && !errno && *v <= max;
}

static bool byte_value(const char *s, uint8_t max, uint8_t *out)
{
	uint64_t v;

	if (!number(s, max, &v))
		return false;
	*out = (uint8_t)v;
	return true;
}

static bool port_value(struct m5_params *p, const char *key, const char *value)
{
	uint64_t v;

	if (!strcmp(key, "sl"))
		return byte_value(value, 15, &p->sl);
	if (!number(value, strcmp(key, "pkey") ? INT16_MAX : UINT16_MAX, &v))
		return false;
	if (!strcmp(key, "pkey"))
		p->pkey = (uint16_t)v;
	else
		p->gid_index = (int16_t)v;
	return true;
}

static bool mac_value(struct m5_params *p, const char *value)
{
	uint8_t m[6];
	int end = 0;

	p->has_mac = sscanf(value, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &m[0], &m[1], &m[2],
			    &m[3], &m[4], &m[5], &end) == 6 && !value[end] && !(m[0] & 1);
	if (p->has_mac)
		memcpy(p->mac, m, sizeof(p->mac));
	return p->has_mac;
}

/* What a network interface would have. */
static bool interface_value(struct m5_params *p, const char *key, const char *value)
{
	if (!strcmp(key, "mac"))
		return mac_value(p, value);
	if (!strcmp(key, "ip")) {
		p->has_ip = inet_pton(AF_INET, value, p->ip) == 1;
		return p->has_ip;
	}
	p->gid_from = strcmp(value, "auto") ? M5_GID_GIVEN : M5_GID_AUTO;
	return p->gid_from == M5_GID_AUTO || inet_pton(AF_INET6, value, p->gid) == 1;
}

static bool flag(const char *s, bool *out)
{
	uint64_t v;

	if (!number(s, 1, &v))
		return false;
	*out = v;
	return true;
}

static bool mmio_value(const char *s, enum m5_mmio *out)
{
	for (enum m5_mmio mode = M5_MMIO_AUTO; mode <= M5_MMIO_MEASURE; mode++) {
		if (strcmp(s, m5_mmio_name(mode)))
			continue;
		*out = mode;
		return true;
	}
	return false;
}

static bool word(const char *s, const char *expected, bool *out)
{
	if (strcmp(s, expected))
		return false;
	*out = true;
	return true;
}

static bool take(struct m5_params *p, const char *key, const char *value)
{
	uint64_t v;

	if (!strcmp(key, "rnr_retry"))
		return byte_value(value, 7, &p->rnr_retry);
	if (!strcmp(key, "retry_cnt"))
		return byte_value(value, 7, &p->retry_cnt);
	if (!strcmp(key, "ack_timeout"))
		return byte_value(value, 31, &p->ack_timeout);
	if (!strcmp(key, "min_rnr"))
		return byte_value(value, 31, &p->min_rnr);
	if (!strcmp(key, "bf_eps"))
		return byte_value(value, 255, &p->bf_eps);
	if (!strcmp(key, "mmio"))
		return mmio_value(value, &p->mmio);
	if (!strcmp(key, "inline")) {
		if (!number(value, 220, &v))
			return false;
		p->inline_max = (uint16_t)v;
		return true;
	}
	if (!strcmp(key, "sl") || !strcmp(key, "pkey") || !strcmp(key, "gid_index"))
		return port_value(p, key, value);
	if (!strcmp(key, "ip") || !strcmp(key, "mac") || !strcmp(key, "gid"))
		return interface_value(p, key, value);
	if (!strcmp(key, "seed"))
		return number(value, UINT64_MAX, &p->seed);
	if (!strcmp(key, "eal"))
		return flag(value, &p->eal);
	if (!strcmp(key, "scatter_cqe"))
		return byte_value(value, M5_SCATTER_READS_TOO, &p->scatter_cqe);
	if (!strcmp(key, "strict"))
		return flag(value, &p->strict);
	if (!strcmp(key, "adversarial"))
		return flag(value, &p->adversarial);
	if (!strcmp(key, "memlock"))
		return word(value, "strict", &p->memlock);
	if (!strcmp(key, "variant"))
		return word(value, "silicon", &p->silicon);
	if (!strcmp(key, "isa"))
		return word(value, "base", &p->base);
	if (!strcmp(key, "fault"))
		return (size_t)snprintf(p->fault, sizeof(p->fault), "%s", value) <
		       sizeof(p->fault);
	return true;
}

/* Commas separate keys as well, but belong to the script that follows fault=. */
static void commas(char *s)
{
	bool fault = false;

	for (bool start = true; *s; s++) {
		if (start)
			fault = !strncmp(s, "fault=", 6);
		if (*s == ',' && !fault)
			*s = ' ';
		start = strchr(" \t;", *s) != NULL;
	}
}

int m5_params_parse(const char *params, struct m5_params *p, char *why, size_t whylen)
{
	char copy[512], *save = NULL;

	*p = defaults;
	if (!params)
		return 0;
	if ((size_t)snprintf(copy, sizeof(copy), "%s", params) >= sizeof(copy)) {
		snprintf(why, whylen, "ia_params are longer than %zu bytes", sizeof(copy) - 1);
		return -EINVAL;
	}
	commas(copy);
	for (char *tok = strtok_r(copy, " \t;", &save); tok; tok = strtok_r(NULL, " \t;", &save)) {
		char *eq = strchr(tok, '=');

		if (eq)
			*eq++ = 0;
		if (!take(p, tok, eq ? eq : "")) {
			snprintf(why, whylen, "ia_params: \"%s\" is no value of %s", eq ? eq : "",
				 tok);
			return -EINVAL;
		}
	}
	return 0;
}
