/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection's attributes from two paths: MTU, source port, and refused paths. */
#include <criterion/criterion.h>
#include <errno.h>

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

/* Two new QPs, whose ports have these MTUs. */
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

static struct m5_qpc query(struct dap_ep *ep)
{
	const struct m5_qp_ref *qp = &m5_ep(ep)->qp;
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_QUERY_QP),
				.number = cpu_to_be32(qp->qpn) };
	struct m5_query_qp_out out;

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

/* IBTA 9.7.5: 256 is 1, 4096 is 5; the smaller of the two ends'. */
Test(conn, qp_connect__takes_the_smaller_mtu)
{
	open_rig();
	for (unsigned int i = 1; i <= 5; i++) {
		for (unsigned int k = 1; k <= 5; k++) {
			address((uint16_t)(128u << i), (uint16_t)(128u << k));
			cr_assert_eq(m5_hw.qp_connect(a), 0);
			cr_assert_eq(m5_hw.qp_connect(b), 0);
			cr_expect_eq(mtu_of(a), i < k ? i : k, "%u to %u", i, k);
			cr_expect_eq(mtu_of(b), i < k ? i : k, "%u to %u", k, i);
		}
	}
	close_rig();
}

/*
 * IBTA annex A17: in the dynamic range, and different between connections, because networks select paths
 * by it. Random ports give 32 connections some 32 of 16384.
 */
Test(conn, qp_connect__source_ports)
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

/* IEEE 802.1Q: three bits of priority. The fourth of an SL would be the drop eligible bit. */
Test(conn, ia_open__service_level_beyond_the_priorities_of_ethernet)
{
	struct rig_config c = { .params = "sl=7" };

	cr_assert_eq(rig_open(&r, &c), 0);
	rig_close(&r, NULL);
	c.params = "sl=8";
	cr_assert_eq(rig_open(&r, &c), -EINVAL);
	c.params = "sl=15";
	cr_assert_eq(rig_open(&r, &c), -EINVAL);
}

static void live(struct dap_ep *ep)
{
	ep->state = DAP_EP_CONNECTED;
	ep->obj.table = ep->obj.ia->tables[DAP_TABLE_EP_LIVE];
}

/* The device would execute one; the peer may not serve any. */
RIG_TEST(conn, rdma_read__where_none_may_be_outstanding)
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
				     cases[i].ret, "%u out, %u in", cases[i].out, cases[i].in);
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
		cr_expect_eq(m5_hw.qp_connect(a), -EPROTO, #member " " #value);                    \
	} while (0)

/* Values from a peer are checked. */
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
	address(1024, 1024);
	cr_expect_eq(m5_hw.qp_connect(a), 0);
	close_rig();
}
