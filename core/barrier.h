/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Barriers between this CPU and a device or process that uses the same memory, one name for each
 * use. x86 makes stores to write-back memory visible in program order, so most are compiler
 * barriers. Write-combining (WC) MMIO is not ordered with them and needs a fence.
 */
#ifndef DAP_BARRIER_H
#define DAP_BARRIER_H

#include <stdint.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "barriers are defined for x86_64 and aarch64 only"
#endif

#if defined(__SANITIZE_THREAD__)
#define DAP_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DAP_TSAN 1
#endif
#endif
#ifndef DAP_TSAN
#define DAP_TSAN 0
#endif

#if DAP_TSAN
/*
 * Under ThreadSanitizer a store barrier only sets a flag; the next doorbell store is a release
 * only if the flag is set. So a missing barrier becomes a reported race.
 */
extern _Thread_local int dap_tsan_wmb;
static inline void dap_note_wmb(void) { dap_tsan_wmb = 1; }
#else
static inline void dap_note_wmb(void) { }
#endif

#if defined(__x86_64__)
#define DAP_ORDER_STORES ""
#define DAP_ORDER_LOADS ""
#define DAP_FLUSH_STORES "sfence"
#else
#define DAP_ORDER_STORES "dmb oshst"
#define DAP_ORDER_LOADS "dmb oshld"
#define DAP_FLUSH_STORES "dsb st"
#endif

/* Orders WQE bytes before the doorbell record: a device that sees the new counter must see the
 * WQE. */
static inline void dap_wmb_wqe_before_dbrec(void)
{
	__asm__ volatile(DAP_ORDER_STORES ::: "memory");
	dap_note_wmb();
}

/* Ends a write-combined store: pushes the buffer out before the same area is written again. */
static inline void dap_wc_flush(void)
{
	__asm__ volatile(DAP_FLUSH_STORES ::: "memory");
	dap_note_wmb();
}

/* Orders the doorbell record before the MMIO doorbell: a device woken by MMIO must find the new
 * counter. */
static inline void dap_wmb_dbrec_before_mmio(void)
{
	dap_wc_flush();
}

/* Orders the odd number of a page of counters before its values: a process that reads a new value must
 * find that number. */
static inline void dap_wmb_seq_before_values(void)
{
	__asm__ volatile(DAP_ORDER_STORES ::: "memory");
}

/* Orders the read of a CQE's owner bit before reads of its other fields: the device writes the
 * owner bit last. */
static inline void dap_rmb_cqe_owner(void)
{
	__asm__ volatile(DAP_ORDER_LOADS ::: "memory");
}

/* Orders reads of a CQE or EQE before the consumer index that returns its slot to the device. */
static inline void dap_mb_cqe_before_ci(void)
{
	dap_rmb_cqe_owner();
	dap_note_wmb();
}

/* Accesses to a word that a device reads while we write it (doorbell record, consumer index,
 * MMIO). */
static inline void dap_store_dbrec(volatile uint32_t *p, uint32_t v)
{
#if DAP_TSAN
	__atomic_store_n(p, v, dap_tsan_wmb ? __ATOMIC_RELEASE : __ATOMIC_RELAXED);
	dap_tsan_wmb = 0;
#else
	*p = v;
#endif
}

/* An 8-byte doorbell: one atomic store, so its page needs no lock between threads. */
static inline void dap_mmio_store64(volatile uint64_t *p, uint64_t v)
{
#if DAP_TSAN
	__atomic_store_n(p, v, dap_tsan_wmb ? __ATOMIC_RELEASE : __ATOMIC_RELAXED);
	dap_tsan_wmb = 0;
#else
	*p = v;
#endif
}

/*
 * Reads the owner byte of a CQE, which the device may write meanwhile. A device stores the eight
 * aligned bytes around it at once. ThreadSanitizer pairs only accesses to the same address, so
 * under it all eight are read.
 */
static inline uint8_t dap_load_owner(const volatile uint8_t *p)
{
#if DAP_TSAN
	const volatile uint64_t *word = (const volatile uint64_t *)((uintptr_t)p & ~(uintptr_t)7);

	return (uint8_t)(__atomic_load_n(word, __ATOMIC_ACQUIRE) >> ((uintptr_t)p % 8 * 8));
#else
	return *p;
#endif
}

/* Reads an owner byte and a status byte that are adjacent and that the device stores together. */
static inline uint16_t dap_load_owner16(const volatile void *p)
{
#if DAP_TSAN
	const volatile uint64_t *word = (const volatile uint64_t *)((uintptr_t)p & ~(uintptr_t)7);

	return (uint16_t)(__atomic_load_n(word, __ATOMIC_ACQUIRE) >> ((uintptr_t)p % 8 * 8));
#else
	typedef uint16_t __attribute__((may_alias)) dap_u16;

	return *(const volatile dap_u16 *)p;
#endif
}

/* For spin loops: wait for a store of another CPU. */
static inline void dap_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("yield");
#endif
}

#endif
