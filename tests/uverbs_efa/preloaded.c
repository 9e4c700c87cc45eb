/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/harness/harness.h"

__attribute__((constructor)) static void start_again(int argc, char **argv)
{
	th_again_under_softnic_with("--efa", argc, argv);
}
