/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by all accesses to adapters through libibverbs: fork, error codes, names of IAs, and
 * messages for missing resources.
 */
#ifndef HW_VERBS_H
#define HW_VERBS_H

#include <stdbool.h>
#include <stddef.h>

struct ibv_context;
struct ibv_device;

/*
 * Converts a library's return value, an errno of either sign, to -errno. Resource and permission
 * errors are kept; all others are internal to driver and kernel and become -EIO.
 */
int hw_error(int ret);
/* Converts the errno of a call that sets errno. */
int hw_errno(void);

/* ---- messages: cause and remedy ---- */
/* For a device that libibverbs does not list. Returns -ENODEV if the device does not exist, or the errno
 * of the shortage that keeps libibverbs from listing it. */
int hw_why_not_listed(const char *device, char *why, size_t whylen);
/* Explains why a device did not open. */
void hw_why_not_open(struct ibv_device *dev, int answer, char *why, size_t whylen);

/* ---- verbs_event.c ---- */
int hw_nonblocking(int fd);
int hw_watch(int poll_fd, int fd);
/*
 * Has the kernel taken the device of this channel away? The channel then stays readable or in error for ever,
 * but has no event. Its descriptor must leave each epoll set; replacing it does not suffice, because the set
 * keeps a file that a forked child has open.
 */
bool hw_is_gone(int fd);
enum hw_event {
	HW_EVENT_NONE, HW_EVENT_GONE,
	HW_EVENT_PORT_DOWN, HW_EVENT_PORT_UP, HW_EVENT_PORT,	/* PORT: attributes of the port changed */
};
/* Returns the next event of the device or this port; does not block. */
enum hw_event hw_async_event(struct ibv_context *ctx, unsigned int port);

/* ---- verbs_fork.c ---- */
/* To be called around calls in which libibverbs takes global locks, or libmlx5 waits for a device. A thread
 * that is cancelled there would keep locks, so cancellation is disabled. */
void hw_enter(void);
void hw_leave(void);
/* From here on forks wait for such calls. To be called after the first device has been opened: then
 * libibverbs has installed its fork handlers, and they run after ours, in the order in which calls
 * take the locks. */
void hw_fork_handle(void);

#endif
