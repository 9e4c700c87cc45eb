/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion and event queues: arming, solicited arming, overrun, interrupts. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "softnic/mlx5/dev.h"
#include "tests/softnic/drv.h"

static struct drv *d;
static struct drv_cq cq;
static struct drv_qp qp;

static void open_rts(void)
{
	d = drv_loop_open(0, 3, &cq, &qp);
}

static void close_all(void)
{
	drv_loop_close(&cq, &qp);
}

TestSuite(cq, .init = open_rts, .fini = close_all);

static void expect_event(uint8_t type, uint32_t number, unsigned int at)
{
	uint8_t got, data[28];

	cr_assert(drv_event(d, &got, data));
	cr_expect_eq(got, type);
	cr_expect_eq(sn_get32(data, at), number);
}

static void expect_no_event(void)
{
	uint8_t type, data[28];

	cr_expect_not(drv_event(d, &type, data));
}

Test(cq, arm__next_completion_raises_one_event)
{
	drv_nop(&qp, CE_ALWAYS);
	expect_no_event();
	cq.ci = 1;
	cq.dbr[0] = htobe32(1);
	drv_arm(&cq, false);
	expect_no_event();
	drv_nop(&qp, CE_ALWAYS);
	drv_nop(&qp, CE_ALWAYS);
	expect_event(0, cq.cqn, 24);
	expect_no_event();
}

Test(cq, arm__unconsumed_completion_raises_an_event_at_once)
{
	drv_nop(&qp, CE_ALWAYS);
	drv_arm(&cq, false);
	expect_event(0, cq.cqn, 24);
	expect_no_event();
}

Test(cq, arm__again_makes_the_next_event)
{
	struct drv_cqe e;

	for (unsigned int i = 0; i < 200; i++) {
		drv_arm(&cq, false);
		expect_no_event();
		drv_nop(&qp, CE_ALWAYS);
		expect_event(0, cq.cqn, 24);
		drv_eq_arm(d);
		cq.arm_sn = (cq.arm_sn + 1) & 3;
		cr_assert(drv_poll(&cq, &e));
	}
}

/* Until the host has handled the event, an equal arm command counts as a repetition. */
Test(cq, arm__repeated_raises_no_second_event)
{
	drv_arm(&cq, false);
	drv_arm(&cq, false);
	drv_nop(&qp, CE_ALWAYS);
	expect_event(0, cq.cqn, 24);
	drv_arm(&cq, false);
	expect_no_event();
	cq.arm_sn = 1;
	drv_arm(&cq, false);
	expect_no_event();
	drv_nop(&qp, CE_ALWAYS);
	expect_event(0, cq.cqn, 24);
}

/* Completions that came while nothing was armed have had no event, whether the host has polled them
 * or not. */
Test(cq, arm__after_unreported_completions_makes_an_event)
{
	drv_arm(&cq, false);
	drv_nop(&qp, CE_ALWAYS);
	expect_event(0, cq.cqn, 24);
	drv_eq_arm(d);
	drv_nop(&qp, CE_ALWAYS);
	expect_no_event();
	cq.arm_sn = 1;
	drv_arm(&cq, false);
	expect_event(0, cq.cqn, 24);
}

/* Sets both indexes of the CQ as n completions would, of which none is solicited. */
static void advance(uint32_t n)
{
	struct sn_cq *of_device = sn_table_find(&d->nic->cqs, cq.cqn);

	of_device->pi = of_device->ci = cq.ci = n;
	cq.dbr[0] = htobe32(n);
}

/* The index of the last solicited completion is more than half of the 2^24 indexes ago. */
Test(cq, arm__solicited_raises_no_event_for_a_solicited_completion_of_long_ago)
{
	advance(0x900000);
	drv_arm(&cq, true);
	expect_no_event();
	drv_nop(&qp, CE_ALWAYS);
	expect_no_event();
	cq.arm_sn = 1;
	drv_arm(&cq, true);
	expect_no_event();
	cq.arm_sn = 2;
	drv_arm(&cq, false);
	expect_event(0, cq.cqn, 24);
}

/* A program may ring only doorbells in its own page. This protects the CQs of other programs. */
Test(cq, arm__on_another_page_is_seen_and_arms_nothing)
{
	uint32_t own = d->uar;

	cr_assert_eq(drv_simple(d, CMD_ALLOC_UAR, 0), 0);
	d->uar = sn_get(d->out, CMD_NUMBER);
	drv_arm(&cq, false);
	drv_expect(d, "db.uar");
	drv_nop(&qp, CE_ALWAYS);
	expect_no_event();
	cr_expect_eq(drv_simple(d, CMD_DEALLOC_UAR, d->uar), 0);
	d->uar = own;
	drv_arm(&cq, false);
	expect_event(0, cq.cqn, 24);
}

Test(cq, arm_solicited__plain_completions_are_silent)
{
	drv_arm(&cq, true);
	drv_nop(&qp, CE_ALWAYS);
	expect_no_event();
}

Test(cq, arm_solicited__an_error_raises_an_event)
{
	drv_arm(&cq, true);
	cr_assert_eq(drv_to(&qp, CMD_2ERR_QP), 0);
	drv_nop(&qp, CE_ALWAYS);
	expect_event(0, cq.cqn, 24);
}

Test(cq, arm_solicited__a_solicited_send_raises_an_event)
{
	struct drv_wqe w;
	struct drv_cqe e;
	struct drv_mr mr;

	drv_mr(d, &mr, 4096, DRV_ALL);
	drv_recv(&qp, &mr, 0, 64);
	drv_recv(&qp, &mr, 64, 64);
	drv_arm(&cq, true);
	drv_ctrl(&qp, &w, 0x0a, CE_ERR << 2, 0);
	drv_inline(&w, "plain", 5);
	drv_post(&qp, &w);
	drv_wait(&cq, &e);
	cr_expect_eq(e.opcode, 2);
	expect_no_event();
	drv_ctrl(&qp, &w, 0x0a, CE_ERR << 2 | 2, 0);
	drv_inline(&w, "solicited", 9);
	drv_post(&qp, &w);
	drv_wait(&cq, &e);
	cr_expect_eq(e.solicited, 1);
	expect_event(0, cq.cqn, 24);
	cr_expect_eq(drv_to(&qp, CMD_2RST_QP), 0);
	drv_mr_free(d, &mr);
}

/* IBTA 11.4.2.2: a request for solicited completions does not cancel an earlier request for any
 * completion. */
Test(cq, arm_solicited__keeps_an_arm_for_any_completion)
{
	drv_arm(&cq, false);
	drv_arm(&cq, true);
	drv_nop(&qp, CE_ALWAYS);
	expect_event(0, cq.cqn, 24);
	expect_no_event();
}

Test(cq, arm__of_no_queue_and_with_a_record_that_differs_is_seen)
{
	uint32_t db[2] = { 0, htobe32(cq.cqn ^ 1) };

	softnic_mmio_write(d->nic, d->uar, 0x20, db, 8);
	drv_expect(d, "cq.unknown");
	db[0] = htobe32(1u << 28);
	db[1] = htobe32(cq.cqn);
	softnic_mmio_write(d->nic, d->uar, 0x20, db, 8);
	drv_expect(d, "cq.arm");
}

Test(cq, overrun__stops_the_queue_and_fails_its_qp)
{
	struct drv_cqe e;
	unsigned int n = 0;

	for (unsigned int i = 0; i < 9; i++)
		drv_nop(&qp, CE_ALWAYS);
	drv_expect(d, "cq.overrun");
	expect_event(4, cq.cqn, 0);
	cr_expect_eq(drv_state(&qp), 6);
	while (drv_poll(&cq, &e)) {
		cr_expect_eq(e.opcode, 0);
		n++;
	}
	cr_expect_eq(n, 8);
	cr_assert_eq(drv_simple(d, CMD_QUERY_CQ, cq.cqn), 0);
	/* mlx5_ifc.h: 9 is an overflow, 0xa is a CQE that could not be written. */
	cr_expect_eq(sn_get(d->out + AT_CTX, CQC_STATUS), 9);
}

/* mlx5_ifc.h: cq_error.syndrome 2 is an access violation, cqc.status 0xa a CQE that could not be written. */
static void expect_write_fail(uint32_t cqn)
{
	uint8_t type, data[28];

	drv_expect(d, "dma.refused");
	cr_assert(drv_event(d, &type, data));
	cr_expect_eq(type, 4);
	cr_expect_eq(sn_get32(data, 0), cqn);
	cr_expect_eq(data[11], 2);
	cr_assert_eq(drv_simple(d, CMD_QUERY_CQ, cqn), 0);
	cr_expect_eq(sn_get(d->out + AT_CTX, CQC_STATUS), 0xa);
}

Test(cq, ring__that_the_iommu_refuses_stops_the_queue_and_fails_its_qp)
{
	struct drv_cqe e;

	d->refuse_at = (uintptr_t)cq.ring;
	d->refuse_len = 64ul << cq.log;
	drv_nop(&qp, CE_ALWAYS);
	d->refuse_len = 0;
	expect_write_fail(cq.cqn);
	cr_expect_eq(drv_state(&qp), 6);
	cr_expect_not(drv_poll(&cq, &e));
}

/* The device cannot know whether there is room, so this is no overrun. */
Test(cq, record__that_the_iommu_refuses_stops_the_queue_and_fails_its_qp)
{
	struct drv_cqe e;

	d->refuse_at = (uintptr_t)cq.dbr;
	d->refuse_len = 8;
	drv_nop(&qp, CE_ALWAYS);
	d->refuse_len = 0;
	expect_write_fail(cq.cqn);
	cr_expect_eq(drv_state(&qp), 6);
	cr_expect_not(drv_poll(&cq, &e));
}

/* Linux gives the pages of a umem the write right only if its program asked for local write. */
Test(cq, ring__in_a_umem_without_write_right_gets_no_cqe)
{
	struct drv_cq ro = { .d = d, .log = 3, .ring = drv_pages(8192) };
	struct drv_qp q = { 0 };
	struct drv_cqe e;

	drv_begin(d, CMD_CREATE_UMEM);
	sn_set64(d->in + AT_CTX, UMEM_NUM_MTT, 2);
	for (uint32_t i = 0; i < 2; i++)
		sn_set64(d->in + AT_CTX, UMEM_MTT + 8 * i, ((uintptr_t)ro.ring + 4096 * i) | MTT_RD);
	cr_assert_eq(drv_run(d, AT_CTX + UMEM_MTT + 16), 0);
	ro.umem = sn_get(d->out, CMD_NUMBER);
	ro.ring[63] = 0xf0;
	ro.dbr = (uint32_t *)(void *)(ro.ring + 4096);
	drv_cq_create(&ro, 4096, false);
	drv_qp(d, &q, &ro, &ro);
	drv_connect(&q, &q);
	drv_nop(&q, CE_ALWAYS);
	cr_expect_not(drv_poll(&ro, &e));
	expect_write_fail(ro.cqn);
	cr_expect_eq(drv_state(&q), 6);
	drv_qp_free(&q);
	drv_cq_free(&ro);
}

Test(cq, consumer__backwards_and_ahead_is_seen)
{
	struct drv_cqe e;

	drv_nop(&qp, CE_ALWAYS);
	drv_nop(&qp, CE_ALWAYS);
	while (drv_poll(&cq, &e))
		;
	drv_nop(&qp, CE_ALWAYS);
	cq.dbr[0] = htobe32(1);
	drv_nop(&qp, CE_ALWAYS);
	drv_expect(d, "cq.ci_backwards");
	cq.dbr[0] = htobe32(77);
	drv_nop(&qp, CE_ALWAYS);
	drv_expect(d, "cq.ci_ahead");
}

Test(cq, ignored_overrun__needs_no_consumer_index)
{
	struct drv_cq oi;
	struct drv_qp q = { 0 };
	struct drv_cqe e;

	drv_cq(d, &oi, 4, true);
	oi.keep_ci = true;
	drv_qp(d, &q, &oi, &oi);
	drv_connect(&q, &q);
	for (unsigned int i = 0; i < 100; i++) {
		drv_nop(&q, CE_ALWAYS);
		cr_assert(drv_poll(&oi, &e));
		cr_assert_eq(e.counter, i);
	}
	drv_qp_free(&q);
	drv_cq_free(&oi);
}

Test(cq, interrupt__comes_only_when_armed_and_at_once_when_late)
{
	drv_arm(&cq, false);
	drv_nop(&qp, CE_ALWAYS);
	cr_expect_eq(d->irqs, 0);
	drv_eq_arm(d);
	cr_expect_eq(d->irqs, 1);
	expect_event(0, cq.cqn, 24);
	drv_eq_arm(d);
	cr_expect_eq(d->irqs, 1);
	cq.ci = 1;
	cq.arm_sn = 1;
	drv_arm(&cq, false);
	drv_nop(&qp, CE_ALWAYS);
	cr_expect_eq(d->irqs, 2);
}

Test(cq, eq_doorbell__of_no_queue_or_ahead_is_seen)
{
	uint32_t db[2] = { htobe32((d->eq.eqn ^ 1) << 24) };

	softnic_mmio_write(d->nic, d->uar, 0x40, db, 8);
	drv_expect(d, "eq.unknown");
	db[0] = htobe32(d->eq.eqn << 24 | 5);
	softnic_mmio_write(d->nic, d->uar, 0x48, db, 8);
	drv_expect(d, "eq.ci");
}

Test(cq, eq__without_a_consumer_overruns)
{
	struct drv_cqe e;

	for (unsigned int i = 0; i < 65; i++) {
		drv_arm(&cq, false);
		drv_nop(&qp, CE_ALWAYS);
		cq.arm_sn++;
		cr_assert(drv_poll(&cq, &e));
	}
	drv_expect(d, "eq.overrun");
}

/* An interrupt handler posts a doorbell while the device is busy, perhaps with its reset. */
Test(irq, doorbell__posted_before_a_reset_is_forgotten)
{
	d = drv_open(0);
	sn_eq_post(d->nic, d->uar, d->eq.eqn << 24, true);
	softnic_reset(d->nic);
	softnic_pump(d->nic);
	cr_expect_eq(softnic_violations(d->nic, NULL, 0), 0);
	softnic_close(d->nic);
	free(d->eq.ring);
	free(d);
}

/* The interrupt handler arms its EQ again, which softnic.h allows. */
static struct drv *rearmer;
static void rearm(void *ctx, unsigned int vector)
{
	uint8_t type, data[28];

	(void)ctx;
	(void)vector;
	rearmer->irqs++;
	while (drv_event(rearmer, &type, data))
		;
	drv_eq_arm(rearmer);
}

Test(irq, handler__may_arm_again)
{
	struct drv_cqe e;

	d = rearmer = drv_open_irq(0, rearm);
	drv_cq(d, &cq, 3, false);
	drv_qp(d, &qp, &cq, &cq);
	drv_connect(&qp, &qp);
	drv_eq_arm(d);
	for (unsigned int i = 0; i < 100; i++) {
		drv_arm(&cq, false);
		drv_nop(&qp, CE_ALWAYS);
		cq.arm_sn++;
		cr_assert(drv_poll(&cq, &e));
		cr_assert_eq(d->irqs, i + 1);
	}
	close_all();
}

/* The 70 events are raised in one round of the device. The handler reads each one before the next. */
Test(irq, handler__that_reads_each_event_keeps_its_queue_from_overrunning)
{
	enum { QPS = 70, FIRST_REGISTER = 0x800 };
	static struct drv_cq cqs[QPS];
	static struct drv_qp qps[QPS];
	struct drv_wqe w;
	struct drv_cqe e;

	d = rearmer = drv_open_irq(SOFTNIC_SCAN_UARS, rearm);
	drv_eq_arm(d);
	for (unsigned int i = 0; i < QPS; i++) {
		drv_cq(d, &cqs[i], 3, false);
		drv_qp(d, &qps[i], &cqs[i], &cqs[i]);
		drv_connect(&qps[i], &qps[i]);
		drv_arm(&cqs[i], false);
		drv_ctrl(&qps[i], &w, 0, CE_ALWAYS << 2, 0);
		drv_put(&qps[i], &w);
		__atomic_store_n(&qps[i].dbr[1], htobe32(qps[i].pi), __ATOMIC_RELEASE);
	}
	d->irqs = 0;
	memcpy((uint8_t *)softnic_uar(d->nic, d->uar) + FIRST_REGISTER, w.b, sizeof(uint64_t));
	softnic_scan(d->nic);
	cr_expect_eq(d->eq.ci, QPS, "the handler got %u events", d->eq.ci);
	for (unsigned int i = 0; i < QPS; i++) {
		cr_expect(drv_poll(&cqs[i], &e));
		drv_qp_free(&qps[i]);
		drv_cq_free(&cqs[i]);
	}
	drv_close(d);
}
