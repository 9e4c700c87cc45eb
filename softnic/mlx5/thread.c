/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's thread: it sleeps, and takes over when no caller drives the device inline. While the host
 * polls, peers do not wake the thread. At most a millisecond after the last poll the thread handles pending
 * work, arms the wake-up and sleeps until woken.
 */
#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "softnic/fabric/fabric.h"
#include "softnic/mlx5/dev.h"

enum {
	/* after this number of ticks in a row with an inline pump the host polls, and ticks get longer */
	SHORT_TICKS = 20,
	FLUSH_NS = 10000000,	/* how often the doorbell records of QPs in ERR are read, in ns */
	SPINS = 64,
	YIELDS = 64,
	/* if a yield lasts longer than this, another thread used the core */
	CROWDED_NS = 20000,
	/* after a yield longer than CROWDED_NS the thread sleeps this number of times before it tries
	 * another yield */
	CROWDED_TIMES = 4096,
	SLICE_NS = 100000,
	/*
	 * a doorbell in a scanned page wakes no thread, so the thread looks again after this time
	 */
	SCAN_MIN_NS = 20000,
	SCAN_MAX_NS = 1000000,
	SCAN_MIN_TIMES = 64,	/* number of short pauses before they grow */
};

struct backoff {
	unsigned int idle, sleeps, crowded;
	uint64_t sleep_ns;
};

static void drain_fd(int fd)
{
	uint64_t n;

	while (read(fd, &n, sizeof(n)) == sizeof(n))
		;
}

/* Does the work and returns the end of the next sleep; 0: do not sleep. Needs the lock. */
static uint64_t take_over(struct softnic *nic, struct backoff *b)
{
	struct sn_device *dev = nic->dev;
	bool scans = nic->config.flags & SOFTNIC_SCAN_UARS;
	uint64_t until;
	bool worked;

	if (dev->armed)
		sn_fabric_disarm(nic);
	dev->armed = false;
	nic->thread_driven = true;
	worked = sn_pump(nic);
	nic->thread_driven = false;
	/* Others that wait for the lock take it while this thread sleeps. */
	if (sn_is_spent(nic)) {
		drain_fd(dev->event_fd);
		return sn_now() + SN_TICK_MIN_NS;
	}
	if (worked) {
		*b = (struct backoff){ .crowded = b->crowded };
		if (nic->config.flags & SOFTNIC_THREAD_BACKOFF)
			return 0;
	}
	if (nic->config.flags & SOFTNIC_THREAD_BACKOFF && b->idle < SPINS + YIELDS)
		return 0;
	dev->armed = sn_fabric_arm(nic);
	if (!dev->armed)
		return 0;
	until = nic->fatal ? UINT64_MAX : sn_timers_next(nic);	/* after a fatal error no timers run */
	if (!nic->fatal && !TAILQ_EMPTY(&nic->err) && until > sn_now() + FLUSH_NS)
		until = sn_now() + FLUSH_NS;
	if (scans) {
		b->sleep_ns = b->sleeps++ < SCAN_MIN_TIMES ? SCAN_MIN_NS : b->sleep_ns * 2;
		if (b->sleep_ns > SCAN_MAX_NS)
			b->sleep_ns = SCAN_MAX_NS;
		if (until > sn_now() + b->sleep_ns)
			until = sn_now() + b->sleep_ns;
	}
	return until;
}

/* Sleeps. True if a peer woke the thread. */
static bool sleep_until_woken(struct sn_device *dev)
{
	struct epoll_event ev[2 + SN_PORTS];
	bool peer = false;
	int n = epoll_wait(dev->epoll_fd, ev, 2 + SN_PORTS, -1);

	for (int i = 0; i < n; i++)
		peer |= ev[i].data.fd != dev->timer_fd && ev[i].data.fd != dev->event_fd;
	drain_fd(dev->timer_fd);
	drain_fd(dev->event_fd);
	return peer;
}

/*
 * While polling programs occupy all cores, a yield lasts until one of them has used up its time slice,
 * which takes milliseconds. A sleeping thread gets the core as soon as it wakes. So the thread sleeps in
 * that case.
 */
static void pause_or_yield(struct backoff *b)
{
	uint64_t before;

	if (b->idle++ < SPINS)
		return;
	if (b->crowded) {
		b->crowded--;
		b->idle = SPINS + YIELDS;
		return;
	}
	before = sn_now();
	sched_yield();
	if (sn_now() - before > CROWDED_NS)
		b->crowded = CROWDED_TIMES;
}

/*
 * Requests a short time slice, which Linux 6.12 schedules sooner. Older kernels ignore it. Sets the
 * timer slack to 1 us.
 */
static void take_short_turns(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { .size = sizeof(attr), .policy = SCHED_OTHER, .runtime = SLICE_NS };

	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	attr.nice = getpriority(PRIO_PROCESS, 0);
	syscall(SYS_sched_setattr, 0, &attr, 0);
}

static void *thread_main(void *arg)
{
	struct softnic *nic = arg;
	struct sn_device *dev = nic->dev;
	unsigned int pumps = atomic_load(&dev->inline_pumps);
	unsigned int busy = 0;		/* the last ticks in a row with an inline pump */
	struct backoff b = { 0 };
	bool woken = false;

	if (nic->config.flags & SOFTNIC_THREAD_BACKOFF)
		take_short_turns();
	while (!atomic_load(&dev->stop)) {
		uint64_t until = sn_now() + (busy < SHORT_TICKS ? SN_TICK_MIN_NS : SN_TICK_NS);
		unsigned int now = atomic_load(&dev->inline_pumps);

		if (nic->config.timer_page)
			sn_internal_timer(nic);
		if ((now == pumps || woken) && sn_enter_try(nic)) {
			until = take_over(nic, &b);
			busy = 0;
			/* An inline pump that disarms the wake-up after this point shortens this timer.
			 * Needs the lock. */
			sn_thread_set_timer(dev, until);
			dev->resting = until != 0;
			dev->until = until;
			sn_leave(nic);
		} else {
			sn_thread_set_timer(dev, until);
			busy += busy < SHORT_TICKS;
		}
		pumps = now;
		woken = until && sleep_until_woken(dev);
		if (!until)
			pause_or_yield(&b);
	}
	return NULL;
}

static int open_fds(struct softnic *nic)
{
	struct sn_device *dev = nic->dev;
	int err;

	dev->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	dev->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	dev->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (dev->epoll_fd < 0 || dev->event_fd < 0 || dev->timer_fd < 0)
		return -errno;
	err = sn_thread_add_fd(dev, dev->event_fd);
	if (!err)
		err = sn_thread_add_fd(dev, dev->timer_fd);
	for (unsigned int i = 0; i < nic->ports && !err; i++)
		err = sn_thread_add_fd(dev, sn_fabric_fd(nic, i));
	return err;
}

static void close_fds(struct sn_device *dev)
{
	int *fds[] = { &dev->epoll_fd, &dev->event_fd, &dev->timer_fd };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

int sn_thread_start(struct softnic *nic)
{
	int err;

	if (nic->config.flags & SOFTNIC_NO_THREAD)
		return 0;
	err = open_fds(nic);
	if (err)
		goto close_fds;
	nic->dev->threaded = true;
	err = sn_begin_thread(&nic->dev->thread, "softnic-mlx5", thread_main, nic);
	if (!err)
		return 0;
	nic->dev->threaded = false;
close_fds:
	close_fds(nic->dev);
	return err;
}

void sn_thread_stop(struct softnic *nic)
{
	if (nic->dev->threaded) {
		atomic_store(&nic->dev->stop, true);
		sn_thread_wake(nic);
		pthread_join(nic->dev->thread, NULL);
		nic->dev->threaded = false;
	}
	close_fds(nic->dev);
}

/* A forked child has no thread, and must not wake or delay the parent's. */
void sn_thread_forget(struct softnic *nic)
{
	nic->dev->threaded = nic->dev->armed = nic->dev->resting = false;
	close_fds(nic->dev);
}
