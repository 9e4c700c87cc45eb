/* SPDX-License-Identifier: BSD-2-Clause */
/* The event queue: from an EQE to the record that ibv_get_cq_event or ibv_get_async_event reads. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "softnic/uverbs/front.h"

enum { EQ_BYTES = EQE_SIZE << UV_EQ_LOG };

/* The events of objects. The queue subscribes to them, to a failure of the device and to changes of ports. */
static const struct object_event {
	uint8_t prm, verbs;
	uint8_t type;			/* type of the object */
} object_events[] = {
	{ PRM_EV_PATH_MIG, IBV_EVENT_PATH_MIG, UV_QP },
	{ PRM_EV_COMM_EST, IBV_EVENT_COMM_EST, UV_QP },
	{ PRM_EV_SQ_DRAINED, IBV_EVENT_SQ_DRAINED, UV_QP },
	{ PRM_EV_WQ_CATAS, IBV_EVENT_QP_FATAL, UV_QP },
	{ PRM_EV_PATH_MIG_FAILED, IBV_EVENT_PATH_MIG_ERR, UV_QP },
	{ PRM_EV_WQ_INVAL_REQ, IBV_EVENT_QP_REQ_ERR, UV_QP },
	{ PRM_EV_WQ_ACCESS, IBV_EVENT_QP_ACCESS_ERR, UV_QP },
	{ PRM_EV_LAST_WQE, IBV_EVENT_QP_LAST_WQE_REACHED, UV_QP },
	{ PRM_EV_CQ_ERROR, IBV_EVENT_CQ_ERR, UV_CQ },
	{ PRM_EV_SRQ_CATAS, IBV_EVENT_SRQ_ERR, UV_SRQ },
	{ PRM_EV_SRQ_LIMIT, IBV_EVENT_SRQ_LIMIT_REACHED, UV_SRQ },
};
enum { OBJECT_EVENTS = sizeof(object_events) / sizeof(object_events[0]) };

/* Stores the doorbell into the BAR, as on hardware: the device scans it. */
static void eq_arm(struct uv_device *dev)
{
	struct uv_eq *eq = &dev->eq;
	uint8_t *page = softnic_uar(dev->nic, eq->uar);
	uint32_t value = eq->eqn << 24 | (eq->ci & 0xffffff);

	atomic_store_explicit((_Atomic uint32_t *)(page + UAR_EQ_DOORBELL), to_be32(value).be,
			      memory_order_release);
}

int uv_eq_create(struct uv_device *dev)
{
	size_t len;
	uint8_t answer[PRM_SHORT];
	uint64_t mask = 1 << PRM_EV_INTERNAL | 1 << PRM_EV_PORT_CHANGE;
	uint8_t *in, *eqc;
	void *mem;
	int err;

	err = uv_alloc(dev, 0, PRM_ALLOC_UAR, &dev->eq.uar);
	if (err)
		return err;
	/* A program's own malloc, whose free gets this memory, may lack aligned_alloc. */
	if (posix_memalign(&mem, 4096, EQ_BYTES))
		return -ENOMEM;
	dev->eq.buf = mem;
	in = uv_create_alloc((uintptr_t)dev->eq.buf, EQ_BYTES, 12, 0, &len);
	if (!in)
		return -ENOMEM;
	memset(dev->eq.buf, 0, EQ_BYTES);
	for (size_t i = 0; i < 1u << UV_EQ_LOG; i++)
		dev->eq.buf[i * EQE_SIZE + EQE_OWNER] = 1;
	for (size_t i = 0; i < OBJECT_EVENTS; i++)
		mask |= UINT64_C(1) << object_events[i].prm;
	eqc = in + PRM_CTX;
	sn_set(eqc, EQC_LOG_SIZE, UV_EQ_LOG);
	sn_set(eqc, EQC_UAR_PAGE, dev->eq.uar);
	sn_set64(in, EQ_EVENT_MASK, mask);
	sn_set(in, PRM_OPCODE, PRM_CREATE_EQ);
	sn_set(in, PRM_UID, PRM_UID_SHARED);	/* as Linux, so that CQs of programs may name the EQ */
	err = uv_cmd(dev, in, len, answer, sizeof(answer));
	free(in);
	if (err)
		return err;
	pthread_mutex_lock(&dev->ev_lock);
	dev->eq.eqn = sn_get(answer, PRM_EQ_NUMBER);
	dev->eq.ready = true;
	eq_arm(dev);
	pthread_mutex_unlock(&dev->ev_lock);
	return 0;
}

static struct uv_obj *source(struct uv_device *dev, enum uv_type type, uint32_t number)
{
	struct uv_obj *obj;

	LIST_FOREACH(obj, &dev->sources[number % UV_HASH], by_number)
		if (obj->number == number && obj->type == type)
			return obj;
	return NULL;
}

static bool is_comp_of(const void *record, const void *arg)
{
	const struct ib_uverbs_comp_event_desc *desc = record;
	const struct uv_obj *obj = arg;

	return desc->cq_handle == obj->user_handle;
}

/* The record of an event holds only the program's handle, and objects of two types may have the same. */
static bool is_async_of(const void *record, const void *arg)
{
	const struct ib_uverbs_async_event_desc *desc = record;
	const struct uv_obj *obj = arg;

	for (size_t i = 0; i < OBJECT_EVENTS; i++)
		if (object_events[i].verbs == desc->event_type && object_events[i].type == obj->type)
			return desc->element == obj->user_handle;
	return false;
}

static struct uv_chan *async_of(const struct uv_obj *obj)
{
	return obj->async ? obj->async : obj->ctx->async;
}

static void leave_channel(struct uv_obj *obj)
{
	if (obj->chan)
		uv_chan_put(obj->chan);
	obj->chan = NULL;
}

/* A CQ whose creation has failed drops its channel. */
static void end_channel(struct uv_obj *cq)
{
	struct uv_device *dev = cq->ctx->dev;

	pthread_mutex_lock(&dev->ev_lock);
	leave_channel(cq);
	pthread_mutex_unlock(&dev->ev_lock);
}

static void remove_source(struct uv_obj *obj)
{
	struct uv_device *dev = obj->ctx->dev;

	pthread_mutex_lock(&dev->ev_lock);
	LIST_REMOVE(obj, by_number);
	if (obj->chan)
		obj->comp_events -= uv_chan_recall(obj->chan, is_comp_of, obj);
	leave_channel(obj);
	if (obj->async_events)
		obj->async_events -= uv_chan_recall(async_of(obj), is_async_of, obj);
	if (obj->async)
		uv_chan_put(obj->async);
	obj->async = NULL;
	pthread_mutex_unlock(&dev->ev_lock);
}

/* Linux refuses a descriptor of another kind or context in lookup_get_fd_uobject. */
int uv_source_channel(struct uv_obj *cq, int fd)
{
	struct uv_device *dev = cq->ctx->dev;
	struct uv_chan *chan;

	if (fd < 0)
		return 0;
	pthread_mutex_lock(&dev->ev_lock);
	chan = uv_chan_find(dev, UV_CHAN_COMP, fd);
	if (chan && chan->owner == cq->ctx->id) {
		chan->refs++;
		cq->chan = chan;
		cq->end_events = end_channel;
	}
	pthread_mutex_unlock(&dev->ev_lock);
	return cq->chan ? 0 : -EBADF;
}

void uv_source_add(struct uv_obj *obj, uint64_t user_handle)
{
	struct uv_device *dev = obj->ctx->dev;

	obj->user_handle = user_handle;
	obj->end_events = remove_source;
	pthread_mutex_lock(&dev->ev_lock);
	LIST_INSERT_HEAD(&dev->sources[obj->number % UV_HASH], obj, by_number);
	pthread_mutex_unlock(&dev->ev_lock);
}

int uv_source_tells(struct uv_obj *obj, struct ib_uverbs_ioctl_hdr *hdr, uint16_t id)
{
	struct uv_device *dev = obj->ctx->dev;
	uint64_t fd;

	if (!uv_attr_number(hdr, id, &fd))
		return 0;
	pthread_mutex_lock(&dev->ev_lock);
	obj->async = uv_chan_find(dev, UV_CHAN_ASYNC, (int)fd);
	if (obj->async)
		obj->async->refs++;
	pthread_mutex_unlock(&dev->ev_lock);
	return obj->async ? 0 : -EBADF;
}

void uv_completion(struct uv_device *dev, uint32_t cqn)
{
	struct uv_obj *cq = source(dev, UV_CQ, cqn);
	struct ib_uverbs_comp_event_desc desc;

	if (!cq || !cq->chan)
		return;
	desc.cq_handle = cq->user_handle;
	if (uv_chan_send(cq->chan, &desc))
		cq->comp_events++;
}

static void tell_source(struct uv_obj *obj, uint32_t event)
{
	struct ib_uverbs_async_event_desc desc = { .event_type = event };

	if (!obj)
		return;
	desc.element = obj->user_handle;
	if (uv_chan_send(async_of(obj), &desc))
		obj->async_events++;
}

static void tell_all(struct uv_device *dev, uint32_t event, uint64_t element)
{
	struct ib_uverbs_async_event_desc desc = { .element = element, .event_type = event };
	struct uv_chan *chan;

	LIST_FOREACH(chan, &dev->chans, link)
		if (chan->kind == UV_CHAN_ASYNC)
			uv_chan_send(chan, &desc);
}

static void on_port(struct uv_device *dev, const uint8_t *eqe)
{
	unsigned int port = eqe[EQE_PORT] >> 4;

	if (eqe[EQE_SUBTYPE] == PRM_PORT_DOWN) {
		dev->ports_down |= 1u << port;
		tell_all(dev, IBV_EVENT_PORT_ERR, port);
	} else if (eqe[EQE_SUBTYPE] == PRM_PORT_ACTIVE) {
		dev->ports_down &= ~(1u << port);
		tell_all(dev, IBV_EVENT_PORT_ACTIVE, port);
	}
}

/* Returns the object number in an EQE, or 0. */
static uint32_t number_of(const uint8_t *eqe)
{
	switch (eqe[EQE_TYPE]) {
	case PRM_EV_CQ_ERROR: return sn_get32(eqe, EQE_DATA) & 0xffffff;
	case PRM_EV_INTERNAL:
	case PRM_EV_PORT_CHANGE: return 0;
	default: return sn_get32(eqe, EQE_NUMBER) & 0xffffff;
	}
}

static void on_object(struct uv_device *dev, uint8_t type, uint32_t number)
{
	for (const struct object_event *e = object_events; e < object_events + OBJECT_EVENTS; e++)
		if (e->prm == type)
			tell_source(source(dev, e->type, number), e->verbs);
}

static void on_event(struct uv_device *dev, const uint8_t *eqe)
{
	uint32_t number = number_of(eqe);
	uint8_t type = eqe[EQE_TYPE];

	uv_devx_notify(dev, type, number, eqe);
	if (type == PRM_EV_COMPLETION) {
		uv_completion(dev, number);
	} else if (type == PRM_EV_INTERNAL) {
		dev->failed = true;
		tell_all(dev, IBV_EVENT_DEVICE_FATAL, 0);
	} else if (type == PRM_EV_PORT_CHANGE) {
		on_port(dev, eqe);
	} else {
		on_object(dev, type, number);
	}
}

/* Called while the model is locked, so it must not call the model. The thread may be one of the program that
 * polls, so a write(2) of an event must be no cancellation point. */
void uv_irq(void *ctx, unsigned int vector)
{
	struct uv_device *dev = ctx;
	struct uv_eq *eq = &dev->eq;
	int cancel;

	(void)vector;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&dev->ev_lock);
	while (eq->ready) {
		uint8_t *eqe = eq->buf + (size_t)(eq->ci & ((1u << UV_EQ_LOG) - 1)) * EQE_SIZE;
		uint8_t owner = atomic_load_explicit((_Atomic uint8_t *)(eqe + EQE_OWNER),
						     memory_order_acquire);

		if ((owner & 1) != (eq->ci >> UV_EQ_LOG & 1))
			break;
		on_event(dev, eqe);
		eq->ci++;
	}
	if (eq->ready)
		eq_arm(dev);
	pthread_mutex_unlock(&dev->ev_lock);
	pthread_setcancelstate(cancel, NULL);
}
