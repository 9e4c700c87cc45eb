/* SPDX-License-Identifier: BSD-2-Clause */
/* Timers of the device: the earliest of those that are armed comes first. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "softnic/mlx5/dev.h"

enum { TIMERS = 64, ROUNDS = 200, CHANGES = 200, NONE = TIMERS };

static struct sn_timer timer[TIMERS];
static bool armed[TIMERS];

static unsigned int earliest(void)
{
	unsigned int first = NONE;

	for (unsigned int i = 0; i < TIMERS; i++)
		if (armed[i] && (first == NONE || timer[i].deadline < timer[first].deadline))
			first = i;
	return first;
}

static void change(struct softnic *nic, unsigned int i, uint64_t deadline)
{
	armed[i] = deadline;
	if (deadline)
		cr_assert_eq(sn_timer_arm(nic, &timer[i], deadline), 0);
	else
		sn_timer_cancel(nic, &timer[i]);
}

Test(timer, next__is_the_earliest_after_timers_were_armed_and_cancelled)
{
	struct softnic *nic = calloc(1, sizeof(*nic));
	uint32_t drawn = 1;
	unsigned int first;

	cr_assert_not_null(nic);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		for (unsigned int n = 0; n < CHANGES; n++) {
			drawn = drawn * 1664525 + 1013904223;
			change(nic, drawn >> 8 & (TIMERS - 1), drawn >> 30 ? 1 + (drawn >> 14) % 10000 : 0);
		}
		while ((first = earliest()) != NONE) {
			cr_assert_eq(sn_timers_next(nic), timer[first].deadline, "round %u", round);
			change(nic, first, 0);
		}
		cr_assert_eq(sn_timers_next(nic), UINT64_MAX);
	}
	free(nic->heap);
	free(nic);
}
