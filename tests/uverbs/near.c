/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues are on the adapter's NUMA node. */
#include <stdio.h>
#include <string.h>

#include "tests/e2e/rig.h"
#include "tests/uverbs/calls.h"

/* Returns the number of this process's mappings that prefer node 0. */
static int preferring(void)
{
	FILE *f = fopen("/proc/self/numa_maps", "r");
	char line[512];
	int n = 0;

	if (!f)
		cr_skip_test("this kernel has no NUMA policies");
	while (fgets(line, sizeof(line), f))
		n += strstr(line, " prefer:0 ") != NULL;
	fclose(f);
	return n;
}

static void attribute_is(DAT_IA_HANDLE ia, const char *name, const char *text)
{
	static DAT_PROVIDER_ATTR attr;
	const char *is = "missing";

	must(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	for (DAT_COUNT i = 0; i < attr.num_provider_specific_attr; i++)
		if (!strcmp(attr.provider_specific_attr[i].name, name))
			is = attr.provider_specific_attr[i].value;
	cr_expect_str_eq(is, text, "%s is \"%s\" instead of \"%s\"", name, is, text);
}

/* softnic-run's adapters are on node 0. */
static void try_with(bool huge)
{
	struct end a, b;
	int before = preferring();

	th_huge_pages(huge);
	rig_conf("");
	pair_open(&a, &b);
	attribute_is(a.ia, "numa_node", "0");
	cr_expect_gt(preferring(), before, "no queue prefers node 0");
	end_free(&a);
	end_free(&b);
}

TestSuite(near, .timeout = 60);

Test(near, queues__in_pages_are_on_the_adapters_node)
{
	try_with(false);
}

Test(near, queues__in_huge_pages_are_on_the_adapters_node)
{
	try_with(true);
}
