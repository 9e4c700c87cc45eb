/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that every file calls: the lock, the clock, and waking the device's thread. */
#include <sys/syscall.h>
#include <unistd.h>

#include "softnic/clock.h"
#include "softnic/efa/nic.h"

enum {
	DRIVING_TURNS = 16,
	/* most of the time between two turns that counts */
	GAP_NS = 100000000,
};

unsigned int sne_forks;

bool sne_enter(struct sne_nic *nic)
{
	int err = 0;

	if (nic->forks != sne_forks)
		return false;
	if (pthread_mutex_trylock(&nic->lock)) {
		atomic_fetch_add(&nic->callers, 1);
		err = pthread_mutex_lock(&nic->lock);
		atomic_fetch_sub(&nic->callers, 1);
	}
	return !err;
}

void sne_leave(struct sne_nic *nic)
{
	pthread_mutex_unlock(&nic->lock);
}

/*
 * While work is outstanding, the thread or a poll calls this every few milliseconds. So a post need not. A
 * gap means that this process did not run, and perhaps its peers did not either: their answers are not late.
 */
void sne_take_time(struct sne_nic *nic)
{
	uint64_t clock, gap;

	if (nic->virtual_time)
		return;
	clock = sn_now();
	gap = clock - nic->clock;
	nic->clock = clock;
	nic->now += gap < GAP_NS ? gap : GAP_NS;
}

static void wake(struct sne_nic *nic)
{
	uint64_t one = 1;

	nic->resting = false;
	/* Does not call write(2), which is a cancellation point. If the counter is full, the thread is
	 * awake already. */
	syscall(SYS_write, nic->event_fd, &one, sizeof(one));
}

void sne_thread_hand_over(struct sne_nic *nic)
{
	nic->handed_over = true;
	if (nic->threaded && nic->resting)
		wake(nic);
}

/*
 * A caller that keeps posting or polling drives the device, so peers need not wake the thread for a
 * while. The thread is woken once, checks again after a tick, and then after each tick in which callers
 * drove the device. A caller with only a few turns does not count: it may next wait on its own memory,
 * without calls. While a CQ is armed the host waits for an event, so peers go on waking the thread.
 */
void sne_thread_inline(struct sne_nic *nic, bool left, bool posted)
{
	if (!nic->threaded)
		return;
	nic->inline_turns++;
	if (nic->armed && !nic->armed_cqs && nic->inline_turns - nic->turns_at_arm >= DRIVING_TURNS) {
		sn_fab_awake(nic->fab);
		nic->armed = false;
		left = true;
	} else if (nic->armed && (left || (posted && nic->rest_ns == UINT64_MAX))) {
		/* the thread does the rest of the work, and retransmissions */
		sne_thread_hand_over(nic);
	}
	if (left && nic->resting && nic->rest_ns > SNE_TICK_NS)
		wake(nic);
}

void sne_thread_watch(struct sne_nic *nic)
{
	if (nic->armed || !nic->threaded)
		return;
	nic->armed = sn_fab_sleep(nic->fab);
	nic->turns_at_arm = nic->inline_turns;
	if (!nic->armed)
		sne_thread_hand_over(nic);
}
