/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Observes the order of a driver's stores into a send queue, for the fault word bad_order. Memory
 * does not record that order. So such a queue has a mapping of its own, whose pages refuse each
 * store. The signal handler notes the address and lets this one instruction run. Only on x86-64.
 */
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "softnic/efa/nic.h"

#ifdef __x86_64__

enum { QUEUES = 8, WQE = 64, TRAP_FLAG = 0x100 };

static struct queue {
	uint8_t *at;
	size_t bytes;
} queues[QUEUES];

static struct queue *stepping;	/* the queue whose store runs now */
static uintptr_t last;
static bool descends;

static struct queue *queue_of(uintptr_t addr)
{
	for (unsigned int i = 0; i < QUEUES; i++)
		if (addr - (uintptr_t)queues[i].at < queues[i].bytes)
			return &queues[i];
	return NULL;
}

/* The fault is not in such a queue, so it is a defect of the program. The store runs again without this
 * handler, which ends the program. */
static void refused(int sig, siginfo_t *info, void *context)
{
	uintptr_t addr = (uintptr_t)info->si_addr;
	ucontext_t *u = context;

	stepping = queue_of(addr);
	if (!stepping) {
		signal(sig, SIG_DFL);
		return;
	}
	descends |= addr < last && addr / WQE == last / WQE;
	last = addr;
	mprotect(stepping->at, stepping->bytes, PROT_READ | PROT_WRITE);
	u->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void stored(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig;
	(void)info;
	mprotect(stepping->at, stepping->bytes, PROT_NONE);
	u->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

void *sne_order_watch(struct sne_nic *nic, uint64_t off, uint64_t bytes)
{
	struct sigaction on_refusal = { .sa_sigaction = refused, .sa_flags = SA_SIGINFO };
	struct sigaction on_store = { .sa_sigaction = stored, .sa_flags = SA_SIGINFO };
	uint8_t *at;

	for (unsigned int i = 0; i < QUEUES; i++) {
		if (queues[i].at)
			continue;
		at = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, nic->bar.fd, (off_t)off);
		if (at == MAP_FAILED || sigaction(SIGSEGV, &on_refusal, NULL) ||
		    sigaction(SIGTRAP, &on_store, NULL))
			return NULL;
		queues[i] = (struct queue){ at, bytes };
		return at;
	}
	return NULL;
}

#else

static bool descends;

void *sne_order_watch(struct sne_nic *nic, uint64_t off, uint64_t bytes)
{
	(void)nic;
	(void)off;
	(void)bytes;
	return NULL;
}

#endif

bool sne_order_descends(void)
{
	bool was = descends;

	descends = false;
	return was;
}
