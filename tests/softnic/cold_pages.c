/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory that a driver gives to firmware. */
#include <criterion/criterion.h>

#include "tests/softnic/cold_rig.h"

enum { PAGE = 4096, BAD_PARAM = 0x03 };

static struct cold *c;

static void setup(void)
{
	c = cold_open();
	cold_boot(c);
}

static void teardown(void)
{
	cold_close(c);
}

TestSuite(cold_pages, .init = setup, .fini = teardown, .timeout = 60);

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
