/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of data integrity and of order. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "perf/common/stats.h"
#include "perf/common/verify.h"
#include "perf/dat_first_light/probe.h"

/* ---- Order: the target polls the last byte of a write, and then checks the other bytes */

enum { ORDER_WRITES = 1000, ORDER_BYTES = 65536 };

struct order {
	volatile uint8_t *buf;
	_Atomic unsigned int seen;	/* number of writes whose last byte has arrived */
	_Atomic unsigned int torn;
	_Atomic bool stop;
};

static void *poll_last_byte(void *arg)
{
	struct order *o = arg;

	for (unsigned int i = 1; i <= ORDER_WRITES; i++) {
		uint8_t value = (uint8_t)(i % 251 + 1);

		for (unsigned int looks = 1; o->buf[ORDER_BYTES - 1] != value; looks++) {
			if (atomic_load(&o->stop))
				return NULL;
			if (looks % (1 << 20) == 0)
				sched_yield();
		}
		atomic_thread_fence(memory_order_acquire);
		for (size_t at = 0; at < ORDER_BYTES; at += 256)
			if (o->buf[at] != value) {
				atomic_fetch_add(&o->torn, 1);
				break;
			}
		atomic_store(&o->seen, i);
	}
	return NULL;
}

static bool write_in_turn(struct pair *p, const struct region *from, const struct region *to,
			  struct order *o, struct answer *a)
{
	uint64_t until = long_enough();

	for (unsigned int i = 1; i <= ORDER_WRITES && now_ns() < until; i++) {
		DAT_RMR_TRIPLET target = region_target(to, 0, ORDER_BYTES);

		memset(from->buf, (int)(i % 251 + 1), ORDER_BYTES);
		if (!post_write(p, from, &target) || !succeeded(a, p->a.req_evd, "a write"))
			return false;
		for (uint64_t late = long_enough(); atomic_load(&o->seen) < i; sched_yield()) {
			if (now_ns() < late)
				continue;
			bad(a, "nothing", "no: write %u has completed, and its last byte is not there", i);
			return false;
		}
	}
	return true;
}

void probe_order(const struct light *l, struct answer *a)
{
	struct pair p = { .no_rmr = true };
	struct region from = { 0 }, to = { 0 };
	struct order o = { 0 };
	pthread_t thread;

	if (!light_pair(l, "", &p, a) ||
	    region_create(&p.a, &from, ORDER_BYTES, DAT_MEM_PRIV_ALL_FLAG) ||
	    region_create(&p.b, &to, ORDER_BYTES, DAT_MEM_PRIV_ALL_FLAG))
		return;
	o.buf = to.buf;
	if (pthread_create(&thread, NULL, poll_last_byte, &o))
		return;
	if (write_in_turn(&p, &from, &to, &o, a)) {
		if (atomic_load(&o.torn))
			bad(a, l->efa ? "write_order=kept" :
			    "nothing: wait for a message and do not poll the last byte",
			    "no: in %u of %u writes of %d KiB the last byte came before others",
			    atomic_load(&o.torn), atomic_load(&o.seen), ORDER_BYTES >> 10);
		else
			good(a, "yes: %u writes of %d KiB, in loopback", atomic_load(&o.seen),
			     ORDER_BYTES >> 10);
	}
	atomic_store(&o.stop, true);
	pthread_join(thread, NULL);
}

/* ---- Two threads post to one endpoint in turns: the adapter must see their doorbells in order */

enum { TURNS = 10000 };

struct turns {
	struct pair *p;
	struct answer *a;
	_Atomic unsigned int posted;
	_Atomic bool failed, over;
	uint64_t until;
};

static void *post_in_turn(struct turns *t, unsigned int me)
{
	for (unsigned int i = me; i < TURNS; i += 2) {
		DAT_RMR_TRIPLET to = region_target(&t->p->remote, 0, 64);

		while (atomic_load(&t->posted) != i) {
			if (atomic_load(&t->failed) || atomic_load(&t->over))
				return NULL;
			sched_yield();
		}
		if (!me && now_ns() > t->until) {
			atomic_store(&t->over, true);
			return NULL;
		}
		if (!post_write(t->p, &t->p->local, &to)) {
			atomic_store(&t->failed, true);
			return NULL;
		}
		/* Two requests have only one completion, so each thread waits for the completion of
		 * its own request before the next post. */
		if (me && (!succeeded(t->a, t->p->a.req_evd, "a write of a pair of threads") ||
			   !succeeded(t->a, t->p->a.req_evd, "a write of a pair of threads")))
			atomic_store(&t->failed, true);
		atomic_store(&t->posted, i + 1);
	}
	return NULL;
}

static void *second_thread(void *arg)
{
	return post_in_turn(arg, 1);
}

void probe_threads(const struct light *l, struct answer *a)
{
	struct pair p = { .no_rmr = true, .a.threadsafe = true, .b.threadsafe = true };
	struct turns t = { .p = &p, .a = a, .until = long_enough() };
	pthread_t thread;

	if (!light_pair(l, "", &p, a) || pthread_create(&thread, NULL, second_thread, &t))
		return;
	post_in_turn(&t, 0);
	pthread_join(thread, NULL);
	if (!atomic_load(&t.failed))
		good(a, "yes: %u requests, every other one by the second thread",
		     atomic_load(&t.posted));
}

/* ---- Batches fill the send queue's WQEs and doorbells: all data must arrive byte for byte */

static bool write_batch(struct pair *p, unsigned int round, unsigned int n, size_t len, struct answer *a)
{
	for (unsigned int i = 0; i < n; i++) {
		DAT_RMR_TRIPLET to = region_target(&p->remote, i * (size_t)PAIR_BYTES, len);

		if (!post_write(p, &p->local, &to))
			return false;
	}
	for (unsigned int i = 0; i < n; i++)
		if (!succeeded(a, p->a.req_evd, "a write of a batch"))
			return false;
	for (unsigned int i = 0; i < n; i++) {
		size_t wrong = pattern_check((uint8_t *)p->remote.buf + i * (size_t)PAIR_BYTES, len, 1,
					     round);

		if (wrong == len)
			continue;
		bad(a, "nothing", "no: byte %zu of a write of %zu differs", wrong, len);
		return false;
	}
	return true;
}

void probe_integrity(const struct light *l, struct answer *a)
{
	enum { BATCHES = 1000 };
	static const size_t lengths[] = { 8, 32, 33, 64, 188, 189, 256, 1500, 4096 };
	struct pair p = { .no_rmr = true };
	unsigned int n = sizeof(lengths) / sizeof(lengths[0]), i;
	uint64_t until = long_enough();

	if (!light_pair(l, "", &p, a))
		return;
	for (i = 0; i < BATCHES && now_ns() < until; i++) {
		size_t len = lengths[i % n];

		pattern_fill(p.local.buf, len, 1, i);
		if (!write_batch(&p, i, 1 + i % PAIR_PLACES, len, a))
			return;
	}
	good(a, "yes: %u batches of 1 to %d writes of 8 to 4096 bytes", i, PAIR_PLACES);
}
