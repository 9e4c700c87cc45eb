/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <pthread.h>
#include <time.h>

#include "perf/tool/report.h"

enum { EVERY_S = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static bool running, over;
static const char *doing;
static struct timespec began;

static bool is_past(const struct timespec *at)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > at->tv_sec || (now.tv_sec == at->tv_sec && now.tv_nsec >= at->tv_nsec);
}

/* Reports a step every EVERY_S seconds. A long step is reported even if this thread gets the CPU only
 * after the step has ended. */
static void *report_step(void *arg)
{
	const struct tool *t = arg;
	struct timespec at = began;
	unsigned int s;

	pthread_mutex_lock(&lock);
	for (s = EVERY_S; ; ) {
		at.tv_sec += EVERY_S;
		while (!over && pthread_cond_clockwait(&wake, &lock, CLOCK_MONOTONIC, &at) == 0)
			;
		if (over && !is_past(&at))
			break;
		if (doing && t->progress)
			fprintf(stderr, " ... %s: %u s, %" PRIu64 " of %u endpoints\n", doing, s,
				t->progress, t->o.eps);
		else if (doing)
			fprintf(stderr, " ... %s: %u s\n", doing, s);
		else if (t->test->metric == TOOL_CONNECTIONS)
			fprintf(stderr, " ... %u s, %" PRIu64 " connections\n", s, t->progress);
		else
			fprintf(stderr, " ... %" PRIu64 " bytes: %u s, %" PRIu64 " operations\n",
				t->size, s, t->progress);
		s += EVERY_S;
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

void progress_start(struct tool *t, const char *what)
{
	doing = what;
	t->progress = 0;
	over = false;
	clock_gettime(CLOCK_MONOTONIC, &began);
	running = pthread_create(&thread, NULL, report_step, t) == 0;
}

void progress_stop(void)
{
	if (!running)
		return;
	pthread_mutex_lock(&lock);
	over = true;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	running = false;
}
