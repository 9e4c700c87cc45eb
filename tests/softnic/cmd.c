/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands: the output of each command, and the status of each refusal. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/softnic/drv.h"

static struct drv *d;

static void open_drv(void)
{
	d = drv_open(0);
}

static void close_drv(void)
{
	drv_close(d);
}

TestSuite(cmd, .init = open_drv, .fini = close_drv);

/* Checks that the command in d->in is refused with this status and this violation. */
static void refused(size_t inlen, uint8_t status, const char *name)
{
	uint8_t got = drv_run(d, inlen);

	cr_expect_eq(got, status, "the command returned the wrong status %#x", got);
	cr_expect_neq(sn_get32(d->out, 4), 0, "the refused command has no syndrome");
	drv_expect(d, name);
}

Test(cmd, opcode__unknown_is_refused)
{
	drv_begin(d, 0x7ff);
	refused(16, 0x02, "cmd.opcode");
}

Test(cmd, header__too_short_is_no_command)
{
	cr_expect_lt(softnic_cmd(d->nic, d->in, 7, d->out, 16), 0);
	cr_expect_lt(softnic_cmd(d->nic, d->in, 16, d->out, 7), 0);
}

Test(cmd, length__shorter_than_its_layout_is_refused)
{
	drv_begin(d, CMD_CREATE_QP);
	refused(AT_PAS - 4, 0x50, "cmd.length");
}

Test(cmd, out__is_truncated_or_zero_filled)
{
	uint8_t out[64];

	memset(out, 0xff, sizeof(out));
	drv_begin(d, CMD_QUERY_ISSI);
	cr_assert_eq(softnic_cmd(d->nic, d->in, 16, out, 8), 0);
	cr_expect_eq(out[0], 0);
	cr_expect_eq(out[8], 0xff);
	cr_assert_eq(softnic_cmd(d->nic, d->in, 16, out, sizeof(out)), 0);
	cr_expect_eq(out[63], 0);
}

Test(cmd, number__of_no_object_is_refused)
{
	static const uint16_t opcodes[] = { CMD_DEALLOC_PD,   CMD_DEALLOC_UAR,	CMD_DESTROY_UMEM,
					    CMD_DESTROY_MKEY, CMD_QUERY_MKEY,	CMD_DESTROY_CQ,
					    CMD_QUERY_CQ,     CMD_DESTROY_QP,	CMD_QUERY_QP,
					    CMD_2ERR_QP,      CMD_2RST_QP,	CMD_DESTROY_EQ,
					    CMD_QUERY_EQ };

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		drv_begin(d, opcodes[i]);
		sn_set(d->in, CMD_NUMBER, 0x654300);
		refused(16, 0x05, "cmd.resource");
	}
}

/* The number of an EQ is the lowest byte of this field, that of a user context the lowest two. */
Test(cmd, number__of_no_object_is_in_the_message)
{
	static const struct {
		uint16_t opcode;
		const char *end;
	} commands[] = {
		{ CMD_DEALLOC_PD, "PD: 0x654321" },	 { CMD_DESTROY_MKEY, "mkey: 0x654321" },
		{ CMD_QUERY_MKEY, "mkey: 0x654321" },	 { CMD_QUERY_CQ, "CQ: 0x654321" },
		{ CMD_MODIFY_CQ, "CQ: 0x654321" },	 { CMD_QUERY_QP, "QP: 0x654321" },
		{ CMD_2ERR_QP, "QP: 0x654321" },	 { CMD_QUERY_RMP, "RMP: 0x654321" },
		{ CMD_MODIFY_RMP, "RMP: 0x654321" },	 { CMD_QUERY_EQ, "EQ: 33" },
		{ CMD_DESTROY_EQ, "EQ: 33" },		 { CMD_DESTROY_UCTX, "user context: 17185" },
	};
	struct softnic_violation v;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		drv_begin(d, commands[i].opcode);
		sn_set(d->in, CMD_NUMBER, 0x654321);
		cr_expect_eq(drv_run(d, AT_PAS), 0x05);
		cr_assert_eq(softnic_violations(d->nic, &v, 1), 1);
		cr_expect(strstr(v.detail, commands[i].end), "\"%s\" does not end with \"%s\"", v.detail,
			  commands[i].end);
		softnic_violations_clear(d->nic);
	}
}

Test(cmd, destroy__of_an_object_in_use_is_busy)
{
	struct drv_cq cq;
	struct drv_qp qp = { 0 };
	uint32_t umem;

	drv_cq(d, &cq, 4, false);
	drv_qp(d, &qp, &cq, &cq);
	umem = cq.umem;
	cr_expect_eq(drv_simple(d, CMD_DEALLOC_PD, d->pd), 0x06);
	cr_expect_eq(drv_simple(d, CMD_DEALLOC_UAR, d->uar), 0x06);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_CQ, cq.cqn), 0x06);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_UMEM, umem), 0x06);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_UMEM, qp.umem), 0x06);
	drv_begin(d, CMD_DESTROY_EQ);
	sn_set(d->in, CMD_EQN, d->eq.eqn);
	cr_expect_eq(drv_run(d, 16), 0x06);
	cr_expect_eq(drv_count(d, "cmd.busy"), 6);
	drv_expect(d, "cmd.busy");
	drv_qp_free(&qp);
	drv_cq_free(&cq);
}

Test(cmd, objects__are_counted)
{
	static const char *const kinds[] = { "qp", "cq", "mkey", "pd", "uar", "umem", "eq", "rmp" };
	static const size_t want[] = { 1, 1, 1, 1, 1, 2, 1, 0 };
	struct drv_cq cq;
	struct drv_qp qp = { 0 };
	struct drv_mr mr;

	drv_cq(d, &cq, 4, false);
	drv_qp(d, &qp, &cq, &cq);
	drv_mr(d, &mr, 100, DRV_ALL);
	for (size_t i = 0; i < 8; i++)
		cr_expect_eq(softnic_object_count(d->nic, kinds[i]), want[i],
			     "wrong number of objects of kind %s", kinds[i]);
	drv_mr_free(d, &mr);
	drv_qp_free(&qp);
	drv_cq_free(&cq);
	cr_expect_eq(softnic_object_count(d->nic, "umem"), 0);
}

Test(cmd, close__frees_remaining_objects)
{
	struct softnic_config config = { .flags = SOFTNIC_NO_THREAD | SOFTNIC_LOOPBACK_ONLY };
	struct softnic *mine = d->nic;
	struct drv_cq cq;
	struct drv_qp qp = { 0 };
	struct drv_mr mr;
	uint32_t pd = d->pd, uar = d->uar;
	struct drv_eq eq = d->eq;

	/* A second device stays full, so that the sanitizer checks that closing frees everything. */
	cr_assert_eq(softnic_open(&config, &d->nic), 0);
	cr_assert_eq(drv_simple(d, CMD_ALLOC_PD, 0), 0);
	d->pd = sn_get(d->out, CMD_NUMBER);
	cr_assert_eq(drv_simple(d, CMD_ALLOC_UAR, 0), 0);
	d->uar = sn_get(d->out, CMD_NUMBER);
	drv_begin(d, CMD_CREATE_EQ);
	sn_set(d->in + AT_CTX, EQC_UAR, d->uar);
	sn_set64(d->in, AT_PAS, (uintptr_t)eq.ring);
	cr_assert_eq(drv_run(d, AT_PAS + 8), 0);
	d->eq.eqn = sn_get(d->out, CMD_EQN);
	drv_cq(d, &cq, 4, false);
	drv_qp(d, &qp, &cq, &cq);
	drv_mr(d, &mr, 8192, DRV_ALL);
	softnic_close(d->nic);
	free(mr.mem);
	free(qp.mem);
	free(cq.ring);
	d->nic = mine;
	d->pd = pd;
	d->uar = uar;
	d->eq = eq;
}

Test(cmd, create_umem__invalid_fields_are_refused)
{
	drv_begin(d, CMD_CREATE_UMEM);
	refused(0x30, 0x50, "cmd.length");
	sn_set64(d->in + AT_CTX, UMEM_NUM_MTT, 3);
	refused(0x30 + 16, 0x50, "cmd.length");
	sn_set64(d->in + AT_CTX, UMEM_NUM_MTT, 1);
	sn_set64(d->in + AT_CTX, UMEM_MTT, 0x1800 | MTT_RD);
	refused(0x38, 0x03, "cmd.field");
	sn_set64(d->in + AT_CTX, UMEM_MTT, 0x1000 | MTT_RD);
	sn_set32(d->in + AT_CTX, UMEM_PAGE_OFFSET, 4096);
	refused(0x38, 0x03, "cmd.field");
}

static void mkey_base(void)
{
	uint8_t *mkc = d->in + AT_CTX;

	drv_begin(d, CMD_CREATE_MKEY);
	sn_set(mkc, MKC_MODE_1_0, MODE_MTT);
	sn_set(mkc, MKC_QPN, 0xffffff);
	sn_set(mkc, MKC_PD, d->pd);
	sn_set(mkc, MKC_LOG_PAGE, 12);
	sn_set64(mkc, MKC_START, 0x10000800);
	sn_set64(mkc, MKC_LEN, 4096);
	sn_set32(mkc, MKC_XLT_SIZE, 1);
	sn_set32(d->in, MKEY_XLT_ACTUAL, 1);
	sn_set(d->in, MKEY_PG_ACCESS, 1);
	sn_set64(d->in, AT_PAS, 0x10000000 | MTT_RD);
	sn_set64(d->in, AT_PAS + 8, 0x10001000 | MTT_RD);
}

Test(cmd, create_mkey__invalid_fields_are_refused)
{
	uint8_t *mkc = d->in + AT_CTX;

	mkey_base();
	cr_expect_eq(drv_run(d, AT_PAS + 16), 0);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, sn_get(d->out, CMD_NUMBER)), 0);
	mkey_base();
	sn_set(mkc, MKC_PD, d->pd ^ 1);
	refused(AT_PAS + 16, 0x05, "cmd.resource");
	mkey_base();
	sn_set(mkc, MKC_MODE_4_2, 1);
	refused(AT_PAS + 16, 0x03, "cmd.field");
	mkey_base();
	sn_set32(mkc, MKC_XLT_SIZE, 0);
	refused(AT_PAS + 16, 0x03, "cmd.field");
	mkey_base();
	refused(AT_PAS + 8, 0x50, "cmd.length");
	mkey_base();
	sn_set64(mkc, MKC_LEN, 4096 + 4096);
	sn_set32(mkc, MKC_XLT_SIZE, 2);
	refused(AT_PAS + 16, 0x50, "cmd.length");
	mkey_base();
	sn_set64(mkc, MKC_START, UINT64_MAX - 100);
	refused(AT_PAS + 16, 0x03, "cmd.field");
	mkey_base();
	sn_set64(mkc, MKC_START, 0);
	sn_set64(mkc, MKC_LEN, UINT64_MAX);
	refused(AT_PAS + 16, 0x03, "cmd.field");
	mkey_base();
	sn_set64(d->in, AT_PAS, 0x10000400);
	refused(AT_PAS + 16, 0x03, "cmd.field");
	mkey_base();
	sn_set(mkc, MKC_FREE, 1);
	refused(AT_PAS + 16, 0x03, "cmd.field");
	mkey_base();
	sn_set(d->in, MKEY_UMEM_VALID, 1);
	sn_set32(d->in, MKEY_UMEM_ID, 0x1234);
	refused(AT_PAS + 16, 0x05, "cmd.resource");
}

/* log_max_mrw_sz is 63, also for keys without a list of pages. */
Test(cmd, mkey__length_above_the_announced_limit_is_refused)
{
	static const uint32_t modes[] = { MODE_PA, MODE_KLM };
	uint8_t *mkc = d->in + AT_CTX;

	for (size_t i = 0; i < 2; i++) {
		mkey_base();
		sn_set(mkc, MKC_MODE_1_0, modes[i]);
		sn_set64(mkc, MKC_START, 0);
		sn_set64(mkc, MKC_LEN, UINT64_C(1) << 63 | 1);
		sn_set32(d->in, MKEY_XLT_ACTUAL, 0);
		refused(AT_PAS, 0x03, "cmd.field");
		mkey_base();
		sn_set(mkc, MKC_MODE_1_0, modes[i]);
		sn_set64(mkc, MKC_START, 0);
		sn_set64(mkc, MKC_LEN, UINT64_C(1) << 63);
		sn_set32(d->in, MKEY_XLT_ACTUAL, 0);
		cr_expect_eq(drv_run(d, AT_PAS), 0);
		cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, sn_get(d->out, CMD_NUMBER)), 0);
	}
}

Test(cmd, mkey__query_returns_the_created_context)
{
	struct drv_mr mr;
	const uint8_t *mkc = d->out + AT_CTX;

	drv_mr(d, &mr, 5000, DRV_LR | DRV_RW);
	cr_assert_eq(drv_simple(d, CMD_QUERY_MKEY, mr.index), 0);
	cr_expect_eq(sn_get64(mkc, MKC_START), (uintptr_t)mr.mem);
	cr_expect_eq(sn_get64(mkc, MKC_LEN), 5000);
	cr_expect_eq(sn_get(mkc, MKC_KEY), 0x5a);
	cr_expect_eq(sn_get(mkc, MKC_RW), 1);
	cr_expect_eq(sn_get(mkc, MKC_RR), 0);
	cr_expect_eq(sn_get(mkc, MKC_PD), d->pd);
	drv_mr_free(d, &mr);
}

Test(cmd, create_mkey__over_a_umem_keeps_the_umem)
{
	uint8_t *mem = drv_pages(8192), *mkc = d->in + AT_CTX;
	uint32_t umem = drv_umem(d, mem, 8192), index;

	mkey_base();
	sn_set64(mkc, MKC_START, 0x5000);
	sn_set(d->in, MKEY_UMEM_VALID, 1);
	sn_set32(d->in, MKEY_UMEM_ID, umem);
	sn_set64(d->in, MKEY_UMEM_OFFSET, 4096);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	index = sn_get(d->out, CMD_NUMBER);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_UMEM, umem), 0x06);
	drv_expect(d, "cmd.busy");
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, index), 0);
	mkey_base();
	sn_set(d->in, MKEY_UMEM_VALID, 1);
	sn_set32(d->in, MKEY_UMEM_ID, umem);
	sn_set64(d->in, MKEY_UMEM_OFFSET, 4097);
	refused(AT_PAS, 0x03, "cmd.field");
	drv_umem_free(d, umem);
	free(mem);
}

static void cq_base(uint64_t *dbr, uint8_t *ring)
{
	uint8_t *ctx = d->in + AT_CTX;

	drv_begin(d, CMD_CREATE_CQ);
	sn_set(ctx, CQC_LOG_SIZE, 6);
	sn_set(ctx, CQC_UAR, d->uar);
	sn_set(ctx, CQC_EQN, d->eq.eqn);
	sn_set64(ctx, CQC_DBR_ADDR, (uintptr_t)dbr);
	sn_set64(d->in, AT_PAS, (uintptr_t)ring);
}

Test(cmd, create_cq__invalid_fields_are_refused)
{
	uint8_t *ctx = d->in + AT_CTX, *ring = drv_pages(4096);
	uint64_t dbr = 0;

	cq_base(&dbr, ring);
	cr_expect_eq(drv_run(d, AT_PAS + 8), 0);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_CQ, sn_get(d->out, CMD_NUMBER)), 0);
	cq_base(&dbr, ring);
	sn_set(ctx, CQC_UAR, d->uar + 1);
	refused(AT_PAS + 8, 0x05, "cmd.resource");
	cq_base(&dbr, ring);
	sn_set(ctx, CQC_EQN, d->eq.eqn ^ 1);
	refused(AT_PAS + 8, 0x05, "cmd.resource");
	cq_base(&dbr, ring);
	sn_set(ctx, CQC_LOG_SIZE, 23);
	refused(AT_PAS + 8, 0x03, "cmd.field");
	cq_base(&dbr, ring);
	sn_set(ctx, CQC_COMP_EN, 1);
	refused(AT_PAS + 8, 0x03, "cmd.field");
	cq_base(&dbr, ring);
	sn_set64(ctx, CQC_DBR_ADDR, (uintptr_t)&dbr + 4);
	refused(AT_PAS + 8, 0x03, "cmd.field");
	cq_base(&dbr, ring);
	refused(AT_PAS, 0x50, "cmd.length");
	cq_base(&dbr, ring);
	sn_set(d->in, CQ_UMEM_VALID, 1);
	refused(AT_PAS, 0x05, "cmd.resource");
	free(ring);
}

/* PRM "EQ context": intr is an index into the MSI-X table. An EQ without a vector would lose its events. */
Test(cmd, create_eq__beyond_the_msix_table_is_refused)
{
	drv_begin(d, CMD_CREATE_EQ);
	sn_set(d->in + AT_CTX, EQC_UAR, d->uar);
	sn_set(d->in + AT_CTX, EQC_INTR, SOFTNIC_VECTORS);
	sn_set64(d->in, AT_PAS, (uintptr_t)d->eq.ring);
	refused(AT_PAS + 8, 0x03, "cmd.field");
}

Test(cmd, create_qp__invalid_fields_are_refused)
{
	static const struct {
		struct sn_fld fld;
		uint32_t v;
		uint8_t status;
		const char *name;
	} cases[] = {
		{ QPC_ST, 3, 0x03, "cmd.field" },
		{ QPC_PD, 0x777, 0x05, "cmd.resource" },
		{ QPC_UAR, 1, 0x05, "cmd.resource" },
		{ QPC_CQN_SND, 0x777, 0x05, "cmd.resource" },
		{ QPC_CQN_RCV, 0x777, 0x05, "cmd.resource" },
		{ QPC_WQ_SIGN, 1, 0x03, "cmd.field" },
		{ QPC_TS_FORMAT, 0, 0x03, "cmd.field" },
		{ QPC_LOG_SQ_SIZE, 15, 0x03, "cmd.field" },
	};
	struct drv_cq cq;

	drv_cq(d, &cq, 4, false);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct drv_qp qp = { 0 };

		drv_qp_begin(d, &qp, &cq, &cq);
		sn_set(d->in + AT_QPC, cases[i].fld, cases[i].v);
		refused(AT_PAS, cases[i].status, cases[i].name);
		drv_qp_free(&qp);
	}
	drv_cq_free(&cq);
}

Test(cmd, special_contexts__name_the_reserved_lkey)
{
	drv_begin(d, CMD_QUERY_SPECIAL_CONTEXTS);
	cr_assert_eq(drv_run(d, 16), 0);
	cr_expect_neq(sn_get32(d->out, 12), 0);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, sn_get32(d->out, 12) >> 8), 0x05);
	drv_expect(d, "cmd.resource");
}

Test(cmd, query_hca_cap__reports_each_known_type)
{
	drv_begin(d, CMD_QUERY_HCA_CAP);
	sn_set(d->in, CMD_OP_MOD, 0 << 1 | 1);
	cr_assert_eq(drv_run(d, 16), 0);
	cr_expect_eq(sn_get(d->out + AT_CTX, SN_FLD(0x23f, 1)), 1, "the capability rc is not 1");
	cr_expect_eq(sn_get(d->out + AT_CTX, SN_FLD(0x1fc, 4)), 1,
		     "the capability cqe_version is not 1");
	sn_set(d->in, CMD_OP_MOD, 4 << 1);
	cr_assert_eq(drv_run(d, 16), 0);
	cr_expect_eq(sn_get(d->out + AT_CTX, SN_FLD(0xb0, 16)), 4791,
		     "the RoCE UDP port in the capabilities is not 4791");
	cr_expect_eq(sn_get(d->out + AT_CTX, SN_FLD(0x8c, 4)), 6,
		     "l3_type is not 6: bit 1 is IPv4, bit 2 is IPv6");
	sn_set(d->in, CMD_OP_MOD, 3 << 1);
	cr_assert_eq(drv_run(d, 16), 0);
	sn_set(d->in, CMD_OP_MOD, 0x70 << 1);
	refused(16, 0x03, "cmd.field");
}

/* The device reports the capabilities of a VF without these features: the query succeeds, and all
 * fields are zero. */
Test(cmd, caps__of_steering_and_device_memory_are_empty)
{
	static const uint32_t types[] = { 0x01, 0x07, 0x0f, 0x20 };
	static const uint8_t none[4096];

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		drv_begin(d, CMD_QUERY_HCA_CAP);
		sn_set(d->in, CMD_OP_MOD, types[i] << 1 | 1);
		cr_assert_eq(drv_run(d, 16), 0, "query of capabilities of type %#x failed",
			     types[i]);
		cr_expect_arr_eq(d->out + AT_CTX, none, sizeof(none),
				 "capabilities of type %#x are not all zero", types[i]);
	}
}

static uint32_t general_cap(struct sn_fld fld)
{
	drv_begin(d, CMD_QUERY_HCA_CAP);
	cr_assert_eq(drv_run(d, 16), 0);
	return sn_get(d->out + AT_CTX, fld);
}

/* Runs the command in d->in until 1 << log objects exist. The next one is refused. */
static void fills(const char *kind, unsigned int log, size_t inlen)
{
	size_t n = softnic_object_count(d->nic, kind);

	for (; n < (size_t)1 << log; n++)
		cr_assert_eq(drv_run(d, inlen), 0, "%s: object %zu of 2^%u cannot be created", kind,
			     n, log);
	cr_expect_eq(drv_run(d, inlen), 0x08,
		     "%s: creating one object more than 2^%u does not fail with status 8", kind,
		     log);
}

static void close_full(void)
{
	softnic_close(d->nic);
	free(d->eq.ring);
	free(d);
}

TestSuite(cmd_limit, .init = open_drv, .fini = close_full, .timeout = 120);

Test(cmd_limit, create__of_more_eqs_than_announced_is_refused)
{
	unsigned int log = general_cap(SN_FLD(0xfc, 4));
	uint8_t *ring = drv_pages(4096);

	drv_begin(d, CMD_CREATE_EQ);
	sn_set(d->in + AT_CTX, EQC_LOG_SIZE, 6);
	sn_set(d->in + AT_CTX, EQC_UAR, d->uar);
	sn_set64(d->in, AT_PAS, (uintptr_t)ring);
	fills("eq", log, AT_PAS + 8);
	softnic_reset(d->nic);
	free(ring);
}

Test(cmd_limit, create__of_more_pds_than_announced_is_refused)
{
	unsigned int log = general_cap(SN_FLD(0x32b, 5));

	drv_begin(d, CMD_ALLOC_PD);
	fills("pd", log, 16);
}

Test(cmd_limit, create__of_more_rmps_than_announced_is_refused)
{
	unsigned int log = general_cap(SN_FLD(0x383, 5));
	struct drv_srq srq = { .log = 1 };

	cr_assert_eq(log, general_cap(SN_FLD(0xab, 5)),
		     "the limits of RMPs and SRQs differ, but an SRQ is an RMP");
	drv_srq_begin(d, &srq);
	fills("rmp", log, AT_PAS);
	softnic_reset(d->nic);
	free(srq.mem);
}

Test(cmd, roce_address__query_returns_what_was_set_or_zeros)
{
	uint8_t gid[16] = { 0x20, 1, 0xd, 0xb8, [15] = 1 }, zero[16] = { 0 };

	drv_begin(d, CMD_SET_ROCE_ADDRESS);
	sn_set(d->in, ROCE_INDEX, 5);
	memcpy(d->in + AT_CTX, gid, sizeof(gid));
	sn_set(d->in + AT_CTX, ROCE_VERSION, 2);
	sn_set(d->in + AT_CTX, ROCE_L3_TYPE, 1);
	cr_assert_eq(drv_run(d, 0x30), 0);
	drv_begin(d, CMD_QUERY_ROCE_ADDRESS);
	sn_set(d->in, ROCE_INDEX, 5);
	cr_assert_eq(drv_run(d, 16), 0);
	cr_expect_eq(memcmp(d->out + AT_CTX, gid, 16), 0);
	drv_begin(d, CMD_SET_ROCE_ADDRESS);
	sn_set(d->in, ROCE_INDEX, 5);
	cr_assert_eq(drv_run(d, 0x30), 0);
	drv_begin(d, CMD_QUERY_ROCE_ADDRESS);
	sn_set(d->in, ROCE_INDEX, 5);
	cr_assert_eq(drv_run(d, 16), 0);
	cr_expect_eq(memcmp(d->out + AT_CTX, zero, 16), 0);
	sn_set(d->in, ROCE_INDEX, 16);
	refused(16, 0x03, "cmd.field");
}

Test(cmd, fault__fails_the_nth_command_and_no_other)
{
	cr_assert_eq(softnic_fault(d->nic, "cmd_fail=0x800:2"), 0);
	for (unsigned int i = 1; i <= 3; i++) {
		uint8_t status = drv_simple(d, CMD_ALLOC_PD, 0);

		cr_expect_eq(status, i == 2 ? 0x05 : 0);
		if (!status)
			cr_expect_eq(drv_simple(d, CMD_DEALLOC_PD, sn_get(d->out, CMD_NUMBER)), 0);
	}
	cr_expect_eq(softnic_fault(d->nic, ""), 0);
}

Test(cmd, fault__that_makes_no_sense_changes_nothing)
{
	static const char *const bad[] = { "drop", "drop=", "drop=2", "drop=-1", "drop=nan", "what=1",
					   "cmd_fail=x", "cmd_fail=0x800:0", "drop=0.1,seed=q" };

	cr_assert_eq(softnic_fault(d->nic, "cmd_fail=0x800"), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_lt(softnic_fault(d->nic, bad[i]), 0,
			     "softnic_fault accepted the invalid text \"%s\"", bad[i]);
	cr_expect_eq(drv_simple(d, CMD_ALLOC_PD, 0), 0x05);
}

Test(cmd, fault__link_down_and_up_again_makes_events)
{
	uint8_t type, data[28];

	for (unsigned int i = 0; i < 2; i++) {
		cr_assert_eq(softnic_fault(d->nic, i ? "" : "link_down"), 0);
		cr_assert(drv_event(d, &type, data));
		cr_expect_eq(type, 9);
		cr_expect_eq(data[8], 0x10);
		cr_assert_eq(drv_simple(d, CMD_QUERY_VPORT_STATE, 0), 0);
		cr_expect_eq(sn_get(d->out, SN_FLD(0x7c, 4)), i);
	}
}

Test(cmd, fault__fatal_leaves_only_destruction)
{
	uint8_t type, data[28];

	cr_assert_eq(softnic_fault(d->nic, "fatal"), 0);
	cr_assert(drv_event(d, &type, data));
	cr_expect_eq(type, 8);
	cr_expect_eq(drv_simple(d, CMD_ALLOC_PD, 0), 0x01);
}

Test(cmd, violation_names__are_distinct)
{
	const char *const *names = softnic_violation_names();
	size_t n = 0;

	for (; names[n]; n++)
		for (size_t i = 0; i < n; i++)
			cr_expect_str_neq(names[i], names[n]);
	cr_expect_gt(n, 30);
}
