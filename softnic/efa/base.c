/* SPDX-License-Identifier: BSD-2-Clause */
/* Called from every file: the lock, random numbers, the clock, and waking the device's thread. */
#include <time.h>
#include <unistd.h>

#include "softnic/efa/sne.h"

unsigned int sne_forks;

bool sne_enter(struct sne_nic *nic)
{
	if (nic->forks != sne_forks)
		return false;
	pthread_mutex_lock(&nic->lock);
	return true;
}

void sne_leave(struct sne_nic *nic)
{
	pthread_mutex_unlock(&nic->lock);
}

/* splitmix64 */
uint64_t sne_random(struct sne_nic *nic)
{
	uint64_t z = nic->rng += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t sne_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void wake(struct sne_nic *nic)
{
	uint64_t one = 1;

	nic->resting = false;
	if (write(nic->event_fd, &one, sizeof(one)) < 0)
		return;			/* the counter is full: it is awake */
}

/*
 * After an inline turn, peers need not wake a thread for a while. The thread is woken once, to check
 * again after a tick, and again at the end of each tick as long as there are turns.
 */
void sne_thread_inline(struct sne_nic *nic, bool left)
{
	if (!nic->threaded)
		return;
	nic->inline_turns++;
	if (!nic->resting || (!left && !nic->armed))
		return;
	if (nic->armed && nic->fab)
		sn_fab_awake(nic->fab);
	nic->armed = false;
	wake(nic);
}
