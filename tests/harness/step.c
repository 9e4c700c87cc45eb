/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a call one instruction at a time, to check what another CPU would see or do between any two of
 * them.
 */
#include <signal.h>
#include <ucontext.h>

#include "tests/harness/harness.h"

#if defined(__x86_64__)

static void (*before_each)(const uint8_t *insn);

static void on_trap(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *at = context;

	(void)sig;
	(void)info;
	before_each((const uint8_t *)at->uc_mcontext.gregs[REG_RIP]);
}

/* Sets or clears the trap flag, on the stack below the red zone of the function into which this is
 * inlined. */
static void trap(bool on)
{
	const unsigned long flag = 0x100, flip = on ? flag : 0;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $-0x101, (%%rsp)\n\torq %0, (%%rsp)\n\t"
			 "popfq\n\tlea 128(%%rsp), %%rsp" :: "r"(flip) : "memory", "cc");
}

bool th_step(void (*call)(void), void (*before)(const uint8_t *insn))
{
	struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO }, old;

	before_each = before;
	if (sigaction(SIGTRAP, &act, &old))
		return false;
	trap(true);
	call();
	trap(false);
	return !sigaction(SIGTRAP, &old, NULL);
}

#else

bool th_step(void (*call)(void), void (*before)(const uint8_t *insn))
{
	(void)call;
	(void)before;
	return false;
}

#endif
