/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The engine's lock: waiting for it, and reports of overflows after leaving. */
#include <sched.h>

#include "hw_efa/lock.h"

#define EFA_LOCK_TURNS 256u		/* looks at the lock before the CPU is yielded to its holder */

void efa_spin(uint32_t *lock)
{
	unsigned int turns = 0;

	do {
		while (__atomic_load_n(lock, __ATOMIC_RELAXED))
			if (++turns % EFA_LOCK_TURNS == 0)
				sched_yield();
	} while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE));
}

void efa_tell_full(struct efa_engine *eng)
{
	struct dap_evd *evd;

	do {
		efa_enter(eng);
		evd = eng->over;
		eng->over = evd ? efa_evd(evd)->next_over : NULL;
		efa_go(eng);
		if (evd)
			dap_evd_overflow(evd);
	} while (evd);
}
