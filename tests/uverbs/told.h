/* SPDX-License-Identifier: BSD-2-Clause */
/* Two connected ends, and what the consumer of the one opened last hears of its device. */
#ifndef TESTS_UVERBS_TOLD_H
#define TESTS_UVERBS_TOLD_H

#include "tests/e2e/rig.h"

extern struct end told_a, told_b;

void told_open(void);
void told_close(void);
void told(DAT_EVENT_NUMBER number);
void told_moves(void);			/* a message still comes through */
void told_died(void);			/* the device is gone, and with it the connection */

#endif
