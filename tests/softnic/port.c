/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices with two ports, and ports of InfiniBand: LIDs and partitions. */
#include <criterion/criterion.h>

#include "tests/harness/harness.h"
#include "tests/softnic/drv.h"

static struct drv *d;
static struct drv_cq cq;
static struct drv_qp a, b;

static void open_with(unsigned int flags)
{
	d = drv_open_two(flags);
	drv_cq(d, &cq, 4, false);
	a = b = (struct drv_qp){ 0 };
	drv_qp(d, &a, &cq, &cq);
	drv_qp(d, &b, &cq, &cq);
}

static void close_all(void)
{
	drv_qp_free(&a);
	drv_qp_free(&b);
	drv_cq_free(&cq);
	drv_close(d);
}

TestSuite(port, .timeout = 60);

static uint8_t init(struct drv_qp *qp, unsigned int port, unsigned int pkey_index)
{
	uint8_t *ctx = drv_modify(qp, CMD_RST2INIT_QP);

	sn_set(ctx + AT_ADS, ADS_PORT, port);
	sn_set(ctx + AT_ADS, ADS_PKEY_INDEX, pkey_index);
	return drv_run(d, AT_PAS);
}

/* PRM, HCA vport context: the LID at 0x60 of it. */
static uint16_t lid_of(unsigned int port)
{
	drv_begin(d, CMD_QUERY_HCA_VPORT_CONTEXT);
	sn_set(d->in, SN_FLD(0x4c, 4), port);
	cr_assert_eq(drv_run(d, 16), 0);
	return (uint16_t)sn_get(d->out + AT_CTX, SN_FLD(0x300, 16));
}

static unsigned int path_field(const struct drv_qp *qp, struct sn_fld fld)
{
	cr_assert_eq(drv_simple(d, CMD_QUERY_QP, qp->qpn), 0);
	return sn_get(d->out + AT_QPC + AT_ADS, fld);
}

static uint8_t *begin_rtr(struct drv_qp *qp, uint32_t remote, const uint8_t *gid, const uint8_t *mac,
			  uint16_t lid)
{
	unsigned int port = path_field(qp, ADS_PORT);
	uint8_t *ctx = drv_modify(qp, CMD_INIT2RTR_QP);

	sn_set(ctx, QPC_MTU, 3);
	sn_set(ctx, QPC_LOG_MSG_MAX, 30);
	sn_set(ctx, QPC_REMOTE_QPN, remote);
	sn_set(ctx + AT_ADS, ADS_PORT, port);
	sn_set(ctx + AT_ADS, ADS_RLID, lid);
	if (gid) {
		sn_set(ctx + AT_ADS, ADS_UDP_SPORT, 0xc123);
		memcpy(ctx + AT_ADS + ADS_RGID, gid, 16);
		memcpy(ctx + AT_ADS + ADS_RMAC, mac, 6);
	}
	return ctx + AT_ADS;
}

static uint8_t to_rtr(struct drv_qp *qp, uint32_t remote, const uint8_t *gid, const uint8_t *mac,
		      uint16_t lid)
{
	begin_rtr(qp, remote, gid, mac, lid);
	return drv_run(d, AT_PAS);
}

static void to_rts(struct drv_qp *qp)
{
	uint8_t *ctx = drv_modify(qp, CMD_RTR2RTS_QP);

	sn_set(ctx, QPC_RETRY, 1);
	sn_set(ctx + AT_ADS, ADS_ACK_TIMEOUT, 12);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
}

static unsigned int send_ends_with(void)
{
	struct drv_cqe e;
	struct drv_wqe w;

	drv_ctrl(&a, &w, 0x0a, CE_ALWAYS << 2, 0);
	drv_post(&a, &w);
	cr_assert(TH_WITHIN(20000, (softnic_pump(d->nic), drv_poll(&cq, &e))));
	cr_assert_eq(e.qpn, a.qpn);
	return e.syndrome;
}

static void roce_address(unsigned int port, uint8_t gid[16], uint8_t mac[6])
{
	drv_begin(d, CMD_QUERY_ROCE_ADDRESS);
	sn_set(d->in, SN_FLD(0x5c, 4), port);
	cr_assert_eq(drv_run(d, 16), 0);
	memcpy(gid, d->out + AT_CTX + ROCE_GID, 16);
	memcpy(mac, d->out + AT_CTX + ROCE_MAC, 6);
}

Test(port, second__has_an_address_and_a_link_of_its_own)
{
	uint8_t gid[2][16], mac[2][6], type, data[28];

	open_with(0);
	for (unsigned int i = 0; i < 2; i++)
		roce_address(i + 1, gid[i], mac[i]);
	cr_expect_arr_neq(gid[0], gid[1], 16);
	cr_expect_arr_neq(mac[0], mac[1], 6);
	drv_begin(d, CMD_QUERY_ROCE_ADDRESS);
	sn_set(d->in, SN_FLD(0x5c, 4), 3);
	cr_expect_eq(drv_run(d, 16), 3);
	drv_expect(d, "cmd.field");
	cr_assert_eq(softnic_fault(d->nic, "link_down=2"), 0);
	cr_assert(drv_event(d, &type, data));
	cr_expect_eq(data[8], 0x20);
	for (unsigned int i = 1; i <= 2; i++) {
		drv_begin(d, CMD_QUERY_VPORT_STATE);
		sn_set(d->in, SN_FLD(0x4c, 4), i);
		cr_assert_eq(drv_run(d, 16), 0);
		cr_expect_eq(sn_get(d->out, SN_FLD(0x7c, 4)), i == 1);
	}
	cr_expect_lt(softnic_fault(d->nic, "link_down=3"), 0);
	close_all();
}

/* A packet for a QP of one port is refused by the other port. */
Test(port, second__carries_its_own_connections)
{
	uint8_t gid[16], mac[6];

	open_with(0);
	roce_address(2, gid, mac);
	cr_expect_eq(init(&a, 3, 0), 3);
	drv_expect(d, "cmd.field");
	cr_assert_eq(init(&a, 2, 0), 0);
	cr_assert_eq(init(&b, 2, 0), 0);
	cr_assert_eq(to_rtr(&a, b.qpn, gid, mac, 0), 0);
	cr_assert_eq(to_rtr(&b, a.qpn, gid, mac, 0), 0);
	to_rts(&a);
	to_rts(&b);
	/* b has no receive posted: the completion reports RNR, without retries */
	cr_expect_eq(send_ends_with(), 0x16);
	close_all();
}

Test(port, first__does_not_receive_packets_for_the_second)
{
	uint8_t gid[16], mac[6];

	open_with(0);
	roce_address(2, gid, mac);
	cr_assert_eq(init(&a, 2, 0), 0);
	cr_assert_eq(init(&b, 1, 0), 0);
	cr_assert_eq(to_rtr(&a, b.qpn, gid, mac, 0), 0);
	cr_assert_eq(to_rtr(&b, a.qpn, gid, mac, 0), 0);
	to_rts(&a);
	to_rts(&b);
	cr_expect_eq(send_ends_with(), 0x15);
	close_all();
}

static void connect_by_lid(unsigned int pkey_index)
{
	cr_assert_eq(init(&a, 1, 0), 0);
	cr_assert_eq(init(&b, 1, pkey_index), 0);
	cr_assert_eq(to_rtr(&a, b.qpn, NULL, NULL, lid_of(1)), 0);
	cr_assert_eq(to_rtr(&b, a.qpn, NULL, NULL, lid_of(1)), 0);
	to_rts(&a);
	to_rts(&b);
}

Test(port, infiniband__is_reached_by_lid)
{
	open_with(SOFTNIC_INFINIBAND);
	cr_expect_neq(lid_of(1), lid_of(2));
	connect_by_lid(0);
	cr_expect_eq(send_ends_with(), 0x16);
	close_all();
}

Test(port, infiniband__needs_a_lid)
{
	open_with(SOFTNIC_INFINIBAND);
	cr_assert_eq(init(&a, 1, 0), 0);
	cr_expect_eq(to_rtr(&a, b.qpn, NULL, NULL, 0), 3);
	drv_expect(d, "cmd.field");
	close_all();
}

/* Runs a transition of a with this optional field of the path. */
static uint8_t change(uint16_t opcode, uint32_t opt, struct sn_fld fld, unsigned int v)
{
	uint8_t *ctx = opcode == CMD_INIT2RTR_QP ? begin_rtr(&a, b.qpn, NULL, NULL, lid_of(1)) - AT_ADS
						 : drv_modify(&a, opcode);

	sn_set32(d->in, QP_OPT_MASK, opt);
	sn_set(ctx + AT_ADS, fld, v);
	return drv_run(d, AT_PAS);
}

/* Linux: the opt_mask of mlx5_ib has P_Key index and port for INIT2INIT, and the former for INIT2RTR. */
Test(port, init__takes_another_partition_and_another_port)
{
	enum { MASK_PKEY = 1 << 4, MASK_PORT = 1 << 16 };

	open_with(SOFTNIC_INFINIBAND);
	cr_assert_eq(init(&a, 2, 0), 0);
	cr_expect_eq(change(CMD_INIT2INIT_QP, MASK_PORT, ADS_PORT, 3), 3);
	cr_expect_eq(change(CMD_INIT2INIT_QP, MASK_PKEY, ADS_PKEY_INDEX, 2), 3);
	drv_expect(d, "cmd.field");
	cr_expect_eq(change(CMD_INIT2INIT_QP, 0, ADS_PKEY_INDEX, 1), 0);
	cr_expect_eq(path_field(&a, ADS_PKEY_INDEX), 0);
	cr_assert_eq(change(CMD_INIT2INIT_QP, MASK_PORT, ADS_PORT, 1), 0);
	cr_expect_eq(path_field(&a, ADS_PORT), 1);
	cr_expect_eq(change(CMD_INIT2INIT_QP, MASK_PKEY, ADS_PKEY_INDEX, 1), 0);
	cr_expect_eq(path_field(&a, ADS_PKEY_INDEX), 1);
	cr_expect_eq(change(CMD_INIT2RTR_QP, MASK_PKEY, ADS_PKEY_INDEX, 0), 0);
	cr_expect_eq(path_field(&a, ADS_PKEY_INDEX), 0);
	to_rts(&a);
	cr_assert_eq(init(&b, 1, 0), 0);
	cr_assert_eq(to_rtr(&b, a.qpn, NULL, NULL, lid_of(1)), 0);
	to_rts(&b);
	cr_expect_eq(send_ends_with(), 0x16, "a is not on port 1 and in the partition of b");
	close_all();
}

/* IBTA 10.9.3: packets of another partition are dropped. */
Test(port, infiniband__keeps_partitions_apart)
{
	open_with(SOFTNIC_INFINIBAND);
	cr_expect_eq(init(&a, 1, 2), 3);
	drv_expect(d, "cmd.field");
	connect_by_lid(1);
	cr_expect_eq(send_ends_with(), 0x15);
	close_all();
}

struct path_field {
	const char *name;
	struct sn_fld at;
	unsigned int most;
};

/* PRM "Address Path": fields that belong to the other link layer are reserved, and the device refuses
 * them. */
static void expect_reserved(const struct path_field *fields, size_t n, const uint8_t *gid,
			    const uint8_t *mac, uint16_t lid)
{
	cr_assert_eq(init(&a, 1, 0), 0);
	for (size_t i = 0; i < n; i++) {
		sn_set(begin_rtr(&a, b.qpn, gid, mac, lid), fields[i].at, fields[i].most);
		cr_expect_eq(drv_run(d, AT_PAS), 3,
			     "a value in the reserved field %s is not refused", fields[i].name);
		drv_expect(d, "cmd.field");
	}
}

Test(port, init2rtr_qp__fields_of_ethernet_are_refused_on_infiniband)
{
	static const struct path_field fields[] = {
		{ "eth_prio", ADS_ETH_PRIO, 7 }, { "dscp", ADS_DSCP, 63 }, { "ecn", ADS_ECN, 3 },
		{ "udp_sport", ADS_UDP_SPORT, 0xffff },
	};

	open_with(SOFTNIC_INFINIBAND);
	expect_reserved(fields, 4, NULL, NULL, lid_of(1));
	sn_set(begin_rtr(&a, b.qpn, NULL, NULL, lid_of(1)), ADS_SL, 15);
	cr_expect_eq(drv_run(d, AT_PAS), 0);
	close_all();
}

/* IEEE 802.1Q: a priority has three bits. The fourth bit of a service level would be in another field. */
Test(port, init2rtr_qp__service_level_is_refused_on_ethernet)
{
	static const struct path_field fields[] = {
		{ "sl", ADS_SL, 1 }, { "dei_cfi", ADS_DEI_CFI, 1 },
	};
	uint8_t gid[16], mac[6], *ads;

	open_with(0);
	roce_address(1, gid, mac);
	expect_reserved(fields, 2, gid, mac, 0);
	ads = begin_rtr(&a, b.qpn, gid, mac, 0);
	sn_set(ads, ADS_ETH_PRIO, 7);
	sn_set(ads, ADS_DSCP, 63);
	cr_expect_eq(drv_run(d, AT_PAS), 0);
	close_all();
}

/* Linux and UCX set the source port of each RC QP of RoCE v2, in the range that the capabilities report. */
Test(port, init2rtr_qp__source_port_outside_the_reported_range_is_refused)
{
	static const uint32_t sports[] = { 0, 1, 4791, 0xbfff };
	uint8_t gid[16], mac[6];

	open_with(0);
	roce_address(1, gid, mac);
	cr_assert_eq(init(&a, 1, 0), 0);
	for (size_t i = 0; i < sizeof(sports) / sizeof(sports[0]); i++) {
		sn_set(begin_rtr(&a, b.qpn, gid, mac, 0), ADS_UDP_SPORT, sports[i]);
		cr_expect_eq(drv_run(d, AT_PAS), 3, "UDP source port %#x is not refused",
			     sports[i]);
		drv_expect(d, "cmd.field");
	}
	sn_set(begin_rtr(&a, b.qpn, gid, mac, 0), ADS_UDP_SPORT, 0xc000);
	cr_expect_eq(drv_run(d, AT_PAS), 0);
	cr_assert_eq(init(&b, 1, 0), 0);
	sn_set(begin_rtr(&b, a.qpn, gid, mac, 0), ADS_UDP_SPORT, 0xffff);
	cr_expect_eq(drv_run(d, AT_PAS), 0);
	close_all();
}

/* Linux requests the whole table with 0x765. The answer has as many entries as the capabilities
 * report. */
Test(port, query_hca_vport_pkey__answers_for_each_entry_of_the_table)
{
	enum { QUERY_HCA_VPORT_PKEY = 0x765, ENTRIES = 128, ALL = 0xffff };
	static const uint16_t table[] = { 0xffff, 0x8001, 0, 0 };

	d = drv_open_two(SOFTNIC_INFINIBAND);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		drv_begin(d, QUERY_HCA_VPORT_PKEY);
		sn_set(d->in, SN_FLD(0x70, 16), i);
		cr_assert_eq(drv_run(d, 16), 0, "P_Key table entry %u cannot be queried", i);
		cr_expect_eq(sn_get32(d->out, 16), table[i < 4 ? i : 3],
			     "P_Key table entry %u is wrong", i);
	}
	drv_begin(d, QUERY_HCA_VPORT_PKEY);
	sn_set(d->in, SN_FLD(0x70, 16), ALL);
	cr_assert_eq(drv_run(d, 16), 0);
	for (uint32_t i = 0; i < ENTRIES; i++)
		cr_expect_eq(sn_get32(d->out, 16 + 4 * i), table[i < 4 ? i : 3],
			     "P_Key %u of the whole table is wrong", i);
	drv_begin(d, QUERY_HCA_VPORT_PKEY);
	sn_set(d->in, SN_FLD(0x70, 16), ENTRIES);
	cr_assert_eq(drv_run(d, 16), 0x03);
	drv_expect(d, "cmd.field");
	drv_close(d);
}

/* A Get of PortInfo (IBTA 14.2.5.6) through MAD_IFC, by which rdma-core's tests query the port state. */
static uint32_t get_port_info(uint8_t method, uint8_t attribute, uint8_t info[64])
{
	enum { MAD_IFC = 0x50d, MAD = 16, DATA = MAD + 64 };
	uint32_t status;

	drv_begin(d, MAD_IFC);
	d->in[11] = 1;
	d->in[MAD] = d->in[MAD + 1] = d->in[MAD + 2] = 1;	/* base version, LID routed, class version */
	d->in[MAD + 3] = method;
	d->in[MAD + 17] = attribute;
	status = drv_run(d, MAD + 256);
	memcpy(info, d->out + DATA, 64);
	return status;
}

Test(port, mad_ifc__get_of_port_info_returns_the_state_of_the_link)
{
	enum { GET = 1, SET = 2, PORT_INFO = 0x15, NODE_INFO = 0x11 };
	uint8_t info[64];

	open_with(SOFTNIC_INFINIBAND);
	cr_assert_eq(get_port_info(GET, PORT_INFO, info), 0);
	cr_expect_eq(d->out[16 + 3], 0x81, "the response's method is not GetResp");
	cr_expect_neq(info[16] << 8 | info[17], 0, "the port's LID is 0");
	cr_expect_eq(info[32] & 15, 4, "the port state is not active (4)");
	cr_expect_eq(info[33] >> 4, 5, "the physical port state is not link up (5)");
	cr_assert_eq(softnic_fault(d->nic, "link_down"), 0);
	cr_assert_eq(get_port_info(GET, PORT_INFO, info), 0);
	cr_expect_eq(info[32] & 15, 1, "the port state is not down (1)");
	cr_expect_eq(get_port_info(SET, PORT_INFO, info), 0x03);
	cr_expect_eq(get_port_info(GET, NODE_INFO, info), 0x03);
	drv_expect(d, "cmd.field");
	close_all();
}

Test(port, infiniband__has_no_roce_addresses)
{
	open_with(SOFTNIC_INFINIBAND);
	drv_begin(d, CMD_QUERY_ROCE_ADDRESS);
	cr_expect_eq(drv_run(d, 16), 3);
	drv_expect(d, "cmd.field");
	drv_begin(d, CMD_QUERY_HCA_CAP);
	cr_assert_eq(drv_run(d, 16), 0);
	cr_expect_eq(sn_get(d->out + AT_CTX, SN_FLD(0x1b6, 2)), 0);
	cr_expect_eq(sn_get(d->out + AT_CTX, SN_FLD(0x1b8, 8)), 2);
	close_all();
}

static uint8_t set_roce_address(unsigned int index, const uint8_t gid[16], unsigned int l3_type)
{
	drv_begin(d, CMD_SET_ROCE_ADDRESS);
	sn_set(d->in, ROCE_INDEX, index);
	memcpy(d->in + AT_CTX + ROCE_GID, gid, 16);
	d->in[AT_CTX + ROCE_MAC] = 2;
	sn_set(d->in + AT_CTX, ROCE_L3_TYPE, l3_type);
	sn_set(d->in + AT_CTX, ROCE_VERSION, 2);
	return drv_run(d, 0x30);
}

static const uint8_t ipv4[16] = { [10] = 0xff, 0xff, 192, 0, 2, 1 };
static const uint8_t ipv6[16] = { 0x20, 1, 0xd, 0xb8, [15] = 1 };

/* Linux, set_roce_addr() of mlx5_ib: the type is IPv4 (0) for an IPv4-mapped GID, else IPv6 (1). */
Test(port, set_roce_address__type_that_is_not_that_of_the_gid_is_refused)
{
	open_with(0);
	cr_expect_eq(set_roce_address(1, ipv4, 1), 0x03);
	cr_expect_eq(set_roce_address(1, ipv6, 0), 0x03);
	cr_expect_eq(set_roce_address(1, ipv6, 2), 0x03);
	drv_expect(d, "cmd.field");
	cr_expect_eq(set_roce_address(1, ipv4, 0), 0);
	cr_expect_eq(set_roce_address(2, ipv6, 1), 0);
	close_all();
}

static void set_roce_en(unsigned int on)
{
	drv_begin(d, CMD_MODIFY_NIC_VPORT_CONTEXT);
	sn_set(d->in, SN_FLD(0x7e, 1), 1);
	sn_set(d->in + 0x100, SN_FLD(0x1f, 1), on);
	cr_assert_eq(drv_run(d, 0x200), 0);
}

/* Linux, devlink-params "enable_roce": a device without RoCE has no GID table. */
Test(port, roce__that_the_vport_disables_has_neither_addresses_nor_paths)
{
	uint8_t gid[16], mac[6];

	open_with(0);
	roce_address(1, gid, mac);
	cr_assert_eq(init(&a, 1, 0), 0);
	set_roce_en(0);
	cr_expect_eq(set_roce_address(1, ipv6, 1), 0x03);
	cr_expect_eq(to_rtr(&a, b.qpn, gid, mac, 0), 0x03);
	sn_set(begin_rtr(&a, b.qpn, NULL, NULL, 0), ADS_FL, 1);
	cr_expect_eq(drv_run(d, AT_PAS), 0x03);
	drv_expect(d, "cmd.field");
	set_roce_en(1);
	cr_expect_eq(set_roce_address(1, ipv6, 1), 0);
	cr_expect_eq(to_rtr(&a, b.qpn, gid, mac, 0), 0);
	close_all();
}

/* The port would be unreachable under the address that the command has set. */
Test(port, set_roce_address__without_memory_changes_nothing)
{
	uint8_t gid[16], mac[6], status;

	open_with(0);
	th_fail_start(TH_FAIL_HEAP | TH_FAIL_MINE, 1);
	status = set_roce_address(0, ipv6, 1);
	th_fail_stop();
	cr_expect_eq(status, 0x0f, "the status is %#x", status);
	roce_address(1, gid, mac);
	cr_expect_eq(gid[0], 0xfe);
	cr_expect_eq(set_roce_address(0, ipv6, 1), 0);
	close_all();
}

/* A frame goes to its MAC. No port has this one, so each packet is lost. */
Test(port, roce__is_not_reached_by_a_mac_that_is_not_that_of_the_gid)
{
	uint8_t gid[16], mac[6];

	open_with(0);
	roce_address(1, gid, mac);
	cr_assert_eq(init(&a, 1, 0), 0);
	cr_assert_eq(init(&b, 1, 0), 0);
	cr_assert_eq(to_rtr(&b, a.qpn, gid, mac, 0), 0);
	mac[5] ^= 1;
	cr_assert_eq(to_rtr(&a, b.qpn, gid, mac, 0), 0);
	to_rts(&a);
	to_rts(&b);
	cr_expect_eq(send_ends_with(), 0x15);
	close_all();
}

static unsigned int send_by_lid_and_gid(uint16_t lid, uint8_t last)
{
	uint8_t gid[16];
	unsigned int ended;

	open_with(SOFTNIC_INFINIBAND);
	memcpy(gid, (uint8_t[]){ 0xfe, 0x80, [8] = 2, [11] = 0xff, 0xfe, [14] = (uint8_t)(lid_of(1) >> 8),
				 (uint8_t)lid_of(1) }, sizeof(gid));
	gid[15] ^= last;
	cr_assert_eq(init(&a, 1, 0), 0);
	cr_assert_eq(init(&b, 1, 0), 0);
	cr_assert_eq(to_rtr(&b, a.qpn, NULL, NULL, lid_of(1)), 0);
	sn_set(begin_rtr(&a, b.qpn, NULL, NULL, lid_of(1) ^ lid), ADS_GRH, 1);
	memcpy(d->in + AT_QPC + AT_ADS + ADS_RGID, gid, sizeof(gid));
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	to_rts(&a);
	to_rts(&b);
	ended = send_ends_with();
	close_all();
	return ended;
}

/* IBTA, local route header: switches forward by the DLID, also a packet with a GRH. */
Test(port, infiniband__with_a_grh_needs_lid_and_gid_of_one_port)
{
	cr_expect_eq(send_by_lid_and_gid(0, 0), 0x16);
	cr_expect_eq(send_by_lid_and_gid(1, 0), 0x15);
	cr_expect_eq(send_by_lid_and_gid(0, 1), 0x15);
}

/* A port with an MTU of 1500 bytes has room for 1024 bytes and headers. */
Test(port, init2rtr_qp__mtu_above_that_of_the_port_is_refused)
{
	uint8_t gid[16], mac[6];

	open_with(0);
	roce_address(1, gid, mac);
	cr_assert_eq(init(&a, 1, 0), 0);
	cr_assert_eq(softnic_fault(d->nic, "quirk=small_mtu"), 0);
	sn_set(begin_rtr(&a, b.qpn, gid, mac, 0) - AT_ADS, QPC_MTU, 4);
	cr_expect_eq(drv_run(d, AT_PAS), 0x03);
	drv_expect(d, "cmd.field");
	cr_expect_eq(to_rtr(&a, b.qpn, gid, mac, 0), 0);
	close_all();
}

/* Linux, rdma_resolve_ip(): a source of IPv4 reaches no destination of IPv6, and the reverse. */
Test(port, init2rtr_qp__addresses_of_two_ip_versions_are_refused)
{
	uint8_t gid[16], mac[6];

	open_with(0);
	roce_address(1, gid, mac);
	cr_assert_eq(init(&a, 1, 0), 0);
	cr_expect_eq(to_rtr(&a, b.qpn, ipv4, mac, 0), 0x03);
	cr_assert_eq(set_roce_address(1, ipv4, 0), 0);
	sn_set(begin_rtr(&a, b.qpn, ipv6, mac, 0), ADS_SRC_INDEX, 1);
	cr_expect_eq(drv_run(d, AT_PAS), 0x03);
	drv_expect(d, "cmd.field");
	sn_set(begin_rtr(&a, b.qpn, ipv4, mac, 0), ADS_SRC_INDEX, 1);
	cr_expect_eq(drv_run(d, AT_PAS), 0);
	close_all();
}
