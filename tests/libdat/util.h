/* SPDX-License-Identifier: BSD-2-Clause */
/* Files to parse, and libdat's messages about them. */
#ifndef TEST_LIBDAT_UTIL_H
#define TEST_LIBDAT_UTIL_H

#include <dat/udat.h>

#include "tests/libdat/plugin/plugin.h"

/* Writes a file in a temporary directory and returns its path; the test's end removes it. */
const char *write_file(const char *name, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
const char *temp_path(const char *name);

/* Writes a file like write_file(), and makes it the dat.conf of this process. */
void use_conf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the absolute path of a test provider: "one", "noinit", ... */
const char *plugin_path(const char *name);
/* Returns the counts of that provider; NULL before it was loaded. */
struct plugin_log *plugin_log_of(const char *name);

DAT_RETURN open_ia(const char *name, DAT_BOOLEAN threadsafe, DAT_IA_HANDLE *ia);

#define TYPE_IS(ret, type) \
	cr_assert_eq(DAT_GET_TYPE(ret), (DAT_UINT32)(type), #ret " is 0x%08x, not " #type, ret)
#define RETURNS(ret, type, sub) \
	cr_assert_eq(ret, (DAT_CLASS_ERROR | (DAT_UINT32)(type) | (DAT_UINT32)(sub)), \
		     #ret " is 0x%08x, not " #type " " #sub, ret)
#define OK(ret) cr_assert_eq(ret, DAT_SUCCESS, #ret " is 0x%08x", ret)

#endif
