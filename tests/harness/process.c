/* SPDX-License-Identifier: BSD-2-Clause */
/* The second process of a test, and the socket to it. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/harness/harness.h"

/* This function exists only with the address sanitizer. */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
/* This function exists in a coverage build: it stores the counts of a child. */
extern void __gcov_dump(void) __attribute__((weak));

/* The kernel's clock: a test may replace clock_gettime, and its limits still end. */
uint64_t th_now_ms(void)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void th_sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

void th_yield(void)
{
	sched_yield();
}

void th_pause(unsigned int turn)
{
	const struct timespec ts = { .tv_nsec = 100000 };

	if (turn < 200)
		sched_yield();
	else
		nanosleep(&ts, NULL);
}

/* exit() would run the test runner's handlers again; _exit() alone would skip the leak check. */
static _Noreturn void child_exit(int status)
{
	fflush(NULL);
	if (&__lsan_do_recoverable_leak_check && !status && __lsan_do_recoverable_leak_check())
		status = TH_LEAKED;
	if (__gcov_dump)
		__gcov_dump();
	_exit(status);
}

/* index of this child's adapter in the list; 0: this is no child */
static unsigned int own_ia, spawned;

const char *th_ia(const char *usual)
{
	const char *list = own_ia ? getenv("DAPL_TEST_CHILD_IA") : NULL;
	static char ia[64];
	unsigned int n = 1;

	if (!list)
		return usual;
	for (const char *c = list; *c; c++)
		n += *c == ',';
	for (n = (own_ia - 1) % n; n; n--)
		list = strchr(list, ',') + 1;
	snprintf(ia, sizeof(ia), "%.*s", (int)strcspn(list, ","), list);
	return ia;
}

void th_is_parent(void)
{
	own_ia = 0;
}

void th_is_child(void)
{
	own_ia += spawned + 1;
	spawned = 0;
}

int th_spawn(struct th_child *child, int (*fn)(int sock, void *arg), void *arg)
{
	pid_t parent = getpid();
	int sv[2], err;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		return -errno;
	fflush(NULL);
	pid = th_fork();
	if (pid < 0) {
		err = -errno;
		close(sv[0]);
		close(sv[1]);
		return err;
	}
	if (!pid) {
		th_is_child();
		close(sv[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		child_exit(fn(sv[1], arg));
	}
	spawned++;
	close(sv[1]);
	child->pid = pid;
	child->sock = sv[0];
	return 0;
}

static int child_forget(struct th_child *child, int result)
{
	close(child->sock);
	child->sock = -1;
	child->pid = -1;
	return result;
}

/* Sleeps until the process has ended, ms at most; before Linux 5.3 only for a moment. */
static void sleep_until_end(pid_t pid, uint64_t ms)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	if (p.fd < 0 || poll(&p, 1, (int)ms) < 0)
		th_sleep_ms(1);
	if (p.fd >= 0)
		close(p.fd);
}

int th_join(struct th_child *child, unsigned int ms)
{
	uint64_t end = th_now_ms() + ms, now;
	int status;
	pid_t pid;

	while (!(pid = waitpid(child->pid, &status, WNOHANG)) && (now = th_now_ms()) < end)
		sleep_until_end(child->pid, end - now);
	if (pid < 0)
		return child_forget(child, -errno);
	if (!pid) {
		th_kill(child);
		return -ETIMEDOUT;
	}
	return child_forget(child, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

void th_kill(struct th_child *child)
{
	if (child->pid <= 0)
		return;
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	child_forget(child, 0);
}

int th_send(int sock, const void *buf, size_t len)
{
	const char *at = buf;

	while (len) {
		ssize_t n = send(sock, at, len, MSG_NOSIGNAL);

		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int th_recv(int sock, void *buf, size_t len)
{
	uint64_t end = th_now_ms() + TH_PEER_MS;
	char *at = buf;

	while (len) {
		struct pollfd p = { .fd = sock, .events = POLLIN };
		uint64_t now = th_now_ms();
		ssize_t n;

		if (now >= end || !poll(&p, 1, (int)(end - now)))
			return -ETIMEDOUT;
		n = recv(sock, at, len, MSG_DONTWAIT);
		if (!n)
			return -EPIPE;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

int th_meet(int sock)
{
	char c = 'm';
	int err = th_send(sock, &c, 1);

	return err ? err : th_recv(sock, &c, 1);
}
