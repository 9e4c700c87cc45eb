/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's capabilities. PRM "HCA capabilities"; offsets count from the start of each capability. */
#include "softnic/mlx5/cold.h"
#include "softnic/mlx5/prm.h"
#include "softnic/mlx5/quirk.h"

enum {
	CAP_GENERAL = 0x00,
	CAP_ETHERNET = 0x01,
	CAP_ODP = 0x02,
	CAP_ATOMIC = 0x03,
	CAP_ROCE = 0x04,
	CAP_FLOW_TABLE = 0x07,
	CAP_DEVICE_MEMORY = 0x0f,
	CAP_GENERAL_2 = 0x20,
	CAP_BYTES = 4096,
};

/* ts_format of QPs and of send queues. An adapter with REAL_TIME_CLOCK_ENABLE=1 refuses free-running
 * timestamps. */
#define CAP_SQ_TIME	SN_FLD(0x440, 2)
#define CAP_QP_TIME	SN_FLD(0x1e, 2)
enum { FREE_RUNNING_ONLY = 0, REAL_TIME_ONLY = 1 };

struct value {
	struct sn_fld fld;
	uint32_t v;
};

static const struct value general[] = {
	{ SN_FLD(0x30, 16), 1 },	/* vhca_id */
	{ SN_FLD(0x80, 8), 15 },	/* log_max_srq_sz */
	{ SN_FLD(0x88, 8), 15 },	/* log_max_qp_sz: WQEs of a queue */
	{ SN_FLD(0xc8, 8), 22 },	/* log_max_cq_sz */
	{ SN_FLD(0xe0, 8), 22 },	/* log_max_eq_sz */
	{ SN_FLD(0x100, 8), SN_KLM_DEPTH },	/* max_indirection */
	{ SN_FLD(0x108, 1), 1 },	/* fixed_buffer_size: KSM */
	{ SN_FLD(0x109, 7), 63 },	/* log_max_mrw_sz */
	{ SN_FLD(0x11a, 6), 16 },	/* log_max_klm_list_size */
	{ SN_FLD(0x14a, 6), SN_LOG_READS },	/* log_max_ra_req_qp */
	{ SN_FLD(0x15a, 6), SN_LOG_READS },	/* log_max_ra_res_qp */
	{ SN_FLD(0x170, 16), 1 },	/* gid_table_size: 1 stands for 16 entries */
	{ SN_FLD(0x190, 16), 0 },	/* pkey_table_size: 0 stands for 128 entries */
	{ SN_FLD(0x1ab, 5), 16 },	/* local_ca_ack_delay */
	{ SN_FLD(0x1c3, 5), SN_LOG_MSG_MAX },	/* log_max_msg */
	{ SN_FLD(0x1fc, 4), 1 },	/* cqe_version */
	{ SN_FLD(0x200, 1), 1 },	/* compact_address_vector */
	{ SN_FLD(0x215, 1), 1 },	/* sctr_data_cqe */
	{ SN_FLD(0x21e, 1), 1 },	/* atomic */
	{ SN_FLD(0x220, 1), 1 },	/* cq_oi */
	{ SN_FLD(0x221, 1), 1 },	/* cq_resize */
	{ SN_FLD(0x222, 1), 1 },	/* cq_moderation */
	{ SN_FLD(0x231, 1), 1 },	/* imaicl: memory windows */
	{ SN_FLD(0x23c, 1), 1 },	/* xrc: domains and SRQs */
	{ SN_FLD(0x23d, 1), 1 },	/* ud */
	{ SN_FLD(0x23f, 1), 1 },	/* rc */
	{ SN_FLD(0x240, 1), 1 },	/* uar_4k */
	{ SN_FLD(0x24a, 6), 3 },	/* uar_sz: log2 of MiB; 2048 pages */
	{ SN_FLD(0x252, 1), 1 },	/* umem_uid_0: umems without a user context */
	{ SN_FLD(0x258, 8), 12 },	/* log_pg_sz */
	{ SN_FLD(0x260, 1), 1 },	/* bf */
	{ SN_FLD(0x26b, 5), 9 },	/* log_bf_reg_size */
	{ SN_FLD(0x290, 16), 1024 },	/* max_wqe_sz_sq, as of a ConnectX-4 */
	{ SN_FLD(0x2b0, 16), SN_RQ_STRIDE_MAX },	/* max_wqe_sz_rq */
	{ SN_FLD(0x3a3, 5), SN_LOG_RQ_STRIDE_MAX },	/* log_max_stride_sz_rq */
	{ SN_FLD(0x3ab, 5), 4 },	/* log_min_stride_sz_rq */
	{ SN_FLD(0x3b3, 5), 6 },	/* log_max_stride_sz_sq */
	{ SN_FLD(0x3bb, 5), 6 },	/* log_min_stride_sz_sq */
	{ SN_FLD(0x490, 16), 0 },	/* log_uar_page_sz: 4 KiB */
	{ SN_FLD(0x4c0, 32), 1000 },	/* device_frequency_mhz */
	{ SN_FLD(0x4e0, 32), 1000000 },	/* device_frequency_khz */
	{ SN_FLD(0x520, 32), 1 },	/* num_of_uars_per_page */
};

/* The host of the model (softnic_config) may lower these. */
static const struct value limits[] = {
	{ SN_FLD(0x9b, 5), SN_LOG_MAX_QP },	/* log_max_qp */
	{ SN_FLD(0xab, 5), SN_LOG_MAX_RMP },	/* log_max_srq: SRQs are RMPs */
	{ SN_FLD(0xdb, 5), SN_LOG_MAX_CQ },	/* log_max_cq */
	{ SN_FLD(0xea, 6), SN_LOG_MAX_MKEY },	/* log_max_mkey */
	{ SN_FLD(0xfc, 4), SN_LOG_MAX_EQ },	/* log_max_eq */
	{ SN_FLD(0x32b, 5), SN_LOG_MAX_PD },	/* log_max_pd */
	{ SN_FLD(0x33b, 5), SN_LOG_MAX_XRCD },	/* log_max_xrcd */
	{ SN_FLD(0x383, 5), SN_LOG_MAX_RMP },	/* log_max_rmp */
	{ SN_FLD(0x463, 5), SN_LOG_MAX_UCTX },	/* log_max_uctx: DEVX */
	{ SN_FLD(0x46b, 5), SN_LOG_MAX_UMEM },	/* log_max_umem */
};

static const struct value atomics[] = {
	{ SN_FLD(0x46, 1), 1 },		/* supported_atomic_req_8B_endianness_mode_1 */
	{ SN_FLD(0x90, 16), 3 },	/* atomic_operations: compare-swap, fetch-add */
	{ SN_FLD(0xb0, 16), 8 },	/* atomic_size_qp: 8 bytes */
};

static const struct value roce[] = {
	{ SN_FLD(0x04, 1), 1 },		/* sw_r_roce_src_udp_port */
	{ SN_FLD(0x06, 1), 1 },		/* fl_rc_qp_when_roce_enabled */
	{ SN_FLD(0x8c, 4), 1 << 1 | 1 << 2 },	/* l3_type: IPv4, IPv6 */
	{ SN_FLD(0x98, 8), 1 << 2 },	/* roce_version: v2 */
	{ SN_FLD(0xb0, 16), 4791 },	/* r_roce_dest_udp_port */
	{ SN_FLD(0xc0, 16), SN_SPORT_MAX },	/* r_roce_max_src_udp_port */
	{ SN_FLD(0xd0, 16), SN_SPORT_MIN },	/* r_roce_min_src_udp_port */
	{ SN_FLD(0xf0, 16), SN_GIDS },	/* roce_address_table_size */
};

static void fill_values(uint8_t *cap, const struct value *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sn_set(cap, v[i].fld, v[i].v);
}

#define FILL(cap, table) fill_values(cap, table, sizeof(table) / sizeof((table)[0]))

#define CAP_CHECKSUM	SN_FLD(0x210, 2)	/* cmdif_checksum */
#define CAP_LINK_DOWN	SN_FLD(0x1b4, 1)	/* disable_link_up_by_init_hca */
#define CAP_ROCE_SPORT	SN_FLD(0x04, 1)		/* sw_r_roce_src_udp_port */
/* atomic_req_8B_endianness_mode: order of the value that an atomic returns. 0: big-endian, 1: the host's */
#define CAP_ATOMIC_ORDER SN_FLD(0x40, 2)
#define CAP_UMR_ATOMIC_DISABLED SN_FLD(0x208, 1)	/* umr_modify_atomic_disabled */
#define CAP_UMR_LIST_DISABLED SN_FLD(0x209, 1)	/* umr_indirect_mkey_disabled */
/* Fence of a UMR itself, not of the WQE behind it: see check_umr_fence(). */
#define CAP_UMR_FENCE	SN_FLD(0x20a, 2)
enum { FENCE_SMALL = 1, FENCE_NONE = 2 };
enum { CHECKSUM_NONE = 2, CHECKSUM_ON = 3 };	/* values: 0 off, 1 initial value, 2 invalid */

static void fill_ports(uint8_t *cap, const struct softnic *nic)
{
	const struct value v[] = {
		{ SN_FLD(0x1a2, 1), nic->infiniband },	/* ib_virt: ports are queried by vport commands */
		{ SN_FLD(0x1b6, 2), !nic->infiniband },	/* port_type: InfiniBand, Ethernet */
		{ SN_FLD(0x1b8, 8), nic->ports },	/* num_ports */
		{ SN_FLD(0x21d, 1), !nic->infiniband },	/* roce */
		{ SN_FLD(0x610, 8), nic->ports > 1 ? nic->ports : 0 },	/* num_vhca_ports */
	};

	FILL(cap, v);
}

static void fill_limits(uint8_t *cap, const struct softnic *nic)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sn_set(cap, limits[i].fld, sn_log_max(nic, limits[i].v));
}

static bool fill_caps(const struct softnic *nic, uint8_t *cap, unsigned int type)
{
	uint32_t clock = nic->config.flags & SOFTNIC_FREE_RUNNING ? FREE_RUNNING_ONLY : REAL_TIME_ONLY;

	switch (type) {
	case CAP_GENERAL:
		FILL(cap, general);
		fill_limits(cap, nic);
		fill_ports(cap, nic);
		sn_set(cap, CAP_SQ_TIME, clock);
		sn_set(cap, CAP_UMR_ATOMIC_DISABLED, sn_quirk(nic, SN_Q_UMR_DISABLED) ||
						     sn_quirk(nic, SN_Q_UMR_ATOMIC_DISABLED));
		sn_set(cap, CAP_UMR_LIST_DISABLED, sn_quirk(nic, SN_Q_UMR_DISABLED));
		sn_set(cap, CAP_UMR_FENCE,
		       nic->config.flags & SOFTNIC_ADVERSARIAL ? FENCE_NONE : FENCE_SMALL);
		return true;
	case CAP_ATOMIC:
		FILL(cap, atomics);
		sn_set(cap, CAP_ATOMIC_ORDER, 1);
		return true;
	case CAP_ROCE:
		FILL(cap, roce);
		sn_set(cap, CAP_QP_TIME, clock);
		return true;
	case CAP_ETHERNET:
	case CAP_ODP:
	case CAP_FLOW_TABLE:
	case CAP_DEVICE_MEMORY:
	case CAP_GENERAL_2:
		return true;		/* a VF without extended capabilities answers so */
	default:
		return false;
	}
}

/* Applies the capabilities that a driver selected while it booted a cold device. If the driver
 * selected none, the maximum is in force. */
static void apply_selection(const struct sn_cold *cold, uint8_t *cap, unsigned int type, bool current)
{
	if (type == CAP_GENERAL) {
		sn_set(cap, CAP_CHECKSUM, current ? cold->checksum : CHECKSUM_ON);
		sn_set(cap, CAP_LINK_DOWN, current ? cold->link_kept_down : 1);
	} else if (type == CAP_ROCE && current) {
		sn_set(cap, CAP_ROCE_SPORT, cold->roce_sport);
	} else if (type == CAP_ATOMIC && current) {
		sn_set(cap, CAP_ATOMIC_ORDER, cold->atomic_host_order);
	}
}

/* The driver of a device that is not cold, Linux's, has selected the host's order. */
bool sn_atomic_host_order(const struct softnic *nic)
{
	return !nic->dev->cold || nic->dev->cold->atomic_host_order;
}

/* Linux writes only this field. */
static uint8_t set_atomic_order(struct sn_cmd *c, uint32_t order)
{
	if (order > 1)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "atomic_req_8B_endianness_mode %u", order);
	c->nic->dev->cold->atomic_host_order = order;
	return STAT_OK;
}

/* op_mod: capability type << 1; bit 0 selects the current value instead of the maximum */
uint8_t sn_cmd_query_hca_cap(struct sn_cmd *c)
{
	uint32_t op_mod = sn_get(c->in, CMD_OP_MOD);
	unsigned int type = op_mod >> 1;

	if (!fill_caps(c->nic, c->out + AT_CTX, type))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "capability type %u", type);
	if (c->nic->dev->cold)
		apply_selection(c->nic->dev->cold, c->out + AT_CTX, type, op_mod & 1);
	return STAT_OK;
}

/* The driver writes all capabilities of a type. Capabilities that it cannot choose must equal the
 * current values. */
uint8_t sn_cmd_set_hca_cap(struct sn_cmd *c)
{
	unsigned int type = sn_get(c->in, CMD_OP_MOD) >> 1;
	const uint8_t *cap = c->in + AT_CTX;
	uint8_t want[CAP_BYTES] = { 0 };
	struct sn_cold *cold = c->nic->dev->cold;
	struct sn_cold chosen;

	if (!cold)
		return STAT_OK;
	if (type == CAP_ATOMIC)
		return set_atomic_order(c, sn_get(cap, CAP_ATOMIC_ORDER));
	if (type != CAP_GENERAL && type != CAP_ROCE)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "capability type %u", type);
	chosen = *cold;
	if (type == CAP_GENERAL) {
		chosen.checksum = (uint8_t)sn_get(cap, CAP_CHECKSUM);
		chosen.link_kept_down = sn_get(cap, CAP_LINK_DOWN);
		if (chosen.checksum == CHECKSUM_NONE)
			return sn_cmd_refuse(c, STAT_BAD_PARAM, "cmdif_checksum %u", chosen.checksum);
	} else {
		chosen.roce_sport = sn_get(cap, CAP_ROCE_SPORT);
	}
	fill_caps(c->nic, want, type);
	apply_selection(&chosen, want, type, true);
	for (uint32_t i = 0; i < CAP_BYTES; i++)
		if (cap[i] != want[i])
			return sn_cmd_refuse(c, STAT_BAD_PARAM,
					     "type %u: the driver cannot choose byte %#x", type, i);
	*cold = chosen;
	return STAT_OK;
}

/* PRM: vendor id at 0x19 of the parameter block, board id (PSID) in its last 16 bytes */
uint8_t sn_cmd_query_adapter(struct sn_cmd *c)
{
	static const char psid[16] = "SOFTNIC-MLX5";
	uint8_t *block = c->out + AT_CTX;

	sn_set(block, SN_FLD(0xc8, 24), 0x02c9);
	memcpy(block + 0xf0, psid, sizeof(psid));
	return STAT_OK;
}

uint8_t sn_cmd_query_issi(struct sn_cmd *c)
{
	sn_set(c->out, SN_FLD(0x50, 16), c->nic->dev->issi);
	sn_set32(c->out, 0x6c, 1 << 0 | 1 << 1);
	return STAT_OK;
}

/* PRM "LAG context": all zero if the ports are not bonded, and this device cannot bond them. */
uint8_t sn_cmd_query_lag(struct sn_cmd *c)
{
	(void)c;
	return STAT_OK;
}

uint8_t sn_cmd_set_issi(struct sn_cmd *c)
{
	uint32_t issi = sn_get(c->in, SN_FLD(0x50, 16));

	if (issi > 1)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "ISSI %u", issi);
	c->nic->dev->issi = (uint16_t)issi;
	return STAT_OK;
}
