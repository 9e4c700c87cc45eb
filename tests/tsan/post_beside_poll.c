/* SPDX-License-Identifier: BSD-2-Clause */
/* One thread posts, another dequeues: credit passes from the poller to the poster without a
 * lock. */
#include "tests/tsan/tsan.h"

static void *poster(void *arg)
{
	tsan_must(tsan_write_all(arg, TSAN_OPS, DAT_COMPLETION_DEFAULT_FLAG), "a post failed");
	return NULL;
}

int main(void)
{
	static struct pair p;
	pthread_t t;

	tsan_must(pair_open(&p, tsan_ia()) == 0, "pair_open failed");
	t = tsan_thread(poster, &p);
	tsan_reap(p.a.req_evd, TSAN_OPS);
	pthread_join(t, NULL);
	pair_close(&p);
	return 0;
}
