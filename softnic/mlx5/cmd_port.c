/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ports: addresses and state. PRM "RoCE address", "NIC vport context", "vport state", "HCA vport
 * context". Port number 0 means the only port of a device.
 */
#include <errno.h>

#include "softnic/bytes.h"
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"
#include "softnic/mlx5/quirk.h"

/* NIC vport context, at AT_CTX of the query and 0x100 of the modification */
#define NVC_ROCE_EN	SN_FLD(0x1f, 1)
#define NVC_MTU		SN_FLD(0x130, 16)
enum { NVC_SYS_GUID = 0x28, NVC_PORT_GUID = 0x30, NVC_NODE_GUID = 0x38, NVC_MAC = 0xf6 };
enum { NVC_MODIFY_AT = 0x100 };
#define SELECT_ROCE_EN	SN_FLD(0x7e, 1)
/* VPORT_STATE */
#define VPORT_SPEED	SN_FLD(0x60, 16)
#define VPORT_ADMIN	SN_FLD(0x78, 4)
#define VPORT_STATE	SN_FLD(0x7c, 4)

/* HCA vport context */
#define HVC_PHYS_STATE	SN_FLD(0x110, 4)
#define HVC_PORT_STATE	SN_FLD(0x118, 4)
#define HVC_VPORT_STATE	SN_FLD(0x11c, 4)
#define HVC_LID		SN_FLD(0x300, 16)
#define HVC_SM_LID	SN_FLD(0x320, 16)
/* MAD_IFC */
#define MAD_PORT	SN_FLD(0x58, 8)
#define MAD_ATTRIBUTE	SN_FLD(0x100, 16)
enum { HVC_SYS_GUID = 0x28, HVC_PORT_GUID = 0x30, HVC_NODE_GUID = 0x38 };

static struct sn_port *find_port(struct sn_cmd *c, struct sn_fld number)
{
	uint32_t n = sn_get(c->in, number);

	return n <= c->nic->ports ? &c->nic->port[n ? n - 1 : 0] : NULL;
}

static struct sn_gid *find_gid(struct sn_cmd *c)
{
	struct sn_port *port = find_port(c, ROCE_PORT);
	uint32_t i = sn_get(c->in, ROCE_INDEX);

	return port && !c->nic->infiniband && i < SN_GIDS ? &port->gid[i] : NULL;
}

uint8_t sn_cmd_query_roce(struct sn_cmd *c)
{
	const struct sn_gid *g = find_gid(c);
	uint8_t *ctx = c->out + AT_CTX;

	if (!g)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "roce_address_index");
	if (!g->valid)
		return STAT_OK;
	memcpy(ctx + ROCE_GID, g->gid, sizeof(g->gid));
	memcpy(ctx + ROCE_MAC, g->mac, sizeof(g->mac));
	sn_set(ctx, ROCE_L3_TYPE, !sn_is_v4(g->gid));
	sn_set(ctx, ROCE_VERSION, g->version);
	return STAT_OK;
}

/*
 * Sets the port's address on the fabric. A port has one address: the GID set last, or, while none is
 * set, the GID derived from the MAC. If another port has that address already, nothing changes, as in a
 * network. The IP address is reached by UDP and is no address of the fabric. Returns 0 or -errno.
 */
static int answer_to(struct sn_port *port, const struct sn_gid *last)
{
	uint8_t gid[16];
	int err;

	for (uint32_t i = 0; i < SN_GIDS && !last->valid; i++)
		if (port->gid[i].valid)
			last = &port->gid[i];
	if (last->valid && !memcmp(last->gid, port->nic->config.ip, sizeof(last->gid)))
		return 0;
	sn_port_first_gid(port->mac, gid);
	err = sn_fabric_readdress(port, last->valid ? last->gid : gid);
	if (err > 0)
		sn_thread_rewatch(port);
	return err < 0 && err != -EADDRINUSE ? err : 0;
}

/* If the port cannot have the address, the entry stays as it was. */
static uint8_t set_entry(struct sn_cmd *c, struct sn_gid *entry, struct sn_gid new)
{
	const struct sn_gid old = *entry;
	int err;

	*entry = new;
	err = answer_to(find_port(c, ROCE_PORT), entry);
	if (!err)
		return STAT_OK;
	*entry = old;
	return sn_cmd_refuse_errno(c, err);
}

/*
 * A GID of all zeros clears the entry. While roce_en of the vport is 0, there is no table: Linux enables RoCE
 * before it sets addresses (mlx5_enable_eth() of mlx5_ib), and so does libmlx5 behind VFIO.
 */
uint8_t sn_cmd_set_roce(struct sn_cmd *c)
{
	struct sn_gid *g = find_gid(c), new = { 0 };
	const uint8_t *ctx = c->in + AT_CTX;
	uint32_t version = sn_get(ctx, ROCE_VERSION);

	if (!g)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "roce_address_index");
	if (!c->nic->dev->roce_en)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "roce_en of the vport is 0");
	if (sn_get(ctx, ROCE_VLAN_VALID))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "VLANs are not among the capabilities");
	if (sn_is_zero(ctx + ROCE_GID, sizeof(g->gid)))
		return set_entry(c, g, new);
	if (version != 2)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "roce_version %u is not among the capabilities",
				     version);
	/* 0 is IPv4, 1 is IPv6. Linux, set_roce_addr() of mlx5_ib: IPv4 for an IPv4-mapped GID. */
	if (sn_get(ctx, ROCE_L3_TYPE) != !sn_is_v4(ctx + ROCE_GID))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "roce_l3_type %u is not that of the GID",
				     sn_get(ctx, ROCE_L3_TYPE));
	new.version = 2;
	new.valid = true;
	memcpy(new.gid, ctx + ROCE_GID, sizeof(new.gid));
	memcpy(new.mac, ctx + ROCE_MAC, sizeof(new.mac));
	return set_entry(c, g, new);
}

/*
 * Resets the ports as at power-on. A subnet manager sets the addresses of InfiniBand ports, not the
 * driver.
 */
void sn_port_reset(struct softnic *nic)
{
	for (unsigned int i = 0; i < nic->ports; i++)
		sn_timer_cancel(nic, &nic->port[i].training);
	for (unsigned int i = 0; i < nic->ports && !nic->infiniband; i++) {
		memset(nic->port[i].gid, 0, sizeof(nic->port[i].gid));
		answer_to(&nic->port[i], &nic->port[i].gid[0]);
	}
}

/* Writes the EUI-64 of the MAC. */
static void guid(uint8_t *at, const uint8_t mac[6])
{
	memcpy(at, mac, 3);
	at[0] ^= 2;
	at[3] = 0xff;
	at[4] = 0xfe;
	memcpy(at + 5, mac + 3, 3);
}

uint32_t sn_port_frame(const struct softnic *nic)
{
	return sn_quirk(nic, SN_Q_SMALL_MTU) ? SN_FRAME_SMALL : SN_FRAME_MAX;
}

uint8_t sn_cmd_query_vport(struct sn_cmd *c)
{
	uint8_t *ctx = c->out + AT_CTX;

	sn_set(ctx, NVC_ROCE_EN, c->nic->dev->roce_en);
	sn_set(ctx, NVC_MTU, sn_port_frame(c->nic));
	guid(ctx + NVC_SYS_GUID, c->nic->port[0].mac);
	guid(ctx + NVC_PORT_GUID, c->nic->port[0].mac);
	guid(ctx + NVC_NODE_GUID, c->nic->port[0].mac);
	memcpy(ctx + NVC_MAC, c->nic->port[0].mac, sizeof(c->nic->port[0].mac));
	return STAT_OK;
}

uint8_t sn_cmd_modify_vport(struct sn_cmd *c)
{
	if (sn_get(c->in, SELECT_ROCE_EN))
		c->nic->dev->roce_en = sn_get(c->in + NVC_MODIFY_AT, NVC_ROCE_EN);
	return STAT_OK;
}

uint8_t sn_cmd_query_vport_state(struct sn_cmd *c)
{
	const struct sn_port *port = find_port(c, CMD_PORT);
	bool up;

	if (!port)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "port %u", sn_get(c->in, CMD_PORT));
	up = !port->link_down;
	sn_set(c->out, VPORT_SPEED, up ? 1000 : 0);	/* speed in units of 100 Mb/s */
	sn_set(c->out, VPORT_ADMIN, !port->admin_down);
	sn_set(c->out, VPORT_STATE, up);
	return STAT_OK;
}

/* mlx5_ib queries this of an InfiniBand port. The GUID is the lower half of the GID. */
uint8_t sn_cmd_query_hca_vport(struct sn_cmd *c)
{
	const struct sn_port *port = find_port(c, CMD_PORT);
	uint8_t *ctx = c->out + AT_CTX;

	if (!port || !c->nic->infiniband)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "port %u is no InfiniBand port",
				     sn_get(c->in, CMD_PORT));
	sn_set(ctx, HVC_PHYS_STATE, port->link_down ? 3 : 5);	/* 3: disabled; 5: link up */
	sn_set(ctx, HVC_PORT_STATE, port->link_down ? 1 : 4);	/* 1: down; 4: active */
	sn_set(ctx, HVC_VPORT_STATE, port->link_down ? 1 : 4);
	memcpy(ctx + HVC_SYS_GUID, c->nic->port[0].gid[0].gid + 8, 8);
	memcpy(ctx + HVC_PORT_GUID, port->gid[0].gid + 8, 8);
	memcpy(ctx + HVC_NODE_GUID, c->nic->port[0].gid[0].gid + 8, 8);
	sn_set(ctx, HVC_LID, port->lid);
	sn_set(ctx, HVC_SM_LID, 1);
	return STAT_OK;
}

/*
 * PRM "HCA vport P_Key": returns the requested entry, or all; each is 16 bits in a word. Entries without
 * a partition are 0.
 */
uint8_t sn_cmd_query_pkey(struct sn_cmd *c)
{
	enum { ENTRIES = 128, ALL = 0xffff };	/* the number of entries matches pkey_table_size */
	uint32_t index = sn_get(c->in, PKEY_INDEX);
	uint32_t first = index == ALL ? 0 : index, n = index == ALL ? ENTRIES : 1;

	if (!find_port(c, CMD_PORT) || first >= ENTRIES)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "pkey_index %u", index);
	for (uint32_t i = 0; i < n; i++) {
		uint16_t pkey;

		if (sn_port_pkey(c->nic, first + i, &pkey))
			sn_set(c->out + AT_CTX + 4 * i, SN_FLD(0x10, 16), pkey);
	}
	return STAT_OK;
}

/* PRM "HCA vport GID": returns one entry, or all for index 0xffff. Entries without a GID are zero. */
uint8_t sn_cmd_query_hca_gid(struct sn_cmd *c)
{
	enum { ALL = 0xffff, GID = 16 };
	const struct sn_port *port = find_port(c, CMD_PORT);
	uint32_t index = sn_get(c->in, GID_INDEX);
	uint32_t first = index == ALL ? 0 : index, n = index == ALL ? SN_GIDS : 1;

	if (!port || !c->nic->infiniband)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "port %u is no InfiniBand port",
				     sn_get(c->in, CMD_PORT));
	if (first >= SN_GIDS)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "gid_index %u", index);
	sn_set(c->out, GID_COUNT, n);
	for (uint32_t i = 0; i < n; i++)
		memcpy(c->out + AT_CTX + GID * i, port->gid[first + i].gid, GID);
	return STAT_OK;
}

/*
 * PRM MAD_IFC: the port's own agent answers a MAD. This model handles only a Get of PortInfo (IBTA
 * 14.2.5.6) for a port with a LID. It does not check M_Keys.
 */
uint8_t sn_cmd_mad(struct sn_cmd *c)
{
	enum { MAD = 16, METHOD = MAD + 3, SMP_DATA = MAD + 64 };
	enum { GET = 0x01, GET_RESP = 0x81, PORT_INFO = 0x15 };
	enum { PI_LID = SMP_DATA + 16, PI_SM_LID = SMP_DATA + 18 };
	enum { PI_STATE = SMP_DATA + 32, PI_PHYS = SMP_DATA + 33 };
	const struct sn_port *port = find_port(c, MAD_PORT);

	if (!port || !c->nic->infiniband)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "port %u is no InfiniBand port",
				     sn_get(c->in, MAD_PORT));
	if (c->in[METHOD] != GET || sn_get(c->in, MAD_ATTRIBUTE) != PORT_INFO)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "method %#x of attribute %#x is not in this model",
				     c->in[METHOD], sn_get(c->in, MAD_ATTRIBUTE));
	memcpy(c->out + MAD, c->in + MAD, SMP_DATA - MAD);
	c->out[METHOD] = GET_RESP;
	sn_set(c->out, SN_FLD(PI_LID * 8, 16), port->lid);
	sn_set(c->out, SN_FLD(PI_SM_LID * 8, 16), 1);
	c->out[PI_STATE] = port->link_down ? 1 : 4;		/* 1: down; 4: active */
	/* 3: disabled; 5: link up */
	c->out[PI_PHYS] = (uint8_t)((port->link_down ? 3 : 5) << 4);
	return STAT_OK;
}
