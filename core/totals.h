/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The totals of an IA over its endpoints and EVDs, including those that were destroyed. An object counts
 * for itself while it lives; its end moves its counts here. totals.lock makes a reader see each count
 * exactly once. It is taken inside of the locks of endpoints and EVDs; the reader takes none of these.
 */
#ifndef DAP_TOTALS_H
#define DAP_TOTALS_H

#include "core/dap.h"

struct dap_page;

struct dap_sums {
	struct { uint64_t number, bytes; } work[DAP_COUNTS];
	uint64_t dequeued, empty, cq_events, waits, sleeps;
};

struct dap_totals {
	pthread_mutex_t lock;
	struct dap_sums gone;		/* counts of endpoints and EVDs that were destroyed */
	/* atomic: connection events by number - DAP_EV_ESTABLISHED, failed completions by status - 1 */
	uint64_t connections[8], failed[DAP_RMR_OPERATION_FAILED];
};

/* From here on the counts of the endpoint's QP are read, until end moves them to the endpoint. */
void dap_totals_qp_begin(struct dap_ep *ep);
void dap_totals_qp_end(struct dap_ep *ep);
/* Sets counts->work: of the endpoint and of all its QPs. */
void dap_totals_ep(struct dap_ep *ep, struct dap_ep_counts *counts);
void dap_totals_ep_gone(struct dap_ep *ep);
void dap_totals_evd_begin(struct dap_evd *evd);
void dap_totals_evd_gone(struct dap_evd *evd);

/* Fills page->value. */
void dap_totals_read(struct dap_ia *ia, struct dap_page *page);

#endif
