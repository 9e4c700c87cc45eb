/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of struct dap_hw, by file. */
#ifndef M5_OPS_H
#define M5_OPS_H

#include "core/hw.h"

/* async.c */
int m5_ia_async_fd(struct dap_ia *ia);
void m5_ia_async_handle(struct dap_ia *ia);

#define M5_LAST_WQE_MS 1000u
#define M5_LAST_WQE_AGAIN_MS 10u
#define M5_FLUSH_MS 100u
#define M5_FLUSH_AGAIN_MS 1u

/* mr.c */
int m5_pz_create(struct dap_pz *pz);
int m5_pz_destroy(struct dap_pz *pz);
int m5_lmr_create(struct dap_lmr *lmr);
int m5_lmr_destroy(struct dap_lmr *lmr);

/* rmr.c */
int m5_rmr_create(struct dap_rmr *rmr);
int m5_rmr_destroy(struct dap_rmr *rmr);

/* cq.c */
int m5_cq_create(struct dap_evd *evd, unsigned int entries);
int m5_cq_resize(struct dap_evd *evd, unsigned int entries);
int m5_cq_destroy(struct dap_evd *evd);
int m5_cq_arm(struct dap_evd *evd, bool solicited_only);
int m5_cq_fd(struct dap_evd *evd);
bool m5_cq_drain_fd(struct dap_evd *evd);

/* count.c */
void m5_cq_settle(struct dap_evd *evd);
int m5_recv_count(struct dap_ep *ep, uint32_t *recvs);
void m5_ep_total(struct dap_ep *ep, struct dap_ep_counts *counts);
void m5_cq_total(struct dap_evd *evd, uint64_t *dequeued, uint64_t *missed, uint64_t *events);

/* clock.c */
void m5_stamp(struct dap_ia *ia, uint64_t raw, struct dap_stamp *stamp);

/* qp.c */
int m5_qp_create(struct dap_ep *ep);
int m5_qp_destroy(struct dap_ep *ep);

/* srq.c */
int m5_srq_create(struct dap_srq *srq);
int m5_srq_destroy(struct dap_srq *srq);
int m5_srq_resize(struct dap_srq *srq, uint32_t recvs);
int m5_srq_limit(struct dap_srq *srq, uint32_t limit);
int m5_srq_count(struct dap_srq *srq, uint32_t *available, uint32_t *outstanding);

/* conn.c */
void m5_qp_idle(struct dap_ep *ep, bool *recv_idle, bool *request_idle);
int m5_qp_address(struct dap_ep *ep);
int m5_qp_connect(struct dap_ep *ep);
/* Moves the QP to the error state; waits, for a limited time, until the device has flushed it. With an SRQ
 * it handles asynchronous events meanwhile. */
int m5_qp_error(struct dap_ep *ep);
/* Moves the QP to the error state; waits, for a limited time, until the device has flushed the
 * WQEs taken from the SRQ. */
void m5_qp_last_wqe(struct dap_ep *ep);
void m5_qp_drain_begin(struct dap_ep *ep);
bool m5_qp_drain_done(struct dap_ep *ep);

#endif
