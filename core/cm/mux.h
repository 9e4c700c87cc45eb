/* SPDX-License-Identifier: BSD-2-Clause */
/* mux.c: the stream that all connections between two processes share. */
#ifndef DAP_CM_MUX_H
#define DAP_CM_MUX_H

#include "core/cm/conn.h"

/* Puts the connection on the mux to its peer. Returns 0 or -errno; -ENOENT: use TCP. */
int cm_mux_join(struct dap_cm_conn *c);
/* Makes a mux of an accepted socket, and owns it. Connections of the peer get this role. */
void cm_mux_accepted(int fd, const union dap_addr *at, const struct cm_role *passive);
/* Removes the connection; what it queued is still sent. Starts the idle timer after the last
 * one. */
void cm_mux_leave(struct dap_cm_conn *c);
void cm_mux_drop_all(void);
/* After fork(): forgets the parent's connections. */
void cm_mux_forget_all(void);
void cm_mux_flush(struct cm_mux *mux);
/* Flushes the muxes that wait for the end of the turn. */
void cm_mux_flush_all(void);
/* Returns false if nothing had arrived. The caller owns the loop. */
bool cm_mux_read(struct cm_mux *mux);

#endif
