/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the life of an IA and of an endpoint needs of the connection code (ep_connect.c, psp.c,
 * cr.c): it is started, stopped, and told when an object goes away.
 */
#ifndef DAP_CONN_H
#define DAP_CONN_H

#include "core/dap.h"

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

#endif
