/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * The port of a device through VFIO. There is no network interface: the address comes from
 * ia_params, and commands write it into the device's table of RoCE addresses.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/dap.h"
#include "hw_mlx5/ctl/vfio.h"

static int address(const struct m5_ctl_vfio *v, struct m5_port *port, char *why, size_t whylen)
{
	const struct m5_params *p = &v->dv.params;

	if (p->gid_from == M5_GID_AUTO) {
		m5_gid_of_mac(port->mac, port->gid);
	} else if (p->gid_from == M5_GID_GIVEN) {
		memcpy(port->gid, p->gid, sizeof(port->gid));
	} else if (p->has_ip) {
		m5_gid_of_ip(&p->ip, port->gid);
	} else {
		snprintf(why, whylen, "ia_params lack ip=: %s has no network interface with an address. "
			 "Set ip= to its address, or gid=auto if all peers are in one Ethernet",
			 v->dev->pci);
		return -EINVAL;
	}
	if (!dap_addr_is_v6(&p->ip))
		memcpy(port->ipv4, &p->ip.v4.sin_addr, sizeof(port->ipv4));
	return 0;
}

/* Returns the device's own MAC, unless ia_params give another. */
static int choose_mac(struct m5_ctl_vfio *v, struct m5_port *port, char *why, size_t whylen)
{
	static const uint8_t none[6];
	int err = m5_port_vport(&v->dv.ctl, &port->mtu, port->mac);

	if (v->dv.params.has_mac)
		memcpy(port->mac, v->dv.params.mac, sizeof(port->mac));
	if (!err && memcmp(port->mac, none, sizeof(none)))
		return 0;
	if (err)
		snprintf(why, whylen, "cannot query MTU and MAC of %s: %s", v->dev->pci, strerror(-err));
	else
		snprintf(why, whylen, "%s reports no MAC address: set mac= in ia_params", v->dev->pci);
	return err ? err : -EINVAL;
}

static uint16_t index_of(const struct vf_device *d, const struct vf_gid *gid)
{
	return (uint16_t)(gid - d->gids);
}

static int table_set(struct m5_ctl_vfio *v, const struct vf_gid *gid, const struct m5_roce_address *a)
{
	struct m5_set_roce_address_in in = {
		.hdr.opcode = cpu_to_be16(M5_CMD_SET_ROCE_ADDRESS),
		.index = cpu_to_be32((uint32_t)index_of(v->dev, gid) << 16),
		.addr = *a,
	};
	struct m5_obj_out out = { 0 };

	return m5_cmd(&v->dv.ctl, &in, sizeof(in), &out, sizeof(out));
}

/* Returns the entry that already has this address, or the first free one; NULL: there is none. */
static struct vf_gid *table_find(struct vf_device *d, const struct m5_roce_address *a)
{
	struct vf_gid *empty = NULL;

	for (struct vf_gid *gid = d->gids; gid < d->gids + VF_GIDS; gid++) {
		if (gid->users && !memcmp(&gid->addr, a, sizeof(*a)))
			return gid;
		if (!gid->users && !empty)
			empty = gid;
	}
	return empty;
}

static int table_enter(struct m5_ctl_vfio *v, struct m5_port *port)
{
	const struct m5_roce_address a = {
		.version = cpu_to_be32((m5_gid_is_ipv4(port->gid) ? M5_ROCE_L3_IPV4 << 8
								  : M5_ROCE_L3_IPV6 << 8) |
				       M5_ROCE_V2),
		.mac_hi = cpu_to_be16((uint16_t)(port->mac[0] << 8 | port->mac[1])),
		.mac_lo = cpu_to_be32((uint32_t)port->mac[2] << 24 | (uint32_t)port->mac[3] << 16 |
				      (uint32_t)port->mac[4] << 8 | port->mac[5]),
	};
	struct m5_roce_address entry = a;
	struct vf_device *d = v->dev;
	struct vf_gid *gid;
	int err = -ENOSPC;

	memcpy(entry.gid, port->gid, sizeof(entry.gid));
	pthread_mutex_lock(&d->gid_lock);
	gid = table_find(d, &entry);
	if (gid)
		err = table_set(v, gid, &entry);
	if (!err) {
		gid->addr = entry;
		gid->users++;
		port->gid_index = index_of(d, gid);
		v->gid = gid;
	}
	pthread_mutex_unlock(&d->gid_lock);
	return err;
}

/* The last IA closes the device, which forgets all addresses. */
void vf_port_close(struct m5_ctl_vfio *v)
{
	static const struct m5_roce_address none;
	struct vf_device *d = v->dev;

	if (!v->gid)
		return;
	pthread_mutex_lock(&d->gid_lock);
	if (!--v->gid->users && d->users > 1 && !__atomic_load_n(&d->watch.dead, __ATOMIC_SEQ_CST))
		table_set(v, v->gid, &none);
	pthread_mutex_unlock(&d->gid_lock);
	v->gid = NULL;
}

/* mlx5_core leaves an Ethernet port administratively down, and INIT_HCA does not enable it on every
 * device. */
static void port_raise(struct m5_ctl_vfio *v)
{
	struct m5_paos in = {
		.hdr.opcode = cpu_to_be16(M5_CMD_ACCESS_REG),
		.reg = cpu_to_be32(M5_REG_PAOS),
		.status = cpu_to_be32(1u << 16 | M5_PAOS_UP << 8),
		.select = cpu_to_be32(1u << 31),
	}, out = { 0 };

	m5_cmd(&v->dv.ctl, &in, sizeof(in), &out, sizeof(out));
}

/* A link trains for seconds after the device has booted. */
static int port_wait(struct m5_ctl_vfio *v, bool *up)
{
	uint64_t start = dap_now_ms();
	bool logged = false;
	int err = m5_port_state(&v->dv.ctl, up);

	if (!err && !*up)
		port_raise(v);
	while (!err && !*up && dap_now_ms() - start < VF_LINK_MS) {
		if (!logged && dap_now_ms() - start >= VF_LINK_SAY_MS) {
			dap_log(DAP_LOG_ERR, "%s: the link is down; waiting up to %u s for it", v->dev->pci,
				VF_LINK_MS / 1000);
			logged = true;
		}
		poll(NULL, 0, VF_LINK_LOOK_MS);
		err = m5_port_state(&v->dv.ctl, up);
	}
	return err;
}

int vf_port_open(struct m5_ctl_vfio *v, char *why, size_t whylen)
{
	struct m5_port port = { .ethernet = true, .port_num = 1 };
	int err = choose_mac(v, &port, why, whylen);

	if (!err)
		err = address(v, &port, why, whylen);
	if (err)
		return err;
	err = table_enter(v, &port);
	if (!err)
		err = port_wait(v, &port.up);
	if (err == -ENOSPC) {
		snprintf(why, whylen, "%s has %u other addresses: give IAs of one adapter the same ip=, gid= "
			 "and mac=", v->dev->pci, VF_GIDS);
	} else if (err) {
		snprintf(why, whylen, "cannot set the address of %s: %s", v->dev->pci,
			 strerror(-err));
	} else if (!port.up) {
		snprintf(why, whylen, "the port of %s is down: connect its cable (waited for %u s)",
			 v->dev->pci, VF_LINK_MS / 1000);
		err = -EIO;
	}
	if (!err)
		v->port = port;
	return err;
}

int vf_port(struct m5_ctl *ctl, struct m5_port *port)
{
	struct m5_port p = vf_of(ctl)->port;
	uint8_t own[6];
	int err = m5_port_state(ctl, &p.up);

	if (!err)
		err = m5_port_vport(ctl, &p.mtu, own);
	if (!err)
		*port = p;
	return err;
}
