/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "perf/common/line.h"
#include "perf/tool/tool.h"

enum { CHUNKS = 105, CHUNK_ROUNDS = 100, LEAST_CHUNKS = 21 };
static const uint64_t enough_ns = 100000000;

uint64_t tool_wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double cpu_s_of(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

double tool_cpu_s(void)
{
	return cpu_s_of(RUSAGE_SELF) + cpu_s_of(RUSAGE_CHILDREN);
}

static int stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned int)cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

int tool_pin(int cpu)
{
	if (cpu < 0 || stay_on(cpu) == 0)
		return 0;
	fprintf(stderr, "cannot stay on CPU %d: %m\n", cpu);
	return -1;
}

void tool_place(const struct tool *t, char *text, size_t len)
{
	cpu_set_t set;
	int n = 1;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	if (t->o.cpu >= 0)
		snprintf(text, len, "%d, pinned", t->o.cpu);
	else
		snprintf(text, len, "%d at start, one of %d, not pinned", sched_getcpu(), n);
}

struct race {
	struct line line;
	/* number of chunks; fewer if the machine is too slow for all of them */
	_Atomic unsigned int chunks;
};

static void *race_follow(void *race)
{
	struct race *r = race;
	unsigned int i;

	for (i = 0; i < atomic_load(&r->chunks); i++)
		line_echo(&r->line, CHUNK_ROUNDS);
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the median of the chunks, so that a chunk that lost the CPU has no effect. */
static double race_lead(struct race *r)
{
	uint64_t until = now_ns() + enough_ns;
	double ns[CHUNKS];
	unsigned int i;

	for (i = 0; i < r->chunks; i++) {
		if (i + 1 >= LEAST_CHUNKS && now_ns() > until)
			atomic_store(&r->chunks, i + 1);
		atomic_store(&r->line.turn, 0);
		ns[i] = line_ping(&r->line, CHUNK_ROUNDS);
	}
	qsort(ns, r->chunks, sizeof(*ns), by_value);
	return ns[r->chunks / 2];
}

static int another_cpu(const cpu_set_t *set, int me)
{
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (cpu != me && CPU_ISSET((unsigned int)cpu, set))
			return cpu;
	return -1;
}

/* The CPUs that the process was allowed at its start. Also a pinned program may use them for this
 * measurement. */
static cpu_set_t allowed;

__attribute__((constructor)) static void remember(void)
{
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		CPU_ZERO(&allowed);
}

double tool_line_ns(void)
{
	struct race race = { .chunks = CHUNKS };
	cpu_set_t mine, set;
	pthread_attr_t attr;
	pthread_t thread;
	int me = sched_getcpu(), other;
	double ns = 0;

	other = me < 0 ? -1 : another_cpu(&allowed, me);
	if (other < 0 || sched_getaffinity(0, sizeof(mine), &mine) || stay_on(me))
		return 0;
	CPU_ZERO(&set);
	CPU_SET((unsigned int)other, &set);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	if (pthread_create(&thread, &attr, race_follow, &race) == 0) {
		ns = race_lead(&race);
		pthread_join(thread, NULL);
	}
	pthread_attr_destroy(&attr);
	sched_setaffinity(0, sizeof(mine), &mine);
	return ns;
}
