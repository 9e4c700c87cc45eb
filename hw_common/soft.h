/* SPDX-License-Identifier: BSD-2-Clause */
/* What the accesses to a software adapter in this process have in common. */
#ifndef HW_SOFT_H
#define HW_SOFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct softnic_violation;

/*
 * Tests: the n-th (from 1) request of any kind to any of these accesses fails, once; 0 ends it.
 * Returns how many there were since the last call.
 */
unsigned long hw_soft_fail(unsigned long n);
/* True when this request is the one to fail. */
bool hw_soft_fails(void);

/* "soft-x-0" with the prefix "soft-x-" and that many devices. */
bool hw_soft_index(const char *ia_name, const char *prefix, unsigned int devices,
		   unsigned int *index);

/* What pinning would find out: every page is there, and writable if asked. 0, -EFAULT, -ENOMEM. */
int hw_soft_pages(uint64_t addr, uint64_t len, bool write);

/*
 * Says what the device holds against its driver. Violations whose names begin with one of_consumer
 * (a NULL ends them) are a consumer's, or the peer's. True: there were others.
 */
bool hw_soft_report(const struct softnic_violation *v, size_t n, const char *const *of_consumer);

#endif
