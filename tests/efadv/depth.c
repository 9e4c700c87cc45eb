/* SPDX-License-Identifier: BSD-2-Clause */
/* libefa raises the depth of a send queue to the device's minimum. */
#include <string.h>

#include "hw_efa/obj.h"
#include "tests/e2e/rig.h"
#include "tests/efadv/efa_calls.h"

TestSuite(depth, .timeout = 60);

enum { LEAST = 32, WRITES = 200 };

static uint32_t ring_of(const struct end *e)
{
	return efa_ep((struct dap_ep *)e->ep)->cold->qp.sq.entries;
}

/* 32 WQEs of 64 bytes are 16 WQEs of 128 bytes, which is less than the minimum. */
Test(depth, post__with_fewer_slots_than_the_ring_has_entries_delivers_all)
{
	struct end a, b;

	efa_told.sq_wr = LEAST;
	rig_conf("efa_inline=80");
	pair_open(&a, &b);
	cr_assert_eq(ring_of(&a), LEAST);
	cr_assert_eq(efa_ep((struct dap_ep *)a.ep)->sq.mask, LEAST / 2 - 1);
	for (uint64_t i = 0; i < WRITES; i++) {
		memcpy(a.mem + i * 8, &i, sizeof(i));
		soon(do_write(&a, i, i * 8, far(&b, i * 8, 8), i + 1 < WRITES ? SUPPRESS : 0));
	}
	took(a.req_evd, WRITES - 1, DAT_DTO_SUCCESS);
	cr_assert(!memcmp(a.mem, b.mem, WRITES * 8));
	for (uint64_t i = 0; i < WRITES; i++) {
		must(do_recv(&b, i, 0, 1000));
		must(do_send(&a, i, 0, i * 5, 0));
		took(b.recv_evd, i, DAT_DTO_SUCCESS);
		took(a.req_evd, i, DAT_DTO_SUCCESS);
	}
	pair_close(&a, &b);
}
