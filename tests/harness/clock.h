/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process or a machine that stands still for a while: the test sets the clock of its program forward.
 * One file of a program may include this. Limits of the harness go by the kernel's clock.
 */
#ifndef TEST_CLOCK_H
#define TEST_CLOCK_H

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static time_t skipped;

/* Sets CLOCK_MONOTONIC this many seconds ahead of the kernel's. */
static inline void stand_still(time_t seconds)
{
	__atomic_store_n(&skipped, seconds, __ATOMIC_RELAXED);
}

/* Replaces the function of the C library. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ts)
{
	int ret = (int)syscall(SYS_clock_gettime, id, ts);

	if (id == CLOCK_MONOTONIC)
		ts->tv_sec += __atomic_load_n(&skipped, __ATOMIC_RELAXED);
	return ret;
}

#endif
