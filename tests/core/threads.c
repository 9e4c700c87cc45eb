/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of the library: the CPU of the connection manager's (cm_cpu=), and threads that cannot start. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/thread.h"
#include "tests/core/fake_hw.h"
#include "tests/harness/capture.h"

TestSuite(threads, .timeout = 60);

static unsigned int started, unblocked;		/* atomic: threads, and those that could handle a signal */
static unsigned int fail_at;	/* the thread that cannot start, counted by started; 0: none */

/* The dynamic linker finds this one first. A thread starts with the signal mask of its creator. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
							  void *(*run)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		(__typeof__(real))dlsym(RTLD_NEXT, "pthread_create");
	sigset_t blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	if (__atomic_add_fetch(&started, 1, __ATOMIC_RELAXED) == fail_at)
		return EAGAIN;
	if (!sigismember(&blocked, SIGUSR1))
		__atomic_add_fetch(&unblocked, 1, __ATOMIC_RELAXED);
	return real(thread, attr, run, arg);
}

/* Returns the id of the thread with this name, or -1. */
static pid_t thread_named(const char *wanted)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *task;
	pid_t found = -1;

	cr_assert_not_null(dir);
	while (found < 0 && (task = readdir(dir))) {
		char path[64], name[64];
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", task->d_name);
		f = fopen(path, "r");
		if (f && fgets(name, sizeof(name), f) && !strcmp(name, wanted))
			found = (pid_t)atoi(task->d_name);
		if (f)
			fclose(f);
	}
	closedir(dir);
	return found;
}

static void expect_on(pid_t thread, size_t cpu)
{
	cpu_set_t set;

	cr_assert_eq(sched_getaffinity(thread, sizeof(set), &set), 0);
	cr_assert_eq(CPU_COUNT(&set), 1, "the thread may run on %d CPUs", CPU_COUNT(&set));
	cr_assert(CPU_ISSET(cpu, &set), "the thread may not run on CPU %zu", cpu);
}

static void expect_cm_on(size_t cpu)
{
	expect_on(thread_named("dapl-cm\n"), cpu);
}

/* Returns the first or the last CPU that this process may use. */
static size_t a_cpu(bool last)
{
	cpu_set_t set;
	size_t cpu = last ? CPU_SETSIZE - 1 : 0;

	cr_assert_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu += last ? (size_t)-1 : 1;
	return cpu;
}

static DAT_IA_HANDLE open_on(const char *name, size_t cpu)
{
	char params[32];

	snprintf(params, sizeof(params), "cm_cpu=%zu", cpu);
	fake_params(name, params);
	return fake_open(name);
}

/* The IA opened last decides, for the thread that runs already. */
Test(threads, cm_cpu__pins_the_thread_of_the_connection_manager)
{
	DAT_IA_HANDLE first = open_on("fake0", a_cpu(false)), second;

	expect_cm_on(a_cpu(false));
	second = open_on("fake1", a_cpu(true));
	expect_cm_on(a_cpu(true));
	dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG);
	fake_close(first);
}

/* The thread of another IA, which runs already, stays on its CPU, also at the next open. */
Test(threads, cm_cpu__of_an_open_that_fails_does_not_count)
{
	DAT_IA_HANDLE first = open_on("fake0", a_cpu(false)), second;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char params[32];

	if (a_cpu(false) == a_cpu(true))
		cr_skip_test("this process may use one CPU only");
	snprintf(params, sizeof(params), "cm_cpu=%zu", a_cpu(true));
	fake_params("fake1", params);
	fake.fail_at = fake.calls + 1;
	fake.fail_with = -EIO;
	cr_assert_neq(dat_ia_open("fake1", 4, &async, &second), DAT_SUCCESS);
	fake.fail_at = 0;
	expect_cm_on(a_cpu(false));
	second = fake_open("fake2");
	expect_cm_on(a_cpu(false));
	dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG);
	fake_close(first);
}

/* A thread that wakes now and then pins itself. */
Test(threads, follow__pins_the_calling_thread_to_the_chosen_cpu)
{
	uint32_t cpu = DAP_ANY_CPU, last = (uint32_t)a_cpu(true);

	dap_thread_follow(&cpu);
	cr_assert_eq(cpu, DAP_ANY_CPU);
	dap_thread_own_cpu(last);
	dap_thread_follow(&cpu);
	cr_assert_eq(cpu, last);
	expect_on(0, last);
}

Test(threads, cm_cpu__that_this_process_may_not_use_is_refused)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	fake_params("fake0", "cm_cpu=1023");
	assert_ret(dat_ia_open("fake0", 4, &async, &ia), DAT_INVALID_PARAMETER);
	cr_assert(fake_is_clean());
	ia = open_on("fake1", a_cpu(false));
	fake_close(ia);
}

/* Signals belong to the consumer's threads. */
Test(threads, cm_cpu__is_tried_by_a_thread_that_blocks_signals)
{
	unsigned int before = started;
	DAT_IA_HANDLE ia = open_on("fake0", a_cpu(false));

	cr_expect_eq(started - before, 2, "one thread tries the CPU, one is the connection manager's");
	cr_expect_eq(unblocked, 0);
	fake_close(ia);
}

/* One thread tries the CPU, one is the connection manager's. */
Test(threads, ia_open__without_a_thread_returns_insufficient_resources)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	const char *log;
	char params[32];
	DAT_RETURN ret;

	snprintf(params, sizeof(params), "cm_cpu=%zu", a_cpu(false));
	for (unsigned int n = 1; n <= 2; n++) {
		fake_params("fake0", params);
		fail_at = started + n;
		capture_begin(STDERR_FILENO);
		ret = dat_ia_open("fake0", 4, &async, &ia);
		log = capture_end();
		assert_code(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
		cr_assert(strstr(log, "cannot start") && !strstr(log, "may not run"),
			  "the log says: %s", log);
		cr_assert_eq(started, fail_at);
		cr_assert_null(ia);
		cr_assert(fake_is_clean());
	}
	fail_at = 0;
	ia = open_on("fake1", a_cpu(false));
	fake_close(ia);
}

static void agent(DAT_PVOID calls, DAT_EVD_HANDLE evd)
{
	(void)evd;
	__atomic_add_fetch((unsigned int *)calls, 1, __ATOMIC_RELAXED);
}

Test(threads, agent__without_a_thread_returns_insufficient_resources)
{
	DAT_IA_HANDLE ia = fake_open("fake0");
	unsigned int calls = 0;
	DAT_OS_WAIT_PROXY_AGENT one = { .instance_data = &calls, .proxy_agent_func = agent };
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE evd;
	DAT_CNO_PARAM param;

	fail_at = started + 1;
	assert_code(dat_cno_create(ia, one, &cno), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	cr_assert_null(cno);
	assert_ok(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	fail_at = started + 1;
	assert_code(dat_cno_modify_agent(cno, one), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	assert_ok(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	cr_assert_null(param.agent.proxy_agent_func);
	assert_ok(dat_cno_modify_agent(cno, one));
	assert_ok(dat_evd_create(ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	fake_post_se(evd);
	cr_assert(TH_WITHIN(20000, __atomic_load_n(&calls, __ATOMIC_RELAXED)));
	fake_close(ia);
}
