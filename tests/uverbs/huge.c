/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues use huge pages if there are any: one registration for many of them. */
#include "tests/e2e/rig.h"
#include "tests/uverbs/calls.h"

static struct end a, b;

static void begin(bool some)
{
	th_huge_pages(some);
	rig_conf("bf_eps=0");
	pair_open(&a, &b);
}

static void end(void)
{
	end_free(&a);
	end_free(&b);
	same(calls_held(), 0);
}

static long objects_of_eight_more(void)
{
	DAT_EP_HANDLE ep[8];
	long before = calls_held(), more;

	for (int i = 0; i < 8; i++)
		ep[i] = end_ep(&a, NULL);
	more = calls_held() - before;
	for (int i = 0; i < 8; i++)
		must(dat_ep_free(ep[i]));
	same(calls_held(), before);
	return more;
}

TestSuite(huge, .timeout = 60);

Test(huge, queues__share_a_page)
{
	begin(true);
	same(th_huge_mapped(), 2);		/* each IA has its own pages */
	same(objects_of_eight_more(), 8);	/* the new objects are only QPs */
	pair_moves(&a, &b);
	end();
}

Test(huge, queues__without_a_page_have_registrations_of_their_own)
{
	begin(false);
	same(th_huge_mapped(), 0);
	same(objects_of_eight_more(), 16);	/* each QP has a registration too */
	pair_moves(&a, &b);
	end();
}

Test(huge, queues__that_do_not_fit_into_a_page_are_elsewhere)
{
	DAT_EVD_HANDLE large;

	begin(true);
	must(dat_evd_create(a.ia, 60000, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &large));
	same(th_huge_mapped(), 2);
	must(dat_evd_resize(large, 100));
	must(dat_evd_free(large));
	pair_moves(&a, &b);
	end();
}

/* The device can only address an SRQ that is in the first half of a page of its umem. */
Test(huge, queues__of_srqs_and_large_evds_have_their_own_registrations)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 50, .max_recv_iov = 1 };
	DAT_EVD_HANDLE large;
	DAT_SRQ_HANDLE srq[4];
	long before;

	begin(true);
	before = calls_held();
	for (int i = 0; i < 4; i++)
		must(dat_srq_create(a.ia, a.pz, &attr, &srq[i]));
	must(dat_evd_create(a.ia, 2000, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &large));
	same(th_huge_mapped(), 2);
	/* each has its objects and a registration of its own */
	same(calls_held() - before, 2 * 4 + 2);
	must(dat_evd_free(large));
	for (int i = 0; i < 4; i++)
		must(dat_srq_free(srq[i]));
	same(calls_held(), before);
	pair_moves(&a, &b);
	end();
}

Test(huge, pages__are_given_back_and_used_again)
{
	begin(true);
	for (int i = 0; i < 20; i++)
		objects_of_eight_more();
	same(th_huge_mapped(), 2);
	end();
}
