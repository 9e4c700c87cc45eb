/* SPDX-License-Identifier: BSD-2-Clause */
/* DEVX events: channels, subscriptions, and results of asynchronous queries. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "softnic/eventfd.h"
#include "softnic/uverbs/front.h"

enum { EVENTS_MAX = 16, ANSWER_MAX = 4096 };
enum { COOKIE = sizeof(struct mlx5_ib_uapi_devx_async_event_hdr) };
/* The longest pipe that a process without privileges gets: 14,000 events with data, or 256 results. */
enum { PIPE_BYTES = 1 << 20 };

static atomic_bool any_channel;

static int alloc_channel(struct uv_ctx *ctx, enum uv_chan_kind kind, bool omit_data,
			 struct ib_uverbs_attr *handle)
{
	struct uv_chan *chan;
	int err, fd;

	if (!ctx->uid || !handle)
		return -EINVAL;
	err = uv_chan_new(ctx->dev, kind, &fd, &chan);
	if (err)
		return err;
	/* If the pipe cannot be enlarged, it holds 64 KiB. A result takes 4 KiB of it. */
	if (!omit_data)
		fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
	atomic_store(&any_channel, true);
	pthread_mutex_lock(&ctx->dev->ev_lock);
	chan->ctx = ctx;
	chan->omit_data = omit_data;
	pthread_mutex_unlock(&ctx->dev->ev_lock);
	handle->data_s64 = fd;
	return 0;
}

int uv_alloc_event_fd(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	uint64_t flags;

	if (!uv_attr_number(hdr, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, &flags) ||
	    flags & ~(uint64_t)MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA)
		return -EINVAL;
	return alloc_channel(ctx, UV_CHAN_DEVX_EVENT,
			     flags & MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA,
			     uv_attr(hdr, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE));
}

int uv_alloc_cmd_fd(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	return alloc_channel(ctx, UV_CHAN_DEVX_QUERY, false,
			     uv_attr(hdr, MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE));
}

/* Can a program subscribe to this event? Some events need an object, others must have none. */
static bool subscribable(uint16_t event, bool of_object)
{
	switch (event) {
	case PRM_EV_COMPLETION:
	case PRM_EV_PATH_MIG:
	case PRM_EV_COMM_EST:
	case PRM_EV_SQ_DRAINED:
	case PRM_EV_CQ_ERROR:
	case PRM_EV_WQ_CATAS:
	case PRM_EV_PATH_MIG_FAILED:
	case PRM_EV_WQ_INVAL_REQ:
	case PRM_EV_WQ_ACCESS:
	case PRM_EV_SRQ_CATAS:
	case PRM_EV_LAST_WQE:
	case PRM_EV_SRQ_LIMIT:
		return of_object;
	case PRM_EV_PORT_CHANGE:
		return !of_object;
	default:
		return false;
	}
}

static void sub_free(struct uv_sub *sub)
{
	LIST_REMOVE(sub, by_number);
	LIST_REMOVE(sub, by_chan);
	if (sub->eventfd >= 0)
		pre_real()->close(sub->eventfd);
	free(sub);
}

static void end_subscriptions(struct uv_obj *obj)
{
	struct uv_device *dev = obj->ctx->dev;
	struct uv_sub *sub, *next;

	pthread_mutex_lock(&dev->ev_lock);
	for (sub = LIST_FIRST(&dev->sub_hash[obj->number % UV_HASH]); sub; sub = next) {
		next = LIST_NEXT(sub, by_number);
		if (sub->obj == obj)
			sub_free(sub);
	}
	pthread_mutex_unlock(&dev->ev_lock);
}

/* Returns a duplicate, or -errno as Linux's eventfd_ctx_fdget. */
static int own_eventfd(int fd)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (own < 0)
		return -EBADF;
	if (sn_is_eventfd(own))
		return own;
	pre_real()->close(own);
	return -EINVAL;
}

static int subscribe_one(struct uv_chan *chan, const struct uv_sub *like, uint16_t event)
{
	struct uv_device *dev = chan->ctx->dev;
	struct uv_sub *sub = malloc(sizeof(*sub));
	int err;

	if (!sub)
		return -ENOMEM;
	*sub = *like;
	sub->chan = chan;
	sub->event = (uint8_t)event;
	if (like->eventfd >= 0) {
		sub->eventfd = own_eventfd(like->eventfd);
		if (sub->eventfd < 0) {
			err = sub->eventfd;
			free(sub);
			return err;
		}
	}
	LIST_INSERT_HEAD(&dev->sub_hash[sub->number % UV_HASH], sub, by_number);
	LIST_INSERT_HEAD(&chan->subs, sub, by_chan);
	if (sub->obj)
		sub->obj->end_events = end_subscriptions;
	return 0;
}

/* Subscribes to all events of the list, or to none on failure. */
static int subscribe_list(struct uv_chan *chan, const struct uv_sub *like, const uint16_t *events,
			  size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int err = subscribe_one(chan, like, events[i]);

		if (!err)
			continue;
		while (i--)
			sub_free(LIST_FIRST(&chan->subs));
		return err;
	}
	return 0;
}

static int read_like(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr, struct uv_sub *like)
{
	uint64_t value;
	int err;

	*like = (struct uv_sub){ .eventfd = -1 };
	if (uv_attr_number(hdr, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, &value)) {
		err = uv_obj_find(ctx, UV_DEVX, (uint32_t)value, &like->obj);
		if (err)
			return err;
		like->number = like->obj->number;
	}
	if (uv_attr_number(hdr, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, &like->cookie)) {
		if (uv_attr(hdr, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM))
			return -EINVAL;
	} else if (uv_attr_number(hdr, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, &value)) {
		like->eventfd = (int)(uint32_t)value;
		if (like->eventfd < 0)
			return -EBADF;
	}
	return 0;
}

int uv_devx_subscribe(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *list = uv_attr(hdr, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST);
	uint16_t events[EVENTS_MAX];
	struct uv_chan *chan;
	struct uv_sub like;
	uint64_t fd;
	int err;

	if (!ctx->uid || !list || !list->len || list->len % 2 || list->len > sizeof(events) ||
	    !uv_attr_number(hdr, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, &fd))
		return -EINVAL;
	memcpy(events, uv_attr_in(list), list->len);
	err = read_like(ctx, hdr, &like);
	if (err)
		return err;
	for (size_t i = 0; i < list->len / 2u; i++)
		if (!subscribable(events[i], like.obj))
			return -EINVAL;
	pthread_mutex_lock(&ctx->dev->ev_lock);
	chan = uv_chan_find(ctx->dev, UV_CHAN_DEVX_EVENT, (int)fd);
	err = chan && chan->ctx == ctx ? subscribe_list(chan, &like, events, list->len / 2u) : -EBADF;
	pthread_mutex_unlock(&ctx->dev->ev_lock);
	return err;
}

/* Is the last record of this subscription still unread? Records are read in the order of writing. */
static bool is_pending(const struct uv_sub *sub)
{
	int unread = 0;

	if (!sub->record || pre_real()->ioctl(sub->chan->rd, FIONREAD, &unread))
		return false;
	return sub->record + (uint64_t)unread / COOKIE > sub->chan->written;
}

static size_t event_size(const struct uv_chan *chan)
{
	return chan->omit_data ? COOKIE : COOKIE + EQE_SIZE;
}

static void deliver_event(struct uv_sub *sub, const uint8_t *eqe)
{
	uint8_t record[COOKIE + EQE_SIZE];

	if (sub->eventfd >= 0) {
		sn_eventfd_signal(sub->eventfd);
		return;
	}
	if (sub->chan->omit_data && is_pending(sub))
		return;
	memcpy(record, &sub->cookie, COOKIE);
	memcpy(record + COOKIE, eqe, EQE_SIZE);
	if (uv_chan_send_bytes(sub->chan, record, event_size(sub->chan)))
		sub->record = sub->chan->written;
	else
		sub->chan->lost = true;
}

void uv_devx_notify(struct uv_device *dev, uint8_t event, uint32_t number, const uint8_t *eqe)
{
	struct uv_sub *sub;

	LIST_FOREACH(sub, &dev->sub_hash[number % UV_HASH], by_number)
		if (sub->event == event && sub->number == number)
			deliver_event(sub, eqe);
}

static void drop_channel(struct uv_chan *chan)
{
	while (!LIST_EMPTY(&chan->subs))
		sub_free(LIST_FIRST(&chan->subs));
	uv_chan_put(chan);
}

void uv_devx_leave(struct uv_ctx *ctx)
{
	struct uv_chan *chan, *next;

	pthread_mutex_lock(&ctx->dev->ev_lock);
	for (chan = LIST_FIRST(&ctx->dev->chans); chan; chan = next) {
		next = LIST_NEXT(chan, link);
		if (chan->ctx == ctx)
			drop_channel(chan);
	}
	pthread_mutex_unlock(&ctx->dev->ev_lock);
}

/*
 * The front has just closed its reading end. If the program has no descriptor of the channel left,
 * drops the channel; else opens a reading end again.
 */
static void check_channel(struct uv_chan *chan)
{
	pre_real()->close(chan->rd);
	chan->rd = -1;
	if (uv_chan_abandoned(chan))
		drop_channel(chan);
	else
		chan->rd = uv_chan_reader(chan);
}

static struct uv_chan *channel_of(struct uv_device *dev, const struct stat *st)
{
	struct uv_chan *chan;

	LIST_FOREACH(chan, &dev->chans, link)
		if (chan->rd >= 0 && chan->ino == st->st_ino && chan->dev == st->st_dev)
			break;
	return chan;
}

void uv_devx_closed(struct uv_device *dev, const struct stat *st)
{
	struct uv_chan *chan;

	pthread_mutex_lock(&dev->ev_lock);
	chan = channel_of(dev, st);
	if (chan)
		check_channel(chan);
	pthread_mutex_unlock(&dev->ev_lock);
}

bool uv_devx_any(void)
{
	return atomic_load_explicit(&any_channel, memory_order_relaxed);
}

/* Linux, devx_async_event_read. */
int uv_devx_read(struct uv_device *dev, const struct stat *st, size_t *n)
{
	struct uv_chan *chan;
	int err = 0;

	pthread_mutex_lock(&dev->ev_lock);
	chan = channel_of(dev, st);
	if (chan && chan->kind == UV_CHAN_DEVX_EVENT) {
		size_t size = event_size(chan);

		err = chan->lost ? -EOVERFLOW : *n < size ? -EINVAL : 0;
		chan->lost = false;
		*n = size;
	}
	pthread_mutex_unlock(&dev->ev_lock);
	return err;
}

int uv_devx_query_async(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *in = uv_attr(hdr, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN);
	uint64_t record[ANSWER_MAX / sizeof(uint64_t)] = { 0 };
	uint64_t handle, len, wr_id, fd;
	struct uv_chan *chan;
	int err;

	if (!uv_attr_number(hdr, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE, &handle) ||
	    !uv_attr_number(hdr, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, &len) ||
	    !uv_attr_number(hdr, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, &wr_id) ||
	    !uv_attr_number(hdr, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, &fd) ||
	    len > sizeof(record) - sizeof(wr_id) || !uv_devx_is_query(ctx, (uint32_t)handle, in))
		return -EINVAL;
	record[0] = wr_id;
	err = uv_devx_exec(ctx, in, record + 1, len);
	if (err && err != -EREMOTEIO)
		return err;
	pthread_mutex_lock(&ctx->dev->ev_lock);
	chan = uv_chan_find(ctx->dev, UV_CHAN_DEVX_QUERY, (int)fd);
	err = !chan || chan->ctx != ctx ? -EBADF :
		uv_chan_send_bytes(chan, record, sizeof(wr_id) + len) ? 0 : -EAGAIN;
	pthread_mutex_unlock(&ctx->dev->ev_lock);
	return err;
}
