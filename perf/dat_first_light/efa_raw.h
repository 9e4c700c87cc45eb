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

struct raw_qp {
	struct efa_qp_res res;
	uint32_t sq_pi, rq_pi;
};

struct raw {
	struct efa_ctl *ctl;
	void *pd;
	struct efa_cq_res cq;
	struct efa_cqring ring;		/* needed only by the software EFA's checker */
	uint32_t taken;
	struct raw_qp a, b;
	uint8_t *mem;			/* RAW_MEM bytes, which both QPs use */
	struct efa_mr mr;
	struct efa_ah ah;
};

/* Opens both QPs. cq_entries 0 means the default. False: it failed, after a line on stderr. Nothing is
 * freed then, because the process exits. */
bool raw_open(const struct light *l, struct raw *r, uint32_t cq_entries);
bool raw_qp(struct raw *r, struct raw_qp *q, uint32_t rq_entries);
bool raw_ah(struct raw *r, void *pd, struct efa_ah *ah);
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
/* Takes one completion; waits at most ms milliseconds. */
bool raw_wait(struct raw *r, struct efa_cqe *cqe, unsigned int ms);
static inline bool raw_is_recv(const struct efa_cqe *c)
{
	return (c->flags & EFA_CQE_QUEUE_MASK) >> EFA_CQE_QUEUE_SHIFT == EFA_CQE_RQ;
}

#endif
