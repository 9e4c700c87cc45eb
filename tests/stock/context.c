/* SPDX-License-Identifier: BSD-2-Clause */
/* Several contexts, contexts that end, and processes that fork. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/harness.h"
#include "tests/stock/rig.h"

enum { LEN = 3000 };

static void exchange(struct st_end *a, struct st_end *b)
{
	for (int i = 0; i < LEN; i++)
		a->buf[i] = (uint8_t)(i * 13);
	cr_assert_eq(st_write(a, (uintptr_t)b->buf + 8192, b->mr->rkey, LEN), IBV_WC_SUCCESS);
	cr_assert_arr_eq(b->buf + 8192, a->buf, LEN);
}

Test(stock, open_device__two_contexts_reach_each_other)
{
	struct ibv_context *one = st_open(), *two = st_open();
	struct st_end a, b;

	st_create(&a, one);
	st_create(&b, two);
	st_connect(&a, &b);
	exchange(&a, &b);
	exchange(&b, &a);
	st_destroy(&a);
	cr_assert_eq(ibv_close_device(one), 0);
	st_destroy(&b);
	cr_assert_eq(ibv_close_device(two), 0);
}

Test(stock, open_device__again_and_again)
{
	struct th_usage before, after;
	struct st_end a;

	for (int i = 0; i < 60; i++) {
		if (i == 10)
			th_usage(&before);
		st_create(&a, st_open());
		if (i % 2)
			st_destroy(&a);		/* and otherwise closing the device does it */
		cr_assert_eq(ibv_close_device(a.ctx), 0);
	}
	th_usage(&after);
	cr_assert_leq(after.threads, before.threads);
	/* What a context leaves goes with the next: pipes' ends, not more with each turn. */
	cr_assert_leq(after.fds, before.fds + 60, "%u descriptors, then %u", before.fds, after.fds);
}

/* The parent's device stays the parent's: no verb of the child reaches it, and none hangs. */
Test(stock, fork__child_is_refused_and_has_its_own)
{
	struct ibv_port_attr port;
	struct st_end a, own;
	int status;
	pid_t pid;

	st_create(&a, st_open());
	st_connect(&a, &a);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		alarm(30);
		if (!ibv_query_port(a.ctx, 1, &port) || ibv_alloc_pd(a.ctx))
			_exit(2);
		st_create(&own, st_open());
		st_connect(&own, &own);
		if (st_write(&own, (uintptr_t)own.buf + 8192, own.mr->rkey, LEN) != IBV_WC_SUCCESS)
			_exit(3);
		_exit(0);
	}
	exchange(&a, &a);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child: %#x", (unsigned int)status);
	exchange(&a, &a);
	st_destroy(&a);
}
