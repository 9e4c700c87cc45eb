/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A nonthreadsafe IA, and an EVD with a CNO. One thread posts, one dequeues, one waits on the CNO, and
 * the CNO has an agent too. Each event comes once, and the CNO is triggered.
 */
#include "tests/tsan/tsan.h"

enum { N = 2000, DTOS = 64 };

static DAT_EVD_HANDLE evd, stop_evd;
static DAT_EP_HANDLE ep;
static DAT_CNO_HANDLE cno;
static unsigned int seen[N];
static atomic_uint called, woken;

static void *poster(void *arg)
{
	uint64_t until = now_ns() + TSAN_LIMIT_S * 1000000000ull;

	(void)arg;
	for (uint64_t i = 0; i < N;) {
		DAT_DTO_COOKIE c = { .as_64 = i };
		DAT_RETURN type = DAT_GET_TYPE(dat_ep_post_recv(ep, 0, NULL, c,
								DAT_COMPLETION_DEFAULT_FLAG));

		tsan_must(type == DAT_SUCCESS || type == DAT_INSUFFICIENT_RESOURCES,
			  "a post returned an unexpected code");
		tsan_must(now_ns() < until, "the queue stays full");
		if (type == DAT_SUCCESS)
			i++;
		else
			sched_yield();
	}
	return NULL;
}

static void *taker(void *arg)
{
	uint64_t until = now_ns() + TSAN_LIMIT_S * 1000000000ull;
	unsigned int n = 0;
	DAT_EVENT ev;

	(void)arg;
	while (n < N) {
		if (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS) {
			seen[ev.event_data.dto_completion_event_data.user_cookie.as_64 % N]++;
			n++;
			continue;
		}
		tsan_must(now_ns() < until, "events are missing");
		sched_yield();
	}
	return NULL;
}

static void *waiter(void *arg)
{
	DAT_EVD_HANDLE which;

	(void)arg;
	do {
		tsan_must(!dat_cno_wait(cno, TSAN_LIMIT_S * 1000000, &which),
			  "dat_cno_wait failed");
		atomic_fetch_add(&woken, 1);
	} while (which != stop_evd);
	return NULL;
}

static void agent(DAT_PVOID data, DAT_EVD_HANDLE which)
{
	(void)data;
	(void)which;
	atomic_fetch_add(&called, 1);
}

static DAT_IA_HANDLE open_all(void)
{
	DAT_OS_WAIT_PROXY_AGENT a = { .proxy_agent_func = agent };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	tsan_must(!dat_ia_openv((DAT_NAME_PTR)(uintptr_t)tsan_ia(), 8, &async, &ia, 1, 2,
				DAT_FALSE),
		  "dat_ia_openv failed");
	tsan_must(!dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create failed");
	tsan_must(!dat_cno_modify_agent(cno, a), "dat_cno_modify_agent failed");
	tsan_must(!dat_evd_create(ia, 2 * DTOS, cno, DAT_EVD_DTO_FLAG, &evd),
		  "dat_evd_create failed");
	tsan_must(!dat_evd_create(ia, 4, cno, DAT_EVD_SOFTWARE_FLAG, &stop_evd),
		  "dat_evd_create failed");
	ep = tsan_dead_ep(ia, DTOS, evd);
	return ia;
}

int main(void)
{
	DAT_EVENT stop = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_IA_HANDLE ia = open_all();
	pthread_t t[3] = { tsan_thread(waiter, NULL), tsan_thread(taker, NULL),
			   tsan_thread(poster, NULL) };

	pthread_join(t[2], NULL);
	pthread_join(t[1], NULL);
	tsan_must(!dat_evd_post_se(stop_evd, &stop), "dat_evd_post_se failed");
	pthread_join(t[0], NULL);
	for (int i = 0; i < N; i++)
		tsan_must(seen[i] == 1, "an event came more than once, or not at all");
	tsan_must(atomic_load(&woken) >= 1, "the CNO was not triggered");
	tsan_must(!dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close failed");
	tsan_must(atomic_load(&called) >= 1, "the agent was not called");
	return 0;
}
