/* SPDX-License-Identifier: BSD-2-Clause */
/* One-shot timers in a binary heap, sorted by deadline. Each timer knows its index in the heap. */
#include <errno.h>
#include <stdlib.h>

#include "softnic/mlx5/cold.h"
#include "softnic/mlx5/dev.h"

/* Where the driver reads the timer: in a page of its own, or in the initialization segment. */
static be64_t *timer_at(struct softnic *nic)
{
	if (nic->config.timer_page)
		return (void *)(nic->dev->bar + (size_t)nic->config.timer_page * SN_PAGE);
	return nic->dev->cold ? &sn_iseg(nic)->timer : NULL;
}

/* If two threads write, the one that read the clock first must not set the timer back. */
uint64_t sn_internal_timer(struct softnic *nic)
{
	be64_t *at = timer_at(nic);
	uint64_t now = sn_now(), old = at ? __atomic_load_n(&at->be, __ATOMIC_RELAXED) : UINT64_MAX;

	while (be64toh(old) < now && !__atomic_compare_exchange_n(&at->be, &old, htobe64(now), false,
								  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return now;
}

uint64_t softnic_timer(struct softnic *nic)
{
	__atomic_store_n(&nic->stamps, true, __ATOMIC_RELAXED);
	return sn_internal_timer(nic);
}

static void heap_put(struct softnic *nic, uint32_t i, struct sn_timer *t)
{
	nic->heap[i] = t;
	t->slot = i + 1;
}

static void heap_up(struct softnic *nic, uint32_t i, struct sn_timer *t)
{
	while (i && nic->heap[(i - 1) / 2]->deadline > t->deadline) {
		heap_put(nic, i, nic->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	heap_put(nic, i, t);
}

static void heap_down(struct softnic *nic, uint32_t i, struct sn_timer *t)
{
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child + 1 < nic->heap_used &&
		    nic->heap[child + 1]->deadline < nic->heap[child]->deadline)
			child++;
		if (child >= nic->heap_used || nic->heap[child]->deadline >= t->deadline)
			break;
		heap_put(nic, i, nic->heap[child]);
		i = child;
	}
	heap_put(nic, i, t);
}

/* The last timer of the heap moves into the free slot, and from there to its level. */
void sn_timer_cancel(struct softnic *nic, struct sn_timer *t)
{
	uint32_t i = t->slot - 1;
	struct sn_timer *last;

	if (!t->slot)
		return;
	t->slot = 0;
	last = nic->heap[--nic->heap_used];
	if (last == t)
		return;
	if (i && nic->heap[(i - 1) / 2]->deadline > last->deadline)
		heap_up(nic, i, last);
	else
		heap_down(nic, i, last);
}

int sn_timer_arm(struct softnic *nic, struct sn_timer *t, uint64_t deadline)
{
	sn_timer_cancel(nic, t);
	if (nic->heap_used == nic->heap_size) {
		uint32_t size = nic->heap_size ? nic->heap_size * 2 : 64;
		struct sn_timer **heap = realloc(nic->heap, size * sizeof(struct sn_timer *));

		if (!heap)
			return -ENOMEM;
		nic->heap = heap;
		nic->heap_size = size;
	}
	t->deadline = deadline;
	heap_up(nic, nic->heap_used++, t);
	return 0;
}

uint64_t sn_timers_next(struct softnic *nic)
{
	return nic->heap_used ? nic->heap[0]->deadline : UINT64_MAX;
}

bool sn_timers_run(struct softnic *nic)
{
	bool due = sn_timers_due(nic), any = false;
	uint64_t now;

	nic->timer_turn++;
	if (!due)
		return false;
	now = sn_now();
	while (nic->heap_used && nic->heap[0]->deadline <= now) {
		struct sn_timer *t = nic->heap[0];

		sn_timer_cancel(nic, t);
		t->fire(nic, t);
		any = true;
	}
	return any;
}
