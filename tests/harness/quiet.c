/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork() under the address sanitizer. That of gcc 12 locks nothing for it: whatever of its locks
 * another thread has at that moment stays locked in the child, whose next malloc waits for ever. A
 * thread that sleeps has none, so it is waited for, for a while, until all others do.
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
