/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAP_USER_H
#define DAP_USER_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Is the process at the other end of this local socket of our effective user? */
bool dap_user_is_ours(int fd);
/* Returns true if a socket of our user listens on this name. For callers that cannot connect
 * because the socket's backlog is full. False if the kernel does not report the owner: Linux before
 * 5.3, or without unix_diag. */
bool dap_user_has_listener(const struct sockaddr_un *name, socklen_t len);

#endif
