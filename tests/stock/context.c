/* SPDX-License-Identifier: BSD-2-Clause */
/* Several contexts, closed contexts, and processes that fork. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
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
	st_close(one);
	st_destroy(&b);
	st_close(two);
}

Test(stock, open_device__again_and_again_leaks_nothing)
{
	struct th_usage before, after;
	struct st_end a;

	for (int i = 0; i < 40; i++) {
		if (i == 10)
			th_usage(&before);
		st_create(&a, st_open());
		st_finish(&a);
	}
	th_usage(&after);
	cr_assert_leq(after.threads, before.threads);
	cr_assert_leq(after.fds, before.fds + 2,
		      "%u descriptors were open before, %u are open after the closes", before.fds,
		      after.fds);
}

/* Closing the device destroys its objects, but libmlx5 leaks its own part of them. So this runs in its
 * own process. */
static int leave_all(int sock, void *arg)
{
	struct st_end a, b;

	(void)sock;
	(void)arg;
	for (int i = 0; i < 40; i++) {
		st_create(&a, st_open());
		st_connect(&a, &a);
		st_close(a.ctx);
	}
	st_create(&b, st_open());
	st_connect(&b, &b);
	_exit(st_write(&b, (uintptr_t)b.buf + 8192, b.mr->rkey, LEN) != IBV_WC_SUCCESS);
}

Test(stock, close_device__with_everything_left_in_it_frees_all)
{
	struct th_child child;

	cr_assert_eq(th_spawn(&child, leave_all, NULL), 0);
	cr_assert_eq(th_join(&child, ST_LIMIT_MS), 0);
}

/* After the device is closed there is no DMA, because the program may reuse its memory. */
static int write_after_close(int sock, void *arg)
{
	struct st_end a, b;
	enum ibv_wc_status status;

	(void)sock;
	(void)arg;
	st_create(&a, st_open());
	st_create(&b, st_open());
	st_connect(&a, &b);
	a.buf[0] = 0x77;
	st_close(b.ctx);
	status = st_write(&a, (uintptr_t)b.buf, b.mr->rkey, 1);
	_exit(status == IBV_WC_SUCCESS || b.buf[0] == 0x77);
}

Test(stock, close_device__ends_access_of_peers)
{
	struct th_child child;

	cr_assert_eq(th_spawn(&child, write_after_close, NULL), 0);
	cr_assert_eq(th_join(&child, ST_LIMIT_MS), 0);
}

/* The device stays with the parent: no verb of the child reaches it, and none hangs. */
Test(stock, fork__child_is_refused_and_has_its_own)
{
	struct ibv_port_attr port;
	struct st_end a, own;
	int status;
	pid_t pid;

	st_create(&a, st_open());
	st_connect(&a, &a);
	pid = th_fork();
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
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		  "the child ended with wait status %#x", (unsigned int)status);
	exchange(&a, &a);
	st_finish(&a);
}

/* Such a child shares the parent's memory, but it has descriptors of its own. */
Test(stock, vfork__child_that_closes_the_device_leaves_it_to_the_parent)
{
	struct st_end a;
	int status;
	pid_t pid;

	st_create(&a, st_open());
	st_connect(&a, &a);
	pid = vfork();
	if (!pid) {
		close(a.ctx->cmd_fd);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	exchange(&a, &a);
	st_finish(&a);
}

enum { ENDED = 3 };

static void end_program(int sig)
{
	(void)sig;
	exit(ENDED);
}

static int unchecked;		/* this process ends without a search for leaks */

/* The leak sanitizer asks before it searches. The search takes the allocator's lock, which the interrupted
 * call may hold. */
__attribute__((visibility("default")))
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return unchecked;
}

static int write_until_alarm(int sock, void *arg)
{
	struct st_end a;

	(void)sock;
	(void)arg;
	setenv("SOFTNIC_STRICT", "1", 1);
	unchecked = 1;
	st_create(&a, st_open());
	st_connect(&a, &a);
	signal(SIGALRM, end_program);
	ualarm(1000, 0);
	while (st_write(&a, (uintptr_t)a.buf + ST_BUF / 2, a.mr->rkey, ST_BUF / 2) == IBV_WC_SUCCESS)
		;
	return 1;
}

/* The signal interrupts a poll that moves data, with the device's lock held. */
Test(stock, exit__in_a_signal_handler_ends_the_program)
{
	for (int i = 0; i < 20; i++) {
		struct th_child child;

		cr_assert_eq(th_spawn(&child, write_until_alarm, NULL), 0);
		cr_assert_eq(th_join(&child, ST_LIMIT_MS), ENDED);
	}
}

static unsigned int refused_handler;	/* the call of pthread_atfork that fails; 0: none does */

/* The part of pthread_atfork() in the C library. */
__attribute__((visibility("default")))
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*in_child)(void), void *dso);
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*in_child)(void), void *dso)
{
	__typeof__(&__register_atfork) real = (__typeof__(real))dlsym(RTLD_NEXT, "__register_atfork");

	return refused_handler && !--refused_handler ? ENOMEM : real(prepare, parent, in_child, dso);
}

enum { REFUSED, OPENED, NO_SUCH_CALL };

static int open_without_handler(int sock, void *n)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	(void)sock;
	refused_handler = *(unsigned int *)n;
	ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	if (ctx)
		st_close(ctx);
	return refused_handler ? NO_SUCH_CALL : ctx ? OPENED : REFUSED;
}

Test(stock, open_device__without_a_fork_handler_fails)
{
	int result = REFUSED;
	unsigned int n;

	for (n = 0; result == REFUSED;) {
		struct th_child child;

		n++;
		cr_assert_eq(th_spawn(&child, open_without_handler, &n), 0);
		result = th_join(&child, ST_LIMIT_MS);
	}
	cr_expect_eq(result, NO_SUCH_CALL, "the device opens without fork handler %u", n);
	cr_expect_gt(n, 1, "no fork handler was refused");
}
