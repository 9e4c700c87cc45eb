/* SPDX-License-Identifier: BSD-2-Clause */
/* mux.c: lines, the streams that the connections between two processes share. */
#ifndef DAP_CM_MUX_H
#define DAP_CM_MUX_H

#include "core/cm/conn.h"

/* Puts the connection on the line to its peer: -errno, -ENOENT where TCP has to do. */
int cm_mux_join(struct dap_cm_conn *c);
/* A line that somebody has called; the fd is taken. Connections that the peer requests get this role. */
void cm_mux_accepted(int fd, const struct sockaddr_in *at, const struct cm_role *passive);
/* The line knows it no more; what is queued still goes out. Its timer runs where it was the last. */
void cm_mux_leave(struct dap_cm_conn *c);
void cm_mux_drop_all(void);
/* What the child inherited of them. */
void cm_mux_forget_all(void);
void cm_mux_flush(struct cm_mux *mux);
/* All that wait for the end of the turn. */
void cm_mux_flush_all(void);
/* False where nothing had come. With the turn. */
bool cm_mux_read(struct cm_mux *mux);

#endif
