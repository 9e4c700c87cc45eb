/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/harness/harness.h"

__attribute__((constructor)) static void start_again(int argc, char **argv)
{
	static const char *const options[] = { "--efa", NULL };

	th_again_with(options, argc, argv);
}
