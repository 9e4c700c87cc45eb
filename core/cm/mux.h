/* SPDX-License-Identifier: BSD-2-Clause */
/* mux.c: lines, the streams that the connections between two processes share. */
#ifndef DAP_CM_MUX_H
#define DAP_CM_MUX_H

#include "core/cm/conn.h"

/* Puts the connection on the line to its peer: -errno, -ENOENT where TCP has to do. */
int cm_line_join(struct dap_cm_conn *c);
/* A line that somebody has called; the fd is taken. Connections that the peer requests get this role. */
void cm_line_accepted(int fd, const struct sockaddr_in *at, const struct cm_role *passive);
/* The line knows it no more; what is queued still goes out. Its timer runs where it was the last. */
void cm_line_leave(struct dap_cm_conn *c);
void cm_lines_drop(void);
/* What the child inherited of them. */
void cm_lines_forget(void);
void cm_line_flush(struct cm_line *line);
/* All that wait for the end of the turn. */
void cm_lines_flush(void);
/* False where nothing had come. With the turn. */
bool cm_line_read(struct cm_line *line);

#endif
