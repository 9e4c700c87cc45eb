/* SPDX-License-Identifier: BSD-2-Clause */
/* Event Dispatchers: create, free, resize, and the streams that feed them. */
#include <stdlib.h>
#include <unistd.h>

#include "core/cm/cm.h"
#include "core/ep/conn.h"
#include "core/evd/cno.h"
#include "core/obj.h"
#include "core/totals.h"

/* If a stream has one of these flags, the consumer controls notification; all streams must
 * agree. */
#define CONSUMER_CONTROLLED (DAP_COMP_SOLICITED | DAP_COMP_UNSIGNALLED)

/* The smallest ring that holds qlen events. */
static uint32_t ring_size(uint32_t qlen)
{
	uint32_t size = 2;

	while (size < qlen)
		size *= 2;
	return size;
}

static int evd_init(struct core_evd *evd, uint32_t qlen, uint32_t flags)
{
	evd->wake_fd = -1;
	evd->qlen = qlen;
	evd->pub.flags = flags;
	evd->soft_size = ring_size(qlen);
	evd->soft = calloc(evd->soft_size, sizeof(*evd->soft));
	if (!evd->soft)
		return -1;
	pthread_mutex_init(&evd->lock, NULL);
	pthread_mutex_init(&evd->cq_lock, NULL);
	pthread_mutex_init(&evd->reap_lock, NULL);
	pthread_cond_init(&evd->left, NULL);
	evd->waitable = evd->enabled = true;
	evd->pub.has_cq = flags & (DAP_EVD_DTO | DAP_EVD_RMR_BIND);
	dap_evd_update_slow(evd);
	return 0;
}

/* The locks outlive the EVD: a thread that still has the handle can take a lock, and finds the EVD dead. */
static void evd_fini(struct core_evd *evd)
{
	pthread_mutex_lock(&evd->cq_lock);
	pthread_mutex_lock(&evd->lock);
	evd->dead = true;
	evd->soft_tail = evd->soft_head;
	evd->stash_tail = evd->stash_head;
	dap_evd_update_slow(evd);
	if (evd->wake_fd >= 0)
		close(evd->wake_fd);
	free(evd->stash);
	free(evd->soft);
	free(evd->cleared);
	evd->stash = evd->soft = NULL;
	pthread_mutex_unlock(&evd->lock);
	pthread_mutex_unlock(&evd->cq_lock);
}

int dap_evd_create(struct dap_ia *ia, uint32_t qlen, uint32_t flags, struct dap_cno *cno,
		   struct dap_evd **out)
{
	struct core_evd *evd = dap_obj_alloc(DAP_EVD, ia);
	int err;

	if (!evd)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	if (evd_init(evd, qlen, flags)) {
		err = DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
		goto free_obj;
	}
	err = evd->pub.has_cq ? ia->hw->cq_create(&evd->pub, qlen) : 0;
	if (err) {
		err = dap_err_from_errno(err);
		goto fini_evd;
	}
	err = dap_evd_set_cno(&evd->pub, cno);
	if (err)
		goto destroy_cq;
	dap_totals_evd_begin(&evd->pub);
	dap_obj_set_table(&evd->pub.obj, DAP_TABLE_EVD_LIVE);
	*out = &evd->pub;
	return 0;

destroy_cq:
	if (evd->pub.has_cq)
		ia->hw->cq_destroy(&evd->pub);
fini_evd:
	evd_fini(evd);
free_obj:
	dap_obj_free(evd);
	return err;
}

void dap_evd_destroy(struct dap_evd *handle)
{
	struct core_evd *evd = core_evd(handle);

	if (evd->count_timer.fn)
		dap_cm_timer_close(evd->pub.obj.ia->cm, &evd->count_timer);
	dap_evd_set_cno(handle, NULL);
	dap_obj_each(DAP_CNO, handle->obj.ia, dap_cno_forget, evd);
	dap_totals_evd_gone(handle);
	if (evd->pub.has_cq)
		evd->pub.obj.ia->hw->cq_destroy(&evd->pub);
	evd_fini(evd);
	dap_obj_free(evd);
}

void dap_evd_abort(struct dap_evd *handle)
{
	struct core_evd *evd = core_evd(handle);

	pthread_mutex_lock(&evd->cq_lock);
	pthread_mutex_lock(&evd->lock);
	evd->dead = true;
	dap_evd_update_slow(evd);
	dap_evd_wake(evd);
	pthread_mutex_unlock(&evd->cq_lock);
	while (evd->waiting)
		pthread_cond_wait(&evd->left, &evd->lock);
	pthread_mutex_unlock(&evd->lock);
}

/* Drops the software events up to the next connection request; returns that request, or NULL. */
static struct dap_cr *drop_until_request(struct core_evd *evd)
{
	struct dap_cr *cr = NULL;

	pthread_mutex_lock(&evd->lock);
	while (!cr && dap_evd_soft_count(evd)) {
		const struct dap_event *ev = dap_evd_soft_at(evd, evd->soft_tail++);

		if (ev->number == DAP_EV_CR)
			cr = ev->cr.cr;
	}
	pthread_mutex_unlock(&evd->lock);
	return cr;
}

/* Destroys the connection requests that are still queued: the consumer has no handle of them, so no other
 * call can end them. Cancellation is disabled until the EVD is destroyed. */
int dap_evd_free(struct dap_evd *handle)
{
	struct core_evd *evd = core_evd(handle);
	struct dap_cr *cr;
	int cancel;

	if (__atomic_load_n(&evd->feeders, __ATOMIC_ACQUIRE))
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EVD_IN_USE);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	dap_evd_abort(handle);
	while ((cr = drop_until_request(evd)))
		dap_cr_destroy(cr);
	dap_evd_destroy(handle);
	pthread_setcancelstate(cancel, NULL);
	return 0;
}

/*
 * DAT 1.2 dat_ep_create(3) wants the same flags from all streams of an EVD. The CQ is armed for solicited
 * completions or for all, so that flag must be the same. Whether a completion is unsignalled is known from
 * the completion, so streams with and without that flag may share an EVD.
 */
static const char *stream_refusal(const struct core_evd *evd, uint32_t mode)
{
	if (evd->streams && (evd->stream_flags ^ mode) & DAP_COMP_SOLICITED)
		return "the other endpoints on it have another setting of the flag for solicited completions";
	if (mode && evd->pub.flags & ~(uint32_t)(DAP_EVD_DTO | DAP_EVD_RMR_BIND))
		return "unsignalled or solicited completions need an EVD for completions and binds only";
	return NULL;
}

/* If a waiter has armed the CQ for the old flags, wakes it to arm the CQ again. */
static void set_stream_flags(struct core_evd *evd, uint32_t flags)
{
	if (evd->waiting && evd->stream_flags != flags)
		dap_evd_signal(evd);
	evd->stream_flags = flags;
}

int dap_evd_add_stream(struct dap_evd *handle, uint32_t completion_flags)
{
	struct core_evd *evd = core_evd(handle);
	uint32_t mode = completion_flags & CONSUMER_CONTROLLED;
	const char *why;

	pthread_mutex_lock(&evd->cq_lock);
	pthread_mutex_lock(&evd->lock);
	why = stream_refusal(evd, mode);
	if (!why) {
		set_stream_flags(evd, evd->stream_flags | mode);
		evd->streams++;
		evd->unsignalled += (mode & DAP_COMP_UNSIGNALLED) != 0;
		dap_evd_feed(handle);
	}
	pthread_mutex_unlock(&evd->lock);
	/* The flags decide what the CQ is armed for. */
	dap_evd_cno_poll(evd);
	pthread_mutex_unlock(&evd->cq_lock);
	if (!why)
		return 0;
	dap_log(DAP_LOG_WARN, "EVD %p of %s: cannot take the completions of an endpoint: %s; use another EVD "
		"(dat_ep_create(3), Event Dispatchers)", (void *)handle, handle->obj.ia->name, why);
	return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_NONE);
}

void dap_evd_remove_stream(struct dap_evd *handle, uint32_t completion_flags)
{
	struct core_evd *evd = core_evd(handle);
	uint32_t left;

	pthread_mutex_lock(&evd->cq_lock);
	pthread_mutex_lock(&evd->lock);
	dap_invariant(&handle->obj, evd->streams > 0);
	evd->streams--;
	evd->unsignalled -= (completion_flags & DAP_COMP_UNSIGNALLED) != 0;
	left = (evd->streams ? DAP_COMP_SOLICITED : 0u) | (evd->unsignalled ? DAP_COMP_UNSIGNALLED : 0u);
	set_stream_flags(evd, evd->stream_flags & left);
	dap_evd_unfeed(handle);
	pthread_mutex_unlock(&evd->lock);
	/* Dropping the completions of an endpoint may have made room for those of others. */
	if (evd->unarmed)
		dap_evd_cno_poll(evd);
	pthread_mutex_unlock(&evd->cq_lock);
}

void dap_evd_set_waitable(struct dap_evd *handle, bool waitable)
{
	struct core_evd *evd = core_evd(handle);

	pthread_mutex_lock(&evd->lock);
	evd->waitable = waitable;
	if (!waitable) {
		evd->turned_away = true;
		dap_evd_wake(evd);
	}
	pthread_mutex_unlock(&evd->lock);
}

void dap_evd_overflow(struct dap_evd *handle)
{
	struct core_evd *evd = core_evd(handle);
	bool reported;

	pthread_mutex_lock(&evd->lock);
	reported = evd->overflowed;
	evd->overflowed = true;
	dap_evd_update_slow(evd);
	dap_evd_wake(evd);
	pthread_mutex_unlock(&evd->lock);
	if (reported)
		return;
	dap_log(DAP_LOG_ERR, "EVD %p of %s, with room for %u events, overflowed and delivers no more: free "
		"it, and create one with a greater evd_min_qlen", (void *)handle, handle->obj.ia->name,
		evd->qlen);
	dap_async_post(evd->pub.obj.ia, DAP_EV_ASYNC_EVD_OVERFLOW, &evd->pub.obj, 0);
}

static struct dap_event *copy_ring(const struct dap_event *ring, uint32_t size, uint32_t head,
				   uint32_t tail, uint32_t new_size)
{
	struct dap_event *fresh = calloc(new_size, sizeof(*fresh));

	for (uint32_t i = tail; fresh && i != head; i++)
		fresh[i & (new_size - 1)] = ring[i & (size - 1)];
	return fresh;
}

/* The indices continue: an event keeps its number when the size of the ring changes. */
static int resize_rings(struct core_evd *evd, uint32_t qlen)
{
	uint32_t size = ring_size(qlen);
	struct dap_event *soft = copy_ring(evd->soft, evd->soft_size, evd->soft_head, evd->soft_tail,
					   size);
	struct dap_event *stash = evd->stash ? copy_ring(evd->stash, evd->soft_size, evd->stash_head,
							 evd->stash_tail, size) : NULL;
	int err = 0;

	if (!soft || (evd->stash && !stash))
		err = DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	if (!err && evd->pub.has_cq)
		err = dap_err_from_errno(evd->pub.obj.ia->hw->cq_resize(&evd->pub, qlen));
	if (err) {
		free(soft);
		free(stash);
		return err;
	}
	free(evd->soft);
	free(evd->stash);
	evd->soft = soft;
	evd->stash = stash;
	evd->soft_size = size;
	evd->qlen = qlen;
	/* If there is room again, the next lost event is reported. */
	if (dap_evd_soft_count(evd) < qlen)
		evd->full_reported = evd->async_reported = false;
	return 0;
}

static int resize_locked(struct core_evd *evd, uint32_t qlen)
{
	int err;

	pthread_mutex_lock(&evd->lock);
	err = dap_evd_need_stash(evd) ? DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY) : 0;
	pthread_mutex_unlock(&evd->lock);
	if (err)
		return err;
	dap_evd_collect(evd);
	pthread_mutex_lock(&evd->lock);
	if (dap_evd_soft_count(evd) + dap_evd_stash_count(evd) > qlen)
		err = DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EVD_OPEN);
	else if (evd->waiting && evd->threshold > qlen)
		err = DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EVD_WAITER);
	else
		err = resize_rings(evd, qlen);
	pthread_mutex_unlock(&evd->lock);
	return err;
}

int dap_evd_resize(struct dap_evd *handle, uint32_t qlen)
{
	struct core_evd *evd = core_evd(handle);
	int err;

	if (evd->pub.has_cq && !evd->pub.obj.ia->hw->cq_resize)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_DEVICE);
	pthread_mutex_lock(&evd->cq_lock);
	dap_evd_leave_hot_path(evd);
	err = resize_locked(evd, qlen);
	if (evd->unarmed)		/* there may be room now */
		dap_evd_cno_poll(evd);
	dap_evd_join_hot_path(evd);
	pthread_mutex_unlock(&evd->cq_lock);
	return err;
}
