/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between core and a backend. Slow calls are here. The hot calls are DAT-typed
 * functions of the backend (core/hot.h) that provider tables call directly.
 *
 * Functions return 0 or -errno unless noted. Core serializes calls for one object; calls for
 * different objects may come from any threads at the same time.
 */
#ifndef DAP_HW_H
#define DAP_HW_H

#include "core/dap.h"
#include "core/devices.h"

struct dap_param;

struct dap_hw {
	const char *name;
	const char *accesses;		/* names of the accesses built in, for dat_info(1) */
	const struct dap_param *params;	/* keys of ia_params that this backend reads; ends with a NULL key */

	/* Fills at most max of the devices this backend knows; returns their number. */
	size_t (*list)(struct dapl_device *devs, size_t max);
	/* Returns -ENODEV if no device of this backend has the name. why gets cause and remedy.
	 * Fills ia->caps. */
	int (*open)(struct dap_ia *ia, const char *ia_params, char *why, size_t whylen);
	void (*close)(struct dap_ia *ia);
	/* Before the connection manager stops: ends the backend's timers. Or NULL. */
	void (*stop)(struct dap_ia *ia);
	/* Hot functions: struct dap_hot of that API level, or NULL. In a threadsafe instance any
	 * threads may call them, and cq_poll, at the same time. */
	const void *(*hot)(const struct dap_ia *ia, enum dap_api api);
	/* Asynchronous device events: returns a pollable fd. The connection manager's thread calls
	 * the handler, which calls dap_ep_broken, dap_evd_overflow, dap_srq_low, dap_srq_broken or
	 * dap_ia_fatal. */
	int (*async_fd)(struct dap_ia *ia);
	void (*async_handle)(struct dap_ia *ia);

	int (*pz_create)(struct dap_pz *pz);
	int (*pz_destroy)(struct dap_pz *pz);

	/* Registers [lmr->addr, +length) with lmr->priv in lmr->pz; sets contexts and reg_*. */
	int (*lmr_create)(struct dap_lmr *lmr);
	/* All access has ended when it or rmr_destroy returns 0. If one of them fails, the device may still
	 * allow access. */
	int (*lmr_destroy)(struct dap_lmr *lmr);

	int (*rmr_create)(struct dap_rmr *rmr);		/* NULL: core clears the object, which suffices */
	int (*rmr_destroy)(struct dap_rmr *rmr);

	/* Creates a CQ of at least that many entries for the EVD. */
	int (*cq_create)(struct dap_evd *evd, unsigned int entries);
	/* Resizes the CQ without loss of completions. NULL: not supported. */
	int (*cq_resize)(struct dap_evd *evd, unsigned int entries);
	int (*cq_destroy)(struct dap_evd *evd);
	/* Fills ev with one completion; returns false if there is none. Only the consumer's thread
	 * calls it. */
	bool (*cq_poll)(struct dap_evd *evd, struct dap_event *ev);
	/* Arms the CQ: the next completion makes cq_fd readable. */
	int (*cq_arm)(struct dap_evd *evd, bool solicited_only);
	/* Nothing waits for cq_fd any more. NULL: a CQ that stays armed costs nothing. */
	void (*cq_disarm)(struct dap_evd *evd);
	int (*cq_fd)(struct dap_evd *evd);
	/* True: the device is gone. cq_fd stays readable, although no event comes, and must not be polled. */
	bool (*cq_drain_fd)(struct dap_evd *evd);
	/* Events returned by hot dequeues, hot dequeues that found none, and completion events from
	 * the adapter. NULL: unknown. A snapshot. */
	void (*cq_total)(struct dap_evd *evd, uint64_t *dequeued, uint64_t *missed,
			 uint64_t *events);
	/* Converts the timestamp of a completion; 0: there is none. A software adapter may write
	 * timestamps only after the first call. NULL: the adapter writes none. */
	void (*stamp)(struct dap_ia *ia, uint64_t raw, struct dap_stamp *stamp);
	/* Waits until every hot dequeue that may have read the old value of evd->slow has
	 * returned. */
	void (*cq_settle)(struct dap_evd *evd);

	/* A queue of srq->max_recv_dtos receives with srq->max_recv_iov segments; sets room, the
	 * most that srq_resize can make. -EINVAL: too many. */
	int (*srq_create)(struct dap_srq *srq);
	int (*srq_destroy)(struct dap_srq *srq);
	/* Sets max_recv_dtos; to more than asked if the receives in use prevent shrinking that far.
	 * -EBUSY: more are outstanding; -ENOMEM: more than room. The poster's thread calls it. */
	int (*srq_resize)(struct dap_srq *srq, uint32_t recvs);
	/* Calls dap_srq_low once, when fewer than limit receives are left; 0: never. */
	int (*srq_limit)(struct dap_srq *srq, uint32_t limit);
	/* Counts receives: not taken by an endpoint; posted and not dequeued. A snapshot. */
	int (*srq_count)(struct dap_srq *srq, uint32_t *available, uint32_t *outstanding);

	/* Creates the QP of an endpoint with ep->attr, EVDs, PZ and SRQ; it can take receives
	 * (INIT). */
	int (*qp_create)(struct dap_ep *ep);
	/* Returns, for each direction, whether all posted work has been dequeued. A snapshot. */
	void (*qp_idle)(struct dap_ep *ep, bool *recv_idle, bool *request_idle);
	/* Receives of the endpoint without a completion from the adapter. -EAGAIN: unknown, because
	 * an endpoint of the SRQ is in the middle of a message. A snapshot. */
	int (*recv_count)(struct dap_ep *ep, uint32_t *recvs);
	/* Fills what was posted to its own queues since the QP was created: sends, writes, reads
	 * and receives; of receives also those completed in any way, and the bytes of plain ones.
	 * Leaves the other counts alone; it may fill those of failed receives. A snapshot. */
	void (*ep_total)(struct dap_ep *ep, struct dap_ep_counts *counts);
	/* Fills ep->local_path, with a random PSN. */
	int (*qp_address)(struct dap_ep *ep);
	/* Moves the QP to RTR and RTS towards ep->remote_path. */
	int (*qp_connect)(struct dap_ep *ep);
	/* Moves the QP to the error state: all work is flushed, posted or still to be posted. */
	int (*qp_error)(struct dap_ep *ep);
	/* The peer has ended the connection, or a request or receive has failed: completes earlier
	 * requests that have reached the peer, for a limited time, before qp_error. NULL: their
	 * completions always come first. */
	void (*qp_settle)(struct dap_ep *ep);
	/* Returns the reason of dap_ep_broken(), for the peer's log; may return NULL. NULL:
	 * unknown. */
	const char *(*qp_why)(struct dap_ep *ep);
	/* Graceful disconnect: begin marks the end of the send queue (the caller is its only
	 * poster; NULL: no mark is needed); done reports, from any thread, whether everything before
	 * the mark has completed. */
	void (*qp_drain_begin)(struct dap_ep *ep);
	bool (*qp_drain_done)(struct dap_ep *ep);
	/* The peer asked for progress with dap_ep_look(): poll the CQ and acknowledge. Optional. */
	void (*qp_look)(struct dap_ep *ep);
	/* Drops the QP's completions that were not dequeued: afterwards the EVDs have none. */
	int (*qp_destroy)(struct dap_ep *ep);

	/* Writes one line about an endpoint's queues or an EVD's CQ for the log; for another object
	 * nothing. A snapshot, of objects that may be half made. NULL: the backend has no such
	 * line. */
	void (*describe)(const struct dap_obj *obj, char *line, size_t len);
};

/* The built-in backends, NULL-terminated; open tries each until one knows the name. */
extern const struct dap_hw *const dap_backends[];

#endif
