/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Port queries by command, for accesses without a kernel. */
#include "hw_mlx5/cmd.h"
#include "hw_mlx5/ctl/read.h"

#define ROCE_HEADERS 86u		/* IPv6, UDP, BTH, RETH and ICRC around a payload */
#define ETHERNET_HEADERS 22u		/* Ethernet, VLAN tag and FCS (Linux, MLX5E_ETH_HARD_MTU) */

/* Returns the largest path MTU (IBTA 9.7.1) that an Ethernet frame holds. */
static uint16_t path_mtu(uint32_t frame)
{
	const uint32_t headers = ETHERNET_HEADERS + ROCE_HEADERS;
	uint32_t room = frame > headers ? frame - headers : 0;
	uint16_t mtu = 256;

	while (mtu < 4096 && mtu * 2u <= room)
		mtu = (uint16_t)(mtu * 2u);
	return mtu;
}

/* Returns the longest frame of the port; 0 if the device does not say. */
static uint32_t port_frame(struct m5_ctl *ctl)
{
	struct m5_pmtu in = {
		.hdr.opcode = cpu_to_be16(M5_CMD_ACCESS_REG),
		.hdr.op_mod = cpu_to_be16(M5_REG_READ),
		.reg = cpu_to_be32(M5_REG_PMTU),
		.port = cpu_to_be32(1u << 16),
	}, out = { 0 };

	return m5_cmd(ctl, &in, sizeof(in), &out, sizeof(out)) ? 0 : be32_to_cpu(out.oper_mtu) >> 16;
}

/* As Linux does (mlx5e_query_mtu), a vport without an MTU gets that of the port. */
int m5_port_vport(struct m5_ctl *ctl, uint16_t *mtu, uint8_t mac[6])
{
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_QUERY_NIC_VPORT_CONTEXT) };
	struct m5_query_nic_vport_out out = { 0 };
	int err = m5_cmd(ctl, &in, sizeof(in), &out, sizeof(out));
	uint32_t frame;

	if (err)
		return err;
	frame = be32_to_cpu(out.mtu) & 0xffff;
	*mtu = path_mtu(frame ? frame : port_frame(ctl));
	m5_mac(be16_to_cpu(out.mac_hi), be32_to_cpu(out.mac_lo), mac);
	return 0;
}

int m5_port_state(struct m5_ctl *ctl, bool *up)
{
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_QUERY_VPORT_STATE) };
	struct m5_obj_out out = { 0 };
	int err = m5_cmd(ctl, &in, sizeof(in), &out, sizeof(out));

	if (!err)
		*up = (be32_to_cpu(out.rsvd) & 0xf) == 1;
	return err;
}
