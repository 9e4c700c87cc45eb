/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects that Linux's mlx5_ib creates for itself. */
#include <criterion/criterion.h>

#include "tests/softnic/drv.h"

static struct drv *d;
static struct drv_cq cq;

static void setup(void)
{
	d = drv_open(0);
	drv_cq(d, &cq, 4, false);
}

static void teardown(void)
{
	drv_cq_free(&cq);
	drv_close(d);
}

TestSuite(mlx5_ib, .init = setup, .fini = teardown, .timeout = 60);

/* Checks that the command in d->in is refused with this status and this violation. */
static void refused(size_t inlen, uint8_t status, const char *name)
{
	uint8_t got = drv_run(d, inlen);

	cr_expect_eq(got, status, "the command returned the wrong status %#x", got);
	drv_expect(d, name);
}

static uint32_t alloc_xrcd(void)
{
	cr_assert_eq(drv_simple(d, 0x80e, 0), 0);
	return sn_get(d->out, SN_FLD(0x48, 24));
}

/* PRM "XRC SRQ context", from byte 0x10 on: xrcd at bit 0x28, cqn 0x48, pd 0xc8 */
static void begin_xrc_srq(uint32_t xrcd, uint32_t cqn, uint32_t pd)
{
	drv_begin(d, 0x705);
	sn_set(d->in + 0x10, SN_FLD(0x28, 24), xrcd);
	sn_set(d->in + 0x10, SN_FLD(0x48, 24), cqn);
	sn_set(d->in + 0x10, SN_FLD(0xc8, 24), pd);
}

Test(mlx5_ib, xrc_srq__holds_its_domain)
{
	uint32_t xrcd = alloc_xrcd(), srq;

	begin_xrc_srq(xrcd, cq.cqn, d->pd);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	srq = sn_get(d->out, SN_FLD(0x48, 24));
	cr_expect_neq(srq, 0);
	cr_expect_eq(drv_simple(d, 0x80f, xrcd), 0x06);
	drv_expect(d, "cmd.busy");
	cr_expect_eq(drv_simple(d, CMD_DESTROY_CQ, cq.cqn), 0x06);
	drv_expect(d, "cmd.busy");
	cr_expect_eq(drv_simple(d, 0x706, srq), 0);
	cr_expect_eq(drv_simple(d, 0x80f, xrcd), 0);
}

Test(mlx5_ib, xrc_srq__of_missing_objects_is_refused)
{
	uint32_t xrcd = alloc_xrcd();

	begin_xrc_srq(xrcd + 1, cq.cqn, d->pd);
	refused(AT_PAS, 0x05, "cmd.resource");
	begin_xrc_srq(xrcd, cq.cqn + 1, d->pd);
	refused(AT_PAS, 0x05, "cmd.resource");
	begin_xrc_srq(xrcd, cq.cqn, d->pd + 1);
	refused(AT_PAS, 0x05, "cmd.resource");
	begin_xrc_srq(xrcd, cq.cqn, d->pd);
	refused(AT_PAS - 4, 0x50, "cmd.length");
	cr_expect_eq(drv_simple(d, 0x706, 1), 0x05);
	drv_expect(d, "cmd.resource");
	cr_expect_eq(drv_simple(d, 0x80f, xrcd), 0);
	cr_expect_eq(drv_simple(d, 0x80f, xrcd), 0x05);
	drv_expect(d, "cmd.resource");
}

enum { UD = 2, QP0 = 7, QP1 = 8, REG_UMR = 12 };

/* PRM "QP context": service type at bit 8, PD at 0x28. */
static uint8_t make_qp(struct drv_qp *qp, unsigned int service, bool pd)
{
	uint8_t status;

	drv_qp_begin(d, qp, &cq, &cq);
	sn_set(d->in + AT_QPC, SN_FLD(0x08, 8), service);
	if (!pd)
		sn_set(d->in + AT_QPC, SN_FLD(0x28, 24), 0);
	status = drv_run(d, AT_PAS);
	qp->qpn = sn_get(d->out, CMD_NUMBER);
	return status;
}

static void to_init(struct drv_qp *qp, uint32_t qkey)
{
	uint8_t *ctx = drv_modify(qp, CMD_RST2INIT_QP);

	sn_set(ctx + AT_ADS, ADS_PORT, 1);
	sn_set(ctx, QPC_QKEY, qkey);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
}

static void init_to_rts(struct drv_qp *qp)
{
	uint8_t *ctx = drv_modify(qp, CMD_INIT2RTR_QP);

	sn_set(ctx, QPC_MTU, 1);
	sn_set(ctx, QPC_LOG_MSG_MAX, 8);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	drv_modify(qp, CMD_RTR2RTS_QP);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
}

static void to_rts_with(struct drv_qp *qp, uint32_t qkey)
{
	to_init(qp, qkey);
	init_to_rts(qp);
}

static void to_rts(struct drv_qp *qp)
{
	to_rts_with(qp, 0);
}

Test(mlx5_ib, create_qp__queue_1_sends_datagrams)
{
	struct drv_qp qp = { 0 };

	cr_assert_eq(make_qp(&qp, QP1, true), 0);
	to_rts(&qp);
	drv_qp_free(&qp);
}

/* PRM, datagram segment: the 48 bytes after the control segment. */
static void send_to_qp1(struct drv_qp *qp, unsigned int port, uint32_t qkey)
{
	struct drv_wqe w;

	drv_begin(d, CMD_QUERY_ROCE_ADDRESS);
	sn_set(d->in, ROCE_PORT, port);
	cr_assert_eq(drv_run(d, 16), 0);
	drv_ctrl(qp, &w, 0x0a, CE_ALWAYS << 2, 0);
	sn_set32(w.b, 16, qkey);
	sn_set32(w.b, 24, 1u << 31 | 1);
	memcpy(w.b + 36, d->out + AT_CTX + ROCE_MAC, 6);
	sn_set32(w.b, 44, 1u << 30);
	memcpy(w.b + 48, d->out + AT_CTX + ROCE_GID, 16);
	w.ds = 4;
	drv_inline(&w, "REQ", 3);
	drv_post(qp, &w);
}

/* Linux's connection manager sends from QP 1 to QP 1, and looks up the P_Key of what it receives. */
Test(mlx5_ib, qp1__receives_what_is_sent_to_1_and_sends_as_1)
{
	enum { QKEY = 0x1234, HEADER = 40 };
	const uint8_t *raw = cq.ring + 64;
	struct drv_qp qp1 = { 0 }, ud = { 0 };
	struct drv_mr mr;
	struct drv_cqe e;

	drv_mr(d, &mr, 256, DRV_ALL);
	cr_assert_eq(make_qp(&qp1, QP1, true), 0);
	to_rts_with(&qp1, QKEY);
	cr_assert_eq(make_qp(&ud, UD, true), 0);
	to_rts_with(&ud, QKEY);
	drv_recv(&qp1, &mr, 0, 256);
	send_to_qp1(&qp1, 1, QKEY);
	drv_wait(&cq, &e);
	drv_wait(&cq, &e);
	cr_assert_eq(e.opcode, 2);
	cr_expect_eq(sn_get32(raw, 24) & 0xffffff, 1);
	cr_expect_eq(sn_get32(raw, 36), 0xffff);
	cr_expect_arr_eq(mr.mem + HEADER, "REQ", 3);
	drv_qp_free(&qp1);
	send_to_qp1(&ud, 1, QKEY);
	drv_wait(&cq, &e);
	cr_expect_eq(e.opcode, 0, "a datagram without a receiver counts as sent");
	drv_qp_free(&ud);
	drv_mr_free(d, &mr);
}

static void completes(const struct drv_qp *qp, unsigned int opcode, uint8_t syndrome)
{
	struct drv_cqe e;

	drv_wait(&cq, &e);
	cr_expect_eq(e.qpn, qp->qpn);
	cr_expect_eq(e.opcode, opcode, "CQE opcode %u instead of %u", e.opcode, opcode);
	cr_expect_eq(e.syndrome, syndrome, "syndrome %u instead of %u", e.syndrome, syndrome);
}

/* IBTA 10.3.1.6, Send Queue Error: the connection manager goes on receiving, and Linux takes the QP back. */
Test(mlx5_ib, qp1__after_a_failed_send_receives_and_can_send_again)
{
	enum { QKEY = 0x1234, WRITE = 0x08, SQERR2RTS = 0x506, RTS = 3, SQER = 4 };
	enum { OK = 0, RECEIVED = 2, ERROR = 13 };
	struct drv_qp qp1 = { 0 }, ud = { 0 };
	struct drv_mr mr;
	struct drv_wqe w;

	drv_mr(d, &mr, 512, DRV_ALL);
	cr_assert_eq(make_qp(&qp1, QP1, true), 0);
	to_rts_with(&qp1, QKEY);
	cr_assert_eq(make_qp(&ud, UD, true), 0);
	to_rts_with(&ud, QKEY);
	drv_recv(&qp1, &mr, 0, 256);
	drv_recv(&qp1, &mr, 256, 256);
	drv_ctrl(&qp1, &w, WRITE, CE_ALWAYS << 2, 0);
	w.ds = 4;
	drv_post(&qp1, &w);
	drv_expect(d, "wqe.opcode");
	completes(&qp1, ERROR, 0x02);
	cr_expect_eq(drv_state(&qp1), SQER);
	send_to_qp1(&qp1, 1, QKEY);
	completes(&qp1, ERROR, 0x05);
	send_to_qp1(&ud, 1, QKEY);
	completes(&ud, OK, 0);
	completes(&qp1, RECEIVED, 0);
	drv_modify(&qp1, SQERR2RTS);
	cr_expect_eq(drv_run(d, AT_PAS), 0);
	cr_expect_eq(drv_state(&qp1), RTS);
	send_to_qp1(&qp1, 1, QKEY);
	completes(&qp1, OK, 0);
	completes(&qp1, RECEIVED, 0);
	drv_modify(&qp1, SQERR2RTS);
	refused(AT_PAS, 0x10, "cmd.state");
	drv_qp_free(&qp1);
	drv_qp_free(&ud);
	drv_mr_free(d, &mr);
}

/* Without completions the program cannot learn what was sent, so the QP does not stay in SQER. */
Test(mlx5_ib, qp1__whose_flush_overruns_its_queue_is_in_error)
{
	enum { QKEY = 0x1234, WRITE = 0x08, ERR = 6 };
	struct drv_qp qp1 = { 0 };
	struct drv_wqe w;

	drv_cq_free(&cq);
	drv_cq(d, &cq, 1, false);
	cr_assert_eq(make_qp(&qp1, QP1, true), 0);
	to_rts_with(&qp1, QKEY);
	drv_ctrl(&qp1, &w, WRITE, CE_ALWAYS << 2, 0);
	w.ds = 4;
	drv_put(&qp1, &w);
	drv_ctrl(&qp1, &w, 0, CE_ALWAYS << 2, 0);
	drv_put(&qp1, &w);
	drv_nop(&qp1, CE_ALWAYS);
	cr_expect_eq(drv_count(d, "cq.overrun"), 1);
	softnic_violations_clear(d->nic);
	cr_expect_eq(drv_state(&qp1), ERR);
	drv_qp_free(&qp1);
}

/* The first port must not keep a QP that is at the second one, and is freed there. */
Test(mlx5_ib, qp1__that_moves_to_another_port_is_that_ports)
{
	enum { QKEY = 0x1234, MASK_PORT = 1 << 16 };
	struct drv_qp qp1 = { 0 }, ud = { 0 };
	struct drv_mr mr;
	struct drv_cqe e;

	teardown();
	d = drv_open_two(0);
	drv_cq(d, &cq, 4, false);
	drv_mr(d, &mr, 256, DRV_ALL);
	cr_assert_eq(make_qp(&qp1, QP1, true), 0);
	to_init(&qp1, QKEY);
	sn_set(drv_modify(&qp1, CMD_INIT2INIT_QP) + AT_ADS, ADS_PORT, 2);
	sn_set32(d->in, QP_OPT_MASK, MASK_PORT);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	init_to_rts(&qp1);
	drv_recv(&qp1, &mr, 0, 256);
	send_to_qp1(&qp1, 2, QKEY);
	drv_wait(&cq, &e);
	drv_wait(&cq, &e);
	cr_expect_eq(e.opcode, 2, "QP 1 of the second port received nothing");
	cr_assert_eq(make_qp(&ud, UD, true), 0);
	to_rts_with(&ud, QKEY);
	drv_qp_free(&qp1);
	send_to_qp1(&ud, 1, QKEY);
	drv_wait(&cq, &e);
	cr_expect_eq(e.opcode, 0);
	drv_qp_free(&ud);
	drv_mr_free(d, &mr);
}

/* Programs send no management datagrams, and change no key but by their own QPs. */
Test(mlx5_ib, create_qp__of_a_program_for_management_or_umrs_is_refused)
{
	static const unsigned int services[] = { QP1, REG_UMR, 0 };

	for (size_t i = 0; i < 3; i++) {
		struct drv_qp qp = { 0 };

		drv_qp_begin(d, &qp, &cq, &cq);
		sn_set(d->in + AT_QPC, SN_FLD(0x08, 8), services[i]);
		sn_set(d->in + AT_QPC, SN_FLD(0x394, 1), !services[i]);	/* fast registration */
		sn_set(d->in, CMD_UID, 1);
		refused(AT_PAS, 0x03, "cmd.field");
		drv_qp_free(&qp);
	}
}

/* Only InfiniBand has subnet management. */
Test(mlx5_ib, create_qp__queue_0_of_an_infiniband_port_sends_datagrams)
{
	struct drv_qp qp = { 0 };

	teardown();
	d = drv_open(SOFTNIC_INFINIBAND);
	drv_cq(d, &cq, 4, false);
	cr_assert_eq(make_qp(&qp, QP0, true), 0);
	to_rts(&qp);
	cr_expect_eq(drv_state(&qp), 3, "the QP is not in the state RTS (3)");
	drv_qp_free(&qp);
}

Test(mlx5_ib, create_qp__unsupported_services_are_refused)
{
	static const struct {
		unsigned int service;
		bool pd;
		uint8_t status;
		const char *violation;
	} bad[] = {
		{ QP0, true, 0x03, "cmd.field" },	/* Ethernet has no such queue */
		{ QP1, false, 0x05, "cmd.resource" },
		{ 3, true, 0x03, "cmd.field" },		/* XRC is not supported */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct drv_qp qp = { 0 };

		cr_expect_eq(make_qp(&qp, bad[i].service, bad[i].pd), bad[i].status,
			     "case %zu: CREATE_QP returned the wrong status", i);
		drv_expect(d, bad[i].violation);
		drv_qp_free(&qp);
	}
}

/* Linux names no PD for the queue that changes keys. */
Test(mlx5_ib, create_qp__for_umrs_has_no_pd_and_sends_nothing)
{
	struct drv_qp qp = { 0 };
	struct drv_wqe w;
	struct drv_cqe e;

	cr_assert_eq(make_qp(&qp, REG_UMR, false), 0);
	to_rts(&qp);
	drv_nop(&qp, CE_ALWAYS);
	drv_wait(&cq, &e);
	cr_expect_eq(e.opcode, 0);
	drv_ctrl(&qp, &w, 0x0a, CE_ALWAYS << 2, 0);
	drv_inline(&w, "text", 4);
	drv_post(&qp, &w);
	drv_wait(&cq, &e);
	cr_expect_eq(e.opcode, 13);
	cr_expect_eq(e.syndrome, 0x02, "the syndrome is not 2, local QP operation error");
	drv_expect(d, "wqe.opcode");
	drv_qp_free(&qp);
}
