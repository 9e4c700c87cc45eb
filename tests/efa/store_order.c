/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of stores into a WQE. libefa stores the words of a WQE strictly in ascending order, so no other
 * order is known to work. The device of these tests fails a WQE that is stored in another order.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/efa/rig.h"

TestSuite(efa_store_order, .timeout = 120);

static struct rig r;

static void succeeds(struct dap_evd *evd, const char *what, uint32_t len)
{
	cr_assert_eq(rig_next(&r, evd).dto.status, DAP_DTO_SUCCESS, "a %s of %u bytes: %s", what, len,
		     fake.said);
}

static void all_kinds(const char *params)
{
	static const uint32_t lengths[] = { 0, 1, 8, 20, 32, 33, 80, 4096, 20000, 60000 };
	char all[128];

#ifndef __x86_64__
	cr_skip_test("the stores are observed only on x86-64");
#endif
	snprintf(all, sizeof(all), "seed=7 fault=bad_order %s", params);
	rig_open_pair(&r, all);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t len = lengths[i];

		cr_assert_eq(rig_recv(&r, &r.b, 1, 0, 60000), DAT_SUCCESS);
		cr_assert_eq(rig_send(&r, &r.a, 2, 0, len), DAT_SUCCESS);
		succeeds(r.a.req, "send", len);
		succeeds(r.b.recv, "receive", len);
		cr_assert_eq(rig_write(&r, &r.a, 3, 0, 65536, len), DAT_SUCCESS);
		succeeds(r.a.req, "write", len);
		cr_assert_eq(rig_read(&r, &r.a, 4, 0, 65536, len), DAT_SUCCESS);
		succeeds(r.a.req, "read", len);
	}
	rig_close_pair(&r);
}

Test(efa_store_order, wqe__of_64_bytes_is_stored_in_ascending_order)
{
	all_kinds("write_order=relaxed");
}

Test(efa_store_order, wqe__of_128_bytes_is_stored_in_ascending_order)
{
	all_kinds("write_order=kept efa_inline=80");
}
