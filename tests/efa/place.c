/* SPDX-License-Identifier: BSD-2-Clause */
/* Which writes must wait for an earlier one: the driver's answer is compared with a search of all
 * outstanding writes. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "hw_efa/place.h"

enum { DTOS = 64, STEPS = 200000, ROOM = 512, MOST = 24 };

static struct efa_dto dto[DTOS];
static struct efa_tx tx = { .dto = dto, .mask = DTOS - 1 };

TestSuite(efa_place, .timeout = 60);

static bool is_write(const struct efa_dto *d)
{
	return (d->state & (EFA_D_PLACED | EFA_D_DONE)) == EFA_D_PLACED;
}

static bool touched(uint64_t va, uint64_t len)
{
	for (uint32_t i = tx.done; i != tx.posted; i++) {
		const struct efa_dto *d = &dto[i & tx.mask];

		if (is_write(d) && va < d->remote + d->bytes && d->remote < va + len)
			return true;
	}
	return false;
}

static void one_ends(void)
{
	if (tx.done != tx.posted)
		dto[(tx.done + (uint32_t)rand() % (tx.posted - tx.done)) & tx.mask].state |= EFA_D_DONE;
	while (tx.done != tx.posted && dto[tx.done & tx.mask].state & EFA_D_DONE)
		tx.done++;
}

/* Posts a write if it need not wait, or a read. Reads are not tracked like writes, so they never wait. */
static void one_comes(uint64_t va, uint32_t len, bool write)
{
	bool free = !touched(va, len), may;

	if (write)
		may = efa_place(&tx, va, len, tx.posted) || efa_place_far(&tx, va, len, tx.posted);
	else
		may = efa_clear_of_writes(&tx, va, len) || !efa_overlaps(&tx, va, len, tx.posted);
	cr_assert_eq(may, free, "request %u of %u bytes at %u was delayed, or sent too early",
		     tx.posted, len, (unsigned int)va);
	if (write && !may)
		return;
	dto[tx.posted++ & tx.mask] = (struct efa_dto){ .remote = va, .bytes = len,
						       .state = write ? EFA_D_PLACED : 0 };
}

/* Writes to consecutive and random addresses, with few and many outstanding. */
Test(efa_place, write__waits_for_one_under_way_to_its_bytes_and_no_other)
{
	static const uint32_t under_way[] = { 3, 6, 12, DTOS - 1 };
	uint64_t at = 0;

	srand(7);
	for (unsigned int i = 0; i < STEPS; i++) {
		uint32_t len = 1 + (uint32_t)rand() % MOST, few = under_way[i / 1000 % 4];

		at = i / 4000 % 2 ? (uint64_t)rand() % ROOM : (at + MOST) % ROOM;
		while (tx.posted - tx.done >= few || rand() % 4 == 0)
			one_ends();
		one_comes(at, len, rand() % 4 != 0);
	}
}
