/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hw_efa/efa_lock.h"

int efa_lock_open(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		return -errno;
	return 0;
}

void efa_lock_init(struct efa_engine *eng)
{
	pthread_mutex_init(&eng->mutex, NULL);
	eng->cell = &eng->none;
}

void efa_spin(uint32_t *lock)
{
	unsigned int turns = 0;

	do {
		while (__atomic_load_n(lock, __ATOMIC_RELAXED))
			if (++turns % EFA_LOCK_TURNS == 0)
				sched_yield();
	} while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE));
}

/* The mutex is held: whoever has a cell is out, and stays out until it is the engine's again. */
static void shut(struct efa_engine *eng, struct efa_cell *c)
{
	if (c == &eng->none)
		return;
	__atomic_store_n(&eng->cell, &eng->none, __ATOMIC_SEQ_CST);
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	while (__atomic_load_n(&c->busy, __ATOMIC_ACQUIRE))
		sched_yield();
}

/* A cell that has been another's is never used again, so that who comes late harms nobody. */
struct efa_cell *efa_enter_slow(struct efa_engine *eng)
{
	struct efa_cell *c;

	pthread_mutex_lock(&eng->mutex);
	if (eng->given)
		return NULL;
	c = eng->cell;
	shut(eng, c);
	if (eng->cells_used == EFA_CELLS) {
		eng->given = true;
		return NULL;
	}
	c = &eng->cells[eng->cells_used++];
	c->owner = efa_self();
	c->busy = 1;
	__atomic_store_n(&eng->cell, c, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&eng->mutex);
	return c;
}

void efa_leave_slow(struct efa_engine *eng)
{
	pthread_mutex_unlock(&eng->mutex);
}

void efa_take(struct efa_engine *eng)
{
	struct efa_cell *c;

	if (eng->locked) {
		if (__atomic_exchange_n(&eng->lock, 1, __ATOMIC_ACQUIRE))
			efa_spin(&eng->lock);
	} else {
		pthread_mutex_lock(&eng->mutex);
		c = eng->cell;
		shut(eng, c);
		eng->taken = c;
	}
	efa_settle(eng);
}

void efa_give(struct efa_engine *eng)
{
	bool over = eng->over;

	if (eng->locked) {
		__atomic_store_n(&eng->lock, 0, __ATOMIC_RELEASE);
	} else {
		__atomic_store_n(&eng->cell, eng->taken, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&eng->mutex);
	}
	if (over)
		efa_tell_full(eng);
}
