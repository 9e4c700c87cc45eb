/* SPDX-License-Identifier: BSD-2-Clause */
/* Hot functions with one fault each, which scripts/hot-check must find; and a function without a
 * fault. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct target {
	int (*fn)(struct target *t);
	atomic_int count;
	pthread_mutex_t lock;
	void *memory;
};

int hot_clean(struct target *t);
int hot_call(struct target *t);
int hot_tail_call(struct target *t);
int hot_lock(struct target *t);
int hot_xchg(struct target *t);
int hot_malloc(struct target *t);
int hot_mutex(struct target *t);
int hot_kernel(struct target *t);
int hot_callee(struct target *t);
int hot_blueflame(struct target *t);
int hot_flushed(struct target *t);
int hot_unfenced(struct target *t);
int hot_polled(struct target *t);
int hot_early_read(struct target *t);
int hot_early_index(struct target *t);
int hot_rung(struct target *t);
int hot_early_ring(struct target *t);

/* An error exit that is out of line: hot-check ignores it. */
static __attribute__((cold, noinline)) int refuse(struct target *t)
{
	t->memory = malloc(64);
	return t->fn(t);
}

int hot_clean(struct target *t)
{
	int seen = atomic_load_explicit(&t->count, memory_order_acquire);

	if (__builtin_expect(seen < 0, 0))
		return refuse(t);
	atomic_store_explicit(&t->count, seen + 1, memory_order_release);
	return 0;
}

int hot_call(struct target *t)
{
	return t->fn(t) + 1;
}

int hot_tail_call(struct target *t)
{
	return t->fn(t);
}

int hot_lock(struct target *t)
{
	return atomic_fetch_add(&t->count, 2);
}

int hot_xchg(struct target *t)
{
	return atomic_exchange(&t->count, 2);
}

int hot_malloc(struct target *t)
{
	t->memory = malloc(64);
	return 0;
}

int hot_mutex(struct target *t)
{
	return pthread_mutex_lock(&t->lock) + 1;
}

int hot_kernel(struct target *t)
{
	(void)t;
#if defined(__x86_64__)
	int ret = 39;

	__asm__ volatile("syscall" : "+a"(ret) : : "rcx", "r11", "memory");
	return ret;
#else
	register long ret __asm__("x0"), call __asm__("x8") = 172;

	__asm__ volatile("svc #0" : "=r"(ret) : "r"(call) : "memory");
	return (int)ret;
#endif
}

static __attribute__((noinline)) int callee(struct target *t)
{
	return atomic_fetch_sub(&t->count, 1) + 7;
}

int hot_callee(struct target *t)
{
	return callee(t) + callee(t);
}

#if defined(__x86_64__)
/* A macro that rings the doorbell as a post of a threadsafe IA does: the register's other half, a
 * fence, the WQE, the unlock. */
#define BLUEFLAME(fence, flush)                                                                    \
	do {                                                                                       \
		__asm__ volatile("xorq $256, %0; " fence "; movaps %%xmm0, (%1); " flush           \
				 : "+m"(t->memory)                                                 \
				 : "r"(t->memory)                                                  \
				 : "cc", "memory");                                                \
		atomic_store_explicit(&t->count, 0, memory_order_release);                         \
	} while (0)
#define FLUSH "sfence"
#else
#define BLUEFLAME(fence, flush)                                                                    \
	do {                                                                                       \
		__asm__ volatile("dmb oshst; eor x9, %0, #256; " fence "; str q0, [%0]; " flush    \
				 : : "r"(t->memory) : "x9", "memory");                             \
		atomic_store_explicit(&t->count, 0, memory_order_release);                         \
	} while (0)
#define FLUSH "dsb st"
#endif

int hot_blueflame(struct target *t)
{
	BLUEFLAME(FLUSH, "");
	return 0;
}

int hot_flushed(struct target *t)
{
	BLUEFLAME(FLUSH, FLUSH);
	return 0;
}

int hot_unfenced(struct target *t)
{
	BLUEFLAME("", FLUSH);
	return 0;
}

#if defined(__aarch64__)
/* Macros that read a CQE and return it to the device, and that ring a doorbell of an EFA. */
#define POLL(read, index)                                                                          \
	__asm__ volatile("ldrb w9, [%0, #63]; " read "; ldr w10, [%0, #44]; " index "; "           \
			 "and w9, w9, #0xffffff; rev w9, w9; str w9, [%1]"                         \
			 : : "r"(t->memory), "r"(t) : "x9", "x10", "memory")
#define RING(flush)                                                                                \
	__asm__ volatile("ldrh w9, [%0, #4]; " flush "; str w9, [%1]"                              \
			 : : "r"(t), "r"(t->memory) : "x9", "memory")

int hot_polled(struct target *t)
{
	POLL("dmb oshld", "dmb oshld");
	return 0;
}

int hot_early_read(struct target *t)
{
	POLL("", "dmb oshld");
	return 0;
}

int hot_early_index(struct target *t)
{
	POLL("dmb oshld", "");
	return 0;
}

int hot_rung(struct target *t)
{
	RING("dsb st");
	return 0;
}

int hot_early_ring(struct target *t)
{
	RING("");
	return 0;
}
#endif
