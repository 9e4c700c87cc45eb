/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A random load on two devices without threads, for many seeds: in any order, every message arrives once
 * and unchanged, and its completion follows its bytes. EFA_SEED=N runs only that seed, as it ran among
 * the others; EFA_SEEDS=N runs that many.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/harness.h"
#include "tests/softnic_efa/rig.h"

enum { MESSAGES = 24, SLOT = 32768 };

static struct side a, b;

struct load {
	uint64_t seed, rng, trace;
	uint32_t longest;
	unsigned int posted, completed, received, expected;
	uint8_t op[MESSAGES];
	uint32_t len[MESSAGES];
	bool done[MESSAGES], told[MESSAGES];
};

#define SEED(l) ((unsigned long long)(l)->seed)

static uint32_t draw(struct load *l, uint32_t n)
{
	l->rng = l->rng * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(l->rng >> 33) % n;
}

static void remember(struct load *l, uint64_t v)
{
	l->trace = (l->trace ^ v) * UINT64_C(0x100000001b3);
}

/* Message i uses slot i of both memories; its content is derived from its number. */
static void post_one(struct load *l)
{
	uint16_t i = (uint16_t)l->posted++;
	struct wqe w;

	l->op[i] = (uint8_t)draw(l, 3);
	l->len[i] =
		draw(l, l->longest < a.caps.mtu || l->op[i] != OP_SEND ? l->longest : a.caps.mtu);
	fill(l->op[i] == OP_READ ? b.mem + i * SLOT : a.mem + i * SLOT, l->len[i], i + 1u);
	if (l->op[i] == OP_SEND) {
		w_send(&a, &w, i, i * SLOT, l->len[i]);
		w.b[2] |= IMM;
		put32(w.b + 8, i);
	} else {
		w_rdma(&a, &w, l->op[i], l->op[i] == OP_WRITE ? IMM : 0, i, i * SLOT, i * SLOT,
		       l->len[i]);
		if (l->op[i] == OP_WRITE)
			put32(w.b + 8, i);
	}
	l->expected += l->op[i] != OP_READ;
	post(&a, &w);
}

static bool holds(const uint8_t *at, uint32_t len, uint32_t seed)
{
	static uint8_t want[SLOT];

	fill(want, len, seed);
	return !memcmp(at, want, len);
}

static void take(struct load *l, const struct cqe *c)
{
	uint32_t i = c->queue == 1 ? c->req_id : c->imm;

	cr_assert_eq(c->status, 0, "seed %llu: wrong status %u of message %u", SEED(l), c->status,
		     i);
	cr_assert_lt(i, MESSAGES);
	remember(l, (uint64_t)c->queue << 32 | i);
	if (c->queue == 1) {
		cr_assert(!l->done[i], "seed %llu: message %u completed twice", SEED(l), i);
		l->done[i] = true;
		l->completed++;
		if (l->op[i] == OP_READ)
			cr_assert(holds(a.mem + i * SLOT, l->len[i], i + 1),
				  "seed %llu: wrong data in read %u",
				  SEED(l), i);
		return;
	}
	cr_assert(!l->told[i], "seed %llu: message %u arrived twice", SEED(l), i);
	l->told[i] = true;
	l->received++;
	cr_assert_eq(c->length, l->len[i], "seed %llu: the receive has a wrong length", SEED(l));
	if (l->op[i] == OP_WRITE)
		cr_assert(holds(b.mem + i * SLOT, l->len[i], i + 1), 
			  "seed %llu: write %u was reported before its bytes arrived", SEED(l), i);
	else
		cr_assert(holds(b.mem + (MESSAGES * SLOT) + (c->req_id % 16u) * 8960, l->len[i],
				i + 1),
			  "seed %llu: wrong data in send %u", SEED(l), i);
}

static void poll_both(struct load *l)
{
	struct cqe c;

	while (cqe_poll(&a, &c))
		take(l, &c);
	while (cqe_poll(&b, &c)) {
		take(l, &c);
		rx_post(&b, c.req_id, MESSAGES * SLOT + (c.req_id % 16u) * 8960, 8960);
	}
}

static uint64_t run_load(uint64_t seed, uint32_t longest)
{
	struct load l = { .longest = longest, .seed = seed, .rng = seed, .trace = seed };

	for (uint16_t i = 0; i < 16; i++)
		rx_post(&b, i, MESSAGES * SLOT + i * 8960u, 8960);
	for (unsigned int turns = 0; l.completed < MESSAGES || l.received < l.expected; turns++) {
		cr_assert_lt(turns, 200000,
			     "seed %llu: no progress: %u requests completed, %u of %u messages "
			     "received",
			     SEED(&l), l.completed, l.received, l.expected);
		if (l.posted < MESSAGES && draw(&l, 2))
			post_one(&l);
		softnic_efa_pump(draw(&l, 2) ? a.nic : b.nic);
		poll_both(&l);
	}
	cr_assert(settle(&a, &b, 100000));
	expect_violations(&a, "");
	expect_violations(&b, "");
	return l.trace;
}

static const struct setup busy = { .rnr_retry = 7, .flags = SOFTNIC_EFA_ADVERSARIAL };

/* Runs one seed with new devices. */
static uint64_t fresh(uint64_t seed, const char *script)
{
	struct setup s = busy;
	uint64_t trace;

	s.seed = seed;
	pair_open(&a, &b, &s);
	cr_assert_eq(softnic_efa_fault(a.nic, script), 0);
	cr_assert_eq(softnic_efa_fault(b.nic, script), 0);
	trace = run_load(seed, SLOT);
	pair_close(&a, &b);
	return trace;
}

static uint64_t from_env(const char *name, uint64_t standard)
{
	const char *v = getenv(name);

	return v ? strtoull(v, NULL, 0) : standard;
}

struct range {
	uint64_t first, last;
};

static struct range seeds(uint64_t standard)
{
	uint64_t only = from_env("EFA_SEED", 0);

	return only ? (struct range){only, only}
		    : (struct range){1, from_env("EFA_SEEDS", standard)};
}

Test(seeds, any_order__each_message_arrives_once)
{
	struct range r = seeds(60);

	for (uint64_t seed = r.first; seed <= r.last; seed++)
		fresh(seed, "");
}

Test(seeds, loss_and_duplicates__each_message_arrives_once)
{
	struct range r = seeds(30);

	for (uint64_t seed = r.first; seed <= r.last; seed++)
		fresh(seed, "drop=0.05,dup=0.05,reorder=0.2,twice=0.3,rnr=0.1");
}

Test(seeds, same_seed__repeats_the_run)
{
	uint64_t first = fresh(4711, "drop=0.02,rnr=0.05");

	cr_assert_eq(fresh(4711, "drop=0.02,rnr=0.05"), first);
	cr_assert_neq(fresh(4712, "drop=0.02,rnr=0.05"), first);
}

/* Posts sends of eight bytes, several in flight at a time. Returns how many complete out of order. */
static unsigned int overtakings(unsigned int window)
{
	unsigned int n = 0;
	struct cqe c;
	struct wqe w;
	uint32_t next = 0;

	pair_open(&a, &b, &(struct setup){ .window = window, .rnr_retry = 7 });
	for (uint16_t i = 0; i < 40; i++)
		rx_post(&b, i, 0, 100);
	for (uint16_t i = 0; i < 40; i++) {
		w_send(&a, &w, i, 0, 8);
		w.b[2] |= IMM;
		put32(w.b + 8, i);
		post(&a, &w);
	}
	for (unsigned int i = 0; i < 40; i++) {
		c = cqe_wait(&b, &a);
		n += c.imm != next;
		next = c.imm + 1;
	}
	settle(&a, &b, 10000);
	pair_close(&a, &b);
	return n;
}

Test(seeds, window__one_is_in_order_and_more_is_not)
{
	cr_assert_eq(overtakings(1), 0);
	cr_assert_gt(overtakings(64), 5);
}

/* Runs a small load on existing devices. */
static uint64_t again(uint64_t seed)
{
	uint64_t trace;

	cr_assert_eq(softnic_efa_reseed(a.nic, seed), 0);
	cr_assert_eq(softnic_efa_reseed(b.nic, seed + 99), 0);
	side_objects(&a, &busy);
	side_objects(&b, &busy);
	side_meet(&a, &b);
	side_ready(&a, 7);
	side_ready(&b, 7);
	trace = run_load(seed, 512);
	side_free_objects(&a);
	side_free_objects(&b);
	return trace;
}

static void refuse_in_flight(void)
{
	struct cqe c;
	struct wqe w;

	w_send(&a, &w, 1, 0, 8);
	post(&a, &w);
	cr_assert_eq(softnic_efa_reseed(a.nic, 1), -16,
		     "a reseed with a request in flight was not refused with -16");
	rx_post(&b, 1, 0, 100);
	cqe_wait(&b, &a);
	cr_assert(settle(&a, &b, 10000));
	while (cqe_poll(&a, &c))
		;
}

Test(seeds, reseed__begins_anew)
{
	struct range r = seeds(getenv("DAPL_ALL") ? 100000 : 5000);
	uint64_t start, first;

	pair_open(&a, &b, &busy);
	refuse_in_flight();
	side_free_objects(&a);
	side_free_objects(&b);
	start = th_now_ms();
	first = again(r.first);
	for (uint64_t seed = r.first + 1; seed <= r.last; seed++)
		again(seed);
	cr_assert_eq(again(r.first), first, "the first seed ran differently later");
	fprintf(stderr, "note: software EFA: %llu seeds of %d messages each in %llu ms\n",
		(unsigned long long)(r.last - r.first + 1), MESSAGES,
		(unsigned long long)(th_now_ms() - start));
	pair_abandon(&a, &b);
}
