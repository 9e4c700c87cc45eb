/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages for memory that an adapter cannot register. */
#ifndef HW_MEMORY_H
#define HW_MEMORY_H

#include <stddef.h>

/* Writes cause and remedy of a registration that failed with err. */
void hw_why_memory(int err, char *why, size_t whylen);

#endif
