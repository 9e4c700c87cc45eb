/* SPDX-License-Identifier: BSD-2-Clause */
/* Words for memory that an adapter did not take: cause and cure. */
#ifndef HW_MEMORY_H
#define HW_MEMORY_H

#include <stddef.h>

/* A registration of memory that ended with err. */
void hw_why_memory(int err, char *why, size_t whylen);

#endif
