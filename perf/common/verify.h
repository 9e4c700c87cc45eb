/* SPDX-License-Identifier: BSD-2-Clause */
/* Data that proves itself: every byte follows from a seed, the round and its place. */
#ifndef PERF_VERIFY_H
#define PERF_VERIFY_H

#include <stddef.h>
#include <stdint.h>

void pattern_fill(void *buf, size_t len, uint64_t seed, uint64_t round);

/* Offset of the first byte that differs, or len when all are right. */
size_t pattern_check(const void *buf, size_t len, uint64_t seed, uint64_t round);

#endif
