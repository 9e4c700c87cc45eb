/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the accesses to software adapters in this process. */
#ifndef HW_SOFT_H
#define HW_SOFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct softnic_violation;

/* Rows of a table of ia_params (core/param.h). The target struct has these fields. */
#define HW_SOFT_PARAMS(target)                                                                     \
	{ .key = "seed", .most = UINT64_MAX, DAP_PARAM_AT(target, seed),                           \
	  .meaning = "software adapter: seed of random keys, order, faults; 0: from the kernel" }, \
	{ .key = "strict", .most = 1, DAP_PARAM_AT(target, strict),                                \
	  .meaning = "software adapter, 1: abort if the device found an error of the driver" },    \
	{ .key = "adversarial", .most = 1, DAP_PARAM_AT(target, adversarial),                      \
	  .meaning = "software adapter, 1: delay work, and overwrite what it has consumed" },      \
	{ .key = "variant", .type = DAP_PARAM_CHOICE, .words = hw_soft_variants, .least = true,    \
	  DAP_PARAM_AT(target, silicon), .without = "driven by its callers",                       \
	  .meaning = "software adapter, silicon: a thread drives it, and calls are as on hardware" }, \
	{ .key = "fault", .type = DAP_PARAM_SCRIPT, DAP_PARAM_AT(target, fault),                   \
	  .without = "no faults",                                                                  \
	  .meaning = "software adapter: fault script, such as drop=0.01 or drop:op=send,psn=+3" }
extern const char *const hw_soft_variants[];

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

/*
 * Logs the device's complaints about its driver. Violations whose names begin with one of
 * of_consumer (NULL-terminated) are the consumer's or the peer's. Returns true if there were
 * others.
 */
bool hw_soft_report(const char *device, const struct softnic_violation *v, size_t n,
		    const char *const *of_consumer);

#endif
