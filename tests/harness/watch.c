/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures the CPU time that a runnable thread can get. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "tests/harness/harness.h"

static pthread_t runner;
static bool runs;

static void *run(void *arg)
{
	(void)arg;
	while (__atomic_load_n(&runs, __ATOMIC_RELAXED))
		;
	return NULL;
}

void th_watch(void)
{
	runs = true;
	if (pthread_create(&runner, NULL, run, NULL))
		abort();
}

uint64_t th_watched_ms(void)
{
	struct timespec had;
	clockid_t clock;

	if (pthread_getcpuclockid(runner, &clock) || clock_gettime(clock, &had))
		abort();
	__atomic_store_n(&runs, false, __ATOMIC_RELAXED);
	pthread_join(runner, NULL);
	return (uint64_t)had.tv_sec * 1000 + (uint64_t)had.tv_nsec / 1000000;
}
