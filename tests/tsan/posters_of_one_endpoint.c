/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A threadsafe IA: two threads post writes on one endpoint, a third dequeues. Each completion has the
 * cookie of its own post.
 */
#include "tests/tsan/tsan.h"

enum { POSTERS = 2 };

static struct pair p;
static unsigned char seen[POSTERS][TSAN_OPS];

static DAT_RETURN post(uint64_t cookie)
{
	DAT_LMR_TRIPLET l = region_segment(&p.local, 0, 8);
	DAT_RMR_TRIPLET r = { .rmr_context = p.remote.rmr_context,
			      .target_address = (DAT_VADDR)(uintptr_t)p.remote.buf +
						cookie % PAIR_PLACES * PAIR_BYTES,
			      .segment_length = 8 };

	return dat_ep_post_rdma_write(p.a.ep, 1, &l, (DAT_DTO_COOKIE){ .as_64 = cookie }, &r,
				      DAT_COMPLETION_DEFAULT_FLAG);
}

static void *poster(void *arg)
{
	uint64_t until = now_ns() + TSAN_LIMIT_S * 1000000000ull;
	uint64_t first = *(unsigned int *)arg * TSAN_OPS;

	for (uint64_t i = 0; i < TSAN_OPS;) {
		DAT_RETURN ret = post(first + i);

		if (ret == DAT_SUCCESS) {
			i++;
			continue;
		}
		tsan_must(DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES,
			  "a post returned an unexpected code");
		tsan_must(now_ns() < until, "the queue stays full");
		sched_yield();
	}
	return NULL;
}

static void take_all(void)
{
	uint64_t until = now_ns() + TSAN_LIMIT_S * 1000000000ull, cookie;
	unsigned int left = POSTERS * TSAN_OPS;
	DAT_EVENT ev, none;

	while (left) {
		/* the peer of an EFA returns credits only when it polls */
		dat_evd_dequeue(p.b.req_evd, &none);
		if (dat_evd_dequeue(p.a.req_evd, &ev) != DAT_SUCCESS) {
			tsan_must(now_ns() < until, "completions are missing");
			sched_yield();
			continue;
		}
		cookie = ev.event_data.dto_completion_event_data.user_cookie.as_64;
		tsan_must(cookie < POSTERS * TSAN_OPS, "a completion came without a post");
		tsan_must(!seen[cookie / TSAN_OPS][cookie % TSAN_OPS]++, "a post completed twice");
		left--;
	}
}

int main(void)
{
	unsigned int number[POSTERS] = { 0, 1 };
	pthread_t t[POSTERS];

	p.a.threadsafe = p.b.threadsafe = true;
	p.no_rmr = true;
	tsan_must(!pair_open(&p, tsan_ia()), "pair_open failed");
	for (int i = 0; i < POSTERS; i++)
		t[i] = tsan_thread(poster, &number[i]);
	take_all();
	for (int i = 0; i < POSTERS; i++)
		pthread_join(t[i], NULL);
	pair_close(&p);
	return 0;
}
