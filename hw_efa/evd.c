/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * What stands behind an EVD: a ring of completions that whoever is in the engine has put there, and
 * the descriptors of who sleeps. An EVD of n events has a ring of at least 3n and n + 64.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/hw.h"
#include "hw_efa/lock.h"
#include "hw_efa/ops.h"

#define LEAST_ROOM 64u

static uint32_t ring_size(uint32_t entries)
{
	uint32_t n = entries + (2 * entries > LEAST_ROOM ? 2 * entries : LEAST_ROOM);

	return 1u << (32 - __builtin_clz(n - 1));
}

int efa_cq_create(struct dap_evd *evd, unsigned int entries)
{
	struct efa_evd *q = efa_evd(evd);
	uint32_t size = ring_size(entries);

	*q = (struct efa_evd){ .eng = efa_ia(evd->obj.ia)->eng, .mask = size - 1, .qlen = entries,
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
	efa_take(q->eng);
	for (uint32_t i = q->tail; i != q->head; i++)
		ring[i & (size - 1)] = q->ring[i & q->mask];
	old = q->ring;
	q->ring = ring;
	q->mask = size - 1;
	q->qlen = entries;
	efa_give(q->eng);
	free(old);
	return 0;
}

static void unlink_over(struct efa_engine *eng, struct dap_evd *evd)
{
	struct dap_evd **at = &eng->over;

	while (*at && *at != evd)
		at = &efa_evd(*at)->next_over;
	if (*at)
		*at = efa_evd(evd)->next_over;
}

int efa_cq_destroy(struct dap_evd *evd)
{
	struct efa_evd *q = efa_evd(evd);

	efa_take(q->eng);
	unlink_over(q->eng, evd);
	q->eng->armed -= q->armed;
	q->armed = false;
	efa_give(q->eng);
	if (q->fd >= 0)
		close(q->fd);
	if (q->wake >= 0)
		close(q->wake);
	free(q->ring);
	q->ring = NULL;
	q->eng = NULL;
	return 0;
}

/* ---- full ---- */

/* Told once the engine has been left: that takes locks within which others come here. */
void efa_evd_full(struct dap_evd *evd, const struct efa_done *d)
{
	struct efa_evd *q = efa_evd(evd);
	struct efa_ep *e = efa_ep(d->ep);

	if (d->flags & EFA_DONE_RECEIVE)
		e->rx.free_at++;
	else
		e->tx.free_at++;
	if (q->overflowed)
		return;
	q->overflowed = true;
	q->next_over = q->eng->over;
	q->eng->over = evd;
}

void efa_tell_full(struct efa_engine *eng)
{
	struct dap_evd *evd;

	do {
		efa_take(eng);
		evd = eng->over;
		eng->over = evd ? efa_evd(evd)->next_over : NULL;
		efa_go(eng);
		if (evd)
			dap_evd_overflow(evd);
	} while (evd);
}

/* ---- ready ---- */

void efa_set_ready(struct dap_evd *evd, struct dap_ep *ep, uint32_t what)
{
	struct efa_evd *q = efa_evd(evd);

	q->has |= what;
	q->ready = ep;
	if (q->in_ready)
		return;
	q->in_ready = true;
	q->next_ready = q->eng->ready;
	q->eng->ready = evd;
	q->eng->odd++;
}

void efa_settle(struct efa_engine *eng)
{
	while (eng->ready) {
		struct efa_evd *q = efa_evd(eng->ready);
		uint32_t has = q->has;

		eng->ready = q->next_ready;
		eng->odd--;
		q->in_ready = false;
		q->has &= EFA_HAS_RING;
		if (has & EFA_HAS_MESSAGE)
			efa_rx_settle(q->ready);
		if (has & EFA_HAS_REQUEST)
			efa_catch_up(q->ready);
		if (has & ~(uint32_t)EFA_HAS_RING && efa_ep(q->ready)->tx.blocked & EFA_B_QUEUE)
			efa_push(q->ready);
	}
}

/* ---- taking ---- */

void efa_event(const struct efa_done *d, struct dap_event *ev)
{
	*ev = (struct dap_event){ .unsignalled = (d->flags & EFA_DONE_UNSIGNALLED) != 0 };
	if (d->flags & EFA_DONE_BIND) {
		ev->number = DAP_EV_RMR_BIND;
		ev->bind.rmr = d->rmr;
		ev->bind.cookie = d->cookie;
		ev->bind.status = d->status && d->status != DAP_DTO_FLUSHED ?
				  DAP_RMR_OPERATION_FAILED : d->status;
		return;
	}
	ev->number = DAP_EV_DTO;
	ev->receive = d->flags & EFA_DONE_RECEIVE && !d->status;
	ev->dto.ep = d->ep;
	ev->dto.cookie = d->cookie;
	ev->dto.length = d->bytes;
	ev->dto.status = d->status;
	ev->dto.op = d->op;
}

bool efa_evd_take(struct dap_evd *evd, struct efa_done *d)
{
	struct efa_evd *q = efa_evd(evd);

	if (q->head == q->tail)
		return false;
	*d = q->ring[q->tail & q->mask];
	efa_took(q);
	if (d->flags & EFA_DONE_RECEIVE)
		efa_ep(d->ep)->rx.free_at++;
	else
		efa_ep(d->ep)->tx.free_at++;
	return true;
}

#define LOOKS 256u			/* completions of others before ours counts as absent */

bool efa_cq_poll(struct dap_evd *evd, struct dap_event *ev)
{
	struct efa_engine *eng = efa_evd(evd)->eng;
	struct efa_done d;
	bool got;

	efa_take(eng);
	got = efa_evd_take(evd, &d);
	if (!got) {
		efa_pump(eng);
		for (unsigned int i = 0; i < LOOKS && efa_evd(evd)->head == efa_evd(evd)->tail; i++)
			if (!efa_drain(eng, 1))
				break;
		got = efa_evd_take(evd, &d);
	}
	efa_give(eng);
	if (got)
		efa_event(&d, ev);
	return got;
}

void efa_evd_purge(struct dap_evd *evd, const struct dap_ep *ep)
{
	struct efa_evd *q = efa_evd(evd);
	uint32_t keep = q->tail;

	for (uint32_t i = q->tail; i != q->head; i++)
		if (q->ring[i & q->mask].ep != ep)
			q->ring[keep++ & q->mask] = q->ring[i & q->mask];
	q->head = keep;
	q->has = q->head != q->tail ? EFA_HAS_RING : 0;
}

/* ---- sleeping ---- */

void efa_evd_wake(struct dap_evd *evd)
{
	struct efa_evd *q = efa_evd(evd);
	const uint64_t one = 1;
	ssize_t n;

	q->armed = false;
	q->eng->armed--;
	n = write(q->wake, &one, sizeof(one));
	(void)n;
}

static int watch(int epoll, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/* Made when somebody first waits: ours wakes who is told by another, the device's who polls. */
int efa_cq_fd(struct dap_evd *evd)
{
	struct efa_evd *q = efa_evd(evd);
	struct efa_ctl *ctl = q->eng->ctl;
	int dev = ctl->ops->cq_fd(ctl, &q->eng->res), fd, wake, err;

	if (q->fd >= 0)
		return q->fd;
	fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0)
		return -errno;
	wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = wake < 0 ? -errno : watch(fd, wake);
	if (!err && dev >= 0)
		err = watch(fd, dev);
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

static void arm_device(struct efa_engine *eng)
{
	if (eng->ctl->ops->cq_arm(eng->ctl, &eng->res, efa_cq_index(&eng->cq[0])))
		efa_tick_want(eng);
}

int efa_cq_arm(struct dap_evd *evd, bool solicited_only)
{
	struct efa_evd *q = efa_evd(evd);
	int fd = efa_cq_fd(evd);

	(void)solicited_only;		/* core looks at each event's own flags */
	if (fd < 0)
		return fd;
	efa_take(q->eng);
	q->eng->armed += !q->armed;
	q->armed = true;
	if (q->head != q->tail)
		efa_evd_wake(evd);
	arm_device(q->eng);
	efa_give(q->eng);
	return 0;
}

/* The device's word is for all who sleep: it is armed again for those that are not awake yet. */
void efa_cq_drain_fd(struct dap_evd *evd)
{
	struct efa_evd *q = efa_evd(evd);
	uint64_t n;
	ssize_t got = q->wake < 0 ? 0 : read(q->wake, &n, sizeof(n));

	(void)got;
	q->eng->ctl->ops->cq_drain(q->eng->ctl, &q->eng->res);
	efa_take(q->eng);
	arm_device(q->eng);
	efa_drain(q->eng, LOOKS);
	efa_give(q->eng);
}

void efa_cq_settle(struct dap_evd *evd)
{
	efa_take(efa_evd(evd)->eng);
	efa_give(efa_evd(evd)->eng);
}

void efa_ring_taken(struct efa_engine *eng)
{
	unsigned int sn = __atomic_load_n(&eng->res.cmd_sn, __ATOMIC_ACQUIRE);
	uint16_t taken = (uint16_t)efa_cq_index(&eng->cq[0]);

	eng->cq[0].due = false;
	if (eng->res.ring[0].doorbell)
		dap_store_dbrec(eng->res.ring[0].doorbell,
				htole32(efa_cq_doorbell(taken, sn, false)));
}
