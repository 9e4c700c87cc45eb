/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event channels. A pipe keeps order, is readable by poll, and tells when its reader is gone; its
 * 64 KiB hold more events than a program leaves unread, and one that does loses the newest.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "softnic/uverbs/front.h"

static int make_pipe(struct uv_chan *chan, int *rd)
{
	struct stat st;
	int p[2];

	if (pipe2(p, O_CLOEXEC))
		return -errno;
	if (fcntl(p[1], F_SETFL, O_NONBLOCK) || uv_real_fstat(p[1], &st)) {
		close(p[0]);
		close(p[1]);
		return -errno;
	}
	chan->dev = st.st_dev;
	chan->ino = st.st_ino;
	chan->wr = p[1];
	*rd = p[0];
	return 0;
}

int uv_chan_new(struct uv_device *dev, size_t record, int *fd, struct uv_chan **out)
{
	struct uv_chan *chan = calloc(1, sizeof(*chan)), *old, *next;
	int err;

	if (!chan)
		return -ENOMEM;
	err = make_pipe(chan, fd);
	if (err) {
		free(chan);
		return err;
	}
	chan->record = record;
	chan->refs = 1;
	pthread_mutex_lock(&dev->ev_lock);
	/* Completion channels are closed without a word; their CQs hold those that matter. */
	for (old = LIST_FIRST(&dev->chans); old; old = next) {
		next = LIST_NEXT(old, link);
		if (old->refs == 1 && old->record == UV_COMP_RECORD && uv_chan_abandoned(old))
			uv_chan_put(old);
	}
	LIST_INSERT_HEAD(&dev->chans, chan, link);
	pthread_mutex_unlock(&dev->ev_lock);
	*out = chan;
	return 0;
}

struct uv_chan *uv_chan_find(struct uv_device *dev, int fd)
{
	struct uv_chan *chan;
	struct stat st;

	if (uv_real_fstat(fd, &st))
		return NULL;
	LIST_FOREACH(chan, &dev->chans, link)
		if (chan->ino == st.st_ino && chan->dev == st.st_dev)
			return chan;
	return NULL;
}

void uv_chan_put(struct uv_chan *chan)
{
	if (--chan->refs)
		return;
	LIST_REMOVE(chan, link);
	close(chan->wr);
	free(chan);
}

bool uv_chan_abandoned(const struct uv_chan *chan)
{
	struct pollfd p = { .fd = chan->wr };

	return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

bool uv_chan_send(struct uv_chan *chan, const void *record)
{
	return write(chan->wr, record, chan->record) == (ssize_t)chan->record;
}

/*
 * Reads the pipe through a descriptor of our own, so that neither the program's O_NONBLOCK nor a
 * read that it is in matters, and puts back what is somebody else's.
 */
unsigned int uv_chan_recall(struct uv_chan *chan,
			    bool (*match)(const void *record, const void *arg), const void *arg)
{
	uint8_t record[UV_ASYNC_RECORD];
	unsigned int found = 0;
	char path[40];
	int fd, unread = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", chan->wr);
	fd = uv_real_open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	if (uv_real_ioctl(fd, FIONREAD, &unread))
		unread = 0;
	for (size_t left = (size_t)unread; left >= chan->record; left -= chan->record) {
		if (read(fd, record, chan->record) != (ssize_t)chan->record)
			break;
		if (match(record, arg))
			found++;
		else
			uv_chan_send(chan, record);
	}
	close(fd);
	return found;
}
