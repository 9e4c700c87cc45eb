/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heap of DPDK's EAL, if the program runs one. It is found among the loaded libraries, never
 * loaded or started from here.
 */
#ifndef M5_EAL_H
#define M5_EAL_H

#include <stddef.h>

/* Returns NULL if no EAL runs in this process, or its heap has no such block. align: a power of
 * two. */
void *m5_eal_malloc(size_t len, unsigned int align);
void m5_eal_free(void *p);

#endif
