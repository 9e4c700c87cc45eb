/* SPDX-License-Identifier: BSD-2-Clause */
/* Two connected ends, and the device events that the consumer of the IA opened last gets. */
#ifndef TESTS_UVERBS_TOLD_H
#define TESTS_UVERBS_TOLD_H

#include "tests/e2e/rig.h"

extern struct end told_a, told_b;

void told_open(void);
void told_close(void);
void told(DAT_EVENT_NUMBER number);
/* checks that the device has failed, and the connection with it */
void told_died(void);
/* The channels of completion events get into the state in which the kernel leaves them when it takes the
 * device away: see calls_end_channels(). Checks that a thread that waits for an EVD, or its CNO, sleeps. */
void told_sleeps(int (*gone)(void));
/* The same for a CNO that gets the EVD when the device is gone. */
void told_cno_sleeps(int (*gone)(void));

#endif
