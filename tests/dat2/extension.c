/* SPDX-License-Identifier: BSD-2-Clause */
/* The arguments of the posts of the InfiniBand extension. */
#include <string.h>

#include "tests/dat2/dat2.h"

TestSuite(extension, .timeout = 60);

/* A message of four bytes. Nothing is written, so there need be no place for it. */
Test(extension, write_immed__without_segments_needs_no_remote_buffer, .init = sides_open, .fini = sides_close)
{
	DAT_LMR_TRIPLET recv = side_segment(&b, 4096, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 5 };
	DAT_IB_EXTENSION_EVENT_DATA data;
	DAT_EVENT ev;

	side_needs(DAT_IB_ATTR_IMMED_DATA);
	sides_connect();
	assert_ok(dat_ep_post_recv(b.ep, 1, &recv, cookie, 0));
	assert_ok(dat_ib_post_rdma_write_immed(a.ep, 0, NULL, cookie, NULL, 0x1234, 0));
	ev = side_wait(b.dto, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	memcpy(&data, ev.event_extension_data, sizeof(data));
	cr_assert_eq(data.val.immed.data, 0x1234);
	cr_assert_eq(ev.event_data.dto_completion_event_data.transfered_length, 0);
	ev = side_wait(a.dto, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	cr_assert_eq(ev.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

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
