/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the suites: a second process, a limit against hangs, counters that show leaks, and
 * allocations that fail on demand. Depends on neither DAT nor Criterion, so the thread programs of
 * tests/tsan use it too.
 */
#ifndef TEST_HARNESS_H
#define TEST_HARNESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Time */

uint64_t th_now_ms(void);		/* monotonic time in ms */
void th_sleep_ms(unsigned int ms);

/*
 * Evaluates to true as soon as cond is true, and to false after ms milliseconds: a limit against hangs,
 * never a measurement. Yields between checks, since the machine may have one core for both sides; in a
 * long wait it sleeps, since other tests want the core.
 */
#define TH_WITHIN(ms, cond)                                                                        \
	({                                                                                         \
		uint64_t th_end = th_now_ms() + (ms);                                              \
		unsigned int th_turn = 0;                                                          \
		bool th_ok;                                                                        \
		while (!(th_ok = (cond)) && th_now_ms() < th_end)                                  \
			th_pause(th_turn++);                                                       \
		th_ok;                                                                             \
	})
void th_yield(void);
void th_pause(unsigned int turn);	/* between the checks of a wait, which are counted from 0 */

/* Is this program built with the address sanitizer? */
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
 * Waits until the thread of this process whose id is stored in *tid sleeps, in the call that it was
 * about to make. False after ms milliseconds.
 */
bool th_asleep(const pid_t *tid, unsigned int ms);
/* Is this thread of this process asleep? */
bool th_sleeps(pid_t tid);
bool th_goes_on_sleeping(pid_t tid);	/* is this thread asleep at each of several checks? */
bool th_others_sleep(void);

/*
 * Measures time without the machine's load: the CPU time that an otherwise idle thread got between
 * th_watch() and th_watched_ms(). A busy machine gives it less, as it does to the thread that is waited
 * for. So the test notices a timer that is waited for, but not the load.
 */
void th_watch(void);
uint64_t th_watched_ms(void);

/* Two processes */

struct th_child {
	pid_t pid;
	int sock;			/* the parent's socket; the child has the other one */
};

/* fork() for tests: with the address sanitizer, when no other thread can hold one of its locks. */
pid_t th_fork(void);
/*
 * Forks; the child runs fn and exits with its result. It dies with its parent. Returns 0 or -errno.
 */
int th_spawn(struct th_child *child, int (*fn)(int sock, void *arg), void *arg);
/*
 * Returns the IA to open: usual, or in a child one of DAPL_TEST_CHILD_IA, a list separated by
 * commas. For adapters that serve one process at a time.
 */
const char *th_ia(const char *usual);
/* to be called by a child that acts as a test itself and may have children */
void th_is_parent(void);
void th_is_child(void);			/* to be called after a fork() without th_spawn */
/*
 * Waits for the child up to ms milliseconds, then kills it. Returns its exit status, 128 + signal if a
 * signal killed it, or -ETIMEDOUT. With the leak checker, a child that leaks exits with TH_LEAKED.
 */
int th_join(struct th_child *child, unsigned int ms);
void th_kill(struct th_child *child);	/* kills the child by SIGKILL, and waits for it */
#define TH_LEAKED 99

/*
 * Makes the call, and runs before() ahead of each of its instructions. False: the machine does not
 * support that (x86-64 does).
 */
bool th_step(void (*call)(void), void (*before)(const uint8_t *insn));
/*
 * Calls act() in a thread whose cancellation is pending. True: act() was no cancellation point, and the
 * thread ended after it.
 */
bool th_cancelled(void (*act)(void));


/* These functions transfer exactly len bytes within TH_PEER_MS. They return 0, -EPIPE if the other side
 * is gone, or -ETIMEDOUT. */
#define TH_PEER_MS 30000
int th_send(int sock, const void *buf, size_t len);
int th_recv(int sock, void *buf, size_t len);
/* waits until both processes have called it; returns the same values as th_recv */
int th_meet(int sock);

/* Called by a constructor: restarts the program under softnic-run, unless it runs there already. */
void th_again_under_softnic(int argc, char **argv);
/* restarts the program under softnic-run with options, which NULL ends */
void th_again_with(const char *const options[], int argc, char **argv);
/* softnic_fault on an adapter of softnic-run that this process has open */
int th_front_fault(unsigned int index, const char *script);

/*
 * A number below TH_NUMBERS that no other process of the machine gets while this one or a child of it
 * lives. Aborts if all are taken. Sixteen TCP ports belong to it; th_qual() is the first of the sixteen
 * connection qualifiers with these ports. No other test listens there, nor a program that lets the
 * provider choose. Scripts stay below 16384.
 */
#define TH_NUMBERS 512u
unsigned int th_number(void);
uint64_t th_qual(void);
/* Returns why a test cannot use ::1. NULL: this machine has IPv6. */
const char *th_no_ipv6(void);
unsigned int th_number_fds(void);	/* number of descriptors that the number uses */

/* Resources of this process */

struct th_usage {
	unsigned int fds;
	unsigned int threads;
	unsigned int maps;		/* lines of /proc/self/maps */
	/* resident memory in KiB, without shared memory and memory of files */
	size_t rss_kb;
};
void th_usage(struct th_usage *usage);
/* Lowers RLIMIT_NOFILE so that only n more descriptors can be opened; th_fds_restore undoes it. */
int th_fds_limit(unsigned int n);
void th_fds_restore(void);
/* Sets the limit of locked memory. -EPERM: only root may raise the limit to this value. */
int th_memlock(size_t bytes);
#define TH_NO_MEMLOCK "RLIMIT_MEMLOCK is lower than the test needs, and only root may raise it"
/* Removes CAP_NET_RAW, which root has, from this thread. Returns 0 or -errno. */
int th_drop_net_raw(void);

/*
 * Lets mmap behave as on a machine with huge pages, or without them. Returns 0 with the race detector.
 */
void th_huge_pages(bool some);
unsigned int th_huge_mapped(void);	/* returns how many huge pages are mapped */

/* Interleavings, by no timing */

/*
 * From here on this thread calls fn before it locks a mutex, in any library, but not inside fn. So
 * another thread can do its step there. NULL ends this. It has no effect with the race detector.
 */
void th_at_locks(void (*fn)(void *arg), void *arg);

/* One step of another thread. */
struct th_aside {
	pthread_t thread;
	void (*fn)(void *arg);
	void *arg;
	pid_t tid;			/* atomic, as is the next field */
	bool done, started;
};
/* Starts the thread, and waits until its function has returned (true) or until it sleeps. The wait ends
 * after ms at the latest, against hangs. */
bool th_aside(struct th_aside *a, void (*fn)(void *arg), void *arg, unsigned int ms);
/* waits until the function has returned; has no effect if it never started */
void th_aside_end(struct th_aside *a);

/* Allocations that fail */

enum th_fail { TH_FAIL_HEAP = 1, TH_FAIL_MMAP = 2, TH_FAIL_ON = 4, TH_FAIL_MINE = 8 };

/*
 * From here to th_fail_stop the n-th (from 1) allocation of these kinds fails, once, in any thread and
 * library of this process; with TH_FAIL_ON all later ones fail, too, and with TH_FAIL_MINE only those of this
 * thread count. n = 0 only counts.
 */
void th_fail_start(unsigned int kinds, unsigned long n);
/* Returns the number of allocations so far. The n-th one has failed if the number is at least n. */
unsigned long th_fail_count(void);
unsigned long th_fail_stop(void);	/* ends this, and returns the number */

#endif
