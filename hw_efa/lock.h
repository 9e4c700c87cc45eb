/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine's lock. All calls take it, in both kinds of instance: the library's thread enters an
 * engine some 50 times a second beside a consumer of one thread. Uncontended it is one exchange and
 * one store. No kernel command is given and nothing is waited for while it is held.
 */
#ifndef EFA_LOCK_H
#define EFA_LOCK_H

#include "hw_efa/calls.h"

EFA_COLD void efa_spin(uint32_t *lock);

EFA_INLINE bool efa_try_enter(struct efa_engine *eng)
{
	return !__atomic_exchange_n(&eng->lock, 1, __ATOMIC_ACQUIRE);
}

/* For calls that put nothing into an EVD: none can have become full. */
EFA_INLINE void efa_go(struct efa_engine *eng)
{
	__atomic_store_n(&eng->lock, 0, __ATOMIC_RELEASE);
}

EFA_INLINE void efa_enter(struct efa_engine *eng)
{
	if (efa_unlikely(!efa_try_enter(eng)))
		efa_spin(&eng->lock);
}

EFA_INLINE void efa_leave(struct efa_engine *eng)
{
	struct dap_evd *over = eng->over;

	efa_go(eng);
	if (efa_unlikely(over != NULL))
		efa_tell_full(eng);
}

#endif
