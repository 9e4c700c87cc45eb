/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SOFTNIC_POPULATE_H
#define SOFTNIC_POPULATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Populates the pages, which detects holes and write protection, as the kernel does when it pins them.
 * Returns 0 or -EFAULT. Kernels before 5.14 lack that madvise(): there an invalid range is detected only
 * at its use.
 */
int softnic_populate(uint64_t start, uint64_t len, bool write);

#endif
