/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queues of EVDs that have triggered a CNO. An EVD is in a queue at most once, however often
 * it triggers; each waiter takes one EVD, the agent takes all.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "core/evd/cno.h"

void dap_cno_signal(struct dap_cno *cno, unsigned int queue)
{
	const uint64_t one = 1;

	/* Not by write(2), as in dap_evd_signal(). */
	(void)syscall(SYS_write, cno->queue[queue].fd, &one, sizeof(one));
}

void dap_cno_unsignal(struct dap_cno *cno, unsigned int queue)
{
	uint64_t count;

	(void)syscall(SYS_read, cno->queue[queue].fd, &count, sizeof(count));
}

void dap_cno_rest(struct dap_cno *cno)
{
	const struct dap_cno_queue *queue = &cno->queue[DAP_CNO_WAITERS];

	if (!cno->leaving && !queue->first && !queue->stray)
		dap_cno_unsignal(cno, DAP_CNO_WAITERS);
}

static void enqueue_evd(struct dap_cno *cno, unsigned int e, struct core_evd *evd)
{
	struct dap_cno_queue *queue = &cno->queue[e];

	if (evd->cno_queued[e])
		return;
	evd->cno_queued[e] = true;
	evd->cno_next[e] = NULL;
	if (queue->last)
		queue->last->cno_next[e] = evd;
	else
		queue->first = evd;
	queue->last = evd;
	dap_cno_signal(cno, e);
}

static void unlink_evd(struct dap_cno *cno, unsigned int e, struct core_evd *evd)
{
	struct dap_cno_queue *queue = &cno->queue[e];
	struct core_evd **p = &queue->first, *before = NULL;

	while (*p != evd) {
		before = *p;
		p = &before->cno_next[e];
	}
	*p = evd->cno_next[e];
	if (queue->last == evd)
		queue->last = before;
	evd->cno_queued[e] = false;
}

struct core_evd *dap_cno_next(struct dap_cno *cno, unsigned int e)
{
	struct dap_cno_queue *queue = &cno->queue[e];
	struct core_evd *evd = queue->stray;

	if (evd) {
		__atomic_store_n(&queue->stray, NULL, __ATOMIC_RELAXED);
		return evd;
	}
	evd = queue->first;
	if (evd)
		unlink_evd(cno, e, evd);
	return evd;
}

void dap_cno_trigger(struct core_evd *evd)
{
	struct dap_cno *cno = evd->cno;

	pthread_mutex_lock(&cno->lock);
	enqueue_evd(cno, DAP_CNO_WAITERS, evd);
	if (cno->agent)
		enqueue_evd(cno, DAP_CNO_AGENT, evd);
	pthread_mutex_unlock(&cno->lock);
}

void dap_cno_end_all(struct dap_cno *cno)
{
	cno->ends++;
	cno->leaving = cno->waiters;
	if (cno->leaving)
		dap_cno_signal(cno, DAP_CNO_WAITERS);
	cno->agent_end = cno->agent;
	if (cno->agent_end)
		dap_cno_signal(cno, DAP_CNO_AGENT);
}

void dap_cno_add(struct dap_cno *cno, struct core_evd *evd)
{
	pthread_mutex_lock(&cno->lock);
	__atomic_store_n(&evd->cno, cno, __ATOMIC_RELAXED);
	cno->evds++;
	pthread_mutex_unlock(&cno->lock);
}

void dap_cno_remove(struct dap_cno *cno, struct core_evd *evd)
{
	pthread_mutex_lock(&cno->lock);
	__atomic_store_n(&evd->cno, NULL, __ATOMIC_RELAXED);
	for (unsigned int e = 0; e < DAP_CNO_QUEUES; e++) {
		if (!evd->cno_queued[e])
			continue;
		unlink_evd(cno, e, evd);
		if (!evd->dead)
			__atomic_store_n(&cno->queue[e].stray, evd, __ATOMIC_RELAXED);
	}
	if (--cno->evds == 0 && evd->dead)
		dap_cno_end_all(cno);
	dap_cno_rest(cno);
	pthread_mutex_unlock(&cno->lock);
}

/* Another thread may create or free a CNO meanwhile: the lock of such a one is not taken. */
void dap_cno_forget(void *object, void *evd)
{
	struct dap_cno *cno = object;

	for (unsigned int e = 0; e < DAP_CNO_QUEUES; e++) {
		struct dap_cno_queue *queue = &cno->queue[e];

		if (__atomic_load_n(&queue->stray, __ATOMIC_RELAXED) != evd)
			continue;
		pthread_mutex_lock(&cno->lock);
		if (queue->stray == evd && !cno->dead) {
			__atomic_store_n(&queue->stray, NULL, __ATOMIC_RELAXED);
			dap_cno_rest(cno);
		}
		pthread_mutex_unlock(&cno->lock);
	}
}

void dap_cno_wait_unpinned(struct dap_cno *cno, struct core_evd *evd)
{
	pthread_mutex_lock(&cno->lock);
	while (evd->cno_pins)
		pthread_cond_wait(&cno->changed, &cno->lock);
	pthread_mutex_unlock(&cno->lock);
}
