/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint is freed while another thread dequeues its EVD: only its completions disappear. */
#include "tests/tsan/tsan.h"

static atomic_bool stop;

static void *poller(void *arg)
{
	struct pair *p = arg;
	DAT_EVENT ev;

	while (!atomic_load(&stop))
		if (dat_evd_dequeue(p->a.req_evd, &ev) != DAT_SUCCESS)
			sched_yield();
	return NULL;
}

int main(void)
{
	static struct pair p;
	pthread_t t;
	int i;

	for (i = 0; i < 5; i++) {
		atomic_store(&stop, false);
		tsan_must(pair_open(&p, tsan_ia()) == 0, "pair_open failed");
		t = tsan_thread(poller, &p);
		tsan_must(tsan_write_all(&p, 40, DAT_COMPLETION_DEFAULT_FLAG), "a post failed");
		tsan_must(dat_ok(dat_ep_free(p.a.ep), "dat_ep_free"), "dat_ep_free failed");
		tsan_must(DAT_GET_TYPE(tsan_write(&p, DAT_COMPLETION_DEFAULT_FLAG)) ==
				  DAT_INVALID_HANDLE,
			  "a freed handle did not return INVALID_HANDLE");
		atomic_store(&stop, true);
		pthread_join(t, NULL);
		pair_close(&p);
	}
	return 0;
}
