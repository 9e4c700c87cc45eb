/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts the suite under softnic-run --efa, with the calls of rdma-core 63. */
#include <stdlib.h>

#include "tests/harness/harness.h"

__attribute__((constructor)) static void start_again(int argc, char **argv)
{
	static const char *const options[] = { "--efa", NULL };

	setenv("DAPL_TEST_IA", "efa_0-1", 1);
	setenv("SOFTNIC_EFADV", "63", 1);
	th_again_with(options, argc, argv);
}
