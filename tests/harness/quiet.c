/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork() with the address sanitizer. The sanitizer of gcc 12 takes no locks before a fork: a lock of
 * another thread stays locked in the child, whose next malloc waits for ever. A sleeping thread has no
 * such lock, so this waits for a while until all others sleep.
 */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/harness/harness.h"

enum { LONGEST_MS = 500 };

bool th_others_sleep(void)
{
	DIR *dir = opendir("/proc/self/task");
	bool all = true;
	struct dirent *e;
	pid_t tid;

	while (dir && all && (e = readdir(dir))) {
		tid = (pid_t)atoi(e->d_name);
		all = tid <= 0 || tid == gettid() || th_sleeps(tid);
	}
	if (dir)
		closedir(dir);
	return all;
}

pid_t th_fork(void)
{
	if (TH_ASAN)
		TH_WITHIN(LONGEST_MS, th_others_sleep());
	return fork();
}
