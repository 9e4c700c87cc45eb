/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SOFTNIC_CLOCK_H
#define SOFTNIC_CLOCK_H

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns the time by CLOCK_MONOTONIC, in ns. */
static inline uint64_t sn_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Does not call usleep(3), which is a cancellation point: a thread that was cancelled here would keep the
 * device's lock. us: less than a second. */
static inline void sn_sleep_us(unsigned int us)
{
	const struct timespec pause = { .tv_nsec = (long)us * 1000 };

	syscall(SYS_nanosleep, &pause, NULL);
}

#endif
