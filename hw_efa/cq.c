/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Entry points for an EVD: its ring of completions (evd.c) and the file descriptors of waiting
 * threads. The ring of an EVD of n events has at least 3n and at least n + 64 entries.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hw_efa/lock.h"
#include "hw_efa/ops.h"

#define LEAST_ROOM 64u

static uint32_t ring_size(uint32_t entries)
{
	return efa_pow2_up(entries + (2 * entries > LEAST_ROOM ? 2 * entries : LEAST_ROOM));
}

int efa_cq_create(struct dap_evd *evd, unsigned int entries)
{
	struct efa_evd *q = efa_evd(evd);
	uint32_t size = ring_size(entries);

	*q = (struct efa_evd){ .eng = efa_ia(evd->obj.ia)->eng, .mask = size - 1,
			       .wake = -1, .fd = -1 };
	q->ring = calloc(size, sizeof(*q->ring));
	return q->ring ? 0 : -ENOMEM;
}

int efa_cq_resize(struct dap_evd *evd, unsigned int entries)
{
	struct efa_evd *q = efa_evd(evd);
	uint32_t size = ring_size(entries);
	struct efa_done *ring, *old;

	if (size <= q->mask + 1)
		return 0;
	ring = calloc(size, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	efa_enter(q->eng);
	for (uint32_t i = q->tail; i != q->head; i++)
		ring[i & (size - 1)] = q->ring[i & q->mask];
	old = q->ring;
	q->ring = ring;
	q->mask = size - 1;
	efa_go(q->eng);
	free(old);
	return 0;
}

int efa_cq_destroy(struct dap_evd *evd)
{
	struct efa_evd *q = efa_evd(evd);

	efa_enter(q->eng);
	q->eng->armed -= q->armed;
	q->armed = q->overflowed = false;
	efa_leave(q->eng);
	if (q->fd >= 0) {
		close(q->fd);
		close(q->wake);
	}
	free(q->ring);
	q->ring = NULL;
	q->eng = NULL;
	return 0;
}

static bool dequeue_done(struct dap_evd *evd, struct efa_done *d)
{
	struct efa_evd *q = efa_evd(evd);

	if (q->head == q->tail)
		return false;
	*d = q->ring[q->tail++ & q->mask];
	efa_done_dequeued(d->ep, d->receive);
	return true;
}

bool efa_cq_poll(struct dap_evd *evd, struct dap_event *ev)
{
	struct efa_engine *eng = efa_evd(evd)->eng;
	struct efa_done d;
	bool got;

	efa_enter(eng);
	got = dequeue_done(evd, &d);
	if (!got) {
		efa_poll_cq(eng);
		got = dequeue_done(evd, &d);
	}
	efa_leave(eng);
	if (got)
		efa_event(&d, ev);
	return got;
}

/* ---- Descriptors of waiting threads ---- */

static int watch_fd(int epoll, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/*
 * The first wait creates the epoll set. The device's fd wakes the waiter if the CQ has a completion,
 * and the eventfd if another thread has put one into the ring.
 */
int efa_cq_fd(struct dap_evd *evd)
{
	struct efa_evd *q = efa_evd(evd);
	int dev = q->eng->res.fd, fd, wake, err;

	if (q->fd >= 0)
		return q->fd;
	fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0)
		return -errno;
	wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = wake < 0 ? -errno : watch_fd(fd, wake);
	if (!err && dev >= 0)
		err = watch_fd(fd, dev);
	if (err) {
		close(fd);
		if (wake >= 0)
			close(wake);
		return err;
	}
	q->wake = wake;
	q->fd = fd;
	return fd;
}

int efa_cq_arm(struct dap_evd *evd, bool solicited_only)
{
	struct efa_evd *q = efa_evd(evd);
	int fd = efa_cq_fd(evd);

	(void)solicited_only;		/* core tests the flags of each event */
	if (fd < 0)
		return fd;
	efa_enter(q->eng);
	q->eng->armed += !q->armed;
	q->armed = true;
	if (q->head != q->tail)
		efa_evd_wake(evd);
	efa_arm_device(q->eng);
	efa_leave(q->eng);
	return 0;
}

/* Otherwise the tick would poll for a waiter that has gone (efa_tick_polls). */
void efa_cq_disarm(struct dap_evd *evd)
{
	struct efa_evd *q = efa_evd(evd);

	efa_enter(q->eng);
	q->eng->armed -= q->armed;
	q->armed = false;
	efa_go(q->eng);
}

/*
 * An event of the device wakes the waiters of all EVDs, so the CQ is armed again for the other
 * waiters. If the device is gone, other threads still put flushed completions into the ring.
 */
bool efa_cq_drain_fd(struct dap_evd *evd)
{
	struct efa_evd *q = efa_evd(evd);
	eventfd_t n;

	eventfd_read(q->wake, &n);
	if (q->eng->ctl->ops->cq_drain(q->eng->ctl, &q->eng->res))
		epoll_ctl(q->fd, EPOLL_CTL_DEL, q->eng->res.fd, NULL);
	efa_enter(q->eng);
	q->eng->fruitless++;
	efa_arm_device(q->eng);
	efa_drain(q->eng);
	efa_leave(q->eng);
	return false;
}

void efa_cq_settle(struct dap_evd *evd)
{
	efa_enter(efa_evd(evd)->eng);
	efa_leave(efa_evd(evd)->eng);
}
