/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared memory by the name that its users have agreed on (DAT_MEM_TYPE_SHARED_VIRTUAL). While a
 * process has a name registered, no process of the same user registers other memory under the name,
 * or the memory under another name.
 */
#ifndef DAP_SHARED_H
#define DAP_SHARED_H

#include <stdint.h>

#define DAP_COOKIE_SIZE 40

/* Returns a descriptor that keeps the registration until it is closed, or -errno. -EXDEV: the
 * memory is not shared; -EEXIST: the name or the memory is registered with another; -EFAULT: no
 * such memory. */
int dap_shared_enter(const char cookie[DAP_COOKIE_SIZE], uint64_t addr, uint64_t length);

#endif
