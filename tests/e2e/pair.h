/* SPDX-License-Identifier: BSD-2-Clause */
/* Two connected ends for each test of a file. */
#ifndef TESTS_E2E_PAIR_H
#define TESTS_E2E_PAIR_H

#include "tests/e2e/ends.h"

static inline void setup(void)
{
	pair_open(&a, &b);
}

#endif
