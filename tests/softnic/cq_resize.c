/* SPDX-License-Identifier: BSD-2-Clause */
/* A CQ continues in another ring: MODIFY_CQ, resize, and the CQE that ends the old ring. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/softnic/drv.h"

enum { CQE_RESIZE = 5, INVALID = 0xf };

static struct drv *d;
static struct drv_cq cq;
static struct drv_qp qp;
static uint8_t *first;			/* the ring that came with the doorbell record */
static uint32_t umem;			/* umem of the current ring; 0: the first ring */

static void open_rts(void)
{
	d = drv_open(0);
	drv_cq(d, &cq, 3, false);
	first = cq.ring;
	drv_qp(d, &qp, &cq, &cq);
	drv_connect(&qp, &qp);
}

static void close_all(void)
{
	uint8_t *grown = cq.ring != first ? cq.ring : NULL;

	cq.ring = first;
	drv_qp_free(&qp);
	drv_cq_free(&cq);
	if (grown)
		drv_umem_free(d, umem);
	free(grown);
	drv_close(d);
}

TestSuite(cq_resize, .init = open_rts, .fini = close_all);

static uint8_t *begin(unsigned int log, uint32_t id)
{
	drv_begin(d, CMD_MODIFY_CQ);
	sn_set(d->in, CMD_OP_MOD, 1);
	sn_set(d->in, CMD_NUMBER, cq.cqn);
	sn_set32(d->in, CQ_MODIFY_SELECT, 7);
	sn_set(d->in + AT_CTX, CQC_LOG_SIZE, log);
	sn_set(d->in, CQ_UMEM_VALID, 1);
	sn_set32(d->in, CQ_UMEM_ID, id);
	return d->in + AT_CTX;
}

static uint8_t *cqe_of(uint8_t *ring, unsigned int log, uint32_t index)
{
	return ring + 64ul * (index & ((1u << log) - 1));
}

/* Moves the CQEs from the consumer index to the CQE that ends the old ring by one slot, as a driver
 * does. */
static void move(uint8_t *ring, unsigned int log)
{
	for (uint32_t i = cq.ci;; i++) {
		const uint8_t *from = cqe_of(cq.ring, cq.log, i);
		uint8_t *to = cqe_of(ring, log, i + 1);

		cr_assert_eq(from[63] & 1, i >> cq.log & 1,
			     "a CQE in the old ring has the wrong owner bit; no CQE ends the ring");
		if (from[63] >> 4 == CQE_RESIZE)
			return;
		memcpy(to, from, 64);
		to[63] = (uint8_t)((from[63] & 0xfe) | ((i + 1) >> log & 1));
	}
}

static void resize(unsigned int log)
{
	uint8_t *ring = drv_pages(64ul << log), *old = cq.ring;
	uint32_t id, old_id = umem;

	for (uint32_t i = 0; i < 1u << log; i++)
		cqe_of(ring, log, cq.ci + 1 + i)[63] =
			(uint8_t)(INVALID << 4 | (~((cq.ci + 1 + i) >> log) & 1));
	id = drv_umem(d, ring, 64ul << log);
	begin(log, id);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	move(ring, log);
	cq.ring = ring;
	cq.log = log;
	cq.ci++;
	cq.dbr[0] = htobe32(cq.ci & 0xffffff);
	umem = id;
	if (old != first) {
		drv_umem_free(d, old_id);
		free(old);
	}
}

static void post(unsigned int n)
{
	while (n--)
		drv_nop(&qp, CE_ALWAYS);
}

static void take(unsigned int from, unsigned int to)
{
	struct drv_cqe e;

	for (; from < to; from++) {
		cr_assert(drv_poll(&cq, &e), "the completion of WQE %u is lost", from);
		cr_assert_eq(e.counter, from);
	}
}

/* The CQ grows and shrinks, from each position of the ring, with CQEs on both sides of the end. */
Test(cq_resize, resize__continues_in_the_new_ring)
{
	static const unsigned int logs[] = { 5, 3, 4, 7, 3 };
	unsigned int posted = 0, taken = 0;
	struct drv_cqe e;

	for (unsigned int i = 0; i < 40; i++) {
		post(5);
		take(taken, taken + 2);
		resize(logs[i % 5]);
		cr_assert_eq(drv_simple(d, CMD_QUERY_CQ, cq.cqn), 0);
		cr_expect_eq(sn_get(d->out + AT_CTX, CQC_LOG_SIZE), logs[i % 5]);
		post(4);
		posted += 9;
		take(taken + 2, posted);
		cr_assert_not(drv_poll(&cq, &e));
		taken = posted;
		post(i % 3);
		posted += i % 3;
		take(taken, posted);
		taken = posted;
	}
}

/* The CQE that ends a ring is not a completion, and does not disarm the CQ. */
Test(cq_resize, resize__leaves_an_armed_queue_armed)
{
	uint8_t type, data[28];

	drv_arm(&cq, false);
	resize(4);
	cr_expect_not(drv_event(d, &type, data));
	post(1);
	cr_assert(drv_event(d, &type, data));
	cr_expect_eq(sn_get32(data, 24), cq.cqn);
	take(0, 1);
}

Test(cq_resize, resize__invalid_fields_are_refused)
{
	uint8_t *ctx;

	begin(4, 0xabcdef);
	cr_expect_eq(drv_run(d, AT_PAS), 0x05);
	drv_expect(d, "cmd.resource");
	begin(4, cq.umem);
	sn_set32(d->in, CQ_MODIFY_SELECT, 3);
	cr_expect_eq(drv_run(d, AT_PAS), 0x03);
	drv_expect(d, "cmd.field");
	ctx = begin(4, cq.umem);
	sn_set(ctx, CQC_CQE_SZ, 1);
	cr_expect_eq(drv_run(d, AT_PAS), 0x03);
	drv_expect(d, "cmd.field");
	begin(23, cq.umem);
	cr_expect_eq(drv_run(d, AT_PAS), 0x03);
	drv_expect(d, "cmd.field");
	post(4);
	begin(2, cq.umem);
	cr_expect_eq(drv_run(d, AT_PAS), 0x40,
		     "a ring of 4 is accepted for four completions and a CQE that ends the old "
		     "ring");
	drv_expect(d, "cmd.field");
	take(0, 4);
	post(1);
	take(4, 5);
}

Test(cq_resize, resize__of_a_full_ring_overruns_it)
{
	post(8);
	begin(4, cq.umem);
	cr_expect_eq(drv_run(d, AT_PAS), 0x09);
	cr_expect_eq(drv_count(d, "cq.overrun"), 1);
	softnic_violations_clear(d->nic);
	take(0, 8);
}
