/* SPDX-License-Identifier: BSD-2-Clause */
/* The arguments of the posts of the InfiniBand extension. */
#include "tests/dat2/dat2.h"

TestSuite(extension, .timeout = 60);

#define BAD_FLAGS ((DAT_COMPLETION_FLAGS)0x4000)

Test(extension, posts__number_their_own_arguments, .init = sides_open, .fini = sides_close)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 8, 8);
	DAT_RMR_TRIPLET to = side_remote(&b, 16, 8);
	DAT_DTO_COOKIE cookie = { .as_64 = 5 };

	side_needs(DAT_IB_ATTR_FETCH_AND_ADD);
	sides_connect();
	assert_code(dat_ib_post_rdma_write_immed(a.ep, 1, NULL, cookie, &to, 7, 0),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(dat_ib_post_rdma_write_immed(a.ep, 1, &from, cookie, NULL, 7, 0),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	assert_code(dat_ib_post_rdma_write_immed(a.ep, 1, &from, cookie, &to, 7, BAD_FLAGS),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	assert_code(dat_ib_post_fetch_and_add(a.ep, 2, NULL, cookie, &to, 0),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(dat_ib_post_fetch_and_add(a.ep, 2, &from, cookie, &to, BAD_FLAGS),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	assert_code(dat_ib_post_cmp_and_swap(a.ep, 1, 2, NULL, cookie, &to, 0),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	assert_code(dat_ib_post_cmp_and_swap(a.ep, 1, 2, &from, cookie, NULL, 0),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	assert_code(dat_ib_post_cmp_and_swap(a.ep, 1, 2, &from, cookie, &to, BAD_FLAGS),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
}
