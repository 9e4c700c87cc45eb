/* SPDX-License-Identifier: BSD-2-Clause */
/* Eventfds of a program, as the kernel checks and signals them. */
#ifndef SOFTNIC_EVENTFD_H
#define SOFTNIC_EVENTFD_H

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SN_EVENTFD "anon_inode:[eventfd]"

/* A write to another file could block the device. */
static inline bool sn_is_eventfd(int fd)
{
	char path[40], target[sizeof(SN_EVENTFD)];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlinkat(AT_FDCWD, path, target, sizeof(target)) == sizeof(SN_EVENTFD) - 1 &&
		!memcmp(target, SN_EVENTFD, sizeof(SN_EVENTFD) - 1);
}

/* Never waits, as the kernel's eventfd_signal(). If the counter is full, the eventfd is readable
 * already. */
static inline void sn_eventfd_signal(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	uint64_t one = 1;

	if (poll(&p, 1, 0) == 1 && p.revents & POLLOUT)
		(void)!write(fd, &one, sizeof(one));
}

#endif
