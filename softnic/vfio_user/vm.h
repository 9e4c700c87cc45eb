/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internals of softnic-vm, a vfio-user server: each device has a socket, through which a guest's QEMU
 * presents it as a PCI function. The models are accessed only through softnic.h and softnic_efa.h.
 * Config space, interrupts and the table of maps are shared with the other VFIO front
 * (softnic/vfio/pci.h).
 *
 * Threads: one per device receives and executes messages; only it changes the maps. The model's thread
 * calls back for memory and interrupts. Locks, outermost first: the model's, then that of the maps or of
 * the interrupts.
 *
 * The client is not trusted: it, or its guest, may send anything. An invalid message is reported and
 * answered with an error. A message with an impossible length ends the connection, because the start of
 * the next message is unknown.
 */
#ifndef SOFTNIC_VFIO_USER_VM_H
#define SOFTNIC_VFIO_USER_VM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/softnic.h"
#include "softnic/vfio/pci.h"
#include "softnic/vfio_user/protocol.h"

enum { VM_DEVICES_MAX = 16 };
enum { VF_MSIX_BAR = 2 };		/* the BAR with the MSI-X table of a ConnectX */

struct vm_config {
	const char *name;		/* name of the device in reports: the path of its socket */
	unsigned int index, ports;
	bool infiniband, physical;	/* physical: the function is a PF, not a VF */
	const char *efa;		/* the device is an EFA of this profile; NULL: a ConnectX */
	bool verbose;			/* the violations of a client's driver are reported when it closes */
	void (*report)(const char *line);	/* NULL: reports go to stderr */
};

struct vm_device;

/* The operations of a kind of device. BARs are numbered like regions. */
enum { VM_AREAS = 2 };
struct vm_kind {
	/* Also sets config.id, config.bar and bar_fd. Returns 0 or -errno */
	int (*open)(struct vm_device *dev);
	void (*close)(struct vm_device *dev);
	void (*reset)(struct vm_device *dev);
	void (*settle)(struct vm_device *dev);		/* vm_settle() calls it */
	/* Returns the violations and clears them. */
	size_t (*violations)(struct vm_device *dev, struct softnic_violation *v, size_t max);
	/* The areas of the BAR that the client may map, from bar_fd: returns their number. */
	unsigned int (*mappable)(const struct vm_device *dev, uint32_t bar,
				 struct vfio_region_sparse_mmap_area area[VM_AREAS]);
	/* Accesses a BAR; the whole range is inside it. The BAR of the MSI-X table is handled before. */
	void (*read)(struct vm_device *dev, uint32_t bar, uint8_t *to, uint64_t offset, uint32_t count);
	int (*write)(struct vm_device *dev, uint32_t bar, const uint8_t *from, uint64_t offset,
		     uint32_t count);
};
extern const struct vm_kind vm_connectx, vm_efa;

struct vm_device {
	struct vm_config given;
	const struct vm_kind *kind;
	struct softnic *nic;		/* the model of a ConnectX */
	struct vm_efa *efa;		/* the EFA */
	int bar_fd;
	int stop_fd;			/* readable when the server ends */
	struct vf_config config;
	struct vf_irqs irqs;
	struct vf_maps maps;
	uint8_t msix[VF_MSIX_SIZE];
	/* The first half of a doorbell that a client of 32 bits writes in two. */
	struct {
		bool there;
		uint64_t offset;
		uint32_t word;
	} half;
	atomic_uint reports;		/* number of reports since the client connected */
};

/* ---- Functions of device.c */
/* returns 0 or -errno */
int vm_device_open(const struct vm_config *config, struct vm_device **dev);
void vm_device_close(struct vm_device *dev);
/* ends vm_serve() and vm_listen_run(); any thread may call it */
void vm_device_stop(struct vm_device *dev);
void vm_device_reset(struct vm_device *dev);	/* a function-level reset; maps and interrupts stay */
/* call this when the client is gone: resets the device to its state after vm_device_open() */
void vm_device_leave(struct vm_device *dev);
/* Reports an error of the client, up to a limit. */
void vm_report(struct vm_device *dev, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- Functions of message.c */
struct vm_message {
	struct vm_header header;
	/* buffer of VM_PAYLOAD_MAX bytes, and the number of bytes in it: */
	uint8_t *in;
	size_t len;
	int fds[VM_FDS_MAX];		/* descriptors of the message */
	unsigned int nfds;
	bool fds_lost;			/* the message had too many descriptors */

	uint8_t *out;			/* buffer of the reply, VM_PAYLOAD_MAX bytes */
	size_t out_len;
	int out_fd;			/* descriptor to send with the reply, or -1 */
};
int vm_message_init(struct vm_message *m);	/* returns 0 or -ENOMEM */
void vm_message_free(struct vm_message *m);
/* Returns 1; 0: the client has closed the socket; -errno, with a report if the message is the
 * cause. */
int vm_receive(struct vm_device *dev, int sock, struct vm_message *m);
int vm_reply(struct vm_device *dev, int sock, struct vm_message *m, int err);
void vm_message_close_fds(struct vm_message *m);

/* ---- A function of request.c: executes a command. Returns 0 with the reply in m, or -errno. */
int vm_execute(struct vm_device *dev, struct vm_message *m);
/* Serves a client until it disconnects, or vm_device_stop(). Closes the socket. */
void vm_serve(struct vm_device *dev, int sock);

/* ---- A function of region.c */
int vm_region_info(struct vm_device *dev, struct vm_message *m);
int vm_region_read(struct vm_device *dev, struct vm_message *m);
int vm_region_write(struct vm_device *dev, struct vm_message *m);

/* ---- Functions of memory.c */
/* Translates a bus address of dev, a struct vm_device. NULL: the function cannot access it. */
void *vm_dma(void *dev, uint64_t addr, size_t len);
/* Waits until the device no longer uses memory that it translated before. */
void vm_settle(struct vm_device *dev);
int vm_dma_map(struct vm_device *dev, struct vm_message *m);
int vm_dma_unmap(struct vm_device *dev, struct vm_message *m);
void vm_unmap_all(struct vm_device *dev);
/*
 * After this call, the memory of a truncated file of a client reads as zeros. Without it, a signal
 * ends the process. Returns 0 or -errno.
 */
int vm_memory_guard(void);

/* ---- Functions of listen.c */
struct vm_listener {
	struct vm_device *dev;
	int fd;
};
/* Creates a socket that only this user can reach; replaces one left by a dead server. Returns 0 or
 * -errno. */
int vm_listen_open(struct vm_listener *l, struct vm_device *dev);
void vm_listen_run(struct vm_listener *l);	/* serves clients in sequence until vm_device_stop() */
void vm_listen_close(struct vm_listener *l);	/* closes and removes the socket */

#endif
