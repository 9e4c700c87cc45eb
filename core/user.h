/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAP_USER_H
#define DAP_USER_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The process at the other end of this local socket has the effective user of this process. */
bool dap_user_is_ours(int fd);
/* The same of the socket that listens on this name, for callers that cannot connect because its backlog
 * is full. False if the kernel does not report the owner: Linux before 5.3, or without unix_diag. */
bool dap_user_has_listener(const struct sockaddr_un *name, socklen_t len);

#endif
