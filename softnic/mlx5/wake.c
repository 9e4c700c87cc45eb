/* SPDX-License-Identifier: BSD-2-Clause */
/* Wake-up of the device's thread, for callers that drive the device themselves. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "softnic/mlx5/dev.h"

void sn_thread_set_timer(struct sn_device *dev, uint64_t at)
{
	struct itimerspec its = { 0 };

	if (at != UINT64_MAX) {
		its.it_value.tv_sec = (time_t)(at / 1000000000u);
		its.it_value.tv_nsec = (long)(at % 1000000000u);
	}
	timerfd_settime(dev->timer_fd, TFD_TIMER_ABSTIME, &its, NULL);
}

/*
 * An armed wake-up would cost the peers a system call per packet and contend for the lock. So the first
 * inline pump disarms it, and the thread checks again after a tick. While a CQ is armed the wake-up
 * stays: the host waits for an event, and only a wake-up delivers that in time.
 */
void sn_thread_inline(struct softnic *nic)
{
	struct sn_device *dev = nic->dev;

	/* Only the lock holder writes this counter, so it needs no read-modify-write. */
	atomic_store_explicit(&dev->inline_pumps,
			      atomic_load_explicit(&dev->inline_pumps, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	if (!dev->resting)
		return;
	dev->resting = false;
	if (dev->armed && !nic->cqs_armed) {
		dev->armed = false;
		sn_fabric_disarm(nic);
	}
	sn_thread_set_timer(dev, sn_now() + SN_TICK_MIN_NS);
}

bool sn_thread_watch(struct softnic *nic, bool any)
{
	struct sn_device *dev = nic->dev;

	/* The device's thread arms the wake-up before it sleeps. The next arriving packet disarms
	 * it. */
	if (!dev->threaded || nic->thread_driven || nic->fatal || (dev->armed && !any))
		return true;
	dev->armed = sn_fabric_arm(nic);
	return dev->armed;
}

void sn_thread_wake(struct softnic *nic)
{
	uint64_t one = 1;

	/* Does not call write(2), which is a cancellation point. If the counter is full, the thread is
	 * awake already. */
	if (nic->dev->threaded)
		syscall(SYS_write, nic->dev->event_fd, &one, sizeof(one));
}

/* The thread handles timers and failed queues while there are any; otherwise it may sleep. */
void sn_thread_recall(struct softnic *nic)
{
	if (nic->dev->resting && (!TAILQ_EMPTY(&nic->run) || !TAILQ_EMPTY(&nic->err) ||
				  sn_timers_next(nic) < nic->dev->until))
		sn_thread_wake(nic);
}

int sn_thread_add_fd(struct sn_device *dev, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return fd >= 0 && epoll_ctl(dev->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/* Closing the old descriptor has removed it from the epoll set, so the new one is added. */
void sn_thread_rewatch(struct sn_port *port)
{
	struct softnic *nic = port->nic;

	if (!nic->dev->threaded)
		return;
	sn_thread_add_fd(nic->dev, sn_fabric_fd(nic, port->number - 1u));
	nic->dev->armed = false;
	sn_thread_wake(nic);
}
