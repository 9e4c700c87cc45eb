/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a call returned is the type, or the whole code, expected. For suites of either level: the one
 * that includes this has its own <dat/udat.h> or <dat2/udat.h> before it.
 */
#ifndef TEST_ASSERT_RET_H
#define TEST_ASSERT_RET_H

#include <criterion/criterion.h>

/* The type of a code is the one expected; or the whole code. */
#define assert_ret(ret, type)                                                                      \
	do {                                                                                       \
		DAT_RETURN got_ = (ret);                                                           \
		cr_assert_eq(DAT_GET_TYPE(got_), (DAT_RETURN)(type), "0x%08x", got_);              \
	} while (0)
#define assert_code(ret, type, sub)                                                                \
	do {                                                                                       \
		DAT_RETURN got_ = (ret);                                                           \
		cr_assert_eq(got_, (DAT_CLASS_ERROR | (DAT_RETURN)(type) | (DAT_RETURN)(sub)),     \
			     "0x%08x", got_);                                                      \
	} while (0)
#define assert_ok(ret) assert_ret(ret, DAT_SUCCESS)

#endif
