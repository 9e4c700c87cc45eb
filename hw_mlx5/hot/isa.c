/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Can this processor run the v3 hot functions? */
#include "hw_mlx5/hot/hot.h"

#if defined(__x86_64__)
#include <cpuid.h>

bool m5_isa_v3(void)
{
	unsigned int a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_MOVBE))
		return false;
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
	       __builtin_cpu_supports("bmi2");
}
#else
bool m5_isa_v3(void)
{
	return false;
}
#endif
