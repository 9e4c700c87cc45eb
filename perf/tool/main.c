/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/tool.h"

int main(int argc, char **argv)
{
	return tool_main(&tool_test, argc, argv);
}
