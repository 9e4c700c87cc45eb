/* SPDX-License-Identifier: BSD-2-Clause */
/* The slow path of dat_evd_dequeue(3): EVDs with events outside their CQ. */
#include <sched.h>

#include "core/cm/cm.h"
#include "core/evd/evd.h"

#define LOOKS_PER_YIELD 64
#define LOOKS_PER_DRIVE 8

static int check_state(const struct core_evd *evd)
{
	if (evd->dead)
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_EVD);
	if (evd->waiting)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EVD_WAITER);
	return 0;
}

/* Moves completions to the stash that must precede the end of a connection, so that later ones do not
 * delay the end. */
static bool collect_before_end(struct core_evd *evd, struct dap_event *ev)
{
	bool got;

	dap_evd_collect(evd);
	pthread_mutex_lock(&evd->lock);
	got = dap_evd_take_soft(evd, ev);
	pthread_mutex_unlock(&evd->lock);
	return got;
}

static void count_poll(struct core_evd *evd, bool found)
{
	__atomic_add_fetch(&evd->counts.polls, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&evd->counts.polled, found, __ATOMIC_RELAXED);
}

/* A backend's poll may post a connection event, even to this EVD, so the lock is dropped around
 * it. */
static int dequeue_event(struct core_evd *evd, struct dap_event *ev)
{
	struct dap_event polled;
	uint32_t limit;
	int err;
	bool got, polls, end_waits;

	pthread_mutex_lock(&evd->lock);
	err = check_state(evd);
	limit = evd->soft_head;
	got = !err && dap_evd_take_soft(evd, ev);
	end_waits = dap_evd_end_waits(evd) && !dap_evd_need_stash(evd);
	pthread_mutex_unlock(&evd->lock);
	if (err || got)
		return err;
	if (end_waits && collect_before_end(evd, ev))
		return 0;

	do {
		polls = dap_evd_poll(evd, &polled);
		pthread_mutex_lock(&evd->lock);
		got = polls ? dap_evd_in_turn(evd, &polled, ev) : dap_evd_take_after(evd, limit, ev);
		pthread_mutex_unlock(&evd->lock);
	} while (polls && !got);
	if (evd->pub.has_cq)
		count_poll(evd, polls);
	return got ? 0 : DAP_ERR(DAP_QUEUE_EMPTY, DAP_SUB_NONE);
}

/* A poll for connection events drives the connection manager. */
static void drive_cm(struct core_evd *evd)
{
	if (evd->pub.flags & (DAP_EVD_CR | DAP_EVD_CONNECTION) && evd->pub.obj.ia->cm)
		dap_cm_drive(evd->pub.obj.ia->cm);
}

/*
 * The EVD has no CQ and its software queue is empty. Such a poll takes no lock, because the posting
 * thread may need the lock; now and then it yields the CPU.
 */
static bool is_idle(struct core_evd *evd)
{
	uint64_t looks;

	if (__atomic_load_n(&evd->pub.slow, __ATOMIC_ACQUIRE) != DAP_SLOW_NO_CQ)
		return false;
	looks = __atomic_add_fetch(&evd->idle_looks, 1, __ATOMIC_RELAXED);
	if (!(looks % LOOKS_PER_DRIVE))
		drive_cm(evd);
	if (!(looks % LOOKS_PER_YIELD))
		sched_yield();
	return true;
}

/* apart: other threads must stay off the hot path during this call. */
static int dequeue(struct core_evd *evd, bool apart, struct dap_event *ev)
{
	int err;

	if (is_idle(evd))
		return DAP_ERR(DAP_QUEUE_EMPTY, DAP_SUB_NONE);
	pthread_mutex_lock(&evd->cq_lock);
	if (apart)
		dap_evd_leave_hot_path(evd);
	if (evd->counted)
		dap_evd_collect(evd);
	err = dequeue_event(evd, ev);
	if (evd->unarmed)
		dap_evd_cno_poll(evd);
	if (apart)
		dap_evd_join_hot_path(evd);
	pthread_mutex_unlock(&evd->cq_lock);
	__atomic_add_fetch(err ? &evd->counts.missed : &evd->counts.found, 1, __ATOMIC_RELAXED);
	return err;
}

int dap_evd_dequeue_cold(struct dap_evd *evd, struct dap_event *ev)
{
	return dequeue(core_evd(evd), false, ev);
}

/* Other threads of a threadsafe instance may be on the hot path. */
int dap_evd_dequeue_stamped(struct dap_evd *evd, struct dap_event *ev)
{
	return dequeue(core_evd(evd), evd->obj.ia->threadsafe, ev);
}
