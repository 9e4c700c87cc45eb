/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers that Linux's driver uses by ACCESS_REG. PRM "NODE_DESC", "PMTU", "PTYS", "PVLC". */
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"

enum { AT_REG = 0x10 };
enum { REG_PMTU = 0x5003, REG_PTYS = 0x5004, REG_PAOS = 0x5006, REG_PVLC = 0x500f };
enum { REG_NODE_DESC = 0x6001, REG_HOST_ENDIANNESS = 0x7004 };
#define REG_PORT	SN_FLD(0x08, 8)		/* local_port of the port registers */

#define PTYS_PROTO_MASK	SN_FLD(0x1d, 3)
enum { PTYS_IB = 1 << 0, PTYS_ETH = 1 << 2 };
/* Each of these values is in three fields: capability, admin and oper. */
static const struct sn_fld ptys_eth[] = { SN_FLD(0x60, 32), SN_FLD(0xc0, 32), SN_FLD(0x120, 32) };
static const struct sn_fld ptys_width[] = { SN_FLD(0x80, 16), SN_FLD(0xe0, 16), SN_FLD(0x140, 16) };
static const struct sn_fld ptys_rate[] = { SN_FLD(0x90, 16), SN_FLD(0xf0, 16), SN_FLD(0x150, 16) };
enum { ETH_100G = 1 << 20, WIDTH_4X = 1 << 2, RATE_EDR = 1 << 5 };

static const struct sn_fld pmtu[] = { SN_FLD(0x20, 16), SN_FLD(0x40, 16), SN_FLD(0x60, 16) };
enum { MTU_IB = 4096 };

static const struct sn_fld pvlc[] = { SN_FLD(0x3c, 4), SN_FLD(0x5c, 4), SN_FLD(0x7c, 4) };
enum { VL0_TO_3 = 4 };

static void node_desc(uint8_t *reg)
{
	static const char words[64] = "software ConnectX";

	memcpy(reg, words, sizeof(words));
}

/* Every port reports 100 Gb/s. A link that is down has no speed. */
static void ptys(const struct sn_port *port, uint8_t *reg)
{
	bool ib = port->nic->infiniband;

	sn_set(reg, PTYS_PROTO_MASK, ib ? PTYS_IB : PTYS_ETH);
	for (int i = 0; i < (port->link_down ? 2 : 3); i++) {
		sn_set(reg, ptys_eth[i], ib ? 0 : ETH_100G);
		sn_set(reg, ptys_width[i], ib ? WIDTH_4X : 0);
		sn_set(reg, ptys_rate[i], ib ? RATE_EDR : 0);
	}
}

static uint8_t query_register(struct sn_cmd *c, uint32_t reg, bool write)
{
	const uint8_t *in = c->in + AT_REG;
	uint8_t *out = c->out + AT_REG;
	const struct sn_port *port;
	uint32_t number;

	if (write)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "register %#x cannot be written", reg);
	if (reg == REG_NODE_DESC) {
		node_desc(out);
		return STAT_OK;
	}
	if (reg != REG_PMTU && reg != REG_PTYS && (reg != REG_PVLC || !c->nic->infiniband))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "register %#x", reg);
	if (c->inlen < AT_REG + 4)
		return sn_cmd_refuse(c, STAT_BAD_INP_LEN, "register %#x is one of a port", reg);
	number = sn_get(in, REG_PORT);
	if (!number || number > c->nic->ports)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "register %#x of port %u", reg, number);
	port = &c->nic->port[number - 1];
	sn_set(out, REG_PORT, number);
	if (reg == REG_PTYS)
		ptys(port, out);
	for (int i = 0; i < 3 && reg == REG_PMTU; i++)
		sn_set(out, pmtu[i], c->nic->infiniband ? MTU_IB : sn_port_frame(c->nic));
	for (int i = 0; i < 3 && reg == REG_PVLC; i++)
		sn_set(out, pvlc[i], VL0_TO_3);
	return STAT_OK;
}

/* HOST_ENDIANNESS: the first bit is set for a big-endian host. */
uint8_t sn_cmd_access_reg(struct sn_cmd *c)
{
	enum { WRITE = 0 };
	uint32_t reg = sn_get(c->in, SN_FLD(0x50, 16));
	bool write = sn_get(c->in, CMD_OP_MOD) == WRITE;

	if (reg != REG_HOST_ENDIANNESS && reg != REG_PAOS)
		return query_register(c, reg, write);
	if (c->inlen < AT_REG + 16)
		return sn_cmd_refuse(c, STAT_BAD_INP_LEN,
				     "the command for register %#x is shorter than 16 bytes", reg);
	if (reg == REG_PAOS)
		return sn_link_paos(c, c->in + AT_REG, c->out + AT_REG, write);
	if (write && c->in[AT_REG])
		return sn_cmd_refuse(c, STAT_BAD_PARAM,
				     "HOST_ENDIANNESS selects a big-endian host");
	return STAT_OK;
}
