/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts a batch through dapl_direct.h, whose inline part is counted too. */
#include "perf/dat_bench/bench.h"

#include <dat/dapl_direct.h>

/* Returns the list of requests. Only the first call builds it, as in a program that posts the same
 * requests again. */
static struct dapl_work *work_of(const struct pair *p)
{
	static struct dapl_work work[BENCH_BATCH];

	for (unsigned int i = 0; !work[BENCH_BATCH - 1].op && i < BENCH_BATCH; i++)
		work[i] = (struct dapl_work){
			.op = DAPL_WORK_WRITE, .length = 8, .lmr_context = p->local.lmr_context,
			.address = (DAT_VADDR)(uintptr_t)p->local.buf,
			.target = (DAT_VADDR)(uintptr_t)p->remote.buf,
			.rmr_context = p->remote.rmr_context };
	return work;
}

DAT_RETURN bench_post_16(struct pair *p)
{
	DAT_COUNT posted;

	return dapl_ep_post_n(p->a.ep, BENCH_BATCH, work_of(p), &posted);
}
