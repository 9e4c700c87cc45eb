/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapters of this machine, whether dat.conf names them or not: for dat_info(1), which finds
 * the function in libdapl-direct.so by name.
 */
#ifndef DAP_DEVICES_H
#define DAP_DEVICES_H

#include <stddef.h>

struct dapl_device {
	char name[64];			/* IA name */
	char access[16];		/* as in "model" */
	char why[160];			/* why it can not be opened, and the cure; "" when it can */
};

/* Fills at most max; returns how many there are. */
typedef size_t dapl_direct_devices_fn(struct dapl_device *devs, size_t max);
dapl_direct_devices_fn dapl_direct_devices;

#endif
