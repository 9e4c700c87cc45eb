/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of endpoint states in DESIGN.md equals the code's. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fsm/names.h"

static char *whole_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 20);
	size_t n = f && text ? fread(text, 1, (1 << 20) - 1, f) : 0;

	if (f)
		fclose(f);
	return n ? text : NULL;
}

Test(fsm, design__shows_the_table)
{
	char *design = whole_file("DESIGN.md"), *table = NULL, path[4096];
	size_t len = 0;
	FILE *f = open_memstream(&table, &len), *out;

	print_table(f);
	fclose(f);
	cr_assert(design, "this test must run in the top folder of the tree");
	if (!strstr(design, table)) {
		snprintf(path, sizeof(path), "%s/ep-states.md", getenv("DAPL_BUILD_DIR"));
		out = fopen(path, "w");
		cr_assert(out && fputs(table, out) >= 0 && fclose(out) == 0);
		cr_assert_fail("the table of DESIGN.md differs from the code's, which is in %s",
			       path);
	}
	free(table);
	free(design);
}
