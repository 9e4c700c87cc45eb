/* SPDX-License-Identifier: BSD-2-Clause */
/* Channels of completion events whose device is gone. */
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/uverbs/calls.h"

enum { CHANNELS = 64 };
static int channels[CHANNELS];		/* those created last */
static unsigned int nchannels;
static bool channels_ended;
static atomic_ulong vain_reads;

void calls_channel(int fd)
{
	channels[nchannels++ % CHANNELS] = fd;
}

void calls_end_channels(int (*gone)(void))
{
	for (unsigned int i = 0; i < nchannels && i < CHANNELS; i++) {
		int fd = gone();

		dup2(fd, channels[i]);
		close(fd);
	}
	channels_ended = true;
}

bool calls_channel_ended(int fd)
{
	unsigned int i = 0;

	while (i < CHANNELS && channels[i] != fd)
		i++;
	if (!channels_ended || i == CHANNELS)
		return false;
	vain_reads++;
	errno = EAGAIN;
	return true;
}

unsigned long calls_vain_reads(void)
{
	return vain_reads;
}
