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
		snprintf(why, whylen, "memory can not be registered: the adapter has no more keys, or "
			 "the host no more memory; free LMRs or RMRs");
	else
		snprintf(why, whylen, "memory can not be registered: the limit of locked memory is "
			 "%llu KiB; raise it with ulimit -l or memlock in limits.conf(5); if all "
			 "keys are used, free LMRs",
			 (unsigned long long)limit.rlim_cur >> 10);
}

void hw_why_memory(int err, char *why, size_t whylen)
{
	if (err == -ENOMEM)
		no_more(why, whylen);
	else if (err == -EFAULT)
		snprintf(why, whylen, "memory can not be registered: not all of it is mapped, or it is "
			 "to be written and may only be read; map it for as long as there is its LMR");
	else
		snprintf(why, whylen, "memory can not be registered: %s", strerror(-err));
}
