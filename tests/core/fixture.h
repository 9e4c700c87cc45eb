/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects of a file of tests, a thread that waits, and an agent that counts its calls. */
#ifndef TESTS_CORE_FIXTURE_H
#define TESTS_CORE_FIXTURE_H

#include <pthread.h>
#include <signal.h>

#include "tests/core/fake_hw.h"

#define ALL (DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG)
#define LONG 60000000		/* in us: longer than any of these tests may take */

static struct fake_objects t;

static inline void teardown(void)
{
	fake_close(t.ia);
}

/* A thread that waits on an EVD or a CNO, and its result. */
struct waiter {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold, nmore;
	DAT_EVENT event;
	DAT_RETURN ret;
	bool done;
};

static inline bool is_waiting(DAT_EVD_HANDLE evd)
{
	return __atomic_load_n(&((struct dap_evd *)evd)->slow, __ATOMIC_ACQUIRE) &
	       DAP_SLOW_WAITER;
}

static inline void waiter_done(struct waiter *w, DAT_RETURN ret)
{
	w->ret = ret;
	__atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
}

static inline bool is_done(struct waiter *w)
{
	return __atomic_load_n(&w->done, __ATOMIC_ACQUIRE);
}

static inline DAT_RETURN result(struct waiter *w)
{
	cr_assert(TH_WITHIN(20000, is_done(w)));
	pthread_join(w->thread, NULL);
	return w->ret;
}

static inline void ignore_signal(int sig)
{
	(void)sig;
}

/* The arguments of an agent's calls. */
struct calls {
	unsigned int n, null;
	DAT_EVD_HANDLE last;
	DAT_CNO_HANDLE free;
};

static inline void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	struct calls *c = data;

	c->last = evd;
	__atomic_add_fetch(evd ? &c->n : &c->null, 1, __ATOMIC_RELEASE);
}

static inline unsigned int count(unsigned int *n)
{
	return __atomic_load_n(n, __ATOMIC_ACQUIRE);
}

static inline DAT_OS_WAIT_PROXY_AGENT agent_of(struct calls *c)
{
	return (DAT_OS_WAIT_PROXY_AGENT){.instance_data = c, .proxy_agent_func = agent};
}

#endif
