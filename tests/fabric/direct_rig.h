/* SPDX-License-Identifier: BSD-2-Clause */
/* Both ends of what two processes share past their rings, in this one. */
#ifndef TESTS_FABRIC_DIRECT_RIG_H
#define TESTS_FABRIC_DIRECT_RIG_H

#include "softnic/fabric/direct.h"

#define DIRECT_START UINT64_C(0x10000)

extern struct sn_direct_ctl *words;	/* of the direction from us to it: both of its ends */
extern struct sn_direct us, it;
extern uint8_t *memory;			/* granted by it to key 7, QP 9, from DIRECT_START on */
extern int direct_socks[2];		/* of us, of it */

void direct_open(size_t len);
/* From now on the system call fails with EPERM. */
void direct_forbid(long call);

#endif
