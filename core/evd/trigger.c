/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How an EVD triggers its CNO. Software events trigger it when they are posted. For completions
 * the CQ is armed while the CNO watches it, and the CNO sleeps on its descriptor. The thread that
 * finds the descriptor readable sets the completions aside, which shows whether any of them
 * notifies, and arms the CQ again.
 *
 * A consumer may dequeue at the same time, in any kind of instance: EVDs with a CNO are dequeued
 * in the slow path, under evd->cq_lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "core/evd/cno.h"
#include "core/evd/evd.h"

static int watch_cq_fd(struct dap_cno *cno, int op, struct core_evd *evd, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = evd};

	return epoll_ctl(cno->cq_fds, op, evd->pub.obj.ia->hw->cq_fd(&evd->pub), &e) ? -errno : 0;
}

static bool has_room(struct core_evd *evd)
{
	bool room;

	pthread_mutex_lock(&evd->lock);
	room = dap_evd_stash_count(evd) < evd->soft_size;
	pthread_mutex_unlock(&evd->lock);
	return room;
}

/* The second collect finds completions from before the CQ was armed. If the stash is full, the CQ
 * stays unarmed until the consumer dequeues, because it would fire at once. */
static void poll_and_arm(struct core_evd *evd)
{
	const struct dap_hw *hw = evd->pub.obj.ia->hw;

	if (hw->cq_drain_fd(&evd->pub))
		watch_cq_fd(evd->cno, EPOLL_CTL_DEL, evd, 0);
	dap_evd_collect(evd);
	evd->unarmed =
		!has_room(evd) || hw->cq_arm(&evd->pub, evd->stream_flags & DAP_COMP_SOLICITED);
	if (!evd->unarmed)
		dap_evd_collect(evd);
}

void dap_evd_disarm(struct core_evd *evd)
{
	const struct dap_hw *hw = evd->pub.obj.ia->hw;

	if (evd->pub.has_cq && hw->cq_disarm)
		hw->cq_disarm(&evd->pub);
}

/* Cancellation is disabled: a thread that is cancelled while it reads the CQ's descriptor would keep
 * cq_lock. */
void dap_evd_cno_poll(struct core_evd *evd)
{
	int cancel;

	if (!evd->watched)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	poll_and_arm(evd);
	pthread_setcancelstate(cancel, NULL);
}

void dap_evd_cno_update(struct core_evd *evd)
{
	bool watched = evd->cno && evd->pub.has_cq && evd->enabled && !evd->waiting && !evd->dead;

	if (watched == evd->watched)
		return;
	evd->watched = watched;
	evd->unarmed = false;
	watch_cq_fd(evd->cno, EPOLL_CTL_MOD, evd, watched ? EPOLLIN : 0);
	if (!watched)
		dap_evd_disarm(evd);
	dap_evd_cno_poll(evd);
}

/* The CQ's descriptor is created on first use. */
static int join_cno(struct core_evd *evd, struct dap_cno *cno)
{
	int err;

	if (!cno || !evd->pub.has_cq)
		return 0;
	pthread_mutex_lock(&evd->lock);
	err = dap_evd_need_stash(evd);
	pthread_mutex_unlock(&evd->lock);
	if (err)
		return err;
	err = evd->pub.obj.ia->hw->cq_fd(&evd->pub);
	return err < 0 ? err : watch_cq_fd(cno, EPOLL_CTL_ADD, evd, 0);
}

/* A thread in dat_evd_wait() has armed the CQ for itself. */
static void leave_cno(struct core_evd *evd, struct dap_cno *cno)
{
	if (!cno || !evd->pub.has_cq)
		return;
	evd->watched = evd->unarmed = false;
	if (!evd->waiting)
		dap_evd_disarm(evd);
	watch_cq_fd(cno, EPOLL_CTL_DEL, evd, 0);
}

/* Completions that have arrived by now belong to the old CNO or to none. An EVD with a CNO is off
 * the hot path. */
static int change_cno(struct core_evd *evd, struct dap_cno *cno)
{
	struct dap_cno_member *member = cno ? calloc(1, sizeof(*member)) : NULL;
	struct dap_cno *old = evd->cno;
	int err = cno && !member ? -ENOMEM : join_cno(evd, cno);

	if (err) {
		free(member);
		return err;
	}
	dap_evd_leave_hot_path(evd);
	if (old)
		dap_evd_cno_poll(evd);
	else
		dap_evd_collect(evd);
	pthread_mutex_lock(&evd->lock);
	if (old)
		dap_cno_remove(old, evd);
	if (cno)
		dap_cno_add(cno, evd, member);
	dap_evd_update_slow(evd);
	pthread_mutex_unlock(&evd->lock);
	dap_evd_join_hot_path(evd);
	leave_cno(evd, old);
	dap_evd_cno_update(evd);
	return 0;
}

int dap_evd_set_cno(struct dap_evd *handle, struct dap_cno *cno)
{
	struct core_evd *evd = core_evd(handle);
	struct dap_cno *old = evd->cno;
	int err, cancel;

	if (old == cno)
		return 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&evd->cq_lock);
	err = change_cno(evd, cno);
	pthread_mutex_unlock(&evd->cq_lock);
	if (!err && old)
		dap_cno_wait_unpinned(old, evd);
	pthread_setcancelstate(cancel, NULL);
	return dap_err_from_errno(err);
}

/* dat_evd_disable(3): events that arrive while the EVD is disabled never trigger, so set them aside
 * first. Earlier ones have triggered the CNO, even if no thread has polled the CQ since. */
void dap_evd_set_enabled(struct dap_evd *handle, bool enabled)
{
	struct core_evd *evd = core_evd(handle);

	pthread_mutex_lock(&evd->cq_lock);
	if (evd->cno && enabled && !evd->enabled && !evd->waiting)
		dap_evd_collect(evd);
	if (!enabled)
		dap_evd_cno_poll(evd);
	pthread_mutex_lock(&evd->lock);
	evd->enabled = enabled;
	pthread_mutex_unlock(&evd->lock);
	dap_evd_cno_update(evd);
	pthread_mutex_unlock(&evd->cq_lock);
}
