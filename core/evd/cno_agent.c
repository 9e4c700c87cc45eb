/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The proxy agent of a CNO: a consumer function that one of our threads calls. The thread exists
 * only while an agent is set. It holds no lock during the call, so the agent may wait, dequeue,
 * change the agent, free the CNO or close the IA. After the last two the thread belongs to no CNO.
 */
#include <stdlib.h>

#include "core/evd/cno.h"
#include "core/thread.h"

struct dap_agent {
	struct dap_cno *cno;
	pthread_t thread;
	dap_agent_fn fn;		/* the fields from here to alone are protected by the CNO's lock */
	void *data;
	bool once;
	bool calling, stop;
	uint32_t returns;		/* number of calls that have returned */
	bool alone;			/* the CNO is freed: only the agent thread uses this */
};

enum next { CALL, SLEEP, STOP };

/* The lock is held. */
static void drop_triggers(struct dap_cno *cno)
{
	while (dap_cno_next(cno, DAP_CNO_AGENT))
		;
}

/* The lock is held. */
static enum next agent_next(struct dap_agent *a, struct core_evd **evd)
{
	struct dap_cno *cno = a->cno;

	*evd = NULL;
	if (cno->agent_done)
		return STOP;
	if (!cno->agent_end) {
		if (a->stop)
			return STOP;
		*evd = dap_cno_next(cno, DAP_CNO_AGENT);
		if (!*evd) {
			dap_cno_unsignal(cno, DAP_CNO_AGENT);
			return SLEEP;
		}
	}
	cno->agent_end = false;
	a->calling = true;
	cno->agent_done = a->once;
	if (cno->agent_done)
		drop_triggers(cno);
	return CALL;
}

/* Returns false if the thread has nothing more to do. */
static bool agent_step(struct dap_agent *a)
{
	struct dap_cno *cno = a->cno;
	struct core_evd *evd;
	dap_agent_fn fn;
	enum next what;
	void *data;

	dap_cno_poll_cqs(cno);
	pthread_mutex_lock(&cno->lock);
	what = agent_next(a, &evd);
	fn = a->fn;
	data = a->data;
	pthread_mutex_unlock(&cno->lock);
	if (what == SLEEP)
		dap_cno_sleep(cno, DAP_CNO_AGENT, 0, UINT64_MAX);
	if (what != CALL)
		return what != STOP;
	fn(data, evd ? &evd->pub : NULL);
	if (a->alone)
		return false;
	pthread_mutex_lock(&cno->lock);
	a->calling = false;
	a->returns++;
	pthread_cond_broadcast(&cno->changed);
	pthread_mutex_unlock(&cno->lock);
	return true;
}

static void *agent_run(void *arg)
{
	struct dap_agent *a = arg;

	while (agent_step(a))
		;
	if (a->alone)
		free(a);
	return NULL;
}

struct dap_agent *dap_agent_start(struct dap_cno *cno, dap_agent_fn fn, void *data, bool once)
{
	struct dap_agent *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	*a = (struct dap_agent){.cno = cno, .fn = fn, .data = data, .once = once};
	if (!dap_thread_start(&a->thread, "dapl-agent", agent_run, a))
		return a;
	free(a);
	return NULL;
}

static void agent_forget(struct dap_cno *cno)
{
	drop_triggers(cno);
	cno->agent_end = cno->agent_done = false;
	cno->agent = NULL;
}

void dap_agent_stop(struct dap_cno *cno)
{
	struct dap_agent *a = cno->agent;
	bool self = a && pthread_equal(a->thread, pthread_self());

	if (!a)
		return;
	pthread_mutex_lock(&cno->lock);
	a->stop = true;
	if (self)
		a->alone = true;
	else
		dap_cno_signal(cno, DAP_CNO_AGENT);
	pthread_mutex_unlock(&cno->lock);
	if (self)
		pthread_detach(a->thread);
	else
		pthread_join(a->thread, NULL);
	pthread_mutex_lock(&cno->lock);
	agent_forget(cno);
	pthread_mutex_unlock(&cno->lock);
	/* A query reads the agent under the lock, so none uses it from here on. */
	if (!self)
		free(a);
}

/* Waits for the running call alone: the next one is of the new function, and may wait for this thread. */
static void wait_for_old_call(struct dap_cno *cno, const struct dap_agent *a)
{
	const uint32_t returns = a->returns;

	if (pthread_equal(a->thread, pthread_self()))
		return;
	while (a->calling && a->returns == returns)
		pthread_cond_wait(&cno->changed, &cno->lock);
}

/* Gives a running agent another function. Returns false if no agent is running. */
static bool agent_replace(struct dap_cno *cno, dap_agent_fn fn, void *data)
{
	struct dap_agent *a = cno->agent;
	bool alive;

	pthread_mutex_lock(&cno->lock);
	alive = a && !cno->agent_done;
	if (alive) {
		a->fn = fn;
		a->data = data;
		a->once = false;
		wait_for_old_call(cno, a);
	}
	pthread_mutex_unlock(&cno->lock);
	return alive;
}

/* The lock is held. */
static bool is_own_call(const struct dap_cno *cno)
{
	return cno->agent && pthread_equal(cno->agent->thread, pthread_self());
}

/*
 * One thread at a time changes the agent. Returns false if the agent itself asks for a change
 * while another thread is changing it or freeing the CNO: that thread waits for the agent to return,
 * and its change comes last.
 */
static bool change_begin(struct dap_cno *cno)
{
	bool mine;

	pthread_mutex_lock(&cno->lock);
	while (cno->agent_changing && !is_own_call(cno))
		pthread_cond_wait(&cno->changed, &cno->lock);
	mine = !cno->agent_changing && !cno->dead;
	if (mine)
		cno->agent_changing = true;
	pthread_mutex_unlock(&cno->lock);
	return mine;
}

static void change_end(struct dap_cno *cno)
{
	pthread_mutex_lock(&cno->lock);
	cno->agent_changing = false;
	pthread_cond_broadcast(&cno->changed);
	pthread_mutex_unlock(&cno->lock);
}

static int agent_change(struct dap_cno *cno, dap_agent_fn fn, void *data)
{
	struct dap_agent *a;

	if (fn && agent_replace(cno, fn, data))
		return 0;
	dap_agent_stop(cno);
	if (!fn)
		return 0;
	a = dap_agent_start(cno, fn, data, false);
	if (!a)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	pthread_mutex_lock(&cno->lock);
	cno->agent = a;
	pthread_mutex_unlock(&cno->lock);
	return 0;
}

int dap_cno_set_agent(struct dap_cno *cno, dap_agent_fn fn, void *data)
{
	int err = 0, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (change_begin(cno)) {
		err = agent_change(cno, fn, data);
		change_end(cno);
	}
	pthread_setcancelstate(cancel, NULL);
	return err;
}

void dap_cno_get_agent(struct dap_cno *cno, dap_agent_fn *fn, void **data)
{
	const struct dap_agent *a;
	bool there;

	pthread_mutex_lock(&cno->lock);
	a = cno->agent;
	there = a && !cno->agent_done;
	*fn = there ? a->fn : NULL;
	*data = there ? a->data : NULL;
	pthread_mutex_unlock(&cno->lock);
}
