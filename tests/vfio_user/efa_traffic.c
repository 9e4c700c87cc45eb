/* SPDX-License-Identifier: BSD-2-Clause */
/* Two guests, each with an EFA, exchange data. One of them loses memory, is reset, or crashes. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/vfio_user/efa.h"

TestSuite(efa_traffic, .timeout = 60);

static struct efa_guest a, b;

static void open_pair(void)
{
	efa_boot(&a, efa_open("write"));
	efa_boot(&b, efa_open("write"));
	efa_meet(&a, &b);
	efa_meet(&b, &a);
	efa_ready(&a);
	efa_ready(&b);
}

static void close_pair(void)
{
	efa_end(&a);
	efa_end(&b);
}

static void fill(struct efa_guest *g, uint32_t seed)
{
	for (uint32_t i = 0; i < EFA_DATA_PAGES * 4096; i++)
		*efa_data(g, i) = (uint8_t)((i * 2654435761u + seed) >> 13);
}

static void expect_same(uint32_t at, uint32_t len)
{
	uint32_t wrong = 0;

	for (uint32_t i = at; i < at + len; i++)
		wrong += *efa_data(&a, i) != *efa_data(&b, i);
	cr_expect_eq(wrong, 0, "%u of %u bytes are wrong", wrong, len);
}

static void send(uint32_t len)
{
	efa_post_recv(&b, 0, 8192);
	efa_post_send(&a, &b, 0, len);
	cr_assert_eq(efa_wait(&b), 0);
	cr_assert_eq(efa_wait(&a), 0);
}

/* The queues wrap several times. */
Test(efa_traffic, send__crosses_pages_that_lie_apart)
{
	open_pair();
	for (uint32_t i = 0; i < 200; i++) {
		fill(&a, i);
		send(5000);
		expect_same(0, 5000);
	}
	cr_expect_eq(rig_reports(a.r) + rig_reports(b.r), 0);
	close_pair();
}

Test(efa_traffic, rdma_write__fills_the_whole_region)
{
	open_pair();
	fill(&a, 1);
	fill(&b, 2);
	efa_post_write(&a, &b, 0, EFA_DATA_PAGES * 4096);
	cr_assert_eq(efa_wait(&a), 0);
	expect_same(0, EFA_DATA_PAGES * 4096);
	efa_post_write(&a, &b, 1, EFA_DATA_PAGES * 4096);
	cr_expect_eq(efa_wait(&a), 5,
		     "a write one byte beyond the region did not fail with status 5");
	close_pair();
}

/* A client that maps no queue stores WQEs by messages. */
Test(efa_traffic, send__whose_wqe_comes_by_a_message_arrives)
{
	uint8_t wqe[64];

	open_pair();
	efa_post_recv(&b, 0, 8192);
	memset(wqe, 0, sizeof(wqe));
	efa_put(wqe, 0, 2, a.sq_pc);
	wqe[2] = 0x80 | 0x20;
	wqe[3] = 0x1c;
	efa_put(wqe, 4, 2, b.qpn);
	efa_put(wqe, 6, 2, 16);
	efa_put(wqe, 12, 2, a.ah);
	efa_put(wqe, 16, 4, EFA_QKEY);
	memset(wqe + 32, 0x5a, 16);
	cr_assert_eq(rig_write(a.r, EFA_MEM_BAR, a.sq_at + a.sq_pc * 64, wqe, 64), 0);
	efa_ring(&a, a.sq_db, ++a.sq_pc);
	cr_assert_eq(efa_wait(&a), 0);
	cr_assert_eq(efa_wait(&b), 0);
	cr_expect_eq(*efa_data(&b, 15), 0x5a);
	close_pair();
}

Test(efa_traffic, completion_event__comes_by_its_vector)
{
	open_pair();
	for (int i = 0; i < 300; i++) {			/* more events than the EQ has entries */
		efa_arm(&a);
		send(10);
		cr_assert(efa_event(&a), "message %d caused no completion event", i);
	}
	close_pair();
}

/*
 * libefa stores the consumer counter after polls. That store does not arm the CQ, and does not
 * disarm it.
 */
Test(efa_traffic, arm__outlives_the_next_store)
{
	open_pair();
	efa_arm(&a);
	efa_ring(&a, a.cq_db, a.cq_cc);
	send(10);
	cr_expect(efa_event(&a));
	close_pair();
}

/* Events come while the EQ is not armed. When it is armed, the interrupt comes. */
Test(efa_traffic, event_of_an_eq_that_is_not_armed__interrupts_when_it_is)
{
	uint64_t n;

	open_pair();
	efa_arm(&a);
	send(10);
	cr_assert(TH_WITHIN(TH_PEER_MS, read(a.irq[1], &n, sizeof(n)) == 8));
	a.arms++;
	efa_arm(&a);
	send(10);
	cr_expect_lt(read(a.irq[1], &n, sizeof(n)), 0,
		     "an EQ that is not armed raised an interrupt");
	efa_set_reg(a.r, 0x68, UINT32_C(1) << 31 | a.eqn);
	cr_expect_eq(read(a.irq[1], &n, sizeof(n)), 8);
	efa_set_reg(a.r, 0x68, UINT32_C(1) << 31 | a.eqn);
	cr_expect_lt(read(a.irq[1], &n, sizeof(n)), 0,
		     "an EQ without an event raised an interrupt");
	close_pair();
}

Test(efa_traffic, doorbell__that_belongs_to_no_queue_is_reported)
{
	unsigned int reports = 0;

	open_pair();
	efa_ring(&a, a.sq_db + 4, 1);
	cr_expect_eq(rig_reports(a.r), ++reports);
	efa_ring(&a, a.sq_db + 4096, 1);
	cr_expect_eq(rig_reports(a.r), ++reports,
		     "a doorbell of an unknown QP is not reported once");
	efa_ring(&a, a.cq_db + 4096, 1);
	cr_expect_eq(rig_reports(a.r), ++reports,
		     "a doorbell of an unknown CQ is not reported once");
	efa_ring(&a, a.cq_db + 8, 1);
	cr_expect_eq(rig_reports(a.r), ++reports);
	efa_ring(&a, (4 << 20) - 4, 1);
	cr_expect_eq(rig_reports(a.r), ++reports,
		     "a doorbell in the last word of the BAR is not reported once");
	cr_expect_eq(rig_write(a.r, EFA_DB_BAR, a.sq_db + 2, "abcd", 4), EINVAL);
	cr_expect_eq(rig_write(a.r, EFA_DB_BAR, a.sq_db, "ab", 2), EINVAL);
	cr_expect_eq(rig_write(a.r, EFA_DB_BAR, 4 << 20, "abcd", 4), EINVAL);
	send(10);
	close_pair();
}

/* A doorbell of a destroyed QP must not ring the next QP with its number. */
Test(efa_traffic, doorbell__of_a_destroyed_qp_is_reported)
{
	open_pair();
	cr_assert_eq(efa_simple(&a, 4, a.qp), 0);
	efa_ring(&a, a.sq_db, 1);
	efa_ring(&a, a.rq_db, 1);
	cr_expect_eq(rig_reports(a.r), 2);
	cr_expect(efa_works(&a));
	close_pair();
}

Test(efa_traffic, unmapped_memory_of_the_target__ends_a_write_with_bad_address)
{
	open_pair();
	efa_post_write(&a, &b, 0, 100);
	cr_assert_eq(efa_wait(&a), 0);
	cr_assert_eq(rig_unmap(b.r, RIG_RAM_AT, RIG_RAM), 0);
	efa_post_write(&a, &b, 0, 100);
	cr_expect_eq(efa_wait(&a), 7);
	cr_expect_geq(efa_violations(b.r, "dma.refused"), 1);
	cr_expect(efa_works(&a));
	close_pair();
}

/* All queues of the sender disappear with its memory. The device continues. */
Test(efa_traffic, unmapped_memory_of_the_sender__loses_its_completions)
{
	open_pair();
	send(10);
	cr_assert_eq(rig_unmap(a.r, RIG_RAM_AT, RIG_RAM), 0);
	efa_post_send(&a, &b, 0, 100);
	cr_expect(TH_WITHIN(TH_PEER_MS, efa_violations(a.r, "dma.refused") >= 1));
	cr_expect_eq(efa_poll(&a), -1, "the device wrote a completion to unmapped memory");
	cr_assert_eq(rig_map(a.r, RIG_RAM_AT, RIG_RAM, a.r->ram_fd, 0), 0);
	cr_expect(efa_works(&a));
	close_pair();
}

/* The memory is unmapped and mapped again and again during writes. */
Test(efa_traffic, unmap_and_map__in_the_middle_of_writes_leave_both_devices_working)
{
	open_pair();
	for (int i = 0; i < 100; i++) {
		efa_post_write(&a, &b, 0, EFA_DATA_PAGES * 4096);
		cr_assert_eq(rig_unmap(b.r, RIG_RAM_AT, RIG_RAM), 0);
		cr_assert_eq(rig_map(b.r, RIG_RAM_AT, RIG_RAM, b.r->ram_fd, 0), 0);
		cr_assert(efa_wait(&a) % 7 == 0);
	}
	cr_expect(efa_works(&a));
	cr_expect(efa_works(&b));
	close_pair();
}

Test(efa_traffic, bus_mastering_off__reaches_no_memory)
{
	uint16_t command = 2;
	uint8_t byte;

	open_pair();
	fill(&a, 1);
	fill(&b, 2);
	cr_assert_eq(rig_write(b.r, VFIO_PCI_CONFIG_REGION_INDEX, 4, &command, 2), 0);
	byte = *efa_data(&b, 0);
	efa_post_write(&a, &b, 0, 100);
	cr_expect_eq(efa_wait(&a), 7);
	cr_expect_eq(*efa_data(&b, 0), byte);
	close_pair();
}

static void expect_empty(struct efa_guest *g)
{
	static const char *const kinds[] = { "qp", "cq", "mr", "ah", "pd" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cr_expect_eq(softnic_efa_object_count(g->r->dev->efa->nic, kinds[i]), 0,
			     "objects of kind %s are left", kinds[i]);
}

static void close_irqs(struct efa_guest *g)
{
	close(g->irq[0]);
	close(g->irq[1]);
}

/* Boots the guest again after a reset, and checks that the peer reaches it. */
static void boot_again(struct rig *r)
{
	cr_assert_eq(rig_unmap(r, RIG_RAM_AT, RIG_RAM), 0);
	close_irqs(&b);
	efa_boot(&b, r);
	efa_meet(&b, &a);
	efa_ready(&b);
	efa_post_write(&a, &b, 0, 100);
	cr_expect_eq(efa_wait(&a), 0);
}

/* The reset register, config space and QEMU can each reset the function. The guest boots again, and
 * the peer reaches it. */
Test(efa_traffic, reset__under_traffic_leaves_nothing)
{
	open_pair();
	for (int way = 0; way < 3; way++) {
		uint16_t flr = 0x8000;
		struct rig *r = b.r;

		for (int i = 0; i < 20; i++)
			efa_post_write(&a, &b, 0, EFA_DATA_PAGES * 4096);
		if (way == 0)
			efa_set_reg(r, 0x54, 1);
		else if (way == 1)
			cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, 0x68, &flr, 2), 0);
		else
			cr_assert_eq(rig_request(r, VM_RESET, NULL, 0), 0);
		expect_empty(&b);
		for (int i = 0; i < 20; i++)
			efa_wait(&a);
		boot_again(r);
	}
	close_pair();
}

Test(efa_traffic, crash__of_the_target_ends_writes_and_the_next_guest_boots)
{
	struct rig *r;

	open_pair();
	r = b.r;
	for (int i = 0; i < 20; i++)
		efa_post_write(&a, &b, 0, EFA_DATA_PAGES * 4096);
	rig_hang_up(r);
	expect_empty(&b);
	for (int i = 0; i < 20; i++)
		efa_wait(&a);
	cr_expect(efa_works(&a));
	rig_connect(r);
	cr_assert_eq(rig_version(r), 0);
	close_irqs(&b);
	efa_boot(&b, r);
	cr_expect(efa_works(&b));
	close_pair();
}

/* The next guest must not see bytes that this guest left in its queues. */
Test(efa_traffic, crash__leaves_no_bytes_in_the_queues)
{
	struct rig *r = efa_open("write");
	uint8_t secret[64];

	efa_boot(&a, r);
	memset(secret, 0x77, sizeof(secret));
	memcpy(a.queues + a.sq_at + 64, secret, 64);
	rig_hang_up(r);
	for (unsigned int i = 0; i < 64; i++)
		cr_assert_eq(a.queues[a.sq_at + 64 + i], 0,
			     "byte %u of the queue is not zero after the guest crashed", i);
	efa_end(&a);
}

Test(efa_traffic, random_stores__leave_a_function_that_a_reset_revives)
{
	static const uint32_t bars[] = { 0, 0, 1, 2, 4, 4, 7 };
	static const uint64_t sizes[] = { 0x6c, 8192, 8192, 256 << 20, 3 << 20, 4096 * 2, 4096 };
	uint64_t x = 88172645463325252;
	struct rig *r;

	open_pair();
	r = b.r;
	for (int i = 0; i < 5000; i++) {
		uint64_t v, at;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		at = (x >> 8) % sizes[i % 7] & ~UINT64_C(3);
		v = x * 0x9e3779b97f4a7c15;
		cr_assert_eq(rig_write(r, bars[i % 7], at, &v, 4), 0);
	}
	cr_expect_gt(rig_reports(r), 0);
	cr_expect(efa_works(&a));
	cr_assert_eq(rig_request(r, VM_RESET, NULL, 0), 0);
	boot_again(r);
	close_pair();
}

/* Commands consist of random bytes. Each gets a response. */
Test(efa_traffic, random_commands__are_answered)
{
	uint64_t x = 88172645463325252;

	open_pair();
	for (int i = 0; i < 5000; i++) {
		uint8_t *in = efa_op(&b, (uint8_t)(1 + i % 19));

		for (unsigned int k = 4; k < 64; k++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			in[k] = x & 3 ? 0 : (uint8_t)(x >> 24);
		}
		in[3] = (uint8_t)(x >> 32) & 6;
		efa_run(&b);
	}
	cr_expect(efa_works(&a));
	cr_expect(efa_works(&b));
	close_pair();
}

/* One process serves a ConnectX and an EFA. */
Test(efa_traffic, connectx__beside_an_efa_goes_on)
{
	struct rig *r = rig_open();

	rig_boot(r);
	open_pair();
	cr_assert_eq(rig_unmap(b.r, RIG_RAM_AT, RIG_RAM), 0);
	rig_hang_up(b.r);
	cr_expect(rig_works(r));
	cr_expect(efa_works(&a));
	rig_close(r);
	close_pair();
}
