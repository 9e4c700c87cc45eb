/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connects and disconnects in several client processes, each with its own adapter. The first client
 * process only waits for the others and merges their samples.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/tool/crowd.h"
#include "perf/tool/lat.h"

/* Memory shared by the processes. */
struct shared {
	_Atomic uint32_t ready, go;
	struct {
		_Atomic uint64_t n, first, last;
	} worker[OPTION_MAX_PROCESSES];
	struct crowd_sample samples[];	/* one set of samples for each process */
};

static uint64_t room_of(const struct tool *t)
{
	/* Returns for how many samples to make room. With -D this is more than a run can take,
	 * because untouched pages use no memory. */
	return t->o.duration_s ? t->o.duration_s * 100000 : t->iters;
}

static int worker(struct tool *t, struct shared *s, unsigned int which, pid_t parent)
{
	struct crowd c = { .t = t, .limit = t->o.warm_up, .room = t->o.warm_up };
	struct crowd_sample *warm = calloc(t->o.warm_up + 1, sizeof(*warm));

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)		/* the parent had exited before the call of prctl */
		return 1;
	c.samples = warm;
	if (!warm || crowd_open(&c) || crowd_run(&c))
		return 1;
	c.n = 0;
	c.seen = &s->worker[which].n;
	c.samples = s->samples + which * room_of(t);
	c.room = room_of(t);
	c.limit = t->o.duration_s ? c.room : t->iters;
	atomic_fetch_add(&s->ready, 1);
	while (!atomic_load(&s->go))
		usleep(100);
	c.until = t->o.duration_s ? ticks() + ticks_from_ns((double)t->o.duration_s * 1e9) : 0;
	atomic_store(&s->worker[which].first, ticks());
	if (crowd_run(&c))
		return 1;
	atomic_store(&s->worker[which].last, ticks());
	free(warm);
	crowd_close(&c);
	return 0;
}

static uint64_t made(struct tool *t, struct shared *s)
{
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < t->o.processes; i++)
		n += atomic_load(&s->worker[i].n);
	return n;
}

static int start(struct tool *t, struct shared *s, pid_t *pids)
{
	const pid_t parent = getpid();
	unsigned int i;

	fflush(NULL);
	for (i = 0; i < t->o.processes; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(worker(t, s, i, parent));
		if (pids[i] < 0) {
			perror("fork");
			return -1;
		}
	}
	return 0;
}

/* Reports the signal that killed a process, because the process could not report that itself. */
static void report_signal(int status)
{
	if (WIFSIGNALED(status))
		fprintf(stderr, "a client process was ended by signal %d (%s)\n", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
}

/* Waits until all processes have ended. Returns -1 if one of them failed. */
static int wait_for(struct tool *t, struct shared *s, pid_t *pids)
{
	unsigned int left = t->o.processes, i;
	bool bad = false;
	int status, first = 0;

	while (left) {
		if (!bad && atomic_load(&s->ready) == t->o.processes)
			atomic_store(&s->go, 1);
		for (i = 0; i < t->o.processes; i++) {
			if (pids[i] <= 0 || waitpid(pids[i], &status, WNOHANG) != pids[i])
				continue;
			pids[i] = 0;
			left--;
			if (!bad && status) {
				bad = true;
				first = status;
				report_signal(status);
			}
		}
		t->progress = made(t, s);
		if (consumer_ended(&t->c))
			bad = true;
		for (i = 0; bad && i < t->o.processes; i++)
			if (pids[i] > 0)
				kill(pids[i], SIGKILL);
		usleep(1000);
	}
	if (!bad || WIFSIGNALED(first))
		return bad ? -1 : 0;
	/* If the server has died, the processes notice at once. */
	return tool_failed(t);
}

static int put_together(struct tool *t, struct shared *s, struct tool_result *r)
{
	uint64_t first = UINT64_MAX, last = 0, n = made(t, s), i, j;
	const struct crowd_sample *of;

	for (i = 0; i < t->o.processes; i++) {
		first = s->worker[i].first < first ? s->worker[i].first : first;
		last = s->worker[i].last > last ? s->worker[i].last : last;
	}
	record_free(&t->rec);
	if (record_init(&t->rec, n, 1))
		return -1;
	record_start(&t->rec, first);
	t->started_ns = tool_wall_ns() - (uint64_t)ticks_to_ns(ticks() - first);
	for (i = 0; i < t->o.processes; i++) {
		of = s->samples + i * room_of(t);
		for (j = 0; j < s->worker[i].n; j++)
			record_add(&t->rec, of[j].from, of[j].to);
	}
	if (lat_finish(t, r))
		return -1;
	r->size = (uint64_t)t->o.processes * t->o.eps;
	r->rate = last > first ? (double)n / (ticks_to_ns(last - first) / 1e9) : 0;
	return 0;
}

static int measure(struct tool *t, struct tool_result *r)
{
	size_t len = sizeof(struct shared) +
		     t->o.processes * room_of(t) * sizeof(struct crowd_sample);
	struct shared *s = mmap(NULL, len, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pid_t pids[OPTION_MAX_PROCESSES] = { 0 };
	int rc;

	if (s == MAP_FAILED) {
		fprintf(stderr, "no memory for the samples\n");
		return -1;
	}
	rc = start(t, s, pids);
	if (rc == 0)
		rc = wait_for(t, s, pids);
	if (rc == 0)
		rc = put_together(t, s, r);
	munmap(s, len);
	return rc;
}

const struct tool_test tool_test = {
	.name = "dat_conn_rate", .title = "Connection Rate Test", .metric = TOOL_CONNECTIONS,
	.doc = "Connections per second, and what one takes from dat_ep_connect to ESTABLISHED.",
	.takes = TAKES_EPS | TAKES_PROCESSES | TAKES_SAMPLES,
	.size = 1, .iters = 1000, .depth = 1, .part = 1,
	.open = crowd_listen, .measure = measure, .serve = crowd_serve,
};
