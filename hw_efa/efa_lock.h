/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is in the engine. In a nonthreadsafe instance a thread that was there before goes in with
 * plain loads and stores: its cell is the engine's. It says that it is busy, looks whether the cell
 * is still the engine's, and goes on; another thread takes the cell away, makes that seen with
 * membarrier(2), which fences on the first one's behalf, and waits until that is not busy. Cells
 * change hands a few times; after that, as in a threadsafe instance from the start, all take a lock.
 */
#ifndef EFA_LOCK_H
#define EFA_LOCK_H

#include "hw_efa/efa_obj.h"

/* Once for each IA: -errno when this kernel can not do it. */
int efa_lock_open(void);
void efa_lock_init(struct efa_engine *eng);

EFA_COLD struct efa_cell *efa_enter_slow(struct efa_engine *eng);
EFA_COLD void efa_leave_slow(struct efa_engine *eng);
EFA_COLD void efa_spin(uint32_t *lock);
#define EFA_LOCK_TURNS 256u		/* looks at a lock, before its thread is given a chance */
/* For calls that are not hot, by any thread: no cell changes hands. */
void efa_take(struct efa_engine *eng);
void efa_give(struct efa_engine *eng);

EFA_INLINE uintptr_t efa_self(void)
{
	uintptr_t self;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(self));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(self));
#endif
	return self;
}

/* The cell that its thread has come in by, or NULL: it is not in. */
EFA_INLINE struct efa_cell *efa_enter_cell(struct efa_engine *eng)
{
	struct efa_cell *c = __atomic_load_n(&eng->cell, __ATOMIC_ACQUIRE);

	if (efa_unlikely(c->owner != efa_self()))
		return NULL;
	__atomic_store_n(&c->busy, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (efa_likely(__atomic_load_n(&eng->cell, __ATOMIC_ACQUIRE) == c))
		return c;
	__atomic_store_n(&c->busy, 0, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * The lock, where it soon is free. Who has to wait for longer does so out of line, after another
 * call: one within it would take registers from those that do not wait.
 */
EFA_INLINE bool efa_lock_soon(uint32_t *lock)
{
	unsigned int turns = EFA_LOCK_TURNS;

	if (efa_likely(!__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)))
		return true;
	while (__atomic_load_n(lock, __ATOMIC_RELAXED))
		if (!--turns)
			return false;
	return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE);
}

/* What it returns is to be given to efa_leave. */
EFA_INLINE struct efa_cell *efa_enter(struct efa_engine *eng, bool locked)
{
	struct efa_cell *c;

	if (locked) {
		if (efa_unlikely(__atomic_exchange_n(&eng->lock, 1, __ATOMIC_ACQUIRE)))
			efa_spin(&eng->lock);
		return NULL;
	}
	c = efa_enter_cell(eng);
	return efa_likely(c != NULL) ? c : efa_enter_slow(eng);
}

EFA_INLINE void efa_leave(struct efa_engine *eng, struct efa_cell *c, bool locked)
{
	struct dap_evd *over = eng->over;

	if (locked)
		__atomic_store_n(&eng->lock, 0, __ATOMIC_RELEASE);
	else if (efa_likely(c != NULL))
		__atomic_store_n(&c->busy, 0, __ATOMIC_RELEASE);
	else
		efa_leave_slow(eng);
	if (efa_unlikely(over != NULL))
		efa_tell_full(eng);
}

#endif
