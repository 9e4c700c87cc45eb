/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queues of EVDs that have triggered a CNO. An EVD is in a queue at most once, however often
 * it triggers; each waiter takes one EVD, the agent takes all.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/evd/cno.h"
#include "core/thread.h"

void dap_cno_signal(struct dap_cno *cno, unsigned int queue)
{
	dap_thread_signal(cno->queue[queue].fd);
}

void dap_cno_unsignal(struct dap_cno *cno, unsigned int queue)
{
	uint64_t count;

	(void)syscall(SYS_read, cno->queue[queue].fd, &count, sizeof(count));
}

void dap_cno_rest(struct dap_cno *cno)
{
	if (!cno->leaving && !cno->queue[DAP_CNO_WAITERS].first)
		dap_cno_unsignal(cno, DAP_CNO_WAITERS);
}

/* An EVD that has left the CNO and returned may still be in the queue with the member from before. */
static bool is_queued(const struct dap_cno *cno, unsigned int e, const struct dap_cno_member *member)
{
	const struct dap_cno_member *stray = cno->strays ? cno->queue[e].first : NULL;

	while (stray && stray->evd != member->evd)
		stray = stray->next[e];
	return stray || member->queued[e];
}

static void enqueue_member(struct dap_cno *cno, unsigned int e, struct dap_cno_member *member)
{
	struct dap_cno_queue *queue = &cno->queue[e];

	if (is_queued(cno, e, member))
		return;
	member->queued[e] = true;
	member->next[e] = NULL;
	if (queue->last)
		queue->last->next[e] = member;
	else
		queue->first = member;
	queue->last = member;
	dap_cno_signal(cno, e);
}

/* Frees a member whose EVD has left, after its last trigger. */
static void release_member(struct dap_cno *cno, struct dap_cno_member *member)
{
	if (!member->left || member->queued[DAP_CNO_WAITERS] || member->queued[DAP_CNO_AGENT])
		return;
	__atomic_store_n(&cno->strays, cno->strays - 1, __ATOMIC_RELAXED);
	free(member);
}

static void unlink_member(struct dap_cno *cno, unsigned int e, struct dap_cno_member *member)
{
	struct dap_cno_queue *queue = &cno->queue[e];
	struct dap_cno_member **p = &queue->first, *before = NULL;

	while (*p != member) {
		before = *p;
		p = &before->next[e];
	}
	*p = member->next[e];
	if (queue->last == member)
		queue->last = before;
	member->queued[e] = false;
	release_member(cno, member);
}

struct core_evd *dap_cno_next(struct dap_cno *cno, unsigned int e)
{
	struct dap_cno_member *member = cno->queue[e].first;
	struct core_evd *evd = member ? member->evd : NULL;

	if (member)
		unlink_member(cno, e, member);
	return evd;
}

void dap_cno_trigger(struct core_evd *evd)
{
	struct dap_cno *cno = evd->cno;

	pthread_mutex_lock(&cno->lock);
	enqueue_member(cno, DAP_CNO_WAITERS, evd->member);
	if (cno->agent && !cno->agent_done)
		enqueue_member(cno, DAP_CNO_AGENT, evd->member);
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

void dap_cno_add(struct dap_cno *cno, struct core_evd *evd, struct dap_cno_member *member)
{
	member->evd = evd;
	pthread_mutex_lock(&cno->lock);
	__atomic_store_n(&evd->cno, cno, __ATOMIC_RELAXED);
	evd->member = member;
	cno->evds++;
	pthread_mutex_unlock(&cno->lock);
}

/* Drops the triggers of an EVD that has left the CNO. */
static void drop_strays(struct dap_cno *cno, const struct core_evd *evd)
{
	for (unsigned int e = 0; e < DAP_CNO_QUEUES; e++) {
		struct dap_cno_member *member = cno->queue[e].first, *next;

		for (; member; member = next) {
			next = member->next[e];
			if (member->evd == evd && member->left)
				unlink_member(cno, e, member);
		}
	}
}

void dap_cno_remove(struct dap_cno *cno, struct core_evd *evd)
{
	pthread_mutex_lock(&cno->lock);
	__atomic_store_n(&evd->cno, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&cno->strays, cno->strays + 1, __ATOMIC_RELAXED);
	evd->member->left = true;
	release_member(cno, evd->member);
	evd->member = NULL;
	if (evd->dead)
		drop_strays(cno, evd);
	if (--cno->evds == 0 && evd->dead)
		dap_cno_end_all(cno);
	dap_cno_rest(cno);
	pthread_mutex_unlock(&cno->lock);
}

/* Called for each CNO of the IA. Another thread may be creating or freeing a CNO: one without strays is
 * skipped, because its lock may not be valid. */
void dap_cno_forget(void *object, void *evd)
{
	struct dap_cno *cno = object;

	if (!__atomic_load_n(&cno->strays, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&cno->lock);
	if (!cno->dead) {
		drop_strays(cno, evd);
		dap_cno_rest(cno);
	}
	pthread_mutex_unlock(&cno->lock);
}

static bool is_pinned(const struct dap_cno *cno, const struct core_evd *evd)
{
	const struct dap_cno_pin *pin;

	LIST_FOREACH(pin, &cno->pins, link) {
		if (pin->evd == evd)
			return true;
	}
	return false;
}

void dap_cno_wait_unpinned(struct dap_cno *cno, struct core_evd *evd)
{
	pthread_mutex_lock(&cno->lock);
	while (is_pinned(cno, evd))
		pthread_cond_wait(&cno->changed, &cno->lock);
	pthread_mutex_unlock(&cno->lock);
}
