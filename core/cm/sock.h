/* SPDX-License-Identifier: BSD-2-Clause */
/* sock.c: sockets, descriptors and names. It takes no lock and uses nothing else of the manager. */
#ifndef DAP_CM_SOCK_H
#define DAP_CM_SOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "core/addr.h"

uint16_t cm_port_of(uint64_t conn_qual);

/* The abstract name of the handoff listener for this qualifier. */
socklen_t cm_handoff_name(uint64_t conn_qual, struct sockaddr_un *name);
/* The abstract name of the local listener beside a TCP port. */
socklen_t cm_local_name(const union dap_addr *at, struct sockaddr_un *name);
/* Returns the socket, or -errno; -ENOENT: use TCP. */
int cm_local_connect(const union dap_addr *to);
/* A pair of connected sockets; the name of the first one contains the address at. */
int cm_local_pair(const union dap_addr *at, int fd[2]);
/* Parses the name of such a socket; false for any other name. */
bool cm_local_parse(const struct sockaddr_un *name, socklen_t len, union dap_addr *at);

void cm_sock_options(int fd);
/* Stores both ends' addresses, of a local socket those of its listener. False: not connected. */
bool cm_sock_ends(int fd, union dap_addr *own, union dap_addr *peer);
/* Call this once the socket is connected. Returns true if the peer is on this host. */
bool cm_sock_connected(int fd);

/* Sends fd along with the bytes; returns what sendmsg(2) returns. */
ssize_t cm_send_fd(int sock, struct iovec *iov, size_t n, int fd);
/* Returns the bytes received, or -errno. *fd: the descriptor that came along, -ENOENT for none, -EMFILE
 * if one came and this process may have no more, or -EPROTO for several; those are closed. */
ssize_t cm_recv_fd(int sock, void *to, size_t room, int *fd);

#endif
