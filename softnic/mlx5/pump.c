/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lock of the device, one word: an empty pump costs two atomic operations on it. A caller that finds
 * the lock taken leaves its work, such as a stored doorbell, to the holder and marks the lock kicked.
 * The holder of a kicked lock drives the device once more before it releases the lock.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "softnic/mlx5/cold.h"
#include "softnic/mlx5/dev.h"

enum { SPINS = 1000 };	/* attempts before a caller sleeps: most drives are short */

enum { HELD = 1, KICKED = 2, AWAITED = 4 };

static bool try_lock(struct softnic *nic)
{
	unsigned int free = 0;

	return atomic_compare_exchange_strong(&nic->lock, &free, HELD);
}

/* Sleeps until the lock is free, and takes it as contended, because there may be other waiters. */
static void sleep_for_lock(struct softnic *nic)
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

static void pause_cpu(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

void sn_enter(struct softnic *nic)
{
	for (int i = 0; i < SPINS; i++) {
		if (!(atomic_load_explicit(&nic->lock, memory_order_relaxed) & HELD) &&
		    try_lock(nic))
			return;
		pause_cpu();
	}
	sleep_for_lock(nic);
}

bool sn_enter_try(struct softnic *nic)
{
	return try_lock(nic) || !(atomic_fetch_or(&nic->lock, HELD | KICKED) & HELD);
}

/* Commands run before a drive, never inside it, so that they do not nest. */
static bool take_commands(struct softnic *nic)
{
	return nic->dev->cold && !nic->forked && sn_iseg_scan(nic);
}

bool sn_pump(struct softnic *nic)
{
	bool any = take_commands(nic);

	return sn_drive(nic) || any;
}

void sn_leave(struct softnic *nic)
{
	unsigned int was = HELD;

	for (;;) {
		if (was & KICKED) {
			was = atomic_fetch_and(&nic->lock, ~(unsigned int)KICKED) & ~(unsigned int)KICKED;
			sn_pump(nic);
		}
		nic->work = 0;
		if (atomic_compare_exchange_strong(&nic->lock, &was, 0))
			break;
	}
	if (was & AWAITED)
		syscall(SYS_futex, &nic->lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

bool softnic_pump(struct softnic *nic)
{
	bool any;

	if (!sn_enter_try(nic))
		return false;
	any = !sn_poll_idle(nic);
	if (any) {
		any = take_commands(nic);
		any = sn_handle_arrivals(nic) || any;
	} else {
		any = sn_fabric_ack_pending(nic);
		sn_thread_inline(nic);
	}
	sn_leave(nic);
	return any;
}

void softnic_scan(struct softnic *nic)
{
	sn_enter(nic);
	sn_pump(nic);
	sn_leave(nic);
}

void softnic_mmio_write(struct softnic *nic, uint32_t page, uint32_t offset, const void *data,
			size_t len)
{
	if (offset == SN_UAR_EQ || offset == SN_UAR_EQ_ARM) {
		/* This may be called from inside the interrupt handler, so the doorbell is always left
		 * to the holder of the lock. */
		sn_eq_post(nic, page, sn_get32(data, 0), offset == SN_UAR_EQ_ARM);
		softnic_pump(nic);
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
		sn_pump(nic);
	}
	sn_leave(nic);
}
