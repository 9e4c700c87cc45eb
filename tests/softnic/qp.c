/* SPDX-License-Identifier: BSD-2-Clause */
/* QP transitions, and the receive queue. */
#include <criterion/criterion.h>

#include "tests/softnic/drv.h"

static struct drv *d;
static struct drv_cq scq, rcq;
static struct drv_qp a, b;
static struct drv_mr mr;

static void open_two(void)
{
	d = drv_open(0);
	drv_cq(d, &scq, 7, false);
	drv_cq(d, &rcq, 7, false);
	drv_qp(d, &a, &scq, &rcq);
	drv_qp(d, &b, &scq, &rcq);
	drv_mr(d, &mr, 8192, DRV_ALL);
}

static void close_two(void)
{
	drv_qp_free(&a);
	drv_qp_free(&b);
	drv_cq_free(&scq);
	drv_cq_free(&rcq);
	drv_mr_free(d, &mr);
	drv_close(d);
}

TestSuite(qp, .init = open_two, .fini = close_two);

/* Tries each transition in each state: checks the new state, or that the transition is refused with
 * 0x10. */
Test(qp, transition__each_succeeds_only_in_its_states)
{
	enum { RST, INIT, RTR, RTS, ERR = 6, NO = 99 };
	static const unsigned int states[] = { RST, INIT, RTR, RTS, ERR };
	static const unsigned int want[5][5] = {
		/* columns: RST2INIT, INIT2RTR, RTR2RTS, 2ERR, 2RST */
		{ INIT, NO, NO, ERR, RST },
		{ NO, RTR, NO, ERR, RST },
		{ NO, NO, RTS, ERR, RST },
		{ NO, NO, NO, ERR, RST },
		{ NO, NO, NO, ERR, RST },
	};

	for (unsigned int s = 0; s < 5; s++) {
		for (unsigned int t = 0; t < 5; t++) {
			uint8_t status;

			cr_assert_eq(drv_to(&a, CMD_2RST_QP), 0);
			if (s == 4)
				cr_assert_eq(drv_to(&a, CMD_2ERR_QP), 0);
			if (s >= 1 && s <= 3)
				cr_assert_eq(drv_init(&a), 0);
			if (s >= 2 && s <= 3)
				cr_assert_eq(drv_rtr(&a, b.qpn, 0), 0);
			if (s == 3)
				cr_assert_eq(drv_rts(&a, 0), 0);
			status = t == 0 ? drv_init(&a) : t == 1 ? drv_rtr(&a, b.qpn, 0) :
				 t == 2 ? drv_rts(&a, 0) : t == 3 ? drv_to(&a, CMD_2ERR_QP) :
				 drv_to(&a, CMD_2RST_QP);
			cr_expect_eq(status, want[s][t] == NO ? 0x10 : 0,
				     "wrong status of the change from state %u by command %u", s,
				     t);
			cr_expect_eq(drv_state(&a), want[s][t] == NO ? states[s] : want[s][t],
				     "wrong QP state after the change from state %u by command %u",
				     s, t);
		}
	}
	drv_expect(d, "cmd.state");
}

static uint8_t modify_with(uint16_t opcode, struct sn_fld fld, uint32_t v, bool in_path)
{
	uint8_t *ctx = d->in + AT_QPC;

	sn_set(in_path ? ctx + AT_ADS : ctx, fld, v);
	sn_set(d->in, CMD_OPCODE, opcode);
	return drv_run(d, AT_PAS);
}

Test(qp, rtr__with_a_bad_field_leaves_the_state)
{
	cr_assert_eq(drv_init(&a), 0);
	cr_assert_eq(drv_init(&b), 0);
	/* The valid command for b stays in the buffer. The test changes it to name a, and then
	 * makes it invalid. */
	cr_assert_eq(drv_rtr(&b, a.qpn, 0), 0);
	sn_set(d->in, CMD_NUMBER, a.qpn);
	cr_expect_eq(modify_with(CMD_INIT2RTR_QP, QPC_MTU, 6, false), 0x03);
	sn_set(d->in + AT_QPC, QPC_MTU, 3);
	cr_expect_eq(modify_with(CMD_INIT2RTR_QP, QPC_LOG_MSG_MAX, 31, false), 0x03);
	sn_set(d->in + AT_QPC, QPC_LOG_MSG_MAX, 30);
	cr_expect_eq(modify_with(CMD_INIT2RTR_QP, QPC_LOG_RRA_MAX, 7, false), 0x03);
	sn_set(d->in + AT_QPC, QPC_LOG_RRA_MAX, 2);
	cr_expect_eq(modify_with(CMD_INIT2RTR_QP, ADS_SRC_INDEX, 9, true), 0x03);
	sn_set(d->in + AT_QPC + AT_ADS, ADS_SRC_INDEX, 0);
	cr_expect_eq(modify_with(CMD_INIT2RTR_QP, ADS_PORT, 0, true), 0x03);
	cr_expect_eq(modify_with(CMD_INIT2RTR_QP, ADS_PORT, 2, true), 0x03);
	drv_expect(d, "cmd.field");
	cr_expect_eq(drv_state(&a), 1);
}

/* Linux: the opt_mask of mlx5_ib. RST2INIT has no optional parameter. */
Test(qp, optional_parameter__of_another_transition_is_refused)
{
	enum { RIGHTS = 7 << 1, PKEY = 1 << 4, Q_KEY = 1 << 5, RNR = 1 << 6, PORT = 1 << 16 };
	static const struct {
		uint16_t opcode;
		uint32_t allowed;
	} t[] = {
		{ CMD_RST2INIT_QP, 0 },
		{ CMD_INIT2INIT_QP, RIGHTS | PKEY | PORT },
		{ CMD_INIT2RTR_QP, RIGHTS | PKEY },
		{ CMD_RTR2RTS_QP, RIGHTS | RNR },
		{ CMD_RTS2RTS_QP, RIGHTS | RNR },
	};

	cr_assert_eq(drv_init(&b), 0);
	cr_assert_eq(drv_rtr(&b, a.qpn, 0), 0);
	/* The fields of this command fit each transition. */
	sn_set(d->in, CMD_NUMBER, a.qpn);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		sn_set(d->in, CMD_OPCODE, t[i].opcode);
		for (uint32_t bit = 1; bit; bit <<= 1) {
			sn_set32(d->in, QP_OPT_MASK, t[i].allowed | bit);
			if (!(t[i].allowed & bit) && bit != Q_KEY)
				cr_expect_eq(drv_run(d, AT_PAS), 0x03, "command %#x with bit %#x",
					     t[i].opcode, bit);
		}
		sn_set32(d->in, QP_OPT_MASK, t[i].allowed);
		cr_assert_eq(drv_run(d, AT_PAS), 0, "command %#x", t[i].opcode);
	}
	drv_expect(d, "cmd.field");
}

/* Runs the command in the buffer for the QP. bit: the only one of its opt_param_mask */
static uint8_t ask(uint32_t qpn, uint16_t opcode, uint32_t bit)
{
	sn_set(d->in, CMD_NUMBER, qpn);
	sn_set(d->in, CMD_OPCODE, opcode);
	sn_set32(d->in, QP_OPT_MASK, bit);
	return drv_run(d, AT_PAS);
}

/*
 * The second mask is behind the context (rdma-core: opt_param_mask_95_32 of INIT2INIT and RTS2RTS). Its
 * parameters have capabilities that this device does not report.
 */
Test(qp, optional_parameter__of_a_missing_capability_is_refused)
{
	enum { OPT_MASK_95_64 = 0x108, OPT_MASK_63_32 = 0x10c, UDP_SPORT = 1 << 2, MMO = 1 << 3 };

	memset(d->in, 0, AT_PAS);
	cr_assert_eq(drv_init(&b), 0);
	cr_assert_eq(drv_rtr(&b, a.qpn, 0), 0);
	cr_assert_eq(drv_init(&a), 0);
	sn_set32(d->in, OPT_MASK_63_32, MMO);
	cr_expect_eq(ask(a.qpn, CMD_INIT2INIT_QP, 0), 0x03);
	sn_set32(d->in, OPT_MASK_63_32, 0);
	cr_assert_eq(drv_rtr(&a, b.qpn, 0), 0);
	cr_assert_eq(drv_rts(&a, 0), 0);
	sn_set32(d->in, OPT_MASK_63_32, UDP_SPORT);
	cr_expect_eq(ask(a.qpn, CMD_RTS2RTS_QP, 0), 0x03);
	sn_set32(d->in, OPT_MASK_63_32, 0);
	sn_set32(d->in, OPT_MASK_95_64, 1);
	cr_expect_eq(ask(a.qpn, CMD_RTS2RTS_QP, 0), 0x03);
	sn_set32(d->in, OPT_MASK_95_64, 0);
	cr_expect_eq(ask(a.qpn, CMD_RTS2RTS_QP, 0), 0);
	drv_expect(d, "cmd.field");
}

/* Linux: opt_mask of mlx5_ib has other bits for RC than for UD. */
Test(qp, optional_parameter__of_another_service_is_refused)
{
	enum { RRE = 1 << 1, RAE = 1 << 2, RWE = 1 << 3, Q_KEY = 1 << 5, RNR = 1 << 6 };
	static const uint16_t opcodes[] = { CMD_INIT2INIT_QP, CMD_INIT2RTR_QP, CMD_RTR2RTS_QP,
					    CMD_RTS2RTS_QP };
	static const uint32_t of_rc[] = { RRE, RAE, RWE, RNR };
	struct drv_qp ud = { 0 };

	drv_qp_begin(d, &ud, &scq, &rcq);
	sn_set(d->in + AT_QPC, QPC_ST, ST_UD);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	ud.qpn = sn_get(d->out, CMD_NUMBER);
	cr_assert_eq(drv_init(&ud), 0);
	cr_assert_eq(drv_init(&b), 0);
	cr_assert_eq(drv_init(&a), 0);
	cr_assert_eq(drv_rtr(&b, a.qpn, 0), 0);
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		cr_expect_eq(ask(a.qpn, opcodes[i], Q_KEY), 0x03, "command %#x", opcodes[i]);
		for (size_t j = 0; j < sizeof(of_rc) / sizeof(of_rc[0]); j++)
			cr_expect_eq(ask(ud.qpn, opcodes[i], of_rc[j]), 0x03,
				     "command %#x with bit %#x", opcodes[i], of_rc[j]);
		cr_assert_eq(ask(a.qpn, opcodes[i], 0), 0);
		cr_assert_eq(ask(ud.qpn, opcodes[i], Q_KEY), 0);
	}
	drv_expect(d, "cmd.field");
	drv_qp_free(&ud);
}

static void send(struct drv_qp *qp, uint32_t off, uint32_t len)
{
	struct drv_wqe w;

	drv_ctrl(qp, &w, 0x0a, CE_ALWAYS << 2, 0);
	drv_data(&w, mr.mem + off, len, mr.key);
	drv_post(qp, &w);
}

Test(qp, receive__takes_wqes_in_order)
{
	struct drv_cqe e;

	drv_connect(&a, &b);
	for (uint32_t i = 0; i < 4096; i++)
		mr.mem[i] = (uint8_t)(i * 3);
	drv_recv(&b, &mr, 4096, 100);
	drv_recv(&b, &mr, 5000, 100);
	send(&a, 0, 100);
	send(&a, 100, 60);
	for (uint16_t i = 0; i < 2; i++) {
		drv_wait(&rcq, &e);
		cr_expect_eq(e.opcode, 2);
		cr_expect_eq(e.counter, i);
		cr_expect_eq(e.qpn, b.qpn);
		cr_expect_eq(e.byte_cnt, i ? 60 : 100);
		drv_wait(&scq, &e);
	}
	cr_expect_eq(memcmp(mr.mem, mr.mem + 4096, 100), 0);
	cr_expect_eq(memcmp(mr.mem + 100, mr.mem + 5000, 60), 0);
}

Test(qp, receive__too_short_fails_both_sides)
{
	struct drv_cqe e;

	drv_connect(&a, &b);
	drv_recv(&b, &mr, 4096, 10);
	drv_recv(&b, &mr, 4096, 10);
	send(&a, 0, 100);
	drv_wait(&rcq, &e);
	cr_expect_eq(e.opcode, 14);
	cr_expect_eq(e.syndrome, 0x01);
	drv_wait(&rcq, &e);
	cr_expect_eq(e.syndrome, 0x05);
	cr_expect_eq(e.counter, 1);
	drv_wait(&scq, &e);
	cr_expect_eq(e.opcode, 13);
	softnic_violations_clear(d->nic);
}

Test(qp, receive__with_an_invalid_key_gets_a_protection_error)
{
	struct drv_mr bad = mr;
	struct drv_cqe e;

	bad.key ^= 1;
	drv_connect(&a, &b);
	drv_recv(&b, &bad, 0, 100);
	send(&a, 0, 100);
	drv_wait(&rcq, &e);
	cr_expect_eq(e.opcode, 14);
	cr_expect_eq(e.syndrome, 0x04, "the completion has the wrong syndrome %#x", e.syndrome);
	cr_expect_gt(drv_count(d, "mkey.stale"), 0);
	softnic_violations_clear(d->nic);
}

/* A ConnectX has a max_wqe_sz_rq of 512 bytes, which is 32 segments. */
Test(qp, receive__of_as_many_segments_as_its_stride_holds_takes_them_all)
{
	enum { SEGMENTS = 32, LOG_STRIDE = 9, APART = 3 };
	struct drv_qp wide = { .log_rq = 6 };	/* 64 WQEs of 64 bytes, or 2 of 512 */
	struct drv_cqe e;

	drv_qp_begin(d, &wide, &scq, &rcq);
	sn_set(d->in + AT_QPC, QPC_LOG_RQ_SIZE, 1);
	sn_set(d->in + AT_QPC, QPC_LOG_RQ_STRIDE, LOG_STRIDE - 4);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	wide.qpn = sn_get(d->out, CMD_NUMBER);
	drv_connect(&a, &wide);
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		sn_set32(wide.rq, 16 * i, 1);
		sn_set32(wide.rq, 16 * i + 4, mr.key);
		sn_set64(wide.rq, 16 * i + 8, (uintptr_t)mr.mem + 4096 + APART * i);
		mr.mem[i] = (uint8_t)(i + 1);
	}
	__atomic_store_n(&wide.dbr[0], htobe32(1), __ATOMIC_RELEASE);
	send(&a, 0, SEGMENTS);
	drv_wait(&rcq, &e);
	cr_expect_eq(e.opcode, 2);
	cr_expect_eq(e.byte_cnt, SEGMENTS);
	for (uint32_t i = 0; i < SEGMENTS; i++)
		cr_expect_eq(mr.mem[4096 + APART * i], i + 1, "segment %u", i);
	drv_qp_free(&wide);
}

Test(qp, receive__more_than_the_ring_holds_is_seen)
{
	drv_connect(&a, &b);
	for (unsigned int i = 0; i < 17; i++)
		drv_recv(&b, &mr, 0, 8);
	send(&a, 0, 8);
	for (int i = 0; i < 100; i++)
		softnic_pump(d->nic);
	cr_expect_gt(drv_count(d, "rq.overrun"), 0);
	cr_expect_eq(drv_to(&b, CMD_2RST_QP), 0);
	softnic_violations_clear(d->nic);
}

Test(qp, receive__segment_of_no_bytes_is_seen)
{
	drv_connect(&a, &b);
	drv_recv(&b, &mr, 0, 0);
	send(&a, 0, 8);
	for (int i = 0; i < 100; i++)
		softnic_pump(d->nic);
	cr_expect_gt(drv_count(d, "rq.segment"), 0);
	softnic_violations_clear(d->nic);
}

/* Linux and libmlx5 end a short list with a byte count of 0 and this key together. */
Test(qp, receive__list_that_ends_with_a_length_is_seen)
{
	drv_connect(&a, &b);
	drv_recv(&b, &mr, 0, 64);
	sn_set32(b.rq, 16, 64);
	send(&a, 0, 8);
	for (int i = 0; i < 100; i++)
		softnic_pump(d->nic);
	cr_expect_gt(drv_count(d, "rq.segment"), 0);
	softnic_violations_clear(d->nic);
}

Test(qp, error__flushes_receives_also_those_posted_later)
{
	struct drv_cqe e;

	drv_connect(&a, &b);
	for (unsigned int i = 0; i < 3; i++)
		drv_recv(&b, &mr, 0, 8);
	cr_assert_eq(drv_to(&b, CMD_2ERR_QP), 0);
	drv_recv(&b, &mr, 0, 8);
	for (uint16_t i = 0; i < 4; i++) {
		drv_wait(&rcq, &e);
		cr_expect_eq(e.opcode, 14);
		cr_expect_eq(e.syndrome, 0x05);
		cr_expect_eq(e.counter, i);
	}
	cr_expect_not(softnic_pump(d->nic));
	cr_expect_not(drv_poll(&rcq, &e));
}

Test(qp, access_error__raises_an_event_at_the_responder)
{
	struct drv_wqe w;
	struct drv_cqe e;
	uint8_t type, data[28];

	drv_connect(&a, &b);
	while (drv_event(d, &type, data))
		;
	drv_ctrl(&a, &w, 0x08, CE_ALWAYS << 2, 0);
	drv_raddr(&w, (uintptr_t)mr.mem, mr.key ^ 1);
	drv_data(&w, mr.mem, 8, mr.key);
	drv_post(&a, &w);
	drv_wait(&scq, &e);
	cr_expect_eq(e.syndrome, 0x13);
	type = 0;
	while (type != 0x11 && drv_event(d, &type, data))
		;
	cr_expect_eq(type, 0x11);
	cr_expect_eq(sn_get32(data, 24), b.qpn);
	drv_expect(d, "remote.access");
}

Test(qp, destroy__with_work_in_flight_succeeds)
{
	drv_connect(&a, &b);
	for (unsigned int i = 0; i < 8; i++)
		send(&a, 0, 4096);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_QP, a.qpn), 0);
	a.qpn = 0;
	softnic_pump(d->nic);
}
