/* SPDX-License-Identifier: BSD-2-Clause */
/* The library's threads have names: dapl-direct(7), "Threads". */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/api/api.h"

TestSuite(threads, .timeout = 60);

static void name_of(const char *task, char name[64])
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", task);
	f = fopen(path, "r");
	if (!f || !fgets(name, 64, f))
		*name = 0;
	if (f)
		fclose(f);
}

/*
 * Counts the threads of this process with that name. NULL stands for the name of the first thread.
 */
static int count_threads(const char *wanted)
{
	char name[64], first[64];
	DIR *dir = opendir("/proc/self/task");
	struct dirent *task;
	int n = 0;

	cr_assert_not_null(dir);
	snprintf(name, sizeof(name), "%d", getpid());
	name_of(name, first);
	while ((task = readdir(dir))) {
		name_of(task->d_name, name);
		n += !strcmp(name, wanted ? wanted : first);
	}
	closedir(dir);
	return n;
}

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	(void)evd;
}

/* A thread may start under the program's name, and gets its own name at once. */
Test(threads, threads__each_of_an_ia_with_an_agent_has_its_name)
{
	DAT_OS_WAIT_PROXY_AGENT a = { .proxy_agent_func = agent };
	const char *model = strstr(api_ia_name(), "efa") ? "softnic-efa\n" : "softnic-mlx5\n";
	int before = count_threads(NULL);	/* includes the threads of the test framework */
	DAT_CNO_HANDLE cno;
	struct api t;

	cr_assert_eq(count_threads("dapl-cm\n"), 0);
	api_open(&t);
	assert_ok(dat_cno_create(t.ia, a, &cno));
	cr_assert(TH_WITHIN(20000, count_threads(NULL) == before));
	cr_assert_eq(count_threads("dapl-cm\n"), 1);
	cr_assert_eq(count_threads("dapl-agent\n"), 1);
	if (!strncmp(api_ia_name(), "soft-", 5))
		cr_assert_eq(count_threads(model), 1);
	api_close(&t);
	/* A joined thread is visible for a moment longer. */
	cr_assert(TH_WITHIN(20000, count_threads("dapl-agent\n") == 0));
}
