/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAP_USER_H
#define DAP_USER_H

#include <stdbool.h>

/* The process at the other end of this local socket has the effective user of this process. */
bool dap_user_is_ours(int fd);

#endif
