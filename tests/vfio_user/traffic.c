/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two guests, each with a driver that gives its queues by lists of pages, as a kernel does: RDMA writes
 * from the memory of one guest into that of the other. Doorbells are stores to the mapped BAR.
 */
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/vfio_user/rig.h"

TestSuite(traffic, .timeout = 60);

/* Pages of the guest's memory, of which the last one is followed by a free one; the address at which an mkey
 * begins. */
enum { EQ_PAGE = RIG_EQ_PAGE, CQ_PAGE, CQ_RECORD, SQ_PAGE, QP_RECORD, DATA_PAGE, LAST_PAGE };
enum { LOG_CQ = 4, LOG_SQ = 4, LOG_EQ = 6, VECTOR = 3, DATA_VA = 0x7000000 };
enum { DB_CQ = 0x20, DB_EQ = 0x40, DB_SQ = 0x800 };

struct guest {
	struct rig *r;
	uint32_t driver_uar, uar, eqn, cqn, pdn, key, qpn;
	uint16_t lid;
	uint32_t pi, ci, eq_ci, arms;
	uint8_t *data;
	int event;
};

static uint32_t run(struct guest *g, size_t inlen, struct sn_fld result)
{
	uint8_t status = rig_run(g->r, inlen, 0x210);

	cr_assert_eq(status, 0, "command %#x failed with status %#x and syndrome %#x",
		     sn_get(g->r->in, CMD_OPCODE), status, sn_get32(g->r->out, 4));
	return sn_get(g->r->out, result);
}

static uint32_t simple(struct guest *g, uint16_t opcode, struct sn_fld result)
{
	rig_begin(g->r, opcode, 0);
	return run(g, 16, result);
}

static void make_eq(struct guest *g)
{
	uint8_t *ctx = g->r->in + AT_CTX;

	rig_begin(g->r, CMD_CREATE_EQ, 0);
	sn_set(ctx, EQC_LOG_SIZE, LOG_EQ);
	sn_set(ctx, EQC_UAR, g->driver_uar);
	sn_set(ctx, EQC_INTR, VECTOR);
	sn_set64(g->r->in, AT_PAS, rig_page(g->r, EQ_PAGE, NULL));
	g->eqn = run(g, AT_PAS + 8, CMD_EQN);
}

static void make_cq(struct guest *g)
{
	uint8_t *ctx = g->r->in + AT_CTX, *ring;

	rig_begin(g->r, CMD_CREATE_CQ, 0);
	sn_set(ctx, CQC_LOG_SIZE, LOG_CQ);
	sn_set(ctx, CQC_UAR, g->uar);
	sn_set(ctx, CQC_EQN, g->eqn);
	sn_set64(ctx, CQC_DBR_ADDR, rig_page(g->r, CQ_RECORD, NULL));
	sn_set64(g->r->in, AT_PAS, rig_page(g->r, CQ_PAGE, &ring));
	for (unsigned int i = 0; i < 1 << LOG_CQ; i++)
		ring[64 * i + 63] = 0xf0;
	g->cqn = run(g, AT_PAS + 8, CMD_NUMBER);
}

/* Makes the key of the guest's data: n pages at consecutive bus addresses. */
static void make_key(struct guest *g, uint64_t at, uint32_t n)
{
	uint8_t *ctx = g->r->in + AT_CTX;

	rig_begin(g->r, CMD_CREATE_MKEY, 0);
	sn_set(ctx, MKC_MODE_1_0, MODE_MTT);
	sn_set(ctx, MKC_LR, 1);
	sn_set(ctx, MKC_LW, 1);
	sn_set(ctx, MKC_RW, 1);
	sn_set(ctx, MKC_QPN, 0xffffff);
	sn_set(ctx, MKC_KEY, 0x5a);
	sn_set(ctx, MKC_PD, g->pdn);
	sn_set64(ctx, MKC_START, DATA_VA);
	sn_set64(ctx, MKC_LEN, 4096ul * n);
	sn_set32(ctx, MKC_XLT_SIZE, 1);
	sn_set(ctx, MKC_LOG_PAGE, 12);
	sn_set32(g->r->in, MKEY_XLT_ACTUAL, 1);
	for (uint32_t i = 0; i < n; i++)
		sn_set64(g->r->in, AT_PAS + 8 * i, at + 4096ul * i);
	g->key = run(g, AT_PAS + 16, CMD_NUMBER) << 8 | 0x5a;
}

static void make_qp(struct guest *g)
{
	uint8_t *ctx = g->r->in + AT_QPC;

	rig_begin(g->r, CMD_CREATE_QP, 0);
	sn_set(ctx, QPC_PM_STATE, 3);
	sn_set(ctx, QPC_PD, g->pdn);
	sn_set(ctx, QPC_UAR, g->uar);
	sn_set(ctx, QPC_CQN_SND, g->cqn);
	sn_set(ctx, QPC_CQN_RCV, g->cqn);
	sn_set(ctx, QPC_LOG_SQ_SIZE, LOG_SQ);
	sn_set(ctx, QPC_RQ_TYPE, RQ_ZERO);
	/* the format that Linux uses on an InfiniBand port */
	sn_set(ctx, QPC_TS_FORMAT, TS_FREE_RUNNING);
	sn_set64(ctx, QPC_DBR_ADDR, rig_page(g->r, QP_RECORD, NULL));
	sn_set64(g->r->in, AT_PAS, rig_page(g->r, SQ_PAGE, NULL));
	g->qpn = run(g, AT_PAS + 8, CMD_NUMBER);
}

static void boot(struct guest *g)
{
	rig_boot(g->r);
	g->driver_uar = simple(g, CMD_ALLOC_UAR, CMD_NUMBER);
	g->uar = simple(g, CMD_ALLOC_UAR, CMD_NUMBER);
	g->pdn = simple(g, CMD_ALLOC_PD, CMD_NUMBER);
	g->lid = (uint16_t)simple(g, CMD_QUERY_HCA_VPORT_CONTEXT, SN_FLD(0x80 + 0x300, 16));
	g->pi = g->ci = g->eq_ci = g->arms = 0;
	make_eq(g);
	make_cq(g);
	make_key(g, rig_page(g->r, DATA_PAGE, &g->data), 1);
	make_qp(g);
}

static struct guest make(void)
{
	struct guest g = { .r = rig_open_with(&(struct vm_config){ .ports = 1, .infiniband = true }) };
	int fds[VECTOR + 1];

	g.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (int i = 0; i <= VECTOR; i++)
		fds[i] = g.event;
	cr_assert_eq(rig_set_irqs(g.r, VFIO_PCI_MSIX_IRQ_INDEX, 0, VECTOR + 1,
				  (struct rig_fds){ fds, VECTOR + 1 }), 0);
	rig_map_bar(g.r);
	boot(&g);
	return g;
}

static void end(struct guest *g)
{
	rig_close(g->r);
	close(g->event);
}

static uint8_t *modify(struct guest *g, uint16_t opcode)
{
	rig_begin(g->r, opcode, 0);
	sn_set(g->r->in, CMD_NUMBER, g->qpn);
	return g->r->in + AT_QPC;
}

static void connect_to(struct guest *g, const struct guest *peer)
{
	uint8_t *ctx = modify(g, CMD_RST2INIT_QP);

	sn_set(ctx + AT_ADS, ADS_PORT, 1);
	sn_set(ctx, QPC_RWE, 1);
	run(g, AT_PAS, CMD_NUMBER);
	ctx = modify(g, CMD_INIT2RTR_QP);
	sn_set(ctx, QPC_MTU, 5);
	sn_set(ctx, QPC_LOG_MSG_MAX, 30);
	sn_set(ctx, QPC_REMOTE_QPN, peer->qpn);
	sn_set(ctx + AT_ADS, ADS_PORT, 1);
	sn_set(ctx + AT_ADS, ADS_RLID, peer->lid);
	run(g, AT_PAS, CMD_NUMBER);
	ctx = modify(g, CMD_RTR2RTS_QP);
	sn_set(ctx, QPC_RETRY, 7);
	sn_set(ctx, QPC_RNR_RETRY, 7);
	sn_set(ctx + AT_ADS, ADS_ACK_TIMEOUT, 16);
	run(g, AT_PAS, CMD_NUMBER);
}

static void ring(struct guest *g, uint32_t offset, const void *words)
{
	uint64_t v;

	memcpy(&v, words, sizeof(v));
	__atomic_store_n((uint64_t *)(void *)(g->r->bar + g->uar * 4096ul + offset), v, __ATOMIC_RELEASE);
}

static void set_record(struct guest *g, unsigned int page, unsigned int word, uint32_t v)
{
	uint8_t *at;

	rig_page(g->r, page, &at);
	__atomic_store_n((uint32_t *)(void *)(at + 4ul * word), htobe32(v), __ATOMIC_RELEASE);
}

/* Writes a WQE for an RDMA write of n bytes to the same place in the peer's page, without the
 * doorbell. Returns the WQE. */
static const uint8_t *put_write(struct guest *g, uint32_t at, uint32_t n, uint32_t rkey)
{
	uint8_t *w;

	rig_page(g->r, SQ_PAGE, &w);
	w += 64 * (g->pi % (1 << LOG_SQ));
	memset(w, 0, 64);
	sn_set32(w, 0, (g->pi & 0xffff) << 8 | 0x08);
	sn_set32(w, 4, g->qpn << 8 | 3);
	w[11] = 2 << 2;				/* the WQE always has a CQE */
	sn_set64(w, 16, DATA_VA + at);
	sn_set32(w, 24, rkey);
	sn_set32(w, 32, n);
	sn_set32(w, 36, g->key);
	sn_set64(w, 40, DATA_VA + at);
	set_record(g, QP_RECORD, 1, ++g->pi & 0xffff);
	return w;
}

static void post_write(struct guest *g, uint32_t at, uint32_t n, uint32_t rkey)
{
	ring(g, DB_SQ, put_write(g, at, n, rkey));
}

static bool has_cqe(const struct guest *g)
{
	uint8_t *ring, own;

	rig_page(g->r, CQ_PAGE, &ring);
	own = __atomic_load_n(&ring[64 * (g->ci % (1 << LOG_CQ)) + 63], __ATOMIC_ACQUIRE);
	return own >> 4 != 0xf && (own & 1) == (g->ci >> LOG_CQ & 1);
}

/* The opcode of the next CQE. */
static unsigned int take_cqe(struct guest *g)
{
	uint8_t *ring;
	unsigned int opcode;

	cr_assert(TH_WITHIN(TH_PEER_MS, has_cqe(g)), "the CQ got no completion in time");
	rig_page(g->r, CQ_PAGE, &ring);
	opcode = ring[64 * (g->ci % (1 << LOG_CQ)) + 63] >> 4;
	g->ci++;
	set_record(g, CQ_RECORD, 0, g->ci & 0xffffff);
	return opcode;
}

static void arm(struct guest *g)
{
	uint32_t word = ++g->arms % 4 << 28 | (g->ci & 0xffffff), db[2] = { htobe32(word), htobe32(g->cqn) };

	set_record(g, CQ_RECORD, 1, word);
	ring(g, DB_CQ, db);
	rig_set_reg(g->r, g->driver_uar * 4096 + DB_EQ, g->eqn << 24 | g->eq_ci);
}

static struct guest a, b;

static void open_pair(void)
{
	a = make();
	b = make();
	connect_to(&a, &b);
	connect_to(&b, &a);
}

static void close_pair(void)
{
	end(&a);
	end(&b);
}

Test(traffic, rdma_write__from_guest_to_guest_lands)
{
	open_pair();
	for (uint32_t i = 0; i < 100; i++) {
		memset(a.data, (int)i + 1, 4096);
		post_write(&a, i, 1000, b.key);
		cr_assert_eq(take_cqe(&a), 0, "write %u failed", i);
		cr_assert_arr_eq(b.data + i, a.data + i, 1000);
		cr_assert_neq(b.data[i + 1000], i + 1,
			      "the write placed more bytes than were sent");
	}
	close_pair();
}

/* Gives the guest a key over two maps at consecutive bus addresses, whose memory has the opposite order. */
static void use_two_maps(struct guest *g)
{
	const uint64_t at = 1 << 30;

	cr_assert_eq(rig_map(g->r, at, 4096, g->r->ram_fd, (LAST_PAGE + 1) * 4096ul), 0);
	cr_assert_eq(rig_map(g->r, at + 4096, 4096, g->r->ram_fd, LAST_PAGE * 4096ul), 0);
	rig_page(g->r, LAST_PAGE, &g->data);
	make_key(g, at, 2);
}

/* An IOMMU translates each page by itself. */
Test(traffic, rdma_write__across_the_border_of_two_maps_lands)
{
	open_pair();
	use_two_maps(&a);
	use_two_maps(&b);
	memset(a.data, 1, 4096);
	memset(a.data + 4096, 2, 4096);
	post_write(&a, 4096 - 1000, 3000, b.key);
	cr_expect_eq(take_cqe(&a), 0);
	cr_expect_arr_eq(b.data + 8192 - 1000, a.data + 8192 - 1000, 1000);
	cr_expect_arr_eq(b.data, a.data, 2000);
	cr_expect_eq(b.data[2000] | b.data[8192 - 1001], 0, "the write placed more bytes than were sent");
	cr_expect_eq(rig_violations(a.r, "dma.refused") + rig_violations(b.r, "dma.refused"), 0);
	close_pair();
}

Test(traffic, completion_event__comes_by_its_vector)
{
	uint64_t n;

	open_pair();
	for (uint32_t i = 0; i < 20; i++) {
		struct pollfd p = { .fd = a.event, .events = POLLIN };

		arm(&a);
		post_write(&a, 0, 8, b.key);
		cr_assert_eq(poll(&p, 1, TH_PEER_MS), 1, "completion %u caused no event", i);
		cr_assert_eq(read(a.event, &n, sizeof(n)), 8);
		cr_assert_eq(take_cqe(&a), 0);
		a.eq_ci++;
	}
	close_pair();
}

/* Rings the doorbell on the driver's page, where stores are messages; see rings() in boot.c. */
static bool rings_elsewhere(struct guest *g, const uint8_t *wqe)
{
	cr_assert_eq(rig_write(g->r, VFIO_PCI_BAR0_REGION_INDEX, g->driver_uar * 4096 + DB_SQ, wqe, 8), 0);
	return rig_violations(g->r, "db.uar") > 0;
}

Test(traffic, doorbell__on_anothers_page_starts_nothing_and_other_devices_go_on)
{
	const uint8_t *wqe;

	open_pair();
	memset(a.data, 1, 8);
	wqe = put_write(&a, 0, 8, b.key);
	cr_assert(TH_WITHIN(TH_PEER_MS, rings_elsewhere(&a, wqe)),
		  "the doorbell on the driver's page is not reported");
	post_write(&b, 8, 8, a.key);
	cr_expect_eq(take_cqe(&b), 0);
	cr_expect_not(has_cqe(&a));
	cr_expect_eq(b.data[0], 0, "a doorbell on another program's page started the write");
	ring(&a, DB_SQ, wqe);
	cr_expect_eq(take_cqe(&a), 0);
	cr_expect_eq(b.data[0], 1);
	close_pair();
}

/* The peer's memory is no longer mapped. The peer refuses the write, and both servers continue. */
Test(traffic, rdma_write__to_memory_that_the_peer_has_unmapped_fails)
{
	open_pair();
	post_write(&a, 0, 8, b.key);
	cr_assert_eq(take_cqe(&a), 0);
	cr_assert_eq(rig_unmap(b.r, RIG_RAM_AT, RIG_RAM), 0);
	post_write(&a, 0, 8, b.key);
	cr_expect_eq(take_cqe(&a), 13);
	cr_expect(rig_works(a.r));
	close_pair();
}

/* One guest crashes in the middle of writes. */
Test(traffic, rdma_write__to_a_crashed_guest_leaves_the_sender_working)
{
	open_pair();
	post_write(&a, 0, 8, b.key);
	rig_hang_up(b.r);
	while (take_cqe(&a) == 0 && a.pi < 100000)
		post_write(&a, 0, 8, b.key);
	cr_expect(rig_works(a.r));
	close_pair();
}

/* Ends the connection, which is not usable after a reset or a gap, and connects both QPs again. */
static void connect_again(struct guest *g, struct guest *peer)
{
	struct guest *both[] = { g, peer };

	for (int i = 0; i < 2; i++) {
		modify(both[i], CMD_2RST_QP);
		run(both[i], AT_PAS, CMD_NUMBER);
		both[i]->pi = 0;
		set_record(both[i], QP_RECORD, 1, 0);
	}
	connect_to(g, peer);
	connect_to(peer, g);
}

static void expect_written(struct guest *g, struct guest *peer, int value)
{
	memset(g->data, value, 4096);
	post_write(g, 0, 4096, peer->key);
	cr_assert_eq(take_cqe(g), 0);
	cr_assert_arr_eq(peer->data, g->data, 4096);
}

static void expect_empty(struct guest *g)
{
	static const char *const kinds[] = { "qp", "cq", "eq", "mkey", "pd", "uar" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cr_expect_eq(softnic_object_count(g->r->dev->nic, kinds[i]), 0,
			     "objects of kind %s are left", kinds[i]);
}

static void reset_by_qemu(struct rig *r)
{
	cr_assert_eq(rig_request(r, VM_RESET, NULL, 0), 0);
}

static void reset_by_config_space(struct rig *r)
{
	uint16_t flr = 0x8000;

	cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, 0x68, &flr, 2), 0);
}

/* The guest boots again, and the peer reaches it. A third device is not affected. */
Test(traffic, reset__of_the_target_under_writes_lets_it_boot_again)
{
	static void (*const resets[])(struct rig *r) = { reset_by_qemu, reset_by_config_space };
	struct guest other = make();

	open_pair();
	connect_to(&other, &other);
	for (unsigned int way = 0; way < 2; way++) {
		for (int i = 0; i < 8; i++)
			post_write(&a, 0, 4096, b.key);
		resets[way](b.r);
		expect_empty(&b);
		expect_written(&other, &other, (int)way + 1);
		for (int i = 0; i < 8; i++)
			cr_assert_eq(take_cqe(&a) % 13, 0,
				     "the write's CQE is neither a success nor a requester error");
		cr_assert_eq(rig_unmap(b.r, RIG_RAM_AT, RIG_RAM), 0);
		boot(&b);
		connect_again(&a, &b);
		expect_written(&a, &b, (int)way + 3);
	}
	expect_written(&other, &other, 9);
	close_pair();
	end(&other);
}

Test(traffic, unmap_and_map__in_the_middle_of_writes_leave_others_working)
{
	struct guest other = make();

	open_pair();
	connect_to(&other, &other);
	for (int i = 0; i < 100; i++) {
		unsigned int opcode;

		post_write(&a, 0, 4096, b.key);
		cr_assert_eq(rig_unmap(b.r, RIG_RAM_AT, RIG_RAM), 0);
		cr_assert_eq(rig_map(b.r, RIG_RAM_AT, RIG_RAM, b.r->ram_fd, 0), 0);
		expect_written(&other, &other, i);
		opcode = take_cqe(&a);
		cr_assert_eq(opcode % 13, 0,
			     "completion %u is neither a success nor a requester error", i);
		if (opcode)
			connect_again(&a, &b);
	}
	expect_written(&a, &b, 200);
	close_pair();
	end(&other);
}
