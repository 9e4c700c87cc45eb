/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Device data that several accesses decode: events, addresses and model. */
#include <stdio.h>
#include <string.h>

#include "hw_mlx5/ctl/read.h"

void m5_eqe_event(const struct m5_eqe *e, struct m5_event *ev)
{
	struct m5_event out = { .kind = M5_EVENT_QP, .type = e->type, .sub_type = e->sub_type,
				.number = be32_to_cpu(e->data[6]) & 0xffffff };

	switch (e->type) {
	case M5_EV_CQ_ERROR:
		out.kind = M5_EVENT_CQ_ERROR;
		out.number = be32_to_cpu(e->data[0]) & 0xffffff;
		break;
	case M5_EV_INTERNAL_ERROR:
		out.kind = M5_EVENT_FATAL;
		break;
	case M5_EV_PORT_CHANGE:
		out.kind = M5_EVENT_PORT;
		out.number = be32_to_cpu(e->data[2]) >> 28;
		break;
	case M5_EV_SRQ_CATASTROPHIC:
		out.kind = M5_EVENT_SRQ_ERROR;
		break;
	case M5_EV_SRQ_LIMIT:
		out.kind = M5_EVENT_SRQ_LIMIT;
		break;
	}
	*ev = out;
}

void m5_mac(uint16_t hi, uint32_t lo, uint8_t mac[6])
{
	mac[0] = (uint8_t)(hi >> 8);
	mac[1] = (uint8_t)hi;
	for (int i = 0; i < 4; i++)
		mac[2 + i] = (uint8_t)(lo >> (24 - 8 * i));
}

void m5_model(uint32_t part, struct m5_ident *ident)
{
	static const struct {
		uint32_t part;
		const char *model;
	} models[] = {
		{ 0x1013, "ConnectX-4" }, { 0x1015, "ConnectX-4 Lx" }, { 0x1017, "ConnectX-5" },
		{ 0x1019, "ConnectX-5 Ex" }, { 0x101b, "ConnectX-6" }, { 0x101d, "ConnectX-6 Dx" },
		{ 0x101f, "ConnectX-6 Lx" }, { 0x1021, "ConnectX-7" }, { 0x1023, "ConnectX-8" },
		{ 0xa2d2, "BlueField" }, { 0xa2d6, "BlueField-2" }, { 0xa2dc, "BlueField-3" },
	};

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (models[i].part == part)
			snprintf(ident->model, sizeof(ident->model), "%s", models[i].model);
}

void m5_gid_of_ip(const union dap_addr *ip, uint8_t gid[16])
{
	const uint8_t mapped[12] = { [10] = 0xff, 0xff };

	if (dap_addr_is_v6(ip)) {
		memcpy(gid, &ip->v6.sin6_addr, 16);
		return;
	}
	memcpy(gid, mapped, sizeof(mapped));
	memcpy(gid + 12, &ip->v4.sin_addr, 4);
}

void m5_gid_of_mac(const uint8_t mac[6], uint8_t gid[16])
{
	const uint8_t made[16] = { 0xfe, 0x80, [8] = mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe,
				   mac[3], mac[4], mac[5] };

	memcpy(gid, made, sizeof(made));
}

bool m5_gid_is_ipv4(const uint8_t gid[16])
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid, prefix, sizeof(prefix));
}
