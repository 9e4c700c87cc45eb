/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue of an endpoint, and its requests that are not delivered. */
#ifndef EFA_TX_H
#define EFA_TX_H

#include "core/dap.h"
#include "hw_efa/proto.h"
#include "hw_efa/wqe.h"

struct efa_engine;

/* ---- send queue ---- */

enum efa_slot_kind {			/* what a WQE is for */
	EFA_S_FREE,
	EFA_S_DTO,			/* a request */
	EFA_S_PULL, EFA_S_CREDIT, EFA_S_ANSWER,
	EFA_S_FIRST,			/* the first RDMA: efa_ep_cold.first_rdma says of what kind */
};

#define EFA_ERA_SHIFT 63		/* in efa_slot.word: the era of the post, see efa_bound_ack */

union efa_slot {
	struct {
		uint32_t of;		/* DTO or receive */
		uint8_t kind;
	};
	uint64_t word;
};

struct efa_sq {
	uint8_t *ring, *next, *end;	/* next: of the next WQE */
	volatile uint32_t *doorbell;
	union efa_slot *slots;
	uint16_t *ids;			/* slots: those in use, then the free ones */
	uint32_t used;			/* slots in use: WQEs under way */
	uint32_t room;			/* slots that requests may use */
	uint32_t before;		/* slots in use that are of the era before this one */
	uint64_t era;			/* 0, or the bit in efa_slot.word */
	uint16_t entry_size, inline_max;
	uint16_t gen;			/* in the bits of a request id above the slot */
	uint32_t pi, mask;
	uint64_t word0, word1, qkey;	/* of WQEs: flags, phase, peer's QP and gen; AH; qkey */
	uint32_t unrung;			/* WQEs without their doorbell yet */
	uint32_t max_batch, handle;
};

/* ---- requests ---- */

enum efa_dto_state {
	EFA_D_ISSUED = 1,		/* all its WQEs are in the queue */
	EFA_D_WAITS = 2,		/* for a FIN */
	EFA_D_DONE = 4,
	EFA_D_PLACED = 8,		/* a write whose WQEs may have begun to write */
	EFA_D_PLAIN = 16,		/* some of it has no place in the sequence */
};

/* Those of enum efa_op, and a bind, which has no WQE. */
enum efa_dto_op { EFA_SEND, EFA_READ, EFA_WRITE, EFA_BIND };

struct efa_dto {			/* one for each request that is not delivered */
	uint64_t cookie, remote;
	uint32_t bytes;
	union {
		struct {
			uint8_t left;	/* WQEs in the queue */
			uint8_t op, state, flags;
		};
		uint32_t info;		/* written whole by a hot post */
	};
	uint8_t status;			/* once it is not 0, nothing is posted hot any more */
};
_Static_assert(sizeof(struct efa_dto) == 32, "a request is found by a shift");
#define EFA_INFO(left, op, state, flags)                                                           \
	((left) | (op) << 8 | (state) << 16 | (uint32_t)(flags) << 24)

/* key: the context of a consumer's segment; in a work request, and remotely, the key itself. */
struct efa_iov { uint64_t addr; uint32_t len, key; };

struct efa_work {			/* of a DTO that is not issued in one go */
	uint32_t rkey, nseg;
	uint32_t at;			/* bytes issued */
	struct dap_rmr *rmr;
	struct efa_iov seg[EFA_MAX_IOV];
};

enum {					/* efa_tx.blocked: why nothing goes out at once */
	EFA_B_DOWN = 1,			/* not connected yet */
	EFA_B_ERROR = 2,		/* nor ever again: all is flushed */
	EFA_B_ENDING = 64,		/* the device is flushing */
	EFA_B_OVER = EFA_B_ERROR | EFA_B_ENDING,
	EFA_B_HALT = 4,			/* an error is on its way to the consumer */
	EFA_B_HOLD = 8,			/* writes have no place in the sequence, see tx.c */
	EFA_B_PLAIN = 32,		/* nor have some that are under way: sends wait */
	EFA_B_QUEUE = 16,		/* requests before it wait */
};

struct efa_span { uint64_t lo, hi; };

struct efa_tx {
	struct efa_engine *eng;
	struct efa_dto *dto;
	const struct dap_lmr *lmr;	/* of the last post */
	uint32_t mask;
	uint32_t posted;		/* requests */
	uint32_t done;			/* requests delivered */
	uint32_t seq;			/* next sequence number */
	/* By efa_dto_op: flags that are refused, and bytes of a request that goes out at once. */
	uint32_t deny[3];
	uint64_t most[3];
	uint32_t written;		/* the number behind the last write */
	uint32_t waiting;		/* requests at the end of the queue that are not issued yet */
	uint32_t acked;			/* places of the peer that are free again, by sequence number */
	uint32_t limit;			/* the first sequence number without credit */
	uint32_t blocked;		/* EFA_B_* */
	struct efa_work *work;
	uint32_t max, mtu, max_msg, max_rdma;
	struct efa_span written_to;	/* remote bytes of all writes under way lie in it: see place.c */
	uint32_t plain;			/* writes with EFA_D_PLAIN */
	uint32_t pulls_asked, asks;	/* RTS and emulated writes without their FIN */
	uint32_t max_iov[3];
	bool no_reads, peer_no_reads;
	uint8_t can;			/* EFA_CAN_*: of both ends */
	bool failed;			/* a request has: all after it are flushed */
	bool keeps;			/* one packet of all writes is under way at a time */
};

/* The first request that is not issued. */
static inline uint32_t efa_next(const struct efa_tx *tx) { return tx->posted - tx->waiting; }
static inline void efa_block(struct efa_tx *tx, uint32_t why) { tx->blocked |= why; }

/* ---- a WQE off the fast path ---- */

/* imm: 0 and has_imm false where there is none. */
struct efa_wr {
	uint8_t op;
	bool has_imm, inl;
	uint8_t kind;
	uint32_t of, imm;
	uint64_t remote;
	uint32_t rkey, len;		/* RDMA */
	unsigned int nseg;
	struct efa_iov seg[2];
	const void *data;		/* of an inline one */
	uint32_t bytes;
};

#endif
