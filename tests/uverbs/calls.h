/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libibverbs and libmlx5 as this process meets them: each call that the access through the kernel, or
 * by VFIO, makes passes through here on its way, can fail, be counted, and tell something else than is so.
 */
#ifndef TESTS_UVERBS_CALLS_H
#define TESTS_UVERBS_CALLS_H

#include <dlfcn.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>

/* From here to calls_stop the n-th call (from 1) fails with err; n = 0 only counts. */
void calls_fail(unsigned long n, int err);
/* Every call of that name does; also fcntl, F_DUPFD_CLOEXEC, epoll_create1, epoll_ctl and those that
 * end objects. */
void calls_fail_named(const char *name, int err);
/* The same, of every call but the first ones. */
void calls_fail_named_after(unsigned long first, const char *name, int err);
unsigned long calls_stop(void);		/* how many there were */
const char *calls_failed(void);		/* the name of the one that failed last, or NULL */
/* A call of that name comes: 0, or the errno that it is to answer with, which errno has, too. */
int calls_fails(const char *name);
/* The same of one that only fails by name, and is not counted. */
int calls_fails_named(const char *name);
/* What has been made and not been destroyed, of all kinds. */
long calls_held(void);
/* Of a call that makes an object, NULL when it has not; of one that ends it, its answer. */
void *calls_made(void *made);
int calls_ended(int err);

/* The definition that comes after this program's. */
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
	uint8_t infiniband;		/* it says that its ports are InfiniBand */
	uint8_t cqe_version_0;		/* QUERY_HCA_CAP says that CQEs carry no user index */
	uint8_t reorders;		/* it says that RC data may be placed out of order: enum below */
	uint8_t keeps_order;		/* ... and will not, of a QP that asks for that */
	uint8_t no_roce_address;	/* it refuses QUERY_ROCE_ADDRESS */
	uint8_t no_errors;		/* only completion events can be subscribed to */
	uint16_t pkeys[4];
	const struct ibv_gid_entry *gids;	/* a GID table; each with the device's first MAC */
	uint32_t ngids;
	int events_lost;		/* this many reads of the event channel overflow */
	bool true_events;		/* of port and device come from the device, not by calls_async */
	const uint8_t *router;		/* the MAC that address handles lead to */
};
enum { CALLS_REORDERS_ALL = 1, CALLS_REORDERS_RW = 2 };
extern struct calls_port calls_port;
/* The address path of the last QP that became ready to receive, as given to the device. */
extern uint8_t calls_path[44];

/* Async events of the context opened last, as the kernel hands them out. */
void calls_async(enum ibv_event_type type, unsigned int port);
void calls_vanish(void);		/* the device is gone */

#endif
