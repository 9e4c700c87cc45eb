/* SPDX-License-Identifier: BSD-2-Clause */
/* A device behind VFIO as the driver sees it. tests/uverbs/calls.h has the calls of the libraries. */
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

/*
 * From here on the health thread does not wait between its checks, and its clock advances. counter:
 * incremented at each check (big-endian, of 24 bits), or NULL.
 */
void vfio_hurry(volatile uint32_t *counter);
/* From here on, a registration of 1 GiB and more pins memory until a health thread that does not wait
 * (vfio_hurry) has made that number of checks. Then it fails with ENOMEM. */
void vfio_pin_for(unsigned int times);
/* From here on the health thread begins its work that much later. */
void vfio_late(unsigned int ms);
/* Sets the calling thread's clock, in ms since an arbitrary start; 0: the true time. */
void vfio_time(uint64_t ms);
/* From here on, the calling thread does not pause in poll() without descriptors; its clock advances
 * instead. */
void vfio_skip_pauses(bool on);
/* Makes this number of threads of the device fail to start. Returns how many of the previous number were
 * left. */
unsigned int vfio_no_threads(unsigned int times);
/* Called when the device has an EQ and the driver does not know it yet; NULL: not called. */
extern void (*vfio_eq_made)(const struct mlx5dv_devx_eq *eq);

#endif
