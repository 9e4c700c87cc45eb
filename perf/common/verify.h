/* SPDX-License-Identifier: BSD-2-Clause */
/* Test data: each byte depends on a seed, the round and its position. */
#ifndef PERF_VERIFY_H
#define PERF_VERIFY_H

#include <stddef.h>
#include <stdint.h>

void pattern_fill(void *buf, size_t len, uint64_t seed, uint64_t round);

/* Returns the offset of the first wrong byte, or len if all are right. */
size_t pattern_check(const void *buf, size_t len, uint64_t seed, uint64_t round);

#endif
