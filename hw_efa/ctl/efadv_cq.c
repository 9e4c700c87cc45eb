/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The CQ, its completion channel, and the events of the device. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "hw_efa/ctl/efadv.h"
#include "hw_efa/wqe.h"

static int channel_open(struct edv *dv, struct ibv_comp_channel **channel)
{
	struct ibv_comp_channel *new;
	int err;

	errno = 0;
	new = ibv_create_comp_channel(dv->ctx);
	if (!new)
		return hw_errno();
	err = hw_nonblocking(new->fd);
	if (err)
		ibv_destroy_comp_channel(new);
	else
		*channel = new;
	return err;
}

/* Entries have 32 bytes from 59.0 on; libefa 44.0 makes those of a CQ that names unknown senders so. */
static struct ibv_cq *make(struct edv *dv, uint32_t entries, struct ibv_comp_channel *channel)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = entries, .channel = channel };
	struct edv_cq_init_attr efa = {
		.wc_flags = dv->caps.cq_with_sgid ? EFADV_WC_EX_WITH_SGID : 0,
	};
	struct ibv_cq_ex *cq;

	errno = 0;
	cq = efadv_create_cq(dv->ctx, &attr, (struct efadv_cq_init_attr *)&efa, sizeof(efa));
	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

static int create(struct edv *dv, uint32_t entries, struct edv_cq *q, struct edv_cq_attr *attr)
{
	int err;

	q->cq = make(dv, entries, q->channel);
	if (!q->cq)
		return errno == EOPNOTSUPP ? -EOPNOTSUPP : hw_errno();
	err = hw_error(dv->query.cq(q->cq, attr, sizeof(*attr)));
	if (err)
		ibv_destroy_cq(q->cq);
	return err;
}

int edv_cq_make(struct edv *dv, uint32_t entries, bool events, struct edv_cq *q,
	       struct edv_cq_attr *attr)
{
	struct edv_cq new = { .channel = NULL };
	int err;

	*attr = (struct edv_cq_attr){ 0 };
	hw_enter();
	err = events ? channel_open(dv, &new.channel) : 0;
	if (!err) {
		err = create(dv, entries, &new, attr);
		if (err && new.channel)
			ibv_destroy_comp_channel(new.channel);
	}
	hw_leave();
	if (!err)
		*q = new;
	return err;
}

void edv_cq_unmake(struct edv_cq *q)
{
	hw_enter();
	ibv_destroy_cq(q->cq);
	if (q->channel)
		ibv_destroy_comp_channel(q->channel);
	hw_leave();
}

int edv_cq_create(struct efa_ctl *ctl, uint32_t entries, struct efa_cq_res *to)
{
	struct edv *dv = edv_of(ctl);
	struct edv_cq *q = calloc(1, sizeof(*q));
	struct edv_cq_attr attr;
	int err;

	if (!q)
		return -ENOMEM;
	err = edv_cq_make(dv, entries, dv->caps.cq_doorbell, q, &attr);
	if (!err && (attr.num_entries < entries || attr.num_entries & (attr.num_entries - 1) ||
		     attr.entry_size != sizeof(struct efa_cqe))) {
		edv_cq_unmake(q);
		err = -EPROTO;
	}
	if (err) {
		free(q);
		return err;
	}
	*to = (struct efa_cq_res){
		.ring = { attr.buffer, q->channel ? attr.doorbell : NULL, attr.num_entries,
			  (uint16_t)attr.entry_size },
		.priv = q,
	};
	return 0;
}

void edv_cq_destroy(struct efa_ctl *ctl, struct efa_cq_res *cq)
{
	(void)ctl;
	edv_cq_unmake(cq->priv);
	free(cq->priv);
}

int edv_cq_arm(struct efa_ctl *ctl, struct efa_cq_res *cq, uint32_t consumed)
{
	unsigned int sn = __atomic_load_n(&cq->cmd_sn, __ATOMIC_ACQUIRE);

	(void)ctl;
	if (!cq->ring.doorbell)
		return -EOPNOTSUPP;
	*cq->ring.doorbell = htole32(efa_cq_doorbell((uint16_t)consumed, sn, true));
	return 0;
}

int edv_cq_fd(struct efa_ctl *ctl, struct efa_cq_res *cq)
{
	const struct edv_cq *q = cq->priv;

	(void)ctl;
	return q->channel ? q->channel->fd : -1;
}

void edv_cq_drain(struct efa_ctl *ctl, struct efa_cq_res *cq)
{
	struct edv_cq *q = cq->priv;
	unsigned int n = 0;
	struct ibv_cq *of;
	void *context;

	(void)ctl;
	while (q->channel && !ibv_get_cq_event(q->channel, &of, &context))
		n++;
	if (!n)
		return;
	ibv_ack_cq_events(q->cq, n);
	__atomic_add_fetch(&cq->cmd_sn, n, __ATOMIC_RELEASE);
}

int edv_events_open(struct edv *dv)
{
	int err;

	dv->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (dv->poll_fd < 0)
		return hw_errno();
	err = hw_nonblocking(dv->ctx->async_fd);
	if (!err)
		err = hw_watch(dv->poll_fd, dv->ctx->async_fd);
	if (err)
		close(dv->poll_fd);
	return err;
}

int edv_async_fd(struct efa_ctl *ctl)
{
	return edv_of(ctl)->poll_fd;
}

bool edv_async_read(struct efa_ctl *ctl, enum efa_event *ev)
{
	struct edv *dv = edv_of(ctl);

	while (!dv->gone) {
		switch (hw_async_event(dv->ctx, EDV_PORT)) {
		case HW_EVENT_NONE:
			return false;
		case HW_EVENT_GONE:
			/* It stays readable for ever: report it once and stop polling it. */
			dv->gone = true;
			epoll_ctl(dv->poll_fd, EPOLL_CTL_DEL, dv->ctx->async_fd, NULL);
			*ev = EFA_EVENT_FATAL;
			return true;
		case HW_EVENT_PORT_DOWN:
			*ev = EFA_EVENT_PORT_DOWN;
			return true;
		default:
			break;
		}
	}
	return false;
}
