/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine's lock. "In the engine" means that the caller holds it. All calls take it, also those
 * of a consumer with one thread, because the library's thread takes it some 50 times a second.
 * Uncontended, it costs one exchange and one store. Its holder neither gives a command to the
 * kernel nor waits.
 */
#ifndef EFA_LOCK_H
#define EFA_LOCK_H

#include "hw_efa/calls.h"

EFA_COLD void efa_spin(uint32_t *lock);

EFA_INLINE bool efa_try_enter(struct efa_engine *eng)
{
	return !__atomic_exchange_n(&eng->lock, 1, __ATOMIC_ACQUIRE);
}

/* Leaves the engine if the caller put no completion into an EVD. The thread that did reports the
 * overflow, so the caller may hold locks that the report takes. */
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
	bool over = eng->over;

	efa_go(eng);
	if (efa_unlikely(over))
		efa_report_overflows(eng);
}

#endif
