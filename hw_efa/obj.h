/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an EFA object adds to its DAT object.
 *
 * An IA has one CQ and one engine: whoever polls any EVD takes completions for all, since credits
 * and answers of one direction arrive with the other (DESIGN.md). Everything below belongs to who
 * is in the engine (lock.h).
 *
 * Counters run free and are masked on use.
 */
#ifndef EFA_OBJ_H
#define EFA_OBJ_H

#include <pthread.h>

#include "core/barrier.h"
#include "core/dap.h"
#include "hw_efa/ctl/ctl.h"
#include "hw_efa/params.h"
#include "hw_efa/proto.h"
#include "hw_efa/wqe.h"

/* What the hot functions call in rare cases, placed apart; not "cold", see obj.h. */
#define EFA_COLD __attribute__((noinline, section(".text.unlikely.efa")))
#define EFA_INLINE static inline __attribute__((always_inline))
#define efa_likely(x) __builtin_expect(!!(x), 1)
#define efa_unlikely(x) __builtin_expect(!!(x), 0)

/* ---- send queue ---- */

enum efa_slot_kind {			/* what a WQE was for */
	EFA_S_DTO,			/* a request that was posted hot */
	EFA_S_PART,			/* one that was not */
	EFA_S_PULL, EFA_S_CREDIT, EFA_S_ANSWER,
	EFA_S_DATA,			/* of an emulated read, by this context */
	EFA_S_FIRST,			/* the first RDMA: efa_more.first_rdma says of what kind */
};

#define EFA_SLOT_DONE (1u << 16)	/* efa_slot.state: kind and done as one */

struct efa_slot {
	union {
		struct {
			uint32_t of;	/* DTO, receive, or context */
			union {
				struct { uint16_t kind, done; };
				uint32_t state;
			};
		};
		uint64_t word;		/* of a DTO posted hot, and under way: its number */
	};
};

enum efa_form {				/* of a WQE that is posted hot: what it begins with */
	EFA_F_SEND8, EFA_F_INLINE, EFA_F_SEND, EFA_F_WRITE, EFA_F_READ, EFA_FORMS,
};

struct efa_sq {
	uint8_t *ring;
	volatile uint32_t *doorbell;
	struct efa_slot *slots;
	uint32_t pi, ci, mask;
	uint64_t imm;			/* address handle, and the immediate of a write that is next */
	uint64_t form[EFA_FORMS];	/* first words, all but the index; of this lap: efa_arm */
	_Alignas(16) uint64_t word2[2];	/* qkey */
	uint64_t word0, word1;		/* of the meta descriptor, without op, id, phase, length; AH */
	uint32_t room;			/* WQEs that requests may have outstanding */
	uint32_t quiet;			/* WQEs without their doorbell yet */
	uint32_t others;		/* WQEs under way that were not posted hot */
	uint32_t hot_from;		/* from this one on all were */
	uint32_t max_batch, handle;
	uint32_t kicked;		/* pi that a driven device has been told */
	uint16_t gen;			/* in the bits of a request id above the index */
	uint8_t log, shift;
	uint16_t inline_max;
};

/* ---- requests ---- */

enum efa_dto_state {
	EFA_D_ISSUED = 1,		/* all its WQEs are in the queue */
	EFA_D_WAITS = 2,		/* for a FIN, or the data of an emulated read */
	EFA_D_DONE = 4,
	EFA_D_PLACED = 8,		/* a write whose WQEs may have begun to write */
	EFA_D_PLAIN = 16,		/* some of it has no place in the sequence */
};

/* A bind has a bit that no request of a queue has: the hot ways take any of those, and not it. */
enum efa_dto_op { EFA_SEND, EFA_WRITE, EFA_READ, EFA_BIND = 4 };

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
	uint32_t at, got;		/* bytes issued; and come back */
	struct dap_rmr *rmr;
	struct efa_iov seg[EFA_MAX_IOV];
};

enum {					/* efa_tx.blocked: why nothing goes out at once */
	EFA_B_DOWN = 1,			/* not connected yet */
	EFA_B_ERROR = 2,		/* nor ever again: all is flushed */
	EFA_B_ENDING = 64,		/* the device has been told to flush */
	EFA_B_OVER = EFA_B_ERROR | EFA_B_ENDING,
	EFA_B_HALT = 4,			/* an error is on its way to the consumer */
	EFA_B_HOLD = 8,			/* writes have no place in the sequence, see tx.c */
	EFA_B_PLAIN = 32,		/* nor have some that are under way: sends wait */
	EFA_B_QUEUE = 16,		/* requests before it wait */
};

#define EFA_LINES 256u
struct efa_span { uint64_t lo, hi; };

struct efa_tx {
	struct efa_engine *eng;
	struct efa_dto *dto;		/* a place more than max: a hot post notes before it knows */
	const struct dap_lmr *lmr;	/* of the last post */
	uint32_t *lines;		/* by hash of a line: see place.c */
	uint32_t mask;
	uint32_t posted;		/* requests */
	uint32_t stop;			/* posted: from here on it is to be asked what may be posted */
	uint32_t done;			/* requests delivered */
	uint32_t seq;			/* next sequence number */
	uint32_t deny_send, deny_rdma;
	uint64_t most_send, most_write, most_read;	/* bytes of a hot post */
	uint32_t small, large;		/* numbers behind the last writes of a line, of more */
	uint32_t waiting;		/* the last so many requests are not issued */
	uint32_t heard;			/* the last immediate: it may acknowledge more than limit knows */
	uint32_t limit;			/* the first sequence number without credit */
	uint32_t free_at;		/* posted may come to this: max more than what was dequeued */
	union {
		struct {
			uint32_t blocked;
			uint32_t early;	/* requests done and not delivered */
		};
		uint64_t held;		/* neither */
	};
	struct efa_work *work;
	uint32_t work_mask;
	uint32_t max, mtu, max_msg, max_rdma;
	struct efa_span now, before;	/* remote bytes of the writes of more than a line, and up to */
	uint32_t split;			/* this request */
	uint32_t plain;			/* writes with EFA_D_PLAIN */
	uint32_t pulls_asked, asks;	/* RTS and emulated reads without their FIN */
	uint32_t max_iov, max_read_iov, max_write_iov;
	bool no_reads, peer_no_reads;
	uint8_t can;			/* EFA_CAN_*: of both ends */
	bool failed;			/* a request has: all after it are flushed */
	bool keeps;			/* one packet of all writes is under way at a time */
};

/* ---- receives ---- */

enum efa_recv_state { EFA_R_POSTED, EFA_R_PULLS, EFA_R_DONE, EFA_R_READY };	/* for 8 bytes at least */
#define EFA_R_PLAIN (1u << 24 | EFA_R_READY)	/* efa_recv.info: one segment, no flag */

struct efa_recv {
	uint64_t cookie;
	uint32_t room, got;		/* bytes */
	union {
		struct { uint8_t state, flags, status, nseg; };
		uint32_t info;
	};
	uint16_t left;			/* reads in the queue */
	bool solicited;
	const struct dap_lmr *lmr;	/* READY: what it lay in when it was posted */
	struct efa_iov seg[EFA_MAX_IOV];
	struct efa_iov from[EFA_MAX_IOV];	/* where a long message lies */
	uint32_t at;			/* bytes of the message whose reads are issued */
	uint32_t fin;			/* the sender's number of it */
	uint32_t unused[6];
};
_Static_assert(sizeof(struct efa_recv) == 1024, "a receive is found by a shift");

/* Of the reorder window: what the CQE of the packet began with, but for its status. 0: empty. */
union efa_place {
	struct {
		uint16_t id;
		uint8_t kind, flags;	/* EFA_PLACE_SE; of the CQE */
		uint16_t bytes, length;	/* a kind of its own: bytes, and EFA_PLACE_OTHER */
	};
	uint64_t word;
};
_Static_assert(sizeof(union efa_place) == 8, "a place is found by a shift");
#define EFA_PLACE_SE 0x80u
#define EFA_PLACE_OTHER 0xffffu		/* more than an MTU */

struct efa_rx {
	uint8_t *ring, *bufs;
	volatile uint32_t *doorbell;
	struct efa_recv *recv;
	union efa_place *place;
	const struct dap_lmr *lmr;	/* of the last receive: it may be written */
	uint8_t *slot, *ring_at, *ring_end;	/* see rq.h */
	size_t batch_bytes;
	uint8_t *begin;			/* of the buffer whose request id were 0 */
	uint32_t mask, rung;		/* of the RQ: its producer index as the device knows it */
	uint64_t stride;
	uint32_t lkey, nbufs;
	uint32_t gen;			/* in the bits of a request id above the index */
	uint32_t row_gen;		/* which these are */
	uint8_t log;
	uint32_t recv_mask, max;
	uint32_t posted, match, free_at;
	uint32_t done, pull;		/* while messages are being read: delivered; may have reads */
					/* to issue. Else both are match */
	uint32_t next;			/* sequence number awaited */
	uint32_t safe;			/* places that are free with a receive behind: acked by what */
	uint32_t safe_seq, told;	/* is sent from this number on, before it so many were */
	uint32_t window, place_mask;
	union {
		struct {
			uint32_t ahead;	/* packets that came before their turn */
			union {
				struct {
					bool stalled;	/* a message waits for a receive */
					bool asked;	/* the peer, for its last message to be taken */
					bool picky;	/* solicited messages alone are told of */
					bool pulls;	/* messages are being read */
				};
				uint32_t rare;
			};
		};
		uint64_t odd;		/* none of these */
	};
	uint32_t part, part_total;	/* of a message in fragments */
	uint32_t deny, max_iov;
	bool failed;
	uint32_t batch;			/* buffers given back by one doorbell */
	uint32_t look_at;		/* next: from here on safe is for efa_bound_safe */
	uint64_t desc;			/* of a buffer, without its number */
};

/* What is owed to the peer: FINs, data of emulated reads. */
struct efa_answer {
	uint64_t addr;
	uint32_t len, at, rkey, id;
	uint8_t op, status;
};
#define EFA_ASKS 8u			/* asked by either side at a time */

#define EFA_WHY 240u

/* imm: 0 and has_imm false where there is none. */
struct efa_wr {
	uint8_t op;
	bool has_imm, inl;
	uint16_t kind;
	uint32_t of, imm;
	uint64_t remote;
	uint32_t rkey, len;		/* RDMA */
	unsigned int nseg;
	struct efa_iov seg[2];
	const void *data;		/* of an inline one */
	uint32_t bytes;
};

enum efa_rdma {				/* the first RDMA of a connection, which goes alone */
	EFA_RDMA_NONE,
	EFA_RDMA_TRIED,			/* it is under way */
	EFA_RDMA_REFUSED,		/* the peer's device does not know our address handle yet */
	EFA_RDMA_WORKS,
};
#define EFA_RDMA_TRIES 100u		/* one each ms */

struct efa_more {			/* what is off the fast path */
	struct efa_qp_res qp;
	struct efa_mr mr;		/* of the receive buffers and the stage */
	uint8_t *mem;
	size_t mem_bytes;
	uint8_t *stage;			/* EFA_STAGE bytes for each WQE */
	struct efa_ah *ah;
	uint32_t qkey, cqes;		/* places in the CQ that are its */
	struct efa_answer answer[4 * EFA_ASKS];
	uint32_t answers, answered;
	char why[EFA_WHY];		/* it is broken */
	bool credit_out, explained, in_lag, emulates, live;
	bool destroyed;			/* the QP: it did not flush */
	uint32_t nowhere;		/* its doorbells are here then */
	uint32_t gone, gone_dto;	/* looks until a QP that is gone is an error; first request */
	enum efa_rdma rdma;
	uint32_t rdma_tries;		/* that are left */
	struct efa_wr first_rdma;
	struct dap_ep *lag_next;
	uint32_t ask_pause;		/* looks until the peer's manager is asked again */
	bool has_asked;			/* the peer, which then acknowledges all at once from then on */
	uint32_t oldest_ack;		/* none under way is older; from WQE mark_pi on, than mark_ack */
	uint32_t mark_ack, mark_pi;
	bool holds;			/* acks, for one that is too old */
	uint64_t dropped;
};
#define EFA_STAGE 512u

struct efa_ep {
	struct efa_sq sq;
	_Alignas(64) struct efa_tx tx;
	_Alignas(64) struct efa_rx rx;
	struct efa_more *more;
	uint32_t peer_window;
	uint16_t qpn, remote_qpn, ah;
	uint32_t from;			/* remote_qpn and ah as a CQE has them */
	bool made;
};
_Static_assert(sizeof(struct efa_ep) <= DAP_HW_EP_SIZE, "endpoint area");
_Static_assert(sizeof(struct efa_ctrl_msg) + EFA_MAX_IOV * sizeof(struct efa_seg) <= EFA_STAGE,
	       "a control message is staged whole");

/* ---- completions ---- */

enum { EFA_DONE_UNSIGNALLED = 1, EFA_DONE_RECEIVE = 2, EFA_DONE_BIND = 4 };

struct efa_done {
	struct dap_ep *ep;
	uint64_t cookie;
	uint32_t bytes;
	uint8_t op, status, flags;
	struct dap_rmr *rmr;
};

enum { EFA_HAS_RING = 1, EFA_HAS_MESSAGE = 2, EFA_HAS_REQUEST = 4 };

struct efa_evd {
	struct efa_done *ring;
	struct efa_engine *eng;
	struct dap_ep *ready;		/* whose message or request is next, and there: efa_ready.h */
	uint32_t has;			/* EFA_HAS_*: to be taken before the CQ is looked at */
	uint32_t head, tail, mask, qlen;
	bool armed, overflowed, told, in_ready;
	int wake, fd;			/* eventfd; epoll of it and the CQ's; -1 until somebody waits */
	struct dap_evd *next_over, *next_ready;
};
_Static_assert(sizeof(struct efa_evd) <= DAP_HW_EVD_SIZE, "EVD area");

struct efa_cqring {
	const uint8_t *next, *base;
	const uint8_t *end;		/* of this quarter */
	const uint8_t *last;
	size_t quarter;			/* bytes */
	uint32_t entries;
	bool due;			/* a quarter was taken, and the device does not know */
	uint32_t passed;		/* CQEs of the laps before this one */
	uint8_t theirs;			/* what of the phase says that an entry is the device's */
};

static inline uint32_t efa_cq_index(const struct efa_cqring *r)
{
	return r->passed + (uint32_t)((size_t)(r->next - r->base) / sizeof(struct efa_cqe));
}

/* One has been taken out of the ring. */
static inline void efa_took(struct efa_evd *q)
{
	if (++q->tail == q->head)
		q->has &= ~(uint32_t)EFA_HAS_RING;
}

#define EFA_MAX_EPS 2048u

struct efa_engine {
	bool driven;			/* the device is software, and its callers drive it */
	uint16_t *by_qpn;		/* index in eps; 0: none. Small, since numbers are random */
	struct dap_ep *eps[EFA_MAX_EPS];	/* the first is nobody */
	struct efa_cqring cq[EFA_MAX_SUB_CQS];
	unsigned int rings;
	uint32_t lock;			/* 1: a thread is in the engine */
	uint32_t odd;			/* rings beyond one, and EVDs in the list of ready ones */
	struct dap_evd *ready;
	struct dap_evd *over;		/* EVDs to be told full once the engine is left */

	_Alignas(64) struct efa_ctl *ctl;
	struct efa_cq_res res;
	struct dap_ia *ia;
	uint32_t cq_entries, cq_used;
	uint32_t gen;
	uint32_t armed, emulating;	/* EVDs that wait; endpoints whose peer needs our hands */
	uint32_t live;			/* connected endpoints */
	uint32_t new_keys;		/* binds since the device gave a key again */
	uint8_t lmr_gen;
	struct dap_ep *lag;		/* have something to issue */
	struct dap_timer tick;
	bool ticking;
	bool no_arm;			/* the device raises no events of its CQ */
	bool slow;			/* the tick that is set is one of the slow ones */
	uint32_t look_us;		/* between two of these */
	pthread_mutex_t ah_lock;	/* of ahs, held while the kernel makes one; never within lock */
	struct efa_ah *ahs;
	struct efa_key *keys[256];
	uint32_t next_key;
};

struct efa_ia {
	struct efa_ctl *ctl;
	struct efa_caps dev;
	struct efa_params params;
	struct efa_engine *eng;
	bool wide;			/* WQEs have 128 bytes */
	const struct dap_hot *calls;	/* of the hardware, by wide */
};
_Static_assert(sizeof(struct efa_ia) <= DAP_HW_IA_SIZE, "IA area");

struct efa_ah {				/* one for each PD and GID */
	struct efa_ah *next;
	void *pd, *priv;
	uint8_t gid[16];
	uint16_t number;
	uint32_t refs;
};

/* One that has no EVD, where the number is of none. */
static inline struct dap_ep *efa_ep_or_nobody(const struct efa_engine *eng, uint16_t qpn)
{
	return eng->eps[eng->by_qpn[qpn]];
}

static inline struct dap_ep *efa_ep_of(const struct efa_engine *eng, uint16_t qpn)
{
	return eng->by_qpn[qpn] ? efa_ep_or_nobody(eng, qpn) : NULL;
}

/* A context that a peer may name where RDMA is done by software. */
struct efa_key {
	struct efa_key *next;
	struct dap_pz *pz;
	uint64_t addr, len;
	uint32_t rkey, lkey, priv;
};

struct efa_pz { void *pd; };
_Static_assert(sizeof(struct efa_pz) <= DAP_HW_PZ_SIZE, "PZ area");

struct efa_lmr {
	struct efa_mr mr;
	struct efa_key *key;
};
_Static_assert(sizeof(struct efa_lmr) <= DAP_HW_LMR_SIZE, "LMR area");

#define EFA_RMR_HAD 32u			/* a context differs from so many before it */

struct efa_rmr {
	struct efa_mr mr;		/* what it is bound to */
	bool bound;
	bool busy;			/* a call is changing it, outside of the engine */
	struct efa_key *key;
	uint32_t nhad, had[EFA_RMR_HAD];	/* its last contexts */
};
_Static_assert(sizeof(struct efa_rmr) <= DAP_HW_RMR_SIZE, "RMR area");

static inline struct efa_ep *efa_ep(struct dap_ep *ep) { return (struct efa_ep *)ep->hw; }
static inline struct efa_evd *efa_evd(struct dap_evd *evd) { return (struct efa_evd *)evd->hw; }
static inline struct efa_pz *efa_pz(struct dap_pz *pz) { return (struct efa_pz *)pz->hw; }
static inline struct efa_lmr *efa_lmr(struct dap_lmr *lmr) { return (struct efa_lmr *)lmr->hw; }
static inline struct efa_rmr *efa_rmr(struct dap_rmr *rmr) { return (struct efa_rmr *)rmr->hw; }
static inline struct efa_ia *efa_ia(struct dap_ia *ia) { return (struct efa_ia *)ia->hw_area; }

/*
 * An LMR's context is its lkey above 8 bits that count: core wants contexts to differ above those,
 * and devices give the key of one that has gone to the next.
 */
static inline uint32_t efa_lkey(uint32_t context) { return context >> 8; }

/* The first request that is not issued. */
static inline uint32_t efa_next(const struct efa_tx *tx) { return tx->posted - tx->waiting; }
/* Nothing is posted hot until efa_arm says so. */
static inline void efa_disarm(struct efa_tx *tx) { tx->stop = tx->posted; }
static inline void efa_block(struct efa_tx *tx, uint32_t why)
{
	tx->blocked |= why;
	efa_disarm(tx);
}

/* What the peer knows to be free. */
static inline uint32_t efa_told(const struct efa_ep *e)
{
	return e->tx.seq != e->rx.safe_seq ? e->rx.safe : e->rx.told;
}

/* All before the number awaited is free; the peer may have to wait for that, see wr.c. */
EFA_COLD void efa_bound_safe(struct dap_ep *ep);
static inline void efa_set_safe(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);

	e->rx.told = efa_told(e);
	e->rx.safe = e->rx.next;
	if (efa_unlikely((int32_t)(e->rx.next - e->rx.look_at) >= 0))
		efa_bound_safe(ep);
	e->rx.safe_seq = e->tx.seq;
	e->sq.imm = (e->sq.imm & ~(uint64_t)EFA_ACK_MASK) | (e->rx.safe & EFA_ACK_MASK);
}

/* Acks come in any order: one that is older than the last known is behind it by more than fits. */
static inline void efa_take_ack(struct efa_ep *e, uint32_t ack)
{
	struct efa_tx *tx = &e->tx;
	uint32_t known = tx->limit - e->peer_window, more = (ack - known) & EFA_ACK_MASK;

	if (more <= tx->seq - known)
		tx->limit += more;
}

/*
 * The one that a hot receive has noted. Others go on where no more messages are heard, and it would
 * be a new one after a round of theirs: an old one is forgotten.
 */
static inline void efa_take_heard(struct efa_ep *e)
{
	struct efa_tx *tx = &e->tx;
	uint32_t known = tx->limit - e->peer_window, more = (tx->heard - known) & EFA_ACK_MASK;

	if (efa_likely(more <= tx->seq - known))
		tx->limit += more;
	else		/* loaded anew, rather than kept in registers for this */
		tx->heard = *(volatile uint32_t *)&tx->limit -
			    *(volatile uint32_t *)&e->peer_window;
}

#include "hw_efa/calls.h"

#endif
