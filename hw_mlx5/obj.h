/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The backend's part of each DAT object, in the area that core reserves at its head.
 *
 * Ownership: the poster of requests owns m5_sq, the poster of receives m5_rq, and the poller of a
 * CQ owns m5_done of its endpoints and the first part of m5_cq. They share only m5_done.sq_ci and
 * rq_ci, which the poller stores with release and the poster loads with acquire, and the slots. A
 * slot belongs to the poster until the doorbell, and to the poller from the CQE until it publishes
 * the counter that releases the slot.
 */
#ifndef M5_OBJ_H
#define M5_OBJ_H

#include <pthread.h>

#include "core/barrier.h"
#include "core/dap.h"
#include "hw_mlx5/arena.h"
#include "hw_mlx5/cmd.h"
#include "hw_mlx5/params.h"
#include "hw_mlx5/wqe.h"

/*
 * For functions that the hot path calls in rare cases. Not the attribute "cold": if every exit of
 * an always-inline body passes a test for such a call, gcc takes the whole body for cold.
 */
#define M5_COLD __attribute__((noinline, section(".text.unlikely.m5")))

/* State of a posted WQE. The slot of a request has the index of its first block, that of a receive the
 * index of the receive. */
struct m5_slot {
	uint64_t cookie;
	uint32_t bytes;
	union {
		struct {
			uint16_t end;	/* producer index after the WQE */
			uint8_t kind;	/* enum m5_kind */
			uint8_t flags;	/* completion flags it was posted with */
		};
		uint32_t rest;		/* the three members above, for one store */
	};
};

enum m5_kind {				/* 0: a DTO whose completion the consumer sees */
	M5_KIND_INTERNAL = 1,		/* dropped if it succeeds */
	M5_KIND_BIND = 2,		/* the next slot holds the RMR and, in bytes, its gen */
	M5_KIND_NOP = 4,		/* posted by the driver itself: always dropped */
	M5_KIND_EXT = 8,		/* posted by hot/post_ext.inl */
};

/* Work posted of one kind; core/dap.h lists the kinds. */
struct m5_posted { uint64_t number, bytes; };

struct m5_sq {
	uint8_t *ring;
	struct m5_slot *slots;
	volatile uint32_t *dbrec;
	uintptr_t reg;			/* the half of the doorbell register to write next */
	const struct dap_lmr *lmr;	/* LMR of the last inline post, whose rights and zone are checked */
	uint32_t pi;			/* blocks posted, free running */
	/* pi up to which there is credit, and not beyond the ring's end: a WQE that fits does not
	 * wrap. */
	uint32_t limit;
	uint32_t mask;			/* blocks of the ring - 1 */
	uint32_t fence;			/* 16 if the next WQE must follow a bind, else 0 */
	/* BlueFlame takes fewer blocks than this; 1: 8-byte doorbells only */
	uint32_t bf_bb_limit;
	/* suppressed posts since the last signaled one; one in signal_every is signaled */
	uint16_t unsignaled, signal_every;

	/* second line: ctrl segments without flags, complete except for the index, and lengths */
	_Alignas(16) uint64_t ctrl_send[2], ctrl_write[2];
	uint64_t inline_end;		/* first length that is not inlined */
	uint64_t send_len_range, rdma_len_range;	/* number of allowed lengths from inline_end on */
	uint64_t max_rdma;

	/* third line: work posted since the QP was created, see m5_count_posted */
	struct m5_posted posted[DAP_COUNT_READ + 1];
	uint64_t eights[DAP_COUNT_WRITE + 1];	/* posts of 8 bytes, counted only here */

	/* fourth line */
	_Alignas(16) uint64_t ctrl_umr[2][2];	/* [1]: for a bind that follows a bind */
	uint64_t ctrl;			/* start of ctrl segments, without opcode and length */
	uint64_t max_msg;
	uint32_t read_segs;		/* segments of a read on the fast path: 1, or M5_NO_READS */
	uint32_t deny_rdma;		/* completion flags that posts must not have, and BARRIER */
	uint32_t deny_send;
	uint32_t lock;			/* threadsafe instance only */

	uint8_t fm[32];			/* fm_ce_se by completion flags | fence */
	uint16_t inline_max;
	uint8_t max_iov, max_read_iov, max_write_iov;
	uint32_t uar_page;
	uint32_t rung;			/* pi of the last doorbell that a model driven by its
					 * callers got */
	struct dap_pz *pz;
};

_Static_assert(offsetof(struct m5_sq, ctrl_send) == 64 && offsetof(struct m5_sq, posted) == 128 &&
	       offsetof(struct m5_sq, ctrl_umr) == 192,
	       "a plain post touches two cache lines, and one of counters");

#define M5_NO_READS UINT32_MAX		/* read_segs if no read may be outstanding */

struct m5_rq {
	uint8_t *ring;
	struct m5_slot *slots;
	volatile uint32_t *dbrec;
	uint32_t pi, limit, mask;	/* counted in receives */
	uint32_t uneven;		/* receives with other than one segment were posted */
	uint32_t deny;
	uint32_t stride;		/* bytes of a WQE */
	uint32_t lock;
	uint8_t max_iov;
	uint64_t bytes;			/* bytes of all posted receives */
	uint64_t posted;		/* pi, extended, when credit was last checked; atomic */
};
_Static_assert(offsetof(struct m5_rq, posted) == 64,
	       "the fields that the post of a receive uses are in one cache line");

struct m5_done {			/* the poller's cache line */
	struct m5_slot *sq_slots, *rq_slots;
	uint32_t sq_mask, rq_mask;
	uint32_t sq_ci;			/* 16 bits: the blocks before it are free */
	uint32_t shared;		/* receives come from an SRQ: each slot is released separately */
	uint64_t rq_ci;			/* number of completed receives */
	uint64_t rq_bytes;		/* bytes of receives without immediate data */
};

struct m5_mem {				/* queue memory of one object */
	void *base;
	size_t len;
	size_t offset;			/* offset of base in the umem */
	struct m5_umem umem;
	bool own;			/* the object has its own umem */
	struct m5_arena_run run;	/* chunk NULL: mem has a mapping of its own */
};

struct m5_ep {
	struct m5_sq sq;
	_Alignas(64) struct m5_rq rq;
	_Alignas(64) struct m5_done done;
	_Alignas(64) struct m5_qp_ref qp;
	struct m5_mem mem;
	uint32_t uidx;
	uint32_t gen;			/* unique number of the QP; 0: destroyed */
	bool was_rtr;			/* the QP has been in RTR, so it may have taken WQEs of an SRQ */
	bool last_wqe;			/* atomic: Last WQE Reached has come: the QP has no WQE of its SRQ */
	uint32_t internal;		/* atomic: internal completions reserved in the request CQ */
	uint32_t max_ops, max_recvs;	/* most outstanding, from the attributes */
	/* requests up to posted_to and done_to; used by the poster, see m5_sq_credit */
	uint32_t ops_posted, ops_done;
	uint32_t posted_to, done_to;
	uint32_t rotated;		/* pi after the last unbind of a key rotation */
	uint16_t drain;			/* pi after the NOP that a graceful disconnect posts */
	bool draining;
	bool own_uar;
	bool errored;			/* the first error of the QP has been logged */
	struct m5_uar uar;
};
_Static_assert(sizeof(struct m5_ep) <= DAP_HW_EP_SIZE, "endpoint area");

struct m5_uidx_page { struct dap_ep *ep[4096]; };

struct m5_cq {
	uint64_t missed;		/* dequeues that found the CQ empty */
	uint32_t ci;			/* CQEs taken, free running */
	uint32_t mask;
	uint32_t log;
	uint32_t in_poll;		/* a nonthreadsafe poller is using the CQ */
	uint32_t revoked;		/* another thread owns the CQ: pollers wait, see m5_cq_own */
	uint32_t lock;			/* threadsafe instance only */
	volatile uint32_t *dbrec;
	struct m5_uidx_page *const *dir;
	struct m5_cqe *next;		/* the CQE at ci */
	/* lap of the CQE at ci; its low bit is software's owner bit: m5_cq_set_ci */
	uint32_t lap;

	_Alignas(64) uint8_t *ring;
	uint32_t cqn;
	uint32_t arm_sn;
	uint32_t reserved;		/* internal completions that endpoints have reserved */
	uint32_t room;			/* internal completions that fit */
	/* Offset of the count of passed CQEs to ci, and CQEs that were no event of a hot dequeue:
	 * see m5_cq_total. */
	uint64_t before, aside;
	/* odd while before, aside and the ring change: see m5_cq_total; atomic */
	uint32_t rings;
	volatile uint8_t *uar;
	uint32_t uar_page;
	struct m5_obj *obj;
	struct m5_mem mem;		/* the first ring, and the doorbell record forever */
	struct m5_mem grown;		/* the ring after a resize */
	struct m5_evch *ch;		/* ch and arm_sn are protected by core_evd.cq_lock */
	pthread_mutex_t mutex;		/* held by the thread that owns the CQ */
};
_Static_assert(sizeof(struct m5_cq) <= DAP_HW_EVD_SIZE, "EVD area");
_Static_assert(offsetof(struct m5_cq, ring) == 64,
	       "the fields that a poll reads are in one cache line");

struct m5_pz {
	uint32_t pdn;
	void *priv;
};
_Static_assert(sizeof(struct m5_pz) <= DAP_HW_PZ_SIZE, "PZ area");

extern const struct dap_lmr m5_no_lmr;	/* contains no address: an endpoint has used no LMR */
struct m5_lmr {
	struct m5_mr mr;
	struct m5_obj *zero;		/* key of a zero-based LMR, which refers to mr; else NULL */
};
_Static_assert(sizeof(struct m5_lmr) <= DAP_HW_LMR_SIZE, "LMR area");

/* A context can recur after 255 binds of each of these keys. */
#define M5_RMR_KEYS 4

/* One key of an RMR of one endpoint, in the hash table of window.c. */
struct m5_window {
	struct m5_window *next;
	struct dap_rmr *rmr;		/* NULL: not in the table */
	uint32_t rkey;			/* key of the mkey; its low byte may be any variant */
};
#define M5_WINDOW_BUCKETS 64

#define M5_RMR_UNSURE (1u << 31)	/* a bind failed: the device's current key is unknown */
#define M5_RMR_COUNT (M5_RMR_UNSURE - 1)

/* Owned by the binder, unless noted. */
struct m5_rmr {
	/* The endpoint of the last bind. With last_gen, for an RMR of one endpoint: written under
	 * m5_ia.lock, because destroying that endpoint revokes the key. */
	struct dap_ep *last_ep;
	uint64_t connection;		/* connection of that bind, or M5_NO_CONNECTION */
	/* Cached from the LMR of the last bind, until that is freed: then max_klm_len is 0. */
	struct dap_lmr *lmr;
	uint64_t addr, length;
	uint64_t max_klm_len;		/* longest range that one KLM can describe */
	uint32_t lkey;
	uint32_t deny;			/* rights that a bind must not have, and undefined ones */
	uint32_t key_be;		/* the key once all posted binds are done */
	uint32_t last_key_be;		/* the last variant of that key */

	/* For the second slot of a bind: this RMR, and its gen, which identifies late completions
	 * of an old key. */
	struct m5_slot note;
	uint32_t first_key_be;		/* first key counted: each variant since then is one bind */
	uint32_t posted_before;		/* binds posted before first_key_be: see m5_rmr_posted */
	uint32_t stride_be;		/* step between variants: odd, so that all 256 occur */
	uint32_t last_gen;		/* generation of the QP of the last bind */
	uint16_t last_index;		/* index of the last bind in that QP */
	uint8_t current;		/* index of the current mkey */
	uint8_t stride_inverse;		/* multiplicative inverse of the stride modulo 256 */
	/* Atomic, written by pollers: gen, M5_RMR_UNSURE, and the number of successful binds of
	 * that gen. */
	uint64_t done;
	struct m5_obj *obj[M5_RMR_KEYS];	/* RMRs of one endpoint: under m5_ia.lock */
	uint32_t idle[M5_RMR_KEYS];	/* rkeys of the other mkeys */
	struct m5_window window[M5_RMR_KEYS];
};
_Static_assert(offsetof(struct m5_rmr, note) == 64,
	       "the fields that a bind reads are in one cache line");
_Static_assert(sizeof(struct m5_rmr) <= DAP_HW_RMR_SIZE, "RMR area");

/*
 * An SRQ. bytes != 0 marks the slot of a WQE in use: set by the poster, cleared with release by
 * the poller that takes the completion. So the poster needs no count of them, and pollers of
 * different CQs need no lock.
 */
struct m5_srq {
	uint8_t *ring;
	struct m5_slot *slots;
	volatile uint32_t *dbrec;
	uint32_t pi;			/* WQEs posted, free running */
	uint32_t head;			/* the next WQE to write: the last one links to it */
	uint32_t scan;			/* where the search for a free WQE begins */
	uint32_t usable;		/* WQEs below this index are used, one of them as head */
	uint32_t lock;			/* threadsafe instance only */
	uint8_t shift;			/* log2 of the stride */
	uint8_t max_iov;
	_Alignas(64) struct m5_rmp_ref rmp;
	struct m5_mem mem;
	uint32_t size;			/* WQEs in the ring, a power of two */
};
_Static_assert(sizeof(struct m5_srq) <= DAP_HW_SRQ_SIZE, "SRQ area");

/* For clock.c; all members are protected by lock. */
struct m5_clock {
	pthread_mutex_t lock;
	bool started, works, still;	/* still: the timer stands still and is not read again */
	enum m5_ts format;
	/* One moment by the internal timer (ticks) and by CLOCK_REALTIME, with an error of at most error
	 * ns. ticks is 0 before the first reading. */
	uint64_t ticks, realtime, error;
};

struct m5_ia {
	struct m5_ctl *ctl;
	struct m5_dev_caps dev;
	struct m5_port port;
	struct m5_params params;
	struct m5_arena arena;
	struct m5_uidx_page **dir;	/* objects by user index; empty pages where unused */
	uint32_t *uidx_rest;		/* ring of free indexes, least recently used first */
	uint32_t uidx_head, uidx_tail, uidx_size;
	uint32_t gen;
	uint32_t bf_regs_left;		/* endpoints that may still get their own register */
	enum m5_mmio mmio;		/* how endpoints with their own register ring doorbells */
	char mmio_by[64];		/* reason for mmio, as text */
	uint32_t eqn;
	unsigned int last_wqe_ms;	/* how long to wait for Last WQE Reached; atomic */
	unsigned int flush_ms;		/* how long to wait for the flush of a QP; atomic */
	bool locked;			/* hot functions take spin locks */
	bool v3;			/* hot functions use AVX2, MOVBE and BMI */
	bool inline_model;		/* callers drive the model, see ctl/soft_hot.c */
	struct m5_uar uar;		/* shared: CQ doorbells, and doorbells of later endpoints */
	pthread_mutex_t async_lock;	/* held from the reading of an event to its dispatch */
	pthread_mutex_t lock;
	struct m5_window *windows[M5_WINDOW_BUCKETS];	/* hash table by key; protected by lock */
	const struct dap_hot *calls;	/* hot functions of the hardware, by v3 and locked */
	struct m5_clock clock;
};
_Static_assert(sizeof(struct m5_ia) <= DAP_HW_IA_SIZE, "IA area");

static inline struct m5_ep *m5_ep(struct dap_ep *ep) { return (struct m5_ep *)ep->hw; }
static inline struct m5_cq *m5_cq(struct dap_evd *evd) { return (struct m5_cq *)evd->hw; }
static inline struct m5_pz *m5_pz(struct dap_pz *pz) { return (struct m5_pz *)pz->hw; }
static inline struct m5_lmr *m5_lmr(struct dap_lmr *lmr) { return (struct m5_lmr *)lmr->hw; }
static inline struct m5_rmr *m5_rmr(struct dap_rmr *rmr) { return (struct m5_rmr *)rmr->hw; }
static inline struct m5_srq *m5_srq(struct dap_srq *srq) { return (struct m5_srq *)srq->hw; }
static inline struct m5_ia *m5_ia(struct dap_ia *ia) { return (struct m5_ia *)ia->hw_area; }

static inline uint32_t m5_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* A model that callers drive does its pending work, before the caller reads memory. */
static inline void m5_drive_model(const struct m5_ia *ia)
{
	if (ia->inline_model)
		ia->ctl->ops->drive(ia->ctl);
}

/* ---- async.c ---- */
/* The port's current state, which may change while connections are made. */
struct m5_port m5_ia_port(struct dap_ia *ia);
/* Called while a new object is not visible to dap_obj_each() yet: it gets no event of an earlier object with
 * its number. */
void m5_ia_async_settle(struct dap_ia *ia);

/* ---- mem.c ---- */
/* Page-aligned zeroed memory that the device may use. */
int m5_mem_alloc(struct m5_ctl *ctl, size_t len, struct m5_mem *mem);
/* Like m5_mem_alloc, but the memory starts a umem of its own. For work queue contexts: their page_offset
 * has 5 bits, that of other contexts 6. */
int m5_mem_alloc_own(struct m5_ctl *ctl, size_t len, struct m5_mem *mem);
/* destroyed: result of destroying the object that used it. Not 0: the device may still write to
 * it. */
void m5_mem_free(struct m5_ctl *ctl, struct m5_mem *mem, int destroyed);

/* ---- user indexes ---- */
int m5_uidx_open(struct m5_ia *ia);
void m5_uidx_close(struct m5_ia *ia);
int m5_uidx_get(struct m5_ia *ia, struct dap_ep *ep, uint32_t *uidx);
/* Frees the index. destroyed: result of destroying its QP. Not 0: CQEs may still name the index, so it is not
 * reused. */
void m5_uidx_put(struct m5_ia *ia, uint32_t uidx, int destroyed);

/* ---- qp.c ---- */
/* Fills the fields that posts need from the others: ctrl*, fm, inline_end, *_len_range. */
void m5_sq_derive(struct m5_sq *sq, uint32_t qpn, uint8_t umr_fence);
/* Ends each list of a new ring after one segment, as m5_recv leaves it. */
void m5_rq_derive(struct m5_rq *rq);

/*
 * ---- cq_own.c: taking over a CQ whose poller takes no lock ----
 *
 * Other threads rarely need a CQ: a poster whose queue is full of suppressed work, a drain, the
 * end of an endpoint. The poller sets in_poll, tests revoked, and goes on if it is 0: two plain
 * accesses and no fence. A thread that takes the CQ over sets revoked, calls membarrier(2), which
 * executes the fence for the poller, and waits until in_poll is 0.
 */
int m5_cq_own_init(void);		/* called once per IA; -errno: this kernel lacks membarrier(2) */
void m5_cq_own(struct dap_evd *evd);
void m5_cq_release(struct dap_evd *evd);
M5_COLD void m5_cq_wait_owned(struct m5_cq *cq);	/* called by the poller when it found revoked set */

/* ---- resize.c ---- */
/* Gives each entry of a new ring to the device, which writes index first next. */
void m5_cq_ring_init(const struct m5_cq *cq, uint32_t first);
/* Makes room for that many internal completions more, or releases it. */
int m5_cq_reserve(struct dap_evd *evd, uint32_t internal);
void m5_cq_unreserve(struct dap_evd *evd, uint32_t internal);

/* ---- count.c ---- */
/* CQEs that have ever left the CQ. */
uint64_t m5_cq_passed(const struct m5_cq *cq);

/* ---- reap.c: the caller owns the CQ, or takes it over ---- */
/* Returns the first index that software does not own. */
uint32_t m5_cq_end(const struct m5_cq *cq);
/* Removes the CQEs of a QP that is destroyed. */
void m5_cq_purge(struct dap_evd *evd, struct dap_ep *ep);
/* Finds credit for n blocks: from published indexes, else by reaping its internal completions from
 * the CQ. The poster's slow path; holds its lock, if any. */
M5_COLD bool m5_sq_credit(struct dap_ep *ep, uint32_t n);
/* Reaps internal completions. Any thread may call it. */
void m5_sq_reap(struct dap_ep *ep);
M5_COLD bool m5_rq_credit(struct dap_ep *ep);
/* Finds a free WQE of the SRQ if the next one is in use; false if all are. */
M5_COLD bool m5_srq_search(struct dap_srq *srq, uint32_t *index);
enum m5_seen { M5_SEEN_NOT, M5_SEEN_OK, M5_SEEN_ERROR };
/* Is there a CQE in the CQ for the WQE that begins at this index? */
enum m5_seen m5_sq_seen(struct dap_ep *ep, uint16_t index);
/* Has each request before index a completion, taken or in the CQ? Suppressed ones behind the last
 * completion count as complete: they have none if they succeeded. */
bool m5_sq_completed(struct dap_ep *ep, uint16_t index);

/* ---- cqe.c: completions other than plain successes ---- */
/* Takes the CQE at ci, which software owns, and converts it to neutral form. True: ev is filled; false:
 * there is no event for it. */
M5_COLD bool m5_cqe_slow(struct dap_evd *evd, struct dap_event *ev);
/* The part of a slow completion that needs locks. The caller has left the CQ. */
M5_COLD void m5_cqe_follow_up(struct dap_evd *evd, const struct dap_event *ev);
bool m5_cq_poll(struct dap_evd *evd, struct dap_event *ev);

/* ---- effect.c: effects of a completion beside its event ---- */
/* The operation by the opcode of a CQE's WQE. The table has an entry for any byte, so the lookup
 * needs no mask. */
extern const uint8_t m5_dto_of_opcode[256] __attribute__((visibility("hidden")));
static inline enum dap_dto_op m5_cqe_dto(const struct m5_cqe *cqe)
{
	return (enum dap_dto_op)m5_dto_of_opcode[*(const uint8_t *)&cqe->opcode_qpn];
}
/* Copies the data of a CQE of format M5_CQE_SMALL32 to the buffers of its WQE. */
void m5_cqe_spread(struct dap_ep *ep, const struct m5_cqe *cqe);
static inline bool m5_cqe_is_small(const struct m5_cqe *cqe)
{
	return (cqe->op_own & (0x80 | M5_CQE_FORMAT)) == M5_CQE_SMALL32;
}
/* Updates the RMR for the completion of its bind. */
void m5_bind_done(struct m5_slot *slots, uint32_t mask, uint32_t index, bool ok);

/* ---- rmr.c: preparations for a bind on the slow path ---- */
/* Checks that the RMR may be bound through this endpoint handle. Returns 0, a DAP_ERR, or M5_UNSETTLED:
 * m5_bind_settle() must be called once all arguments are valid. */
#define M5_UNSETTLED (-1)
M5_COLD int m5_bind_check_ep(struct dap_rmr *rmr, void *ep_handle);
/* Waits for the last bind, and renews keys that it left in doubt, which ends the old context. The bind
 * takes that many blocks. lock: the queue has a lock, and the caller does not hold it. Returns 0 or a
 * DAP_ERR. */
M5_COLD int m5_bind_settle(struct dap_rmr *rmr, struct dap_ep *ep, uint32_t blocks, bool lock);
/* From here on the RMR of one endpoint belongs to this one: only its end revokes the keys. Returns 0 or a
 * DAP_ERR. */
M5_COLD int m5_bind_claim(struct dap_rmr *rmr, struct dap_ep *ep);
/* No bind followed: the last one was through this endpoint, whose QP had this generation. */
M5_COLD void m5_bind_unclaim(struct dap_rmr *rmr, struct dap_ep *ep, uint32_t gen);
/* qp.c: called before a suppressed bind, which has a CQE all the same. Makes room in the CQ for one CQE of
 * each request. Returns 0 or a DAP_ERR. */
M5_COLD int m5_bind_reserve(struct dap_ep *ep);
/* Makes the next mkey the current one. */
void m5_rmr_next_mkey(struct dap_rmr *rmr);

/* The variant of a key is its low byte. In key_be that is the high byte, so counting wraps without
 * a mask. */
#define M5_VARIANT (1u << 24)

/* Binds posted: each uses the next variant of the key. */
static inline uint32_t m5_rmr_posted(const struct m5_rmr *r)
{
	return r->posted_before +
	       (r->key_be - r->first_key_be) * r->stride_inverse / M5_VARIANT;
}

#define M5_NO_CONNECTION UINT64_MAX
/* Records the endpoint's current connection, if any, as that of the last bind. */
static inline void m5_rmr_bind_conn(struct m5_rmr *r, const struct dap_ep *ep)
{
	uint64_t number = __atomic_load_n(&ep->connection, __ATOMIC_RELAXED);

	r->connection = number ? number : M5_NO_CONNECTION;
}

/* Caches the limits of the LMR that the RMR is bound to; NULL: the cached one is freed. */
M5_COLD void m5_rmr_cache_lmr(struct m5_rmr *r, struct dap_lmr *lmr);

/*
 * The QP of the endpoint is about to be destroyed, and its number may be reused: destroys the keys of
 * RMRs bound through it. No peer can use them any more, and the next bind creates others.
 */
void m5_rmr_revoke_bound(struct dap_ep *ep);

/* ---- window.c: the keys of RMRs that are bound to one endpoint ---- */
void m5_window_enter(struct dap_rmr *rmr, unsigned int i, uint32_t rkey);
/* Does the work of m5_bind_claim under m5_ia.lock, which it takes. False: the RMR needs other
 * keys, and only the caller can revoke the present ones. */
bool m5_window_claim(struct dap_rmr *rmr, struct dap_ep *ep);
/* The RMR belongs to no endpoint any more: removes its keys from the table. */
void m5_window_drop(struct dap_rmr *rmr);
/* Called when the peer has invalidated this context. */
void m5_window_ended(struct dap_ia *ia, uint32_t rkey);
/* Removes the keys of some RMR bound through this endpoint's QP from the table, and returns the RMR; NULL:
 * none. m5_ia.lock is held. */
struct dap_rmr *m5_window_pop(struct m5_ia *ia, struct dap_ep *ep);

/* ---- decode.c: one line of text ---- */
const char *m5_decode_wqe(const void *ring, uint32_t mask, uint32_t index, char *buf, size_t len);
const char *m5_decode_recv(const void *wqe, unsigned int slots, char *buf, size_t len);
const char *m5_decode_cqe(const struct m5_cqe *cqe, char *buf, size_t len);
/* The status of a completion whose CQE has this syndrome. */
enum dap_dto_status m5_syndrome_status(unsigned int syndrome);
/* dap_hw.describe */
void m5_describe(const struct dap_obj *obj, char *buf, size_t len);

#endif
