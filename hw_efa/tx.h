/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue of an endpoint, and its requests without a delivered completion. */
#ifndef EFA_TX_H
#define EFA_TX_H

#include "core/dap.h"
#include "hw_efa/proto.h"
#include "hw_efa/wqe.h"

struct efa_engine;

/* ---- send queue ---- */

enum efa_slot_kind {			/* purpose of a WQE */
	EFA_S_FREE,
	EFA_S_DTO,			/* a request */
	EFA_S_PULL, EFA_S_CREDIT, EFA_S_ANSWER,
	EFA_S_FIRST,			/* the first RDMA; efa_ep_cold.first_rdma has its kind */
};

#define EFA_ERA_SHIFT 63		/* bit of efa_slot.word with the era of the post, see efa_bound_ack */

union efa_slot {
	struct {
		uint32_t of;		/* number of the request or receive */
		uint8_t kind;
	};
	uint64_t word;
};

struct efa_sq {
	uint8_t *ring, *next, *end;	/* next: where the next WQE goes */
	volatile uint32_t *doorbell;
	union efa_slot *slots;
	uint16_t *ids;			/* slots: those in use, then the free ones */
	uint32_t used;			/* slots in use, which are the outstanding WQEs */
	uint32_t room;			/* slots that requests may use */
	uint32_t before;		/* slots in use from the previous era */
	uint64_t era;			/* current era: 0, or the bit in efa_slot.word */
	uint16_t entry_size, inline_max;
	uint16_t gen;			/* generation of the QP, above the slot in a request id */
	uint32_t pi, mask;
	uint64_t word0, word1, qkey;	/* words of each WQE: flags, phase, peer's QP, gen; AH; qkey */
	uint32_t unrung;			/* WQEs without their doorbell yet */
	uint32_t max_batch, handle;
};

/* ---- requests ---- */

enum efa_dto_state {
	EFA_D_ISSUED = 1,		/* all WQEs of the request are in the queue */
	EFA_D_WAITS = 2,		/* the request waits for the peer's FIN */
	EFA_D_DONE = 4,
	EFA_D_PLACED = 8,		/* a write that may have reached the peer's memory */
	EFA_D_PLAIN = 16,		/* a write with a packet without a sequence number */
	EFA_D_ANSWERED = 32,		/* the peer has answered the request, and may not answer again */
	EFA_D_GONE = 64,		/* a WQE of the request has found the peer gone */
};

/* For dat_top(1). Written in the engine by the calls that post, and read in it. */
struct efa_count { uint64_t number, bytes; };

static inline void efa_tally(struct efa_count *c, uint64_t bytes)
{
	c->number++;
	c->bytes += bytes;
}

/* The operations of enum efa_op, and a bind, which has no WQE. */
enum efa_dto_op { EFA_SEND, EFA_READ, EFA_WRITE, EFA_BIND };

struct efa_dto {			/* one for each request that is not delivered */
	uint64_t cookie, remote;
	uint32_t bytes;
	union {
		struct {
			uint8_t left;	/* outstanding WQEs */
			uint8_t op, state, flags;
		};
		uint32_t info;		/* the fast path writes all four at once */
	};
	uint8_t status;			/* enum dap_dto_status */
};
_Static_assert(sizeof(struct efa_dto) == 32, "a request is found by a shift");

/*
 * key: the LMR context in a consumer's segment; the device's key in a work request or a remote
 * segment.
 */
struct efa_iov { uint64_t addr; uint32_t len, key; };

struct efa_work {			/* the rest of a request that the fast path does not post */
	uint32_t rkey, nseg;
	uint32_t at;			/* bytes issued */
	struct dap_rmr *rmr;
	struct efa_iov seg[EFA_MAX_IOV];
};

enum {					/* efa_tx.blocked: why the fast path posts nothing */
	EFA_B_DOWN = 1,			/* not connected yet */
	EFA_B_ERROR = 2,		/* the connection has ended and all work is flushed */
	EFA_B_ENDING = 64,		/* the QP goes to the error state, or is there and flushes */
	EFA_B_OVER = EFA_B_ERROR | EFA_B_ENDING,
	EFA_B_HALT = 4,			/* an error is on its way to the consumer */
	EFA_B_STOP = EFA_B_OVER | EFA_B_HALT,	/* the endpoint issues no request any more */
	EFA_B_PLAIN = 32,		/* sends wait for writes without a sequence number */
	EFA_B_QUEUE = 16,		/* earlier requests wait */
};

struct efa_span { uint64_t lo, hi; };

struct efa_tx {
	struct efa_engine *eng;
	struct efa_dto *dto;
	const struct dap_lmr *lmr;	/* cached by efa_allowed */
	uint32_t mask;
	uint32_t posted;		/* requests posted */
	uint32_t done;			/* requests delivered */
	uint32_t seq;			/* next sequence number */
	/* For each efa_dto_op: completion flags that the fast path refuses, and the most bytes that it
	 * posts. */
	uint32_t deny[3];
	uint64_t most[3];
	uint32_t written;		/* 1 + the number of the last write */
	uint32_t waiting;		/* posted requests that are not issued yet */
	uint32_t acked;			/* the peer has acknowledged all before this sequence number */
	uint32_t limit;			/* the first sequence number without credit */
	uint32_t blocked;		/* EFA_B_* */
	struct efa_work *work;
	uint32_t max, mtu, max_msg, max_rdma;
	struct efa_span written_to;	/* contains all outstanding writes, see place.c */
	struct efa_span gap;		/* a part of written_to without an outstanding write */
	uint32_t plain;			/* writes with EFA_D_PLAIN */
	uint32_t pulls_asked, asks;	/* numbers of RTS and of emulated writes that await a FIN */
	uint32_t max_iov[3];
	bool no_reads, peer_no_reads;
	bool emulates;			/* writes go in messages, because an end has no RDMA write */
	bool failed;			/* a request failed, so all after it are flushed */
	bool keeps;			/* write_order=kept: only one packet of all writes is
					 * outstanding at a time */
	struct efa_count posts[3];	/* for each efa_dto_op but EFA_BIND */
};

/*
 * A longer write that does not go in packets of an MTU has no sequence number. The ack in its immediate
 * would arrive late, and until then no ack may be far ahead of it (efa_bound_ack).
 */
#define EFA_MOST_NUMBERED (4u << 20)
static inline bool efa_is_numbered(const struct efa_tx *tx, const struct efa_dto *write)
{
	return write->bytes <= EFA_MOST_NUMBERED || tx->keeps || tx->emulates;
}

/* Returns the first request that is not issued. */
static inline uint32_t efa_next(const struct efa_tx *tx) { return tx->posted - tx->waiting; }

/* ---- a WQE off the fast path ---- */

/* imm is 0 unless has_imm is set. */
struct efa_wr {
	uint8_t op;
	bool has_imm, inl;
	uint8_t kind;
	uint32_t of, imm;
	unsigned int nseg;		/* local segments */
	struct efa_iov seg[2];		/* RDMA: the remote segment, then the local one */
	const void *data;		/* inline data */
	uint32_t bytes;
};

#endif
