/* SPDX-License-Identifier: BSD-2-Clause */
/* sock.c: sockets, descriptors and names. It needs no lock and nothing else of the manager. */
#ifndef DAP_CM_SOCK_H
#define DAP_CM_SOCK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

uint16_t cm_port_of(uint64_t conn_qual);

/* The abstract name of the socket that requests for this qualifier are handed off to. */
socklen_t cm_door_name(uint64_t conn_qual, struct sockaddr_un *name);
/* The abstract name of the local listener beside a TCP port. */
socklen_t cm_near_name(struct in_addr address, uint16_t port, struct sockaddr_un *name);
/* The socket, or -errno: -ENOENT where TCP has to do. */
int cm_near_connect(const struct sockaddr_in *to);
/* A pair of connected sockets, the first with a name that says at. */
int cm_near_pair(const struct sockaddr_in *at, int fd[2]);
/* What the name of such a socket says. */
bool cm_near_read(const struct sockaddr_un *name, socklen_t len, struct sockaddr_in *at);

void cm_sock_options(int fd);
/* The addresses of both ends, of a local socket those of its listener; false while it is not
 * connected. */
bool cm_sock_ends(int fd, struct sockaddr_in *own, struct sockaddr_in *peer);
/* Once it is connected. True: to a process of this host. */
bool cm_sock_connected(int fd);

/* With bytes: what sendmsg(2) says of it. */
ssize_t cm_send_fd(int sock, struct iovec *iov, size_t n, int fd);
/* Bytes or -errno, and the descriptor that came along; -ENOENT: none; -EPROTO: there were several, and
 * all are closed. */
ssize_t cm_recv_fd(int sock, void *to, size_t room, int *fd);

#endif
