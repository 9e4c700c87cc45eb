/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_evd_wait(3): polls for a while, arms the CQ, polls once more, and sleeps on the CQ's
 * descriptor and on an eventfd that the poster of a software event writes. While awake, a waiter
 * for connection events also drives the connection manager.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/barrier.h"
#include "core/clock.h"
#include "core/cm/cm.h"
#include "core/evd/cno.h"
#include "core/evd/evd.h"
#include "core/ia.h"

#define FOREVER UINT64_MAX
#define KEEP_WAITING (-1)	/* nothing to return yet */
#define LINGER_NS 30000		/* typical time for an answer from a peer on this host */

struct wait {
	struct core_evd *evd;
	uint64_t spin_end, deadline;	/* ns, monotonic */
	uint32_t threshold;
	struct dap_cm *cm;	/* connection manager, if connection events can arrive; or NULL */
	int cm_fd;		/* returned by dap_cm_sleep_begin */
	int cq_fd;		/* descriptor of the armed CQ, or -1 */
	int cancel;		/* the caller's cancel state */
	bool sleeps;		/* goes to sleep if this check finds nothing */
	bool looked;		/* events queued at the call count even if they do not notify */
	struct dap_event *ev;
	uint32_t *nmore;
};

static int may_wait(struct core_evd *evd, uint32_t threshold)
{
	if (evd->dead)
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_EVD);
	if (threshold > evd->qlen)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	if (evd->waiting)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EVD_WAITER);
	if (!evd->waitable)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EVD_UNWAITABLE);
	if (threshold > 1 && evd->stream_flags)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EVD_CONFIG);
	return 0;
}

static int alloc_resources(struct core_evd *evd)
{
	if (dap_evd_need_stash(evd))
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	if (evd->wake_fd < 0)
		evd->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return evd->wake_fd < 0 ? dap_err_from_errno(-errno) : 0;
}

/* Completions from before the wait have triggered the CNO, even if no thread has polled the CQ since. */
static int wait_begin(struct core_evd *evd, uint32_t threshold)
{
	int err;

	pthread_mutex_lock(&evd->cq_lock);
	dap_evd_cno_poll(evd);
	pthread_mutex_lock(&evd->lock);
	err = may_wait(evd, threshold);
	if (!err)
		err = alloc_resources(evd);
	if (!err) {
		__atomic_add_fetch(&evd->counts.waits, 1, __ATOMIC_RELAXED);
		evd->waiting = true;
		evd->threshold = threshold;
		evd->notified = evd->turned_away = false;
		dap_evd_update_slow(evd);
	}
	pthread_mutex_unlock(&evd->lock);
	dap_evd_cno_update(evd);
	pthread_mutex_unlock(&evd->cq_lock);
	return err;
}

/* If a notifying event arrived too late for the wait to return it or count it, that event triggers the
 * CNO. */
static void wait_end(struct core_evd *evd)
{
	pthread_mutex_lock(&evd->cq_lock);
	pthread_mutex_lock(&evd->lock);
	/* A thread that frees the EVD waits only until evd->waiting is false. */
	dap_evd_disarm(evd);
	evd->waiting = evd->asleep = false;
	dap_evd_update_slow(evd);
	if (evd->dead)
		pthread_cond_broadcast(&evd->left);
	else if (evd->notified && evd->cno && evd->enabled)
		dap_cno_trigger(evd);
	pthread_mutex_unlock(&evd->lock);
	dap_evd_cno_update(evd);
	pthread_mutex_unlock(&evd->cq_lock);
}

static uint32_t event_count(const struct core_evd *evd)
{
	return dap_evd_soft_count(evd) + dap_evd_stash_count(evd);
}

/* Returns the number of events that are left, for nmore: the caller then knows of them, so they need not
 * notify again. The lock is held. */
static uint32_t tell_rest(struct core_evd *evd)
{
	evd->notified = false;
	return event_count(evd);
}

/* The caller has evd->lock. */
static int check_queue(struct wait *w, uint32_t limit, bool timed_out)
{
	struct core_evd *evd = w->evd;
	bool may_return = !w->looked || evd->notified || timed_out;

	w->looked = true;
	if (evd->dead)
		return DAP_ERR(DAP_ABORT, DAP_SUB_NONE);
	if (evd->turned_away)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EVD_UNWAITABLE);
	if (may_return && event_count(evd) >= w->threshold &&
	    (dap_evd_take_soft(evd, w->ev) || dap_evd_take_after(evd, limit, w->ev))) {
		*w->nmore = tell_rest(evd);
		__atomic_add_fetch(&evd->counts.waited, 1, __ATOMIC_RELAXED);
		return 0;
	}
	if (evd->overflowed)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EVD_CONFIG);
	/* An event posted since the CQ was polled may have to wait for one more poll. */
	evd->asleep = w->sleeps && !timed_out && evd->soft_head == limit;
	if (!timed_out)
		return KEEP_WAITING;
	*w->nmore = tell_rest(evd);
	return DAP_ERR(DAP_TIMEOUT_EXPIRED, DAP_SUB_NONE);
}

static int poll_queue(struct wait *w, bool timed_out)
{
	uint32_t limit;
	int ret;

	pthread_mutex_lock(&w->evd->cq_lock);
	limit = dap_evd_collect(w->evd);
	pthread_mutex_unlock(&w->evd->cq_lock);
	pthread_mutex_lock(&w->evd->lock);
	ret = check_queue(w, limit, timed_out);
	pthread_mutex_unlock(&w->evd->lock);
	return ret;
}

static int interrupted(struct wait *w)
{
	pthread_mutex_lock(&w->evd->lock);
	*w->nmore = tell_rest(w->evd);
	pthread_mutex_unlock(&w->evd->lock);
	return DAP_ERR(DAP_INTERRUPTED_CALL, DAP_SUB_NONE);
}

/* A CNO may join the EVD at the same time: cq_lock lets only one of them create the descriptor. */
static int arm_cq(struct wait *w)
{
	struct core_evd *evd = w->evd;
	const struct dap_hw *hw = evd->pub.obj.ia->hw;
	int err;

	w->cq_fd = -1;
	if (!evd->pub.has_cq)
		return 0;
	pthread_mutex_lock(&evd->cq_lock);
	err = hw->cq_arm(&evd->pub, evd->stream_flags & DAP_COMP_SOLICITED);
	if (!err)
		w->cq_fd = evd->gone ? -1 : hw->cq_fd(&evd->pub);
	pthread_mutex_unlock(&evd->cq_lock);
	return dap_err_from_errno(err);
}

static void drain_cq_fd(struct core_evd *evd)
{
	pthread_mutex_lock(&evd->cq_lock);
	evd->gone = evd->pub.obj.ia->hw->cq_drain_fd(&evd->pub);
	pthread_mutex_unlock(&evd->cq_lock);
}

static void cancel_wait(void *arg)
{
	struct wait *w = arg;

	if (w->cm)
		dap_cm_sleep_end(w->cm, w->cm_fd);
	wait_end(w->evd);
}

/* The only cancellation point: no lock is held, and cancel_wait() ends the wait. */
static int sleep_on(struct pollfd *fds, nfds_t n, const struct timespec *ts, struct wait *w)
{
	int ret, err;

	pthread_cleanup_push(cancel_wait, w);
	pthread_setcancelstate(w->cancel, NULL);
	ret = ppoll(fds, n, ts, NULL);
	err = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(0);
	return ret < 0 ? err : 0;
}

static int sleep_on_fds(struct wait *w, uint64_t now)
{
	struct pollfd fds[3] = {
		{.fd = w->evd->wake_fd, .events = POLLIN},
		{.fd = w->cq_fd, .events = POLLIN},
		{.fd = w->cm_fd, .events = POLLIN},
	};
	struct timespec ts = dap_timespec(w->deadline - now);
	uint64_t posted;
	ssize_t n;
	int err;

	__atomic_add_fetch(&w->evd->counts.sleeps, 1, __ATOMIC_RELAXED);
	err = sleep_on(fds, 3, w->deadline == FOREVER ? NULL : &ts, w);
	if (err)
		return err == EINTR ? interrupted(w) : dap_err_from_errno(-err);
	if (fds[0].revents) {
		n = read(w->evd->wake_fd, &posted, sizeof(posted));
		(void)n;
	}
	if (fds[1].revents)
		drain_cq_fd(w->evd);
	return KEEP_WAITING;
}

/* Arms the CQ, then checks once more before it sleeps. */
static int arm_and_sleep(struct wait *w, uint64_t now)
{
	int ret = arm_cq(w);

	if (ret)
		return ret;
	w->sleeps = true;
	ret = poll_queue(w, now >= w->deadline);
	w->sleeps = false;
	if (ret != KEEP_WAITING || !w->evd->asleep)
		return ret;
	w->cm_fd = w->cm ? dap_cm_sleep_begin(w->cm) : -1;
	ret = sleep_on_fds(w, now);
	if (w->cm)
		dap_cm_sleep_end(w->cm, w->cm_fd);
	return ret;
}

/* Alternates between queue and connection manager while the latter finds work, and LINGER_NS
 * longer. */
static int poll_and_drive(struct wait *w, uint64_t *now)
{
	int ret = poll_queue(w, *now >= w->deadline);
	uint64_t linger = *now + LINGER_NS;

	while (w->cm && ret == KEEP_WAITING && *now < linger && *now < w->deadline) {
		bool worked = dap_cm_drive(w->cm);

		if (!worked)
			sched_yield();
		*now = dap_now_ns();
		if (worked)
			linger = *now + LINGER_NS;
		ret = poll_queue(w, false);
	}
	return ret;
}

static int wait_for_event(struct wait *w)
{
	uint64_t now = dap_now_ns();
	int ret = poll_and_drive(w, &now);

	while (ret == KEEP_WAITING && now < w->spin_end && now < w->deadline) {
		dap_pause();
		now = dap_now_ns();
		ret = poll_queue(w, now >= w->deadline);
	}
	while (ret == KEEP_WAITING) {
		ret = arm_and_sleep(w, now);
		now = dap_now_ns();
		if (ret == KEEP_WAITING)
			ret = poll_and_drive(w, &now);
	}
	return ret;
}

int dap_evd_wait(struct dap_evd *handle, uint32_t timeout_us, uint32_t threshold,
		 struct dap_event *ev, uint32_t *nmore)
{
	struct core_evd *evd = core_evd(handle);
	uint64_t start = dap_now_ns(), spin_us = core_ia(handle->obj.ia)->spin_us;
	struct wait w = {
		.evd = evd, .threshold = threshold, .ev = ev, .nmore = nmore,
		.cm = handle->flags & (DAP_EVD_CR | DAP_EVD_CONNECTION) ? handle->obj.ia->cm : NULL,
		.deadline = timeout_us == UINT32_MAX ? FOREVER : start + timeout_us * UINT64_C(1000),
		.spin_end = start + (handle->has_cq ? spin_us * UINT64_C(1000) : 0),
	};
	int err = wait_begin(evd, threshold);

	if (err)
		return err;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &w.cancel);
	err = wait_for_event(&w);
	wait_end(evd);
	pthread_setcancelstate(w.cancel, NULL);
	return err;
}
