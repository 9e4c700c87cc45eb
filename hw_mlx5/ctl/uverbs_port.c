/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The port as reported by the kernel: state, MTU, and the fields of an address vector. */
#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/dap.h"
#include "hw_mlx5/ctl/read.h"
#include "hw_mlx5/ctl/uverbs.h"

#define HOP_NS 1000000000u	/* the kernel itself caches a neighbour for longer */

/* Preference of a GID table entry, in ascending order. */
enum preference { UNUSABLE, LINK_LOCAL, GLOBAL, IPV4, GIVEN };

static enum preference prefer(const struct m5_params *params, const struct ibv_gid_entry *e)
{
	uint8_t given[16];

	if (e->gid_type != IBV_GID_TYPE_ROCE_V2)
		return UNUSABLE;
	m5_gid_of_ip(&params->ip, given);
	if (params->has_ip && !memcmp(e->gid.raw, given, sizeof(given)))
		return GIVEN;
	if (m5_gid_is_ipv4(e->gid.raw))
		return IPV4;
	return e->gid.raw[0] == 0xfe && e->gid.raw[1] == 0x80 ? LINK_LOCAL : GLOBAL;
}

/* Chooses the entry of gid_index, that of ip, or the best one; -ENETDOWN if there is none. */
static int gid_choose(struct m5_ctl_uverbs *u, int entries, struct ibv_gid_entry *best)
{
	enum preference found = UNUSABLE, best_possible = u->dv.params.has_ip ? GIVEN : IPV4;

	for (int i = 0; i < entries && found < best_possible; i++) {
		struct ibv_gid_entry e;
		enum preference p;

		if (u->dv.params.gid_index >= 0 && i != u->dv.params.gid_index)
			continue;
		if (ibv_query_gid_ex(u->dv.ctx, u->port_num, (uint32_t)i, &e, 0))
			continue;
		p = prefer(&u->dv.params, &e);
		if (p > found) {
			*best = e;
			found = p;
		}
	}
	return found == UNUSABLE ? -ENETDOWN : 0;
}

/*
 * Reads the MAC of a table entry from the device; with several ports, from the table of the port.
 * Peers use it only if their kernel knows no next hop. Firmware may refuse the command to a user
 * context: then the MAC stays 0.
 */
static void mac_read(struct m5_ctl *ctl, uint32_t index, uint8_t mac[6])
{
	struct ibv_device_attr attr = { .phys_port_cnt = 1 };
	uint32_t port = ibv_query_device(dv_of(ctl)->ctx, &attr) || attr.phys_port_cnt < 2
				? 0 : uv_of(ctl)->port_num;
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_QUERY_ROCE_ADDRESS),
				.number = cpu_to_be32(index << 16 | port) };
	struct m5_query_roce_address_out out = { 0 };
	int err = dv_cmd(ctl, &in, sizeof(in), &out, sizeof(out));

	if (err)
		dap_log(DAP_LOG_EP, "%s refused QUERY_ROCE_ADDRESS (status 0x%x)",
			dv_of(ctl)->ctx->device->name, out.hdr.status);
	else
		m5_mac(be16_to_cpu(out.addr.mac_hi), be32_to_cpu(out.addr.mac_lo), mac);
}

static int port_roce(struct m5_ctl *ctl, int entries, struct m5_port *port)
{
	struct ibv_gid_entry gid;
	int err = gid_choose(uv_of(ctl), entries, &gid);

	if (err)
		return err;
	port->gid_index = (uint16_t)gid.gid_index;
	uv_of(ctl)->gid_index = (uint8_t)gid.gid_index;
	memcpy(port->gid, gid.gid.raw, sizeof(port->gid));
	if (m5_gid_is_ipv4(gid.gid.raw) && !uv_of(ctl)->dv.params.has_ip)
		memcpy(port->ipv4, gid.gid.raw + 12, sizeof(port->ipv4));
	mac_read(ctl, gid.gid_index, port->mac);
	return 0;
}

/*
 * IBTA 10.9.1.1: the partition is given by number; its index in the table depends on the port. A port can be
 * a full and a limited member. Linux prefers the full membership (ib_find_pkey), because limited members do
 * not reach each other (IBTA 9.6.1.1).
 */
static int pkey_find(struct m5_ctl_uverbs *u, int entries, uint16_t *index)
{
	int err = -ENETUNREACH;
	bool full = false;

	for (int i = 0; i < entries && !full; i++) {
		__be16 pkey;

		if (ibv_query_pkey(u->dv.ctx, u->port_num, i, &pkey))
			break;
		if ((be16toh(pkey) & 0x7fff) != (u->dv.params.pkey & 0x7fff))
			continue;
		full = be16toh(pkey) & 0x8000;
		if (err || full)
			*index = (uint16_t)i;
		err = 0;
	}
	return err;
}

static int port_infiniband(struct m5_ctl_uverbs *u, const struct ibv_port_attr *attr,
			   struct m5_port *port)
{
	union ibv_gid gid;

	port->lid = attr->lid;
	port->grh = attr->flags & IBV_QPF_GRH_REQUIRED;
	if (!ibv_query_gid(u->dv.ctx, u->port_num, 0, &gid))
		memcpy(port->gid, gid.raw, sizeof(port->gid));
	return pkey_find(u, attr->pkey_tbl_len, &port->pkey_index);
}

int uv_port_facts(struct m5_ctl_uverbs *u, struct m5_port *port)
{
	struct m5_port p = { .port_num = u->port_num };
	struct ibv_port_attr attr = { 0 };
	int err = hw_error(ibv_query_port(u->dv.ctx, u->port_num, &attr));

	if (err)
		return err;
	p.up = attr.state == IBV_PORT_ACTIVE;
	p.ethernet = attr.link_layer == IBV_LINK_LAYER_ETHERNET;
	p.mtu = (uint16_t)(128u << attr.active_mtu);
	if (!dap_addr_is_v6(&u->dv.params.ip))
		memcpy(p.ipv4, &u->dv.params.ip.v4.sin_addr, sizeof(p.ipv4));
	err = p.ethernet ? port_roce(&u->dv.ctl, attr.gid_tbl_len, &p) : port_infiniband(u, &attr, &p);
	if (!err)
		*port = p;
	return err;
}

/* Lets the kernel resolve the next hop, as for an address handle (neighbour discovery, routes). */
static int hop_ask(struct m5_ctl_uverbs *u, void *pd_priv, const uint8_t gid[16], uint8_t mac[6])
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = u->port_num,
		.grh = { .sgid_index = u->gid_index, .hop_limit = 64 },
	};
	struct mlx5dv_ah dvah = { 0 };
	struct mlx5dv_obj obj = { .ah = { .out = &dvah } };
	int err;

	memcpy(attr.grh.dgid.raw, gid, sizeof(attr.grh.dgid.raw));
	errno = 0;
	obj.ah.in = ibv_create_ah(pd_priv, &attr);
	if (!obj.ah.in)
		return hw_errno();
	err = hw_error(mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH));
	if (!err)
		memcpy(mac, dvah.av->rmac, 6);
	ibv_destroy_ah(obj.ah.in);
	return err;
}

static bool hop_known(struct m5_ctl_uverbs *u, const uint8_t gid[16], uint8_t mac[6])
{
	bool known;

	pthread_mutex_lock(&u->hop_lock);
	known = dap_now_ns() < u->hop.until && u->hop.gid_index == u->gid_index &&
		!memcmp(u->hop.gid, gid, sizeof(u->hop.gid));
	if (known)
		memcpy(mac, u->hop.mac, sizeof(u->hop.mac));
	pthread_mutex_unlock(&u->hop_lock);
	return known;
}

static void hop_keep(struct m5_ctl_uverbs *u, const uint8_t gid[16], const uint8_t mac[6])
{
	struct uv_hop hop = { .gid_index = u->gid_index, .until = dap_now_ns() + HOP_NS };

	memcpy(hop.gid, gid, sizeof(hop.gid));
	memcpy(hop.mac, mac, sizeof(hop.mac));
	pthread_mutex_lock(&u->hop_lock);
	u->hop = hop;
	pthread_mutex_unlock(&u->hop_lock);
}

/* Cached, because many connections to one peer are often made at once, and each lookup costs two
 * system calls. */
int uv_next_hop(struct m5_ctl *ctl, void *pd_priv, const uint8_t gid[16], uint8_t mac[6])
{
	struct m5_ctl_uverbs *u = uv_of(ctl);
	int err;

	if (hop_known(u, gid, mac))
		return 0;
	err = hop_ask(u, pd_priv, gid, mac);
	if (!err)
		hop_keep(u, gid, mac);
	return err;
}

int uv_port(struct m5_ctl *ctl, struct m5_port *port)
{
	int err = uv_port_facts(uv_of(ctl), port);

	return err == -ENETDOWN || err == -ENETUNREACH ? err : hw_error(err);
}
