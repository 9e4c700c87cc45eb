/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of struct dap_hw, by file. */
#ifndef EFA_OPS_H
#define EFA_OPS_H

#include "hw_efa/obj.h"

/* ia.c */
extern const struct dap_hw efa_hw;

/* mr.c */
int efa_pz_create(struct dap_pz *pz);
int efa_pz_destroy(struct dap_pz *pz);
int efa_lmr_create(struct dap_lmr *lmr);
int efa_lmr_destroy(struct dap_lmr *lmr);
int efa_rmr_destroy(struct dap_rmr *rmr);

/* cq.c */
int efa_cq_create(struct dap_evd *evd, unsigned int entries);
int efa_cq_resize(struct dap_evd *evd, unsigned int entries);
int efa_cq_destroy(struct dap_evd *evd);
bool efa_cq_poll(struct dap_evd *evd, struct dap_event *ev);
int efa_cq_arm(struct dap_evd *evd, bool solicited_only);
void efa_cq_disarm(struct dap_evd *evd);
int efa_cq_fd(struct dap_evd *evd);
bool efa_cq_drain_fd(struct dap_evd *evd);
void efa_cq_settle(struct dap_evd *evd);

/* decode.c */
void efa_describe(const struct dap_obj *obj, char *line, size_t len);

/* qp.c */
void efa_set_shape(struct efa_ia *ia);
/* Returns the memory of an endpoint with 64 requests and 64 receives, its queues included. */
size_t efa_ep_memory(const struct efa_ia *ia);
int efa_qp_create(struct dap_ep *ep);
int efa_qp_destroy(struct dap_ep *ep);
/* Destroys the QP, but keeps the endpoint. */
void efa_qp_end(struct dap_ep *ep);

/* ah.c */
/* Sets cold->ah to the address handle of the endpoint's peer. */
int efa_ah_get(struct dap_ep *ep);
void efa_ah_put(struct dap_ep *ep);

/* conn.c */
int efa_qp_address(struct dap_ep *ep);
int efa_qp_connect(struct dap_ep *ep);
void efa_qp_settle(struct dap_ep *ep);
int efa_qp_error(struct dap_ep *ep);
const char *efa_qp_why(struct dap_ep *ep);
void efa_qp_idle(struct dap_ep *ep, bool *recv_idle, bool *request_idle);
int efa_recv_count(struct dap_ep *ep, uint32_t *recvs);
void efa_ep_total(struct dap_ep *ep, struct dap_ep_counts *counts);
bool efa_qp_drain_done(struct dap_ep *ep);
void efa_qp_look(struct dap_ep *ep);

#endif
