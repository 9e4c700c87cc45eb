/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A threadsafe IA: one thread posts requests, one receives, a third software events, all to one EVD, and
 * two dequeue from it. Each event comes once. The endpoint is disconnected, so every post is flushed.
 */
#include "tests/tsan/tsan.h"

enum { N = 1000, DTOS = 64 };

static DAT_EVD_HANDLE evd;
static DAT_EP_HANDLE ep;
static atomic_uint seen[3][N];
static atomic_uint total;

static DAT_RETURN post(int kind, uint64_t cookie)
{
	DAT_DTO_COOKIE c = { .as_64 = cookie };
	DAT_EVENT se = { .event_number = DAT_SOFTWARE_EVENT };

	switch (kind) {
	case 0:
		return dat_ep_post_send(ep, 0, NULL, c, DAT_COMPLETION_DEFAULT_FLAG);
	case 1:
		c.as_64 += N;
		return dat_ep_post_recv(ep, 0, NULL, c, DAT_COMPLETION_DEFAULT_FLAG);
	default:
		se.event_data.software_event_data.pointer = (void *)(uintptr_t)cookie;
		return dat_evd_post_se(evd, &se);
	}
}

static void *poster(void *arg)
{
	uint64_t until = now_ns() + TSAN_LIMIT_S * 1000000000ull;
	int kind = *(int *)arg;

	for (uint64_t i = 0; i < N;) {
		DAT_RETURN type = DAT_GET_TYPE(post(kind, i));

		if (type == DAT_SUCCESS) {
			i++;
			continue;
		}
		tsan_must(type == DAT_INSUFFICIENT_RESOURCES || type == DAT_QUEUE_FULL,
			  "a post returned an unexpected code");
		tsan_must(now_ns() < until, "the queue stays full");
		sched_yield();
	}
	return NULL;
}

static void count(const DAT_EVENT *ev)
{
	uint64_t at;

	if (ev->event_number == DAT_SOFTWARE_EVENT) {
		at = (uintptr_t)ev->event_data.software_event_data.pointer;
		tsan_must(at < N, "a software event came that was not posted");
		atomic_fetch_add(&seen[2][at], 1);
	} else {
		at = ev->event_data.dto_completion_event_data.user_cookie.as_64;
		tsan_must(at < 2 * N, "a completion came without a post");
		atomic_fetch_add(&seen[at / N][at % N], 1);
	}
	atomic_fetch_add(&total, 1);
}

static void *taker(void *arg)
{
	uint64_t until = now_ns() + TSAN_LIMIT_S * 1000000000ull;
	DAT_EVENT ev;

	(void)arg;
	while (atomic_load(&total) < 3 * N) {
		if (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS) {
			count(&ev);
			continue;
		}
		tsan_must(now_ns() < until, "events are missing");
		sched_yield();
	}
	return NULL;
}

static DAT_IA_HANDLE open_all(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	tsan_must(!dat_ia_openv((DAT_NAME_PTR)(uintptr_t)tsan_ia(), 8, &async, &ia, 1, 2,
				DAT_TRUE), "dat_ia_openv failed");
	tsan_must(!dat_evd_create(ia, 3 * DTOS, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, &evd),
		  "dat_evd_create failed");
	ep = tsan_dead_ep(ia, DTOS, evd);
	return ia;
}

int main(void)
{
	DAT_IA_HANDLE ia = open_all();
	int kinds[3] = { 0, 1, 2 };
	pthread_t t[5];

	for (int i = 0; i < 3; i++)
		t[i] = tsan_thread(poster, &kinds[i]);
	for (int i = 3; i < 5; i++)
		t[i] = tsan_thread(taker, NULL);
	for (int i = 0; i < 5; i++)
		pthread_join(t[i], NULL);
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < N; i++)
			tsan_must(seen[k][i] == 1, "an event came more than once, or not at all");
	tsan_must(!dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close failed");
	return 0;
}
