/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clock of the measured loops: the CPU's counter if its rate is constant, else CLOCK_MONOTONIC.
 * The counter is calibrated against CLOCK_MONOTONIC when the program starts.
 */
#ifndef PERF_TICKS_H
#define PERF_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "perf/common/stats.h"

extern bool ticks_of_cpu;	/* set by ticks_init() */

static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
	if (ticks_of_cpu)
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t v;

	if (ticks_of_cpu) {
		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
		return v;
	}
#endif
	return now_ns();
}

void ticks_init(void);
double ticks_to_ns(uint64_t t);
uint64_t ticks_from_ns(double ns);
double ticks_mhz(void);

#endif
