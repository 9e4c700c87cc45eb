/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A vfio-user client, as QEMU is one, and below it a driver that boots the device as Linux does. The server's
 * side runs in a thread of this process, at the other end of a socket pair. Failures end the test.
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
	RIG_PAGES = 128,		/* for the firmware */
	RIG_REPLY = VM_PAYLOAD_MAX,
};

struct rig {
	struct vm_device *dev;
	pthread_t thread;
	int sock, served;		/* both ends */
	int ram_fd, bar_fd;
	uint8_t *ram;
	uint8_t *bar;			/* all of BAR 0, also what is not offered for mapping; or NULL */
	uint16_t id;
	unsigned int given;		/* pages */
	uint8_t in[4096], out[8192];	/* a command of the device, flat */
	uint8_t reply[RIG_REPLY];
	size_t reply_len;
	int reply_fd;			/* of the last reply, or -1: the test's to close */
};

extern atomic_uint rig_lines;		/* of reports, of all devices */

struct rig *rig_open(void);		/* a device and a client that has agreed on a version */
struct rig *rig_open_with(const struct vm_config *config);
void rig_close(struct rig *r);
/* A new client of the same device; the test negotiates. */
void rig_connect(struct rig *r);
void rig_hang_up(struct rig *r);	/* until the server has seen it */
bool rig_is_cut(struct rig *r);		/* the server has closed the connection */

/* ---- messages */
struct rig_fds {
	const int *fd;
	unsigned int n;
};
void rig_send(struct rig *r, const struct vm_header *h, const void *payload, size_t len, struct rig_fds fds);
/* The reply's errno; what came with it is in the rig. */
int rig_receive(struct rig *r);
/* Sends a request, checks the reply's header, and gives its errno. */
int rig_request(struct rig *r, enum vm_command command, const void *payload, size_t len);
int rig_request_fds(struct rig *r, enum vm_command command, const void *payload, size_t len,
		    struct rig_fds fds);
int rig_version(struct rig *r);
int rig_map(struct rig *r, uint64_t iova, uint64_t size, int fd, uint64_t offset);	/* fd -1: none */
int rig_unmap(struct rig *r, uint64_t iova, uint64_t size);
int rig_read(struct rig *r, uint32_t region, uint64_t offset, void *data, uint32_t len);
int rig_write(struct rig *r, uint32_t region, uint64_t offset, const void *data, uint32_t len);
int rig_set_irqs(struct rig *r, uint32_t index, uint32_t start, uint32_t count, struct rig_fds fds);
unsigned int rig_reports(const struct rig *r);

/* ---- the guest's driver */
uint32_t rig_reg(struct rig *r, uint32_t offset);	/* of BAR 0, big-endian */
void rig_set_reg(struct rig *r, uint32_t offset, uint32_t value);
void rig_map_bar(struct rig *r);
void rig_probe(struct rig *r);		/* maps memory, turns mastering on, gives the queue's address */
void rig_begin(struct rig *r, uint16_t opcode, uint16_t op_mod);	/* r->in, else zero */
uint8_t rig_run(struct rig *r, size_t inlen, size_t outlen);	/* the command's status */
uint8_t rig_simple(struct rig *r, uint16_t opcode, uint16_t op_mod);
void rig_ring(struct rig *r, size_t inlen, size_t outlen);	/* gives it, and does not wait */
void rig_give(struct rig *r, size_t inlen, size_t outlen);	/* without the doorbell */
void rig_boot(struct rig *r);		/* rig_probe, then ENABLE_HCA to INIT_HCA */
bool rig_works(struct rig *r);		/* a PD can be made and freed */
uint32_t rig_alloc_uar(struct rig *r);
/* An EQ in page n of the EQs, for the events of the mask. */
uint32_t rig_create_eq(struct rig *r, uint32_t uar, unsigned int n, uint8_t vector, uint64_t events);
void rig_arm_eq(struct rig *r, uint32_t uar, uint32_t eqn, uint32_t ci);
uint64_t rig_violations(struct rig *r, const char *name);
/* Memory of the guest for one page: its bus address, and where it is. */
enum { RIG_EQ_PAGE = 200 };
uint64_t rig_page(struct rig *r, unsigned int n, uint8_t **at);

#endif
