/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of the functions and their IOMMU groups, for softnic-run and the front. */
#ifndef SOFTNIC_VFIO_NAMES_H
#define SOFTNIC_VFIO_NAMES_H

enum {
	/* number of the first function's group; each function has its own group */
	VF_GROUP = 11,
	VF_VENDOR = 0x15b3,
	VF_DEVICE_ID = 0x101d,
	VF_SUBSYSTEM = 0x0001,
	VF_CLASS = 0x0200,		/* PCI class: network, Ethernet */
};

/* The argument is the number of the bus, from 1 on. */
#define VF_PCI_NAME "0000:%02x:00.0"
enum { VF_PCI_NAME_SIZE = sizeof("0000:00:00.0") };

#endif
