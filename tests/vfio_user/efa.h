/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A driver of the EFA that writes each byte itself, over the rig's client: registers, admin queue,
 * event queue and a QP. Entries are written by byte offsets, apart from the server's layout.
 * Failures end the test.
 */
#ifndef TESTS_VFIO_USER_EFA_H
#define TESTS_VFIO_USER_EFA_H

#include "softnic/vfio_user/efa/efa.h"
#include "tests/vfio_user/rig.h"

enum { EFA_REG_BAR = 0, EFA_MEM_BAR = 2, EFA_DB_BAR = 4 };
/* Pages of the guest's memory. */
enum { EFA_AQ = 0, EFA_ACQ = 1, EFA_MMIO = 2, EFA_EQ = 3, EFA_CQ = 4, EFA_RQ = 5, EFA_LISTS = 8,
       EFA_DATA = 32 };
enum { EFA_DEPTH = 32, EFA_SQ = 64, EFA_RQ_DEPTH = 16, EFA_QKEY = 0x11223344 };

/* A command of the admin queue, and its response. */
struct efa_op {
	uint8_t in[64], out[64];
};

struct efa_guest {
	struct rig *r;
	struct efa_op op;
	uint16_t pc, id;		/* counter of the admin queue; number of register reads */
	uint8_t *queues;		/* the mapping of BAR 2 */
	uint16_t uar, pd, eqn, cq, ah, qpn;
	uint32_t qp, lkey, rkey;
	uint32_t sq_at, sq_db, rq_db, cq_db;
	uint32_t sq_pc, rq_pc, cq_cc, eq_cc, arms;
	int irq[2];			/* eventfds of the admin queue and of the EQ */
};
/* The region has as many pages as its length needs, and one more because it begins inside a
 * page. */
enum { EFA_DATA_PAGES = 16 };
#define EFA_DATA_VA UINT64_C(0x70000800)
/* returns the address of a byte of the region */
uint8_t *efa_data(struct efa_guest *g, uint32_t at);

struct rig *efa_open(const char *profile);
uint64_t efa_violations(struct rig *r, const char *name);
void efa_put(void *to, unsigned int at, unsigned int bytes, uint64_t v);
uint64_t efa_get(const void *from, unsigned int at, unsigned int bytes);

/* reads a register, whose value comes as a response in memory */
uint32_t efa_reg(struct efa_guest *g, uint16_t offset);
void efa_set_reg(struct rig *r, uint32_t offset, uint32_t value);
/* Maps memory, enables bus mastering, resets the device, and gives it the admin queues. */
void efa_probe(struct efa_guest *g, struct rig *r);
/* sets the opcode in g->op.in, which is zero otherwise */
uint8_t *efa_op(struct efa_guest *g, uint8_t opcode);
/* runs the command and returns its status; the rest of the response is in g->op.out */
uint8_t efa_run(struct efa_guest *g);
/* runs a command with a word at offset 4 */
uint8_t efa_simple(struct efa_guest *g, uint8_t opcode, uint32_t value);
bool efa_works(struct efa_guest *g);			/* true if a PD can be created and freed */

/* Calls efa_probe, then creates an EQ, a CQ with events, an SRD QP, and the region, whose pages are
 * in reverse order. */
void efa_boot(struct efa_guest *g, struct rig *r);
void efa_ready(struct efa_guest *g);			/* moves the QP through its states to RTS */
void efa_meet(struct efa_guest *g, const struct efa_guest *peer);
void efa_post_recv(struct efa_guest *g, uint32_t at, uint16_t len);
void efa_post_send(struct efa_guest *g, const struct efa_guest *peer, uint32_t at, uint32_t len);
void efa_post_write(struct efa_guest *g, const struct efa_guest *peer, uint32_t at, uint32_t len);
void efa_ring(struct efa_guest *g, uint32_t offset, uint32_t value);	/* stores into BAR 4 */
/* returns the status of the next completion; -1: there is none */
int efa_poll(struct efa_guest *g);
int efa_wait(struct efa_guest *g);
void efa_arm(struct efa_guest *g);			/* arms the CQ and the EQ */
/* waits for an interrupt with an event of the CQ */
bool efa_event(struct efa_guest *g);
void efa_end(struct efa_guest *g);

#endif
