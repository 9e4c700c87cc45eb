/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All posts are suppressed, and another thread polls. The poster may reap, and the poller may drop
 * internal completions.
 */
#include "tests/tsan/tsan.h"

static atomic_bool done;

static void *poster(void *arg)
{
	tsan_must(tsan_write_all(arg, TSAN_OPS, DAT_COMPLETION_SUPPRESS_FLAG), "a post failed");
	tsan_must(tsan_write_all(arg, 1, DAT_COMPLETION_DEFAULT_FLAG), "the last post failed");
	atomic_store(&done, true);
	return NULL;
}

int main(void)
{
	static struct pair p;
	pthread_t t;
	DAT_EVENT ev;

	tsan_must(pair_open(&p, tsan_ia()) == 0, "pair_open failed");
	t = tsan_thread(poster, &p);
	tsan_reap(p.a.req_evd, 1);
	pthread_join(t, NULL);
	tsan_must(atomic_load(&done), "the only event came before the last post");
	tsan_must(dat_evd_dequeue(p.a.req_evd, &ev) != DAT_SUCCESS, "a suppressed post had an event");
	pair_close(&p);
	return 0;
}
