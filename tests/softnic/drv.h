/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A driver of a few hundred lines, for one process and one device. It can do everything right, and can
 * be made to do each thing wrong. It is written only from softnic.h and the manual.
 */
#ifndef TEST_SOFTNIC_DRV_H
#define TEST_SOFTNIC_DRV_H

#include "softnic/mlx5/prm.h"
#include "softnic/softnic.h"

enum { DRV_EQ_LOG = 6, DRV_IN = 0x110 + 8 * 4096, DRV_OUT = 0x1010 };

struct drv_eq {
	uint32_t eqn, ci;
	uint8_t *ring;
	unsigned int log;
};

struct drv {
	struct softnic *nic;
	uint32_t pd, uar;
	struct drv_eq eq;		/* the EQ for completions and all asynchronous events */
	unsigned int irqs;
	uint64_t refuse_at, refuse_len;	/* the range that the IOMMU refuses */
	uint8_t in[DRV_IN], out[DRV_OUT];
};

struct drv_cq {
	struct drv *d;
	uint32_t cqn, ci, umem;
	unsigned int log, arm_sn;
	uint8_t *ring;
	uint32_t *dbr;
	bool keep_ci;			/* the driver does not publish the consumer index of the CQ */
};

struct drv_qp {
	struct drv *d;
	struct drv_cq *scq, *rcq;
	uint32_t qpn;
	unsigned int log_sq, log_rq, rq_stride;
	uint8_t *mem, *rq, *sq;
	size_t len;
	uint32_t umem, uar;
	uint32_t *dbr;
	uint16_t pi, rq_pi;
};

/*
 * An SRQ: a list of WQEs of 64 bytes, linked as libmlx5 does it. The last free WQE is never posted.
 */
struct drv_srq {
	struct drv *d;
	uint32_t rmpn, pd, umem;
	unsigned int log;
	uint8_t *mem;
	uint32_t *dbr;
	uint16_t head, tail, pi;
};

struct drv_mr {
	uint32_t index, key;
	uint8_t *mem;
	size_t len;
};

struct drv_cqe {
	unsigned int opcode, syndrome, vendor, wqe_opcode, solicited;
	uint32_t uidx, qpn, imm, byte_cnt;
	uint16_t counter;
};

/* The functions drv_open_*() open a device. Without flags the device has no thread and no fabric. */
struct drv *drv_open_irq(unsigned int flags, void (*handler)(void *ctx, unsigned int vector));
struct drv *drv_open_ports(unsigned int flags, void (*handler)(void *ctx, unsigned int vector),
			   unsigned int ports);
struct drv *drv_open_two(unsigned int flags);	/* opens a device with two ports */
/* Opens a device with at most 1 << log_max objects of each kind. */
struct drv *drv_open_limited(unsigned int log_max);
/* Opens a device with this IP address, which is also GID 1. */
struct drv *drv_open_ip(const uint8_t ip[16]);
/* drv_open fails the test if the device does not open. drv_close fails the test after an unexpected
 * violation. */
struct drv *drv_open(unsigned int flags);
void drv_close(struct drv *d);

/* drv_begin sets the opcode in d->in. drv_run runs the command and returns its status; the output
 * is in d->out. */
void drv_begin(struct drv *d, uint16_t opcode);
uint8_t drv_run(struct drv *d, size_t inlen);
uint8_t drv_simple(struct drv *d, uint16_t opcode, uint32_t number);
/* Expects exactly this violation, and clears it. */
void drv_expect(struct drv *d, const char *name);
uint64_t drv_count(struct drv *d, const char *name);

void *drv_pages(size_t len);
uint32_t drv_umem(struct drv *d, void *mem, size_t len);
void drv_umem_free(struct drv *d, uint32_t id);

/* Registers new pages as an MTT key; rights are those of enum drv_rights. */
enum drv_rights { DRV_LR = 1, DRV_LW = 2, DRV_RR = 4, DRV_RW = 8, DRV_A = 16, DRV_ALL = 31 };
void drv_mr(struct drv *d, struct drv_mr *mr, size_t len, unsigned int rights);
/* Registers a key with all rights that a UMR may change. */
void drv_mr_umr(struct drv *d, struct drv_mr *mr, size_t len);
void drv_mr_free(struct drv *d, struct drv_mr *mr);
/* Creates a window for any QP: KLM, umr_en, free. Returns its key. */
uint32_t drv_window(struct drv *d, unsigned int slots);

void drv_cq(struct drv *d, struct drv_cq *cq, unsigned int log, bool oi);
/* Creates a CQ whose ring, doorbell record (at dbr_at) and umem exist. */
void drv_cq_create(struct drv_cq *cq, size_t dbr_at, bool oi);
void drv_cq_free(struct drv_cq *cq);
bool drv_poll(struct drv_cq *cq, struct drv_cqe *cqe);
/* Pumps until a CQE comes; fails the test after a while. */
void drv_wait(struct drv_cq *cq, struct drv_cqe *cqe);
void drv_arm(struct drv_cq *cq, bool solicited);

/* Takes the next EQE; returns its type and data words. */
bool drv_event(struct drv *d, uint8_t *type, uint8_t data[28]);
void drv_eq_arm(struct drv *d);

/* Starts a CREATE_QP in d->in; drv_qp completes it. */
void drv_qp_begin(struct drv *d, struct drv_qp *qp, struct drv_cq *scq, struct drv_cq *rcq);
void drv_qp(struct drv *d, struct drv_qp *qp, struct drv_cq *scq, struct drv_cq *rcq);
void drv_qp_free(struct drv_qp *qp);
/* Starts a CREATE_RMP in d->in; drv_srq completes it. srq->pd 0 stands for the device's PD. */
void drv_srq_begin(struct drv *d, struct drv_srq *srq);
void drv_srq(struct drv *d, struct drv_srq *srq);
void drv_srq_free(struct drv_srq *srq);
void drv_srq_recv(struct drv_srq *srq, const struct drv_mr *mr, uint32_t off, uint32_t len);
/* Frees the WQE, so that it can be posted again. */
void drv_srq_done(struct drv_srq *srq, uint16_t index);
uint8_t drv_srq_arm(struct drv_srq *srq, uint16_t limit);
/* Creates a QP that takes its receives from the SRQ. */
void drv_qp_of_srq(struct drv *d, struct drv_qp *qp, struct drv_cq *scq, struct drv_cq *rcq,
		   const struct drv_srq *srq);
/* Starts a transition; returns the QP's context to fill in. Run it with AT_PAS bytes. */
uint8_t *drv_modify(struct drv_qp *qp, uint16_t opcode);
uint8_t drv_init(struct drv_qp *qp);
uint8_t drv_rtr(struct drv_qp *qp, uint32_t remote_qpn, uint32_t psn);
uint8_t drv_rts(struct drv_qp *qp, uint32_t psn);
uint8_t drv_to(struct drv_qp *qp, uint16_t opcode);	/* 2ERR or 2RST */
void drv_connect(struct drv_qp *a, struct drv_qp *b);
unsigned int drv_state(struct drv_qp *qp);
/* Opens a device with one CQ of 1 << log entries, and one QP that is connected to itself. */
struct drv *drv_loop_open(unsigned int flags, unsigned int log, struct drv_cq *cq, struct drv_qp *qp);
void drv_loop_close(struct drv_cq *cq, struct drv_qp *qp);

/* A WQE is built in a block of 64 * 16 bytes, then posted. */
struct drv_wqe {
	uint8_t b[1024] __attribute__((aligned(64)));
	unsigned int ds;
};
enum drv_ce { CE_ERR = 0, CE_FIRST = 1, CE_ALWAYS = 2 };
void drv_ctrl(struct drv_qp *qp, struct drv_wqe *w, uint8_t opcode, uint8_t fm_ce_se, uint32_t imm);
void drv_raddr(struct drv_wqe *w, uint64_t va, uint32_t rkey);
void drv_data(struct drv_wqe *w, const void *va, uint32_t len, uint32_t lkey);
void drv_inline(struct drv_wqe *w, const void *data, uint32_t len);
void drv_umr(struct drv_wqe *w, uint8_t flags, uint16_t klms, uint64_t mask);
void drv_mkc(struct drv_wqe *w, unsigned int rights, uint32_t qpn_key, uint64_t start,
	     uint64_t len, bool free);
void drv_klm(struct drv_wqe *w, const void *va, uint32_t len, uint32_t key);
void drv_pad(struct drv_wqe *w);	/* adds zeros up to a multiple of four segments */
/* Copies the WQE into the ring, sets DS, and advances the producer. ring: also rings the doorbell. */
uint16_t drv_put(struct drv_qp *qp, struct drv_wqe *w);
void drv_ring(struct drv_qp *qp, const struct drv_wqe *w);
uint16_t drv_post(struct drv_qp *qp, struct drv_wqe *w);
void drv_nop(struct drv_qp *qp, uint8_t ce);
void drv_recv(struct drv_qp *qp, const struct drv_mr *mr, uint32_t off, uint32_t len);

#endif
