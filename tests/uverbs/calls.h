/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libibverbs and libmlx5 as seen by this process: each call of the access through the kernel, or by
 * VFIO, passes through here. It can fail, be counted, and return other values than the true ones.
 */
#ifndef TESTS_UVERBS_CALLS_H
#define TESTS_UVERBS_CALLS_H

#include <dlfcn.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>

/* From here to calls_stop, the n-th call (from 1) fails with err. n = 0 only counts. */
void calls_fail(unsigned long n, int err);
/*
 * Every call of that name fails. The name may also be fcntl, F_DUPFD_CLOEXEC, epoll_create1,
 * epoll_ctl, or a call that destroys objects.
 */
void calls_fail_named(const char *name, int err);
/* The same, for every call after the first ones. */
void calls_fail_named_after(unsigned long first, const char *name, int err);
unsigned long calls_stop(void);		/* returns the number of calls */
const char *calls_failed(void);		/* returns the name of the call that failed last, or NULL */
/* Called by each replaced function with its name. Returns 0, or the errno to fail with, which errno
 * holds, too. */
int calls_fails(const char *name);
/* The same for a function that only fails by name, and is not counted. */
int calls_fails_named(const char *name);
/* Number of objects created and not destroyed, of all kinds. */
long calls_held(void);
/* These count a created object (NULL: it failed) and a destroyed one, by the return value. */
void *calls_made(void *made);
int calls_ended(int err);

/* The next definition after this program's. */
#define CALLS_REAL(name)                                                                                 \
	({                                                                                         \
		static __typeof__(&(name)) real_;                                                  \
		if (!real_)                                                                        \
			real_ = (__typeof__(&(name)))dlsym(RTLD_NEXT, #name);                      \
		real_;                                                                             \
	})

/* Values reported instead of the true ones. */
struct calls_port {
	bool on;
	enum ibv_port_state state;
	uint8_t link_layer;
	uint16_t lid;
	uint8_t infiniband;		/* ports report InfiniBand */
	uint8_t cqe_version_0;		/* QUERY_HCA_CAP reports CQEs without a user index */
	/* RC data may be placed out of order: a value of the enum below */
	uint8_t reorders;
	uint8_t keeps_order;		/* and a QP can request order */
	uint8_t no_roce_address;	/* QUERY_ROCE_ADDRESS is refused */
	uint8_t no_errors;		/* only completion events can be subscribed to */
	uint16_t pkeys[4];
	/* a GID table; each entry has the device's first MAC */
	const struct ibv_gid_entry *gids;
	uint32_t ngids;
	int events_lost;		/* this many reads of the event channel overflow */
	bool true_events;		/* port and device events come from the device, not from
					 * calls_async */
	const uint8_t *router;		/* MAC to which address handles resolve */
};
enum { CALLS_REORDERS_ALL = 1, CALLS_REORDERS_RW = 2 };
extern struct calls_port calls_port;
/* The address path of the last QP that became ready to receive, as given to the device. */
extern uint8_t calls_path[44];

/* Raises async events of the context opened last, as the kernel does. */
void calls_async(enum ibv_event_type type, unsigned int port);
void calls_vanish(void);		/* reports that the device is gone */

#endif
