/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program names umems and other objects in its commands. Linux only puts the uid of the program's context
 * there and checks none of them. So only the device can keep a program from the memory of another.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/softnic/cold_rig.h"

enum { OWN, ANOTHERS, DRIVERS, UMEMS };
enum { SHARED = 0xffff };		/* the uid of an object that all programs may name */
enum { RECORD_AT = 4096, UMEM_SIZE = 2 * 4096, EQ_AT = UMEMS * UMEM_SIZE, MEM_SIZE = EQ_AT + 4096 };

static struct cold *c;
static uint8_t *mem;
static uint32_t uid, pd, uar, eqn, cqn, umem[UMEMS];

static uint8_t run_as(uint32_t user, size_t inlen)
{
	sn_set(c->in, CMD_UID, user);
	return cold_run(c, inlen, 16);
}

static uint32_t create_uctx(void)
{
	cold_begin(c, 0xa04, 0);
	cr_assert_eq(cold_run(c, 0x40, 16), 0);
	return sn_get(c->out, SN_FLD(0x50, 16));
}

static uint32_t create_umem(uint32_t user, uint8_t *at)
{
	uint8_t *ctx = c->in + AT_CTX;

	cold_begin(c, CMD_CREATE_UMEM, 0);
	sn_set64(ctx, UMEM_NUM_MTT, 2);
	sn_set64(ctx, UMEM_MTT, (uintptr_t)at | MTT_RD | MTT_WR);
	sn_set64(ctx, UMEM_MTT + 8, (uintptr_t)(at + 4096) | MTT_RD | MTT_WR);
	cr_assert_eq(run_as(user, AT_CTX + UMEM_MTT + 16), 0);
	return sn_get(c->out, CMD_NUMBER);
}

static uint32_t create_as(uint32_t user, size_t inlen)
{
	cr_assert_eq(run_as(user, inlen), 0);
	return sn_get(c->out, CMD_NUMBER);
}

static uint32_t alloc_as(uint32_t user, uint16_t opcode)
{
	cold_begin(c, opcode, 0);
	return create_as(user, 16);
}

static uint32_t create_eq(uint32_t user, uint8_t *ring)
{
	cold_begin(c, CMD_CREATE_EQ, 0);
	sn_set(c->in + AT_CTX, EQC_LOG_SIZE, 6);
	sn_set(c->in + AT_CTX, EQC_UAR, uar);
	sn_set64(c->in, AT_PAS, (uintptr_t)ring);
	cr_assert_eq(run_as(user, AT_PAS + 8), 0);
	return sn_get(c->out, CMD_EQN);
}

static size_t begin_cq(uint32_t ring, uint32_t record)
{
	uint8_t *ctx = c->in + AT_CTX;

	cold_begin(c, CMD_CREATE_CQ, 0);
	sn_set(ctx, CQC_LOG_SIZE, 4);
	sn_set(ctx, CQC_UAR, uar);
	sn_set(ctx, CQC_EQN, eqn);
	sn_set(ctx, CQC_DBR_UMEM, 1);
	sn_set32(ctx, CQC_DBR_UMEM_ID, record);
	sn_set64(ctx, CQC_DBR_ADDR, RECORD_AT);
	sn_set(c->in, CQ_UMEM_VALID, 1);
	sn_set32(c->in, CQ_UMEM_ID, ring);
	return AT_PAS;
}

/* Makes the command that resizes the CQ to another ring, with the doorbell record that the CQ has. */
static size_t begin_resize(uint32_t ring, uint32_t record)
{
	(void)record;
	cold_begin(c, CMD_MODIFY_CQ, 1);
	sn_set(c->in, CMD_NUMBER, cqn);
	sn_set32(c->in, CQ_MODIFY_SELECT, 7);
	sn_set(c->in + AT_CTX, CQC_LOG_SIZE, 5);
	sn_set(c->in, CQ_UMEM_VALID, 1);
	sn_set32(c->in, CQ_UMEM_ID, ring);
	return AT_PAS;
}

static size_t begin_qp(uint32_t ring, uint32_t record)
{
	uint8_t *ctx = c->in + AT_QPC;

	cold_begin(c, CMD_CREATE_QP, 0);
	sn_set(ctx, QPC_PM_STATE, 3);
	sn_set(ctx, QPC_PD, pd);
	sn_set(ctx, QPC_UAR, uar);
	sn_set(ctx, QPC_CQN_SND, cqn);
	sn_set(ctx, QPC_CQN_RCV, cqn);
	sn_set(ctx, QPC_LOG_SQ_SIZE, 3);
	sn_set(ctx, QPC_LOG_RQ_SIZE, 3);
	sn_set(ctx, QPC_LOG_RQ_STRIDE, 2);
	sn_set(ctx, QPC_TS_FORMAT, TS_DEFAULT);
	sn_set(ctx, QPC_DBR_UMEM, 1);
	sn_set32(ctx, QPC_DBR_UMEM_ID, record);
	sn_set64(ctx, QPC_DBR_ADDR, RECORD_AT);
	sn_set(c->in, QP_WQ_UMEM_VALID, 1);
	sn_set32(c->in, QP_WQ_UMEM_ID, ring);
	return AT_PAS;
}

static size_t begin_rmp(uint32_t ring, uint32_t record)
{
	uint8_t *wq = c->in + AT_WQ;

	cold_begin(c, CMD_CREATE_RMP, 0);
	sn_set(c->in + AT_RMPC, RMPC_STATE, RMPC_RDY);
	sn_set(wq, WQ_TYPE, WQ_LINKED_LIST);
	sn_set(wq, WQ_PD, pd);
	sn_set(wq, WQ_LOG_STRIDE, 6);
	sn_set(wq, WQ_LOG_SIZE, 3);
	sn_set(wq, WQ_UMEM, 1);
	sn_set32(wq, WQ_UMEM_ID, ring);
	sn_set(wq, WQ_DBR_UMEM, 1);
	sn_set32(wq, WQ_DBR_UMEM_ID, record);
	sn_set64(wq, WQ_DBR_ADDR, RECORD_AT);
	return AT_PAS;
}

static size_t begin_mkey(uint32_t pages, uint32_t record)
{
	uint8_t *mkc = c->in + AT_CTX;

	(void)record;
	cold_begin(c, CMD_CREATE_MKEY, 0);
	sn_set(mkc, MKC_LR, 1);
	sn_set(mkc, MKC_MODE_1_0, MODE_MTT);
	sn_set(mkc, MKC_QPN, 0xffffff);
	sn_set(mkc, MKC_PD, pd);
	sn_set(mkc, MKC_LOG_PAGE, 12);
	sn_set64(mkc, MKC_LEN, 4096);
	sn_set32(mkc, MKC_XLT_SIZE, 1);
	sn_set(c->in, MKEY_UMEM_VALID, 1);
	sn_set32(c->in, MKEY_UMEM_ID, pages);
	return AT_PAS;
}

static void setup(void)
{
	c = cold_open();
	cold_boot(c);
	mem = aligned_alloc(4096, MEM_SIZE);
	cr_assert_not_null(mem);
	memset(mem, 0, MEM_SIZE);
	uid = create_uctx();
	uar = alloc_as(uid, CMD_ALLOC_UAR);
	pd = alloc_as(uid, CMD_ALLOC_PD);
	eqn = create_eq(SHARED, mem + EQ_AT);
	umem[OWN] = create_umem(uid, mem);
	umem[ANOTHERS] = create_umem(create_uctx(), mem + UMEM_SIZE);
	umem[DRIVERS] = create_umem(0, mem + 2 * UMEM_SIZE);
	cr_assert_eq(run_as(uid, begin_cq(umem[OWN], umem[OWN])), 0);
	cqn = sn_get(c->out, CMD_NUMBER);
}

static void teardown(void)
{
	cold_close(c);
	free(mem);
}

TestSuite(cold_umem, .init = setup, .fini = teardown, .timeout = 60);

Test(cold_umem, uctx__umem_is_not_anothers)
{
	static const struct {
		const char *name;
		size_t (*begin)(uint32_t ring, uint32_t record);
		bool record;
	} commands[] = {
		{ "CREATE_CQ", begin_cq, true },	{ "MODIFY_CQ", begin_resize, false },
		{ "CREATE_QP", begin_qp, true },	{ "CREATE_RMP", begin_rmp, true },
		{ "CREATE_MKEY", begin_mkey, false },
	};
	uint64_t refused = 0;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		size_t (*begin)(uint32_t, uint32_t) = commands[i].begin;

		for (int other = ANOTHERS; other <= DRIVERS; other++) {
			cr_expect_eq(run_as(uid, begin(umem[other], umem[OWN])), 0x05,
				     "%s with a foreign umem (%d) is not refused", commands[i].name,
				     other);
			refused++;
			if (!commands[i].record)
				continue;
			cr_expect_eq(run_as(uid, begin(umem[OWN], umem[other])), 0x05,
				     "%s with a doorbell record in a foreign umem (%d) is not "
				     "refused",
				     commands[i].name, other);
			refused++;
		}
		cr_expect_eq(run_as(uid, begin(umem[OWN], umem[OWN])), 0,
			     "%s failed with umems of its own user context", commands[i].name);
		cr_expect_eq(run_as(0, begin(umem[ANOTHERS], umem[OWN])), 0,
			     "%s by the driver failed with a umem of a user context",
			     commands[i].name);
	}
	cr_expect_eq(cold_count(c, "cmd.resource"), refused);
}

static size_t begin_qp_of_srq(uint32_t ring, uint32_t record)
{
	size_t len = begin_qp(ring, record);

	sn_set(c->in + AT_QPC, QPC_RQ_TYPE, RQ_SRQ);
	return len;
}

static uint32_t xrcd;

static size_t begin_xrc_srq(uint32_t ring, uint32_t record)
{
	(void)ring;
	(void)record;
	cold_begin(c, CMD_CREATE_XRC_SRQ, 0);
	sn_set(c->in + AT_CTX, XSRQC_XRCD, xrcd);
	sn_set(c->in + AT_CTX, XSRQC_CQN, cqn);
	sn_set(c->in + AT_CTX, XSRQC_PD, pd);
	return AT_PAS;
}

enum { PD, UAR, CQ, XRCD, RMP, KINDS };

/* Makes an object of each kind, all of one owner. */
static void make_objects(uint32_t owner, uint32_t its_umem, uint32_t number[KINDS])
{
	uint32_t own_pd = pd, own_uar = uar;

	number[PD] = pd = alloc_as(owner, CMD_ALLOC_PD);
	number[UAR] = uar = alloc_as(owner, CMD_ALLOC_UAR);
	number[CQ] = create_as(owner, begin_cq(its_umem, its_umem));
	number[XRCD] = alloc_as(owner, CMD_ALLOC_XRCD);
	number[RMP] = create_as(owner, begin_rmp(its_umem, its_umem));
	pd = own_pd;
	uar = own_uar;
}

/* The PD of another program leads to its memory, its UAR page and CQ to its doorbells and completions. */
Test(cold_umem, uctx__names_no_object_of_another)
{
	const struct {
		const char *name;
		size_t (*begin)(uint32_t ring, uint32_t record);
		size_t at;
		struct sn_fld field;
		int kind;
	} commands[] = {
		{ "PD of CREATE_QP", begin_qp, AT_QPC, QPC_PD, PD },
		{ "UAR of CREATE_QP", begin_qp, AT_QPC, QPC_UAR, UAR },
		{ "send CQ of CREATE_QP", begin_qp, AT_QPC, QPC_CQN_SND, CQ },
		{ "receive CQ of CREATE_QP", begin_qp, AT_QPC, QPC_CQN_RCV, CQ },
		{ "RMP of CREATE_QP", begin_qp_of_srq, AT_QPC, QPC_SRQN, RMP },
		{ "UAR of CREATE_CQ", begin_cq, AT_CTX, CQC_UAR, UAR },
		{ "PD of CREATE_RMP", begin_rmp, AT_WQ, WQ_PD, PD },
		{ "PD of CREATE_MKEY", begin_mkey, AT_CTX, MKC_PD, PD },
		{ "XRC domain of CREATE_XRC_SRQ", begin_xrc_srq, AT_CTX, XSRQC_XRCD, XRCD },
		{ "CQ of CREATE_XRC_SRQ", begin_xrc_srq, AT_CTX, XSRQC_CQN, CQ },
		{ "PD of CREATE_XRC_SRQ", begin_xrc_srq, AT_CTX, XSRQC_PD, PD },
	};
	const size_t n = sizeof(commands) / sizeof(commands[0]);
	uint32_t other = create_uctx(), anothers[KINDS], drivers[KINDS], refused = 0;

	make_objects(other, create_umem(other, mem + UMEM_SIZE), anothers);
	make_objects(0, umem[DRIVERS], drivers);
	xrcd = alloc_as(uid, CMD_ALLOC_XRCD);
	for (size_t i = 0; i < n; i++) {
		size_t len = commands[i].begin(umem[OWN], umem[OWN]);

		sn_set(c->in + commands[i].at, commands[i].field, anothers[commands[i].kind]);
		cr_expect_eq(run_as(uid, len), 0x05, "another's %s is not refused", commands[i].name);
		cr_expect_eq(run_as(0, len), 0, "the driver failed with the %s", commands[i].name);
		sn_set(c->in + commands[i].at, commands[i].field, drivers[commands[i].kind]);
		/* Linux makes the XRC domains of programs without their uid. */
		cr_expect_eq(run_as(uid, len), commands[i].kind == XRCD ? 0 : 0x05,
			     "the driver's %s, used by a program", commands[i].name);
		refused += commands[i].kind == XRCD ? 1 : 2;
	}
	cr_expect_eq(cold_count(c, "cmd.resource"), refused);
	cqn = drivers[CQ];
	cr_expect_eq(run_as(uid, begin_resize(umem[OWN], 0)), 0x05, "a program changes the driver's CQ");
	cr_expect_eq(run_as(0, begin_resize(umem[DRIVERS], 0)), 0);
}

/* Completions of a program do not fill the driver's EQ of commands and pages. */
Test(cold_umem, uctx__names_no_eq_of_another)
{
	const uint32_t owners[] = { SHARED, uid, 0, create_uctx() };

	for (size_t i = 0; i < 4; i++) {
		eqn = create_eq(owners[i], mem + EQ_AT);
		cr_expect_eq(run_as(uid, begin_cq(umem[OWN], umem[OWN])), i < 2 ? 0 : 0x05,
			     "a program's CQ with the EQ of uid %#x", owners[i]);
		cr_expect_eq(run_as(0, begin_cq(umem[OWN], umem[OWN])), 0);
	}
	cr_expect_eq(cold_count(c, "cmd.resource"), 2);
}

/* Such a key would reach the memory of all programs, and that of the kernel. */
Test(cold_umem, uctx__makes_no_key_of_physical_memory)
{
	uint64_t refused = 0;

	for (uint32_t user = 0; user <= uid; user += uid) {
		for (uint32_t in_umem = 0; in_umem < 2; in_umem++) {
			bool allowed = !user && !in_umem;
			size_t len = begin_mkey(umem[OWN], 0);

			sn_set(c->in + AT_CTX, MKC_MODE_1_0, MODE_PA);
			sn_set(c->in + AT_CTX, MKC_LENGTH64, 1);
			sn_set(c->in, MKEY_UMEM_VALID, in_umem);
			cr_expect_eq(run_as(user, len), allowed ? 0 : 0x03, "uid %u, mkey_umem_valid %u",
				     user, in_umem);
			refused += !allowed;
		}
	}
	cr_expect_eq(cold_count(c, "cmd.field"), refused);
}

/* The reserved lkey covers all memory: see key_use.c. */
Test(cold_umem, uctx__makes_no_qp_for_the_reserved_lkey)
{
	size_t len = begin_qp(umem[OWN], umem[OWN]);

	sn_set(c->in + AT_QPC, SN_FLD(0x5b, 1), 1);
	cr_expect_eq(run_as(uid, len), 0x03);
	cr_expect_eq(cold_count(c, "cmd.field"), 1);
	cr_expect_eq(run_as(0, len), 0);
}
