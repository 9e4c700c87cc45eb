/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queues of EVDs that have triggered a CNO. An EVD stands in a queue once, however often it
 * triggers; each waiter takes one EVD, the agent all.
 */
#include <unistd.h>

#include "core/evd/cno.h"

void dap_cno_signal(struct dap_cno *cno, unsigned int ear)
{
	const uint64_t one = 1;
	ssize_t n = write(cno->ear[ear].fd, &one, sizeof(one));

	(void)n;	/* fails only when the counter is full: it is readable then */
}

void dap_cno_quiet(struct dap_cno *cno, unsigned int ear)
{
	uint64_t count;
	ssize_t n = read(cno->ear[ear].fd, &count, sizeof(count));

	(void)n;
}

static void append(struct dap_cno *cno, unsigned int e, struct core_evd *evd)
{
	struct dap_cno_ear *ear = &cno->ear[e];

	if (evd->cno_queued[e])
		return;
	evd->cno_queued[e] = true;
	evd->cno_next[e] = NULL;
	if (ear->last)
		ear->last->cno_next[e] = evd;
	else
		ear->first = evd;
	ear->last = evd;
	dap_cno_signal(cno, e);
}

static void unlink_evd(struct dap_cno *cno, unsigned int e, struct core_evd *evd)
{
	struct dap_cno_ear *ear = &cno->ear[e];
	struct core_evd **p = &ear->first, *before = NULL;

	while (*p != evd) {
		before = *p;
		p = &before->cno_next[e];
	}
	*p = evd->cno_next[e];
	if (ear->last == evd)
		ear->last = before;
	evd->cno_queued[e] = false;
}

struct core_evd *dap_cno_take(struct dap_cno *cno, unsigned int e)
{
	struct dap_cno_ear *ear = &cno->ear[e];
	struct core_evd *evd = ear->stray;

	if (evd) {
		ear->stray = NULL;
		return evd;
	}
	evd = ear->first;
	if (evd)
		unlink_evd(cno, e, evd);
	return evd;
}

void dap_cno_trigger(struct core_evd *evd)
{
	struct dap_cno *cno = evd->cno;

	pthread_mutex_lock(&cno->lock);
	append(cno, DAP_CNO_WAITERS, evd);
	if (cno->agent)
		append(cno, DAP_CNO_AGENT, evd);
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
	for (unsigned int e = 0; e < DAP_CNO_EARS; e++) {
		struct dap_cno_ear *ear = &cno->ear[e];

		if (evd->cno_queued[e]) {
			unlink_evd(cno, e, evd);
			ear->stray = evd;
		}
		if (evd->dead && ear->stray == evd)
			ear->stray = NULL;
	}
	if (--cno->evds == 0 && evd->dead)
		dap_cno_end_all(cno);
	pthread_mutex_unlock(&cno->lock);
}

void dap_cno_unpinned(struct dap_cno *cno, struct core_evd *evd)
{
	pthread_mutex_lock(&cno->lock);
	while (evd->cno_pins)
		pthread_cond_wait(&cno->changed, &cno->lock);
	pthread_mutex_unlock(&cno->lock);
}
