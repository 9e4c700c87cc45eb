/* SPDX-License-Identifier: BSD-2-Clause */
/* The two ends of a file of tests, which are closed after each test. */
#ifndef TESTS_E2E_ENDS_H
#define TESTS_E2E_ENDS_H

#include "tests/e2e/rig.h"

static struct end a, b;

static inline void teardown(void)
{
	pair_close(&a, &b);
}

#endif
