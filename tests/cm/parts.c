/* SPDX-License-Identifier: BSD-2-Clause */
/* The timer heap, and the mapping of connection qualifiers to ports. */
#include <stdlib.h>
#include <string.h>

#include "tests/cm/node.h"

#define TIMERS 300

static uint64_t earliest(const struct dap_timer *t)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TIMERS; i++) {
		if (t[i].set && t[i].due < least)
			least = t[i].due;
	}
	return least;
}

Test(cm, heap__root_is_the_earliest_whatever_was_added_and_removed)
{
	static struct dap_timer t[TIMERS];
	struct dap_timer *root = NULL;
	unsigned int seed = 42;

	for (int step = 0; step < 20000; step++) {
		struct dap_timer *x = &t[rand_r(&seed) % TIMERS];

		if (rand_r(&seed) % 3 == 0 && root)
			x = root;
		if (x->set) {
			root = cm_heap_remove(root, x);
			x->set = false;
		} else {
			x->due = (uint64_t)rand_r(&seed) % 1000;
			x->set = true;
			root = cm_heap_add(root, x);
		}
		cr_assert_eq(root ? root->due : UINT64_MAX, earliest(t),
			     "step %d: the heap's root is not the earliest timer", step);
	}
}

Test(cm, port__is_never_that_of_the_same_number)
{
	for (uint64_t q = 0; q < 65536; q++) {
		cr_assert_neq(cm_port_of(q), q);
		cr_assert(cm_port_of(q) >= 16384 && cm_port_of(q) < 32768);
	}
}

Test(cm, port__differs_for_neighbours)
{
	static const uint64_t bases[] = { 0, 0x8000, 0x123456789abc4000, UINT64_MAX << 14 };

	for (size_t b = 0; b < 4; b++) {
		bool seen[65536] = { false };

		for (uint64_t i = 0; i < 16384; i++) {
			uint16_t port = cm_port_of(bases[b] + i);

			cr_assert_not(seen[port], "qualifier %llx has the same port as a neighbour",
				      (unsigned long long)(bases[b] + i));
			seen[port] = true;
		}
	}
}

/* These numbers must not change, because peers of other versions rely on them. */
Test(cm, port__of_known_qualifiers_is_unchanged)
{
	cr_assert_eq(cm_port_of(0), 24576);
	cr_assert_eq(cm_port_of(45248), 20674);
	cr_assert_eq(cm_port_of(62000), 21043);
	cr_assert_eq(cm_port_of(UINT64_C(1) << 14 | 1), 24576);
	cr_assert_eq(cm_port_of(UINT64_MAX), cm_port_of(0xff));
}

static atomic_int order[4], turns;

static void take_turn(void *arg)
{
	order[(intptr_t)arg] = ++turns;
}

Test(cm, timer__those_due_earlier_come_earlier)
{
	struct dap_timer t[3] = {
		{ .fn = take_turn, .arg = (void *)0 },
		{ .fn = take_turn, .arg = (void *)1 },
		{ .fn = take_turn, .arg = (void *)2 },
	};
	struct node n;

	node_open(&n, "127.0.0.1");
	clock_stop();			/* the callback itself sets timers */
	dap_cm_timer(n.cm, &t[0], 60000);
	dap_cm_timer(n.cm, &t[1], 20000);
	dap_cm_timer(n.cm, &t[2], 40000);
	th_sleep_ms(30);
	dap_cm_timer(n.cm, &t[1], 90000);
	clock_go_on();
	SOON(turns == 3);
	cr_assert(order[2] == 1 && order[0] == 2 && order[1] == 3);
	node_close(&n);
}

static void slow_turn(void *arg)
{
	struct dap_timer *t = arg;

	turns++;
	th_sleep_ms(1);
	cr_assert(t->fn == slow_turn);	/* the timer has been set again */
}

/* A callback that has begun is over when close returns, and the timer stays off. */
Test(cm, timer__closed_calls_nothing_more)
{
	struct node n;

	node_open(&n, "127.0.0.1");
	for (int i = 0; i < 200; i++) {
		struct dap_timer t = { .fn = slow_turn };
		int at = turns;

		t.arg = &t;
		dap_cm_timer(n.cm, &t, (uint64_t)(i % 5) * 100);
		if (i % 5 == 0)
			SOON(turns > at);	/* the callback sleeps */
		else if (i % 2)
			th_sleep_ms(1);
		dap_cm_timer_close(n.cm, &t);
		at = turns;
		dap_cm_timer(n.cm, &t, 0);
		memset(&t, 0xff, sizeof(t));
		dap_cm_sync(n.cm);
		cr_assert_eq(turns, at);
	}
	node_close(&n);
}

static void drain(void *arg)
{
	char c;

	if (read(((int *)arg)[0], &c, 1) == 1)
		turns++;
}

Test(cm, watch__calls_for_each_byte_until_closed)
{
	struct node n;
	int fd[2];

	node_open(&n, "127.0.0.1");
	cr_assert_eq(pipe(fd), 0);
	cr_assert_eq(dap_cm_watch(n.cm, fd[0], drain, fd), 0);
	cr_assert_eq(write(fd[1], "abc", 3), 3);
	SOON(turns == 3);
	node_close(&n);
	cr_assert_eq(write(fd[1], "d", 1), 1);
	node_open(&n, "127.0.0.1");
	dap_cm_sync(n.cm);
	cr_assert_eq(turns, 3);
	node_close(&n);
	close(fd[0]);
	close(fd[1]);
}
