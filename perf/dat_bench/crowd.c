/* SPDX-License-Identifier: BSD-2-Clause */
/* Many connected endpoints with their completions on one EVD. */
#include <stdio.h>
#include <sys/resource.h>

#include "perf/dat_bench/bench.h"

/* a prime number, so that each endpoint gets its turn */
enum { STRIDE = 61, OTHER_FDS = 100 };

static DAT_EP_HANDLE crowd[BENCH_MANY];
static unsigned int have, turn, size;

/* Are there enough descriptors for n connections? Both ends are in this process, and each needs
 * one. */
static bool descriptors_for(unsigned int n)
{
	rlim_t need = 2 * (rlim_t)n + OTHER_FDS;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return false;
	if (limit.rlim_cur >= need)
		return true;
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_max >= need && !setrlimit(RLIMIT_NOFILE, &limit))
		return true;
	fprintf(stderr,
		"%u endpoints need %ju descriptors, the limit is %ju: raise it with ulimit -n\n", n,
		(uintmax_t)need, (uintmax_t)limit.rlim_max);
	return false;
}

enum bench_crowd bench_crowd(struct pair *p, unsigned int n)
{
	if (!descriptors_for(n))
		return BENCH_CROWD_NONE;
	/* When the adapters are closed, all connections end at once. */
	if (!have && (consumer_expect(&p->a, BENCH_MANY) || consumer_expect(&p->b, BENCH_MANY)))
		return BENCH_CROWD_FAILED;
	if (!have)
		crowd[have++] = p->a.ep;
	for (; have < n; crowd[have++] = p->a.ep)
		if (pair_more(p))
			return BENCH_CROWD_FAILED;
	size = n;
	return BENCH_CROWD_OK;
}

void bench_crowd_next(struct pair *p)
{
	if (!size)
		return;
	turn = (turn + STRIDE) % size;
	p->a.ep = crowd[turn];
}
