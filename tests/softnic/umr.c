/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UMRs as Linux posts them: keys with lists of pages, for kernel protocols (fast registration) and for
 * regions of programs (its queue for UMRs). Windows are in key.c.
 */
#include <criterion/criterion.h>

#include "softnic/mlx5/nic.h"
#include "tests/softnic/drv.h"

enum { SMALL_FENCE = 1 << 5, INLINE = 1 << 7, TRANSLATION = 1 << 4, CHECK_FREE = 1 << 5 };
enum { UMR = 0x25, WRITE = 0x08, PAGES = 16, PAGE = 4096, REG_UMR = 12, ANY_QP = 0xffffff };
/* length, page size, start, invalidation, variant, rights, fence, free */
#define REG_MASK (UINT64_C(1) << 29 | 1 << 0 | 1 << 1 | 1 << 6 | 1 << 8 | 1 << 13 | 0xf << 17 | 1 << 23)
#define MASK_PD (UINT64_C(1) << 7)

static struct drv *d;
static struct drv_cq cq;
static struct drv_qp qp, peer;
static struct drv_mr src, mem;
static uint64_t heap_words;

/* Creates a QP that Linux would make for itself. PRM "fre": fast registration enabled. */
static void driver_qp(struct drv_qp *q)
{
	drv_qp_begin(d, q, &cq, &cq);
	sn_set(d->in + AT_QPC, SN_FLD(0x394, 1), 1);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	q->qpn = sn_get(d->out, CMD_NUMBER);
}

static void open_on(struct drv *device)
{
	d = device;
	drv_cq(d, &cq, 6, false);
	driver_qp(&qp);
	drv_qp(d, &peer, &cq, &cq);
	drv_connect(&qp, &peer);
	drv_mr(d, &src, PAGES * PAGE, DRV_ALL);
	drv_mr(d, &mem, PAGES * PAGE, DRV_ALL);
	for (size_t i = 0; i < src.len; i++)
		src.mem[i] = (uint8_t)(i * 7 + i / PAGE);
}

static void setup(void)
{
	struct drv *device = drv_open(0);

	heap_words = device->nic->heap_words;
	open_on(device);
}

/* A UMR changes the memory that the lists of a key take, also when it is refused. */
static void teardown(void)
{
	drv_mr_free(d, &src);
	drv_mr_free(d, &mem);
	drv_qp_free(&qp);
	drv_qp_free(&peer);
	drv_cq_free(&cq);
	cr_expect_eq(d->nic->heap_words, heap_words);
	drv_close(d);
}

TestSuite(umr, .init = setup, .fini = teardown, .timeout = 60);

static uint8_t run(struct drv_qp *q, struct drv_wqe *w)
{
	struct drv_cqe e;

	drv_post(q, w);
	drv_wait(&cq, &e);
	return (uint8_t)e.syndrome;
}

static void revive(void)
{
	struct drv_qp *both[] = { &qp, &peer };

	for (int i = 0; i < 2; i++) {
		cr_assert_eq(drv_to(both[i], CMD_2RST_QP), 0);
		both[i]->pi = both[i]->rq_pi = 0;
		both[i]->dbr[0] = both[i]->dbr[1] = 0;
	}
	drv_connect(&qp, &peer);
}

/* Creates a free key with room for a list of pages, as Linux does: without a page size. Returns its key. */
static uint32_t free_key(uint32_t octowords)
{
	uint8_t *mkc = d->in + AT_CTX;

	drv_begin(d, CMD_CREATE_MKEY);
	sn_set(mkc, MKC_FREE, 1);
	sn_set(mkc, MKC_UMR_EN, 1);
	sn_set(mkc, MKC_MODE_1_0, MODE_MTT);
	sn_set(mkc, MKC_QPN, ANY_QP);
	sn_set(mkc, MKC_KEY, 0x10);
	sn_set(mkc, MKC_PD, d->pd);
	sn_set32(mkc, MKC_XLT_SIZE, octowords);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	return sn_get(d->out, CMD_NUMBER) << 8 | 0x10;
}

/* Begins a UMR that makes a key usable for all rights. Linux names the next variant of the key. */
static void begin(struct drv_qp *q, struct drv_wqe *w, uint32_t key, uint8_t flags, uint16_t octowords,
		  uint64_t start, uint64_t len)
{
	drv_ctrl(q, w, UMR, SMALL_FENCE | CE_ALWAYS << 2, key);
	drv_umr(w, flags, octowords, REG_MASK);
	drv_mkc(w, DRV_ALL, (uint32_t)ANY_QP << 8 | (key & 0xff), start, len, false);
	sn_set(w->b + 64, MKC_LOG_PAGE, 12);
}

/* Appends 2 * octowords MTTs: pages of mem in reverse order, then rubbish, as in a ring that was in use. */
static void list(struct drv_wqe *w, unsigned int pages, unsigned int octowords)
{
	for (unsigned int i = 0; i < 2 * octowords; i++)
		sn_set64(w->b + w->ds * 16ul, 8 * i, i >= pages ? 0xbad0bad0bad0bad0 :
			 (uintptr_t)(mem.mem + (pages - 1 - i) * PAGE) | MTT_RD | MTT_WR);
	w->ds += octowords;
}

static uint8_t rdma_write(uint32_t len, uint64_t va, uint32_t rkey)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, WRITE, SMALL_FENCE | CE_ALWAYS << 2, 0);
	drv_raddr(&w, va, rkey);
	drv_data(&w, src.mem, len, src.key);
	return run(&qp, &w);
}

/* One octoword is room for two pages; the UMR writes a block of four. */
Test(umr, list__of_pages_makes_a_free_key_usable)
{
	const uint64_t start = 0x70000064;
	uint32_t key = free_key(1) + 1;
	struct drv_wqe w;

	begin(&qp, &w, key, INLINE | CHECK_FREE, 4, start, 2 * PAGE - 0x64);
	list(&w, 2, 4);
	cr_assert_eq(run(&qp, &w), 0);
	cr_expect_eq(rdma_write(6000, start, key), 0);
	cr_expect_arr_eq(mem.mem + PAGE + 0x64, src.mem, PAGE - 0x64);
	cr_expect_arr_eq(mem.mem, src.mem + PAGE - 0x64, 6000 - (PAGE - 0x64));
	cr_expect_eq(rdma_write(1, start + 2 * PAGE - 0x64, key), 0x13);
	drv_expect(d, "remote.access");
	revive();
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

Test(umr, list__of_pages_by_pointer_is_read)
{
	uint32_t key = free_key(PAGES / 2) + 1;
	struct drv_wqe w;

	for (unsigned int i = 0; i < PAGES; i++)
		sn_set64(src.mem, 8ul * i, (uintptr_t)(mem.mem + (i ^ 1) * PAGE) | MTT_RD | MTT_WR);
	begin(&qp, &w, key, CHECK_FREE, PAGES / 2, 0, PAGES * PAGE);
	drv_data(&w, src.mem, PAGES * 8, src.key);
	cr_assert_eq(run(&qp, &w), 0);
	cr_expect_eq(rdma_write(PAGES * PAGE, 0, key), 0);
	for (unsigned int i = 0; i < PAGES; i++)
		cr_expect_arr_eq(mem.mem + (i ^ 1) * PAGE, src.mem + i * PAGE, PAGE);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

/* Linux fills a long list by several UMRs, and only the last one changes the key. */
Test(umr, list__in_two_parts_is_used_as_one)
{
	uint32_t key = free_key(8);
	struct drv_wqe w;

	drv_ctrl(&qp, &w, UMR, SMALL_FENCE | CE_ALWAYS << 2, key);
	drv_umr(&w, INLINE, 4, 0);
	drv_mkc(&w, 0, 0, 0, 0, false);
	list(&w, 8, 4);
	cr_assert_eq(run(&qp, &w), 0);
	begin(&qp, &w, key, INLINE | TRANSLATION, 4, 0, 10 * PAGE);
	sn_set(w.b + 16, SN_FLD(0x30, 16), 4);
	list(&w, 2, 4);
	cr_assert_eq(run(&qp, &w), 0);
	cr_expect_eq(rdma_write(10 * PAGE, 0, key), 0);
	cr_expect_arr_eq(mem.mem + PAGE, src.mem + 8 * PAGE, PAGE);
	cr_expect_arr_eq(mem.mem + 5 * PAGE, src.mem + 2 * PAGE, PAGE);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

Test(umr, list__that_does_not_fit_is_refused)
{
	static const struct {
		uint64_t start, len;
		unsigned int log_page, first;
		const char *why;
	} bad[] = {
		{ 0, 10 * PAGE, 12, 4, "the entries before the first are missing" },
		{ 0, 17 * PAGE, 12, 0, "more pages than the list has room for" },
		{ 1, 16 * PAGE, 12, 0, "one page more, because the first one is not used from its start" },
		{ 0, PAGE, 11, 0, "pages of 2 KiB" },
		{ 0, 3 * PAGE, 12, 0, "an entry has unknown rights" },
	};
	uint32_t key = free_key(8);
	struct drv_wqe w;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin(&qp, &w, key, INLINE | TRANSLATION, 4, bad[i].start, bad[i].len);
		sn_set(w.b + 64, MKC_LOG_PAGE, bad[i].log_page);
		sn_set(w.b + 16, SN_FLD(0x30, 16), bad[i].first);
		list(&w, 8, 4);
		sn_set64(w.b, 128 + 16, bad[i].len == 3 * PAGE ? ~0ull : (uintptr_t)mem.mem | MTT_RD);
		cr_expect_eq(run(&qp, &w), 0x06, "%s", bad[i].why);
		drv_expect(d, "wqe.umr");
		revive();
		cr_expect_eq(rdma_write(1, 0, key), 0x13);
		drv_expect(d, "remote.access");
		revive();
	}
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

/* Without the flag for a translation offset, that field is the length of a signature. */
Test(umr, bsf_octowords__is_refused)
{
	uint32_t key = free_key(4);
	struct drv_wqe w;

	begin(&qp, &w, key, INLINE, 4, 0, PAGE);
	sn_set(w.b + 16, SN_FLD(0x30, 16), 4);
	list(&w, 1, 4);
	cr_expect_eq(run(&qp, &w), 0x06);
	drv_expect(d, "wqe.umr");
	revive();
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

/* A program's QP could name any memory in such a list, and by another length or page size of the key. */
Test(umr, list__of_pages_by_another_qp_is_refused)
{
	static const uint64_t shape[] = { 1 << 0, 1 << 1, 1 << 6 };
	uint32_t key = free_key(4);
	struct drv_wqe w;

	begin(&peer, &w, key, INLINE, 4, 0, PAGE);
	list(&w, 1, 4);
	cr_expect_eq(run(&peer, &w), 0x06);
	drv_expect(d, "wqe.umr");
	revive();
	begin(&qp, &w, key, INLINE, 4, 0, PAGE);
	list(&w, 8, 4);
	cr_assert_eq(run(&qp, &w), 0);
	for (int i = 0; i < 3; i++) {
		begin(&peer, &w, key, INLINE, 0, 0, 2 * PAGE);
		sn_set64(w.b, 16 + 8, shape[i]);
		cr_expect_eq(run(&peer, &w), 0x06);
		drv_expect(d, "wqe.umr");
		revive();
	}
	cr_expect_eq(rdma_write(PAGE, 0, key), 0);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

/* Checks that the key begins with the second page of mem. */
static void begins_with_page_1(uint32_t key)
{
	memset(mem.mem, 0, 2 * PAGE);
	cr_expect_eq(rdma_write(64, 0, key), 0);
	cr_expect_arr_eq(mem.mem + PAGE, src.mem, 64);
}

/* Makes a UMR fail that would change such a key. */
static void changes_nothing(struct drv_wqe *w, uint32_t key, const char *violation)
{
	cr_expect_eq(run(&qp, w), 0x06);
	drv_expect(d, violation);
	revive();
	begins_with_page_1(key);
}

Test(umr, refused__leaves_the_list_of_a_key_in_use)
{
	uint32_t key = free_key(4);
	struct drv_wqe w;

	begin(&qp, &w, key, INLINE, 4, 0, 2 * PAGE);
	list(&w, 2, 4);
	cr_assert_eq(run(&qp, &w), 0);
	begin(&qp, &w, key, INLINE, 4, 0, 2 * PAGE);
	list(&w, 1, 4);
	changes_nothing(&w, key, "wqe.umr");
	begin(&qp, &w, key, INLINE, 0, 0, PAGE);
	cr_assert_eq(run(&qp, &w), 0);
	begins_with_page_1(key);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

Test(umr, refused__leaves_the_klms_of_a_key_in_use)
{
	uint32_t key = drv_window(d, 4);
	struct drv_wqe w;

	for (int i = 0; i < 2; i++) {
		drv_ctrl(&qp, &w, UMR, SMALL_FENCE | CE_ALWAYS << 2, key);
		drv_umr(&w, INLINE, 4, REG_MASK | (i ? MASK_PD : 0));
		drv_mkc(&w, DRV_ALL, (uint32_t)ANY_QP << 8 | (key & 0xff), 0, 64, false);
		sn_set(w.b + 64, MKC_PD, d->pd + 1);
		drv_klm(&w, mem.mem + (i ? 0 : PAGE), 64, mem.key);
		drv_pad(&w);
		if (i)
			changes_nothing(&w, key, "mkey.pd");
		else
			cr_assert_eq(run(&qp, &w), 0);
	}
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

/* The model does not know the entries that came with CREATE_MKEY. */
Test(umr, list__shorter_than_that_of_create_mkey_is_refused)
{
	struct drv_mr mr;
	struct drv_wqe w;

	drv_mr_umr(d, &mr, PAGES * PAGE);
	begin(&qp, &w, mr.key, INLINE, 4, (uintptr_t)mr.mem, PAGE);
	list(&w, 1, 4);
	cr_expect_eq(run(&qp, &w), 0x06);
	drv_expect(d, "wqe.umr");
	revive();
	cr_expect_eq(rdma_write(PAGE, (uintptr_t)mr.mem + 15 * PAGE, mr.key), 0);
	drv_mr_free(d, &mr);
}

/* The model keeps no list of such a key. Linux never changes its page size, or its start within a page. */
Test(umr, shape__of_a_list_from_create_mkey_is_kept)
{
	enum { PAGE_SIZE = 1 << 1, START = 1 << 6 };
	const uint64_t other = 0x70000000;
	struct drv_mr mr;
	struct drv_wqe w;

	drv_mr_umr(d, &mr, 2 * PAGE);
	for (int i = 0; i < 2; i++) {
		begin(&qp, &w, mr.key, 0, 0, (uintptr_t)mr.mem + 64, PAGE);
		sn_set64(w.b, 16 + 8, i ? START : PAGE_SIZE);
		sn_set(w.b + 64, MKC_LOG_PAGE, 13);
		cr_expect_eq(run(&qp, &w), 0x06);
		drv_expect(d, "wqe.umr");
		revive();
	}
	begin(&qp, &w, mr.key, 0, 0, other, PAGE);
	sn_set64(w.b, 16 + 8, START | PAGE_SIZE);
	cr_expect_eq(run(&qp, &w), 0);
	cr_expect_eq(rdma_write(64, other, mr.key), 0);
	cr_expect_arr_eq(mr.mem, src.mem, 64);
	drv_mr_free(d, &mr);
}

static uint32_t alloc_pd(void)
{
	cr_assert_eq(drv_simple(d, CMD_ALLOC_PD, 0), 0);
	return sn_get(d->out, CMD_NUMBER);
}

static void umr_queue(struct drv_qp *q)
{
	drv_qp_begin(d, q, &cq, &cq);
	sn_set(d->in + AT_QPC, QPC_ST, REG_UMR);
	sn_set(d->in + AT_QPC, SN_FLD(0x394, 1), 1);
	sn_set(d->in + AT_QPC, QPC_PD, 0);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	q->qpn = sn_get(d->out, CMD_NUMBER);
	cr_assert_eq(drv_init(q), 0);
	sn_set(drv_modify(q, CMD_INIT2RTR_QP), QPC_MTU, 1);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	drv_modify(q, CMD_RTR2RTS_QP);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
}

/* Linux keeps free keys in a PD of its own, and lends them to programs. The queue reads lists by any key. */
Test(umr, pd__is_changed_only_by_the_queue_for_umrs)
{
	struct drv_qp queue = { 0 }, *by[] = { &qp, &queue };
	uint32_t key = free_key(1), other = alloc_pd();
	struct drv_wqe w;

	umr_queue(&queue);
	sn_set64(src.mem, 0, (uintptr_t)mem.mem | MTT_RD | MTT_WR);
	for (int i = 0; i < 2; i++) {
		begin(by[i], &w, key, 0, 4, 0, PAGE);
		sn_set64(w.b, 16 + 8, REG_MASK | MASK_PD);
		sn_set(w.b + 64, MKC_PD, other);
		drv_data(&w, src.mem, 64, src.key);
		cr_expect_eq(run(by[i], &w), i ? 0 : 0x06);
		if (!i) {
			drv_expect(d, "mkey.pd");
			revive();
		}
	}
	cr_expect_eq(rdma_write(1, 0, key), 0x13, "the key is still that of the QP's PD");
	drv_expect(d, "remote.access");
	revive();
	cr_expect_eq(drv_simple(d, CMD_DEALLOC_PD, other), 0x06);
	drv_expect(d, "cmd.busy");
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
	cr_expect_eq(drv_simple(d, CMD_DEALLOC_PD, other), 0);
	drv_qp_free(&queue);
}

/* Linux rounds a list up to four entries. The others have what the ring had there before. */
Test(umr, klms__behind_the_length_of_the_key_may_be_anything)
{
	uint32_t key = drv_window(d, 4);
	struct drv_wqe w;

	drv_ctrl(&qp, &w, UMR, SMALL_FENCE | CE_ALWAYS << 2, key);
	drv_umr(&w, INLINE, 4, REG_MASK);
	drv_mkc(&w, DRV_ALL, (uint32_t)ANY_QP << 8 | 1, 0, 64, false);
	drv_klm(&w, mem.mem, 64, mem.key);
	drv_pad(&w);
	memset(w.b + 144, 0xa5, 48);
	cr_assert_eq(run(&qp, &w), 0);
	cr_expect_eq(rdma_write(64, 0, key | 1), 0);
	cr_expect_arr_eq(mem.mem, src.mem, 64);
	cr_expect_eq(rdma_write(65, 0, key | 1), 0x13);
	drv_expect(d, "remote.access");
	revive();
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

static uint8_t klms(uint32_t key, uint16_t first, uint8_t *at)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, UMR, SMALL_FENCE | CE_ALWAYS << 2, key);
	drv_umr(&w, INLINE | TRANSLATION, 4, REG_MASK);
	sn_set(w.b + 16, SN_FLD(0x30, 16), first);
	drv_mkc(&w, DRV_ALL, (uint32_t)ANY_QP << 8 | 1, 0, 8 * 64, false);
	for (int i = 0; i < 4; i++)
		drv_klm(&w, at + 64 * i, 64, mem.key);
	return run(&qp, &w);
}

Test(umr, klms__at_the_start_leave_the_rest_of_the_list)
{
	uint32_t key = drv_window(d, 8);

	cr_assert_eq(klms(key, 0, mem.mem), 0);
	cr_assert_eq(klms(key | 1, 4, mem.mem + 256), 0);
	cr_assert_eq(klms(key | 1, 0, mem.mem + PAGE), 0);
	cr_expect_eq(rdma_write(8 * 64, 0, key | 1), 0);
	cr_expect_arr_eq(mem.mem + PAGE, src.mem, 256);
	cr_expect_arr_eq(mem.mem + 256, src.mem + 256, 256);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

/* What follows a UMR that frees a key need not wait for it: Linux sends without a fence then. */
Test(umr, invalidation__needs_no_fence_behind_it)
{
	uint32_t key = drv_window(d, 4);
	struct drv_wqe w;

	drv_ctrl(&qp, &w, UMR, SMALL_FENCE | CE_ALWAYS << 2, key);
	drv_umr(&w, INLINE, 0, UINT64_C(1) << 29);
	drv_mkc(&w, 0, 0, 0, 0, true);
	cr_assert_eq(run(&qp, &w), 0);
	drv_ctrl(&qp, &w, WRITE, CE_ALWAYS << 2, 0);
	drv_raddr(&w, (uintptr_t)mem.mem, mem.key);
	drv_data(&w, src.mem, 8, src.key);
	cr_expect_eq(run(&qp, &w), 0);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, key >> 8), 0);
}

/* On such a device a UMR may come behind another one without a fence, but then has not waited for it. */
Test(umr, fence__is_missing_also_behind_a_second_umr)
{
	uint32_t one, two;
	struct drv_wqe w;

	teardown();
	open_on(drv_open(SOFTNIC_ADVERSARIAL));
	one = drv_window(d, 4);
	two = drv_window(d, 4);
	drv_ctrl(&qp, &w, UMR, SMALL_FENCE | CE_ALWAYS << 2, one);
	drv_umr(&w, INLINE, 4, REG_MASK);
	drv_mkc(&w, DRV_ALL, (uint32_t)ANY_QP << 8 | 1, 0, 64, false);
	drv_klm(&w, mem.mem, 64, mem.key);
	drv_pad(&w);
	cr_assert_eq(run(&qp, &w), 0);
	drv_ctrl(&qp, &w, UMR, CE_ALWAYS << 2, two);
	drv_umr(&w, INLINE, 0, UINT64_C(1) << 29);
	drv_mkc(&w, 0, 0, 0, 0, true);
	cr_assert_eq(run(&qp, &w), 0);
	drv_ctrl(&qp, &w, WRITE, CE_ALWAYS << 2, 0);
	drv_raddr(&w, 0, one | 1);
	drv_data(&w, src.mem, 8, src.key);
	cr_expect_eq(run(&qp, &w), 0);
	drv_expect(d, "wqe.umr_fence");
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, one >> 8), 0);
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, two >> 8), 0);
}
