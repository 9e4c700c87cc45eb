/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device that a backend opens: an IA name such as "ib0-1", or what ia_params select, "name port"
 * (core/param.h). Port 0 stands for a port that was not given.
 */
#ifndef HW_DEVICE_H
#define HW_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the root of the kernel's classes: SYSFS_PATH, which libibverbs uses, too, or /sys. */
const char *hw_sysfs(void);

/*
 * Finds the kernel's RDMA device and its port. The name in "name port" may also be that of a
 * network interface, an IP address of this machine, or "device-port". Returns 0, -ENODEV if text
 * has none of these forms or the interface has no RDMA device, or -EINVAL if it names another port
 * than the interface's. why is set if an interface was found.
 */
int hw_device_split(const char *text, char *device, size_t len, uint8_t *port, char *why, size_t whylen);

/* Does the name of a device end here? */
bool hw_device_ends(const char *rest);

/* For an adapter with one port. Returns 0, or -EINVAL with the reason in why if text selects a port other
 * than 1. */
int hw_device_only_port(const char *text, char *why, size_t whylen);

#endif
