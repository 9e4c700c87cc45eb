/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An IA has one CQ and one engine: a poll of any EVD takes completions for all EVDs, since credits and
 * answers of one direction arrive with the other (DESIGN.md).
 */
#ifndef EFA_ENGINE_H
#define EFA_ENGINE_H

#include <pthread.h>

#include "core/dap.h"
#include "hw_efa/ctl/ctl.h"
#include "hw_efa/wqe.h"

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
	struct efa_cqring cq;
	uint32_t lock;			/* 1: a thread is in the engine */
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
};

struct efa_ah {				/* one for each PD and GID */
	struct efa_ah *next;
	void *pd, *priv;
	uint8_t gid[16];
	uint16_t number;
	uint32_t refs;
};

/* A context by which a peer may write in software. */
struct efa_key {
	struct efa_key *next;
	struct dap_pz *pz;
	uint64_t addr, len;
	uint32_t rkey;
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

#endif
