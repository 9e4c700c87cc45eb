/* SPDX-License-Identifier: BSD-2-Clause */
/* The helpers that other suites rely on do detect faults. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness/harness.h"

static int echo_once(int sock, void *arg)
{
	int v;

	if (th_meet(sock) || th_recv(sock, &v, sizeof(v)))
		return 1;
	v += *(int *)arg;
	return th_send(sock, &v, sizeof(v)) ? 2 : 0;
}

Test(house, spawn__exchanges_messages_and_returns_status)
{
	struct th_child child;
	int add = 5, v = 37;

	cr_assert_eq(th_spawn(&child, echo_once, &add), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_send(child.sock, &v, sizeof(v)), 0);
	cr_assert_eq(th_recv(child.sock, &v, sizeof(v)), 0);
	cr_assert_eq(v, 42);
	cr_assert_eq(th_join(&child, TH_PEER_MS), 0);
}

static int sleep_for_ever(int sock, void *arg)
{
	(void)arg;
	(void)sock;
	for (int i = 0; i < 600; i++)
		th_sleep_ms(100);
	return 0;
}

Test(house, join__child_that_hangs_is_killed_at_the_timeout)
{
	struct th_child child;

	cr_assert_eq(th_spawn(&child, sleep_for_ever, NULL), 0);
	cr_assert_eq(th_join(&child, 20), -ETIMEDOUT);
	cr_assert_eq(child.pid, -1);
}

static int die(int sock, void *arg)
{
	(void)sock;
	return raise(*(int *)arg);
}

Test(house, join__child_that_was_killed_returns_its_signal)
{
	struct th_child child;
	int sig = SIGKILL;
	char c;

	cr_assert_eq(th_spawn(&child, die, &sig), 0);
	cr_assert_eq(th_recv(child.sock, &c, 1), -EPIPE);
	cr_assert_eq(th_join(&child, TH_PEER_MS), 128 + SIGKILL);
}

static void *wait_for_end(void *sock)
{
	char c;

	th_recv(*(int *)sock, &c, 1);
	return NULL;
}

Test(house, usage__sees_one_more_thread)
{
	struct th_usage before, after;
	pthread_t thread;
	int sv[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	th_usage(&before);
	cr_assert_eq(pthread_create(&thread, NULL, wait_for_end, &sv[0]), 0);
	th_usage(&after);
	cr_assert_eq(after.threads, before.threads + 1);
	close(sv[1]);
	pthread_join(thread, NULL);
	close(sv[0]);
}

Test(house, watch__sees_waiting_and_no_more_time_than_there_was)
{
	uint64_t start = th_now_ms(), seen = 0;

	cr_assert(TH_WITHIN(20000, (th_watch(), th_sleep_ms(20), seen += th_watched_ms(), seen >= 20)));
	cr_assert_leq(seen, th_now_ms() - start + 1);
}

Test(house, usage__sees_one_more_descriptor_and_mapping)
{
	size_t len = 64 * (size_t)sysconf(_SC_PAGESIZE);
	struct th_usage before, after;
	void *p;
	int fd;

	th_usage(&before);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(p, 1, len);
	th_usage(&after);
	cr_assert_eq(after.fds, before.fds + 1);
	cr_assert_eq(after.maps, before.maps + 1);
	munmap(p, len);
	close(fd);
}

static void two_more_can_be_opened(void)
{
	int a, b, c;

	cr_assert_eq(th_fds_limit(2), 0);
	a = dup(0);
	b = dup(0);
	c = dup(0);
	th_fds_restore();
	cr_assert(a >= 0 && b >= 0);
	cr_assert_eq(c, -1);
	close(a);
	close(b);
}

Test(house, fds_limit__lets_two_more_be_opened)
{
	two_more_can_be_opened();
}

/* A thread of the test's framework, or the parent process, may have left an unused descriptor
 * number. */
Test(house, fds_limit__lets_two_more_be_opened_around_one_that_is_open)
{
	int gap, open_beyond;

	gap = dup(0);
	open_beyond = dup(0);
	close(gap);
	two_more_can_be_opened();
	close(open_beyond);
}

/* The situation is that of a container with a limit of 64 KB of locked memory. */
Test(house, memlock__above_the_hard_limit_raises_it_or_returns_eperm)
{
	struct rlimit lim = { 64 << 10, 64 << 10 };
	int err;

	cr_assert_eq(setrlimit(RLIMIT_MEMLOCK, &lim), 0);
	err = th_memlock(4u << 20);
	cr_assert(!err || err == -EPERM);
	cr_assert_eq(getrlimit(RLIMIT_MEMLOCK, &lim), 0);
	cr_assert_eq(lim.rlim_cur, err ? 64u << 10 : 4u << 20);
}

Test(house, fail__second_allocation_fails_also_in_a_library_call)
{
	void *volatile first, *volatile third;
	char *volatile second;
	unsigned long n;

	th_fail_start(TH_FAIL_HEAP, 2);
	first = malloc(10);
	second = strdup("inside the C library");
	third = calloc(1, 10);
	n = th_fail_stop();
	cr_assert_eq(n, 3);
	cr_assert(first && third);
	cr_assert_null(second);
	free(first);
	free(third);
}

Test(house, fail__mapping_returns_enomem)
{
	void *p;

	th_fail_start(TH_FAIL_MMAP, 1);
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	th_fail_stop();
	cr_assert_eq(p, MAP_FAILED);
	cr_assert_eq(errno, ENOMEM);
}

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;

static void lock_both(void *n)
{
	pthread_mutex_lock(&one);
	pthread_mutex_lock(&two);
	*(int *)n += 100;
	pthread_mutex_unlock(&two);
	pthread_mutex_unlock(&one);
}

/* Counts the calls. Runs in another thread, before that thread takes its first mutex. */
static void count(void *n)
{
	/* global, because a detached thread stores to it when it ends */
	static struct th_aside other;
	bool done = th_aside(&other, lock_both, n, 20000);

	cr_expect_eq(done, *(int *)n == 100);
	*(int *)n += done ? 1 : 10;
	if (done)
		th_aside_end(&other);
	else
		pthread_detach(other.thread);
}

Test(house, at_locks__comes_before_each_mutex_and_another_thread_has_its_turn)
{
	int n = 0;

	th_at_locks(count, &n);
	lock_both(&n);
	th_at_locks(NULL, NULL);
	lock_both(&n);
	cr_assert(TH_WITHIN(20000, __atomic_load_n(&n, __ATOMIC_ACQUIRE) == 411),
		  "the lock hook set the counter to %d instead of 411", n);
}
