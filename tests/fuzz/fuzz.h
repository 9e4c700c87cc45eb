/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target is one file that defines the two functions of libFuzzer. Its line "Judges:" names the files
 * whose coverage scripts/fuzz prints.
 */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the run, and libFuzzer stores the input. */
#define FUZZ_ASSERT(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

static inline void fuzz_fail(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: this should be true: %s\n", file, line, condition);
	abort();
}

#endif
