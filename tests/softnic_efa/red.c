/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every kind of violation can be provoked: each name in the model has a test here, and the test fails if
 * the violation is not reported.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/efa/wire.h"
#include "softnic/fabric/fabric.h"
#include "tests/softnic_efa/rig.h"

static struct side a, b;
static struct wqe w;

static void spoil(unsigned int at, uint8_t bits, uint8_t set)
{
	w_send(&a, &w, 1, 0, 10);
	w.b[at] = (uint8_t)((w.b[at] & ~(unsigned int)bits) | set);
	post(&a, &w);
}

static void wqe_reserved(void) { spoil(14, 0, 0x80); }
static void wqe_meta(void) { spoil(2, 0x80, 0); }
static void wqe_first_last(void) { spoil(3, 0x08, 0); }
static void wqe_comp_req(void) { spoil(3, 0x10, 0); }
static void wqe_opcode(void) { spoil(2, 0x0f, 3); }

static void wqe_phase(void)
{
	w_send(&a, &w, 1, 0, 10);
	w.b[3] |= 1;
	post_raw(&a, &w);
	ring(&a);
}

/* Writes half of a WQE, then rings the doorbell. */
static void wqe_partial(void)
{
	w_send(&a, &w, 1, 0, 10);
	memcpy((uint8_t *)a.qp.sq.ring + (a.sq_pc++ & (a.qp.sq.depth - 1)) * 64, &w, 32);
	ring(&a);
}

static void wqe_sge_count(void)
{
	w_send(&a, &w, 1, 0, 10);
	put16(w.b + 6, 3);
	post(&a, &w);
}

static void wqe_inline(void)
{
	w_head(&a, &w, OP_SEND, INLINE, 1, 33);
	post(&a, &w);
}

static void wqe_length(void)
{
	w_send(&a, &w, 1, 0, a.caps.mtu + 1);
	post(&a, &w);
}

static void wqe_remote_length(void)
{
	w_rdma(&a, &w, OP_WRITE, 0, 1, 0, 0, 8);
	put32(w.b + 32, 9);
	post(&a, &w);
}

static void wqe_imm(void)
{
	w_rdma(&a, &w, OP_READ, IMM, 1, 0, 0, 8);
	post(&a, &w);
}

static void wqe_ah(void)
{
	w_send(&a, &w, 1, 0, 10);
	put16(w.b + 12, 77);
	post(&a, &w);
}

static void wqe_req_id(void)
{
	w_send(&a, &w, 1, 0, 10);
	post_phase(&a, &w);
	post(&a, &w);
}

static void wqe_lkey(void)
{
	w_send(&a, &w, 1, 0, 10);
	w_buf(&w, 32, a.mem, 10, a.lkey ^ 0x10000);
	post(&a, &w);
}

static uint32_t other_key(unsigned int access, uint16_t pd)
{
	uint32_t lkey, rkey;

	cr_assert_eq(
		softnic_efa_mr_reg(a.nic, pd, a.mem, 64, (uintptr_t)a.mem, access, &lkey, &rkey),
		0);
	return lkey;
}

static uint16_t other_pd(void)
{
	uint16_t pd;

	cr_assert_eq(softnic_efa_pd_alloc(a.nic, &pd), 0);
	return pd;
}

static void wqe_lkey_rights(void)
{
	w_rdma(&a, &w, OP_READ, 0, 1, 0, 0, 8);
	w_buf(&w, 48, a.mem, 8, other_key(0, a.pd));
	post(&a, &w);
}

static void wqe_lkey_pd(void)
{
	w_send(&a, &w, 1, 0, 8);
	w_buf(&w, 32, a.mem, 8, other_key(1, other_pd()));
	post(&a, &w);
}

/* The peer is silent, so no work completes. */
static void sq_overrun(void)
{
	softnic_efa_fault(b.nic, "silence");
	for (uint16_t i = 0; i < 65; i++) {
		w_send(&a, &w, i, 0, 8);
		post(&a, &w);
	}
}

static void sq_batch(void)
{
	for (uint16_t i = 0; i <= a.qp.max_batch; i++) {
		w_send(&a, &w, i, 0, 8);
		post_phase(&a, &w);
	}
	ring(&a);
}

static void sq_doorbell(void)
{
	__atomic_store_n(a.qp.sq.doorbell, 0x10001, __ATOMIC_RELEASE);
	softnic_efa_kick(a.nic, a.qp.handle);
}

static void sq_behind(void)
{
	w_send(&a, &w, 1, 0, 8);
	post_phase(&a, &w);
	w_send(&a, &w, 2, 0, 8);
	post_phase(&a, &w);
	a.sq_pc--;
	ring(&a);
}

static void sq_state(void)
{
	side_modify(&a, SOFTNIC_EFA_RESET, 0);
	side_modify(&a, SOFTNIC_EFA_INIT, 0);
	a.sq_pc = 0;
	w_send(&a, &w, 1, 0, 8);
	post(&a, &w);
}

static void rq_state(void)
{
	side_modify(&a, SOFTNIC_EFA_RESET, 0);
	a.rq_pc = 0;
	rx_post(&a, 1, 0, 8);
}

static void rq_overrun(void)
{
	for (uint16_t i = 0; i < 65; i++)
		rx_post(&a, i, 0, 8);
}

static void rq_doorbell(void)
{
	__atomic_store_n(a.qp.rq.doorbell, 0x10000, __ATOMIC_RELEASE);
	softnic_efa_kick(a.nic, a.qp.handle);
}

static void rx_one(uint16_t id, uint32_t lkey_ctrl)
{
	rx_desc(&a, id, a.mem, 8, lkey_ctrl);
}

static void rq_first_last(void) { rx_one(1, a.lkey | 1u << 31); rx_ring(&a); }
static void rq_partial(void) { rx_one(1, a.lkey | 1u << 30); rx_ring(&a); }
static void rq_reserved(void) { rx_one(1, a.lkey | 7u << 29); rx_ring(&a); }
static void rq_req_id(void) { rx_post(&a, 1, 0, 8); rx_post(&a, 1, 0, 8); }
static void rq_lkey(void) { rx_one(1, (a.lkey ^ 0x10000) | 3u << 30); rx_ring(&a); }
static void rq_lkey_rights(void) { rx_one(1, other_key(0, a.pd) | 3u << 30); rx_ring(&a); }
static void rq_lkey_pd(void) { rx_one(1, other_key(1, other_pd()) | 3u << 30); rx_ring(&a); }

static void rq_sge_count(void)
{
	rx_one(1, a.lkey | 1u << 30);
	rx_one(1, a.lkey);
	rx_one(1, a.lkey | 1u << 31);
	rx_ring(&a);
}

static void cq_overrun(void)
{
	side_modify(&a, SOFTNIC_EFA_ERR, 0);
	for (uint16_t i = 0; i < 257; i++) {
		w_send(&a, &w, i, 0, 8);
		post(&a, &w);
		for (int k = 0; k < 8; k++)
			softnic_efa_pump(a.nic);
	}
}

static void cq_ring(uint32_t value)
{
	__atomic_store_n(a.cq.doorbell, value, __ATOMIC_RELEASE);
	softnic_efa_kick_cq(a.nic, a.cq.cq);
}

static void cq_consumer(void) { cq_ring(5); }
static void cq_cmd_sn(void) { cq_ring(1u << 31 | 1u << 29); }

static void cq_arm(void)
{
	struct softnic_efa_cq_attr attr = { .entries = 16, .entry_size = 16, .sub_cqs = 1 };
	struct softnic_efa_cq cq;

	cr_assert_eq(softnic_efa_cq_create(a.nic, &attr, &cq), 0);
	__atomic_store_n(cq.doorbell, 1u << 31, __ATOMIC_RELEASE);
	softnic_efa_kick_cq(a.nic, cq.cq);
}

static void ah_duplicate(void)
{
	uint16_t ah;

	cr_assert_eq(softnic_efa_ah_create(a.nic, a.pd, b.caps.gid, &ah), 0);
	cr_assert_eq(ah, a.ah);
}

static void db_unknown(void) { softnic_efa_kick(a.nic, 200); }
static void cmd_object(void) { softnic_efa_cq_destroy(a.nic, 300); }
static void cmd_busy(void) { cr_assert_eq(softnic_efa_pd_dealloc(a.nic, a.pd), -16); }

static void qp_transition(void)
{
	struct softnic_efa_modify m = { .mask = SOFTNIC_EFA_SET_STATE, .state = SOFTNIC_EFA_INIT };

	cr_assert_eq(softnic_efa_qp_modify(a.nic, a.qp.handle, &m), -22);
}

static void cmd_field(void)
{
	struct softnic_efa_cq_attr attr = { .entries = 17, .entry_size = 16, .sub_cqs = 1 };
	struct softnic_efa_cq cq;

	cr_assert_eq(softnic_efa_cq_create(a.nic, &attr, &cq), -22);
}

/* Devices whose memory is all at bus addresses of the host. */
static void dma_refused(void)
{
	softnic_efa_close(a.nic);
	free(a.mem);
	side_open(&a, &(struct setup){ .flags = SOFTNIC_EFA_NO_THREAD, .bus = true });
	side_ready(&a, 0);
	cr_assert_eq(softnic_efa_ah_destroy(b.nic, b.pd, b.ah), 0);
	side_meet(&a, &b);
	a.refused = bus_of(&a, 0);
	a.refused_len = 1;
	w_send(&a, &w, 1, 0, 8);
	post(&a, &w);
}

static void cmd_resource(void)
{
	uint16_t pd;

	while (!softnic_efa_pd_alloc(a.nic, &pd))
		;
}

static void cmd_caps(void)
{
	struct softnic_efa_qp_attr attr = { .pd = a.pd, .send_cq = a.cq.cq, .recv_cq = a.cq.cq,
					    .sq_depth = 64, .flags = SOFTNIC_EFA_QP_REQ_ID_64 };
	struct softnic_efa_qp qp;

	cr_assert_eq(softnic_efa_qp_create(a.nic, &attr, &qp), -95);
}

/* Violations that the target of a request reports. */

static void rx_address(void)
{
	w_rdma(&b, &w, OP_READ, 0, 1, 0, 0, 8);
	w_remote(&w, b.peer_mem, 8, a.rkey ^ 0x10000);
	post(&b, &w);
}

static void rx_rights(void)
{
	uint32_t lkey, rkey;

	cr_assert_eq(softnic_efa_mr_reg(a.nic, a.pd, a.mem, 64, 0, 1, &lkey, &rkey), 0);
	w_rdma(&b, &w, OP_READ, 0, 1, 0, 0, 8);
	w_remote(&w, NULL, 8, rkey);
	post(&b, &w);
}

static void rx_unknown_peer(void)
{
	cr_assert_eq(softnic_efa_ah_destroy(a.nic, a.pd, a.ah), 0);
	w_rdma(&b, &w, OP_READ, 0, 1, 0, 0, 8);
	post(&b, &w);
}

static void rx_qkey(void)
{
	w_send(&b, &w, 1, 0, 8);
	w.b[16] ^= 1;
	post(&b, &w);
}

static void rx_short(void)
{
	rx_post(&a, 1, 0, 7);
	w_send(&b, &w, 1, 0, 8);
	post(&b, &w);
}

static void rx_feature(void)
{
	struct softnic_efa_qp_attr attr = { .pd = a.pd, .send_cq = a.cq.cq, .recv_cq = a.cq.cq,
					    .sq_depth = 64, .flags = SOFTNIC_EFA_QP_UNSOLICITED };

	cr_assert_eq(softnic_efa_qp_create(a.nic, &attr, &a.qp), 0);
	side_ready(&a, 0);
	b.peer_qpn = a.qp.qpn;
	w_rdma(&b, &w, OP_WRITE, IMM, 1, 0, 0, 8);
	post(&b, &w);
}

/* A device that can write meets one that cannot. */
static void rx_opcode(void)
{
	softnic_efa_close(a.nic);
	free(a.mem);
	side_open(&a, &(struct setup){ .profile = "read", .flags = SOFTNIC_EFA_NO_THREAD });
	side_ready(&a, 0);
	cr_assert_eq(softnic_efa_ah_destroy(b.nic, b.pd, b.ah), 0);
	side_meet(&a, &b);
	w_rdma(&b, &w, OP_WRITE, 0, 1, 0, 0, 8);
	post(&b, &w);
}

static void rx_malformed(void)
{
	static uint8_t junk[70];
	struct iovec iov = { junk, sizeof(junk) };
	struct sn_fab_dest dest;
	struct sn_fab *fab = side_stranger(&a, SNE_MAGIC, 0, &dest);

	cr_assert_eq(sn_fab_send(fab, &dest, &iov, 1), 0);
	for (int i = 0; i < 100; i++)
		softnic_efa_pump(a.nic);
	sn_fab_close(fab);
}

static const struct {
	const char *name;
	void (*provoke)(void);
} all[] = {
	{ "wqe.reserved_bits", wqe_reserved }, { "wqe.meta", wqe_meta },
	{ "wqe.first_last", wqe_first_last }, { "wqe.phase", wqe_phase },
	{ "wqe.comp_req", wqe_comp_req }, { "wqe.partial", wqe_partial },
	{ "wqe.opcode", wqe_opcode }, { "wqe.sge_count", wqe_sge_count },
	{ "wqe.inline", wqe_inline }, { "wqe.length", wqe_length },
	{ "wqe.remote_length", wqe_remote_length }, { "wqe.imm", wqe_imm },
	{ "wqe.ah", wqe_ah }, { "wqe.req_id", wqe_req_id }, { "wqe.lkey", wqe_lkey },
	{ "wqe.lkey_rights", wqe_lkey_rights }, { "wqe.lkey_pd", wqe_lkey_pd },
	{ "sq.overrun", sq_overrun }, { "sq.batch", sq_batch }, { "sq.doorbell", sq_doorbell },
	{ "sq.behind_doorbell", sq_behind }, { "sq.state", sq_state },
	{ "rq.overrun", rq_overrun }, { "rq.doorbell", rq_doorbell }, { "rq.state", rq_state },
	{ "rq.first_last", rq_first_last }, { "rq.partial", rq_partial },
	{ "rq.reserved_bits", rq_reserved }, { "rq.req_id", rq_req_id },
	{ "rq.sge_count", rq_sge_count }, { "rq.lkey", rq_lkey },
	{ "rq.lkey_rights", rq_lkey_rights }, { "rq.lkey_pd", rq_lkey_pd },
	{ "cq.overrun", cq_overrun }, { "cq.consumer", cq_consumer }, { "cq.cmd_sn", cq_cmd_sn },
	{ "cq.arm", cq_arm }, { "ah.duplicate", ah_duplicate }, { "db.unknown", db_unknown },
	{ "qp.transition", qp_transition }, { "dma.refused", dma_refused }, { "cmd.field", cmd_field },
	{ "cmd.object", cmd_object }, { "cmd.resource", cmd_resource }, { "cmd.busy", cmd_busy },
	{ "cmd.caps", cmd_caps }, { "rx.bad_address", rx_address }, { "rx.rights", rx_rights },
	{ "rx.unknown_peer", rx_unknown_peer }, { "rx.qkey", rx_qkey },
	{ "rx.short_buffer", rx_short }, { "rx.feature", rx_feature },
	{ "rx.opcode", rx_opcode }, { "rx.malformed", rx_malformed },
};

static void turn_red(const char *name, void (*provoke)(void))
{
	struct softnic_violation v[8];
	size_t n;

	pair_open(&a, &b, &(struct setup){ .cq_flags = SOFTNIC_EFA_CQ_EVENTS, .rnr_retry = 1 });
	provoke();
	settle(&a, &b, 3000);
	n = softnic_efa_violations(a.nic, v, 8);
	cr_expect_eq(n, 1, "%s was expected, but %zu kinds of violation were reported", name, n);
	for (size_t i = 0; i < n; i++)
		cr_expect_str_eq(v[i].name, name, "violation %s was reported instead of %s: %s",
				 v[i].name, name, v[i].detail);
	pair_abandon(&a, &b);
}

/* The device takes the doorbell back, so its next look finds no new descriptors. */
Test(red, rq_overrun__is_reported_once)
{
	struct softnic_violation v[8];

	pair_open(&a, &b, &(struct setup){ 0 });
	rq_overrun();
	settle(&a, &b, 3000);
	cr_assert_eq(softnic_efa_violations(a.nic, v, 8), 1);
	cr_expect_eq(v[0].count, 1, "%s is reported %llu times", v[0].name,
		     (unsigned long long)v[0].count);
	pair_abandon(&a, &b);
}

static int to_state(enum softnic_efa_qp_state state)
{
	const struct softnic_efa_modify m = {
		.mask = SOFTNIC_EFA_SET_STATE | (state == SOFTNIC_EFA_INIT ? SOFTNIC_EFA_SET_QKEY : 0u),
		.state = state, .qkey = 7,
	};

	return softnic_efa_qp_modify(a.nic, a.qp.handle, &m);
}

/* Linux, ib_modify_qp_is_ok: ERR follows each state but RESET. */
Test(red, qp_modify__from_reset_to_error_is_refused)
{
	struct softnic_violation v[8];

	pair_open(&a, &b, &(struct setup){ 0 });
	cr_assert_eq(to_state(SOFTNIC_EFA_RESET), 0);
	cr_expect_eq(to_state(SOFTNIC_EFA_ERR), -22);
	cr_assert_eq(softnic_efa_violations(a.nic, v, 8), 1);
	cr_expect_str_eq(v[0].name, "qp.transition");
	cr_expect_eq(to_state(SOFTNIC_EFA_INIT), 0);
	cr_expect_eq(to_state(SOFTNIC_EFA_ERR), 0);
	pair_abandon(&a, &b);
}

/* Linux, efa_modify_qp: without IB_QP_STATE the command has no state either. */
Test(red, qp_modify__of_the_qkey_alone_keeps_the_state)
{
	struct softnic_efa_modify m = { .mask = SOFTNIC_EFA_SET_QKEY, .qkey = QKEY + 1 }, now;

	pair_open(&a, &b, &(struct setup){ 0 });
	cr_expect_eq(softnic_efa_qp_modify(a.nic, a.qp.handle, &m), 0);
	cr_assert_eq(softnic_efa_qp_query(a.nic, a.qp.handle, &now), 0);
	cr_expect_eq(now.state, SOFTNIC_EFA_RTS);
	cr_expect_eq(now.qkey, QKEY + 1);
	pair_abandon(&a, &b);
}

Test(red, every_violation__is_provoked_alone)
{
	for (const char *const *name = softnic_efa_violation_names(); *name; name++) {
		size_t i = 0;

		while (i < sizeof(all) / sizeof(all[0]) && strcmp(all[i].name, *name) != 0)
			i++;
		cr_assert_lt(i, sizeof(all) / sizeof(all[0]),
			     "no test case here provokes violation %s", *name);
		turn_red(*name, all[i].provoke);
	}
}
