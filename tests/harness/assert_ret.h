/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares a return code, or only its type, with the expected one. For suites of either level: include
 * <dat/udat.h> or <dat2/udat.h> before this.
 */
#ifndef TEST_ASSERT_RET_H
#define TEST_ASSERT_RET_H

#include <criterion/criterion.h>

/* If the expected value is only a type, compares the types; else the whole codes. */
#define assert_ret(ret, type)                                                                      \
	do {                                                                                       \
		DAT_RETURN got_ = (ret);                                                           \
		cr_assert_eq(DAT_GET_TYPE(got_), (DAT_RETURN)(type),                               \
			     "the call returned 0x%08x instead of 0x%08x", got_,                   \
			     (DAT_RETURN)(type));                                                  \
	} while (0)
#define assert_code(ret, type, sub)                                                                \
	do {                                                                                       \
		DAT_RETURN got_ = (ret);                                                           \
		cr_assert_eq(got_, (DAT_CLASS_ERROR | (DAT_RETURN)(type) | (DAT_RETURN)(sub)),     \
			     "the call returned 0x%08x instead of 0x%08x, subtype 0x%x", got_,     \
			     (DAT_RETURN)(type), (DAT_RETURN)(sub));                               \
	} while (0)
#define assert_ok(ret) assert_ret(ret, DAT_SUCCESS)

#endif
