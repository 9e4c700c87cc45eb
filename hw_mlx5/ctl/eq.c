/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/barrier.h"
#include "core/thread.h"
#include "hw_mlx5/ctl/eq.h"

int m5_events_open(struct m5_events *events)
{
	*events = (struct m5_events){ .async_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
				      .async_room = M5_ASYNC_FIRST };
	if (events->async_fd < 0)
		return -EMFILE;
	pthread_mutex_init(&events->lock, NULL);
	return 0;
}

void m5_events_close(struct m5_events *events)
{
	close(events->async_fd);
	free(events->more);
	pthread_mutex_destroy(&events->lock);
}

static struct m5_event *event_at(struct m5_events *events, unsigned int i)
{
	return (events->more ? events->more : events->first) + i % events->async_room;
}

/* Doubles the ring if it may grow, and there is memory. */
static bool grow(struct m5_events *events)
{
	unsigned int room = 2 * events->async_room;
	struct m5_event *ring = room <= M5_ASYNC_MOST ? calloc(room, sizeof(*ring)) : NULL;

	if (!ring)
		return false;
	for (unsigned int i = events->async_tail; i != events->async_head; i++)
		ring[i % room] = *event_at(events, i);
	free(events->more);
	events->more = ring;
	events->async_room = room;
	return true;
}

/*
 * If many connections end at once, each causes one or more events, and the thread that reads events is
 * the one that ends the connections. If the ring is full and cannot grow, the oldest event is dropped:
 * the report of a dying device must get through.
 */
void m5_events_put(struct m5_events *events, const struct m5_event *ev)
{
	pthread_mutex_lock(&events->lock);
	if (events->async_head - events->async_tail == events->async_room && !grow(events)) {
		events->async_tail++;
		events->lost = true;
	}
	*event_at(events, events->async_head++) = *ev;
	pthread_mutex_unlock(&events->lock);
	dap_thread_signal(events->async_fd);
}

int m5_events_read(struct m5_events *events, struct m5_event *ev)
{
	uint64_t n;
	int found = 0;

	pthread_mutex_lock(&events->lock);
	if (events->lost) {
		*ev = (struct m5_event){ .kind = M5_EVENT_LOST };
		events->lost = false;
		found = 1;
	} else if (events->async_tail == events->async_head) {
		(void)syscall(SYS_read, events->async_fd, &n, sizeof(n));
	} else {
		*ev = *event_at(events, events->async_tail++);
		found = 1;
	}
	pthread_mutex_unlock(&events->lock);
	return found;
}

static bool is_of(const struct m5_event *ev, uint16_t create, uint32_t number)
{
	static const uint16_t creates[] = {
		[M5_EVENT_QP] = M5_CMD_CREATE_QP, [M5_EVENT_CQ_ERROR] = M5_CMD_CREATE_CQ,
		[M5_EVENT_SRQ_LIMIT] = M5_CMD_CREATE_RMP, [M5_EVENT_SRQ_ERROR] = M5_CMD_CREATE_RMP,
	};

	return ev->kind < sizeof(creates) / sizeof(creates[0]) && creates[ev->kind] == create &&
	       ev->number == number;
}

void m5_events_forget(struct m5_events *events, uint16_t create, uint32_t number)
{
	unsigned int end;

	pthread_mutex_lock(&events->lock);
	end = events->async_tail;
	for (unsigned int i = end; i != events->async_head; i++)
		if (!is_of(event_at(events, i), create, number))
			*event_at(events, end++) = *event_at(events, i);
	events->async_head = end;
	pthread_mutex_unlock(&events->lock);
}

static void take_out(struct m5_events *events, struct m5_cq_link *cq)
{
	struct m5_cq_link **p = &events->cqs[cq->cqn % M5_CQ_BUCKETS];

	while (*p && *p != cq)
		p = &(*p)->next;
	if (*p)
		*p = cq->next;
}

void m5_events_bind(struct m5_events *events, struct m5_cq_link *cq, uint32_t cqn,
		    const struct m5_evch *ch)
{
	struct m5_cq_link **bucket = &events->cqs[cqn % M5_CQ_BUCKETS];

	pthread_mutex_lock(&events->lock);
	take_out(events, cq);
	*cq = (struct m5_cq_link){ .cqn = cqn, .fd = ch->fd, .next = *bucket };
	*bucket = cq;
	pthread_mutex_unlock(&events->lock);
}

void m5_events_unbind(struct m5_events *events, struct m5_cq_link *cq)
{
	pthread_mutex_lock(&events->lock);
	take_out(events, cq);
	pthread_mutex_unlock(&events->lock);
}

int m5_evch_open(struct m5_ctl *ctl, struct m5_evch **ch)
{
	struct m5_evch *new = calloc(1, sizeof(*new));

	if (!new)
		return -ENOMEM;
	new->ctl = ctl;
	new->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (new->fd < 0) {
		free(new);
		return -EMFILE;
	}
	*ch = new;
	return 0;
}

void m5_evch_close(struct m5_evch *ch)
{
	close(ch->fd);
	free(ch);
}

int m5_evch_fd(struct m5_evch *ch)
{
	return ch->fd;
}

int m5_evch_drain(struct m5_evch *ch)
{
	uint64_t n = 0;

	if (read(ch->fd, &n, sizeof(n)) != sizeof(n))
		return 0;
	return (int)n;
}

static void completion(struct m5_events *events, uint32_t cqn)
{
	pthread_mutex_lock(&events->lock);
	for (struct m5_cq_link *cq = events->cqs[cqn % M5_CQ_BUCKETS]; cq; cq = cq->next)
		if (cq->cqn == cqn)
			dap_thread_signal(cq->fd);
	pthread_mutex_unlock(&events->lock);
}

static void dispatch(struct m5_events *events, const struct m5_eqe *e)
{
	struct m5_event ev;

	if (e->type == M5_EV_COMPLETION) {
		completion(events, be32_to_cpu(e->data[6]) & 0xffffff);
		return;
	}
	m5_eqe_event(e, &ev);
	m5_events_put(events, &ev);
}

void m5_eq_init(struct m5_eq *eq)
{
	for (uint32_t i = 0; i < 1u << eq->log; i++)
		eq->ring[i].owner = 1;
}

static struct m5_eqe *entry_at(const struct m5_eq *eq, uint32_t i)
{
	return &eq->ring[i & ((1u << eq->log) - 1)];
}

/* Each entry gets the owner bit with which the device wrote it, so that it does not look written in the next
 * lap. */
void m5_eq_skip(struct m5_eq *eq, uint32_t producer)
{
	for (; eq->ci != producer; eq->ci++)
		entry_at(eq, eq->ci)->owner = eq->ci >> eq->log & 1;
}

static bool is_written(const struct m5_eq *eq, uint32_t i)
{
	bool written = (dap_load_owner(&entry_at(eq, i)->owner) & 1) == (i >> eq->log & 1);

	dap_rmb_cqe_owner();
	return written;
}

bool m5_eq_read(struct m5_eq *eq, struct m5_events *events)
{
	for (uint32_t n = 0; n < (1u << eq->log) / 4; n++) {
		if (!is_written(eq, eq->ci))
			return false;
		dispatch(events, entry_at(eq, eq->ci));
		eq->ci++;
	}
	return true;
}

be32_t m5_eq_doorbell(const struct m5_eq *eq)
{
	return cpu_to_be32(eq->eqn << 24 | (eq->ci & 0xffffff));
}
