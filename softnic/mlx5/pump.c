/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who drives the device. One lock; a caller that finds it taken leaves its work where the holder
 * will see it (a stored doorbell) and counts a kick. The kick is counted before the second try for
 * the lock and read by the holder after it has let go, so one of the two sees the other.
 */
#include "softnic/mlx5/dev.h"

/* After that many rounds in one call the rest is left to the thread or to the next call. */
enum { ROUNDS = 256 };

void sn_enter(struct sn_nic *nic)
{
	pthread_mutex_lock(&nic->lock);
}

bool sn_enter_try(struct sn_nic *nic)
{
	if (!pthread_mutex_trylock(&nic->lock))
		return true;
	atomic_fetch_add(&nic->kick, 1);
	return !pthread_mutex_trylock(&nic->lock);
}

/*
 * Between the unlock and the look at kick nobody is lost: who failed to get the lock before the
 * unlock had counted before, and who comes after it gets the lock himself.
 */
void sn_leave(struct sn_nic *nic)
{
	for (;;) {
		unsigned int seen;

		if (nic->dev->seen != atomic_load(&nic->kick))
			sn_drive(nic);
		seen = nic->dev->seen;
		pthread_mutex_unlock(&nic->lock);
		if (atomic_load(&nic->kick) == seen || pthread_mutex_trylock(&nic->lock))
			return;
	}
}

void sn_qp_kick(struct sn_qp *qp)
{
	if (qp->on_run)
		return;
	qp->on_run = true;
	TAILQ_INSERT_TAIL(&qp->nic->run, qp, run);
}

/* The adversary lets work lie for a while, as a busy device does. Somebody must come back to it. */
static bool lets_it_lie(struct sn_nic *nic)
{
	if (!(nic->config.flags & SOFTNIC_ADVERSARIAL) || TAILQ_EMPTY(&nic->run) ||
	    sn_random(nic) % 4)
		return false;
	sn_thread_wake(nic);
	return true;
}

/* Those that are on the list now; what they kick themselves waits for the next round. */
static bool run_qps(struct sn_nic *nic)
{
	struct sn_qp *last = TAILQ_LAST(&nic->run, sn_run_list);
	struct sn_qp *qp = NULL;
	bool any = false;

	while (qp != last) {
		qp = TAILQ_FIRST(&nic->run);
		TAILQ_REMOVE(&nic->run, qp, run);
		qp->on_run = false;
		if (qp->state == SN_QP_ERR)
			sn_sq_flush(qp);
		else
			sn_rc_run(qp);
		any = true;
	}
	return any;
}

/* A receive queue has no doorbell: what is posted after the error is found in its record. */
static bool flush_receives(struct sn_nic *nic)
{
	struct sn_qp *qp;
	bool any = false;

	TAILQ_FOREACH(qp, &nic->err, err)
		any |= sn_rq_flush(qp);
	return any;
}

/*
 * kick is read before the work, never after: a caller that counted itself later is seen by sn_leave.
 */
bool sn_drive(struct sn_nic *nic)
{
	struct sn_device *dev = nic->dev;
	bool any = false;

	for (int round = 0; round < ROUNDS; round++) {
		dev->seen = atomic_load(&nic->kick);
		if (atomic_load(&dev->any_eq_db))
			any |= sn_eq_take_posted(nic);
		if (nic->config.flags & SOFTNIC_SCAN_UARS || atomic_load(&dev->any_dirty))
			any |= sn_uar_scan(nic);
		if (nic->fatal || (!round && lets_it_lie(nic)))
			return any;
		any |= run_qps(nic);
		any |= sn_fabric_poll(nic);
		any |= flush_receives(nic);
		/* All work is on the run list; what arrives after the poll is for the next call. */
		if (!TAILQ_EMPTY(&nic->run))
			continue;
		if (!sn_timers_run(nic))
			return any;
		any = true;
	}
	sn_thread_wake(nic);
	return any;
}

bool softnic_pump(struct softnic *handle)
{
	struct sn_nic *nic = (struct sn_nic *)handle;
	bool any;

	if (!sn_enter_try(nic))
		return false;
	sn_thread_inline(nic);
	any = sn_drive(nic);
	sn_leave(nic);
	return any;
}

void softnic_mmio_write(struct softnic *handle, uint32_t page, uint32_t offset, const void *data,
			size_t len)
{
	struct sn_nic *nic = (struct sn_nic *)handle;

	if (offset == SN_UAR_EQ || offset == SN_UAR_EQ_ARM) {
		/* Perhaps from inside the interrupt: always left for the one who drives. */
		sn_eq_post(nic, page, sn_get32(data, 0), offset == SN_UAR_EQ_ARM);
		softnic_pump(handle);
		return;
	}
	if (offset == SN_UAR_CQ) {
		sn_enter(nic);
	} else if (!sn_enter_try(nic)) {
		sn_uar_store(nic, page, offset, data);
		if (!sn_enter_try(nic))
			return;
	}
	sn_thread_inline(nic);
	sn_uar_write(nic, page, offset, data, len);
	sn_drive(nic);
	sn_leave(nic);
}
