/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who drives the device. One lock, a word: an empty pump costs two atomic operations on it. A caller
 * that finds it taken leaves its work where the holder will see it (a stored doorbell) and marks
 * the lock kicked; the holder cannot let go of a kicked lock, and drives once more.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "softnic/mlx5/cold.h"
#include "softnic/mlx5/dev.h"

enum {
	ROUNDS = 256,	/* in one call; the rest is left to the thread or to the next call */
	SPINS = 1000,	/* a drive is short: try that often before sleeping */
	ERR_QPS = 8,	/* whose receive queues one round looks at */
};

enum { HELD = 1, KICKED = 2, AWAITED = 4 };

static bool try_lock(struct sn_nic *nic)
{
	unsigned int free = 0;

	return atomic_compare_exchange_strong(&nic->lock, &free, HELD);
}

/* Whoever has slept takes the lock as awaited: there may be others. */
static void sleep_for_lock(struct sn_nic *nic)
{
	unsigned int was = atomic_load(&nic->lock);

	for (;;) {
		unsigned int want = was | HELD | AWAITED;

		if (!atomic_compare_exchange_strong(&nic->lock, &was, want))
			continue;
		if (!(was & HELD))
			return;
		syscall(SYS_futex, &nic->lock, FUTEX_WAIT_PRIVATE, want, NULL, NULL, 0);
		was = atomic_load(&nic->lock);
	}
}

void sn_enter(struct sn_nic *nic)
{
	for (int i = 0; i < SPINS; i++) {
		if (!(atomic_load_explicit(&nic->lock, memory_order_relaxed) & HELD) &&
		    try_lock(nic))
			return;
		__builtin_ia32_pause();
	}
	sleep_for_lock(nic);
}

bool sn_enter_try(struct sn_nic *nic)
{
	return try_lock(nic) || !(atomic_fetch_or(&nic->lock, HELD | KICKED) & HELD);
}

void sn_leave(struct sn_nic *nic)
{
	unsigned int was = HELD;

	for (;;) {
		if (was & KICKED) {
			was = atomic_fetch_and(&nic->lock, ~(unsigned int)KICKED) & ~(unsigned int)KICKED;
			sn_drive(nic);
		}
		if (atomic_compare_exchange_strong(&nic->lock, &was, 0))
			break;
	}
	if (was & AWAITED)
		syscall(SYS_futex, &nic->lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
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
		else if (qp->ud)
			sn_ud_run(qp);
		else
			sn_rc_run(qp);
		any = true;
	}
	return any;
}

/*
 * A receive queue has no doorbell: what is posted after the error is found in its record. Each
 * round looks at a few QPs in turn, so that a thousand dead ones do not slow the living down.
 */
static bool flush_receives(struct sn_nic *nic)
{
	struct sn_qp *last = TAILQ_LAST(&nic->err, sn_err_list), *qp = NULL;
	bool any = false;

	for (int i = 0; qp != last && (i < ERR_QPS || nic->hurried); i++) {
		qp = TAILQ_FIRST(&nic->err);
		TAILQ_REMOVE(&nic->err, qp, err);
		TAILQ_INSERT_TAIL(&nic->err, qp, err);
		any |= sn_rq_flush(qp);
	}
	return any;
}

static bool drive(struct sn_nic *nic)
{
	struct sn_device *dev = nic->dev;
	bool any = false;

	for (int round = 0; round < ROUNDS; round++) {
		if (atomic_load_explicit(&dev->any_eq_db, memory_order_acquire))
			any |= sn_eq_take_posted(nic);
		if (dev->cold)
			any |= sn_iseg_scan(nic);
		if (nic->config.flags & SOFTNIC_SCAN_UARS ||
		    atomic_load_explicit(&dev->any_dirty, memory_order_acquire))
			any |= sn_uar_scan(nic);
		if (nic->fatal || (!round && lets_it_lie(nic)))
			return any;
		if (!TAILQ_EMPTY(&nic->run))
			any |= run_qps(nic);
		any |= sn_fabric_poll(nic);
		if (!TAILQ_EMPTY(&nic->err))
			any |= flush_receives(nic);
		/* All work is on the run list; what arrives after the poll is for the next call. */
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

bool sn_drive(struct sn_nic *nic)
{
	bool any = false, now;

	if (nic->forked)
		return false;
	/* Also from a kick or a command: what this puts off is the thread's, and it may be asleep. */
	if (!nic->hurried)
		sn_thread_inline(nic);
	for (int round = 0; round < ROUNDS; round++) {
		sn_fabric_hold(nic);
		now = drive(nic);
		sn_fabric_release(nic);
		any |= now;
		nic->ctr.by_thread += now && nic->hurried;
		nic->ctr.by_calls += now && !nic->hurried;
		if (!nic->cqs_armed || sn_thread_watch(nic, now))
			return any;
	}
	sn_thread_wake(nic);
	return any;
}

/* Is there work but for what peers have sent? Nothing of this is written to by another. */
static bool has_work(const struct sn_nic *nic)
{
	const struct sn_device *dev = nic->dev;

	return nic->config.flags & SOFTNIC_SCAN_UARS || !TAILQ_EMPTY(&nic->run) ||
	       !TAILQ_EMPTY(&nic->err) || sn_timers_due(nic) ||
	       atomic_load_explicit(&dev->any_eq_db, memory_order_acquire) ||
	       atomic_load_explicit(&dev->any_dirty, memory_order_acquire);
}

/* What a poll in vain costs. */
bool sn_idle(struct sn_nic *nic)
{
	if (has_work(nic) || !sn_fabric_quiet(nic))
		return false;
	nic->timer_turn++;
	return true;
}

/* What peers have sent, when that is all; what comes of it beyond the queues of the host is driven. */
static bool take_arrivals(struct sn_nic *nic)
{
	bool any;

	if (!sn_is_calm(nic) || has_work(nic))
		return sn_drive(nic);
	nic->timer_turn++;
	any = sn_fabric_poll(nic);
	nic->ctr.by_calls += any;
	if (has_work(nic))
		return sn_drive(nic) || any;
	sn_thread_inline(nic);
	return any;
}

bool softnic_pump(struct softnic *handle)
{
	struct sn_nic *nic = (struct sn_nic *)handle;
	bool any;

	if (!sn_enter_try(nic))
		return false;
	any = !sn_idle(nic);
	if (any) {
		any = take_arrivals(nic);
	} else {
		any = sn_fabric_owes(nic);
		sn_thread_inline(nic);
	}
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
	if (!sn_uar_plain(nic, page, offset, data, len)) {
		if (!nic->forked)
			sn_uar_write(nic, page, offset, data, len);
		sn_drive(nic);
	}
	sn_leave(nic);
}
