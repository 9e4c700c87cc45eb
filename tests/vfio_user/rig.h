/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A vfio-user client like QEMU, and above it a driver that boots the device as Linux does. The server
 * runs in a thread of this process, at the other end of a socket pair. Failures end the test.
 */
#ifndef TESTS_VFIO_USER_RIG_H
#define TESTS_VFIO_USER_RIG_H

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "softnic/mlx5/prm.h"
#include "softnic/vfio_user/vm.h"
#include "tests/harness/harness.h"

enum {
	RIG_RAM_AT = 0x100000,		/* bus address of the guest's memory */
	RIG_RAM = 1 << 20,
	RIG_PAGES = 128,		/* number of pages for the firmware */
	RIG_REPLY = VM_PAYLOAD_MAX,
};

struct rig {
	struct vm_device *dev;
	pthread_t thread;
	int sock, served;		/* the client's end and the server's end */
	int ram_fd, bar_fd;
	uint8_t *ram;
	/* all of BAR 0, including the pages that a client may not map; or NULL */
	uint8_t *bar;
	uint16_t id;
	unsigned int given;		/* number of pages given */
	uint8_t in[4096], out[8192];	/* input and output of a command that needs no mailboxes */
	uint8_t reply[RIG_REPLY];
	size_t reply_len;
	/* the descriptor of the last reply, or -1; the test closes it */
	int reply_fd;
};

extern atomic_uint rig_lines;		/* number of lines in reports of all devices */

/* opens a device and a client that has agreed on a version */
struct rig *rig_open(void);
struct rig *rig_open_with(const struct vm_config *config);
void rig_close(struct rig *r);
/* Connects a new client of the same device. The test negotiates the version. */
void rig_connect(struct rig *r);
/* closes the connection, and waits until the server has seen it */
void rig_hang_up(struct rig *r);
/* hangs up, and connects a new client that agrees on a version */
void rig_reconnect(struct rig *r);
bool rig_is_cut(struct rig *r);		/* true if the server has closed the connection */

/* ---- Messages */
struct rig_fds {
	const int *fd;
	unsigned int n;
};
void rig_send(struct rig *r, const struct vm_header *h, const void *payload, size_t len, struct rig_fds fds);
/* Returns the errno of the reply. Its data is in the rig. */
int rig_receive(struct rig *r);
/* Sends a request, checks the reply's header, and returns its errno. */
int rig_request(struct rig *r, enum vm_command command, const void *payload, size_t len);
int rig_request_fds(struct rig *r, enum vm_command command, const void *payload, size_t len,
		    struct rig_fds fds);
int rig_version(struct rig *r);
/* fd -1: the range has no file */
int rig_map(struct rig *r, uint64_t iova, uint64_t size, int fd, uint64_t offset);
int rig_unmap(struct rig *r, uint64_t iova, uint64_t size);
int rig_read(struct rig *r, uint32_t region, uint64_t offset, void *data, uint32_t len);
int rig_write(struct rig *r, uint32_t region, uint64_t offset, const void *data, uint32_t len);
int rig_set_irqs(struct rig *r, uint32_t index, uint32_t start, uint32_t count, struct rig_fds fds);
unsigned int rig_reports(const struct rig *r);

/* ---- The guest's driver */
void rig_set_reg(struct rig *r, uint32_t offset, uint32_t value);
void rig_map_bar(struct rig *r);
/* sets opcode and op_mod in r->in, which is zero otherwise */
void rig_begin(struct rig *r, uint16_t opcode, uint16_t op_mod);
/* runs the command and returns its status */
uint8_t rig_run(struct rig *r, size_t inlen, size_t outlen);
uint8_t rig_simple(struct rig *r, uint16_t opcode, uint16_t op_mod);
/* starts the command, and does not wait for it */
void rig_ring(struct rig *r, size_t inlen, size_t outlen);
/* starts the command without ringing the doorbell */
void rig_give(struct rig *r, size_t inlen, size_t outlen);
void rig_boot(struct rig *r);		/* probes the device, then sends ENABLE_HCA to INIT_HCA */
bool rig_works(struct rig *r);		/* true if a PD can be created and freed */
/* boots the device, checks that it works, and closes the rig */
void rig_boot_and_close(struct rig *r);
uint32_t rig_alloc_uar(struct rig *r);
/* Creates an EQ in page n of the EQs, for the events of the mask. */
uint32_t rig_create_eq(struct rig *r, uint32_t uar, unsigned int n, uint8_t vector, uint64_t events);
void rig_arm_eq(struct rig *r, uint32_t uar, uint32_t eqn, uint32_t ci);
uint64_t rig_violations(struct rig *r, const char *name);
/* A page of the guest's memory: its bus address, and a pointer to it. */
enum { RIG_EQ_PAGE = 200 };
uint64_t rig_page(struct rig *r, unsigned int n, uint8_t **at);

#endif
