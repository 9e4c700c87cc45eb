/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what the kernel counts for this thread and for the adapter. */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "perf/tool/explain.h"
#include "perf/tool/ticks.h"

enum { MODELS = 4, CPU_FIELD = 39 };

static struct {
	int models[MODELS];		/* thread IDs */
	unsigned int n_models, n_counters;
	int counters[8];		/* file descriptors */
} sources;

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	return clock_gettime(id, &t) ? 0 : (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns the clock of another thread's CPU time, as the kernel encodes it. */
static clockid_t cpu_clock(int tid)
{
	return (clockid_t)((~(unsigned int)tid << 3) | 6);
}

static void find_models(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *e;
	char path[300], name[16];
	FILE *f;

	sources.n_models = 0;
	while (tasks && (e = readdir(tasks)) && sources.n_models < MODELS) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (f && fgets(name, sizeof(name), f) && !strncmp(name, "softnic", 7))
			sources.models[sources.n_models++] = atoi(e->d_name);
		if (f)
			fclose(f);
	}
	if (tasks)
		closedir(tasks);
}

/* Opens the counters of the requester's retransmissions. */
static void find_counters(const char *port)
{
	static const char *const names[] = { "rnr_nak_retry_err", "local_ack_timeout_err", "packet_seq_err",
		"implied_nak_seq_err", "retrans_pkts", "retrans_timeout_events" };
	const char *sysfs = getenv("SYSFS_PATH"), *dash = strrchr(port, '-');
	char path[512];
	size_t i;
	int fd;

	for (i = 0; dash && i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/class/infiniband/%.*s/ports/%s/hw_counters/%s",
			 sysfs ? sysfs : "/sys", (int)(dash - port), port, dash + 1, names[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			sources.counters[sources.n_counters++] = fd;
	}
}

void marks_open(const char *port)
{
	find_models();
	if (!sources.n_counters)
		find_counters(port);
}

bool marks_models(void)
{
	return sources.n_models;
}

bool marks_counters(void)
{
	return sources.n_counters;
}

uint64_t mark_tick_ns(void)
{
	struct timespec t;

	return clock_getres(CLOCK_MONOTONIC_COARSE, &t) ? 0 : (uint64_t)t.tv_nsec;
}

void mark_take(struct explain_mark *m)
{
	struct rusage u;
	unsigned int i;

	getrusage(RUSAGE_THREAD, &u);
	m->voluntary = (uint64_t)u.ru_nvcsw;
	m->involuntary = (uint64_t)u.ru_nivcsw;
	m->faults = (uint64_t)(u.ru_minflt + u.ru_majflt);
	m->cpu = sched_getcpu();
	m->coarse_ns = clock_ns(CLOCK_MONOTONIC_COARSE);
	m->model_ns = 0;
	for (i = 0; i < sources.n_models; i++)
		m->model_ns += clock_ns(cpu_clock(sources.models[i]));
	m->on_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	m->at = ticks();
}

/* Returns the CPU on which a thread of this process ran last; -1 if it is not known. */
static int last_cpu(int tid)
{
	char path[64], text[1024] = "";
	const char *p;
	ssize_t n = 0;
	int i, fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	/* The second field is a name in parentheses, which may have spaces. */
	p = strrchr(text, ')');
	for (i = 2; p && i < CPU_FIELD; i++)
		p = strchr(p + 1, ' ');
	return p ? atoi(p + 1) : -1;
}

void mark_take_slow(struct explain_mark *m)
{
	char text[32];
	unsigned int i;
	ssize_t n;

	m->model_here = false;
	for (i = 0; i < sources.n_models; i++)
		m->model_here = m->model_here || last_cpu(sources.models[i]) == m->cpu;
	m->retries = 0;
	for (i = 0; i < sources.n_counters; i++) {
		n = pread(sources.counters[i], text, sizeof(text) - 1, 0);
		text[n > 0 ? n : 0] = '\0';
		m->retries += strtoull(text, NULL, 10);
	}
}
