/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks between posters and pollers of a threadsafe instance, and between pollers of a
 * nonthreadsafe one and other threads that need a CQ (see obj.h, cq_own.c). */
#ifndef M5_LOCK_H
#define M5_LOCK_H

#include "hw_mlx5/obj.h"

#define M5_INLINE static inline __attribute__((always_inline))
/* Not inlined, with arguments kept in place, so that a tail call is a jump. */
#if defined(__clang__)
#define M5_NOINLINE __attribute__((noinline))
#else
#define M5_NOINLINE __attribute__((noinline, noipa))
#endif
/* An unused argument, which keeps the others in place. */
#define M5_UNUSED __attribute__((unused))
/* Hides a value from the compiler, which then keeps it instead of computing it again. */
#define M5_HIDE(variable) __asm__("" : "+r"(variable))
#define M5_HIDE_BOTH(one, other) __asm__("" : "+r"(one), "+r"(other))
#define m5_likely(x) __builtin_expect(!!(x), 1)
#define m5_unlikely(x) __builtin_expect(!!(x), 0)

M5_COLD void m5_spin_wait(uint32_t *lock);

/* Stops the compiler from moving code across. */
M5_INLINE void m5_compiler_barrier(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * Counts for the InfiniBand extension. Only the queue's owner adds, others may read at any time. A
 * plain add is one instruction; gcc makes three of an atomic load and store.
 */
M5_INLINE void m5_count_add(uint64_t *count, uint64_t more)
{
#if DAP_TSAN
	__atomic_store_n(count, *count + more, __ATOMIC_RELAXED);
#else
	*count += more;
#endif
}

/* Stores an index that other threads may read. A plain store: of an atomic one, gcc makes more
 * instructions in the loop of m5_dequeue_n. */
M5_INLINE void m5_index_set(uint32_t *index, uint32_t value)
{
#if DAP_TSAN
	__atomic_store_n(index, value, __ATOMIC_RELAXED);
#else
	*index = value;
#endif
}

/* Releases the WQE of an SRQ, which may then be posted again. */
M5_INLINE void m5_srq_release(struct m5_slot *slot)
{
	__atomic_store_n(&slot->bytes, 0, __ATOMIC_RELEASE);
}

M5_INLINE void m5_spin_lock(uint32_t *lock)
{
	if (m5_unlikely(__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)))
		m5_spin_wait(lock);
}

/* For functions that must not call others: if the lock is taken, they use the slow path. */
M5_INLINE bool m5_spin_try(uint32_t *lock)
{
#if defined(__x86_64__) && !DAP_TSAN
	uint32_t was;

	/* Assembly: for its builtin, gcc loads the lock's address into a register, and the 1 into another. */
	__asm__ volatile("movl $1, %0; xchgl %0, %1" : "=&r"(was), "+m"(*lock) : : "memory");
	return m5_likely(!was);
#else
	return m5_likely(!__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE));
#endif
}

M5_INLINE void m5_spin_unlock(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

/*
 * Posts on the fast path must not wrap at the ring's end, so the limit is there, unless the n
 * blocks wanted now wrap.
 */
M5_INLINE void m5_sq_limit(struct m5_sq *sq, uint32_t n, uint32_t credit)
{
	uint32_t to_end = sq->mask + 1 - (sq->pi & sq->mask);

	if (to_end < n)
		to_end = n;
	sq->limit = sq->pi + (credit < to_end ? credit : to_end);
}

/* Returns true if the unbind of a key rotation is among the used blocks. */
M5_INLINE bool m5_rotating(const struct m5_ep *e, uint32_t used)
{
	return e->sq.pi - e->rotated < used;
}

/*
 * The fast path compares only blocks with a limit, which accounts for ring space and for the
 * number of outstanding requests. This recomputes it from published indexes. True: there is credit
 * for n blocks, even if each is one request.
 */
M5_INLINE bool m5_sq_recheck(struct m5_ep *e, uint32_t n)
{
	struct m5_sq *sq = &e->sq;
	uint16_t used = (uint16_t)(sq->pi - __atomic_load_n(&e->done.sq_ci, __ATOMIC_ACQUIRE));
	/* One block stays free for the NOP of a drain. */
	uint32_t room = sq->mask - used;

	if (used + n > e->max_ops || n > room)
		return false;
	m5_sq_limit(sq, n, room < e->max_ops - used ? room : e->max_ops - used);
	return true;
}

/* Enters the CQ. False: another thread has the CQ. */
M5_INLINE bool m5_cq_enter_try(struct m5_cq *cq, bool locked)
{
	if (locked)
		return m5_spin_try(&cq->lock);
	__atomic_store_n(&cq->in_poll, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (m5_likely(!__atomic_load_n(&cq->revoked, __ATOMIC_ACQUIRE)))
		return true;
	__atomic_store_n(&cq->in_poll, 0, __ATOMIC_RELEASE);
	return false;
}

M5_INLINE void m5_cq_enter(struct m5_cq *cq, bool locked)
{
	if (locked) {
		m5_spin_lock(&cq->lock);
		return;
	}
	__atomic_store_n(&cq->in_poll, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (m5_unlikely(__atomic_load_n(&cq->revoked, __ATOMIC_ACQUIRE)))
		m5_cq_wait_owned(cq);
}

M5_INLINE void m5_cq_leave(struct m5_cq *cq, bool locked)
{
	if (locked)
		m5_spin_unlock(&cq->lock);
	else
		__atomic_store_n(&cq->in_poll, 0, __ATOMIC_RELEASE);
}

M5_INLINE struct m5_cqe *m5_cqe_at(const struct m5_cq *cq, uint32_t i)
{
	return (struct m5_cqe *)(cq->ring + (size_t)(i & cq->mask) * sizeof(struct m5_cqe));
}

/* Returns true if software owns the CQE at free-running index i. */
M5_INLINE bool m5_cqe_ours(const struct m5_cq *cq, uint32_t i, uint8_t op_own)
{
	return !((op_own ^ (i >> cq->log)) & 1);
}

/*
 * Sets the poller's position to ci. The lap number in ci has fewer bits than cq->lap, so cq->lap advances
 * by their difference. m5_cq_passed reads both at any time.
 */
M5_INLINE void m5_cq_set_ci(struct m5_cq *cq, uint32_t ci)
{
	uint32_t ahead = ((ci >> cq->log) - cq->lap) & UINT32_MAX >> cq->log;

	m5_index_set(&cq->lap, cq->lap + ahead);
	m5_index_set(&cq->ci, ci);
	cq->next = m5_cqe_at(cq, ci);
}

M5_INLINE void m5_cq_store_ci(struct m5_cq *cq, uint32_t ci)
{
	dap_mb_cqe_before_ci();
	dap_store_dbrec(cq->dbrec, htobe32(ci & 0xffffff));
}

M5_INLINE void m5_cq_publish(struct m5_cq *cq, uint32_t ci)
{
	m5_cq_set_ci(cq, ci);
	m5_cq_store_ci(cq, ci);
}

/* Releases the CQE at ci. */
M5_INLINE void m5_cq_step(struct m5_cq *cq)
{
	uint32_t ci = cq->ci + 1;

	m5_index_set(&cq->ci, ci);
	cq->next++;
	if (m5_unlikely(!(ci & cq->mask))) {
		cq->next = (struct m5_cqe *)cq->ring;
		m5_index_set(&cq->lap, cq->lap + 1);
	}
	m5_cq_store_ci(cq, ci);
}

M5_INLINE struct dap_ep *m5_cqe_ep(const struct m5_cq *cq, const struct m5_cqe *cqe)
{
	uint32_t uidx = be32_to_cpu(cqe->uidx);

	const struct m5_uidx_page *page =
		__atomic_load_n(&cq->dir[uidx >> 12 & 0xfff], __ATOMIC_ACQUIRE);

	return __atomic_load_n(&page->ep[uidx & 0xfff], __ATOMIC_ACQUIRE);
}

#endif
