/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every access to an adapter through libibverbs needs, whoever made the adapter: processes that
 * fork, answers of the library, names of IAs, and words for what a machine may lack.
 */
#ifndef HW_VERBS_H
#define HW_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ibv_context;
struct ibv_device;

/*
 * What a call of the libraries answered, an errno of either sign, as -errno. Resources and rights
 * stay what they are; anything else is between driver and kernel, and -EIO to a consumer.
 */
int hw_error(int ret);
/* The same of a call that leaves it in errno. */
int hw_errno(void);

/* "mlx5_0-1" to the device's name and port. */
bool hw_name_split(const char *ia_name, char *device, size_t len, uint8_t *port);

/* ---- words: cause and cure ---- */
/* A device that libibverbs does not list: -ENODEV, or what keeps it from looking. */
int hw_why_not_listed(const char *device, char *why, size_t whylen);
/* One that did not open. */
void hw_why_not_open(struct ibv_device *dev, int answer, char *why, size_t whylen);

/* ---- verbs_event.c ---- */
int hw_nonblocking(int fd);
int hw_watch(int poll_fd, int fd);
enum hw_event {
	HW_EVENT_NONE, HW_EVENT_GONE,
	HW_EVENT_PORT_DOWN, HW_EVENT_PORT_UP, HW_EVENT_PORT,	/* the last: its facts changed */
};
/* The next one of the device or of this port; the context's descriptor does not block. */
enum hw_event hw_async_event(struct ibv_context *ctx, unsigned int port);

/* ---- verbs_fork.c ---- */
/* Around calls in which libibverbs takes locks that are not of one context. */
void hw_enter(void);
void hw_leave(void);
/* Forks are held up from here on. After the first device has been opened: then what is below has its
 * handlers already, and theirs run after this one, as locks are taken in calls. */
void hw_fork_handle(void);

#endif
