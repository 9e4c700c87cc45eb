/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The engine's lock, and what slow calls do as they enter and leave. */
#include <sched.h>

#include "hw_efa/lock.h"

void efa_spin(uint32_t *lock)
{
	unsigned int turns = 0;

	do {
		while (__atomic_load_n(lock, __ATOMIC_RELAXED))
			if (++turns % EFA_LOCK_TURNS == 0)
				sched_yield();
	} while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE));
}

void efa_take(struct efa_engine *eng)
{
	efa_enter(eng);
	efa_settle(eng);
}

void efa_give(struct efa_engine *eng)
{
	efa_leave(eng);
}

void efa_settle(struct efa_engine *eng)
{
	while (eng->ready) {
		struct efa_evd *q = efa_evd(eng->ready);
		uint32_t has = q->has;

		eng->ready = q->next_ready;
		q->in_ready = false;
		q->has &= EFA_HAS_RING;
		if (has & EFA_HAS_MESSAGE)
			efa_rx_settle(q->ready);
		if (has & EFA_HAS_REQUEST)
			efa_catch_up(q->ready);
		if (has & ~(uint32_t)EFA_HAS_RING && efa_ep(q->ready)->tx.blocked & EFA_B_QUEUE)
			efa_push(q->ready);
	}
}

void efa_tell_full(struct efa_engine *eng)
{
	struct dap_evd *evd;

	do {
		efa_take(eng);
		evd = eng->over;
		eng->over = evd ? efa_evd(evd)->next_over : NULL;
		efa_go(eng);
		if (evd)
			dap_evd_overflow(evd);
	} while (evd);
}
