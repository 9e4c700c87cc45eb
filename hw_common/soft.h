/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the accesses to software adapters in this process. */
#ifndef HW_SOFT_H
#define HW_SOFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct softnic_violation;

/*
 * For tests: the n-th (from 1) request of any kind to any of these accesses fails once; 0 turns it
 * off. Returns the number of requests since the last call.
 */
unsigned long hw_soft_fail(unsigned long n);
/* Returns true if this request must fail. */
bool hw_soft_fails(void);

/* Parses "soft-x-0", or "soft-x-0 1", for the prefix "soft-x-" and that many devices. */
bool hw_soft_index(const char *ia_name, const char *prefix, unsigned int devices,
		   unsigned int *index);

/* Checks what pinning would: every page exists, and is writable if asked. Returns 0, -EFAULT or
 * -ENOMEM. */
int hw_soft_pages(uint64_t addr, uint64_t len, bool write);

/*
 * Logs the device's complaints about its driver. Violations whose names begin with one of
 * of_consumer (NULL-terminated) are the consumer's or the peer's. Returns true if there were
 * others.
 */
bool hw_soft_report(const struct softnic_violation *v, size_t n, const char *const *of_consumer);

#endif
