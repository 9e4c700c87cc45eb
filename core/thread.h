/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of the library. All signals are blocked in them: they belong to the consumer's threads. */
#ifndef DAP_THREAD_H
#define DAP_THREAD_H

#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns 0 or an error number, as pthread_create(3) does. */
int dap_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

#define DAP_ANY_CPU UINT32_MAX

/* Returns 0, or -EINVAL if this process may not use the CPU. */
int dap_thread_may_use(uint32_t cpu);
/*
 * From now on the library's own threads run on this CPU, as cm_cpu= says. Agents run the consumer's code,
 * so they are not among these threads.
 */
void dap_thread_own_cpu(uint32_t cpu);
/* Pins a thread to that CPU, if one has been chosen. */
void dap_thread_pin(pthread_t thread);
/* Pins the calling thread, if another CPU than *cpu has been chosen. *cpu is initially DAP_ANY_CPU. */
void dap_thread_follow(uint32_t *cpu);

/*
 * Makes an eventfd readable. Uses syscall(2), because write(2) is a cancellation point: a consumer's
 * thread that is cancelled there would keep its locks. The call fails only if the counter is full; then
 * the eventfd is readable already.
 */
static inline void dap_thread_signal(int eventfd)
{
	const uint64_t one = 1;

	(void)syscall(SYS_write, eventfd, &one, sizeof(one));
}

/* Sleeps without a cancellation point, unlike usleep(3). us: less than a second. */
static inline void dap_thread_sleep_us(unsigned int us)
{
	const struct timespec pause = { .tv_nsec = (long)us * 1000 };

	(void)syscall(SYS_nanosleep, &pause, NULL);
}

#endif
