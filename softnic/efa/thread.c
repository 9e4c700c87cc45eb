/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's thread. It sleeps while a caller drives the device by posting and polling, and works
 * otherwise: it executes one-sided operations while the host computes or sleeps. After work it spins
 * briefly, because the next packet often follows soon.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "softnic/efa/nic.h"

enum {
	ROUNDS = 256,       /* most turns with the lock held; fewer if a caller waits for the lock */
	/* ticks in a row in which a caller took packets, after which it is polling, and ticks get longer */
	SHORT_TICKS = 20,
	SHORT_TICK_NS = 50000,
	RETRY_NS = 1000000, /* how often retransmissions are checked */
	SPINS = 64,
	YIELDS = 64,
	NAP_MIN_NS = 20000,
	NAP_MAX_NS = 1000000,
	SHORT_NAPS = 64,
};

struct rest {
	unsigned int idle, naps;
	uint64_t nap_ns;
};

static bool must_repeat(const struct sne_nic *nic)
{
	return nic->late_flushes || !TAILQ_EMPTY(&nic->unacked) || !TAILQ_EMPTY(&nic->rnr) ||
	       !TAILQ_EMPTY(&nic->reads) || sne_waits(nic) || sn_fab_deadline(nic->fab);
}

/* Doorbells that are found only by scanning wake no thread. So the thread scans again soon, and less
 * often while it finds nothing. */
static uint64_t next_nap(struct rest *r)
{
	if (!r->nap_ns || r->naps < SHORT_NAPS)
		r->nap_ns = NAP_MIN_NS;
	else if (r->nap_ns < NAP_MAX_NS)
		r->nap_ns *= 2;
	r->naps++;
	return r->nap_ns;
}

/* How long the thread may sleep, in ns. 0: not at all; UINT64_MAX: until it is woken. If all work waits for a
 * peer, the thread sleeps until the peer wakes it, or for RETRY_NS. Needs the lock. */
static uint64_t take_over(struct sne_nic *nic, struct rest *r)
{
	bool left = false, worked = false;

	if (nic->armed)
		sn_fab_awake(nic->fab);
	nic->armed = false;
	for (unsigned int i = 0; i < ROUNDS && (!i || !atomic_load(&nic->callers)); i++) {
		left = sne_doorbells(nic);
		sne_take_time(nic);
		left |= sne_turn(nic, false);
		worked |= left;
		if (!left)
			break;
	}
	if (worked)
		*r = (struct rest){ 0 };
	if (left)
		return 0;
	if (r->idle < (nic->config.flags & SOFTNIC_EFA_SCAN ? SPINS + YIELDS : SPINS))
		return 0;
	if (!sn_fab_sleep(nic->fab))
		return 0;
	nic->armed = true;
	nic->turns_at_arm = nic->inline_turns;
	if (nic->config.flags & SOFTNIC_EFA_SCAN)
		return next_nap(r);
	return must_repeat(nic) ? RETRY_NS : UINT64_MAX;
}

static void sleep_until_woken(struct sne_nic *nic, uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	struct pollfd fds[2] = {
		{ .fd = nic->event_fd, .events = POLLIN },
		{ .fd = sn_fab_fd(nic->fab), .events = POLLIN },
	};
	uint64_t n;

	if (ppoll(fds, 2, ns == UINT64_MAX ? NULL : &ts, NULL) <= 0)
		return;
	if (fds[0].revents && read(nic->event_fd, &n, sizeof(n)) < 0)
		return;
	if (fds[1].revents) {
		pthread_mutex_lock(&nic->lock);
		sn_fab_service(nic->fab);
		nic->handed_over |= nic->armed;
		pthread_mutex_unlock(&nic->lock);
	}
}

static void *run(void *arg)
{
	struct sne_nic *nic = arg;
	struct rest r = { 0 };
	unsigned int seen = 0, busy = 0;	/* busy: ticks in a row in which a caller took packets */

	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	while (!atomic_load(&nic->stop)) {
		uint64_t ns = busy < SHORT_TICKS ? SHORT_TICK_NS : SNE_TICK_NS;

		pthread_mutex_lock(&nic->lock);
		if (nic->handed_over || seen == nic->takes || nic->config.flags & SOFTNIC_EFA_SCAN) {
			ns = take_over(nic, &r);
			busy = 0;
		} else {
			busy += busy < SHORT_TICKS;
		}
		seen = nic->takes;
		nic->handed_over = false;
		nic->rest_ns = ns;
		nic->resting = ns != 0;
		pthread_mutex_unlock(&nic->lock);
		if (ns)
			sleep_until_woken(nic, ns);
		else if (r.idle++ > SPINS || atomic_load(&nic->callers))
			sched_yield();
	}
	return NULL;
}

int sne_thread_start(struct sne_nic *nic)
{
	int err;

	nic->event_fd = -1;
	if (nic->config.flags & SOFTNIC_EFA_NO_THREAD)
		return 0;
	nic->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (nic->event_fd < 0)
		return -errno;
	nic->threaded = true;
	err = sn_begin_thread(&nic->thread, "softnic-efa", run, nic);
	if (!err)
		return 0;
	nic->threaded = false;
	close(nic->event_fd);
	return err;
}

/* A forked child has the descriptor but no thread. */
void sne_thread_stop(struct sne_nic *nic)
{
	uint64_t one = 1;

	if (!nic->threaded)
		return;
	if (nic->forks == sne_forks) {
		atomic_store(&nic->stop, true);
		if (write(nic->event_fd, &one, sizeof(one)) == sizeof(one) || errno == EAGAIN)
			pthread_join(nic->thread, NULL);
	}
	close(nic->event_fd);
	nic->threaded = false;
}
