/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys: who may use the reserved lkey, and UMRs that no known driver sends. See key.c. */
#include <criterion/criterion.h>

#include "tests/softnic/drv.h"

#define BIND_MASK (UINT64_C(1) << 29 | 1 << 13 | 1 << 14 | 1 << 0 | 1 << 6 | 1 << 20)
enum { GIB = 1 << 30, STRIDED = 0x400 };
enum { SMALL_FENCE = 1 << 5, INLINE = 1 << 7, TRANSLATION = 1 << 4, CHECK_FREE = 1 << 5 };

static struct drv *d;
static struct drv_cq cq;
static struct drv_qp qp;
static struct drv_mr mr;

static void open_rts(void)
{
	d = drv_loop_open(0, 8, &cq, &qp);
	drv_mr(d, &mr, 4096, DRV_ALL);
}

static void close_all(void)
{
	drv_mr_free(d, &mr);
	drv_loop_close(&cq, &qp);
}

TestSuite(key_use, .init = open_rts, .fini = close_all);

static uint8_t run(struct drv_wqe *w)
{
	struct drv_cqe e;

	drv_post(&qp, w);
	drv_wait(&cq, &e);
	return (uint8_t)e.syndrome;
}

/* Writes the first byte of the region to its second byte. */
static uint8_t rdma_write(uint32_t lkey)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0x08, CE_ALWAYS << 2, 0);
	drv_raddr(&w, (uintptr_t)mr.mem + 1, mr.key);
	drv_data(&w, mr.mem, 1, lkey);
	return run(&w);
}

/* PRM "rlky": Linux sets it only in its own QPs. */
Test(key_use, reserved_lkey__needs_a_qp_that_may_use_it)
{
	uint32_t reserved;

	mr.mem[0] = 7;
	drv_begin(d, CMD_QUERY_SPECIAL_CONTEXTS);
	cr_assert_eq(drv_run(d, 16), 0);
	reserved = sn_get32(d->out, 12);
	cr_expect_eq(rdma_write(reserved), 0x04);
	drv_expect(d, "mkey.pd");
	cr_expect_eq(mr.mem[1], 0);
	drv_qp_free(&qp);
	drv_qp_begin(d, &qp, &cq, &cq);
	sn_set(d->in + AT_QPC, SN_FLD(0x5b, 1), 1);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	qp.qpn = sn_get(d->out, CMD_NUMBER);
	qp.pi = 0;
	drv_connect(&qp, &qp);
	cr_expect_eq(rdma_write(reserved), 0);
	cr_expect_eq(mr.mem[1], 7);
}

/* Restarts the QP after an error. */
static void revive(void)
{
	cr_assert_eq(drv_to(&qp, CMD_2RST_QP), 0);
	qp.pi = 0;
	qp.dbr[0] = qp.dbr[1] = 0;
	drv_connect(&qp, &qp);
}

/* Linux, libmlx5, DPDK and SPDK round each list up to four entries, which are 64 bytes. */
Test(key_use, umr__list_of_part_of_a_block_is_refused)
{
	static const struct {
		uint16_t klms, first;
	} bad[] = { { 1, 0 }, { 3, 0 }, { 5, 0 }, { 4, 1 }, { 4, 2 } };
	uint32_t key = drv_window(d, 16);
	struct drv_wqe w;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		drv_ctrl(&qp, &w, 0x25, SMALL_FENCE | CE_ALWAYS << 2, key);
		drv_umr(&w, INLINE | TRANSLATION, bad[i].klms, BIND_MASK);
		sn_set(w.b + 16, SN_FLD(0x30, 16), bad[i].first);
		drv_mkc(&w, DRV_RW, 0xffffff01, 0, 8, false);
		drv_klm(&w, mr.mem, 8, mr.key);
		w.ds = bad[i].klms > 4 ? 8 + 8 : 8 + 4;
		cr_expect_eq(run(&w), 0x06, "%u entries from entry %u", bad[i].klms, bad[i].first);
		drv_expect(d, "wqe.umr");
		revive();
	}
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

static uint8_t bind(uint32_t key, uint8_t flags)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0x25, SMALL_FENCE | CE_ALWAYS << 2, key);
	drv_umr(&w, INLINE | TRANSLATION | flags, 4, BIND_MASK);
	drv_mkc(&w, DRV_RW, 0xffffff11, (uintptr_t)mr.mem, 64, false);
	drv_klm(&w, mr.mem, 64, mr.key);
	drv_pad(&w);
	return run(&w);
}

/* Linux changes an mkey that must not be free, by flags of 2 << 5 (MLX5_UMR_CHECK_FREE). */
Test(key_use, umr__of_a_free_key_is_refused_if_it_must_not_be_free)
{
	uint32_t key = drv_window(d, 4);

	cr_expect_eq(bind(key, 2 << 5), 0x06);
	drv_expect(d, "wqe.umr");
	revive();
	cr_assert_eq(bind(key, CHECK_FREE), 0);
	cr_expect_eq(bind(key | 0x11, 2 << 5), 0);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

Test(key_use, umr__with_reserved_flags_is_seen)
{
	uint32_t key = drv_window(d, 4);

	for (uint8_t flag = 1; flag < 1 << 3; flag <<= 1) {
		cr_expect_eq(bind(key, flag), 0);
		drv_expect(d, "wqe.reserved_bits");
		key |= 0x11;
	}
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

/* The entries before the written ones are empty. */
Test(key_use, umr__far_behind_in_a_long_list_is_used)
{
	uint32_t key = drv_window(d, 1 << 16);
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0x25, SMALL_FENCE | CE_ALWAYS << 2, key);
	drv_umr(&w, INLINE | TRANSLATION, 4, BIND_MASK);
	sn_set(w.b + 16, SN_FLD(0x30, 16), 4096);
	drv_mkc(&w, DRV_RW, 0xffffff11, (uintptr_t)mr.mem, 64, false);
	drv_klm(&w, mr.mem + 1, 64, mr.key);
	drv_pad(&w);
	cr_assert_eq(run(&w), 0);
	mr.mem[0] = 7;
	drv_ctrl(&qp, &w, 0x08, CE_ALWAYS << 2, 0);
	w.b[11] |= SMALL_FENCE;
	drv_raddr(&w, (uintptr_t)mr.mem, key | 0x11);
	drv_data(&w, mr.mem, 1, mr.key);
	cr_expect_eq(run(&w), 0);
	cr_expect_eq(mr.mem[1], 7);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

/* Creates a key of 1 GiB: rows of this many bytes, of which the last of n entries has all and the others
 * none. Each row is at this address of another key. */
static uint32_t rows_of(uint32_t bytes, uint16_t n, uint32_t key, uint64_t va)
{
	uint8_t *ctx = d->in + AT_CTX, *list = d->in + AT_PAS;

	drv_begin(d, CMD_CREATE_MKEY);
	sn_set(ctx, MKC_MODE_1_0, MODE_KLM);
	sn_set(ctx, MKC_LR, 1);
	sn_set(ctx, MKC_LW, 1);
	sn_set(ctx, MKC_RW, 1);
	sn_set(ctx, MKC_QPN, 0xffffff);
	sn_set(ctx, MKC_PD, d->pd);
	sn_set64(ctx, MKC_LEN, GIB);
	sn_set32(ctx, MKC_XLT_SIZE, n + 1u);
	sn_set32(d->in, MKEY_XLT_ACTUAL, n + 1u);
	sn_set32(list, 0, bytes);
	sn_set32(list, 4, STRIDED);
	sn_set64(list, 8, (uint64_t)(GIB / bytes) << 32 | n);
	for (list += 16; n--; list += 16) {
		sn_set32(list, 0, n ? 0 : bytes);
		sn_set32(list, 4, key);
		sn_set64(list, 8, va);
	}
	cr_assert_eq(drv_run(d, sizeof(d->in)), 0);
	return sn_get(d->out, CMD_NUMBER) << 8;
}

/* Each row is at the start of the region. */
static uint32_t rows(uint32_t bytes, uint16_t n)
{
	return rows_of(bytes, n, mr.key, (uintptr_t)mr.mem);
}

/* IBTA 9.7.5.2: the request was right, so the error is an operational one of the responder. */
Test(key_use, target__that_the_iommu_refuses_is_a_remote_operational_error)
{
	enum { FETCH_ADD = 0x12, CATASTROPHIC = 5 };
	static const uint8_t opcodes[] = { 0x08, 0x10, FETCH_ADD };	/* WRITE, READ, ATOMIC_FA */
	struct drv_mr local;

	drv_mr(d, &local, 4096, DRV_ALL);
	d->refuse_at = (uintptr_t)mr.mem;
	d->refuse_len = 4096;
	for (int i = 0; i < 3; i++) {
		struct drv_qp peer = { 0 };
		uint8_t synd, type, data[28];
		struct drv_wqe w;

		drv_qp(d, &peer, &cq, &cq);
		cr_assert_eq(drv_to(&qp, CMD_2RST_QP), 0);
		qp.pi = 0;
		drv_connect(&qp, &peer);
		drv_ctrl(&qp, &w, opcodes[i], CE_ALWAYS << 2, 0);
		drv_raddr(&w, (uintptr_t)mr.mem, mr.key);
		if (opcodes[i] == FETCH_ADD)
			memset(w.b + 16 * w.ds++, 0, 16);
		drv_data(&w, local.mem, 8, local.key);
		synd = run(&w);
		cr_expect_eq(synd, 0x14, "opcode %#x: syndrome %#x", opcodes[i], synd);
		cr_expect_eq(drv_count(d, "remote.access"), 0);
		cr_expect_gt(drv_count(d, "remote.operational"), 0);
		softnic_violations_clear(d->nic);
		cr_assert(drv_event(d, &type, data));
		cr_expect_eq(type, CATASTROPHIC);
		drv_qp_free(&peer);
	}
	d->refuse_len = 0;
	drv_mr_free(d, &local);
}

/* The device would look at 2^41 entries before it answers the first packet. */
Test(key_use, write__to_a_key_of_a_billion_rows_is_refused_soon, .timeout = 60)
{
	uint32_t source = rows(4096, 1), target = rows(1, 2000);
	struct drv_qp peer = { 0 };
	struct drv_wqe w;

	drv_qp(d, &peer, &cq, &cq);
	cr_assert_eq(drv_to(&qp, CMD_2RST_QP), 0);
	drv_connect(&qp, &peer);
	drv_ctrl(&qp, &w, 0x08, CE_ALWAYS << 2, 0);
	drv_raddr(&w, 0, target);
	drv_data(&w, NULL, GIB, source);
	cr_expect_eq(run(&w), 0x13);
	drv_expect(d, "remote.access");
	drv_qp_free(&peer);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, target >> 8), 0);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, source >> 8), 0);
}

/* A chain of keys of the longest depth: each byte of the last one is the first byte of the region, behind
 * thousands of empty entries. */
enum { CHAIN = 4, EMPTY = 2000 };
static uint32_t chain[CHAIN];

static uint32_t make_chain(void)
{
	chain[0] = rows(1, EMPTY);
	for (int i = 1; i < CHAIN; i++)
		chain[i] = rows_of(1, EMPTY, chain[i - 1], 0);
	return chain[CHAIN - 1];
}

static void destroy_chain(void)
{
	for (int i = CHAIN - 1; i >= 0; i--)
		cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, chain[i] >> 8), 0);
}

static unsigned int completed(void)
{
	unsigned int n = 0;
	struct drv_cqe e;

	while (drv_poll(&cq, &e)) {
		cr_assert_eq(e.opcode, 0, "syndrome %#x", e.syndrome);
		n++;
	}
	return n;
}

/* The doorbell is one call, and so is each pump. Others that need the device get it between the calls. */
static void expect_in_parts(unsigned int requests, const struct drv_wqe *last)
{
	struct softnic_counters before, after;
	unsigned int done, pumps = 0;

	softnic_counters(d->nic, &before);
	drv_ring(&qp, last);
	softnic_counters(d->nic, &after);
	done = completed();
	cr_expect_lt(done + (after.rx_packets - before.rx_packets), requests, "one call has executed all");
	for (; done < requests && pumps < 10 * requests; pumps++) {
		softnic_pump(d->nic);
		done += completed();
	}
	cr_expect_eq(done, requests, "after %u calls", pumps);
}

Test(key_use, writes__through_long_chains_are_executed_in_parts, .timeout = 60)
{
	enum { WRITES = 64, BYTES = 16 };
	uint32_t key = make_chain();

	for (int from = 0; from < 2; from++) {
		struct drv_wqe w;

		for (unsigned int i = 0; i < WRITES; i++) {
			drv_ctrl(&qp, &w, 0x08, CE_ALWAYS << 2, 0);
			drv_raddr(&w, from ? (uintptr_t)mr.mem : 0, from ? mr.key : key);
			drv_data(&w, from ? NULL : mr.mem, BYTES, from ? key : mr.key);
			drv_put(&qp, &w);
		}
		expect_in_parts(WRITES, &w);
	}
	destroy_chain();
}

Test(key_use, umrs__with_lists_behind_long_chains_are_executed_in_parts, .timeout = 60)
{
	enum { UMRS = 16 };
	uint32_t key = make_chain(), window = drv_window(d, 4);
	struct drv_wqe w;

	mr.mem[0] = 0;
	for (unsigned int i = 0; i < UMRS; i++) {
		drv_ctrl(&qp, &w, 0x25, SMALL_FENCE | CE_ALWAYS << 2, window);
		drv_umr(&w, 0, 4, BIND_MASK);
		drv_mkc(&w, DRV_RW, 0xffffff00, 0, 64, false);
		drv_data(&w, NULL, 64, key);
		drv_put(&qp, &w);
	}
	expect_in_parts(UMRS, &w);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, window >> 8), 0);
	destroy_chain();
}

/* Each segment alone is allowed: it looks at 2^24 entries at most. */
Test(key_use, write__of_two_segments_behind_long_chains_is_refused, .timeout = 60)
{
	uint32_t key = make_chain();
	struct drv_wqe w;

	for (unsigned int segments = 1; segments <= 2; segments++) {
		drv_ctrl(&qp, &w, 0x08, CE_ALWAYS << 2, 0);
		drv_raddr(&w, (uintptr_t)mr.mem, mr.key);
		for (unsigned int i = 0; i < segments; i++)
			drv_data(&w, NULL, 600, key);
		cr_expect_eq(run(&w), segments == 1 ? 0 : 0x04, "%u segments", segments);
	}
	drv_expect(d, "mkey.depth");
	destroy_chain();
}
