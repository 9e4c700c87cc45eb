/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event queues that this process reads itself, like a kernel's interrupt handler. Events of a CQ
 * go to the eventfd of its channel, all others to a queue with its own eventfd.
 */
#ifndef M5_CTL_EQ_H
#define M5_CTL_EQ_H

#include <pthread.h>

#include "hw_mlx5/ctl/read.h"

/* Room for events that have not been read, first and at most: beyond it the oldest are lost. */
#define M5_ASYNC_FIRST 64u
#define M5_ASYNC_MOST 65536u
#define M5_CQ_BUCKETS 64

struct m5_evch {
	struct m5_ctl *ctl;
	int fd;
};

struct m5_eq {
	struct m5_eqe *ring;
	unsigned int log;		/* log2 of the entries */
	uint32_t ci, eqn;
};

struct m5_events {
	/* The interrupt handler takes this lock, so its holder must not call the device. */
	pthread_mutex_t lock;
	struct m5_cq_link *cqs[M5_CQ_BUCKETS];
	struct m5_event first[M5_ASYNC_FIRST], *more;	/* more: the ring in use, or NULL */
	unsigned int async_room, async_head, async_tail;
	bool lost;			/* events were dropped, and the reader does not know it yet */
	int async_fd;
};

/* Event mask of CREATE_EQ for objects, port and device. */
#define M5_EVENTS_OF_OBJECTS                                                                       \
	(1ull << M5_EV_CQ_ERROR | 1ull << M5_EV_WQ_CATASTROPHIC | 1ull << M5_EV_INTERNAL_ERROR |   \
	 1ull << M5_EV_PORT_CHANGE | 1ull << M5_EV_WQ_INVALID_REQUEST |                            \
	 1ull << M5_EV_WQ_ACCESS_ERROR | 1ull << M5_EV_SRQ_CATASTROPHIC |                          \
	 1ull << M5_EV_SRQ_LAST_WQE | 1ull << M5_EV_SRQ_LIMIT)

/* Returns 0 or -EMFILE. */
int m5_events_open(struct m5_events *events);
void m5_events_close(struct m5_events *events);
void m5_events_put(struct m5_events *events, const struct m5_event *ev);
/* Implements async_read of ctl.h. */
int m5_events_read(struct m5_events *events, struct m5_event *ev);
/* Drops unread events of the object with this number, which was created by this opcode. */
void m5_events_forget(struct m5_events *events, uint16_t create, uint32_t number);
/* From here on events of that CQ go to this channel only. */
void m5_events_bind(struct m5_events *events, struct m5_cq_link *cq, uint32_t cqn,
		    const struct m5_evch *ch);
void m5_events_unbind(struct m5_events *events, struct m5_cq_link *cq);

/* Opens a channel: 0, -ENOMEM or -EMFILE. No CQ may be bound to it when it is closed. */
int m5_evch_open(struct m5_ctl *ctl, struct m5_evch **ch);
void m5_evch_close(struct m5_evch *ch);
int m5_evch_fd(struct m5_evch *ch);
int m5_evch_drain(struct m5_evch *ch);

/* Gives all entries to the device. An event that the device has written before is lost. */
void m5_eq_init(struct m5_eq *eq);
/* Skips the entries that the device has written before its producer index. */
void m5_eq_skip(struct m5_eq *eq, uint32_t producer);
/*
 * Reads the next entries, one reader at a time. True: more entries may follow; ring M5_UAR_EQ_CI.
 * False: it is empty and can be armed.
 */
bool m5_eq_read(struct m5_eq *eq, struct m5_events *events);
/* The doorbell word, for CI and arm. */
be32_t m5_eq_doorbell(const struct m5_eq *eq);

#endif
