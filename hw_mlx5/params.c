/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "hw_common/address.h"
#include "hw_common/soft.h"
#include "hw_mlx5/params.h"

static int read_ip(const char *value, void *out, char *why, size_t whylen)
{
	struct m5_params *p = out;
	int err = strcmp(value, "auto") ? hw_address_parse(value, &p->ip, why, whylen) :
					  hw_address_auto(&p->ip, why, whylen);

	p->has_ip = !err;
	return err ? -EINVAL : 0;
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
static const char *const base[] = { "base", NULL };

#define AT(field) DAP_PARAM_AT(struct m5_params, field)
#define NUMBER(name, max, value, field) \
	.key = name, .most = max, .otherwise = value, AT(field)
#define CHOICE(name, list, first, field) \
	.key = name, .type = DAP_PARAM_CHOICE, .words = list, .least = first, AT(field)
#define QOS(name, max, left, field) \
	.key = name, .type = DAP_PARAM_QOS, .most = max, .shift = left, AT(field)
#define OWN(name, reader, what) \
	.key = name, .type = DAP_PARAM_OWN, .read = reader, .must = what

/*
 * RNR retries repeat forever: DAT sets no time within which a receive must be posted, and the
 * connection manager detects a dead peer. The ACK timeout of 268 ms, eight times, outlasts a
 * descheduled peer, but not a dead one. RNR retries are 0.64 ms apart.
 */
const struct dap_param m5_param_table[] = {
	{ NUMBER("rnr_retry", 7, 7, rnr_retry), .unit = "retries",
	  .meaning = "how often a send that finds no receive is repeated; 7: for ever" },
	{ NUMBER("retry_cnt", 7, 7, retry_cnt), .unit = "retries",
	  .meaning = "how often a request that is not acknowledged is retransmitted" },
	{ NUMBER("ack_timeout", 31, 16, ack_timeout), .unit = "4.096 microseconds * 2^n",
	  .meaning = "time to wait for an acknowledgement (16: 268 ms); 0: for ever" },
	{ NUMBER("min_rnr", 31, 12, min_rnr), .unit = "IBTA code",
	  .meaning = "pause that a peer makes between its RNR retries (12: 0.64 ms)" },
	{ NUMBER("inline", 220, 188, inline_max), .unit = "bytes",
	  .meaning = "largest send or write that is copied into its WQE" },
	{ NUMBER("bf_eps", 255, 8, bf_eps), .unit = "Endpoints",
	  .meaning = "how many Endpoints of an instance own a BlueFlame register" },
	{ CHOICE("mmio", mmio, M5_MMIO_AUTO, mmio),
	  .meaning = "how an Endpoint writes to its BlueFlame register; auto: blueflame" },
	{ NUMBER("scatter_cqe", M5_SCATTER_READS_TOO, M5_SCATTER_NONE, scatter_cqe),
	  .meaning = "data of up to 32 bytes in the CQE; 1: of receives, 2: of RDMA reads, too" },
	{ NUMBER("eal", 1, WITH_DPDK, eal),
	  .meaning = "1: queues lie in the heap of the program's DPDK" },
	{ CHOICE("isa", base, true, base), .without = "the newest that the processor supports",
	  .meaning = "base: hot functions that any x86-64 processor can run" },
	{ QOS("tclass", 255, 0, tclass), .unit = "IP traffic class",
	  .meaning = "traffic class of packets; the adapter sets its two ECN bits" },
	{ QOS("dscp", 63, 2, tclass), .unit = "DSCP",
	  .meaning = "DSCP of packets: sets a traffic class of four times this value" },
	{ QOS("sl", 15, 0, sl),
	  .meaning = "service level; on Ethernet the priority of frames, at most 7" },
	{ NUMBER("gid_index", UINT8_MAX, (uint64_t)-1, gid_index), .unit = "GID table index",
	  .without = "the first RoCE v2 GID with an IPv4 address",
	  .meaning = "GID of a port; behind VFIO, gid or ip sets it" },
	{ NUMBER("pkey", UINT16_MAX, 0xffff, pkey),
	  .meaning = "partition key of an InfiniBand port; 65535: the default partition" },
	{ OWN("ip", read_ip, "auto, or an IPv4 or IPv6 address"),
	  .without = "the address in the GID; 127.0.0.1 for a software adapter",
	  .meaning = "address by which peers reach the adapter; auto: that of the default route" },
	{ OWN("mac", read_mac, "six hexadecimal bytes with colons, not a multicast address"),
	  .without = "the MAC address of the device",
	  .meaning = "MAC address of a device behind VFIO" },
	{ OWN("gid", read_gid, "auto or an IPv6 address"), .without = "made from ip",
	  .meaning = "GID of a device behind VFIO; auto: the link-local GID of its MAC address" },
	{ CHOICE("memlock", strict, true, memlock), .without = "not strict",
	  .meaning = "software adapter, strict: enforce the limit of locked memory" },
	{ .key = "pcap", .type = DAP_PARAM_TEXT, AT(pcap), .without = "no capture",
	  .meaning = "software adapter: new file to which it writes its packets, for tcpdump or tshark" },
	HW_SOFT_PARAMS(struct m5_params),
	{ .key = NULL },
};

int m5_params_parse(const char *params, struct m5_params *p, char *why, size_t whylen)
{
	struct m5_params given = { 0 };
	const char *at;
	int err;

	*p = (struct m5_params){ 0 };
	err = dap_params_parse(params, m5_param_table, p, why, whylen);
	if (!err)
		err = dap_params_words(params, m5_param_table, &given, &at, why, whylen);
	memcpy(p->sl_given, given.sl, sizeof(p->sl_given));
	return err;
}
