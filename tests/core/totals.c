/* SPDX-License-Identifier: BSD-2-Clause */
/* The totals of an IA, read while other threads create and free objects. */
#include <criterion/criterion.h>

#include "core/ia.h"
#include "core/page.h"
#include "tests/core/fake_hw.h"

static struct core_ia *own;
static struct dap_page page;

/* Another thread creates an Endpoint and frees it, between two instructions of the reader. */
static void create_and_free(const uint8_t *insn)
{
	(void)insn;
	own->made[DAP_EP]++;
	own->freed[DAP_EP]++;
}

static void read_totals(void)
{
	dap_totals_read(&own->pub, &page);
}

/* On a machine without steps nothing is created beside the reader. */
Test(totals, read__beside_a_free_has_no_more_freed_than_created_objects, .timeout = 60)
{
	DAT_IA_HANDLE ia = fake_open("fake0");

	own = core_ia(ia);
	if (!th_step(read_totals, create_and_free))
		read_totals();
	cr_expect_leq(page.value[DAP_PAGE_FREED_EP], page.value[DAP_PAGE_CREATED_EP],
		      "%llu endpoints were created, and %llu freed",
		      (unsigned long long)page.value[DAP_PAGE_CREATED_EP],
		      (unsigned long long)page.value[DAP_PAGE_FREED_EP]);
	fake_close(ia);
}
