/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of the functions and their IOMMU groups, for softnic-run and the front. */
#ifndef SOFTNIC_VFIO_NAMES_H
#define SOFTNIC_VFIO_NAMES_H

enum {
	VF_GROUP = 11,			/* of the first function; each has its own group */
	VF_VENDOR = 0x15b3,
	VF_DEVICE_ID = 0x101d,
	VF_SUBSYSTEM = 0x0001,
	VF_CLASS = 0x0200,		/* network, Ethernet */
};

/* The argument is the bus, from 1 on. */
#define VF_PCI_NAME "0000:%02x:00.0"
enum { VF_PCI_NAME_SIZE = sizeof("0000:00:00.0") };

#endif
