/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * The event queue of the software ConnectX, served by its interrupt handler: completion events go
 * to the eventfd of the CQ's channel, all others into a queue with an eventfd of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/barrier.h"
#include "hw_mlx5/m5_cmd.h"
#include "hw_mlx5/m5_ctl_read.h"
#include "hw_mlx5/m5_ctl_soft.h"
#include "softnic/softnic.h"

#define EQ_BYTES ((size_t)sizeof(struct m5_eqe) << SOFT_EQ_LOG)

static void signal_fd(int fd)
{
	uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one));
}

static void completion(struct m5_ctl_soft *s, uint32_t cqn)
{
	pthread_mutex_lock(&s->lock);
	for (struct m5_obj *o = s->cqs[cqn % SOFT_CQ_BUCKETS]; o; o = o->next)
		if (o->number == cqn)
			signal_fd(o->ch->fd);
	pthread_mutex_unlock(&s->lock);
}

static void async_put(struct m5_ctl_soft *s, struct m5_event ev)
{
	pthread_mutex_lock(&s->lock);
	/* The oldest is dropped for the newest: a device that is dying must get that through. */
	if (s->async_head - s->async_tail == SOFT_ASYNC)
		s->async_tail++;
	s->async[s->async_head++ % SOFT_ASYNC] = ev;
	pthread_mutex_unlock(&s->lock);
	signal_fd(s->async_fd);
}

static void dispatch(struct m5_ctl_soft *s, const struct m5_eqe *e)
{
	struct m5_event ev;

	if (e->type == M5_EV_COMPLETION) {
		completion(s, be32_to_cpu(e->data[6]) & 0xffffff);
		return;
	}
	m5_eqe_event(e, &ev);
	async_put(s, ev);
}

static void eq_doorbell(struct m5_ctl_soft *s, uint32_t offset)
{
	/* The word and, to fill the eight bytes of an MMIO write, nothing. */
	be32_t db[2] = { cpu_to_be32(s->eq.eqn << 24 | (s->eq.ci & 0xffffff)) };

	softnic_mmio_write(s->ctl.soft, s->eq.uar.page, offset, db, sizeof(db));
}

/* Called by the thread that drives the device, never by two at once. */
void soft_irq(void *ctx, unsigned int vector)
{
	struct m5_ctl_soft *s = ctx;

	(void)vector;
	if (!s->eq.made)
		return;
	for (;;) {
		struct m5_eqe *e = &s->eq.ring[s->eq.ci & ((1u << SOFT_EQ_LOG) - 1)];

		if ((dap_load_owner(&e->owner) & 1) != (s->eq.ci >> SOFT_EQ_LOG & 1))
			break;
		dap_rmb_cqe_owner();
		dispatch(s, e);
		s->eq.ci++;
	}
	eq_doorbell(s, M5_UAR_EQ_ARM);
}

static void eq_command(struct m5_ctl_soft *s, struct m5_create_eq_in *in)
{
	in->hdr.opcode = cpu_to_be16(M5_CMD_CREATE_EQ);
	in->size_uar = cpu_to_be32((uint32_t)SOFT_EQ_LOG << 24 | s->eq.uar.page);
	in->event_bitmask[0] = cpu_to_be64(1ull << M5_EV_COMPLETION | 1ull << M5_EV_CQ_ERROR |
					   1ull << M5_EV_WQ_CATASTROPHIC |
					   1ull << M5_EV_INTERNAL_ERROR |
					   1ull << M5_EV_PORT_CHANGE |
					   1ull << M5_EV_WQ_INVALID_REQUEST |
					   1ull << M5_EV_WQ_ACCESS_ERROR |
					   1ull << M5_EV_SRQ_CATASTROPHIC |
					   1ull << M5_EV_SRQ_LIMIT);
	for (size_t i = 0; i < EQ_BYTES / 4096; i++)
		in->pas[i] = cpu_to_be64((uintptr_t)s->eq.ring + i * 4096);
}

static int eq_create(struct m5_ctl_soft *s)
{
	size_t inlen = sizeof(struct m5_create_eq_in) + EQ_BYTES / 4096 * sizeof(be64_t);
	struct m5_create_eq_in *in = calloc(1, inlen);
	struct m5_obj_out out = { 0 };
	int err;

	if (!in)
		return -ENOMEM;
	eq_command(s, in);
	err = soft_cmd(&s->ctl, in, inlen, &out, sizeof(out));
	if (err)
		err = m5_cmd_error(err, in, &out);
	else
		s->eq.eqn = be32_to_cpu(out.number) & 0xff;
	free(in);
	return err;
}

int soft_eq_open(struct m5_ctl_soft *s)
{
	int err;

	s->async_fd = soft_fails() ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->async_fd < 0)
		return -EMFILE;
	s->eq.ring = mmap(NULL, EQ_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	if (s->eq.ring == MAP_FAILED) {
		err = -ENOMEM;
		goto err_close;
	}
	for (unsigned int i = 0; i < 1u << SOFT_EQ_LOG; i++)
		s->eq.ring[i].owner = 1;
	err = soft_uar_alloc(&s->ctl, M5_UAR_NC, &s->eq.uar);
	if (err)
		goto err_unmap;
	err = eq_create(s);
	if (err)
		goto err_uar;
	s->eq.made = true;
	eq_doorbell(s, M5_UAR_EQ_ARM);
	return 0;

err_uar:
	soft_uar_free(&s->ctl, &s->eq.uar);
err_unmap:
	munmap(s->eq.ring, EQ_BYTES);
err_close:
	close(s->async_fd);
	return err;
}

void soft_eq_close(struct m5_ctl_soft *s)
{
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_DESTROY_EQ),
				.number = cpu_to_be32(s->eq.eqn) };
	struct m5_obj_out out = { 0 };

	softnic_cmd(s->ctl.soft, &in, sizeof(in), &out, sizeof(out));
	soft_uar_free(&s->ctl, &s->eq.uar);
	munmap(s->eq.ring, EQ_BYTES);
	close(s->async_fd);
}

int soft_evch_create(struct m5_ctl *ctl, struct m5_evch **ch)
{
	struct m5_evch *new = calloc(1, sizeof(*new));

	if (!new)
		return -ENOMEM;
	new->ctl = ctl;
	new->fd = soft_fails() ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (new->fd < 0) {
		free(new);
		return -EMFILE;
	}
	*ch = new;
	return 0;
}

/* Its CQs are destroyed by now, or bound elsewhere. */
void soft_evch_destroy(struct m5_evch *ch)
{
	close(ch->fd);
	free(ch);
}

int soft_evch_fd(struct m5_evch *ch)
{
	return ch->fd;
}

int soft_evch_bind(struct m5_evch *ch, struct m5_obj *cq, uint32_t cqn)
{
	struct m5_ctl_soft *s = soft_of(ch->ctl);
	struct m5_obj **bucket = &s->cqs[cqn % SOFT_CQ_BUCKETS];

	if (soft_fails())
		return -ENOMEM;
	soft_evch_unbind(cq);
	pthread_mutex_lock(&s->lock);
	cq->ch = ch;
	cq->next = *bucket;
	*bucket = cq;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

void soft_evch_unbind(struct m5_obj *cq)
{
	struct m5_ctl_soft *s = soft_of(cq->ctl);
	struct m5_obj **p = &s->cqs[cq->number % SOFT_CQ_BUCKETS];

	pthread_mutex_lock(&s->lock);
	while (*p && *p != cq)
		p = &(*p)->next;
	if (*p)
		*p = cq->next;
	cq->ch = NULL;
	pthread_mutex_unlock(&s->lock);
}

unsigned int soft_evch_drain(struct m5_evch *ch)
{
	uint64_t n = 0;

	if (read(ch->fd, &n, sizeof(n)) != sizeof(n))
		return 0;
	return (unsigned int)n;
}

int soft_async_fd(struct m5_ctl *ctl)
{
	return soft_of(ctl)->async_fd;
}

int soft_async_read(struct m5_ctl *ctl, struct m5_event *ev)
{
	struct m5_ctl_soft *s = soft_of(ctl);
	uint64_t n;
	int found = 0;

	pthread_mutex_lock(&s->lock);
	if (s->async_tail == s->async_head) {
		(void)!read(s->async_fd, &n, sizeof(n));
	} else {
		*ev = s->async[s->async_tail++ % SOFT_ASYNC];
		found = 1;
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}
