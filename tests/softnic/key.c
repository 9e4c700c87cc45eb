/* SPDX-License-Identifier: BSD-2-Clause */
/* The key table, checked by the transfers of a QP: first each condition of an access alone, then memory
 * windows. */
#include <criterion/criterion.h>

#include "tests/softnic/drv.h"

#define BIND_MASK (UINT64_C(1) << 29 | 1 << 13 | 1 << 0 | 1 << 6 | 1 << 18 | 1 << 19 | 1 << 20 | 1 << 21)
#define UNBIND_MASK (UINT64_C(1) << 29 | 1 << 13)
#define MASK_QPN (1u << 14)
enum { SMALL_FENCE = 1 << 5 };
enum { INLINE = 1 << 7, TRANSLATION = 1 << 4, CHECK_FREE = 1 << 5, CHECK_QPN = 1 << 3 };

static struct drv *d;
static struct drv_cq cq;
static struct drv_qp qp, peer;
static struct drv_mr src, dst;

static void open_rts(void)
{
	d = drv_open(0);
	drv_cq(d, &cq, 8, false);
	drv_qp(d, &qp, &cq, &cq);
	drv_qp(d, &peer, &cq, &cq);
	drv_connect(&qp, &peer);
	drv_mr(d, &src, 3 * 4096, DRV_ALL);
	drv_mr(d, &dst, 3 * 4096, DRV_ALL);
	for (size_t i = 0; i < src.len; i++)
		src.mem[i] = (uint8_t)(i * 7 + 1);
}

static void close_all(void)
{
	drv_qp_free(&qp);
	drv_qp_free(&peer);
	drv_cq_free(&cq);
	drv_mr_free(d, &src);
	drv_mr_free(d, &dst);
	drv_close(d);
}

TestSuite(key, .init = open_rts, .fini = close_all);

static uint8_t rdma(uint8_t opcode, uint32_t lkey, const void *local, uint32_t len, uint64_t va,
		    uint32_t rkey)
{
	struct drv_wqe w;
	struct drv_cqe e;

	drv_ctrl(&qp, &w, opcode, SMALL_FENCE | CE_ALWAYS << 2, 0);
	drv_raddr(&w, va, rkey);
	drv_data(&w, local, len, lkey);
	drv_post(&qp, &w);
	drv_wait(&cq, &e);
	return (uint8_t)e.syndrome;
}

/* Posts a WRITE to (va, rkey) and returns its syndrome. */
static uint8_t rdma_write(uint32_t lkey, const void *from, uint32_t len, uint64_t va, uint32_t rkey)
{
	return rdma(0x08, lkey, from, len, va, rkey);
}

static uint64_t at(const struct drv_mr *mr, size_t off)
{
	return (uintptr_t)mr->mem + off;
}

static void reset(struct drv_qp *q)
{
	cr_assert_eq(drv_to(q, CMD_2RST_QP), 0);
	q->pi = q->rq_pi = 0;
	q->dbr[0] = q->dbr[1] = 0;
}

/* Restarts both QPs after an error. */
static void revive(void)
{
	struct drv_cqe e;

	while (drv_poll(&cq, &e))
		;
	reset(&qp);
	reset(&peer);
	drv_connect(&qp, &peer);
}

Test(key, write__moves_bytes_across_pages)
{
	cr_expect_eq(rdma_write(src.key, src.mem + 100, 8000, at(&dst, 50), dst.key), 0);
	cr_expect_eq(memcmp(src.mem + 100, dst.mem + 50, 8000), 0);
	cr_expect_eq(dst.mem[49] | dst.mem[8050], 0);
}

Test(key, write__ends_exactly_at_the_bounds)
{
	cr_expect_eq(rdma_write(src.key, src.mem, 4096, at(&dst, 8192), dst.key), 0);
	cr_expect_eq(rdma_write(src.key, src.mem, 4096, at(&dst, 0), dst.key), 0);
}


Test(key, lkey__stale_or_out_of_bounds_is_refused)
{
	static const struct {
		const char *name;
		int64_t off;
		uint32_t len, xor;
	} cases[] = {
		{ "mkey.bounds", 12284, 5, 0 },	    { "mkey.bounds", -1, 10, 0 },
		{ "mkey.bounds", 12288, 1, 0 },	    { "mkey.stale", 0, 1, 0x01 },
		{ "mkey.stale", 0, 1, 0x00010000 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t s = rdma_write(src.key ^ cases[i].xor, src.mem + cases[i].off, cases[i].len,
				       at(&dst, 0), dst.key);

		cr_expect_eq(s, 0x04, "case %zu: the completion has the wrong syndrome %#x", i, s);
		drv_expect(d, cases[i].name);
		revive();
	}
	for (size_t i = 0; i < dst.len; i++)
		cr_assert_eq(dst.mem[i], 0);
}

Test(key, lkey__without_local_read_is_refused)
{
	struct drv_mr mr;

	drv_mr(d, &mr, 4096, DRV_LW | DRV_RR | DRV_RW);
	cr_expect_eq(rdma_write(mr.key, mr.mem, 8, at(&dst, 0), dst.key), 0x04);
	drv_expect(d, "mkey.rights");
	drv_mr_free(d, &mr);
}

Test(key, lkey__of_another_pd_is_refused)
{
	struct drv_mr mr;
	uint32_t pd = d->pd;

	cr_assert_eq(drv_simple(d, CMD_ALLOC_PD, 0), 0);
	d->pd = sn_get(d->out, CMD_NUMBER);
	drv_mr(d, &mr, 4096, DRV_ALL);
	cr_expect_eq(rdma_write(mr.key, mr.mem, 8, at(&dst, 0), dst.key), 0x04);
	drv_expect(d, "mkey.pd");
	drv_mr_free(d, &mr);
	cr_expect_eq(drv_simple(d, CMD_DEALLOC_PD, d->pd), 0);
	d->pd = pd;
}

Test(key, lkey__destroyed_is_refused)
{
	struct drv_mr mr;
	uint32_t key;

	drv_mr(d, &mr, 4096, DRV_ALL);
	key = mr.key;
	drv_mr_free(d, &mr);
	cr_expect_eq(rdma_write(key, src.mem, 8, at(&dst, 0), dst.key), 0x04);
	drv_expect(d, "mkey.stale");
}

Test(key, rkey__each_violation_is_refused)
{
	struct drv_mr mr;

	drv_mr(d, &mr, 4096, DRV_LR | DRV_LW | DRV_RR);
	cr_expect_eq(rdma_write(src.key, src.mem, 8, at(&dst, 12288 - 7), dst.key), 0x13);
	drv_expect(d, "remote.access");
	revive();
	cr_expect_eq(rdma_write(src.key, src.mem, 8, at(&dst, 0), dst.key ^ 1), 0x13);
	drv_expect(d, "remote.access");
	revive();
	cr_expect_eq(rdma_write(src.key, src.mem, 8, at(&mr, 0), mr.key), 0x13);
	drv_expect(d, "remote.access");
	revive();
	cr_expect_eq(rdma_write(src.key, src.mem, 8, UINT64_MAX - 3, dst.key), 0x13);
	drv_expect(d, "remote.access");
	drv_mr_free(d, &mr);
}

Test(key, page__that_the_iommu_refuses_gets_local_protection)
{
	d->refuse_at = (uintptr_t)src.mem + 4096;
	d->refuse_len = 4096;
	cr_expect_eq(rdma_write(src.key, src.mem, 5000, at(&dst, 0), dst.key), 0x04);
	d->refuse_len = 0;
	drv_expect(d, "dma.refused");
}

/* Tests of windows */

static uint8_t umr(struct drv_wqe *w)
{
	struct drv_cqe e;

	drv_post(&qp, w);
	drv_wait(&cq, &e);
	return (uint8_t)e.syndrome;
}

/* Posts a bind as of type 1: without check bits, without QPN. key: the current key; tag: the next
 * variant. */
static uint8_t bind(uint32_t *key, uint8_t tag, const struct drv_mr *mr, size_t off, uint32_t len,
		    unsigned int rights)
{
	struct drv_wqe w;
	uint8_t synd;

	drv_ctrl(&qp, &w, 0x25, SMALL_FENCE | CE_ALWAYS << 2, *key);
	drv_umr(&w, INLINE | TRANSLATION, 4, BIND_MASK);
	drv_mkc(&w, rights, 0xffffff00 | tag, (uintptr_t)mr->mem + off, len, false);
	drv_klm(&w, mr->mem + off, len, mr->key);
	drv_pad(&w);
	synd = umr(&w);
	if (!synd)
		*key = (*key & ~0xffu) | tag;
	return synd;
}

static uint8_t unbind(uint32_t *key, uint8_t tag)
{
	struct drv_wqe w;
	uint8_t synd;

	drv_ctrl(&qp, &w, 0x25, SMALL_FENCE | CE_ALWAYS << 2, *key);
	drv_umr(&w, INLINE | TRANSLATION, 0, UNBIND_MASK);
	drv_mkc(&w, 0, 0xffffff00 | tag, 0, 0, true);
	synd = umr(&w);
	if (!synd)
		*key = (*key & ~0xffu) | tag;
	return synd;
}

Test(key, window__gives_access_only_where_it_is_bound)
{
	uint32_t key = drv_window(d, 4), first;

	cr_expect_eq(rdma_write(src.key, src.mem, 8, at(&dst, 0), key), 0x13);
	drv_expect(d, "remote.access");
	revive();
	cr_assert_eq(bind(&key, 1, &dst, 4000, 200, DRV_RW), 0);
	first = key;
	cr_expect_eq(rdma_write(src.key, src.mem, 200, at(&dst, 4000), key), 0);
	cr_expect_eq(memcmp(src.mem, dst.mem + 4000, 200), 0);
	cr_assert_eq(bind(&key, 2, &dst, 0, 64, DRV_RW), 0);
	cr_expect_eq(rdma_write(src.key, src.mem, 64, at(&dst, 0), key), 0);
	cr_expect_eq(rdma_write(src.key, src.mem, 8, at(&dst, 4000), first), 0x13);
	drv_expect(d, "remote.access");
	revive();
	cr_expect_eq(rdma_write(src.key, src.mem, 65, at(&dst, 0), key), 0x13);
	drv_expect(d, "remote.access");
	revive();
	cr_assert_eq(unbind(&key, 3), 0);
	cr_expect_eq(rdma_write(src.key, src.mem, 8, at(&dst, 0), key), 0x13);
	drv_expect(d, "remote.access");
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

Test(key, window__needs_the_rights_of_its_entries)
{
	uint32_t key = drv_window(d, 4);
	struct drv_mr mr;

	drv_mr(d, &mr, 4096, DRV_LR | DRV_RR);
	cr_assert_eq(bind(&key, 1, &mr, 0, 64, DRV_RW | DRV_RR), 0);
	cr_expect_eq(rdma_write(src.key, src.mem, 8, at(&mr, 0), key), 0x13);
	drv_expect(d, "remote.access");
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
	drv_mr_free(d, &mr);
}

/* The key of the window is valid, but the key in its list is not. A key that is itself invalid has
 * another syndrome. */
Test(key, window__over_a_destroyed_region_is_a_remote_operational_error)
{
	uint32_t key = drv_window(d, 4);
	struct drv_mr mr;
	uint64_t va;

	drv_mr(d, &mr, 4096, DRV_ALL);
	va = at(&mr, 0);
	cr_assert_eq(bind(&key, 1, &mr, 0, 64, DRV_RW | DRV_RR), 0);
	drv_mr_free(d, &mr);
	cr_expect_eq(rdma_write(src.key, src.mem, 8, va, key), 0x14);
	drv_expect(d, "remote.operational");
	revive();
	cr_expect_eq(rdma(0x10, src.key, src.mem, 8, va, key), 0x14);
	drv_expect(d, "remote.operational");
	revive();
	cr_expect_eq(rdma(0x10, src.key, src.mem, 8, va, key ^ 1), 0x13);
	drv_expect(d, "remote.access");
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

Test(key, window__of_several_pieces_writes_to_each)
{
	uint32_t key = drv_window(d, 4);
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0x25, SMALL_FENCE | CE_ALWAYS << 2, key);
	drv_umr(&w, INLINE, 4, BIND_MASK);
	drv_mkc(&w, DRV_RW, 0xffffff07, 0x1000, 300, false);
	drv_klm(&w, dst.mem + 8000, 100, dst.key);
	drv_klm(&w, dst.mem + 10, 100, dst.key);
	drv_klm(&w, dst.mem + 4050, 100, dst.key);
	drv_pad(&w);
	cr_assert_eq(umr(&w), 0);
	key |= 7;
	cr_expect_eq(rdma_write(src.key, src.mem, 250, 0x1000 + 20, key), 0);
	cr_expect_eq(memcmp(dst.mem + 8020, src.mem, 80), 0);
	cr_expect_eq(memcmp(dst.mem + 10, src.mem + 80, 100), 0);
	cr_expect_eq(memcmp(dst.mem + 4050, src.mem + 180, 70), 0);
	cr_expect_eq(dst.mem[8019] | dst.mem[8100] | dst.mem[110] | dst.mem[4120], 0);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

Test(key, window__that_lists_itself_ends)
{
	uint32_t key = drv_window(d, 4);
	struct drv_mr self = { .key = key | 9, .mem = dst.mem };

	cr_assert_eq(bind(&key, 9, &self, 0, 64, DRV_RW | DRV_LW), 0);
	cr_expect_eq(rdma_write(src.key, src.mem, 8, at(&dst, 0), key), 0x13);
	drv_expect(d, "remote.access");
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

/* The status of a CREATE_MKEY whose only entry has this length. */
static uint8_t create_list(uint32_t len)
{
	uint8_t *mkc = d->in + AT_CTX;

	drv_begin(d, CMD_CREATE_MKEY);
	sn_set(mkc, MKC_MODE_1_0, MODE_KLM);
	sn_set(mkc, MKC_QPN, 0xffffff);
	sn_set(mkc, MKC_PD, d->pd);
	sn_set64(mkc, MKC_LEN, len);
	sn_set32(mkc, MKC_XLT_SIZE, 4);
	sn_set32(d->in, MKEY_XLT_ACTUAL, 1);
	sn_set32(d->in, AT_PAS, len);
	sn_set32(d->in, AT_PAS + 4, dst.key);
	return drv_run(d, AT_PAS + 16);
}

/* mlx5dv.h: a KLM is up to 2 GiB long. libmlx5 refuses to bind more. */
Test(key, klm__longer_than_2_gib_is_refused)
{
	uint32_t key = drv_window(d, 4), most = UINT32_C(1) << 31;

	cr_expect_eq(bind(&key, 1, &dst, 0, most + 1, DRV_RW), 0x06);
	drv_expect(d, "wqe.umr");
	revive();
	cr_expect_eq(bind(&key, 1, &dst, 0, most, DRV_RW), 0);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
	cr_expect_eq(create_list(most + 1), 3);
	drv_expect(d, "cmd.field");
	cr_assert_eq(create_list(most), 0);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, sn_get(d->out, CMD_NUMBER)), 0);
}

static uint8_t bind_type2(uint32_t key, uint8_t flags, uint32_t qpn)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0x25, SMALL_FENCE | CE_ALWAYS << 2, key);
	drv_umr(&w, INLINE | TRANSLATION | flags, 4, BIND_MASK | MASK_QPN);
	drv_mkc(&w, DRV_RW, qpn << 8 | 0x11, at(&dst, 0), 64, false);
	drv_klm(&w, dst.mem, 64, dst.key);
	drv_pad(&w);
	return umr(&w);
}

Test(key, window_type_2__bound_already_refuses_a_bind)
{
	uint32_t key = drv_window(d, 4);

	cr_assert_eq(bind_type2(key, CHECK_FREE, peer.qpn), 0);
	key |= 0x11;
	cr_expect_eq(rdma_write(src.key, src.mem, 8, at(&dst, 0), key), 0);
	cr_expect_eq(bind_type2(key, CHECK_FREE, peer.qpn), 0x06);
	drv_expect(d, "wqe.umr");
	cr_expect_eq(drv_state(&qp), 6);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

Test(key, window_type_2__of_another_qp_is_refused)
{
	uint32_t key = drv_window(d, 4);

	cr_assert_eq(bind_type2(key, CHECK_FREE, qp.qpn), 0);
	key |= 0x11;
	cr_expect_eq(rdma_write(src.key, src.mem, 8, at(&dst, 0), key), 0x13);
	drv_expect(d, "remote.access");
	revive();
	cr_expect_eq(bind_type2(key, CHECK_QPN, peer.qpn), 0,
		     "the bind failed although the window is bound to this QP");
	cr_expect_eq(bind_type2(key, CHECK_QPN, peer.qpn), 0x06,
		     "the bind was not refused although the window is bound to no QP");
	drv_expect(d, "mkey.qpn");
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

Test(key, umr__invalid_fields_are_refused)
{
	uint32_t key = drv_window(d, 2), stale = key ^ 0x100;
	struct drv_wqe w;

	cr_expect_eq(bind(&stale, 2, &dst, 0, 8, DRV_RW), 0x06);
	drv_expect(d, "mkey.stale");
	revive();
	stale = dst.key;
	cr_expect_eq(bind(&stale, 2, &dst, 0, 8, DRV_RW), 0x06);
	drv_expect(d, "wqe.umr");
	revive();
	drv_ctrl(&qp, &w, 0x25, SMALL_FENCE | CE_ALWAYS << 2, key);
	drv_umr(&w, INLINE, 4, BIND_MASK | UINT64_C(1) << 60);
	drv_mkc(&w, DRV_RW, 0xffffff01, 0, 8, false);
	drv_klm(&w, dst.mem, 8, dst.key);
	drv_pad(&w);
	cr_expect_eq(umr(&w), 0x06);
	drv_expect(d, "wqe.umr");
	revive();
	drv_ctrl(&qp, &w, 0x25, SMALL_FENCE | CE_ALWAYS << 2, key);
	drv_umr(&w, INLINE, 4, BIND_MASK);
	drv_mkc(&w, DRV_RW, 0xffffff01, 0, 8, false);
	for (int i = 0; i < 3; i++)
		drv_klm(&w, dst.mem, 8, dst.key);
	drv_pad(&w);
	cr_expect_eq(umr(&w), 0x06);
	drv_expect(d, "wqe.umr");
	revive();
	drv_ctrl(&qp, &w, 0x25, SMALL_FENCE | CE_ALWAYS << 2, key);
	drv_umr(&w, INLINE, 4, BIND_MASK);
	drv_mkc(&w, DRV_RW, 0xffffff01, 0, 8, false);
	cr_expect_eq(umr(&w), 0x06);
	drv_expect(d, "wqe.ds");
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

Test(key, umr__of_the_atomic_right_is_refused_if_the_capabilities_say_so)
{
	uint32_t key = drv_window(d, 2);

	cr_assert_eq(softnic_fault(d->nic, "quirk=umr_atomic_disabled"), 0);
	drv_begin(d, CMD_QUERY_HCA_CAP);
	cr_assert_eq(drv_run(d, 16), 0);
	cr_expect_eq(sn_get(d->out + 16, SN_FLD(0x208, 2)), 2);	/* umr_indirect_mkey_disabled is 0 */
	cr_expect_eq(bind(&key, 2, &dst, 0, 8, DRV_RW), 0x06);
	drv_expect(d, "wqe.umr");
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

static uint8_t set_len(const struct drv_mr *mr, uint64_t len)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0x25, SMALL_FENCE | CE_ALWAYS << 2, mr->key);
	drv_umr(&w, INLINE, 0, 1 << 0);
	drv_mkc(&w, DRV_ALL, 0xffffff5a, (uintptr_t)mr->mem, (uint32_t)len, false);
	return umr(&w);
}

/* A key has a list of pages. A UMR without entries may change the key's length up to the end of
 * those pages. */
Test(key, umr__changes_the_length_of_an_mtt_key_within_its_pages)
{
	struct drv_mr mr;

	drv_mr_umr(d, &mr, 4096 + 100);
	cr_expect_eq(set_len(&mr, 64), 0);
	cr_expect_eq(rdma_write(src.key, src.mem, 65, (uintptr_t)mr.mem, mr.key), 0x13);
	drv_expect(d, "remote.access");
	revive();
	cr_expect_eq(set_len(&mr, 8192), 0);
	cr_expect_eq(rdma_write(src.key, src.mem, 8192, (uintptr_t)mr.mem, mr.key), 0);
	cr_expect_eq(memcmp(mr.mem, src.mem, 8192), 0);
	drv_mr_free(d, &mr);
}

Test(key, umr__length_of_an_mtt_key_beyond_its_pages_is_refused)
{
	struct drv_mr mr;

	drv_mr_umr(d, &mr, 4096 + 100);
	cr_expect_eq(set_len(&mr, 8193), 0x06);
	drv_expect(d, "wqe.umr");
	revive();
	cr_expect_eq(rdma_write(src.key, src.mem, 64, (uintptr_t)mr.mem, mr.key), 0);
	drv_mr_free(d, &mr);
}

/* The variant that a UMR writes is the key's from then on. An access with another variant does not
 * find the key. */
Test(key, umr__gives_the_key_its_variant)
{
	uint32_t key = drv_window(d, 4);

	for (unsigned int tag = 1; tag < 256; tag += 127) {
		cr_assert_eq(bind(&key, (uint8_t)tag, &dst, 0, 64, DRV_RW), 0);
		cr_assert_eq(key & 0xff, tag);
		for (uint32_t flip = 1; flip < 256; flip <<= 1) {
			cr_expect_eq(rdma_write(src.key, src.mem, 8, at(&dst, 0), key ^ flip), 0x13);
			drv_expect(d, "remote.access");
			revive();
		}
		cr_expect_eq(rdma_write(src.key, src.mem, 8, at(&dst, 0), key), 0);
	}
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

Test(key, umr__of_another_variant_of_a_key_in_use_is_seen)
{
	uint32_t key = drv_window(d, 4), wrong = key;

	cr_assert_eq(bind(&key, 2, &dst, 0, 64, DRV_RW), 0);
	cr_expect_eq(unbind(&wrong, 3), 0);
	drv_expect(d, "mkey.stale");
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

/* libmlx5 invalidates a window and binds it again by these steps. */
Test(key, umr__after_an_invalidate_to_variant_0_binds_the_old_key_again)
{
	uint32_t key = drv_window(d, 4), old;

	cr_assert_eq(bind(&key, 5, &dst, 0, 64, DRV_RW), 0);
	old = key;
	cr_assert_eq(unbind(&key, 0), 0);
	cr_assert_eq(bind(&old, 6, &dst, 0, 64, DRV_RW), 0);
	cr_expect_eq(rdma_write(src.key, src.mem, 8, at(&dst, 0), old), 0);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, old >> 8), 0);
}

Test(key, umr__wqe_without_a_fence_is_reported)
{
	uint32_t key = drv_window(d, 4);
	struct drv_wqe w;
	struct drv_cqe e;

	cr_assert_eq(bind(&key, 1, &dst, 0, 64, DRV_RW), 0);
	drv_nop(&qp, CE_ERR);
	drv_ctrl(&qp, &w, 0x08, CE_ALWAYS << 2, 0);
	drv_raddr(&w, at(&dst, 0), key);
	drv_data(&w, src.mem, 8, src.key);
	drv_post(&qp, &w);
	drv_wait(&cq, &e);
	cr_expect_eq(e.syndrome, 0);
	drv_expect(d, "wqe.umr_fence");
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

Test(key, umr__list_by_pointer_is_read)
{
	uint32_t key = drv_window(d, 4);
	struct drv_wqe w;

	memset(src.mem, 0, 64);
	sn_set32(src.mem, 0, 64);
	sn_set32(src.mem, 4, dst.key);
	sn_set64(src.mem, 8, at(&dst, 128));
	drv_ctrl(&qp, &w, 0x25, SMALL_FENCE | CE_ALWAYS << 2, key);
	drv_umr(&w, 0, 4, BIND_MASK);
	drv_mkc(&w, DRV_RW, 0xffffff01, 0, 64, false);
	drv_data(&w, src.mem, 64, src.key);
	cr_assert_eq(umr(&w), 0);
	key |= 1;
	cr_expect_eq(rdma_write(src.key, src.mem + 64, 64, 0, key), 0);
	cr_expect_eq(memcmp(dst.mem + 128, src.mem + 64, 64), 0);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

/*
 * libmlx5 invalidates any key in this way. The check of the QPN passes for every QP if the key is bound
 * to none.
 */
Test(key, umr__check_qpn_of_a_key_of_any_qp_passes)
{
	uint32_t key = drv_window(d, 4);
	struct drv_wqe w;

	cr_assert_eq(bind(&key, 1, &dst, 0, 64, DRV_RW), 0);
	drv_ctrl(&qp, &w, 0x25, SMALL_FENCE | CE_ALWAYS << 2, key);
	drv_umr(&w, INLINE | CHECK_QPN, 0, UINT64_C(1) << 29);
	drv_mkc(&w, 0, 0, 0, 0, true);
	cr_expect_eq(umr(&w), 0);
	cr_expect_eq(rdma_write(src.key, src.mem, 8, at(&dst, 0), key), 0x13);
	drv_expect(d, "remote.access");
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}
