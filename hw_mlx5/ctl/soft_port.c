/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Port attributes, which otherwise the kernel reads. */
#include <errno.h>
#include <string.h>

#include "hw_mlx5/ctl/read.h"
#include "hw_mlx5/ctl/soft.h"
#include "softnic/softnic.h"

#define GIDS 16u			/* entries of the GID table to check */

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
	memcpy(port->gid, a->addr.gid, sizeof(port->gid));
	m5_mac(be16_to_cpu(a->addr.mac_hi), be32_to_cpu(a->addr.mac_lo), port->mac);
	if (m5_gid_is_ipv4(a->addr.gid))
		memcpy(port->ipv4, a->addr.gid + 12, 4);
}

/* Returns the entry of gid_index, or the first RoCE v2 address; one that holds an IPv4 address is
 * preferred. */
static int port_gid(struct m5_ctl *ctl, struct m5_port *port)
{
	int wanted = soft_of(ctl)->params.gid_index;
	bool found = false;

	for (unsigned int i = 0; i < GIDS; i++) {
		struct m5_query_roce_address_out a;
		bool v4;
		int err;

		if (wanted >= 0 && (int)i != wanted)
			continue;
		err = gid_read(ctl, i, &a);
		if (err == -EREMOTEIO)
			break;
		if (err)
			return err;
		v4 = m5_gid_is_ipv4(a.addr.gid);
		if ((be32_to_cpu(a.addr.version) & 0xff) != M5_ROCE_V2 || (found && !v4))
			continue;
		port_address(port, i, &a);
		found = true;
		if (v4)
			break;
	}
	return found ? 0 : -ENETDOWN;
}

int soft_port(struct m5_ctl *ctl, struct m5_port *port)
{
	struct m5_port p = { .ethernet = true, .port_num = 1 };
	uint8_t mac[6];
	int err = m5_port_state(ctl, &p.up);

	if (!err)
		err = m5_port_vport(ctl, &p.mtu, mac);
	if (!err)
		err = port_gid(ctl, &p);
	if (err)
		return err;
	p.udp_port = softnic_udp(ctl->soft, &p.udp_mtu);
	if (p.udp_port)
		m5_gid_of_ip(&soft_of(ctl)->params.ip, p.udp_gid);
	*port = p;
	return 0;
}

int soft_is_local(struct m5_ctl *ctl, const uint8_t mac[6], uint8_t gid[16])
{
	m5_gid_of_mac(mac, gid);
	return softnic_is_local(ctl->soft, gid);
}
