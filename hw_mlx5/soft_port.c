/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The facts of the port, which a kernel would have read for us. */
#include <errno.h>
#include <string.h>

#include "hw_mlx5/m5_cmd.h"
#include "hw_mlx5/m5_ctl_read.h"
#include "hw_mlx5/m5_ctl_soft.h"

#define GIDS 16u			/* entries of the GID table that are looked at */
#define ROCE_HEADERS 86u		/* IPv6, UDP, BTH, RETH and ICRC around a payload */

static int gid_read(struct m5_ctl *ctl, unsigned int index, struct m5_query_roce_address_out *out)
{
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_QUERY_ROCE_ADDRESS),
				.number = cpu_to_be32(index << 16) };

	memset(out, 0, sizeof(*out));
	return soft_cmd(ctl, &in, sizeof(in), out, sizeof(*out));
}

static void port_address(struct m5_port *port, unsigned int index,
			 const struct m5_query_roce_address_out *a)
{
	port->gid_index = (uint16_t)index;
	memcpy(port->gid, a->gid, sizeof(port->gid));
	m5_roce_mac(a, port->mac);
	if (m5_gid_is_ipv4(a->gid))
		memcpy(port->ipv4, a->gid + 12, 4);
}

/* The first RoCE v2 address; one that holds an IPv4 address is preferred. */
static int port_gid(struct m5_ctl *ctl, struct m5_port *port)
{
	bool found = false;

	for (unsigned int i = 0; i < GIDS; i++) {
		struct m5_query_roce_address_out a;
		bool v4;
		int err = gid_read(ctl, i, &a);

		if (err == -EREMOTEIO)
			break;
		if (err)
			return err;
		v4 = m5_gid_is_ipv4(a.gid);
		if ((be32_to_cpu(a.version) & 0xff) != M5_ROCE_V2 || (found && !v4))
			continue;
		port_address(port, i, &a);
		found = true;
		if (v4)
			break;
	}
	return found ? 0 : -ENETDOWN;
}

static int port_mtu(struct m5_ctl *ctl, struct m5_port *port)
{
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_QUERY_NIC_VPORT_CONTEXT) };
	struct m5_query_nic_vport_out out = { 0 };
	int err = soft_cmd(ctl, &in, sizeof(in), &out, sizeof(out));
	uint32_t room;

	if (err)
		return m5_cmd_error(err, &in, &out);
	room = be32_to_cpu(out.mtu) & 0xffff;
	room = room > ROCE_HEADERS ? room - ROCE_HEADERS : 0;
	port->mtu = 256;
	while (port->mtu < 4096 && port->mtu * 2u <= room)
		port->mtu = (uint16_t)(port->mtu * 2u);
	return 0;
}

static int port_state(struct m5_ctl *ctl, struct m5_port *port)
{
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_QUERY_VPORT_STATE) };
	struct m5_obj_out out = { 0 };
	int err = soft_cmd(ctl, &in, sizeof(in), &out, sizeof(out));

	if (err)
		return m5_cmd_error(err, &in, &out);
	port->up = (be32_to_cpu(out.rsvd) & 0xf) == 1;
	return 0;
}

int soft_port(struct m5_ctl *ctl, struct m5_port *port)
{
	struct m5_port p = { .ethernet = true, .port_num = 1 };
	int err = port_state(ctl, &p);

	if (!err)
		err = port_mtu(ctl, &p);
	if (!err)
		err = port_gid(ctl, &p);
	if (!err)
		*port = p;
	return err;
}
