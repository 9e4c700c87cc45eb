/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_cno_wait(3): sleeps on the eventfd of its queue and on the descriptors of the CNO's CQs. The
 * eventfd stays readable while a trigger is pending, so no wake-up is lost, whichever waiter gets
 * it.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/evd/cno.h"
#include "core/evd/evd.h"

#define FOREVER UINT64_MAX
#define KEEP_WAITING (-1)
#define AT_ONCE 16		/* CQs per call of epoll_wait() */

struct wait {
	struct dap_cno *cno;
	uint64_t deadline;	/* ns, monotonic */
	uint32_t ends;		/* cno->ends when the wait began */
	int cancel;		/* the caller's cancel state */
};

/* Returns false if the EVD has left the CNO meanwhile; its memory may be another EVD by now. */
static bool pin_evd(struct dap_cno *cno, struct dap_cno_pin *pin)
{
	bool ours;

	pthread_mutex_lock(&cno->lock);
	ours = __atomic_load_n(&pin->evd->cno, __ATOMIC_RELAXED) == cno;
	if (ours)
		LIST_INSERT_HEAD(&cno->pins, pin, link);
	pthread_mutex_unlock(&cno->lock);
	return ours;
}

static void unpin_evd(struct dap_cno *cno, struct dap_cno_pin *pin)
{
	pthread_mutex_lock(&cno->lock);
	LIST_REMOVE(pin, link);
	pthread_cond_broadcast(&cno->changed);
	pthread_mutex_unlock(&cno->lock);
}

/* Returns the number of CQs that it polled. */
static int poll_ready_cqs(struct dap_cno *cno)
{
	struct epoll_event ready[AT_ONCE];
	int n = epoll_wait(cno->cq_fds, ready, AT_ONCE, 0);

	for (int i = 0; i < n; i++) {
		struct core_evd *evd = ready[i].data.ptr;
		struct dap_cno_pin pin = {.evd = evd};

		if (!pin_evd(cno, &pin))
			continue;
		pthread_mutex_lock(&evd->cq_lock);
		if (evd->cno == cno)
			dap_evd_cno_poll(evd);
		pthread_mutex_unlock(&evd->cq_lock);
		unpin_evd(cno, &pin);
	}
	return n;
}

/* epoll returns ready descriptors in turn, so this number of rounds polls each that was ready before. */
void dap_cno_poll_cqs(struct dap_cno *cno)
{
	uint32_t rounds;

	pthread_mutex_lock(&cno->lock);
	rounds = cno->evds / AT_ONCE;
	pthread_mutex_unlock(&cno->lock);
	while (poll_ready_cqs(cno) == AT_ONCE && rounds--)
		;
}

int dap_cno_sleep(struct dap_cno *cno, unsigned int queue, uint64_t now, uint64_t deadline)
{
	struct pollfd fds[2] = {
		{.fd = cno->queue[queue].fd, .events = POLLIN},
		{.fd = cno->cq_fds, .events = POLLIN},
	};
	struct timespec ts = dap_timespec(deadline - now);

	return ppoll(fds, 2, deadline == FOREVER ? NULL : &ts, NULL) < 0 ? -errno : 0;
}

static int wait_begin(struct wait *w)
{
	struct dap_cno *cno = w->cno;
	int err = 0;

	pthread_mutex_lock(&cno->lock);
	if (cno->dead)
		err = DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_CNO);
	else
		cno->waiters++;
	w->ends = cno->ends;
	pthread_mutex_unlock(&cno->lock);
	return err;
}

static void wait_end(void *arg)
{
	const struct wait *w = arg;
	struct dap_cno *cno = w->cno;

	pthread_mutex_lock(&cno->lock);
	cno->waiters--;
	if (cno->leaving && w->ends != cno->ends)
		cno->leaving--;
	dap_cno_rest(cno);
	pthread_cond_broadcast(&cno->changed);
	pthread_mutex_unlock(&cno->lock);
}

static int check_trigger(const struct wait *w, bool timed_out, struct dap_evd **out)
{
	struct dap_cno *cno = w->cno;
	struct core_evd *evd;
	bool over;

	pthread_mutex_lock(&cno->lock);
	over = w->ends != cno->ends;
	evd = over ? NULL : dap_cno_next(cno, DAP_CNO_WAITERS);
	pthread_mutex_unlock(&cno->lock);
	if (!over && !evd)
		return timed_out ? DAP_ERR(DAP_QUEUE_EMPTY, DAP_SUB_NONE) : KEEP_WAITING;
	*out = evd ? &evd->pub : NULL;
	return 0;
}

/* The only cancellation point: no lock is held, and wait_end() ends the wait. */
static int sleep_cancellable(struct wait *w, uint64_t now)
{
	int err;

	pthread_cleanup_push(wait_end, w);
	pthread_setcancelstate(w->cancel, NULL);
	err = dap_cno_sleep(w->cno, DAP_CNO_WAITERS, now, w->deadline);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(0);
	return err;
}

static int wait_for_trigger(struct wait *w, struct dap_evd **evd)
{
	int ret, err;

	for (;;) {
		uint64_t now = dap_now_ns();

		dap_cno_poll_cqs(w->cno);
		ret = check_trigger(w, now >= w->deadline, evd);
		if (ret != KEEP_WAITING)
			return ret;
		err = sleep_cancellable(w, now);
		if (err)
			return dap_err_from_errno(err);
	}
}

int dap_cno_wait(struct dap_cno *cno, uint32_t timeout_us, struct dap_evd **evd)
{
	struct wait w = {
		.cno = cno, .deadline = timeout_us == UINT32_MAX ?
			FOREVER : dap_now_ns() + timeout_us * UINT64_C(1000),
	};
	int err = wait_begin(&w);

	if (err)
		return err;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &w.cancel);
	err = wait_for_trigger(&w, evd);
	wait_end(&w);
	pthread_setcancelstate(w.cancel, NULL);
	return err;
}
