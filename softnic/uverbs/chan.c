/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event channels. A channel is a pipe: it keeps order, works with poll(), and reports when its reader is
 * gone. A pipe holds 64 KiB, which is more than programs normally leave unread; if it is full, the
 * newest event is lost.
 *
 * DEVX channels return one record per read, however large the reader's buffer is. Results of queries have
 * different lengths, so their channel is a pipe in packet mode; reads of events are shortened (uv_devx_read).
 * The front holds a reading end of both as well, through which it sees what the program has not read.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "softnic/uverbs/front.h"

static bool is_devx(const struct uv_chan *chan)
{
	return chan->kind == UV_CHAN_DEVX_EVENT || chan->kind == UV_CHAN_DEVX_QUERY;
}

static size_t record_size(const struct uv_chan *chan)
{
	return chan->kind == UV_CHAN_ASYNC ? sizeof(struct ib_uverbs_async_event_desc) :
		sizeof(struct ib_uverbs_comp_event_desc);
}

int uv_chan_reader(const struct uv_chan *chan)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", chan->wr);
	return pre_real()->open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
}

static int make_pipe(struct uv_chan *chan, int *rd)
{
	int packets = chan->kind == UV_CHAN_DEVX_QUERY ? O_DIRECT : 0;
	struct stat st;
	int p[2], err;

	if (pipe2(p, O_CLOEXEC | packets))
		return -errno;
	chan->wr = p[1];
	chan->rd = is_devx(chan) ? uv_chan_reader(chan) : -1;
	if (fcntl(p[1], F_SETFL, O_NONBLOCK | packets) || pre_real()->fstat(p[1], &st) ||
	    (is_devx(chan) && chan->rd < 0)) {
		err = -errno;
		pre_real()->close(p[0]);
		pre_real()->close(p[1]);
		if (chan->rd >= 0)
			pre_real()->close(chan->rd);
		return err;
	}
	chan->dev = st.st_dev;
	chan->ino = st.st_ino;
	*rd = p[0];
	return 0;
}

/* Frees channels that the program closed without notice, unless objects still use them. */
void uv_chan_reap(struct uv_device *dev)
{
	struct uv_chan *chan, *next;

	for (chan = LIST_FIRST(&dev->chans); chan; chan = next) {
		next = LIST_NEXT(chan, link);
		if (chan->refs == 1 && (chan->kind == UV_CHAN_COMP || chan->imported) &&
		    uv_chan_abandoned(chan))
			uv_chan_put(chan);
	}
}

int uv_chan_new(struct uv_device *dev, enum uv_chan_kind kind, int *fd, struct uv_chan **out)
{
	struct uv_chan *chan = calloc(1, sizeof(*chan));
	int err;

	if (!chan)
		return -ENOMEM;
	chan->kind = kind;
	chan->refs = 1;
	err = make_pipe(chan, fd);
	if (err) {
		free(chan);
		return err;
	}
	pthread_mutex_lock(&dev->ev_lock);
	uv_chan_reap(dev);
	LIST_INSERT_HEAD(&dev->chans, chan, link);
	pthread_mutex_unlock(&dev->ev_lock);
	*out = chan;
	return 0;
}

struct uv_chan *uv_chan_find(struct uv_device *dev, enum uv_chan_kind kind, int fd)
{
	struct uv_chan *chan;
	struct stat st;

	if (pre_real()->fstat(fd, &st))
		return NULL;
	LIST_FOREACH(chan, &dev->chans, link)
		if (chan->ino == st.st_ino && chan->dev == st.st_dev)
			return chan->kind == kind ? chan : NULL;
	return NULL;
}

void uv_chan_put(struct uv_chan *chan)
{
	if (--chan->refs)
		return;
	LIST_REMOVE(chan, link);
	if (chan->rd >= 0)
		pre_real()->close(chan->rd);
	pre_real()->close(chan->wr);
	free(chan);
}

bool uv_chan_abandoned(const struct uv_chan *chan)
{
	struct pollfd p = { .fd = chan->wr };

	return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

/* A write to a channel whose program has closed it fails, and must not raise SIGPIPE. */
static ssize_t write_record(int fd, const void *record, size_t len)
{
	const struct timespec now = { 0 };
	sigset_t pipe, old;
	ssize_t n;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &old);
	n = write(fd, record, len);
	if (n < 0 && errno == EPIPE && !sigismember(&old, SIGPIPE))
		sigtimedwait(&pipe, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return n;
}

bool uv_chan_send_bytes(struct uv_chan *chan, const void *record, size_t len)
{
	if (write_record(chan->wr, record, len) != (ssize_t)len)
		return false;
	chan->written++;
	return true;
}

bool uv_chan_send(struct uv_chan *chan, const void *record)
{
	return uv_chan_send_bytes(chan, record, record_size(chan));
}

/*
 * Reads the pipe through the front's own descriptor, independent of the program's O_NONBLOCK and
 * concurrent reads, and writes other objects' records back.
 */
unsigned int uv_chan_recall(struct uv_chan *chan,
			    bool (*match)(const void *record, const void *arg), const void *arg)
{
	uint8_t record[sizeof(struct ib_uverbs_async_event_desc)];
	size_t size = record_size(chan);
	unsigned int found = 0;
	int fd, unread = 0;

	fd = uv_chan_reader(chan);
	if (fd < 0)
		return 0;
	if (pre_real()->ioctl(fd, FIONREAD, &unread))
		unread = 0;
	for (size_t left = (size_t)unread; left >= size; left -= size) {
		if (pre_real()->read(fd, record, size) != (ssize_t)size)
			break;
		if (match(record, arg))
			found++;
		else
			uv_chan_send(chan, record);
	}
	pre_real()->close(fd);
	return found;
}
