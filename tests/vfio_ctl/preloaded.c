/* SPDX-License-Identifier: BSD-2-Clause */
/* The suite runs under softnic-run --vfio. */
#include <stdlib.h>

#include "tests/harness/harness.h"
#include "tests/vfio_ctl/vfio_ctl.h"

__attribute__((constructor)) static void start_again(int argc, char **argv)
{
	static const char *const options[] = { "--vfio", "--devices", "2", NULL };

	setenv("DAPL_TEST_IA", VFIO_IA, 1);
	setenv("DAPL_TEST_CHILD_IA", VFIO_CHILD_IA, 1);
	setenv("RIG_PARAMS", "gid=auto", 1);
	th_again_with(options, argc, argv);
}
