/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of DAT objects that belong to this backend. They are accessed in the engine (lock.h).
 *
 * Counters run free and are masked on use.
 */
#ifndef EFA_OBJ_H
#define EFA_OBJ_H

#include "core/barrier.h"
#include "hw_efa/engine.h"
#include "hw_efa/params.h"
#include "hw_efa/rx.h"

/*
 * For functions that the fast path calls in unlikely cases: out of the way of its code. The
 * attribute "cold" would also optimize them for size (hw_mlx5/obj.h).
 */
#define EFA_COLD __attribute__((noinline, section(".text.unlikely.efa")))
#define EFA_INLINE static inline __attribute__((always_inline))
#define efa_likely(x) __builtin_expect(!!(x), 1)
#define efa_unlikely(x) __builtin_expect(!!(x), 0)

/* A FIN that is to be sent to the peer. */
struct efa_answer { uint32_t id, status; };
#define EFA_ASKS 8u			/* most requests of a kind that await the peer's FIN */
#define EFA_ANSWERS (4 * EFA_ASKS)	/* most FINs that are to be sent to the peer */

#define EFA_WHY 240u

/* state of the first RDMA of a connection, during which no other RDMA is posted */
enum efa_rdma {
	EFA_RDMA_NONE,			/* no RDMA has been posted yet */
	EFA_RDMA_TRIED,			/* the first RDMA is outstanding */
	EFA_RDMA_REFUSED,		/* the peer's device does not know our address handle yet */
	EFA_RDMA_WORKS,
};
#define EFA_RDMA_TRIES 100u		/* most tries, one in each ms */

struct efa_ep_cold {			/* state that the fast path does not use */
	struct efa_qp_res qp;
	struct efa_mr mr;		/* registration of the receive buffers and the stage */
	uint8_t *stage;			/* EFA_STAGE bytes for each WQE */
	struct efa_ah *ah;
	uint32_t qkey;
	struct efa_answer answer[EFA_ANSWERS];
	uint32_t answers, answered;
	/* text of the reason for the end of the connection; empty until one is known */
	char why[EFA_WHY];
	bool credit_out, is_deferred, live;
	bool destroyed;			/* the QP has been destroyed, because it did not flush */
	int kept;			/* error of the command that destroys the QP; 0: none yet */
	bool refuses;			/* an emulated write was refused, so no later packet is delivered */
	uint32_t nowhere;		/* target of doorbells of a destroyed QP */
	uint32_t gone;			/* ticks until a vanished peer is an error */
	struct efa_cqe gone_cqe;	/* the first completion that found the peer gone */
	enum efa_rdma rdma;
	uint32_t rdma_tries;		/* number of tries that are left */
	struct efa_wr first_rdma;
	struct dap_ep *next_deferred;
	/* number of polls left until this side asks the peer's manager again */
	uint32_t ask_pause;
	/* this side has asked the peer to acknowledge each message without delay */
	bool has_asked;
	uint32_t oldest_ack;		/* acks in flight have at least this number */
	uint32_t mark_ack;		/* acks of this era have at least this number */
	bool holds;			/* acks are held back, because one in flight is too old */
	uint64_t dropped;
	/*
	 * numbers of delivered requests and of completed WQEs when a wait for completions began; its
	 * time in ms, 0: none began; efa_engine.polls at that time
	 */
	uint64_t waits_for, waits_since;
	uint32_t waits_polls;
};
#define EFA_STAGE 512u

enum { EFA_REQUESTS, EFA_RECEIVES };

struct efa_ep {
	struct efa_sq sq;
	_Alignas(64) struct efa_tx tx;
	_Alignas(64) struct efa_rx rx;
	struct efa_ep_cold *cold;
	uint32_t free_at[2];		/* limits for posted requests and receives: dequeued + max */
	uint16_t qpn, remote_qpn, ah;
	uint32_t from;			/* ah and remote_qpn in the form of efa_cqe_from */
};
_Static_assert(sizeof(struct efa_ep) <= DAP_HW_EP_SIZE, "endpoint area");
_Static_assert(sizeof(struct efa_ctrl_msg) + EFA_MAX_IOV * sizeof(struct efa_seg) <= EFA_STAGE,
	       "a control message is staged whole");

struct efa_shape {			/* what each endpoint of the IA needs */
	uint32_t sq, rq;		/* entries of the send queue and of the receive queue */
	uint32_t bufs, stride;		/* receive buffers, and the bytes from one to the next */
	uint32_t cqes;			/* entries of the CQ */
	size_t mem;			/* bytes of the receive buffers and the stage */
	uint16_t inline_max;		/* most bytes of inline data in a WQE */
	bool wide;			/* WQEs have 128 bytes */
};

struct efa_ia {
	struct efa_ctl *ctl;
	struct efa_caps dev;
	struct efa_params params;
	struct efa_shape shape;
	struct efa_engine *eng;
};
_Static_assert(sizeof(struct efa_ia) <= DAP_HW_IA_SIZE, "IA area");

struct efa_pz { void *pd; };
_Static_assert(sizeof(struct efa_pz) <= DAP_HW_PZ_SIZE, "PZ area");

struct efa_lmr {
	struct efa_mr mr;
	struct efa_key key;
	bool cached;			/* an endpoint may cache a pointer to it, see efa_allowed */
};
extern const struct dap_lmr efa_no_lmr;	/* contains no address */
_Static_assert(sizeof(struct efa_lmr) <= DAP_HW_LMR_SIZE, "LMR area");

struct efa_rmr {
	struct efa_mr mr;		/* registration of the last bind */
	bool bound;			/* mr is registered */
	uint32_t busy;			/* lock of the call that changes the RMR, outside of the engine */
	struct efa_key key;
};
_Static_assert(sizeof(struct efa_rmr) <= DAP_HW_RMR_SIZE, "RMR area");

static inline struct efa_ep *efa_ep(struct dap_ep *ep) { return (struct efa_ep *)ep->hw; }
static inline struct efa_evd *efa_evd(struct dap_evd *evd) { return (struct efa_evd *)evd->hw; }
static inline struct efa_pz *efa_pz(struct dap_pz *pz) { return (struct efa_pz *)pz->hw; }
static inline struct efa_lmr *efa_lmr(struct dap_lmr *lmr) { return (struct efa_lmr *)lmr->hw; }
static inline struct efa_rmr *efa_rmr(struct dap_rmr *rmr) { return (struct efa_rmr *)rmr->hw; }
static inline struct efa_ia *efa_ia(struct dap_ia *ia) { return (struct efa_ia *)ia->hw_area; }

/*
 * The context of an LMR is its lkey, followed by 8 bits that count. Core requires that contexts of
 * live LMRs differ above those 8. The count tells an LMR from a freed one that had the same lkey.
 */
static inline uint32_t efa_lkey(uint32_t context) { return context >> 8; }

#endif
