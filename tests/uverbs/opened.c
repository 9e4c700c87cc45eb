/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "tests/uverbs/opened.h"

struct m5_ctl *opened(const char *ia_name, const char *params)
{
	struct m5_ctl *ctl = NULL;
	char why[160] = "";

	cr_assert_eq(m5_ctl_open(ia_name, params, &ctl, why, sizeof(why)), 0,
		     "%s cannot be opened: %s", ia_name, why);
	return ctl;
}
