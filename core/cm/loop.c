/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection manager's thread: epoll, timers, callbacks. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/barrier.h"
#include "core/clock.h"
#include "core/cm/loop.h"
#include "core/thread.h"

#define LOCK_LOOKS 64
#define LOCK_PAUSES 8
#define SPIN_US 50

struct cm_loop cm_loop = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.returned = PTHREAD_COND_INITIALIZER,
	.epfd = -1,
	.timerfd = -1,
	.mux_fd = -1,
	.dirty = TAILQ_HEAD_INITIALIZER(cm_loop.dirty),
	.half_open = TAILQ_HEAD_INITIALIZER(cm_loop.half_open),
};

struct cm_limits cm_limits = {
	.half_open = 1024,
	.half_open_source = 256,
	.idle_muxes = 1024,
	.request_us = 10 * 1000000,
	.answer_us = 10 * 1000000,
	.linger_us = 2 * 1000000,
	.young_us = 1000000,
	.pause_us = 50 * 1000,
	.idle_us = 1000000,
};

uint64_t cm_now(void)
{
	return dap_now_ns() / 1000;
}

/* The lock is held for a few system calls at most, so spinning is cheaper than a sleep and a
 * wake-up. */
static void lock_loop(void)
{
	for (int i = 0; i < LOCK_LOOKS; i++) {
		if (!pthread_mutex_trylock(&cm_loop.lock))
			return;
		for (int k = 0; k < LOCK_PAUSES; k++)
			dap_pause();
	}
	pthread_mutex_lock(&cm_loop.lock);
}

/* Many system calls below are cancellation points. A thread that ended in one would keep the lock. */
bool cm_enter(unsigned int generation)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	lock_loop();
	if (generation == cm_loop.generation) {
		cm_loop.cancel = cancel;
		return true;
	}
	pthread_mutex_unlock(&cm_loop.lock);
	pthread_setcancelstate(cancel, NULL);
	return false;
}

static void free_all(struct cm_item **items)
{
	while (*items) {
		struct cm_item *item = *items;

		*items = item->next_dead;
		free(item);
	}
}

void cm_leave(void)
{
	int cancel = cm_loop.cancel;

	if (!cm_loop.owned)
		free_all(&cm_loop.free_at_turn_end);
	pthread_mutex_unlock(&cm_loop.lock);
	pthread_setcancelstate(cancel, NULL);
}

bool cm_turn_begin(bool try)
{
	while (cm_loop.owned) {
		if (try)
			return false;
		pthread_cond_wait(&cm_loop.returned, &cm_loop.lock);
	}
	cm_loop.owned = true;
	cm_loop.owner = pthread_self();
	return true;
}

void cm_turn_end(void)
{
	cm_loop.turn_ends();
	free_all(&cm_loop.free_at_turn_end);
	cm_loop.owned = false;
	pthread_cond_broadcast(&cm_loop.returned);
}

void cm_call_begin(void)
{
	cm_loop.calling = true;
	pthread_mutex_unlock(&cm_loop.lock);
}

void cm_call_end(void)
{
	lock_loop();
	cm_loop.calling = false;
	cm_loop.calls++;
	pthread_cond_broadcast(&cm_loop.returned);
}

void dap_cm_sync(struct dap_cm *cm)
{
	uint64_t calls;
	int cancel;

	if (!cm_enter(cm->generation))
		return;
	calls = cm_loop.calls;
	cancel = cm_loop.cancel;
	if (!cm_loop.owned || !pthread_equal(pthread_self(), cm_loop.owner)) {
		while (cm_loop.calling && cm_loop.calls == calls)
			pthread_cond_wait(&cm_loop.returned, &cm_loop.lock);
	}
	cm_loop.cancel = cancel;
	cm_leave();
}

/* ---- Descriptors ---- */

int cm_poll_add(int fd, uint32_t events, struct cm_item *item)
{
	struct epoll_event ev = { .events = events, .data.ptr = item };

	return epoll_ctl(cm_loop.epfd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

void cm_poll_change(int fd, uint32_t events, struct cm_item *item)
{
	struct epoll_event ev = { .events = events, .data.ptr = item };

	epoll_ctl(cm_loop.epfd, EPOLL_CTL_MOD, fd, &ev);
}

void cm_close_fd(int *fd, bool reset)
{
	struct linger hard = { .l_onoff = 1, .l_linger = 0 };

	if (*fd < 0)
		return;
	if (reset)
		setsockopt(*fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	epoll_ctl(cm_loop.epfd, EPOLL_CTL_DEL, *fd, NULL);
	close(*fd);
	*fd = -1;
}

/* If the timer is cleared meanwhile, one early wake-up costs less than setting the timerfd
 * again. */
static void wake_at(uint64_t due)
{
	struct itimerspec when = {
		.it_value = { (time_t)(due / 1000000), (long)(due % 1000000) * 1000 }
	};

	if (due >= cm_loop.wakes)
		return;
	cm_loop.wakes = due;
	timerfd_settime(cm_loop.timerfd, TFD_TIMER_ABSTIME, &when, NULL);
}

void cm_free_later(struct cm_item *item)
{
	if (!cm_loop.free_later && !pthread_equal(pthread_self(), cm_loop.thread))
		wake_at(1);
	item->next_dead = cm_loop.free_later;
	cm_loop.free_later = item;
}

void cm_free_at_turn_end(struct cm_item *item)
{
	item->next_dead = cm_loop.free_at_turn_end;
	cm_loop.free_at_turn_end = item;
}

/* ---- Timers ---- */

void cm_timer_clear(struct dap_timer *t)
{
	if (t->set)
		cm_loop.timers = cm_heap_remove(cm_loop.timers, t);
	t->set = false;
}

void cm_timer_set(struct dap_timer *t, uint64_t delay_us)
{
	cm_timer_clear(t);
	if (t->closed)
		return;
	t->due = cm_now() + delay_us;
	t->set = true;
	cm_loop.timers = cm_heap_add(cm_loop.timers, t);
	if (cm_loop.timers == t)
		wake_at(t->due);
}

void dap_cm_timer(struct dap_cm *cm, struct dap_timer *t, uint64_t delay_us)
{
	if (!cm_enter(cm->generation))
		return;
	cm_timer_set(t, delay_us);
	cm_leave();
}

void dap_cm_timer_close(struct dap_cm *cm, struct dap_timer *t)
{
	if (!cm_enter(cm->generation))
		return;
	cm_timer_clear(t);
	t->closed = true;
	cm_leave();
	dap_cm_sync(cm);
}

/* Runs the timers due now. A timer set again with no delay waits for the next round, after the
 * sockets. */
static void run_timers(void)
{
	uint64_t now = cm_now();

	while (cm_loop.timers && cm_loop.timers->due <= now) {
		struct dap_timer *t = cm_loop.timers;
		void (*fn)(void *) = t->fn;
		void *arg = t->arg;
		bool inside = t->inside;

		cm_timer_clear(t);
		if (!inside)
			cm_call_begin();
		fn(arg);
		if (!inside)
			cm_call_end();
	}
}

static void timer_ready(struct cm_item *item, uint32_t events)
{
	uint64_t n;
	ssize_t got = read(cm_loop.timerfd, &n, sizeof(n));

	(void)item;
	(void)events;
	(void)got;
	cm_loop.wakes = UINT64_MAX;
	run_timers();
	if (cm_loop.timers)
		wake_at(cm_loop.timers->due);
}

/* ---- The thread ---- */

static struct cm_item timer_item = { .ready = timer_ready };

/* Answers usually follow soon, so it polls for a while after the last event before it sleeps. */
static int next_events(struct epoll_event *ev, int most)
{
	uint64_t end = cm_now() + SPIN_US;
	int n;

	do {
		n = epoll_wait(cm_loop.epfd, ev, most, 0);
		if (n)
			return n;
		sched_yield();
	} while (!__atomic_load_n(&cm_loop.driven, __ATOMIC_RELAXED) && cm_now() < end);
	return epoll_wait(cm_loop.epfd, ev, most, -1);
}

static void *loop_main(void *arg)
{
	struct epoll_event ev[64];

	while (true) {
		int n = next_events(ev, 64);

		lock_loop();
		cm_turn_begin(false);
		for (int i = 0; i < n; i++) {
			struct cm_item *item = ev[i].data.ptr;

			item->ready(item, ev[i].events);
		}
		cm_turn_end();
		free_all(&cm_loop.free_later);
		if (cm_loop.stop)
			break;
		pthread_mutex_unlock(&cm_loop.lock);
	}
	pthread_mutex_unlock(&cm_loop.lock);
	return arg;
}

int cm_loop_run(void)
{
	return -dap_thread_start(&cm_loop.thread, "dapl-cm", loop_main, NULL);
}

int cm_loop_open(void)
{
	int err;

	cm_loop.stop = false;
	cm_loop.n_ids = 0;		/* a forked child may have inherited unused ids; it draws its own */
	cm_loop.wakes = UINT64_MAX;
	cm_loop.epfd = epoll_create1(EPOLL_CLOEXEC);
	if (cm_loop.epfd < 0)
		return -errno;
	cm_loop.timerfd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	err = cm_loop.timerfd < 0 ? -errno : cm_poll_add(cm_loop.timerfd, EPOLLIN, &timer_item);
	if (err)
		cm_loop_close();
	return err;
}

void cm_loop_join(void)
{
	cm_loop.stop = true;
	wake_at(1);
	pthread_mutex_unlock(&cm_loop.lock);
	pthread_join(cm_loop.thread, NULL);
	pthread_mutex_lock(&cm_loop.lock);
}

void cm_loop_close(void)
{
	free_all(&cm_loop.free_later);
	if (cm_loop.timerfd >= 0)
		close(cm_loop.timerfd);
	close(cm_loop.epfd);
	cm_loop.timerfd = -1;
	cm_loop.epfd = -1;
}
