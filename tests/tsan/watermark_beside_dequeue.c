/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread sends, one receives and dequeues, while a third sets and removes watermarks: the EVD leaves
 * the hot path and returns to it while it is dequeued, and the connection manager's thread polls its CQ
 * in between.
 */
#include "tests/tsan/tsan.h"

enum { DEPTH = 8 };

static atomic_bool done;

static void receive(struct pair *p)
{
	DAT_LMR_TRIPLET t = region_segment(&p->remote, 0, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };

	tsan_must(!dat_ep_post_recv(p->b.ep, 1, &t, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		  "dat_ep_post_recv failed");
}

static void *sender(void *arg)
{
	uint64_t until = now_ns() + TSAN_LIMIT_S * 1000000000ull;
	struct pair *p = arg;
	DAT_LMR_TRIPLET t = region_segment(&p->local, 0, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	unsigned int n = 0;

	while (n < TSAN_OPS) {
		if (!dat_ep_post_send(p->a.ep, 1, &t, cookie, DAT_COMPLETION_SUPPRESS_FLAG)) {
			n++;
			continue;
		}
		tsan_must(now_ns() < until, "the queue stays full");
		sched_yield();
	}
	return NULL;
}

static void *setter(void *arg)
{
	struct pair *p = arg;
	DAT_COUNT n = 0, span;

	while (!atomic_load(&done)) {
		tsan_must(!dat_ep_set_watermark(p->b.ep, n++ % 3, 4 * DEPTH),
			  "dat_ep_set_watermark failed");
		tsan_must(!dat_ep_recv_query(p->b.ep, &span, &span), "dat_ep_recv_query failed");
		sched_yield();
		tsan_must(!dat_ep_set_watermark(p->b.ep, DAT_WATERMARK_INFINITE,
						DAT_WATERMARK_INFINITE),
			  "the watermark cannot be removed");
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	static struct pair p;
	pthread_t t[2];

	tsan_must(pair_open(&p, tsan_ia()) == 0, "pair_open failed");
	for (int i = 0; i < DEPTH; i++)
		receive(&p);
	t[0] = tsan_thread(sender, &p);
	t[1] = tsan_thread(setter, &p);
	for (int i = 0; i < TSAN_OPS; i++) {
		tsan_reap(p.b.recv_evd, 1);
		receive(&p);
	}
	atomic_store(&done, true);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	pair_close(&p);
	return 0;
}
