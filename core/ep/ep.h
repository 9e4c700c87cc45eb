/* SPDX-License-Identifier: BSD-2-Clause */
/* What creating and modifying an endpoint share. */
#ifndef DAP_EP_INT_H
#define DAP_EP_INT_H

#include "core/api.h"
#include "core/hw.h"

struct core_ep {
	struct dap_ep pub;		/* what a backend sees of it */

	pthread_mutex_t lock;		/* slow path: state, connection */
	bool attached;			/* recv_evd and request_evd know it */
	bool provided;			/* made for a request, not yet accepted: not the consumer's */
	struct dap_evd *connect_evd;
	struct dap_ep *srq_next;	/* in srq->eager */
	/* High watermarks of receives; the soft one is attr.srq_soft_hw. While it is counted, and
	 * under the lock of recv_evd: those filled and not dequeued, and the most of them yet. */
	uint32_t hard_high, held, held_most;
	bool soft_due;			/* the event for the soft one is still to come */
	bool counted;
	struct dap_ep *counted_next;	/* in recv_evd->counted */
	struct dap_cm_conn *conn;
	struct dap_cr *cr;		/* the request it is to be accepted with */
	struct sockaddr_in local_addr, remote_addr;
	uint64_t local_qual, remote_qual;	/* that are listened to; 0 of the end that connects */
	bool active_side;		/* it connected: to remote_addr, remote_qual */
	struct dap_ep_counts counts;
	struct dap_timer drain, broken;
	uint32_t drain_looks;		/* how often a graceful disconnect still looks */
	uint32_t incarnation;		/* of its QP; a reset makes another; atomic */
	uint32_t breaking;		/* incarnation + 1 reported broken, or 0; atomic */
	uint64_t *cleared;		/* as an EVD's */
	uint32_t private_data_size;
	uint8_t private_data[DAP_MAX_PRIVATE_DATA];
};

/* pub comes first: a handle is the address of either. */
static inline struct core_ep *core_ep(const struct dap_ep *ep)
{
	return (struct core_ep *)(uintptr_t)ep;
}

/* Joins the EVDs, making internal ones where the consumer gave none, and creates the QP. Without a PZ
 * it only joins those that there are. On failure recv_evd and request_evd are unspecified. */
int dap_ep_attach(struct dap_ep *ep);
/* Undoes it; completions not yet dequeued are gone. recv_evd and request_evd are left dangling. */
void dap_ep_detach(struct dap_ep *ep);

/* ---- recv.c; ep->lock is held, or nobody knows the endpoint yet ---- */
/* The attribute srq_soft_hw of an endpoint with an SRQ; 0 is for none. INVALID_PARAMETER. */
int dap_ep_soft_high(struct dap_ep *ep, uint32_t soft);
/* Counts receives if there is a watermark to compare them with. */
int dap_ep_count(struct dap_ep *ep);
/* Does so no more. */
void dap_ep_uncount(struct dap_ep *ep);

#endif
