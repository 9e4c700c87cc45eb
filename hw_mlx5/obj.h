/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a ConnectX object adds to its DAT object, in the area that core leaves at the head of it.
 *
 * Who writes what: the poster of an endpoint's request side owns m5_sq, the poster of receives
 * m5_rq, who polls a CQ m5_done of the endpoints on it and the first part of m5_cq. Between them
 * go only m5_done.sq_ci and rq_ci, stored with release by the poller and loaded with acquire by
 * the poster, and the slots: a slot is the poster's until the doorbell, the poller's from the CQE
 * until it has published the counter that gives the slot back.
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
 * What the hot functions call in rare cases, placed apart. Not the attribute "cold": gcc takes a
 * whole always-inline body for cold in which each way out passes a test for such a call.
 */
#define M5_COLD __attribute__((noinline, section(".text.unlikely.m5")))

#define M5_MAX_IOV 30			/* ctrl, remote address and 30 segments are 8 blocks */

/* What is known of a posted WQE, at the index of its first block; of a receive, at its own. */
struct m5_slot {
	uint64_t cookie;
	uint32_t bytes;
	union {
		struct {
			uint16_t end;	/* producer index after it */
			uint8_t kind;	/* enum m5_kind */
			uint8_t flags;	/* completion flags it was posted with */
		};
		uint32_t rest;		/* all three in one store */
	};
};

enum m5_kind {				/* 0: a DTO whose completion the consumer sees */
	M5_KIND_INTERNAL = 1,		/* swallowed when it succeeds */
	M5_KIND_BIND = 2,		/* the next slot has the RMR and, as bytes, its gen */
	M5_KIND_NOP = 4,		/* not the consumer's, swallowed always */
	M5_KIND_EXT = 8,		/* of hot/post_ext.inl */
};

/* What has been posted of a kind; core/dap.h has the kinds. */
struct m5_posted { uint64_t number, bytes; };

struct m5_sq {
	uint8_t *ring;
	struct m5_slot *slots;
	volatile uint32_t *dbrec;
	uintptr_t reg;			/* the half of the doorbell register that is written next */
	const struct dap_lmr *lmr;	/* of the last inline post: its right and zone are known */
	uint32_t pi;			/* blocks posted, free running */
	/* pi that credit allows, as last seen, and not beyond the ring's end: what fits needs no wrap. */
	uint32_t limit;
	uint32_t mask;			/* blocks of the ring - 1 */
	uint32_t fence;			/* 16 when the next WQE must follow a bind, else 0 */
	uint32_t bf_bb_limit;		/* BlueFlame takes less blocks; 1: 8-byte doorbells */
	uint16_t unsignaled, signal_every;	/* suppressed posts since a hidden one, and how many may be */

	/* second line: ctrl segments without flags, complete but for the index, and lengths */
	_Alignas(16) uint64_t ctrl_send[2], ctrl_write[2];
	uint64_t inline_end;		/* bytes from which on data does not travel in the WQE */
	uint64_t send_len_range, rdma_len_range;	/* lengths from there on that are allowed */
	uint64_t max_rdma;

	/* third line: what has been posted since the QP was made, see m5_count_posted */
	struct m5_posted posted[DAP_COUNT_READ + 1];
	uint64_t eights[DAP_COUNT_WRITE + 1];	/* those of 8 bytes that nothing else counts */

	/* fourth line */
	_Alignas(16) uint64_t ctrl_umr[2][2];	/* of a bind; of one that follows a bind */
	uint64_t ctrl;			/* the start of any, without opcode and length */
	uint64_t max_msg;
	uint32_t read_segs;		/* of a read that takes the short way: 1, or none */
	uint32_t deny_rdma;		/* completion flags that a post may not have, and BARRIER */
	uint32_t deny_send;
	uint32_t lock;			/* threadsafe instance only */

	uint8_t fm[32];			/* fm_ce_se by completion flags | fence */
	uint16_t inline_max;
	uint8_t max_iov, max_read_iov, max_write_iov;
	uint32_t uar_page;
	uint32_t rung;			/* pi that an inline model has been told */
	struct dap_pz *pz;
};

_Static_assert(offsetof(struct m5_sq, ctrl_send) == 64 && offsetof(struct m5_sq, posted) == 128 &&
	       offsetof(struct m5_sq, ctrl_umr) == 192,
	       "what a plain post touches is two cache lines, and one that counts it");

#define M5_NO_READS UINT32_MAX		/* read_segs when no read may be outstanding */

struct m5_rq {
	uint8_t *ring;
	struct m5_slot *slots;
	volatile uint32_t *dbrec;
	uint32_t pi, limit, mask;	/* receives */
	uint32_t uneven;		/* lists of other than one segment have been posted */
	uint32_t deny;
	uint32_t stride;		/* bytes of a WQE */
	uint32_t lock;
	uint8_t max_iov;
	uint64_t bytes;			/* of all that was posted */
	uint64_t posted;		/* pi when credit was last looked for, in full; atomic */
};
_Static_assert(offsetof(struct m5_rq, posted) == 64, "what a receive touches is one cache line");

struct m5_done {			/* the poller's line */
	struct m5_slot *sq_slots, *rq_slots;
	uint32_t sq_mask, rq_mask;
	uint32_t sq_ci;			/* 16 bits: all blocks before it may be used again */
	uint32_t shared;		/* the receives are an SRQ's: each slot is given back by itself */
	uint64_t rq_ci;			/* receives completed, */
	uint64_t rq_bytes;		/* and what plain ones of them have brought */
};

struct m5_mem {				/* queue memory of one object */
	void *base;
	size_t len;
	size_t offset;			/* of base in the umem */
	struct m5_umem umem;
	bool own;			/* the umem is this object's alone */
	struct m5_arena_run run;	/* chunk NULL: the memory is a mapping of its own */
};

struct m5_ep {
	struct m5_sq sq;
	_Alignas(64) struct m5_rq rq;
	_Alignas(64) struct m5_done done;
	_Alignas(64) struct m5_qp_ref qp;
	struct m5_mem mem;
	uint32_t uidx;
	uint32_t gen;			/* of the QP: a new one for each qp_create, 0 when it is gone */
	bool was_rtr;			/* it was ready to receive: it may have taken WQEs of an SRQ */
	bool last_wqe;			/* atomic: it takes none any more, and has flushed what it had */
	uint32_t internal;		/* reserved in the request CQ */
	uint32_t max_ops, max_recvs;	/* outstanding at a time, as the attributes say */
	uint32_t ops_posted, ops_done;	/* requests up to these pi: the poster's, see m5_sq_credit */
	uint32_t posted_to, done_to;
	uint32_t rotated;		/* pi after the last unbind that is not the consumer's */
	uint16_t drain;			/* index after the NOP of a drain */
	bool draining;
	bool own_uar;
	bool errored;			/* an error completion has been reported in words */
	struct m5_uar uar;
};
_Static_assert(sizeof(struct m5_ep) <= DAP_HW_EP_SIZE, "endpoint area");

struct m5_uidx_page { struct dap_ep *ep[4096]; };

struct m5_cq {
	uint64_t missed;		/* dequeues that found it empty */
	uint32_t ci;			/* free running */
	uint32_t mask;
	uint32_t log;
	uint32_t in_poll;		/* a nonthreadsafe poller is at it */
	uint32_t revoked;		/* somebody else has the CQ: pollers wait, see m5_cq_own */
	uint32_t lock;			/* threadsafe instance only */
	volatile uint32_t *dbrec;
	struct m5_uidx_page *const *dir;
	struct m5_cqe *next;		/* the CQE at ci, */
	uint32_t lap;			/* and the lap, its owner bit when it is software's: m5_cq_set_ci */

	_Alignas(64) uint8_t *ring;
	uint32_t cqn;
	uint32_t arm_sn;
	uint32_t reserved;		/* hidden completions its endpoints may have in it */
	uint32_t room;			/* and how many it has room for */
	/* CQEs until ci were 0, and those that were no event of a hot dequeue: see m5_cq_total. */
	uint64_t before, aside;
	volatile uint8_t *uar;
	uint32_t uar_page;
	struct m5_obj *obj;
	struct m5_mem mem;		/* the first ring, and the doorbell record for good */
	struct m5_mem grown;		/* the ring after a resize */
	struct m5_evch *ch;		/* with arm_sn: under core_evd.cq_lock */
	pthread_mutex_t mutex;		/* of those who close the gate */
};
_Static_assert(sizeof(struct m5_cq) <= DAP_HW_EVD_SIZE, "EVD area");
_Static_assert(offsetof(struct m5_cq, ring) == 64, "what a poll asks is one line");

struct m5_pz {
	uint32_t pdn;
	void *priv;
};
_Static_assert(sizeof(struct m5_pz) <= DAP_HW_PZ_SIZE, "PZ area");

struct m5_lmr {
	struct m5_mr mr;
	struct m5_obj *zero;		/* the key of a zero-based one, which leads to mr; or NULL */
};
_Static_assert(sizeof(struct m5_lmr) <= DAP_HW_LMR_SIZE, "LMR area");

/* Distance before a context can recur: 255 binds of each of these keys. */
#define M5_RMR_KEYS 4

/* One key of an RMR that is bound to one endpoint, where window.c finds it. */
struct m5_window {
	struct m5_window *next;
	struct dap_rmr *rmr;		/* NULL: it is not there */
	uint32_t rkey;			/* some variant */
};
#define M5_WINDOW_BUCKETS 64

#define M5_RMR_UNSURE (1u << 31)	/* one failed: the key that the device has is not known */
#define M5_RMR_COUNT (M5_RMR_UNSURE - 1)

/* The binder's, but for what says otherwise. */
struct m5_rmr {
	/* Where the last bind was posted; no endpoint before one was. With last_gen, of an RMR of one
	 * endpoint: written under m5_ia.lock, because the end of that endpoint ends the key. */
	struct dap_ep *last_ep;
	uint64_t connection;		/* through which connection of it, or M5_NO_CONNECTION */
	/* What the last LMR allows that it was bound to, until that is freed: span is 0 then. */
	struct dap_lmr *lmr;
	uint64_t addr, length;
	uint64_t max_klm_len;		/* longest range that is one KLM */
	uint32_t lkey;
	uint32_t deny;			/* rights that a bind can not have, and no rights */
	uint32_t key_be;		/* the current key, once all binds posted are done */
	uint32_t last_key_be;		/* its last variant */

	/* What the second slot of a bind says: this RMR, and its gen, by which late completions of an
	 * older one differ. */
	struct m5_slot note;
	uint32_t first_key_be;		/* binds posted: one for each variant since this one, */
	uint32_t posted_before;		/* and these: see m5_rmr_posted */
	uint32_t stride_be;		/* from one variant to the next: odd, so that all 256 come */
	uint32_t last_gen;		/* on which QP the last one was posted, */
	uint16_t last_index;		/* and where it begins there */
	uint8_t current;		/* index of its mkey */
	uint8_t stride_inverse;		/* modulo 256: what divides by the stride */
	/* Atomic, the pollers': gen, M5_RMR_UNSURE, and how many binds of that gen have succeeded. */
	uint64_t done;
	struct m5_obj *obj[M5_RMR_KEYS];	/* of an RMR of one endpoint: as last_ep */
	uint32_t idle[M5_RMR_KEYS];	/* rkeys of the mkeys not current */
	struct m5_window window[M5_RMR_KEYS];
};
_Static_assert(offsetof(struct m5_rmr, note) == 64, "what a bind asks is one line");
_Static_assert(sizeof(struct m5_rmr) <= DAP_HW_RMR_SIZE, "RMR area");

/*
 * An SRQ. Its slots say of each WQE whether it is in use (bytes != 0): set by the poster, cleared
 * with release by whichever poller takes the completion. The poster needs no count of them, and
 * pollers of different CQs no lock.
 */
struct m5_srq {
	uint8_t *ring;
	struct m5_slot *slots;
	volatile uint32_t *dbrec;
	uint32_t pi;			/* posted, free running */
	uint32_t head;			/* the WQE that is written next: the last one links to it */
	uint32_t scan;			/* where the next free one is looked for */
	uint32_t usable;		/* WQEs with an index below it are used, one of them as head */
	uint32_t lock;			/* threadsafe instance only */
	uint8_t shift;			/* log2 of the stride */
	uint8_t max_iov;
	_Alignas(64) struct m5_rmp_ref rmp;
	struct m5_mem mem;
	uint32_t size;			/* WQEs in the ring, a power of two */
};
_Static_assert(sizeof(struct m5_srq) <= DAP_HW_SRQ_SIZE, "SRQ area");

struct m5_ia {
	struct m5_ctl *ctl;
	struct m5_dev_caps dev;
	struct m5_port port;
	struct m5_params params;
	struct m5_arena arena;
	struct m5_uidx_page **dir;	/* by user index; all-empty pages where unused */
	uint32_t *uidx_rest;		/* ring of free indexes, longest free first */
	uint32_t uidx_head, uidx_tail, uidx_size;
	uint32_t gen;
	uint32_t bf_regs_left;		/* endpoints that may still get a register of their own */
	enum m5_mmio mmio;		/* and how they use it, */
	char mmio_by[64];		/* and who says so */
	uint32_t eqn;
	unsigned int last_wqe_ms;	/* how long a QP that goes waits for that; atomic */
	bool locked;			/* hot functions take spin locks, */
	bool v3;			/* use AVX2, MOVBE and BMI, */
	bool inline_model;		/* and their callers drive the device, see ctl/soft_hot.c */
	struct m5_uar uar;		/* shared: CQ doorbells, and those of the later endpoints */
	pthread_mutex_t lock;
	struct m5_window *windows[M5_WINDOW_BUCKETS];	/* by key: under lock */
	const struct dap_hot *calls;	/* of the hardware, by v3 and locked */
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

/* What an inline model has to do is done, before its memory is looked at. */
static inline void m5_drive_model(const struct m5_ia *ia)
{
	if (ia->inline_model)
		ia->ctl->ops->drive(ia->ctl);
}

/* ---- async.c ---- */
/* What the port is now: it may change while connections are made. */
struct m5_port m5_ia_port(struct dap_ia *ia);

/* ---- mem.c ---- */
/* Page-aligned zeroed memory that the device may use. */
int m5_mem_alloc(struct m5_ctl *ctl, size_t len, struct m5_mem *mem);
/* ... that starts its umem: a work queue context has 5 bits of page_offset, where others have 6. */
int m5_mem_alloc_own(struct m5_ctl *ctl, size_t len, struct m5_mem *mem);
/* destroyed: what the end of the object that lay there was. Not 0: the device may still write. */
void m5_mem_free(struct m5_ctl *ctl, struct m5_mem *mem, int destroyed);

/* User indexes. */
int m5_uidx_open(struct m5_ia *ia);
void m5_uidx_close(struct m5_ia *ia);
int m5_uidx_get(struct m5_ia *ia, struct dap_ep *ep, uint32_t *uidx);
/* No CQE names it any more. */
void m5_uidx_put(struct m5_ia *ia, uint32_t uidx);

/* ---- qp.c ---- */
/* What posts need of a queue that is else filled in: ctrl*, fm, inline_end, *_len_range. */
void m5_sq_derive(struct m5_sq *sq, uint32_t qpn, uint8_t umr_fence);
/* Each list of a fresh ring ends after one segment, as m5_post_recv leaves it. */
void m5_rq_derive(struct m5_rq *rq);

/*
 * ---- cq_own.c: to have a CQ whose poller takes no lock ----
 *
 * Rarely somebody else must touch a CQ: a poster whose queue is full of suppressed work, a drain,
 * the end of an endpoint. The poller says that it is at it (busy), looks at the gate, and goes on
 * when it is open: two plain accesses and no fence. Who takes the CQ closes the gate, makes that
 * seen with membarrier(2), which fences on the poller's behalf, and waits until it is not busy.
 */
int m5_cq_own_init(void);		/* once per IA: -errno when this kernel can not do it */
void m5_cq_own(struct dap_evd *evd);
void m5_cq_release(struct dap_evd *evd);
M5_COLD void m5_cq_wait_owned(struct m5_cq *cq);	/* the poller, when it found the gate closed */

/* ---- resize.c ---- */
/* Gives each place of a new ring to the device, which is to write at index first next. */
void m5_cq_ring_init(const struct m5_cq *cq, uint32_t first);
/* Room for so many hidden completions more, and for no more. */
int m5_cq_reserve(struct dap_evd *evd, uint32_t internal);
void m5_cq_unreserve(struct dap_evd *evd, uint32_t internal);

/* ---- count.c ---- */
/* How many CQEs have ever left the CQ. */
uint64_t m5_cq_passed(const struct m5_cq *cq);

/* ---- reap.c: the CQ while it is taken ---- */
/* The first index that is not software's. */
uint32_t m5_cq_end(const struct m5_cq *cq);
/* Removes what a QP that is gone has left there. */
void m5_cq_purge(struct dap_evd *evd, struct dap_ep *ep);
/* Credit for n blocks: from what is published, else by taking own hidden completions out of the
 * CQ. The poster's cold path; its lock is held where it has one. */
M5_COLD bool m5_sq_credit(struct dap_ep *ep, uint32_t n);
/* Only the latter. Any thread. */
void m5_sq_reap(struct dap_ep *ep);
M5_COLD bool m5_rq_credit(struct dap_ep *ep);
/* A free WQE of the SRQ, when the next one is not: false when all are in use. */
M5_COLD bool m5_srq_search(struct dap_srq *srq, uint32_t *index);
enum m5_seen { M5_SEEN_NOT, M5_SEEN_OK, M5_SEEN_ERROR };
/* Whether the CQE of the WQE that begins at this index lies in the CQ. */
enum m5_seen m5_sq_seen(struct dap_ep *ep, uint16_t index);

/* ---- cqe.c: completions that are no plain success ---- */
/* A completion in neutral form; broken: the endpoint whose connection it ends, or NULL. */
struct m5_slow_cqe {
	struct dap_event ev;
	struct dap_ep *broken;
};
/* Takes the CQE at the CQ's ci, which is software's. True: r is filled; false: it was swallowed. */
M5_COLD bool m5_cqe_slow(struct dap_evd *evd, struct m5_slow_cqe *r);
/* The rest of it, which takes locks: once the CQ has been left. */
M5_COLD void m5_cqe_follow_up(struct dap_evd *evd, const struct m5_slow_cqe *r);
enum dap_dto_status m5_syndrome_status(unsigned int syndrome);
bool m5_cq_poll(struct dap_evd *evd, struct dap_event *ev);

/* ---- effect.c: what a completion does beside its event ---- */
/* What the WQE was whose CQE this is: for any opcode, so that none has to be masked. */
extern const uint8_t m5_dto_of_opcode[256] __attribute__((visibility("hidden")));
static inline enum dap_dto_op m5_cqe_dto(const struct m5_cqe *cqe)
{
	return (enum dap_dto_op)m5_dto_of_opcode[*(const uint8_t *)&cqe->opcode_qpn];
}
/* Moves the data of a CQE of format M5_CQE_SMALL32 to where its WQE wants it. */
void m5_cqe_spread(struct m5_ep *e, const struct m5_cqe *cqe);
static inline bool m5_cqe_is_small(const struct m5_cqe *cqe)
{
	return (cqe->op_own & (0x80 | M5_CQE_FORMAT)) == M5_CQE_SMALL32;
}
/* What a bind's completion means for its RMR. */
void m5_bind_done(struct m5_slot *slots, uint32_t mask, uint32_t index, bool ok);

/* ---- rmr.c: what comes before a bind now and then ---- */
/* The RMR can be bound through this endpoint handle at once: 0, or a DAP_ERR. */
M5_COLD int m5_bind_prepare(struct dap_rmr *rmr, void *ep_handle);
/* It is this endpoint's from here on: nothing but its end ends the key. 0, or a DAP_ERR. */
M5_COLD int m5_bind_claim(struct dap_rmr *rmr, struct dap_ep *ep);
/* The mkey after the current one is that from now on. */
void m5_rmr_next_mkey(struct dap_rmr *rmr);

/* The variant of a key is its low byte: the high one of key_be, where counting up wraps by itself. */
#define M5_VARIANT (1u << 24)

/* Binds posted: each takes the next variant of the key. */
static inline uint32_t m5_rmr_posted(const struct m5_rmr *r)
{
	return r->posted_before +
	       (r->key_be - r->first_key_be) * r->stride_inverse / M5_VARIANT;
}

#define M5_NO_CONNECTION UINT64_MAX
/* The RMR was bound through this endpoint, as it is connected now or not at all. */
static inline void m5_rmr_bind_conn(struct m5_rmr *r, const struct dap_ep *ep)
{
	uint64_t number = __atomic_load_n(&ep->connection, __ATOMIC_RELAXED);

	r->connection = number ? number : M5_NO_CONNECTION;
}

/* The RMR has been bound to this LMR; NULL: the one it knows is freed. */
M5_COLD void m5_rmr_cache_lmr(struct m5_rmr *r, struct dap_lmr *lmr);

/*
 * The QP of the endpoint is about to go, and its number may be another's then: destroys the keys that
 * are bound through it. No peer comes through them any more, and the next bind makes others.
 */
void m5_rmr_revoke_bound(struct dap_ep *ep);

/* ---- window.c: the keys of RMRs that are bound to one endpoint ---- */
void m5_window_enter(struct dap_rmr *rmr, unsigned int i, uint32_t rkey);
void m5_window_leave(struct dap_rmr *rmr, unsigned int i);
/* Under m5_ia.lock as m5_bind_claim; false: it needs another key, and nothing but the caller ends this. */
bool m5_window_claim(struct dap_rmr *rmr, struct dap_ep *ep);
/* It is no endpoint's, and its current key is found no more. */
void m5_window_drop(struct dap_rmr *rmr);
/* The peer has ended this context. */
void m5_window_ended(struct dap_ia *ia, uint32_t rkey);
/* Some RMR that is bound through the QP of this endpoint, whose current key is found no more; or NULL.
 * m5_ia.lock is held. */
struct dap_rmr *m5_window_pop(struct m5_ia *ia, struct dap_ep *ep);

/* ---- decode.c: one line of text ---- */
const char *m5_decode_wqe(const void *ring, uint32_t mask, uint32_t index, char *buf, size_t len);
const char *m5_decode_recv(const void *wqe, unsigned int slots, char *buf, size_t len);
const char *m5_decode_cqe(const struct m5_cqe *cqe, char *buf, size_t len);

#endif
