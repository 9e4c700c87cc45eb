/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The seam between core and a backend. Slow calls are here; the hot calls are DAT-typed functions
 * of the backend (core/hot.h) that go straight into the provider tables.
 *
 * Functions return 0 or -errno unless they say otherwise. Core serialises calls about one object;
 * calls about different objects come from any threads at the same time.
 */
#ifndef DAP_HW_H
#define DAP_HW_H

#include "core/dap.h"

struct dap_hw_device {
	char name[64];			/* IA name */
	char access[16];		/* as in "model" */
	char why[160];			/* why it can not be opened, and the cure; "" when it can */
};

struct dap_param;

struct dap_hw {
	const char *name;
	const char *accesses;		/* those built in, for dat_info(1) */
	const struct dap_param *params;	/* its keys of ia_params; ends with a NULL key */

	/* Devices this backend knows; returns how many there are, fills at most max. */
	size_t (*list)(struct dap_hw_device *devs, size_t max);
	/* -ENODEV: not a name of this backend. why gets cause and cure in words. Fills ia->caps. */
	int (*open)(struct dap_ia *ia, const char *ia_params, char *why, size_t whylen);
	void (*close)(struct dap_ia *ia);
	/* Before the connection manager goes: the end of timers that are the backend's. Or NULL. */
	void (*stop)(struct dap_ia *ia);
	/* Hot functions: struct dap_hot of that API level, or NULL. Those of a threadsafe
	 * instance, and cq_poll there, may be called by any threads at the same time. */
	const void *(*hot)(const struct dap_ia *ia, enum dap_api api);
	/* Asynchronous device events: a pollable fd; the handler turns them into dap_ep_broken,
	 * dap_evd_overflow, dap_srq_low, dap_srq_broken, dap_ia_fatal. Called by the connection
	 * manager's thread. */
	int (*async_fd)(struct dap_ia *ia);
	void (*async_handle)(struct dap_ia *ia);

	int (*pz_create)(struct dap_pz *pz);
	int (*pz_destroy)(struct dap_pz *pz);

	/* Registers [lmr->addr, +length) with lmr->priv in lmr->pz; sets contexts and reg_*. */
	int (*lmr_create)(struct dap_lmr *lmr);
	int (*lmr_destroy)(struct dap_lmr *lmr);

	int (*rmr_create)(struct dap_rmr *rmr);
	/* Remote access has ended when it returns. */
	int (*rmr_destroy)(struct dap_rmr *rmr);

	/* A CQ of at least entries behind the EVD. */
	int (*cq_create)(struct dap_evd *evd, unsigned int entries);
	/* NULL when it can not; loses no completion. */
	int (*cq_resize)(struct dap_evd *evd, unsigned int entries);
	int (*cq_destroy)(struct dap_evd *evd);
	/* One completion as an event: true, or false when there is none. The consumer's thread only. */
	bool (*cq_poll)(struct dap_evd *evd, struct dap_event *ev);
	/* The next completion makes cq_fd readable. */
	int (*cq_arm)(struct dap_evd *evd, bool solicited_only);
	int (*cq_fd)(struct dap_evd *evd);
	void (*cq_drain_fd)(struct dap_evd *evd);
	/* Events that hot dequeues have taken off the CQ, hot dequeues that found none, and how often
	 * the adapter has told of completions. NULL where that is not known. A snapshot. */
	void (*cq_total)(struct dap_evd *evd, uint64_t *dequeued, uint64_t *missed,
			 uint64_t *told);
	/* Waits until each hot dequeue that may not have seen evd->slow has returned. */
	void (*cq_settle)(struct dap_evd *evd);

	/* A queue of srq->max_recv_dtos receives with srq->max_recv_iov segments; says how many
	 * srq_resize can make of them (room). -EINVAL: more than it can. */
	int (*srq_create)(struct dap_srq *srq);
	int (*srq_destroy)(struct dap_srq *srq);
	/* Sets max_recv_dtos, to more than asked where what is in use does not let it shrink so far.
	 * -EBUSY: more are outstanding; -ENOMEM: more than room. The poster's thread. */
	int (*srq_resize)(struct dap_srq *srq, uint32_t recvs);
	/* dap_srq_low once, when fewer than limit receives are left; 0: never. */
	int (*srq_limit)(struct dap_srq *srq, uint32_t limit);
	/* Posted and not taken by an endpoint; posted and not dequeued. A snapshot. */
	int (*srq_count)(struct dap_srq *srq, uint32_t *available, uint32_t *outstanding);

	/* The QP of an endpoint with ep->attr, EVDs, PZ and SRQ, able to take receives (INIT). */
	int (*qp_create)(struct dap_ep *ep);
	/* Nothing posted and not yet dequeued, in each direction. A snapshot. */
	void (*qp_idle)(struct dap_ep *ep, bool *recv_idle, bool *request_idle);
	/* Receives that the endpoint has and that the adapter has made no completion for. -EAGAIN:
	 * nobody knows, some endpoint of the SRQ is in the middle of a message. A snapshot. */
	int (*recv_count)(struct dap_ep *ep, uint32_t *recvs);
	/* What has been posted, to its own queues, since the QP was made: sends, writes, reads and
	 * receives; and of receives, those completed in any way, and the bytes of plain ones. All else
	 * of counts stays as it is. NULL where that is not known. A snapshot. */
	void (*ep_total)(struct dap_ep *ep, struct dap_ep_counts *counts);
	/* Fills ep->local_path; draws a random PSN. */
	int (*qp_address)(struct dap_ep *ep);
	/* To RTR and RTS towards ep->remote_path. */
	int (*qp_connect)(struct dap_ep *ep);
	/* To the error state: everything posted flushes, and what will be posted. */
	int (*qp_error)(struct dap_ep *ep);
	/* The peer has ended the connection in due form: requests that have reached it are completed,
	 * for as long as that makes sense, before qp_error. NULL: their completions are never later
	 * than such a word. */
	void (*qp_settle)(struct dap_ep *ep);
	/* Why it called dap_ep_broken(), for the peer; NULL, as the answer: nobody knows. */
	const char *(*qp_why)(struct dap_ep *ep);
	/* Graceful disconnect: begin marks the end of the send queue (caller is its one poster);
	 * done tells, from any thread, whether all before the mark has completed. */
	int (*qp_drain_begin)(struct dap_ep *ep);
	bool (*qp_drain_done)(struct dap_ep *ep);
	/* The peer has called dap_ep_look(): what has come is taken, and that is told. Or NULL. */
	void (*qp_look)(struct dap_ep *ep);
	/* Completions not yet dequeued are gone from the EVDs when it returns. */
	int (*qp_destroy)(struct dap_ep *ep);
};

/* The backends built in, NULL-terminated; open tries each until one knows the name. */
extern const struct dap_hw *const dap_backends[];

#endif
