/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hw_mlx5/lock.h"

int m5_cq_own_init(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		return -errno;
	return 0;
}

void m5_cq_own(struct dap_evd *evd)
{
	struct m5_cq *cq = m5_cq(evd);

	if (m5_ia(evd->obj.ia)->locked) {
		m5_spin_lock(&cq->lock);
		return;
	}
	pthread_mutex_lock(&cq->mutex);
	__atomic_store_n(&cq->revoked, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	while (__atomic_load_n(&cq->in_poll, __ATOMIC_ACQUIRE))
		sched_yield();
}

void m5_cq_release(struct dap_evd *evd)
{
	struct m5_cq *cq = m5_cq(evd);

	if (m5_ia(evd->obj.ia)->locked) {
		m5_spin_unlock(&cq->lock);
		return;
	}
	__atomic_store_n(&cq->revoked, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&cq->mutex);
}

void m5_cq_wait_owned(struct m5_cq *cq)
{
	do {
		__atomic_store_n(&cq->in_poll, 0, __ATOMIC_RELEASE);
		pthread_mutex_lock(&cq->mutex);
		pthread_mutex_unlock(&cq->mutex);
		__atomic_store_n(&cq->in_poll, 1, __ATOMIC_SEQ_CST);
	} while (__atomic_load_n(&cq->revoked, __ATOMIC_ACQUIRE));
}

void m5_spin_wait(uint32_t *lock)
{
	unsigned int turns = 0;

	do {
		while (__atomic_load_n(lock, __ATOMIC_RELAXED))
			if (++turns % 256 == 0)
				sched_yield();
	} while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE));
}
