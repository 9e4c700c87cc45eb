/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "tests/harness/harness.h"

__attribute__((constructor)) static void start_again(int argc, char **argv)
{
	setenv("DAPL_TEST_IA", "mlx5_0-1", 1);
	th_again_under_softnic(argc, argv);
}
