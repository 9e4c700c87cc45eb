/* SPDX-License-Identifier: BSD-2-Clause */
/* The limits of -w and -y. */
#include <criterion/criterion.h>

#include "perf/tool/report.h"

/* Other parts of report.c need these. */
bool dat_ok(DAT_RETURN ret, const char *what)
{
	(void)what;
	return ret == DAT_SUCCESS;
}

const char *consumer_address(const DAT_IA_ATTR *a, char *buf, socklen_t size)
{
	(void)a;
	(void)size;
	return buf;
}

Test(limits, each_size_below__is_missed_and_one_that_reaches_it_suffices)
{
	struct tool_result rows[] = {
		{ .average = 2 << 20, .rate = 1000000 },
		{ .average = 300 << 20, .rate = 4000 },
	};
	const struct tool_report rep = { .results = rows, .n = 2 };
	struct tool t = { .o = { .limit_bw = 301 } };

	cr_assert_eq(report_limits(&t, &rep), 1);
	t.o.limit_bw = 299;
	cr_assert_eq(report_limits(&t, &rep), 0);
	t.o.limit_rate = 0.99;
	cr_assert_eq(report_limits(&t, &rep), 0, "the limits may be reached by two sizes");
	t.o.limit_rate = 1.01;
	cr_assert_eq(report_limits(&t, &rep), 1);
}
