/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the life of an IA and of an endpoint needs of the connection code (connect.c, psp.c,
 * cr.c): it is started, stopped, and told when an object goes away.
 */
#ifndef DAP_CONN_H
#define DAP_CONN_H

#include "core/dap.h"

/* ---- connect.c, disconnect.c ---- */
/* Starts the connection manager of an IA and watches the backend's asynchronous events. */
int dap_conn_open(struct dap_ia *ia);
/* Stops it: no callback about any object of the IA after this returns. Conns are cut. */
void dap_conn_close(struct dap_ia *ia);
/* The endpoint is about to be freed: its connection or attempt is abandoned (the peer sees a
 * disconnection), and no callback about it comes after this returns. ep->lock is not held. */
void dap_conn_ep_release(struct dap_ep *ep);
/* For an abrupt close: the object is gone when these return, whatever its state. */
void dap_sp_destroy(struct dap_psp *sp);	/* PSP or RSP */
void dap_cr_destroy(struct dap_cr *cr);
/* Reserved service points that have had their request: handles that count for nothing any more. */
unsigned int dap_sp_spent(struct dap_ia *ia);

/* ---- what the API fronts call, by the rules of api.h ---- */
struct dap_connect_args {
	struct sockaddr_in to;
	uint64_t conn_qual;
	uint32_t timeout_us;
	const void *private_data;
	uint32_t private_data_size;
};
int dap_ep_connect(struct dap_ep *ep, const struct dap_connect_args *args);
/* to and conn_qual are those of dup. */
int dap_ep_dup_connect(struct dap_ep *ep, struct dap_ep *dup, struct dap_connect_args *args);
int dap_ep_disconnect(struct dap_ep *ep, bool graceful);
int dap_ep_reset(struct dap_ep *ep);
/* any: picks a qualifier and stores it. */
int dap_psp_create(struct dap_ia *ia, uint64_t *conn_qual, bool any, struct dap_evd *evd,
		   uint32_t flags, struct dap_psp **psp);
void dap_psp_free(struct dap_psp *psp);
/* ep is NULL for one of the provider's. */
int dap_rsp_create(struct dap_ia *ia, uint64_t conn_qual, struct dap_ep *ep, struct dap_evd *evd,
		   struct dap_psp **rsp);
void dap_rsp_free(struct dap_psp *rsp);
/* ep is NULL where the request came with one. */
int dap_cr_accept(struct dap_cr *cr, struct dap_ep *ep, const void *pd, uint32_t pd_size);
void dap_cr_reject(struct dap_cr *cr, const void *pd, uint32_t pd_size);
/* To another service point of the host, which makes a request of its own of it. */
int dap_cr_handoff(struct dap_cr *cr, uint64_t conn_qual);

#endif
