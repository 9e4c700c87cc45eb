/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two QPs of an EFA in one PD with one CQ, driven directly, without this project's protocol. The
 * protocol hides the differences between devices that the probes must find.
 */
#ifndef PERF_DAT_FIRST_LIGHT_EFA_RAW_H
#define PERF_DAT_FIRST_LIGHT_EFA_RAW_H

#include "hw_efa/obj.h"
#include "perf/dat_first_light/probe.h"

enum { RAW_MEM = 8 << 20, RAW_DEPTH = 64, RAW_QKEY = 0x1234567 };

/* ---- Descriptors by their fields in the device's interface; the driver builds its own from words
 * ---- */

struct raw_meta {			/* efa_io_tx_meta_desc */
	le16_t req_id;
	uint8_t ctrl1, ctrl2;
	le16_t dest_qp;
	le16_t length;			/* segments, or bytes when they are inline */
	le32_t imm;
	le16_t ah;
	uint8_t ctrl3, zero0;
	le32_t qkey;
	uint8_t zero1[12];
};
WIRE_SIZE(struct raw_meta, 32);
WIRE_AT(struct raw_meta, dest_qp, 4);
WIRE_AT(struct raw_meta, imm, 8);
WIRE_AT(struct raw_meta, ah, 12);
WIRE_AT(struct raw_meta, qkey, 16);

struct raw_segment { le32_t length, key, addr_lo, addr_hi; };
WIRE_SIZE(struct raw_segment, 16);

struct raw_wqe {
	struct raw_meta meta;
	union {
		struct raw_segment local;	/* of a send */
		struct { struct raw_segment remote, local; } rdma;
		uint8_t inl[32];
	};
};
WIRE_SIZE(struct raw_wqe, 64);
WIRE_AT(struct raw_wqe, local, 32);
WIRE_AT(struct raw_wqe, rdma.local, 48);

struct raw_rx {				/* efa_io_rx_desc */
	le32_t addr_lo, addr_hi;
	le16_t req_id, length;
	le32_t lkey_ctrl;
};
WIRE_SIZE(struct raw_rx, 16);
WIRE_AT(struct raw_rx, lkey_ctrl, 12);

/* ---- Two QPs ---- */

struct raw_qp {
	struct efa_qp_res res;
	uint32_t sq_pi, rq_pi;
};

struct raw {
	struct efa_ctl *ctl;
	struct efa_caps caps;
	void *pd;
	struct efa_cq_res cq;
	struct efa_cqring ring;		/* needed only by the software EFA's checker */
	uint32_t taken;
	struct raw_qp a, b;
	uint8_t *mem;			/* RAW_MEM bytes, which both QPs use */
	struct efa_mr mr;
	uint16_t ah;
	void *ah_priv;
	/* in which order the eight words of a WQE are stored; NULL: ascending */
	const uint8_t *order;
};

/* Opens both QPs. cq_entries 0 means the default. False: it failed, after a line on stderr. Nothing is
 * freed then, because the process exits. */
bool raw_open(const struct light *l, struct raw *r, uint32_t cq_entries);
bool raw_qp(struct raw *r, struct raw_qp *q, uint32_t rq_entries);
bool raw_ah(struct raw *r, void *pd, uint16_t *ah, void **priv);
void raw_recv(struct raw *r, struct raw_qp *q, uint32_t n);
/* Sends the first len bytes of the memory, inline if inl is set. If len is 0, sends an empty inline
 * message, or one with an empty list of buffers. */
void raw_send(struct raw *r, struct raw_qp *q, const struct raw_qp *to, uint32_t len, bool inl);
struct raw_rdma {
	enum efa_op op;
	uint64_t local, remote;		/* local and remote are offsets in the memory */
	uint32_t len, rkey;
};
void raw_rdma(struct raw *r, struct raw_qp *q, const struct raw_qp *to, const struct raw_rdma *d);
/* Takes one completion; waits until it comes. */
bool raw_poll(struct raw *r, struct efa_cqe *cqe);
/* Takes one completion; waits at most ms milliseconds. */
bool raw_wait(struct raw *r, struct efa_cqe *cqe, unsigned int ms);
static inline bool raw_is_recv(const struct efa_cqe *c)
{
	return (c->flags & EFA_CQE_QUEUE_MASK) >> EFA_CQE_QUEUE_SHIFT == EFA_CQE_RQ;
}

#endif
