/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/ticks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { CALIBRATION_NS = 20000000 };

bool ticks_of_cpu;
static double ns_per_tick = 1;

static bool counter_is_steady(void)
{
#if defined(__x86_64__)
	unsigned int a, b, c, d;

	/* the bit "Invariant TSC", Intel SDM volume 3, 18.17.1 */
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8;
#elif defined(__aarch64__)
	return true;
#else
	return false;
#endif
}

void ticks_init(void)
{
	uint64_t from_ns, to_ns, from, to;

	ticks_of_cpu = counter_is_steady();
	if (!ticks_of_cpu)
		return;
	from_ns = now_ns();
	from = ticks();
	do {
		to_ns = now_ns();
		to = ticks();
	} while (to_ns - from_ns < CALIBRATION_NS);
	ns_per_tick = (double)(to_ns - from_ns) / (double)(to - from);
}

double ticks_to_ns(uint64_t t)
{
	return (double)t * ns_per_tick;
}

uint64_t ticks_from_ns(double ns)
{
	return (uint64_t)(ns / ns_per_tick);
}

double ticks_mhz(void)
{
	return 1e3 / ns_per_tick;
}
