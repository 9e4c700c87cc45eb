/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue, with NOPs only: order, completion modes, doorbells, and violations. */
#include <criterion/criterion.h>

#include "tests/softnic/drv.h"

static struct drv *d;
static struct drv_cq cq;
static struct drv_qp qp;

static void open_rts(void)
{
	d = drv_loop_open(0, 8, &cq, &qp);
}

static void close_all(void)
{
	drv_loop_close(&cq, &qp);
}

TestSuite(sq, .init = open_rts, .fini = close_all);

static void expect_error(uint8_t syndrome, const char *violation)
{
	struct drv_cqe e;

	cr_assert(drv_poll(&cq, &e));
	cr_expect_eq(e.opcode, 13);
	cr_expect_eq(e.syndrome, syndrome, "the completion has the wrong syndrome %#x", e.syndrome);
	cr_expect_eq(drv_state(&qp), 6);
	drv_expect(d, violation);
}

Test(sq, nop__completes_with_its_index_and_user_index)
{
	struct drv_cqe e;

	drv_nop(&qp, CE_ALWAYS);
	drv_nop(&qp, CE_ERR);
	drv_nop(&qp, CE_ALWAYS);
	cr_assert(drv_poll(&cq, &e));
	cr_expect_eq(e.opcode, 0);
	cr_expect_eq(e.counter, 0);
	cr_expect_eq(e.uidx, 0xabc);
	cr_expect_eq(e.qpn, qp.qpn);
	cr_assert(drv_poll(&cq, &e));
	cr_expect_eq(e.counter, 2);
	cr_expect_not(drv_poll(&cq, &e));
}

Test(sq, nop__wraps_ring_and_index)
{
	struct drv_cqe e;

	for (unsigned int i = 0; i < 70000; i++) {
		drv_nop(&qp, CE_ALWAYS);
		cr_assert(drv_poll(&cq, &e), "NOP %u was not completed", i);
		cr_assert_eq(e.counter, (uint16_t)i);
	}
}

Test(sq, doorbell__takes_all_wqes_of_the_record)
{
	struct drv_wqe w;
	struct drv_cqe e;

	for (int i = 0; i < 5; i++) {
		drv_ctrl(&qp, &w, 0, CE_ALWAYS << 2, 0);
		drv_put(&qp, &w);
	}
	cr_expect_not(drv_poll(&cq, &e));
	drv_ring(&qp, &w);
	for (int i = 0; i < 5; i++)
		cr_assert(drv_poll(&cq, &e));
	cr_expect_not(drv_poll(&cq, &e));
}

Test(sq, blueflame__same_bytes_as_the_queue_are_accepted)
{
	struct drv_wqe w;
	struct drv_cqe e;

	drv_ctrl(&qp, &w, 0, CE_ALWAYS << 2, 0);
	w.ds = 7;
	drv_put(&qp, &w);
	__atomic_store_n(&qp.dbr[1], htobe32(qp.pi), __ATOMIC_RELEASE);
	softnic_mmio_write(d->nic, qp.uar, 0x900, w.b, 128);
	cr_expect(drv_poll(&cq, &e));
}

Test(sq, blueflame__that_differs_is_seen)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0, CE_ALWAYS << 2, 0);
	w.ds = 4;
	drv_put(&qp, &w);
	__atomic_store_n(&qp.dbr[1], htobe32(qp.pi), __ATOMIC_RELEASE);
	w.b[40] ^= 1;
	softnic_mmio_write(d->nic, qp.uar, 0x800, w.b, 64);
	drv_expect(d, "bf.mismatch");
}

Test(sq, blueflame__of_an_invalid_size_is_reported)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0, CE_ALWAYS << 2, 0);
	softnic_mmio_write(d->nic, qp.uar, 0x800, w.b, 48);
	softnic_mmio_write(d->nic, qp.uar, 0x800, w.b, 320);
	cr_expect_eq(drv_count(d, "bf.size"), 2);
	drv_expect(d, "bf.size");
}

Test(sq, doorbell__beside_the_registers_is_seen)
{
	uint64_t zero = 0;

	softnic_mmio_write(d->nic, qp.uar, 0x808, &zero, 8);
	drv_expect(d, "db.offset");
}

Test(sq, doorbell__of_no_queue_is_seen)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0, 0, 0);
	sn_set32(w.b, 4, (qp.qpn ^ 1) << 8 | 1);
	softnic_mmio_write(d->nic, qp.uar, 0x800, w.b, 8);
	drv_expect(d, "db.unknown_qp");
}

/* A program may ring only doorbells in its own page. This protects the QPs of other programs. */
Test(sq, doorbell__on_another_page_starts_nothing)
{
	struct drv_wqe w;
	struct drv_cqe e;
	uint32_t uar;

	cr_assert_eq(drv_simple(d, CMD_ALLOC_UAR, 0), 0);
	uar = sn_get(d->out, CMD_NUMBER);
	drv_ctrl(&qp, &w, 0, CE_ALWAYS << 2, 0);
	drv_put(&qp, &w);
	__atomic_store_n(&qp.dbr[1], htobe32(qp.pi), __ATOMIC_RELEASE);
	for (unsigned int len = 8; len <= 64; len += 56) {
		softnic_mmio_write(d->nic, uar, 0x800, w.b, len);
		drv_expect(d, "db.uar");
		softnic_pump(d->nic);
		cr_expect_not(drv_poll(&cq, &e),
			      "a write of %u bytes to a foreign doorbell page started the send "
			      "queue",
			      len);
	}
	softnic_mmio_write(d->nic, qp.uar, 0x800, w.b, 8);
	cr_expect(drv_poll(&cq, &e),
		  "a doorbell in the program's own page did not start the send queue");
	cr_expect_eq(drv_simple(d, CMD_DEALLOC_UAR, uar), 0);
}

Test(sq, doorbell__ahead_of_the_record_is_seen)
{
	struct drv_wqe w;
	struct drv_cqe e;

	drv_nop(&qp, CE_ALWAYS);
	drv_ctrl(&qp, &w, 0, CE_ALWAYS << 2, 0);
	drv_put(&qp, &w);
	softnic_mmio_write(d->nic, qp.uar, 0x800, w.b, 8);
	drv_expect(d, "db.record");
	cr_expect(drv_poll(&cq, &e));
	cr_expect_not(drv_poll(&cq, &e),
		      "the device executed a WQE that the doorbell record does not include");
}

Test(sq, producer__backwards_is_seen)
{
	struct drv_wqe w;

	drv_nop(&qp, CE_ERR);
	drv_nop(&qp, CE_ERR);
	drv_ctrl(&qp, &w, 0, 0, 0);
	qp.dbr[1] = htobe32(1);
	memcpy(w.b, qp.sq, 8);
	softnic_mmio_write(d->nic, qp.uar, 0x800, w.b, 8);
	drv_expect(d, "db.backwards");
}

Test(sq, producer__beyond_freed_blocks_is_reported)
{
	struct drv_wqe w;

	/* All WQEs are unsignaled, so no CQE ever frees a block. */
	for (int i = 0; i < 65; i++) {
		drv_ctrl(&qp, &w, 0, CE_ERR << 2, 0);
		drv_post(&qp, &w);
		if (i == 63)
			cr_assert_eq(drv_count(d, "sq.overrun"), 0);
	}
	drv_expect(d, "sq.overrun");
}

Test(sq, doorbell__before_rts_is_seen)
{
	cr_assert_eq(drv_to(&qp, CMD_2RST_QP), 0);
	cr_assert_eq(drv_init(&qp), 0);
	drv_nop(&qp, CE_ALWAYS);
	drv_expect(d, "db.state");
}

Test(sq, wqe__of_another_index_breaks_the_qp)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0, CE_ERR << 2, 0);
	w.b[2] ^= 1;
	drv_put(&qp, &w);
	w.b[2] ^= 1;
	drv_ring(&qp, &w);
	cr_expect_gt(drv_count(d, "bf.mismatch"), 0);
	cr_expect_gt(drv_count(d, "wqe.index"), 0);
	softnic_violations_clear(d->nic);
	cr_expect_eq(drv_state(&qp), 6);
}

Test(sq, wqe__of_an_unknown_opcode_is_refused)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0x77, CE_ERR << 2, 0);
	drv_post(&qp, &w);
	expect_error(0x02, "wqe.opcode");
}

Test(sq, wqe__longer_than_the_doorbell_allows_breaks_the_qp)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0, CE_ERR << 2, 0);
	drv_put(&qp, &w);
	qp.sq[7] = 9;
	w.b[7] = 9;
	drv_ring(&qp, &w);
	cr_expect_gt(drv_count(d, "wqe.ds"), 0);
	softnic_violations_clear(d->nic);
	cr_expect_eq(drv_state(&qp), 6);
}

/* The blocks that are not posted hold WQEs, too, as in a ring that was in use. */
Test(sq, wqe__longer_than_the_doorbell_allows_ends_with_its_block)
{
	struct drv_wqe w;
	struct drv_cqe e;

	for (unsigned int i = 2; i < 64; i++) {
		sn_set32(qp.sq, 64 * i, i << 8);
		sn_set32(qp.sq, 64 * i + 4, qp.qpn << 8 | 1);
	}
	drv_ctrl(&qp, &w, 0, CE_ERR << 2, 0);
	drv_put(&qp, &w);
	qp.sq[7] = 63;
	drv_ctrl(&qp, &w, 0, CE_ERR << 2, 0);
	drv_post(&qp, &w);
	expect_error(0x02, "wqe.ds");
	cr_assert(drv_poll(&cq, &e));
	cr_expect_eq(e.syndrome, 0x05);
	cr_expect_eq(e.counter, 1);
	cr_expect_not(drv_poll(&cq, &e), "WQE %u was not posted", e.counter);
}

Test(sq, wqe__with_reserved_bits_is_executed_and_seen)
{
	struct drv_wqe w;
	struct drv_cqe e;

	drv_ctrl(&qp, &w, 0, CE_ALWAYS << 2 | 1, 0);
	drv_post(&qp, &w);
	cr_assert(drv_poll(&cq, &e));
	cr_expect_eq(e.opcode, 0);
	drv_expect(d, "wqe.reserved_bits");
}

Test(sq, wqe__inline_beyond_its_end_is_refused)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0x0a, CE_ALWAYS << 2, 0);
	drv_inline(&w, "0123456789ab", 12);
	sn_set32(w.b, 16, 1u << 31 | 13);
	drv_post(&qp, &w);
	expect_error(0x01, "wqe.inline_len");
}

Test(sq, wqe__inline_in_a_read_is_refused)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0x10, CE_ALWAYS << 2, 0);
	drv_raddr(&w, 0, 0);
	drv_inline(&w, "0123", 4);
	drv_post(&qp, &w);
	expect_error(0x02, "wqe.segment");
}

Test(sq, wqe__write_without_remote_address_is_refused)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0x08, CE_ALWAYS << 2, 0);
	drv_post(&qp, &w);
	expect_error(0x02, "wqe.ds");
}

/* IBTA 11.6.3: a queue that the device cannot read is a local work queue catastrophic error. */
static void expect_catastrophe(void)
{
	uint8_t type, data[28];

	d->refuse_len = 0;
	cr_expect_gt(drv_count(d, "dma.refused"), 0);
	softnic_violations_clear(d->nic);
	cr_expect_eq(drv_state(&qp), 6);
	cr_assert(drv_event(d, &type, data), "the host does not learn that the queue stands still");
	cr_expect_eq(type, 5);
	cr_expect_eq(sn_get32(data, 24), qp.qpn);
}

Test(sq, queue__that_the_iommu_refuses_breaks_the_qp)
{
	d->refuse_at = (uintptr_t)qp.sq;
	d->refuse_len = 64ul << qp.log_sq;
	drv_nop(&qp, CE_ALWAYS);
	expect_catastrophe();
}

Test(sq, record__that_the_iommu_refuses_breaks_the_qp)
{
	d->refuse_at = (uintptr_t)qp.dbr;
	d->refuse_len = 8;
	drv_nop(&qp, CE_ALWAYS);
	expect_catastrophe();
}

/* The same, if the doorbell is not trapped. */
Test(sq, record__that_the_iommu_refuses_breaks_the_qp_of_a_scanned_page)
{
	struct drv_wqe w;

	close_all();
	d = drv_loop_open(SOFTNIC_SCAN_UARS, 8, &cq, &qp);
	drv_ctrl(&qp, &w, 0, CE_ALWAYS << 2, 0);
	drv_put(&qp, &w);
	memcpy((uint8_t *)softnic_uar(d->nic, qp.uar) + 0x800, w.b, sizeof(uint64_t));
	d->refuse_at = (uintptr_t)qp.dbr;
	d->refuse_len = 8;
	softnic_scan(d->nic);
	expect_catastrophe();
}

Test(sq, error__flushes_the_rest_in_order_by_its_completion_mode)
{
	static const uint8_t ce[] = { CE_ALWAYS, CE_ERR, CE_FIRST, CE_ALWAYS };
	struct drv_wqe w;
	struct drv_cqe e;

	drv_ctrl(&qp, &w, 0x77, CE_ERR << 2, 0);
	drv_put(&qp, &w);
	for (unsigned int i = 0; i < 4; i++) {
		drv_ctrl(&qp, &w, 0, (uint8_t)(ce[i] << 2), 0);
		drv_put(&qp, &w);
	}
	drv_ring(&qp, &w);
	cr_assert(drv_poll(&cq, &e));
	cr_expect_eq(e.syndrome, 0x02);
	for (uint16_t i = 1; i <= 4; i++) {
		if (i == 3)
			continue;	/* with CE_FIRST a flushed WQE has no CQE */
		cr_assert(drv_poll(&cq, &e));
		cr_expect_eq(e.syndrome, 0x05);
		cr_expect_eq(e.counter, i);
	}
	cr_expect_not(drv_poll(&cq, &e));
	drv_expect(d, "wqe.opcode");
}

Test(sq, error__flushes_later_posts)
{
	struct drv_cqe e;

	cr_assert_eq(drv_to(&qp, CMD_2ERR_QP), 0);
	cr_expect_not(drv_poll(&cq, &e));
	drv_nop(&qp, CE_ERR);
	cr_assert(drv_poll(&cq, &e));
	cr_expect_eq(e.syndrome, 0x05);
	cr_expect_eq(e.counter, 0);
}

Test(sq, reset__starts_at_zero_again)
{
	struct drv_cqe e;

	for (int i = 0; i < 10; i++)
		drv_nop(&qp, CE_ALWAYS);
	while (drv_poll(&cq, &e))
		;
	cr_assert_eq(drv_to(&qp, CMD_2ERR_QP), 0);
	cr_assert_eq(drv_to(&qp, CMD_2RST_QP), 0);
	qp.pi = 0;
	qp.dbr[0] = qp.dbr[1] = 0;
	drv_connect(&qp, &qp);
	drv_nop(&qp, CE_ALWAYS);
	cr_assert(drv_poll(&cq, &e));
	cr_expect_eq(e.counter, 0);
}
