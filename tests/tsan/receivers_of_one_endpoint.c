/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A threadsafe IA: two threads post receives on one endpoint, the first with two segments. The second has
 * seen a relaxed store only, so nothing but the endpoint's own lock orders the two.
 */
#include "tests/tsan/tsan.h"

static struct pair p;
static atomic_bool posted;

static void post(DAT_COUNT segments)
{
	DAT_LMR_TRIPLET l[2] = { region_segment(&p.local, 0, 8), region_segment(&p.local, 8, 8) };
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	tsan_must(!dat_ep_post_recv(p.a.ep, segments, l, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		  "dat_ep_post_recv failed");
}

static void *two_segments(void *arg)
{
	(void)arg;
	post(2);
	atomic_store_explicit(&posted, true, memory_order_relaxed);
	return NULL;
}

static void *one_segment(void *arg)
{
	(void)arg;
	while (!atomic_load_explicit(&posted, memory_order_relaxed))
		sched_yield();
	post(1);
	return NULL;
}

int main(void)
{
	pthread_t t[2];

	p.a.threadsafe = p.b.threadsafe = true;
	p.no_rmr = true;
	tsan_must(!pair_open(&p, tsan_ia()), "pair_open failed");
	t[0] = tsan_thread(one_segment, NULL);
	t[1] = tsan_thread(two_segments, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	pair_close(&p);
	return 0;
}
