/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which thread reads the muxes. A consumer that waits or polls for connection events reads them
 * itself, which saves two thread switches. Meanwhile the manager's thread does not read them. Once
 * per tick it checks that consumers still poll, and takes over when none did. One of the waiters
 * sleeps on the muxes' epoll descriptor.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/cm/private.h"

#define TICK_US 1000
#define AT_ONCE 16

/* ---- The manager's thread ---- */

static void muxes_ready(struct cm_item *item, uint32_t events);
static struct cm_item muxes_item = { .ready = muxes_ready };

static void set_thread_reads(bool reads)
{
	__atomic_store_n(&cm_loop.driven, !reads, __ATOMIC_RELAXED);
	cm_poll_change(cm_loop.mux_fd, reads ? EPOLLIN : 0, &muxes_item);
}

static bool read_muxes(void)
{
	struct epoll_event ev[AT_ONCE];
	int n = epoll_wait(cm_loop.mux_fd, ev, AT_ONCE, 0);
	bool worked = false;

	for (int i = 0; i < n; i++) {
		struct cm_mux *mux = ev[i].data.ptr;

		if (ev[i].events & EPOLLOUT && mux->fd >= 0)
			cm_mux_flush(mux);
		if (ev[i].events & ~(uint32_t)EPOLLOUT)
			worked |= cm_mux_read(mux);
	}
	return worked;
}

static void muxes_ready(struct cm_item *item, uint32_t events)
{
	(void)item;
	(void)events;
	if (!cm_loop.driven)
		read_muxes();
}

static void start_ticking(void)
{
	if (cm_loop.ticking)
		return;
	cm_loop.ticking = true;
	cm_timer_set(&cm_loop.tick, TICK_US);
}

static void on_tick(void *arg)
{
	(void)arg;
	cm_loop.ticking = false;
	if (!cm_loop.driven || cm_loop.waiter)
		return;
	if (cm_loop.seen == cm_loop.polls) {
		set_thread_reads(true);
		return;
	}
	cm_loop.seen = cm_loop.polls;
	start_ticking();
}

int cm_drive_start(void)
{
	int err;

	cm_loop.mux_fd = epoll_create1(EPOLL_CLOEXEC);
	if (cm_loop.mux_fd < 0)
		return -errno;
	cm_loop.driven = cm_loop.ticking = cm_loop.waiter = false;
	cm_loop.other_waiters = 0;
	cm_loop.tick = (struct dap_timer){ .fn = on_tick, .inside = true };
	err = cm_poll_add(cm_loop.mux_fd, EPOLLIN, &muxes_item);
	if (err)
		cm_drive_stop();
	return err;
}

void cm_drive_stop(void)
{
	cm_timer_clear(&cm_loop.tick);
	close(cm_loop.mux_fd);
	cm_loop.mux_fd = -1;
}

/* ---- Consumers ---- */

static void note_poll(void)
{
	cm_loop.polls++;
	if (!cm_loop.driven)
		set_thread_reads(false);
	if (!cm_loop.waiter)
		start_ticking();
}

bool dap_cm_drive(struct dap_cm *cm)
{
	bool worked = false;
	int state;

	if (!__atomic_load_n(&cm_loop.n_muxes, __ATOMIC_RELAXED) ||
	    pthread_mutex_trylock(&cm_loop.lock))
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (cm->generation == cm_loop.generation && cm_turn_begin(true)) {
		note_poll();
		worked = read_muxes();
		cm_turn_end();
	}
	pthread_mutex_unlock(&cm_loop.lock);
	pthread_setcancelstate(state, NULL);
	return worked;
}

int dap_cm_sleep_begin(struct dap_cm *cm)
{
	int fd = -1;

	if (!cm_enter(cm->generation))
		return -1;
	if (cm_loop.waiter) {
		cm_loop.other_waiters++;
	} else {
		cm_loop.waiter = true;
		note_poll();
		fd = cm_loop.mux_fd;
	}
	cm_leave();
	return fd;
}

/* The other waiters need messages of the muxes, too, so the manager's thread reads the muxes until
 * a waiter polls. */
void dap_cm_sleep_end(struct dap_cm *cm, int fd)
{
	if (!cm_enter(cm->generation))
		return;
	if (fd < 0) {
		cm_loop.other_waiters--;
	} else {
		cm_loop.waiter = false;
		if (cm_loop.other_waiters)
			set_thread_reads(true);
		else
			note_poll();
	}
	cm_leave();
}
