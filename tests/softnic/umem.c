/* SPDX-License-Identifier: BSD-2-Clause */
/* The offsets at which a queue can start: page_offset counts 64ths of a page. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/softnic/drv.h"

enum { HUGE_LOG = 21, BIG_LOG = 16 };

static struct drv *d;
static uint8_t *huge;
static uint32_t huge_umem;

static void open_drv(void)
{
	d = drv_open(0);
	huge = aligned_alloc(1u << HUGE_LOG, 1u << HUGE_LOG);
	cr_assert_not_null(huge);
	memset(huge, 0, 1u << HUGE_LOG);
	drv_begin(d, CMD_CREATE_UMEM);
	sn_set(d->in + AT_CTX, UMEM_LOG_PAGE, HUGE_LOG - 12);
	sn_set64(d->in + AT_CTX, UMEM_NUM_MTT, 1);
	sn_set64(d->in + AT_CTX, UMEM_MTT, (uintptr_t)huge | MTT_RD | MTT_WR);
	cr_assert_eq(drv_run(d, AT_CTX + UMEM_MTT + 8), 0);
	huge_umem = sn_get(d->out, CMD_NUMBER);
}

static void close_drv(void)
{
	drv_umem_free(d, huge_umem);
	free(huge);
	drv_close(d);
}

TestSuite(umem, .init = open_drv, .fini = close_drv);

static const uint64_t off_a_64th[] = { 4096, 16384, 32768 + 64, (1u << HUGE_LOG) - 4096 };

static uint8_t make_cq(uint64_t offset)
{
	uint8_t *ctx = d->in + AT_CTX;

	drv_begin(d, CMD_CREATE_CQ);
	sn_set(ctx, CQC_LOG_SIZE, 4);
	sn_set(ctx, CQC_UAR, d->uar);
	sn_set(ctx, CQC_EQN, d->eq.eqn);
	sn_set(ctx, CQC_DBR_UMEM, 1);
	sn_set32(ctx, CQC_DBR_UMEM_ID, huge_umem);
	sn_set64(ctx, CQC_DBR_ADDR, 4096 + 64);		/* records may have any offset */
	sn_set(d->in, CQ_UMEM_VALID, 1);
	sn_set32(d->in, CQ_UMEM_ID, huge_umem);
	sn_set64(d->in, CQ_UMEM_OFFSET, offset);
	return drv_run(d, AT_PAS);
}

Test(umem, create_cq__off_a_64th_of_a_huge_page_is_refused)
{
	for (size_t i = 0; i < sizeof(off_a_64th) / sizeof(off_a_64th[0]); i++) {
		cr_expect_eq(make_cq(off_a_64th[i]), 0x03,
			     "a CQ at offset %#lx of a huge page was not refused",
			     (unsigned long)off_a_64th[i]);
		drv_expect(d, "cmd.field");
	}
	cr_expect_eq(make_cq(63 * 32768), 0);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_CQ, sn_get(d->out, CMD_NUMBER)), 0);
}

static uint8_t make_qp(struct drv_cq *cq, uint64_t offset)
{
	struct drv_qp qp = { 0 };
	uint8_t status;

	drv_qp_begin(d, &qp, cq, cq);
	sn_set32(d->in, QP_WQ_UMEM_ID, huge_umem);
	sn_set64(d->in, QP_WQ_UMEM_OFFSET, offset);
	status = drv_run(d, AT_PAS);
	qp.qpn = status ? 0 : sn_get(d->out, CMD_NUMBER);
	drv_qp_free(&qp);
	return status;
}

Test(umem, create_qp__off_a_64th_of_a_huge_page_is_refused)
{
	struct drv_cq cq;

	drv_cq(d, &cq, 4, false);
	for (size_t i = 0; i < sizeof(off_a_64th) / sizeof(off_a_64th[0]); i++) {
		cr_expect_eq(make_qp(&cq, off_a_64th[i]), 0x03,
			     "a QP at offset %#lx of a huge page was not refused",
			     (unsigned long)off_a_64th[i]);
		drv_expect(d, "cmd.field");
	}
	cr_expect_eq(make_qp(&cq, 63 * 32768), 0);
	drv_cq_free(&cq);
}

static uint8_t make_rmp(uint64_t offset)
{
	struct drv_srq srq = { 0 };
	uint8_t status;

	drv_srq_begin(d, &srq);
	sn_set32(d->in + AT_WQ, WQ_UMEM_ID, huge_umem);
	sn_set64(d->in + AT_WQ, WQ_UMEM_OFFSET, offset);
	status = drv_run(d, 0x110);
	srq.rmpn = status ? 0 : sn_get(d->out, CMD_NUMBER);
	drv_srq_free(&srq);
	return status;
}

Test(umem, create_rmp__in_the_upper_half_of_a_huge_page_is_refused)
{
	cr_expect_eq(make_rmp(4096), 0x03);
	cr_expect_eq(make_rmp(32 * 32768), 0x03);
	cr_expect_eq(drv_count(d, "cmd.field"), 2);
	drv_expect(d, "cmd.field");
	cr_expect_eq(make_rmp(31 * 32768), 0);
}

/* A queue with page_offset 3: the unit in a 64 KiB page is 1 KiB. */
static uint8_t *big_pages(uint8_t **mem)
{
	*mem = aligned_alloc(1u << BIG_LOG, 1u << BIG_LOG);
	cr_assert_not_null(*mem);
	memset(*mem, 0xff, 1u << BIG_LOG);
	return *mem + 3 * 1024;
}

Test(umem, create_eq__page_offset_counts_64ths_of_its_pages)
{
	uint8_t *mem, *ring = big_pages(&mem), *ctx = d->in + AT_CTX;
	uint32_t eqn;

	drv_begin(d, CMD_DESTROY_EQ);
	sn_set(d->in, CMD_EQN, d->eq.eqn);
	cr_assert_eq(drv_run(d, 16), 0);
	drv_begin(d, CMD_CREATE_EQ);
	sn_set(ctx, EQC_LOG_SIZE, 4);
	sn_set(ctx, EQC_LOG_PAGE, BIG_LOG - 12);
	sn_set(ctx, EQC_PAGE_OFFSET, 3);
	sn_set(ctx, EQC_UAR, d->uar);
	sn_set(ctx, EQC_INTR, 3);
	sn_set64(d->in, EQ_BITMASK, UINT64_MAX);
	sn_set64(d->in, AT_PAS, (uintptr_t)mem);
	cr_assert_eq(drv_run(d, AT_PAS + 8), 0);
	eqn = sn_get(d->out, CMD_EQN);
	cr_assert_eq(softnic_fault(d->nic, "link_down"), 0);
	cr_expect_eq(ring[1], 9, "the event is not PORT_STATE_CHANGE (9)");
	cr_expect_eq(ring[63] & 1, 0);
	d->eq.eqn = eqn;
	cr_assert_eq(softnic_fault(d->nic, ""), 0);
	free(d->eq.ring);
	d->eq.ring = mem;
}

Test(umem, create_cq_and_qp__page_offset_counts_64ths_of_their_pages)
{
	uint8_t *cq_mem, *qp_mem, *ctx = d->in + AT_CTX;
	struct drv_cq cq = { .d = d, .log = 4 };
	struct drv_qp qp = { 0 };
	struct drv_cqe e;
	_Alignas(8) uint32_t dbr[2] = { 0 };

	cq.ring = big_pages(&cq_mem);
	cq.dbr = dbr;
	drv_begin(d, CMD_CREATE_CQ);
	sn_set(ctx, CQC_LOG_SIZE, cq.log);
	sn_set(ctx, CQC_LOG_PAGE, BIG_LOG - 12);
	sn_set(ctx, CQC_PAGE_OFFSET, 3);
	sn_set(ctx, CQC_UAR, d->uar);
	sn_set(ctx, CQC_EQN, d->eq.eqn);
	sn_set64(ctx, CQC_DBR_ADDR, (uintptr_t)dbr);
	sn_set64(d->in, AT_PAS, (uintptr_t)cq_mem);
	cr_assert_eq(drv_run(d, AT_PAS + 8), 0);
	cq.cqn = sn_get(d->out, CMD_NUMBER);

	drv_qp_begin(d, &qp, &cq, &cq);
	sn_set(d->in, QP_WQ_UMEM_VALID, 0);
	sn_set(d->in + AT_QPC, QPC_LOG_PAGE, BIG_LOG - 12);
	sn_set(d->in + AT_QPC, QPC_PAGE_OFFSET, 3);
	qp.rq = big_pages(&qp_mem);
	qp.sq = qp.rq + 1024;
	sn_set64(d->in, AT_PAS, (uintptr_t)qp_mem);
	cr_assert_eq(drv_run(d, AT_PAS + 8), 0);
	qp.qpn = sn_get(d->out, CMD_NUMBER);
	drv_connect(&qp, &qp);
	drv_nop(&qp, CE_ALWAYS);
	drv_wait(&cq, &e);
	cr_expect_eq(e.opcode, 0);
	drv_qp_free(&qp);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_CQ, cq.cqn), 0);
	free(qp_mem);
	free(cq_mem);
}

/* The two pages of the ring are not side by side. */
Test(umem, cq__in_separate_pages_has_each_entry_in_its_place)
{
	enum { PAGE = 4096, LOG = 7, NOPS = 100 };
	uint8_t *mem = drv_pages(3 * PAGE), *ctx = d->in + AT_CTX;
	struct drv_cq cq = { .d = d, .log = LOG };
	struct drv_qp qp = { 0 };
	struct drv_cqe e;
	_Alignas(8) uint32_t dbr[2] = { 0 };
	uint32_t umem;

	memset(mem, 0xff, 3 * PAGE);
	drv_begin(d, CMD_CREATE_UMEM);
	sn_set64(ctx, UMEM_NUM_MTT, 2);
	sn_set64(ctx, UMEM_MTT, (uintptr_t)mem | MTT_RD | MTT_WR);
	sn_set64(ctx, UMEM_MTT + 8, (uintptr_t)(mem + 2 * PAGE) | MTT_RD | MTT_WR);
	cr_assert_eq(drv_run(d, AT_CTX + UMEM_MTT + 16), 0);
	umem = sn_get(d->out, CMD_NUMBER);
	drv_begin(d, CMD_CREATE_CQ);
	sn_set(ctx, CQC_LOG_SIZE, LOG);
	sn_set(ctx, CQC_UAR, d->uar);
	sn_set(ctx, CQC_EQN, d->eq.eqn);
	sn_set64(ctx, CQC_DBR_ADDR, (uintptr_t)dbr);
	sn_set(d->in, CQ_UMEM_VALID, 1);
	sn_set32(d->in, CQ_UMEM_ID, umem);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	cq.cqn = sn_get(d->out, CMD_NUMBER);
	cq.dbr = dbr;
	drv_qp(d, &qp, &cq, &cq);
	drv_connect(&qp, &qp);
	for (unsigned int i = 0; i < NOPS; i++) {
		drv_nop(&qp, CE_ALWAYS);
		cq.ring = i < PAGE / 64 ? mem : mem + PAGE;
		drv_wait(&cq, &e);
		cr_assert_eq(e.opcode, 0, "entry %u", i);
	}
	drv_qp_free(&qp);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_CQ, cq.cqn), 0);
	drv_umem_free(d, umem);
	free(mem);
}
