/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>
#include <signal.h>

#include "core/thread.h"

static uint32_t own_cpu = DAP_ANY_CPU;

static int create_blocked(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(thread, attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

static void *end(void *arg)
{
	return arg;
}

/* Only the kernel knows whether this process may use the CPU, so this starts a thread on it. */
int dap_thread_may_use(uint32_t cpu)
{
	pthread_attr_t attr;
	pthread_t thread;
	cpu_set_t set;
	int err;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	err = create_blocked(&thread, &attr, end, NULL);
	pthread_attr_destroy(&attr);
	if (err)
		return -err;
	pthread_join(thread, NULL);
	return 0;
}

void dap_thread_own_cpu(uint32_t cpu)
{
	__atomic_store_n(&own_cpu, cpu, __ATOMIC_RELAXED);
}

void dap_thread_pin(pthread_t thread)
{
	uint32_t cpu = __atomic_load_n(&own_cpu, __ATOMIC_RELAXED);
	cpu_set_t set;

	if (cpu == DAP_ANY_CPU)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(thread, sizeof(set), &set);
}

void dap_thread_follow(uint32_t *cpu)
{
	uint32_t chosen = __atomic_load_n(&own_cpu, __ATOMIC_RELAXED);

	if (chosen == *cpu)
		return;
	*cpu = chosen;
	dap_thread_pin(pthread_self());
}

int dap_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg)
{
	int err = create_blocked(thread, NULL, run, arg);

	if (!err)
		pthread_setname_np(*thread, name);
	return err;
}
