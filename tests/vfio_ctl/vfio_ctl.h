/* SPDX-License-Identifier: BSD-2-Clause */
/* A device by VFIO as the driver meets it: see tests/uverbs/calls.h for the calls of the libraries. */
#ifndef TESTS_VFIO_CTL_H
#define TESTS_VFIO_CTL_H

#include <dlfcn.h>
#include <linux/vfio.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "tests/uverbs/calls.h"

#define VFIO_IA "0000:01:00.0"
#define VFIO_CHILD_IA "0000:02:00.0"

/* The model does so from here on (softnic_fault). */
int vfio_fault(const char *script);
/*
 * The thread that watches over the device does not wait between its looks from here on, and thinks
 * that it did. counter: goes on at each look (big-endian, of 24 bits), or NULL.
 */
void vfio_hurry(volatile uint32_t *counter);
/* The time of day for the calling thread, in ms since some start, from here on; 0: the true one. */
void vfio_time(uint64_t ms);
/* The calling thread does not pause in poll() without descriptors, and thinks that it did. */
void vfio_skip_pauses(bool on);
/* So many threads of the device are refused from here on. Returns how many were still to be. */
unsigned int vfio_no_threads(unsigned int times);

#endif
