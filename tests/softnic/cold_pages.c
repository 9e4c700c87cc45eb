/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory that a driver gives to firmware limits the memory that its objects take from the host. */
#include <criterion/criterion.h>

#include "tests/softnic/cold_rig.h"

enum { PAGE = 4096, LIST = 8192, NO_RESOURCES = 0x0f, BAD_PARAM = 0x03, EV_PAGE_REQUEST = 0x0b };
enum { EQ_LOG = 6, EQE = 64 };

static struct cold *c;
static uint8_t eq[EQE << EQ_LOG] __attribute__((aligned(PAGE)));
static uint32_t eq_ci, pd;

static void setup(void)
{
	c = cold_open();
	cold_boot(c);
	cr_assert_eq(cold_simple(c, CMD_ALLOC_PD, 0), 0);
	pd = sn_get(c->out, CMD_NUMBER);
}

static void teardown(void)
{
	cold_close(c);
}

TestSuite(cold_pages, .init = setup, .fini = teardown, .timeout = 60);

/* Creates a umem with a long list of pages, which are no range. */
static uint8_t create_umem(void)
{
	uint8_t *ctx = c->in + AT_CTX;

	cold_begin(c, CMD_CREATE_UMEM, 0);
	sn_set64(ctx, UMEM_NUM_MTT, LIST);
	for (unsigned int i = 0; i < LIST; i++)
		sn_set64(ctx, UMEM_MTT + 8 * i, (uintptr_t)c->pages | MTT_RD | MTT_WR);
	return cold_run(c, AT_CTX + UMEM_MTT + 8 * LIST, 16);
}

/* Creates a key with a list of as many bytes. */
static uint8_t create_klms(void)
{
	uint8_t *ctx = c->in + AT_CTX;

	cold_begin(c, CMD_CREATE_MKEY, 0);
	sn_set(ctx, MKC_MODE_1_0, MODE_KLM);
	sn_set(ctx, MKC_LR, 1);
	sn_set(ctx, MKC_QPN, 0xffffff);
	sn_set(ctx, MKC_PD, pd);
	sn_set64(ctx, MKC_LEN, PAGE);
	sn_set32(ctx, MKC_XLT_SIZE, LIST / 2);
	sn_set32(c->in, MKEY_XLT_ACTUAL, LIST / 2);
	return cold_run(c, AT_PAS + 8 * LIST, 16);
}

static uint8_t destroy(uint16_t opcode, uint32_t number)
{
	cold_begin(c, opcode, 0);
	sn_set(c->in, CMD_NUMBER, number);
	return cold_run(c, 16, 16);
}

/* 1,000 such lists need 16,000 pages. The few that the driver has given are enough for 2,000 objects. */
static void fill(uint8_t (*create)(void), uint16_t destroyer)
{
	enum { MOST = 1000 };
	unsigned int n = 0;
	uint32_t last = 0;
	uint8_t status;

	cr_assert_eq(cold_give_pages(c, 70), 0);
	while ((status = create()) == 0 && ++n < MOST)
		last = sn_get(c->out, CMD_NUMBER);
	cr_assert_eq(status, NO_RESOURCES, "%u lists: status %#x", n, status);
	cr_expect_gt(n, 1, "no list is possible");
	cr_expect_eq(cold_simple(c, CMD_ALLOC_PD, 0), NO_RESOURCES);
	cr_expect_eq(destroy(destroyer, last), 0);
	cr_expect_eq(create(), 0, "the memory of a destroyed list is not free");
	cr_expect_eq(create(), NO_RESOURCES);
	cr_expect_eq(cold_give_pages(c, 16), 0);
	cr_expect_eq(create(), 0, "more pages allow no more lists");
}

Test(cold_pages, umems__need_pages_for_their_lists)
{
	fill(create_umem, CMD_DESTROY_UMEM);
}

Test(cold_pages, keys__need_pages_for_their_lists)
{
	fill(create_klms, CMD_DESTROY_MKEY);
}

/* After a teardown nothing of the earlier objects counts. */
Test(cold_pages, teardown__frees_the_memory_of_lists)
{
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 100; i++)
			cr_assert_eq(create_umem(), 0);
		cr_assert_eq(cold_simple(c, CMD_TEARDOWN_HCA, 0), 0);
		cr_assert_eq(cold_simple(c, CMD_INIT_HCA, 0), 0);
	}
}

static void subscribe(void)
{
	uint32_t uar;

	cr_assert_eq(cold_simple(c, CMD_ALLOC_UAR, 0), 0);
	uar = sn_get(c->out, CMD_NUMBER);
	cold_begin(c, CMD_CREATE_EQ, 0);
	sn_set(c->in + AT_CTX, EQC_LOG_SIZE, EQ_LOG);
	sn_set(c->in + AT_CTX, EQC_UAR, uar);
	sn_set64(c->in, EQ_BITMASK, 1 << EV_PAGE_REQUEST);
	sn_set64(c->in, AT_PAS, (uintptr_t)eq);
	cr_assert_eq(cold_run(c, AT_PAS + 8, 16), 0);
}

/* Returns the number of pages that the next event requests; 0: there is no event. */
static int32_t next_request(void)
{
	const uint8_t *e = eq + EQE * (eq_ci & ((1u << EQ_LOG) - 1));

	if ((e[EQE - 1] & 1) != (eq_ci >> EQ_LOG & 1))
		return 0;
	cr_assert_eq(e[1], EV_PAGE_REQUEST);
	eq_ci++;
	return (int32_t)sn_get32(e, 0x20 + 4);
}

/* Linux and libmlx5 give all pages of an event with one command. */
Test(cold_pages, request__is_for_as_many_pages_as_lists_need)
{
	enum { LISTS = 30, NEEDED = LISTS * 8 * LIST / PAGE };
	unsigned int requests = 0;
	int32_t n;

	memset(eq, 0, sizeof(eq));
	for (unsigned int i = 0; i < 1 << EQ_LOG; i++)
		eq[EQE * i + EQE - 1] = 1;
	eq_ci = 0;
	subscribe();
	for (int i = 0; i < LISTS; i++)
		cr_assert_eq(create_umem(), 0);
	while ((n = next_request()) > 0 && c->given + (unsigned int)n <= COLD_PAGES) {
		requests++;
		cr_assert_eq(cold_give_pages(c, (unsigned int)n), 0, "%d pages are refused", n);
	}
	cr_expect_geq(c->given, NEEDED);
	cr_expect_leq(requests, 8, "%u requests", requests);
}

static uint8_t give(const uint64_t *pages, unsigned int n)
{
	cold_begin(c, CMD_MANAGE_PAGES, 1);
	sn_set32(c->in, 0x0c, n);
	for (unsigned int i = 0; i < n; i++)
		sn_set64(c->in, 0x10 + 8 * i, pages[i]);
	return cold_run(c, 0x10 + 8 * (size_t)n, 16);
}

static uint64_t page(unsigned int i)
{
	return (uintptr_t)c->pages + (uint64_t)(c->given + i) * PAGE;
}

Test(cold_pages, given__in_any_order_are_each_taken_once)
{
	uint64_t twice[] = { page(5), page(2), page(9), page(2) };
	uint64_t mixed[] = { page(7), page(3), page(8), page(1) };

	cr_expect_eq(give(twice, 4), BAD_PARAM, "a command gives a page twice");
	cr_expect_eq(give(twice, 3), 0, "a refused command has given pages");
	cr_expect_eq(give(mixed, 4), 0);
	for (unsigned int i = 0; i < 4; i++)
		cr_expect_eq(give(&mixed[i], 1), BAD_PARAM, "page %u is given again", i);
	for (unsigned int i = 0; i < 3; i++)
		cr_expect_eq(give(&twice[i], 1), BAD_PARAM, "page %u is given again", i);
}

/* No event requests as many. Each is compared with all others. */
Test(cold_pages, given__too_many_by_one_command_are_refused)
{
	enum { MANY = 600 };

	cr_expect_eq(cold_give_pages(c, MANY), BAD_PARAM);
	cr_expect_eq(cold_give_pages(c, MANY / 2), 0);
}
