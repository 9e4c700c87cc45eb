/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libibverbs and libmlx5 as this process sees them: each call of the access through the kernel or
 * by VFIO comes through here. A test can make it fail, count it, and change the values that it
 * reports.
 */
#ifndef TESTS_UVERBS_CALLS_H
#define TESTS_UVERBS_CALLS_H

#include <dlfcn.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>

/* From here to calls_stop, the n-th call fails with err, counted from 1. n = 0 makes none fail and
 * only counts. */
void calls_fail(unsigned long n, int err);
/*
 * Each call of the function with this name fails. The name may also be fcntl, F_DUPFD_CLOEXEC,
 * epoll_create1, epoll_ctl, or a call that destroys objects.
 */
void calls_fail_named(const char *name, int err);
/* Each call of the function with this name fails, except the first ones. */
void calls_fail_named_after(unsigned long first, const char *name, int err);
unsigned long calls_stop(void);		/* returns the number of calls */
const char *calls_failed(void);		/* returns the name of the call that failed last, or NULL */
/* To be called by each replaced function, with its name. Returns 0, or the errno with which the
 * function must fail, which errno has too. */
int calls_fails(const char *name);
/* Returns the errno with which a function must fail that fails only by its name and is not counted;
 * else 0. */
int calls_fails_named(const char *name);
/* Returns the number of objects of all kinds that were created and not destroyed. */
long calls_held(void);
/* calls_made() counts a created object (NULL: the creation failed), calls_ended() a destroyed object (err
 * not 0: the destruction failed). */
void *calls_made(void *made);
int calls_ended(int err);

/* The definition of the function that comes after this program's in the search order. */
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
	uint32_t max_msg_sz;		/* 0: the true value; regardless of on */
	uint8_t infiniband;		/* ports report InfiniBand */
	uint8_t cqe_version_0;		/* QUERY_HCA_CAP reports CQEs without a user index */
	uint8_t short_wqes;		/* QUERY_HCA_CAP reports a max_wqe_sz_sq of 256 bytes */
	/* whether RC data may be placed out of order: a value of the enum below */
	uint8_t reorders;
	uint8_t keeps_order;		/* a QP can request order nevertheless */
	uint8_t no_scatter;		/* scatter to CQE is not among the capabilities */
	uint8_t no_windows;		/* memory windows (imaicl) are not among the capabilities */
	uint8_t no_fetch_add;		/* "Atomic Capabilities": no fetch and add */
	uint8_t no_atomics_of_8;	/* "Atomic Capabilities": QPs have no atomics of 8 bytes */
	uint8_t no_roce_address;	/* QUERY_ROCE_ADDRESS is refused */
	int vport_mtu;			/* "NIC Vport Context"; 0: that of the device; -1: none */
	uint8_t no_errors;		/* only completion events can be subscribed to */
	uint16_t pkeys[4];
	/* a GID table; each entry has the device's first MAC */
	const struct ibv_gid_entry *gids;
	uint32_t ngids;
	/* this number of reads of the event channel report an overflow */
	int events_lost;
	/* events of port and device come from the device and not from calls_async */
	bool true_events;
	const uint8_t *router;		/* MAC to which address handles resolve */
};
enum { CALLS_REORDERS_ALL = 1, CALLS_REORDERS_RW = 2 };
extern struct calls_port calls_port;
/* The address path that the device got for the QP that became ready to receive last. */
extern uint8_t calls_path[44];
/* The counter set that the device got for the QP that left the reset state last. */
extern uint8_t calls_counter_set;
/* The set that QUERY_QP of a QP of verbs reports; 0: the true one. */
extern uint8_t calls_reported_set;

/* Raises async events of the context opened last, as the kernel does. */
void calls_async(enum ibv_event_type type, unsigned int port);
void calls_vanish(void);		/* reports that the device is gone */
/* Exchanges the pipe of the context's async events and the true descriptor. */
void calls_swap_async(struct ibv_context *ctx);
/* To be called with the descriptor of each channel of completion events that is created. */
void calls_channel(int fd);
/* From here on each such channel is in the state of a descriptor that gone() opens, and reads of it find no
 * event. */
void calls_end_channels(int (*gone)(void));
/* Does a read of this channel find no event because of that? Such reads are counted. */
bool calls_channel_ended(int fd);
unsigned long calls_vain_reads(void);

#endif
