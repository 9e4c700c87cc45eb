/* SPDX-License-Identifier: BSD-2-Clause */
/* The peer dies while one thread posts and another polls: the endpoint's state and table pointer
 * change. */
#include "tests/tsan/tsan.h"

static atomic_uint posted;
static atomic_bool stop;

static void *poster(void *arg)
{
	struct pair *p = arg;
	DAT_RETURN ret;

	while (!atomic_load(&stop)) {
		ret = tsan_write(p, DAT_COMPLETION_DEFAULT_FLAG);
		if (ret == DAT_SUCCESS)
			atomic_fetch_add(&posted, 1);
		else
			sched_yield();
	}
	return NULL;
}

int main(void)
{
	static struct pair p;
	unsigned int reaped = 0;
	DAT_EVENT ev;
	pthread_t t;

	tsan_must(pair_open(&p, tsan_ia()) == 0, "pair_open failed");
	t = tsan_thread(poster, &p);
	tsan_reap(p.a.req_evd, 200);
	reaped = 200;
	consumer_close(&p.b);
	tsan_must(consumer_wait_end(&p.a, TSAN_LIMIT_S * 1000000000ull) == 0,
		  "the connection did not end");
	for (int i = 0; i < 200; i++)
		if (dat_evd_dequeue(p.a.req_evd, &ev) == DAT_SUCCESS)
			reaped++;
	atomic_store(&stop, true);
	pthread_join(t, NULL);
	tsan_reap(p.a.req_evd, atomic_load(&posted) - reaped);
	tsan_must(dat_evd_dequeue(p.a.req_evd, &ev) != DAT_SUCCESS,
		  "a request completed more than once");
	consumer_close(&p.a);
	return 0;
}
