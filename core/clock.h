/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAP_CLOCK_H
#define DAP_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns the monotonic time in ns. */
static inline uint64_t dap_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t dap_now_ms(void)
{
	return dap_now_ns() / 1000000;
}

static inline struct timespec dap_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u) };
}

#endif
