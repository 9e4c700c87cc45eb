/* SPDX-License-Identifier: BSD-2-Clause */
/* One end of this process, and a peer that dies: each test opens what it needs. */
#ifndef TESTS_E2E_DEATH_H
#define TESTS_E2E_DEATH_H

#include "tests/e2e/peer.h"

static struct end s;
static struct th_child peer;

static inline void setup(void)
{
}

static inline void teardown(void)
{
	th_kill(&peer);
	end_close(&s);
}

#endif
