/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SOFTNIC_CLOCK_H
#define SOFTNIC_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns the time by CLOCK_MONOTONIC, in ns. */
static inline uint64_t sn_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif
