/* SPDX-License-Identifier: BSD-2-Clause */
/* The attributes of a connection, which follow from the paths of both ends: MTU, source port; and paths
 * that are refused. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/mlx5/rig.h"

static struct rig r;
static struct dap_ep *a, *b;

static void open_rig(void)
{
	struct rig_config c = { 0 };

	cr_assert_eq(rig_open(&r, &c), 0);
	cr_assert_eq(rig_ep(&r, &r.a, &a), 0);
	cr_assert_eq(rig_ep(&r, &r.b, &b), 0);
}

static void close_rig(void)
{
	rig_ep_free(a);
	rig_ep_free(b);
	rig_close(&r, NULL);
}

/* Makes two new QPs, whose ports have these MTUs. */
static void address(uint16_t mine, uint16_t theirs)
{
	rig_ep_free(a);
	rig_ep_free(b);
	cr_assert_eq(rig_ep(&r, &r.a, &a), 0);
	cr_assert_eq(rig_ep(&r, &r.b, &b), 0);
	m5_ia(r.ia)->port.mtu = mine;
	cr_assert_eq(m5_hw.qp_address(a), 0);
	m5_ia(r.ia)->port.mtu = theirs;
	cr_assert_eq(m5_hw.qp_address(b), 0);
	a->remote_path = b->local_path;
	b->remote_path = a->local_path;
}

/* PRM, "QUERY_QP", which the driver does not need. */
enum { QUERY_QP = 0x50b };
struct query_qp_out {
	struct m5_out_hdr hdr;
	be32_t rsvd[2], opt_param_mask, ece;
	struct m5_qpc qpc;
	be32_t rsvd100[4];
};
WIRE_SIZE(struct query_qp_out, 272);

static struct m5_qpc query(struct dap_ep *ep)
{
	const struct m5_qp_ref *qp = &m5_ep(ep)->qp;
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(QUERY_QP),
				.number = cpu_to_be32(qp->qpn) };
	struct query_qp_out out;

	cr_assert_eq(m5_cmd_obj(qp->ctl, qp->obj, &in, sizeof(in), &out, sizeof(out)), 0);
	return out.qpc;
}

static unsigned int mtu_of(struct dap_ep *ep)
{
	struct m5_qpc qpc = query(ep);

	return be32_to_cpu(qpc.sizes) >> 29;
}

static uint16_t sport_of(struct dap_ep *ep)
{
	struct m5_qpc qpc = query(ep);

	return (uint16_t)be32_to_cpu(qpc.primary.udp);
}

/* IBTA 9.7.5: code 1 is 256 and 5 is 4096. The connection has the smaller MTU of its two ends. */
Test(conn, qp_connect__takes_the_smaller_mtu)
{
	open_rig();
	for (unsigned int i = 1; i <= 5; i++) {
		for (unsigned int k = 1; k <= 5; k++) {
			address((uint16_t)(128u << i), (uint16_t)(128u << k));
			cr_assert_eq(m5_hw.qp_connect(a), 0);
			cr_assert_eq(m5_hw.qp_connect(b), 0);
			cr_expect_eq(mtu_of(a), i < k ? i : k,
				     "wrong MTU between ends with the MTU codes %u and %u", i, k);
			cr_expect_eq(mtu_of(b), i < k ? i : k,
				     "wrong MTU between ends with the MTU codes %u and %u", k, i);
		}
	}
	close_rig();
}

static uint32_t log_reads(uint32_t word)
{
	return word >> 21 & 7;
}

/* PRM "QP Context": log_sra_max and log_rra_max are in 23:21. IBTA 11.2.5.2: a requester has no more reads
 * outstanding than its peer has resources for. */
Test(conn, qp_connect__reads_are_limited_to_the_resources_of_the_peer)
{
	open_rig();
	r.attr.max_rdma_read_in = r.attr.max_rdma_read_out = 8;
	address(1024, 1024);
	b->attr.max_rdma_read_in = 2;
	cr_assert_eq(m5_hw.qp_address(b), 0);
	a->remote_path = b->local_path;
	cr_assert_eq(m5_hw.qp_connect(a), 0);
	cr_assert_eq(m5_hw.qp_connect(b), 0);
	cr_expect_eq(log_reads(be32_to_cpu(query(a).retry)), 1);
	cr_expect_eq(log_reads(be32_to_cpu(query(a).responder)), 3);
	cr_expect_eq(log_reads(be32_to_cpu(query(b).retry)), 3);
	cr_expect_eq(log_reads(be32_to_cpu(query(b).responder)), 1);
	close_rig();
}

/*
 * IBTA annex A17: the source port is in the dynamic range. It must differ between connections, because
 * networks select paths by it. With random ports, 32 connections get about 32 of the 16384.
 */
Test(conn, qp_connect__source_ports_differ)
{
	uint16_t seen[64];
	unsigned int n = 0, distinct = 0;

	open_rig();
	for (unsigned int i = 0; i < 32; i++) {
		address(1024, 1024);
		cr_assert_eq(m5_hw.qp_connect(a), 0);
		cr_assert_eq(m5_hw.qp_connect(b), 0);
		seen[n++] = sport_of(a);
		seen[n++] = sport_of(b);
	}
	for (unsigned int i = 0; i < n; i++) {
		bool again = false;

		cr_expect_geq(seen[i], 0xc000);
		for (unsigned int k = 0; k < i; k++)
			again |= seen[k] == seen[i];
		distinct += !again;
	}
	cr_expect_geq(distinct, 16);
	close_rig();
}

/* Gives a's peer a UDP port, as ip= does. A peer with another MAC address is not on this host. */
static void peer_has_udp(uint16_t mtu, bool elsewhere)
{
	address(4096, 4096);
	a->remote_path.own[6] = 0xc0;
	a->remote_path.own[5] ^= elsewhere;
	a->remote_path.lid = mtu;
}

Test(conn, qp_connect__to_another_host_without_ip_is_refused)
{
	open_rig();
	peer_has_udp(1024, true);
	cr_expect_eq(m5_hw.qp_connect(a), -EHOSTUNREACH);
	peer_has_udp(1024, false);
	cr_expect_eq(m5_hw.qp_connect(a), 0);
	cr_expect_eq(m5_hw.qp_connect(b), 0);
	cr_expect_eq(mtu_of(a), 5, "the MTU by UDP limits a connection within a host");
	cr_expect_eq(be32_to_cpu(query(a).primary.lid) & 0xffff, 0);
	close_rig();
}

Test(conn, qp_connect__refuses_an_invalid_mtu_by_udp)
{
	static const uint16_t mtus[] = { 0, 128, 1000, 8192 };

	open_rig();
	for (size_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
		peer_has_udp(mtus[i], false);
		cr_expect_eq(m5_hw.qp_connect(a), -EPROTO, "MTU %u", mtus[i]);
	}
	close_rig();
}

/*
 * IEEE 802.1Q: a priority has three bits. The fourth bit of an SL would be the drop eligible bit.
 */
Test(conn, ia_open__service_level_beyond_the_priorities_of_ethernet_is_refused)
{
	struct rig_config c = { .params = "sl=7" };

	cr_assert_eq(rig_open(&r, &c), 0);
	rig_close(&r, NULL);
	c.params = "sl=8";
	cr_assert_eq(rig_open(&r, &c), -EINVAL);
	c.params = "sl=premium:15";
	cr_assert_eq(rig_open(&r, &c), -EINVAL);
}

/* The software ConnectX has a RoCE v2 address in entry 0 alone. */
Test(conn, ia_open__gid_index_selects_an_entry_of_the_table)
{
	struct rig_config c = { .params = "gid_index=0" };

	cr_assert_eq(rig_open(&r, &c), 0);
	cr_expect_eq(m5_ia(r.ia)->port.gid_index, 0);
	rig_close(&r, NULL);
	c.params = "gid_index=1";
	cr_assert_eq(rig_open(&r, &c), -EINVAL);
	c.params = "gid_index=200";
	cr_assert_eq(rig_open(&r, &c), -EINVAL);
}

/* Adds a second RoCE v2 address: 2001:db8::1. */
static void add_gid(unsigned int index)
{
	const struct m5_set_roce_address_in in = {
		.hdr.opcode = cpu_to_be16(M5_CMD_SET_ROCE_ADDRESS),
		.index = cpu_to_be32(index << 16),
		.addr = { .gid = { 0x20, 1, 0xd, 0xb8, [15] = 1 }, .mac_lo = cpu_to_be32(index),
			  .version = cpu_to_be32(M5_ROCE_L3_IPV6 << 8 | M5_ROCE_V2) },
	};
	struct m5_out_hdr out[2];

	cr_assert_eq(m5_cmd(m5_ia(r.ia)->ctl, &in, sizeof(in), out, sizeof(out)), 0);
}

/* PRM "Address Path": src_addr_index is in 23:16 of word 2. */
static unsigned int source_of(struct dap_ep *ep)
{
	return be32_to_cpu(query(ep).primary.gid) >> 16 & 255;
}

Test(conn, qp_connect__source_is_the_entry_of_the_port_among_two)
{
	open_rig();
	add_gid(1);
	address(1024, 1024);
	cr_assert_eq(m5_hw.qp_connect(a), 0);
	m5_ia(r.ia)->port.gid_index = 1;
	cr_assert_eq(m5_hw.qp_connect(b), 0);
	cr_expect_eq(source_of(a), 0);
	cr_expect_eq(source_of(b), 1);
	close_rig();
}

struct marks {
	unsigned int tclass, dscp, priority;
};

/* PRM "Address Path": tclass is in 27:20 of word 3, dscp in 21:16 of word 8, eth_prio in 30:28 of 9. */
static void expect_marks(struct dap_ep *ep, struct marks want, const char *end)
{
	struct m5_qpc qpc = query(ep);

	cr_expect_eq(be32_to_cpu(qpc.primary.flow) >> 20 & 255, want.tclass,
		     "%s: the QP has the wrong traffic class", end);
	cr_expect_eq(be32_to_cpu(qpc.primary.udp) >> 16 & 63, want.dscp,
		     "%s: the QP has the wrong DSCP", end);
	cr_expect_eq(be32_to_cpu(qpc.primary.mac_hi) >> 28 & 7, want.priority,
		     "%s: the QP has the wrong Ethernet priority", end);
}

/* Checks the connection of both ends at the device; their traffic classes differ. */
static void connect_with(const char *params, uint32_t mine, struct marks my, uint32_t theirs,
			 struct marks their)
{
	struct rig_config c = { .params = params };

	cr_assert_eq(rig_open(&r, &c), 0);
	cr_assert_eq(rig_ep(&r, &r.a, &a), 0);
	cr_assert_eq(rig_ep(&r, &r.b, &b), 0);
	a->qos = mine;
	b->qos = theirs;
	cr_assert_eq(m5_hw.qp_address(a), 0);
	cr_assert_eq(m5_hw.qp_address(b), 0);
	a->remote_path = b->local_path;
	b->remote_path = a->local_path;
	cr_assert_eq(m5_hw.qp_connect(a), 0);
	cr_assert_eq(m5_hw.qp_connect(b), 0);
	expect_marks(a, my, params);
	expect_marks(b, their, params);
	close_rig();
}

enum { BEST_EFFORT, HIGH_THROUGHPUT, LOW_LATENCY, ECONOMY = 4, PREMIUM = 8 };

/* RFC 2474: the DSCP is the upper six bits of the traffic class; RFC 3168: the lower two are ECN. */
Test(conn, qp_connect__each_class_has_its_traffic_class_and_priority)
{
	connect_with("", BEST_EFFORT, (struct marks){ 0, 0, 0 }, PREMIUM, (struct marks){ 0, 0, 0 });
	connect_with("tclass=0x6a sl=3", BEST_EFFORT, (struct marks){ 0x6a, 26, 3 }, ECONOMY,
		     (struct marks){ 0x6a, 26, 3 });
	connect_with("dscp=low_latency:46,sl=low_latency:5", LOW_LATENCY, (struct marks){ 184, 46, 5 },
		     BEST_EFFORT, (struct marks){ 0, 0, 0 });
	connect_with("tclass=8 tclass=premium:255 sl=1 sl=high_throughput:7", PREMIUM,
		     (struct marks){ 255, 63, 1 }, HIGH_THROUGHPUT, (struct marks){ 8, 2, 7 });
	connect_with("tclass=economy:4 dscp=2", ECONOMY, (struct marks){ 8, 2, 0 }, LOW_LATENCY,
		     (struct marks){ 8, 2, 0 });
}

static void live(struct dap_ep *ep)
{
	ep->state = DAP_EP_CONNECTED;
	ep->obj.table = ep->obj.ia->tables[DAP_TABLE_EP_LIVE];
}

/* The device would execute the read, but the peer may serve no reads. */
RIG_TEST(conn, rdma_read__where_none_may_be_outstanding_is_refused)
{
	static const struct { uint32_t out, in; DAT_RETURN ret; } cases[] = {
		{ 1, 1, DAT_SUCCESS }, { 0, 4, DAT_INVALID_PARAMETER },
		{ 0, 0, DAT_INVALID_PARAMETER },
	};
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8);
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 0, 8);
	DAT_EVENT ev;

	for (unsigned int i = 0; i < 3; i++) {
		r.attr.max_rdma_read_out = cases[i].out;
		r.attr.max_rdma_read_in = cases[i].in;
		address(1024, 1024);
		cr_assert_eq(m5_hw.qp_connect(a), 0);
		cr_assert_eq(m5_hw.qp_connect(b), 0);
		live(a);
		live(b);
		for (int n = 0; n < 2; n++) {
			t.segment_length = l.segment_length = (DAT_VLEN)n * 8;
			cr_expect_eq(DAT_GET_TYPE(r.hot->rdma_read(a, n, &l, rig_cookie(1), &t, 0)),
				     cases[i].ret,
				     "wrong result of a read: %u reads out, %u reads in",
				     cases[i].out, cases[i].in);
			cr_assert(cases[i].ret || rig_event(&r, r.a.request, &ev));
		}
		t.segment_length = l.segment_length = 8;
		cr_expect_eq(r.hot->rdma_write(a, 1, &l, rig_cookie(1), &t, 0), DAT_SUCCESS);
		cr_assert(rig_event(&r, r.a.request, &ev));
	}
}

#define REFUSED(member, value)                                                                     \
	do {                                                                                       \
		address(1024, 1024);                                                               \
		a->remote_path.member = (value);                                                   \
		cr_expect_eq(m5_hw.qp_connect(a), -EPROTO,                                         \
			     "a connection with " #member " = " #value " is not refused");         \
	} while (0)

/* A device refuses such a path. A software adapter would choose memory or UDP. */
Test(conn, qp_connect__to_an_address_of_another_ip_version_fails)
{
	static const uint8_t ipv4[16] = { [10] = 0xff, 0xff, 192, 0, 2, 1 };
	struct softnic *soft;
	struct m5_ctl *ctl;

	open_rig();
	ctl = m5_ia(r.ia)->ctl;
	soft = ctl->soft;
	address(1024, 1024);
	memcpy(a->remote_path.gid, ipv4, sizeof(ipv4));
	fake.quiet = true;
	ctl->soft = NULL;
	cr_expect_eq(m5_hw.qp_connect(a), -EHOSTUNREACH);
	ctl->soft = soft;
	close_rig();
}

/* Values that come from a peer are checked. */
Test(conn, qp_connect__refuses_a_path_that_can_not_be)
{
	open_rig();
	fake.quiet = true;
	REFUSED(mtu, 0);
	REFUSED(mtu, 128);
	REFUSED(mtu, 257);
	REFUSED(mtu, 1500);
	REFUSED(mtu, 4095);
	REFUSED(mtu, 8192);
	REFUSED(qpn, 0);
	REFUSED(qpn, 1 << 24);
	REFUSED(psn, 1 << 24);
	REFUSED(proto, a->local_path.proto + 1);
	REFUSED(link_layer, a->local_path.link_layer ^ 3);
	REFUSED(own[6], 1);
	REFUSED(own[7], 1);
	address(1024, 1024);
	cr_expect_eq(m5_hw.qp_connect(a), 0);
	close_rig();
}

static int port_err;

static int port_fails(struct m5_ctl *ctl, struct m5_port *port)
{
	(void)ctl, (void)port;
	return port_err;
}

static bool port_changed;

static int read_port_event(struct m5_ctl *ctl, struct m5_event *ev)
{
	bool first = !port_changed;

	(void)ctl;
	*ev = (struct m5_event){ .kind = M5_EVENT_PORT, .type = M5_EV_PORT_CHANGE };
	port_changed = true;
	return first;
}

/* The port changes, and then has this error; 0: none. */
static void port_change(int err)
{
	struct m5_ia *ia = m5_ia(r.ia);
	const struct m5_ctl_ops *real = ia->ctl->ops;
	struct m5_ctl_ops ops = *real;

	port_changed = false;
	port_err = err;
	ops.async_read = read_port_event;
	if (err)
		ops.port = port_fails;
	ia->ctl->ops = &ops;
	m5_hw.async_handle(r.ia);
	ia->ctl->ops = real;
}

/* Its entry in the table of partitions or GIDs may be that of another one by now. */
static void refused_while(int err, const char *what)
{
	open_rig();
	port_change(err);
	fake.quiet = true;
	cr_expect_eq(rig_connect(a, b), -EHOSTUNREACH);
	fake.quiet = false;
	cr_expect(strstr(fake.log, what), "the log says: %s", fake.log);
	port_change(0);
	cr_expect_eq(rig_connect(a, b), 0);
	close_rig();
}

Test(conn, qp_connect__of_a_port_that_left_its_partition_is_refused)
{
	refused_while(-ENETUNREACH, "partition 0xffff");
}

Test(conn, qp_connect__of_a_port_without_its_address_is_refused)
{
	refused_while(-ENETDOWN, "RoCE v2 address");
}
