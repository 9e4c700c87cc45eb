/* SPDX-License-Identifier: BSD-2-Clause */
/* One drive of the device: doorbells, queues, packets and timers, until no work is left. */
#include "softnic/mlx5/dev.h"

enum {
	/* most rounds of one call; the thread or the next call does the remaining work */
	ROUNDS = 256,
	ERR_QPS = 8,	/* QPs in ERR that are flushed per round */
};

/*
 * Adversarial mode defers work at random, as a busy device does, and makes sure that the device is
 * driven again.
 */
static bool defer_work(struct softnic *nic)
{
	if (!(nic->config.flags & SOFTNIC_ADVERSARIAL) || TAILQ_EMPTY(&nic->run) ||
	    sn_draw(&nic->rng) % 4)
		return false;
	sn_thread_wake(nic);
	return true;
}

/* Runs the QPs that are on the list now. QPs that they kick wait for the next round. */
static bool run_qps(struct softnic *nic)
{
	struct sn_qp *last = TAILQ_LAST(&nic->run, sn_run_list);
	struct sn_qp *qp = NULL;
	bool any = false;

	while (qp != last && !sn_is_spent(nic)) {
		qp = TAILQ_FIRST(&nic->run);
		TAILQ_REMOVE(&nic->run, qp, run);
		qp->on_run = false;
		if (qp->state == SN_QP_ERR || qp->state == SN_QP_SQER)
			sn_sq_flush(qp);
		else if (qp->ud)
			sn_ud_run(qp);
		else
			sn_rc_run(qp);
		any = true;
	}
	return any;
}

/*
 * Receive queues have no doorbell, so WQEs that are posted after the QP's error are found by reading
 * the record. Each round checks only a few QPs in turn, so that a thousand QPs in ERR do not slow down
 * the others.
 */
static bool flush_receives(struct softnic *nic)
{
	struct sn_qp *last = TAILQ_LAST(&nic->err, sn_err_list), *qp = NULL;
	bool any = false;

	for (int i = 0; qp != last && (i < ERR_QPS || nic->thread_driven) && !sn_is_spent(nic); i++) {
		qp = TAILQ_FIRST(&nic->err);
		TAILQ_REMOVE(&nic->err, qp, err);
		TAILQ_INSERT_TAIL(&nic->err, qp, err);
		any |= sn_rq_flush(qp);
	}
	return any;
}

static bool drive_rounds(struct softnic *nic)
{
	struct sn_device *dev = nic->dev;
	bool any = false;

	for (int round = 0; round < ROUNDS && !sn_is_spent(nic); round++) {
		if (atomic_load_explicit(&dev->any_eq_db, memory_order_acquire))
			any |= sn_eq_take_posted(nic);
		if (nic->config.flags & SOFTNIC_SCAN_UARS ||
		    atomic_load_explicit(&dev->any_dirty, memory_order_acquire))
			any |= sn_uar_scan(nic);
		/* A device that has failed drops its packets. If it left them in the ring, its peers would
		 * wait for it for ever. */
		if (nic->fatal)
			return sn_fabric_poll(nic) || any;
		if (!round && defer_work(nic))
			return any;
		if (!TAILQ_EMPTY(&nic->run))
			any |= run_qps(nic);
		any |= sn_fabric_poll(nic);
		if (!TAILQ_EMPTY(&nic->err))
			any |= flush_receives(nic);
		/*
		 * While the run list is not empty there is more work. Packets that arrive after the
		 * poll are left for the next call.
		 */
		if (!TAILQ_EMPTY(&nic->run))
			continue;
		if (!sn_timers_due(nic)) {
			nic->timer_turn++;
			return any;
		}
		if (!sn_timers_run(nic))
			return any;
		any = true;
	}
	sn_thread_wake(nic);
	return any;
}

bool sn_drive(struct softnic *nic)
{
	bool any = false, now;

	if (nic->forked)
		return false;
	/* sn_drive also serves kicks and commands. The thread may be asleep then, but it must do the
	 * deferred work. */
	if (!nic->thread_driven)
		sn_thread_inline(nic);
	for (int round = 0; round < ROUNDS; round++) {
		sn_fabric_hold(nic);
		now = drive_rounds(nic);
		sn_fabric_release(nic);
		any |= now;
		if (sn_is_spent(nic))
			break;
		if (!nic->cqs_armed || sn_thread_watch(nic, now))
			return any;
	}
	sn_thread_wake(nic);
	return any;
}

/* Is there work other than packets from peers? Only the lock holder writes these fields. */
static bool has_work(const struct softnic *nic)
{
	const struct sn_device *dev = nic->dev;

	return nic->config.flags & SOFTNIC_SCAN_UARS || !TAILQ_EMPTY(&nic->run) ||
	       !TAILQ_EMPTY(&nic->err) || sn_timers_due(nic) ||
	       atomic_load_explicit(&dev->any_eq_db, memory_order_acquire) ||
	       atomic_load_explicit(&dev->any_dirty, memory_order_acquire);
}

bool sn_poll_idle(struct softnic *nic)
{
	if (has_work(nic) || !sn_fabric_quiet(nic))
		return false;
	nic->timer_turn++;
	return true;
}

/* Handles packets, and drives the device if they cause more work. True if there was any work. */
bool sn_handle_arrivals(struct softnic *nic)
{
	bool any;

	if (!sn_is_idle(nic) || has_work(nic))
		return sn_drive(nic);
	nic->timer_turn++;
	any = sn_fabric_poll(nic);
	if (has_work(nic))
		return sn_drive(nic) || any;
	sn_thread_inline(nic);
	return any;
}
