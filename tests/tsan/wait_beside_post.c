/* SPDX-License-Identifier: BSD-2-Clause */
/* One thread waits, others post software events. Then the EVD is freed while a thread waits on
 * it. */
#include "tests/tsan/tsan.h"

enum { N = 500, POSTERS = 2, QLEN = 16 };

static DAT_EVD_HANDLE evd;

static void *poster(void *arg)
{
	uint64_t until = now_ns() + TSAN_LIMIT_S * 1000000000ull;
	DAT_EVENT ev = { .event_number = DAT_SOFTWARE_EVENT };

	(void)arg;
	for (int i = 0; i < N;) {
		DAT_RETURN ret = dat_evd_post_se(evd, &ev);

		i += ret == DAT_SUCCESS;
		tsan_must(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_QUEUE_FULL,
			  "dat_evd_post_se failed");
		tsan_must(now_ns() < until, "the queue stays full");
		if (ret != DAT_SUCCESS)
			sched_yield();
	}
	return NULL;
}

static void *waiter(void *arg)
{
	DAT_RETURN ret;
	DAT_COUNT nmore;
	DAT_EVENT ev;

	for (int i = 0; i < POSTERS * N; i++) {
		ret = dat_evd_wait(evd, TSAN_LIMIT_S * 1000000, 1, &ev, &nmore);
		tsan_must(ret == DAT_SUCCESS, "dat_evd_wait failed");
	}
	atomic_store((atomic_bool *)arg, true);
	ret = dat_evd_wait(evd, TSAN_LIMIT_S * 1000000, 1, &ev, &nmore);
	tsan_must(DAT_GET_TYPE(ret) == DAT_ABORT || DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE,
		  "the wait ended wrongly when its EVD was freed");
	return NULL;
}

int main(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	static atomic_bool done;
	pthread_t w, p[POSTERS];
	DAT_IA_HANDLE ia;

	tsan_must(!dat_ia_open((DAT_NAME_PTR)(uintptr_t)tsan_ia(), 8, &async, &ia),
		  "dat_ia_open failed");
	tsan_must(!dat_evd_create(ia, QLEN, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, &evd),
		  "dat_evd_create failed");
	w = tsan_thread(waiter, &done);
	for (int i = 0; i < POSTERS; i++)
		p[i] = tsan_thread(poster, NULL);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(p[i], NULL);
	while (!atomic_load(&done))
		sched_yield();
	tsan_must(!dat_evd_free(evd), "dat_evd_free failed");
	pthread_join(w, NULL);
	tsan_must(!dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close failed");
	return 0;
}
