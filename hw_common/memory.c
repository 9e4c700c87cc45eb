/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "hw_common/memory.h"

static void no_more(char *why, size_t whylen)
{
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (limit.rlim_cur == RLIM_INFINITY)
		snprintf(why, whylen, "cannot register memory: the adapter has no free key, or the "
			 "host no memory; free LMRs or RMRs");
	else
		snprintf(why, whylen, "cannot register memory: the locked-memory limit is %llu KiB; "
			 "raise it with ulimit -l or memlock in limits.conf(5); if all keys are in "
			 "use, free LMRs",
			 (unsigned long long)limit.rlim_cur >> 10);
}

void hw_why_memory(int err, char *why, size_t whylen)
{
	if (err == -ENOMEM)
		no_more(why, whylen);
	else if (err == -EFAULT)
		snprintf(why, whylen, "cannot register memory: some of it is not mapped, or not "
			 "writable as requested; keep it mapped until dat_lmr_free()");
	else
		snprintf(why, whylen, "cannot register memory: %s", strerror(-err));
}
