/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of the endpoint. */
#ifndef DAP_EP_INT_H
#define DAP_EP_INT_H

#include "core/api.h"
#include "core/hw.h"

struct core_ep {
	struct dap_ep pub;		/* the part that backends see */

	pthread_mutex_t lock;		/* slow path: state, connection */
	bool attached;			/* recv_evd and request_evd count it as a feeder */
	/* made for a request that is not accepted yet, so the provider owns it */
	bool provided;
	bool active_side;		/* this side requested the connection */
	bool counted;			/* in the list recv_evd->counted, under that EVD's lock */
	struct dap_evd *connect_evd;
	struct dap_ep *srq_next;	/* link in srq->eager */
	/* High watermarks of receives; the soft one is removed when its event is posted. While counted,
	 * and under the lock of recv_evd: receives filled but not dequeued, and their maximum so far. */
	uint32_t soft_high, hard_high, held, held_most;
	struct dap_ep *counted_next;	/* link in recv_evd->counted */
	struct dap_cm_conn *conn;
	struct dap_cr *cr;		/* the request it will accept */
	/* the peer may send, and ESTABLISHED is not posted yet; written under lock and recv_evd's lock */
	bool early;
	bool qp_counts;			/* the QP has its own counts; see core/totals.h */
	union dap_addr local_addr, remote_addr;
	uint64_t local_qual, remote_qual;	/* listening qualifiers; 0 on the active side */
	struct dap_ep_counts counts;
	/* drain polls an internal request EVD while CONNECTED, and checks a graceful disconnect */
	struct dap_timer drain, broken;
	uint32_t drain_looks;		/* checks left in a graceful disconnect */
	uint32_t incarnation;		/* number of its QP, incremented by reset; atomic */
	uint32_t breaking;		/* incarnation + 1 if reported broken, else 0; atomic */
	uint32_t private_data_size;
	uint64_t *cleared;		/* 2.0: counters at the last reset, or NULL */
	uint8_t private_data[DAP_MAX_PRIVATE_DATA];
};

/* pub is the first member, so a handle is the address of both structs. */
static inline struct core_ep *core_ep(const struct dap_ep *ep)
{
	return (struct core_ep *)(uintptr_t)ep;
}

/* Joins the EVDs, creates internal ones if the consumer gave none, and creates the QP. Without a PZ
 * it only joins the EVDs given. A failure leaves recv_evd and request_evd as they were. */
int dap_ep_attach(struct dap_ep *ep);
/* Attaches the endpoint again. After a failure it has no QP, but still feeds its EVDs, so that they cannot
 * be freed. */
int dap_ep_reattach(struct dap_ep *ep);
/* Undoes dap_ep_attach() and drops completions not yet dequeued. recv_evd and request_evd are the
 * consumer's again. */
void dap_ep_detach(struct dap_ep *ep);

/* ---- recv.c; ep->lock is held, or the endpoint is not visible yet ---- */
/* Converts the attribute srq_soft_hw of an endpoint with an SRQ to a watermark; 0: none. May return
 * INVALID_PARAMETER. */
int dap_ep_soft_mark(uint32_t *soft);
/* Sets the soft watermark and the attribute. */
int dap_ep_soft_high(struct dap_ep *ep, uint32_t soft);
/* Starts counting receives if a watermark is set. */
int dap_ep_count(struct dap_ep *ep);
/* Stops counting receives. */
void dap_ep_uncount(struct dap_ep *ep);

#endif
