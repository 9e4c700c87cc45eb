/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the vfio-user protocol, version 0.0: a header and the command's data, in the byte order of
 * the host. File descriptors are sent with a message. QEMU, docs/interop/vfio-user.rst; region and
 * interrupt structures are those of <linux/vfio.h>.
 */
#ifndef SOFTNIC_VFIO_USER_PROTOCOL_H
#define SOFTNIC_VFIO_USER_PROTOCOL_H

#include "softnic/be.h"

enum { VM_MAJOR = 0, VM_MINOR = 0 };

enum vm_command {
	VM_VERSION = 1,
	VM_DMA_MAP = 2,
	VM_DMA_UNMAP = 3,
	VM_DEVICE_INFO = 4,
	VM_REGION_INFO = 5,
	VM_IRQ_INFO = 7,
	VM_SET_IRQS = 8,
	VM_REGION_READ = 9,
	VM_REGION_WRITE = 10,
	VM_RESET = 13,
};

/* The header's flags: four bits of type, then two single bits */
enum { VM_TYPE = 0xf, VM_TYPE_COMMAND = 0, VM_TYPE_REPLY = 1, VM_NO_REPLY = 1 << 4, VM_ERROR = 1 << 5 };

struct vm_header {
	uint16_t id, command;
	uint32_t size;			/* bytes of the whole message */
	uint32_t flags, error;
};
SN_SIZE(struct vm_header, 16);

struct vm_version {
	uint16_t major, minor;
	char data[];			/* JSON, terminated by a NUL; may be absent */
};

/* flags: VFIO_DMA_MAP_FLAG_READ and _WRITE. The descriptor may be absent. */
struct vm_dma_map {
	uint32_t argsz, flags;
	uint64_t offset, iova, size;
};
SN_SIZE(struct vm_dma_map, 32);

/* flags: VFIO_DMA_UNMAP_FLAG_ALL */
struct vm_dma_unmap {
	uint32_t argsz, flags;
	uint64_t iova, size;
};
SN_SIZE(struct vm_dma_unmap, 24);

struct vm_access {
	uint64_t offset;
	uint32_t region, count;
	uint8_t data[];
};
SN_SIZE(struct vm_access, 16);

enum {
	VM_TRANSFER_MAX = 1 << 20,	/* most bytes of data in one access */
	VM_PAYLOAD_MAX = sizeof(struct vm_access) + VM_TRANSFER_MAX,
	VM_FDS_MAX = 16,		/* most descriptors in one message */
	VM_MAPS_MAX = 1024,
};

#endif
