/* SPDX-License-Identifier: BSD-2-Clause */
/* The three ways to drive the device: its own thread, a scan of plain stores, several callers at
 * once. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "softnic/mlx5/dev.h"
#include "tests/harness/harness.h"
#include "tests/softnic/drv.h"

static struct drv *d;
static struct drv_cq cq;
static struct drv_qp qp;

static void open_with(unsigned int flags)
{
	d = drv_loop_open(flags, 8, &cq, &qp);
}

static void close_all(void)
{
	drv_loop_close(&cq, &qp);
}

/* Stores the doorbell into the page without a call, as on hardware. */
static void store_doorbell(const struct drv_wqe *w, uint32_t offset)
{
	uint8_t *page = softnic_uar(d->nic, qp.uar);
	uint64_t word;

	memcpy(&word, w->b, sizeof(word));
	__atomic_store_n(&qp.dbr[1], htobe32(qp.pi), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)(void *)(page + offset), word, __ATOMIC_RELEASE);
}

static void post_by_store(uint32_t offset)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0, CE_ALWAYS << 2, 0);
	drv_put(&qp, &w);
	store_doorbell(&w, offset);
}

Test(drive, scan__finds_a_stored_doorbell)
{
	struct drv_cqe e;

	open_with(SOFTNIC_SCAN_UARS);
	for (uint32_t off = 0x800; off < 0xc00; off += 0x100) {
		post_by_store(off);
		cr_expect_not(drv_poll(&cq, &e));
		cr_expect(softnic_pump(d->nic));
		cr_expect(drv_poll(&cq, &e),
			  "the doorbell stored at offset %#x caused no completion", off);
	}
	cr_expect_not(softnic_pump(d->nic));
	close_all();
}

/* Linux rings its queue for UMRs in the third or fourth register. */
Test(drive, doorbell__in_the_upper_registers_is_found)
{
	struct drv_cqe e;

	open_with(SOFTNIC_SCAN_UARS);
	for (uint32_t off = 0xc00; off < 0x1000; off += 0x100) {
		post_by_store(off);
		softnic_pump(d->nic);
		cr_expect(drv_poll(&cq, &e), "the doorbell stored at offset %#x caused no completion", off);
	}
	close_all();
}

/* The second queue's doorbell overwrites the first one's. The records show both posts. */
Test(drive, scan__finds_a_doorbell_that_was_overwritten)
{
	struct drv_qp other = { 0 }, mine;
	struct drv_cqe e;

	open_with(SOFTNIC_SCAN_UARS);
	drv_qp(d, &other, &cq, &cq);
	drv_connect(&other, &other);
	post_by_store(0x800);
	mine = qp;
	qp = other;
	post_by_store(0x800);
	other = qp;
	qp = mine;
	softnic_pump(d->nic);
	cr_expect(drv_poll(&cq, &e));
	cr_expect(drv_poll(&cq, &e));
	drv_qp_free(&other);
	close_all();
}

Test(drive, scan__finds_a_stored_arm)
{
	uint8_t *page, type, data[28];
	uint32_t db[2];
	uint64_t word;

	open_with(SOFTNIC_SCAN_UARS);
	page = softnic_uar(d->nic, d->uar);
	db[0] = htobe32(1u << 28);
	db[1] = htobe32(cq.cqn);
	memcpy(&word, db, sizeof(word));
	cq.dbr[1] = db[0];
	__atomic_store_n((uint64_t *)(void *)(page + 0x20), word, __ATOMIC_RELEASE);
	softnic_pump(d->nic);
	post_by_store(0x900);
	softnic_pump(d->nic);
	cr_assert(drv_event(d, &type, data));
	cr_expect_eq(sn_get32(data, 24), cq.cqn);
	close_all();
}

/* Arms a CQ for the very first time, while the doorbell record still has 0. */
static void store_arm(struct drv_cq *c, bool ring)
{
	uint8_t *page = softnic_uar(d->nic, d->uar);
	uint32_t hi = c->arm_sn << 28 | (c->ci & 0xffffff);
	uint32_t db[2] = { htobe32(hi), htobe32(c->cqn) };
	uint64_t word;

	__atomic_store_n(&c->dbr[1], db[0], __ATOMIC_RELEASE);
	memcpy(&word, db, sizeof(word));
	if (ring)
		__atomic_store_n((uint64_t *)(void *)(page + 0x20), word, __ATOMIC_RELEASE);
}

static unsigned int events_of(uint32_t cqn)
{
	uint8_t type, data[28];
	unsigned int n = 0;

	while (drv_event(d, &type, data))
		n += type == 0 && sn_get32(data, 24) == cqn;
	return n;
}

/* The second arm overwrites the first one in the page. The records show both. */
Test(drive, scan__finds_an_arm_that_was_overwritten)
{
	struct drv_cq late;
	struct drv_cqe e;

	open_with(SOFTNIC_SCAN_UARS);
	drv_cq(d, &late, 3, false);
	for (unsigned int i = 0; i < 9; i++) {
		store_arm(&cq, true);
		store_arm(&late, true);
		softnic_pump(d->nic);
		post_by_store(0x900);
		softnic_pump(d->nic);
		cr_assert_eq(events_of(cq.cqn), 1,
			     "round %u: the CQ has not raised exactly one event", i);
		cq.arm_sn = (cq.arm_sn + 1) & 3;
		cr_assert(drv_poll(&cq, &e));
	}
	drv_cq_free(&late);
	close_all();
}

/*
 * The host may give the device a record that the device may only read. The device then finds out without a
 * mark in it that the first arm of a CQ, whose word is 0 as before, was overwritten.
 */
Test(drive, scan__finds_a_first_arm_in_a_record_that_is_read_only)
{
	struct drv_cq ro = { .log = 3, .ring = drv_pages(8192) }, other;
	struct drv_qp q = { 0 };
	size_t page = 4096;

	open_with(SOFTNIC_SCAN_UARS);
	ro.d = d;
	ro.dbr = (uint32_t *)(void *)(ro.ring + page);
	ro.umem = drv_umem(d, ro.ring, 2 * page);
	cr_assert_eq(mprotect(ro.ring + page, page, PROT_READ), 0);
	drv_cq_create(&ro, page, false);
	cr_expect_eq(ro.dbr[0] | ro.dbr[1], 0, "the device has changed the doorbell record");
	cr_assert_eq(mprotect(ro.ring + page, page, PROT_READ | PROT_WRITE), 0);
	drv_qp(d, &q, &ro, &ro);
	drv_connect(&q, &q);
	drv_cq(d, &other, 3, false);
	store_arm(&ro, true);
	store_arm(&other, true);
	softnic_pump(d->nic);
	drv_nop(&q, CE_ALWAYS);
	cr_expect_eq(events_of(ro.cqn), 1);
	drv_qp_free(&q);
	drv_cq_free(&other);
	drv_cq_free(&ro);
	close_all();
}

/* The device finds an arm in the record before its doorbell is stored. The doorbell then causes no
 * second arm. */
Test(drive, scan__takes_an_arm_once)
{
	struct drv_cq other;

	open_with(SOFTNIC_SCAN_UARS);
	drv_cq(d, &other, 3, false);
	store_arm(&cq, false);
	store_arm(&other, true);
	softnic_pump(d->nic);
	post_by_store(0x900);
	softnic_pump(d->nic);
	cr_expect_eq(events_of(cq.cqn), 1);
	store_arm(&cq, true);
	softnic_pump(d->nic);
	cr_expect_eq(events_of(cq.cqn), 0);
	drv_cq_free(&other);
	close_all();
}

/*
 * The host arms the queue and destroys it at once. The arm was for this queue and not for an
 * unknown one.
 */
Test(drive, scan__finds_an_arm_before_its_queue_is_destroyed)
{
	struct drv_cq other;

	open_with(SOFTNIC_SCAN_UARS);
	drv_cq(d, &other, 3, false);
	store_arm(&other, true);
	drv_cq_free(&other);
	softnic_pump(d->nic);
	cr_expect_eq(drv_count(d, "cq.unknown"), 0);
	close_all();
}

/*
 * A queue that was never armed has the record 0, which can also be a first arm whose doorbell was
 * overwritten. The doorbells of its neighbours may cause one event for it, but no second one.
 */
Test(drive, scan__arms_an_unarmed_queue_at_most_once)
{
	struct drv_cq other;

	open_with(SOFTNIC_SCAN_UARS);
	drv_cq(d, &other, 3, false);
	for (other.arm_sn = 0; other.arm_sn < 4; other.arm_sn++) {
		store_arm(&other, true);
		softnic_pump(d->nic);
		post_by_store(0x900);
		softnic_pump(d->nic);
	}
	cr_expect_leq(events_of(cq.cqn), 1);
	drv_cq_free(&other);
	close_all();
}

/*
 * After more than half of the 2^24 indexes, the word 0 would be an arm ahead of the queue. The host of the
 * queue has not armed it, so there is no error.
 */
Test(drive, scan__finds_no_error_in_a_queue_that_is_only_polled)
{
	struct sn_cq *of_device;
	struct drv_cq other;

	open_with(SOFTNIC_SCAN_UARS);
	of_device = sn_table_find(&d->nic->cqs, cq.cqn);
	of_device->pi = of_device->ci = cq.ci = 0x900000;
	cq.dbr[0] = htobe32(0x900000);
	drv_cq(d, &other, 3, false);
	store_arm(&other, true);
	softnic_pump(d->nic);
	cr_expect_eq(drv_count(d, "cq.ci_ahead"), 0);
	drv_cq_free(&other);
	close_all();
}

static uint32_t eq_beside(const uint8_t *ring)
{
	uint8_t *ctx = d->in + AT_CTX;

	drv_begin(d, CMD_CREATE_EQ);
	sn_set(ctx, EQC_LOG_SIZE, 4);
	sn_set(ctx, EQC_UAR, d->uar);
	sn_set(ctx, EQC_INTR, 3);
	sn_set64(d->in, AT_PAS, (uintptr_t)ring);
	cr_assert_eq(drv_run(d, AT_PAS + 8), 0);
	return sn_get(d->out, CMD_EQN);
}

/*
 * The arm of one EQ is overwritten by that of another EQ. That one is then destroyed, as Linux
 * does.
 */
Test(drive, scan__finds_an_event_of_an_eq_whose_arm_was_stored_over)
{
	void *ring = drv_pages(4096);
	volatile uint32_t *word;
	uint32_t other;

	open_with(SOFTNIC_SCAN_UARS);
	word = (volatile uint32_t *)(void *)((uint8_t *)softnic_uar(d->nic, d->uar) + 0x40);
	other = eq_beside(ring);
	*word = htobe32(d->eq.eqn << 24);
	*word = htobe32(other << 24);
	softnic_pump(d->nic);
	drv_begin(d, CMD_DESTROY_EQ);
	sn_set(d->in, CMD_EQN, other);
	cr_assert_eq(drv_run(d, 16), 0);
	d->irqs = 0;
	cr_assert_eq(softnic_fault(d->nic, "link_down"), 0);
	cr_expect(TH_WITHIN(10000, (softnic_pump(d->nic), d->irqs)),
		  "the device raised no interrupt in 10 seconds");
	cr_assert_eq(softnic_fault(d->nic, ""), 0);
	close_all();
	free(ring);
}

/* No call follows the store, so the thread must find the doorbell. */
static void thread_finds(unsigned int flags)
{
	struct drv_cqe e;

	open_with(SOFTNIC_NO_THREAD | SOFTNIC_SCAN_UARS | flags);
	for (unsigned int i = 0; i < 50; i++) {
		post_by_store(i & 1 ? 0x800 : 0x900);
		cr_assert(TH_WITHIN(10000, drv_poll(&cq, &e)),
			  "the doorbell in round %u caused no completion", i);
	}
	close_all();
}

Test(drive, thread__finds_a_stored_doorbell)
{
	thread_finds(0);
}

Test(drive, thread__finds_a_stored_doorbell_when_it_backs_off)
{
	thread_finds(SOFTNIC_THREAD_BACKOFF);
}

/* Posts to a receive queue in error, which has no doorbell. */
Test(drive, thread__flushes_a_late_receive)
{
	struct drv_mr mr;
	struct drv_cqe e;

	open_with(SOFTNIC_NO_THREAD);
	drv_mr(d, &mr, 4096, DRV_ALL);
	cr_assert_eq(drv_to(&qp, CMD_2ERR_QP), 0);
	th_sleep_ms(5);
	drv_recv(&qp, &mr, 0, 64);
	cr_assert(TH_WITHIN(10000, drv_poll(&cq, &e)));
	cr_expect_eq(e.syndrome, 0x05);
	drv_mr_free(d, &mr);
	close_all();
}

enum { CALLERS = 4, POSTS = 5000 };

static void *caller(void *arg)
{
	struct drv_qp *mine = arg;
	struct drv_cqe e;

	for (unsigned int i = 0; i < POSTS; i++) {
		drv_nop(mine, CE_ALWAYS);
		if (!TH_WITHIN(10000, drv_poll(mine->scq, &e)) || e.counter != (uint16_t)i)
			return mine;
	}
	return NULL;
}

/* A doorbell that finds the device busy is not lost, whichever thread drives the device. No call of
 * the test drives it. */
Test(drive, callers__at_once_lose_no_doorbell)
{
	static struct drv_cq cqs[CALLERS];
	static struct drv_qp qps[CALLERS];
	pthread_t t[CALLERS];
	void *failed;

	d = drv_open(0);
	for (unsigned int i = 0; i < CALLERS; i++) {
		drv_cq(d, &cqs[i], 4, false);
		drv_qp(d, &qps[i], &cqs[i], &cqs[i]);
		drv_connect(&qps[i], &qps[i]);
	}
	for (unsigned int i = 0; i < CALLERS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, caller, &qps[i]), 0);
	for (unsigned int i = 0; i < CALLERS; i++) {
		pthread_join(t[i], &failed);
		cr_expect_null(failed);
	}
	for (unsigned int i = 0; i < CALLERS; i++) {
		drv_qp_free(&qps[i]);
		drv_cq_free(&cqs[i]);
	}
	drv_close(d);
}

Test(drive, adversary__poisons_completed_wqes)
{
	struct drv_cqe e;

	open_with(SOFTNIC_ADVERSARIAL);
	drv_nop(&qp, CE_ERR);
	drv_nop(&qp, CE_ALWAYS);
	drv_wait(&cq, &e);
	for (unsigned int i = 0; i < 128; i++)
		cr_assert_eq(qp.sq[i], 0xde);
	cr_expect_eq(qp.sq[128], 0);
	close_all();
}

Test(drive, bar__is_one_mapping_with_a_descriptor)
{
	size_t size = 0;

	d = drv_open(0);
	cr_expect_geq(softnic_bar_fd(d->nic, &size), 0);
	cr_expect_eq((uint8_t *)softnic_uar(d->nic, 1) - (uint8_t *)softnic_uar(d->nic, 0), 4096);
	cr_expect_not_null(softnic_uar(d->nic, (uint32_t)(size / 4096 - 1)));
	cr_expect_null(softnic_uar(d->nic, (uint32_t)(size / 4096)));
	drv_close(d);
}
