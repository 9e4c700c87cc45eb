/* SPDX-License-Identifier: BSD-2-Clause */
/* dapl_ep_post_n() of dapl_direct.h with handles of Debian's libdat2. */
#include "tests/dat2/dat2.h"

#include <dat/dapl_direct.h>

TestSuite(post_n, .init = sides_open, .fini = sides_close, .timeout = 60);

static struct dapl_work request(unsigned short op, size_t off, uint32_t len)
{
	DAT_LMR_TRIPLET from = side_segment(&a, off, len);
	DAT_RMR_TRIPLET to = side_remote(&b, off, len);

	return (struct dapl_work){ .op = op, .length = len, .lmr_context = from.lmr_context,
				   .address = from.virtual_address, .rmr_context = to.rmr_context,
				   .target = to.virtual_address };
}

Test(post_n, post_n__writes_and_a_bind_complete)
{
	struct dapl_work work[6];
	DAT_RMR_CONTEXT context = 0;
	DAT_COUNT posted = 0;
	DAT_RMR_HANDLE rmr;

	sides_connect();
	strcpy(a.mem, "forty bytes, in five writes of eight...");
	memset(b.mem, 0, 64);
	assert_ok(dat_rmr_create(a.pz, &rmr));
	for (unsigned int i = 0; i < 5; i++)
		work[i] = request(DAPL_WORK_WRITE, 8 * i, 8);
	work[5] = request(DAPL_WORK_BIND, 0, 64);
	work[5].rmr_handle = rmr;
	work[5].lmr_handle = a.lmr;
	work[5].privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG;
	work[5].new_context = &context;
	assert_ok(dapl_ep_post_n(a.ep, 6, work, &posted));
	cr_assert_eq(posted, 6);
	cr_assert_neq(context, 0);
	for (int i = 0; i < 5; i++)
		side_wait(a.dto, DAT_DTO_COMPLETION_EVENT);
	side_wait(a.dto, DAT_RMR_BIND_COMPLETION_EVENT);
	cr_assert_arr_eq(b.mem, a.mem, 40);
}

Test(post_n, post_n__invalid_arguments_are_refused)
{
	struct dapl_work work = request(DAPL_WORK_WRITE, 0, 8);
	DAT_COUNT posted = 77;

	assert_ret(dapl_ep_post_n(a.ep, 0, &work, &posted), DAT_INVALID_PARAMETER);
	assert_ret(dapl_ep_post_n(a.ep, 1, NULL, &posted), DAT_INVALID_PARAMETER);
	assert_ret(dapl_ep_post_n(a.ep, 1, &work, NULL), DAT_INVALID_PARAMETER);
	assert_ret(dapl_ep_post_n(a.dto, 1, &work, &posted), DAT_INVALID_HANDLE);
	assert_ret(dapl_ep_post_n(DAT_HANDLE_NULL, 1, &work, &posted), DAT_INVALID_HANDLE);
	cr_assert_eq(posted, 77);
	assert_ret(dapl_ep_post_n(a.ep, 1, &work, &posted), DAT_INVALID_STATE);
	cr_assert_eq(posted, 0);
}
