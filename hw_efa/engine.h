/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An IA has one CQ and one engine. A poll of any EVD takes completions for all EVDs, because
 * credits and answers of one direction arrive with packets of the other (DESIGN.md).
 */
#ifndef EFA_ENGINE_H
#define EFA_ENGINE_H

#include <pthread.h>

#include "hw_efa/ctl/ctl.h"

/* ---- completions ---- */

#define EFA_DONE_BIND 0x80u		/* bit of efa_done.status that marks a bind */

struct efa_done {
	struct dap_ep *ep;
	uint64_t cookie;
	uint64_t bytes;			/* bytes transferred; bind: the address of the RMR */
	uint8_t op, status;
	bool receive, unsignalled;
};

struct efa_evd {
	struct efa_done *ring;
	struct efa_engine *eng;
	uint32_t head, tail, mask;
	bool armed, overflowed;
	int wake, fd;			/* eventfd; epoll of it and the CQ's fd; -1 before the first wait */
};
_Static_assert(sizeof(struct efa_evd) <= DAP_HW_EVD_SIZE, "EVD area");

struct efa_cqring {
	const struct efa_cqe *base;
	uint32_t mask, log;		/* mask and log2 of the number of entries */
	/* Most CQEs taken since the consumer index was written; a mask of the CQEs between two writes. */
	uint32_t lag;
	uint32_t taken;			/* the phase of CQEs of the last lap, shifted by 8 bits */
	uint32_t ci;			/* number of CQEs taken */
};

struct efa_engine {
	bool driven;			/* the device is software and works only within calls */
	struct dap_ep **eps;		/* endpoints by QP number */
	struct efa_cqring cq;
	uint32_t lock;			/* 1: a thread is in the engine */
	bool over;			/* an EVD has overflowed, which is reported after efa_leave */

	_Alignas(64) struct efa_ctl *ctl;
	struct efa_cq_res res;
	struct dap_ia *ia;
	uint32_t cq_entries, cq_used;
	uint32_t gen;
	/* number of EVDs with a waiter; number of endpoints whose writes are emulated */
	uint32_t armed, emulating;
	uint32_t live;			/* number of connected endpoints */
	uint32_t polls;			/* number of polls by efa_await */
	uint8_t lmr_gen;
	struct dap_ep *deferred;		/* endpoints with work that the tick issues */
	struct dap_timer tick;
	uint32_t tick_us;		/* interval of the timer that is set; 0: none is set */
	/* wake-ups by the device in a row since a waiter last got a completion */
	uint32_t fruitless;
	/* protects ahs; held during commands, never taken within lock */
	pthread_mutex_t ah_lock;
	struct efa_ah *ahs;
	struct efa_key *keys[256];
};

/* A context of emulated RDMA writes. */
struct efa_key {
	struct efa_key *next;
	struct dap_pz *pz;
	uint64_t addr, len;
	uint32_t rkey;
};

#endif
