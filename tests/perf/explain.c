/* SPDX-License-Identifier: BSD-2-Clause */
/* Causes of long samples: chosen readings have the right cause, and causes that a test provokes are named. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "perf/tool/lat.h"

enum { OPS = 1000, EVERY = 50, PAGES = 512, PAGE = 4096, NAP_US = 20000, US = 1000 };

extern bool real_clock;		/* rate.c of this suite */

/* The tick of the timer is 4 ms here. The time between the two readings is the sample plus 1 us. */
static enum explain_cause cause_of(struct explain_mark grown, uint64_t sample_ns)
{
	struct explain_mark a = { .cpu = 1 };

	grown.at = sample_ns + US;
	return explain_cause(&a, &grown, sample_ns, 4000000);
}

Test(explain, reading__has_its_cause)
{
	const struct {
		enum explain_cause cause;
		struct explain_mark grown;
	} rows[] = {
		{ EXPLAIN_NONE, { .cpu = 1, .on_cpu_ns = 101 * US } },
		{ EXPLAIN_TICK, { .cpu = 1, .on_cpu_ns = 101 * US, .coarse_ns = 4000000 } },
		{ EXPLAIN_FAULT, { .cpu = 1, .on_cpu_ns = 101 * US, .faults = 1, .coarse_ns = 4000000 } },
		{ EXPLAIN_MIGRATION, { .cpu = 0, .on_cpu_ns = 90 * US, .involuntary = 1, .faults = 1 } },
		{ EXPLAIN_INVOLUNTARY, { .cpu = 1, .on_cpu_ns = 90 * US, .involuntary = 1 } },
		{ EXPLAIN_VOLUNTARY, { .cpu = 1, .on_cpu_ns = 90 * US, .voluntary = 1 } },
		{ EXPLAIN_STOLEN, { .cpu = 1, .on_cpu_ns = 20 * US, .faults = 1 } },
		{ EXPLAIN_INVOLUNTARY, { .cpu = 0, .on_cpu_ns = 20 * US, .involuntary = 1, .faults = 1 } },
		{ EXPLAIN_VOLUNTARY, { .cpu = 1, .on_cpu_ns = 20 * US, .voluntary = 1, .faults = 1 } },
		{ EXPLAIN_MODEL, { .cpu = 1, .on_cpu_ns = 20 * US, .involuntary = 1, .model_here = true,
				   .model_ns = 70 * US } },
		{ EXPLAIN_INVOLUNTARY, { .cpu = 1, .on_cpu_ns = 20 * US, .involuntary = 1, .model_here = true,
					 .model_ns = 9 * US } },
		{ EXPLAIN_INVOLUNTARY, { .cpu = 1, .on_cpu_ns = 20 * US, .involuntary = 1,
					 .model_ns = 70 * US } },
		{ EXPLAIN_VOLUNTARY, { .cpu = 1, .on_cpu_ns = 20 * US, .voluntary = 1, .model_here = true,
				       .model_ns = 70 * US } },
		{ EXPLAIN_RETRY, { .cpu = 1, .on_cpu_ns = 20 * US, .involuntary = 1, .retries = 1 } },
	};
	enum explain_cause got;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		got = cause_of(rows[i].grown, 100 * US);
		cr_assert_eq(got, rows[i].cause, "row %zu has the cause %s instead of %s", i,
			     explain_keys[got], explain_keys[rows[i].cause]);
	}
}

/* A sample that is longer than the time between two ticks always has one: that is no cause. */
Test(explain, tick__explains_only_samples_shorter_than_its_period)
{
	const struct explain_mark grown = { .cpu = 1, .on_cpu_ns = 5000 * US, .coarse_ns = 4000000 };

	cr_assert_eq(cause_of(grown, 5000 * US), EXPLAIN_NONE);
}

static unsigned char *pages;
static char counter[256];
static sem_t begin, done;
static lat_fn *provoke;

/* The operation. Every EVERY-th one provokes the cause that the result must name. */
static int give(struct tool *t, uint64_t i)
{
	return i % EVERY ? 0 : provoke(t, i);
}

static struct explain_result run(const char *port, lat_fn *what)
{
	static const struct tool_test test = { .part = 1 };
	struct tool t = { .test = &test, .port = port, .iters = OPS, .o = { .explain = true, .iters = OPS } };
	struct tool_result r = { .iters = 0 };
	uint64_t sum = 0;
	unsigned int c;

	real_clock = true;
	provoke = what;
	cr_assert_eq(lat_run(&t, &r, give, NULL), 0);
	cr_assert_eq(r.iters, OPS);
	for (c = 0; c < EXPLAIN_CAUSES; c++)
		sum += r.explain.n[c];
	/* A bucket is at most 1/128 of its value wide. */
	cr_assert(sum >= record_between(&t.rec, r.explain.limit_ns * 1.01, 1e300) &&
		  sum <= record_between(&t.rec, r.explain.limit_ns / 1.01, 1e300),
		  "%ju samples have a cause", (uintmax_t)sum);
	cr_assert_gt(explain_floor()->n, 1000);
	record_free(&t.rec);
	return r.explain;
}

static void is_named(struct explain_result e, enum explain_cause cause)
{
	cr_assert(e.n[cause] >= 1 && e.longest_ns[cause] > e.limit_ns,
		  "no sample of %d has the cause %s", OPS / EVERY, explain_keys[cause]);
}

static int nap(struct tool *t, uint64_t i)
{
	(void)t;
	(void)i;
	return usleep(NAP_US);
}

Test(explain, sleep__is_a_voluntary_switch)
{
	struct explain_result e = run("none-1", nap);

	is_named(e, EXPLAIN_VOLUNTARY);
	cr_assert_geq(e.longest_ns[EXPLAIN_VOLUNTARY], NAP_US * 1e3);
}

static int touch(struct tool *t, uint64_t i)
{
	size_t p;

	(void)t;
	if (madvise(pages, PAGES * PAGE, MADV_DONTNEED))
		return -1;
	for (p = 0; p < PAGES; p++)
		((volatile unsigned char *)pages)[p * PAGE] = (unsigned char)i;
	return 0;
}

/* On a busy machine a thread may lose its core in each long sample, and that is the cause then: once more. */
Test(explain, new_pages__are_page_faults, .timeout = 300)
{
	struct explain_result e;

	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(pages, MAP_FAILED);
	madvise(pages, PAGES * PAGE, MADV_NOHUGEPAGE);
	do
		e = run("none-1", touch);
	while (!e.n[EXPLAIN_FAULT]);
	is_named(e, EXPLAIN_FAULT);
}

static int count_one(struct tool *t, uint64_t i)
{
	FILE *f = fopen(counter, "w");

	if (!f || fprintf(f, "%ju\n", (uintmax_t)i) < 0 || fclose(f))
		return -1;
	return nap(t, i);
}

Test(explain, counter_of_the_port__is_a_retransmission)
{
	char dir[] = "/tmp/explain.XXXXXX", path[200];
	const char *const parts[] = { "class", "infiniband", "fake0", "ports", "1", "hw_counters" };
	size_t i, n = sizeof(parts) / sizeof(*parts);
	int at;

	cr_assert(mkdtemp(dir));
	at = snprintf(path, sizeof(path), "%s", dir);
	for (i = 0; i < n; i++) {
		at += snprintf(path + at, sizeof(path) - (size_t)at, "/%s", parts[i]);
		cr_assert_eq(mkdir(path, 0700), 0);
	}
	snprintf(counter, sizeof(counter), "%s/rnr_nak_retry_err", path);
	cr_assert_eq(count_one(NULL, 0), 0);
	setenv("SYSFS_PATH", dir, 1);
	is_named(run("fake0-1", count_one), EXPLAIN_RETRY);
	cr_assert(marks_counters());
	unlink(counter);
	for (i = n; i-- > 0; ) {
		rmdir(path);
		*strrchr(path, '/') = '\0';
	}
	rmdir(dir);
}

/* A thread with the name of a software adapter's thread. */
static void *model(void *arg)
{
	struct timespec t;
	long from;

	pthread_setname_np(pthread_self(), "softnic-test");
	for (;;) {
		sem_post(&done);
		sem_wait(&begin);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		from = t.tv_sec * 1000000000 + t.tv_nsec;
		while (t.tv_sec * 1000000000 + t.tv_nsec < from + NAP_US * 1000)
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	}
	return arg;
}

static int let_the_model_run(struct tool *t, uint64_t i)
{
	(void)t;
	(void)i;
	sem_post(&begin);
	while (sem_trywait(&done))
		;
	return 0;
}

/*
 * Lets only this thread of the model take the core from the caller, so that neither load nor nice(1) decides.
 * Without the right to do that, the caller runs only while the other thread sleeps.
 */
static void give_core_to(pthread_t thread)
{
	const struct sched_param none = { 0 }, low = { .sched_priority = 1 }, high = { .sched_priority = 2 };

	if (pthread_setschedparam(thread, SCHED_FIFO, &high) || sched_setscheduler(0, SCHED_FIFO, &low))
		cr_assert_eq(sched_setscheduler(0, SCHED_IDLE, &none), 0);
}

Test(explain, thread_of_the_model_on_this_core__is_named)
{
	pthread_t thread;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((unsigned int)sched_getcpu(), &one);
	cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	cr_assert(sem_init(&begin, 0, 0) == 0 && sem_init(&done, 0, 0) == 0);
	cr_assert_eq(pthread_create(&thread, NULL, model, NULL), 0);
	sem_wait(&done);
	give_core_to(thread);
	is_named(run("none-1", let_the_model_run), EXPLAIN_MODEL);
}
