/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the suites share: a second process to talk to, a limit against hangs, counters that show a
 * leak, and allocations that fail on demand. Knows neither DAT nor Criterion, so the thread
 * programs of tests/tsan use it too.
 */
#ifndef TEST_HARNESS_H
#define TEST_HARNESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Time */

uint64_t th_now_ms(void);		/* monotonic */
void th_sleep_ms(unsigned int ms);

/*
 * True as soon as cond is, false when it was not within ms milliseconds: a limit against hangs,
 * never a measurement. Yields between looks, since the machine may have one core for both sides.
 */
#define TH_WITHIN(ms, cond)                                                                        \
	({                                                                                         \
		uint64_t th_end = th_now_ms() + (ms);                                              \
		bool th_ok;                                                                        \
		while (!(th_ok = (cond)) && th_now_ms() < th_end)                                  \
			th_yield();                                                                \
		th_ok;                                                                             \
	})
void th_yield(void);

/* Is this built with the address sanitizer? */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TH_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TH_ASAN 1
#endif
#ifndef TH_ASAN
#define TH_ASAN 0
#endif

/*
 * True once a thread of this process that has stored its id there sleeps: in the call that it was
 * about to make.
 */
bool th_asleep(const pid_t *tid, unsigned int ms);
/* A thread of this process does; all but this one do. */
bool th_sleeps(pid_t tid);
bool th_goes_on_sleeping(pid_t tid);	/* at several looks */
bool th_others_sleep(void);

/*
 * How long something took, for a promise of a time: what a thread got from th_watch() to
 * th_watched_ms() that does nothing but run. An idle machine gives it all; one that is busy gives it
 * less, as it does to who is waited for. So a timer that is waited for is seen, and load is not.
 */
void th_watch(void);
uint64_t th_watched_ms(void);

/* Two processes */

struct th_child {
	pid_t pid;
	int sock;			/* our end; the child gets the other */
};

/* fork(), for tests: under the address sanitizer when no other thread can have a lock of its own. */
pid_t th_fork(void);
/* Forks; the child runs fn and exits with its result. It dies with its parent. 0 or -errno. */
int th_spawn(struct th_child *child, int (*fn)(int sock, void *arg), void *arg);
/*
 * The IA to open: usual, or in a child one of DAPL_TEST_CHILD_IA, a list with commas. For adapters
 * that serve one process at a time.
 */
const char *th_ia(const char *usual);
void th_is_parent(void);		/* a child that is a test itself, and may have children */
void th_is_child(void);			/* after a fork() that is not th_spawn's */
/*
 * Waits up to ms, then kills. Returns the exit status, 128 + signal when one ended it, or
 * -ETIMEDOUT. Under the leak checker a child that leaks exits with TH_LEAKED.
 */
int th_join(struct th_child *child, unsigned int ms);
void th_kill(struct th_child *child);	/* SIGKILL, and reaped */
#define TH_LEAKED 99

/* Calls before() ahead of each instruction of call(). False where the machine cannot: x86-64 can. */
bool th_step(void (*call)(void), void (*before)(const uint8_t *insn));


/* Exactly len bytes within TH_PEER_MS; 0, -EPIPE when the other side is gone, or -ETIMEDOUT. */
#define TH_PEER_MS 30000
int th_send(int sock, const void *buf, size_t len);
int th_recv(int sock, void *buf, size_t len);
int th_meet(int sock);			/* both sides get here, then both go on; as th_recv */

/* From a constructor: the program is under softnic-run, and starts itself again where it is not. */
void th_again_under_softnic(int argc, char **argv);
void th_again_with(const char *const options[], int argc, char **argv);	/* of softnic-run; NULL ends them */

/*
 * A number below TH_NUMBERS that no other process of the machine gets as long as this one lives, or a
 * child of it. Aborts when all are taken. Sixteen TCP ports go with it, and th_qual() is the first of
 * the sixteen connection qualifiers that have these ports: nobody else listens there, be it another
 * test or a program that lets the provider choose. Scripts stay below 16384.
 */
#define TH_NUMBERS 512u
unsigned int th_number(void);
uint64_t th_qual(void);
unsigned int th_number_fds(void);	/* descriptors that it takes */

/* What this process holds */

struct th_usage {
	unsigned int fds;
	unsigned int threads;
	unsigned int maps;		/* lines of /proc/self/maps */
	size_t rss_kb;			/* without memory that is shared, or a file's */
};
void th_usage(struct th_usage *usage);
/* Lowers RLIMIT_NOFILE so that only n more descriptors can be opened; th_fds_restore undoes it. */
int th_fds_limit(unsigned int n);
void th_fds_restore(void);
/* So much may be locked, whatever was before; -EPERM where only root could raise it to that. */
int th_memlock(size_t bytes);
#define TH_NO_MEMLOCK "RLIMIT_MEMLOCK is lower than the test needs, and only root may raise it"

/* From here on the machine has huge pages for mmap, or none, whatever it has; 0 under the race detector. */
void th_huge_pages(bool some);
unsigned int th_huge_mapped(void);	/* how many there are */

/* Interleavings, by no timing */

/*
 * From here on this thread calls fn before each mutex that it locks, in any library, but not from
 * within fn: another thread can do its step there. NULL ends it. Not under the race detector.
 */
void th_at_locks(void (*fn)(void *arg), void *arg);

/* A step of another thread. */
struct th_aside {
	pthread_t thread;
	void (*fn)(void *arg);
	void *arg;
	pid_t tid;			/* atomic, as is the next */
	bool done, started;
};
/* Starts it, and waits until it has returned (true) or sleeps; at most ms, a guard against hangs. */
bool th_aside(struct th_aside *a, void (*fn)(void *arg), void *arg, unsigned int ms);
void th_aside_end(struct th_aside *a);	/* until it has returned; nothing when it never started */

/* Allocations that fail */

enum th_fail { TH_FAIL_HEAP = 1, TH_FAIL_MMAP = 2, TH_FAIL_ON = 4 };

/*
 * From here to th_fail_stop the n-th (from 1) allocation of these kinds fails, once, in whatever
 * thread and library of this process it happens; with TH_FAIL_ON all that follow it fail, too. n = 0
 * only counts.
 */
void th_fail_start(unsigned int kinds, unsigned long n);
/* How many there were so far. The n-th failed if that is at least n. */
unsigned long th_fail_count(void);
unsigned long th_fail_stop(void);	/* so many were there */

#endif
