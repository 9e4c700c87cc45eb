/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of every WQE, compared with Debian's libmlx5's for the same work. The queue is plain
 * memory here; there is no device.
 *
 * Intended differences, all of them:
 *  - bytes that libmlx5 left unchanged (".." in the capture) are not compared;
 *  - a bind is always signaled, even when its completion is suppressed (internal completion);
 *  - a bind need not set the atomic right, which no window has (umr_modify_atomic_disabled);
 *  - work without a uDAPL 1.2 call is not built: immediate data, atomics, send with invalidate,
 *    type 2 windows and local invalidate.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/mlx5/captured/captured.h"
#include "tests/mlx5/rig.h"

static struct captured_wqe captured[] = {
#include "tests/mlx5/captured/wqes.inc"
};
#define CAPTURED (sizeof(captured) / sizeof(captured[0]))

#define MEM_ADDR 0x5a0012340000ull	/* address of the memory in the captured WQEs */
#define MEM_LEN 0x10000ull
#define ACCESS_REMOTE_WRITE 2		/* a bit of IBV_ACCESS_* */
#define ACCESS_REMOTE_READ 4

struct bench {				/* an endpoint with only its queues */
	struct dap_ia ia;
	struct dap_ep ep;
	struct dap_pz pz;
	struct dap_lmr lmr;
	struct dap_rmr rmr;
	struct dap_lmr_page page;
	struct m5_slot slots[256];
	_Alignas(64) uint8_t ring[256 * 64];
	_Alignas(512) uint8_t reg[512];
	_Alignas(64) uint32_t dbrec[2];
};

static const struct dap_lmr no_lmr;

static bool v3;				/* use the hot functions for newer processors */

static const struct dap_hot *silicon(void)
{
	return m5_hot_calls(v3, false);
}

/* Defines a test of all hot functions that this processor can run. */
#define GOLDEN(name)                                                                               \
	static void name(void);                                                                    \
	Test(golden, name)                                                                         \
	{                                                                                          \
		name();                                                                            \
		v3 = m5_isa_v3();                                                                  \
		if (v3)                                                                            \
			name();                                                                    \
	}                                                                                          \
	static void name(void)

static void memory(uint32_t lkey, struct bench *b)
{
	void *p;

	munmap((void *)MEM_ADDR, MEM_LEN);
	p = mmap((void *)MEM_ADDR, MEM_LEN, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	cr_assert_eq((uint64_t)(uintptr_t)p, MEM_ADDR);
	b->lmr = (struct dap_lmr){ .pz = &b->pz, .addr = MEM_ADDR, .length = MEM_LEN,
				   .lmr_context = lkey, .priv = DAP_PRIV_ALL };
	b->ia.lmr_dir[lkey >> 20] = &b->page;
	b->page.lmr[lkey >> 8 & 0xfff] = &b->lmr;
}

/* known: the LMR is that of the previous post. */
static struct bench *bench_new(const struct captured_wqe *c, bool known)
{
	struct bench *b = aligned_alloc(512, (sizeof(*b) + 511) & ~511ul);
	struct m5_ep *e;

	memset(b, 0, sizeof(*b));
	b->ep.obj.ia = b->rmr.obj.ia = &b->ia;
	b->ia.tables[DAP_TABLE_EP_LIVE] = b->ep.obj.table = &b->ia;
	b->ep.pz = b->rmr.pz = &b->pz;
	e = m5_ep(&b->ep);
	e->gen = 1;
	e->max_ops = 64;
	e->internal = e->max_ops + 2;	/* there is no CQ, in which a suppressed bind would reserve room */
	e->done.sq_ci = (uint16_t)c->index;
	b->ep.connection = 1;
	e->sq = (struct m5_sq){
		.ring = b->ring, .slots = b->slots, .dbrec = b->dbrec,
		.reg = (uintptr_t)b->reg,
		.pi = c->index, .limit = c->index, .mask = c->ring - 1,
		.signal_every = 1000, .lmr = known ? &b->lmr : &no_lmr, .bf_bb_limit = 5, .max_iov = 4,
		.read_segs = 1,
		.max_read_iov = 4, .max_write_iov = 4, .deny_send = ~11u, .deny_rdma = ~9u,
		.max_msg = 1 << 30, .max_rdma = 1 << 30, .pz = &b->pz,
		.inline_max = c->flags & CAPTURED_INLINE ? 220 : 0,
		.fence = c->flags & CAPTURED_AFTER_BIND ? 16 : 0,
	};
	m5_sq_derive(&e->sq, c->qpn, M5_FENCE_SMALL);
	e->rq = (struct m5_rq){
		.ring = b->ring, .slots = b->slots, .dbrec = b->dbrec, .pi = c->index,
		.limit = c->index + 64, .mask = c->ring - 1, .max_iov = 4,
		.stride = c->stride ? c->stride : 16,
	};
	memset(b->ring, 0x5a, sizeof(b->ring));
	return b;
}

static DAT_RETURN post_bind(struct bench *b, const struct captured_wqe *c,
			    DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET t = { .lmr_context = c->mw.mr_lkey, .virtual_address = c->mw.addr,
			      .segment_length = c->mw.len };
	DAT_MEM_PRIV_FLAGS priv = (c->mw.access & ACCESS_REMOTE_WRITE ?
				   DAT_MEM_PRIV_REMOTE_WRITE_FLAG : 0) |
				  (c->mw.access & ACCESS_REMOTE_READ ?
				   DAT_MEM_PRIV_REMOTE_READ_FLAG : 0);
	struct m5_rmr *r = m5_rmr(&b->rmr);
	DAT_RMR_CONTEXT context = 0;
	DAT_RETURN ret;

	r->key_be = htobe32(c->mw.rkey);
	r->stride_be = M5_VARIANT;
	r->last_ep = &b->ep;
	r->connection = 1;
	if (m5_ep(&b->ep)->sq.lmr == &b->lmr)
		m5_rmr_cache_lmr(r, &b->lmr);
	ret = silicon()->rmr_bind(&b->rmr, &t, priv, &b->ep, rig_cookie(1), flags, &context);
	cr_assert_eq(context, c->mw.new_rkey);
	return ret;
}

static DAT_RETURN post(struct bench *b, const struct captured_wqe *c)
{
	DAT_COMPLETION_FLAGS flags =
		(c->flags & CAPTURED_SIGNALED ? 0 : DAT_COMPLETION_SUPPRESS_FLAG) |
		(c->flags & CAPTURED_SOLICITED ? DAT_COMPLETION_SOLICITED_WAIT_FLAG : 0) |
		(c->flags & CAPTURED_FENCE ? DAT_COMPLETION_BARRIER_FENCE_FLAG : 0);
	DAT_RMR_TRIPLET remote = { .rmr_context = c->rkey, .target_address = c->raddr };
	DAT_LMR_TRIPLET l[4] = { 0 };

	for (unsigned int k = 0; k < c->nsge; k++) {
		l[k] = (DAT_LMR_TRIPLET){ .lmr_context = c->sge[k].lkey,
					  .virtual_address = c->sge[k].addr,
					  .segment_length = c->sge[k].len };
		remote.segment_length += c->sge[k].len;
		for (uint32_t i = 0; c->flags & CAPTURED_INLINE && i < c->sge[k].len; i++)
			((uint8_t *)(uintptr_t)c->sge[k].addr)[i] = captured_payload(k, i);
	}
	switch (c->op) {
	case CAPTURED_WRITE:
		return silicon()->rdma_write(&b->ep, (int)c->nsge, l, rig_cookie(1), &remote, flags);
	case CAPTURED_READ:
		return silicon()->rdma_read(&b->ep, (int)c->nsge, l, rig_cookie(1), &remote, flags);
	case CAPTURED_SEND:
		return silicon()->post_send(&b->ep, (int)c->nsge, l, rig_cookie(1), flags);
	case CAPTURED_RECV:
		m5_rq_derive(&m5_ep(&b->ep)->rq);
		return silicon()->post_recv(&b->ep, (int)c->nsge, l, rig_cookie(1), 0);
	default:
		return post_bind(b, c, flags);
	}
}

static bool ours(const struct captured_wqe *c)
{
	return c->op == CAPTURED_WRITE || c->op == CAPTURED_READ || c->op == CAPTURED_SEND ||
	       c->op == CAPTURED_RECV || (c->op == CAPTURED_BIND && c->mw.type == 1);
}

static int hex(char ch)
{
	return ch <= '9' ? ch - '0' : ch - 'a' + 10;
}

static void compare(const struct captured_wqe *c, const struct bench *b)
{
	size_t unit = c->op == CAPTURED_RECV ? c->stride : 64, size = unit * c->ring;

	for (size_t i = 0; c->bytes[2 * i]; i++) {
		uint8_t got = b->ring[(c->index * unit + i) % size], expected;

		if (c->bytes[2 * i] == '.')
			continue;
		expected = (uint8_t)(hex(c->bytes[2 * i]) << 4 | hex(c->bytes[2 * i + 1]));
		if (c->op == CAPTURED_BIND && !(c->flags & CAPTURED_SIGNALED) && i == 11)
			expected |= M5_CE_ALWAYS;
		if (c->op == CAPTURED_BIND && i == 29)	/* mkey_mask, bits 23 to 16 */
			expected = (uint8_t)((expected & ~0x20) | (got & 0x20));
		cr_expect_eq(got, expected, "%s: byte %zu is %02x, libmlx5 wrote %02x", c->name, i,
			     got, expected);
	}
}

static uint32_t blocks_of(const struct captured_wqe *c)
{
	return (uint32_t)((strlen(c->bytes) / 2 + 63) / 64);
}

/* The doorbell record advances, and the first half of the BlueFlame register has the WQE. */
static void compare_doorbell(const struct captured_wqe *c, const struct bench *b)
{
	uint32_t n = blocks_of(c);

	if (c->op == CAPTURED_RECV) {
		cr_expect_eq(be32toh(b->dbrec[0]), (c->index + 1) & 0xffff);
		return;
	}
	cr_expect_eq(be32toh(b->dbrec[1]), (c->index + n) & 0xffff,
		     "%s: the doorbell record has a wrong producer index", c->name);
	for (uint32_t i = 0; i < n * 64; i++)
		cr_assert_eq(b->reg[i], b->ring[(c->index * 64 + i) % (c->ring * 64)],
			     "%s: byte %u written to BlueFlame differs from the WQE", c->name, i);
	cr_expect_eq(m5_ep((struct dap_ep *)(uintptr_t)&b->ep)->sq.reg, (uintptr_t)b->reg + 256);
}

static void post_as_captured(const struct captured_wqe *c, bool known)
{
	struct bench *b = bench_new(c, known);

	memory(c->mw.type ? c->mw.mr_lkey : c->nsge ? c->sge[0].lkey : 0, b);
	cr_expect_eq(post(b, c), DAT_SUCCESS, "%s: the post failed", c->name);
	compare(c, b);
	compare_doorbell(c, b);
	munmap((void *)MEM_ADDR, MEM_LEN);
	free(b);
}

GOLDEN(wqe__as_libmlx5_writes_it)
{
	for (size_t i = 0; i < CAPTURED; i++) {
		if (!ours(&captured[i]))
			continue;
		post_as_captured(&captured[i], false);
		post_as_captured(&captured[i], true);
	}
}

/* The capture covers all kinds of WQEs that the driver builds. */
GOLDEN(captured__covers_what_is_built)
{
	unsigned int seen = 0;

	for (size_t i = 0; i < CAPTURED; i++)
		if (ours(&captured[i]))
			seen |= 1u << captured[i].op;
	cr_assert_eq(seen, 1u << CAPTURED_WRITE | 1u << CAPTURED_READ | 1u << CAPTURED_SEND |
			   1u << CAPTURED_RECV | 1u << CAPTURED_BIND);
}

/* Data that the consumer may not read is not copied into a WQE, but sent by reference. */
GOLDEN(rdma_write__of_foreign_memory_is_not_copied)
{
	const struct captured_wqe c = { .flags = CAPTURED_INLINE, .ring = 16, .qpn = 5 };
	DAT_RMR_TRIPLET t = { .segment_length = 100 };
	struct bench *b = bench_new(&c, false);
	uint8_t eight[8] = { 0 };
	DAT_LMR_TRIPLET cases[] = {
		{ .lmr_context = 0x1234500, .virtual_address = (uintptr_t)eight,
		  .segment_length = 8 },
		{ .lmr_context = 0x1234500, .virtual_address = 0, .segment_length = 1 },
		{ .lmr_context = 0x500, .virtual_address = MEM_ADDR - 1, .segment_length = 8 },
		{ .lmr_context = 0x500, .virtual_address = MEM_ADDR + MEM_LEN - 7,
		  .segment_length = 8 },
		{ .lmr_context = 0x501, .virtual_address = MEM_ADDR, .segment_length = 8 },
	};

	memory(0x500, b);
	for (unsigned int i = 0; i < 5; i++) {
		const uint8_t *wqe = b->ring + i * 64;

		cr_assert_eq(silicon()->rdma_write(&b->ep, 1, &cases[i], rig_cookie(1), &t, 0),
			     DAT_SUCCESS);
		cr_assert_eq(wqe[32], 0, "the data of case %u was copied into the WQE", i);
		cr_assert_eq(wqe[35], cases[i].segment_length);
		cr_assert_eq(wqe[38], cases[i].lmr_context >> 8 & 0xff);
	}
	b->lmr.priv = DAP_PRIV_LOCAL_WRITE;
	m5_ep(&b->ep)->sq.lmr = &no_lmr;
	cases[0] = (DAT_LMR_TRIPLET){ .lmr_context = 0x500, .virtual_address = MEM_ADDR,
				      .segment_length = 8 };
	cr_assert_eq(silicon()->post_send(&b->ep, 1, cases, rig_cookie(1), 0), DAT_SUCCESS);
	cr_assert_eq(b->ring[5 * 64 + 16], 0);
	free(b);
}

/* Gathers data that reaches the ring's end at any byte, between two segments and inside one. */
GOLDEN(rdma_write__gathers_over_the_ring_end)
{
	const struct captured_wqe c = { .flags = CAPTURED_INLINE, .ring = 8, .qpn = 5 };
	DAT_RMR_TRIPLET t = { .segment_length = 1000 };
	struct bench *b = bench_new(&c, false);
	uint8_t *mem = (uint8_t *)MEM_ADDR;

	memory(0x500, b);
	for (uint32_t i = 0; i < 4096; i++)
		mem[i] = (uint8_t)(i * 5 + i / 256);
	for (uint32_t at = 0; at < 8; at++) {
		for (uint32_t first = 1; first < 200; first++) {
			DAT_LMR_TRIPLET l[3] = {
				{ .lmr_context = 0x500, .virtual_address = MEM_ADDR,
				  .segment_length = first },
				{ .lmr_context = 0x500, .virtual_address = MEM_ADDR + 300,
				  .segment_length = 7 },
				{ .lmr_context = 0x500, .virtual_address = MEM_ADDR + 600,
				  .segment_length = 12 },
			};

			m5_ep(&b->ep)->sq.pi = at;
			m5_ep(&b->ep)->sq.limit = at + 8;
			memset(b->ring, 0x5a, sizeof(b->ring));
			cr_assert_eq(silicon()->rdma_write(&b->ep, 3, l, rig_cookie(1), &t, 0),
				     DAT_SUCCESS);
			for (uint32_t i = 0; i < first + 19; i++) {
				uint32_t from = i < first ? i : i < first + 7 ? i - first + 300 :
						i - first - 7 + 600;

				cr_assert_eq(b->ring[(at * 64 + 36 + i) % 512], mem[from],
					     "WQE at block %u, first segment of %u bytes: inline "
					     "byte %u is wrong",
					     at, first, i);
			}
			cr_assert_eq(b->ring[512], 0x5a, "bytes beyond the ring were written");
		}
	}
	free(b);
}

/* A KLM holds less than 2 GiB: longer windows have a list of them, of at most four. */
GOLDEN(rmr_bind__of_more_than_a_klm_holds_writes_a_list)
{
	const struct captured_wqe c = { .ring = 16, .qpn = 5, .mw = { .rkey = 0x777700 } };
	const uint64_t len = 3 * (1ull << 30) + 4096;
	DAT_LMR_TRIPLET t = { .lmr_context = 0x500, .virtual_address = MEM_ADDR + 16,
			      .segment_length = len };
	struct bench *b = bench_new(&c, false);
	const struct m5_klm_seg *klm = (const void *)(b->ring + 128);
	DAT_RMR_CONTEXT context = 0;

	memory(0x500, b);
	b->lmr.length = 1ull << 40;
	m5_rmr(&b->rmr)->key_be = htobe32(0x777700);
	m5_rmr(&b->rmr)->stride_be = M5_VARIANT;
	m5_rmr(&b->rmr)->last_ep = &b->ep;
	m5_rmr(&b->rmr)->connection = 1;
	cr_assert_eq(silicon()->rmr_bind(&b->rmr, &t, DAT_MEM_PRIV_REMOTE_READ_FLAG, &b->ep,
					 rig_cookie(1), 0, &context), DAT_SUCCESS);
	cr_assert_eq(be64_to_cpu(*(be64_t *)(b->ring + 64 + 24)), len);
	for (unsigned int i = 0; i < 4; i++) {
		cr_assert_eq(be32_to_cpu(klm[i].byte_count), i < 3 ? 1u << 30 : 4096);
		cr_assert_eq(be32_to_cpu(klm[i].mkey), 0x500);
		cr_assert_eq(be64_to_cpu(klm[i].va), MEM_ADDR + 16 + ((uint64_t)i << 30));
	}
	cr_assert_arr_eq(b->reg, b->ring, 192);
	t.segment_length = 4 * (1ull << 30) + 1;
	cr_assert_eq(DAT_GET_TYPE(silicon()->rmr_bind(&b->rmr, &t, 0, &b->ep, rig_cookie(1), 0,
						      &context)), DAT_INVALID_PARAMETER);
	free(b);
}

/*
 * The device does not fetch these WQEs: a whole WQE is written into one half of the register, the
 * next one into the other half.
 */
GOLDEN(rmr_bind__and_unbind_go_through_blueflame)
{
	const struct captured_wqe c = { .ring = 16, .qpn = 5 };
	DAT_LMR_TRIPLET t = { .lmr_context = 0x500, .virtual_address = MEM_ADDR,
			      .segment_length = 4096 };
	struct bench *b = bench_new(&c, true);
	struct m5_rmr *r = m5_rmr(&b->rmr);
	DAT_RMR_CONTEXT context = 0;

	memory(0x500, b);
	r->key_be = htobe32(0x777700);
	r->stride_be = M5_VARIANT;
	r->last_ep = &b->ep;
	r->connection = 1;
	m5_rmr_cache_lmr(r, &b->lmr);
	cr_assert_eq(silicon()->rmr_bind(&b->rmr, &t, DAT_MEM_PRIV_REMOTE_READ_FLAG, &b->ep,
					 rig_cookie(1), 0, &context), DAT_SUCCESS);
	cr_assert_eq(context, 0x777701);
	cr_assert_arr_eq(b->reg, b->ring, 192);
	t.segment_length = 0;
	cr_assert_eq(silicon()->rmr_bind(&b->rmr, &t, 0, &b->ep, rig_cookie(2), 0, &context),
		     DAT_SUCCESS);
	cr_assert_eq(context, 0x777702);
	cr_assert_arr_eq(b->reg + 256, b->ring + 192, 128);
	cr_assert_eq(m5_ep(&b->ep)->sq.pi, 5);
	cr_assert_eq(be32toh(b->dbrec[1]), 5);
	free(b);
}
