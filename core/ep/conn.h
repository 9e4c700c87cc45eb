/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of an IA and an endpoint to the connection code (connect.c, psp.c, cr.c): it starts with
 * the IA, stops with it, and abandons the connections of an object that is freed.
 */
#ifndef DAP_CONN_H
#define DAP_CONN_H

#include "core/dap.h"

struct dap_psp;

/* ---- connect.c, disconnect.c ---- */
/* Starts the connection manager of an IA and watches the backend's asynchronous events. */
int dap_conn_open(struct dap_ia *ia);
/* Stops it and cuts the connections. No callback for any object of the IA runs after this
 * returns. */
void dap_conn_close(struct dap_ia *ia);
/* The endpoint is about to be freed: abandons its connection or attempt (the peer sees a
 * disconnection). No callback for it runs after this returns. ep->lock is not held. */
void dap_conn_ep_release(struct dap_ep *ep);
/* For an abrupt close: frees the object, whatever its state. */
void dap_sp_destroy(struct dap_psp *sp);	/* PSP or RSP */
void dap_cr_destroy(struct dap_cr *cr);
/* Returns the number of reserved service points that have had their request. They do not count as
 * open objects. */
unsigned int dap_sp_used(struct dap_ia *ia);

/* ---- what the API fronts call, by the rules of api.h ---- */
struct dap_connect_args {
	union dap_addr to;
	uint64_t conn_qual;
	uint32_t timeout_us;
	uint32_t qos;			/* if best effort, the endpoint's attributes decide */
	const void *private_data;
	uint32_t private_data_size;
};
int dap_ep_connect(struct dap_ep *ep, const struct dap_connect_args *args);
/* Fills to and conn_qual from dup's connection. */
int dap_ep_dup_connect(struct dap_ep *ep, struct dap_ep *dup, struct dap_connect_args *args);
int dap_ep_disconnect(struct dap_ep *ep, bool graceful);
int dap_ep_reset(struct dap_ep *ep);
/* any: picks a free qualifier and stores it. */
int dap_psp_create(struct dap_ia *ia, uint64_t *conn_qual, bool any, struct dap_evd *evd,
		   uint32_t flags, struct dap_psp **psp);
void dap_psp_free(struct dap_psp *psp);
/* ep NULL: the provider makes the endpoint. */
int dap_rsp_create(struct dap_ia *ia, uint64_t conn_qual, struct dap_ep *ep, struct dap_evd *evd,
		   struct dap_psp **rsp);
void dap_rsp_free(struct dap_psp *rsp);
/* Returns both as they were before a request, or NULL for both after it. */
void dap_rsp_query(struct dap_psp *rsp, struct dap_ep **ep, struct dap_evd **evd);
/* ep NULL: the request came with an endpoint. */
int dap_cr_accept(struct dap_cr *cr, struct dap_ep *ep, const void *pd, uint32_t pd_size);
void dap_cr_reject(struct dap_cr *cr, const void *pd, uint32_t pd_size);
/* Passes the request to another service point of this host, which gets its own request. */
int dap_cr_handoff(struct dap_cr *cr, uint64_t conn_qual);

#endif
