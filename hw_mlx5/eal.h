/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heap of DPDK's EAL, if the program runs one. It is found among the loaded libraries, never
 * loaded or started from here.
 */
#ifndef M5_EAL_H
#define M5_EAL_H

/* Returns a block aligned to its size, a power of two. NULL: no EAL runs in this process, or its heap
 * has no such block. */
void *m5_eal_malloc(unsigned int size);
void m5_eal_free(void *p);

#endif
