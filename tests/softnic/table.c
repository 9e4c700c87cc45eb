/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's tables: numbers with equal hashes, and reused slots. */
#include <errno.h>

#include <criterion/criterion.h>
#include <stdlib.h>

#include "softnic/mlx5/dev.h"

enum { OBJECTS = 200 };

static char object[OBJECTS];

/* Finds numbers with the same hash, so that all of them but one are in other slots. */
static unsigned int crowd(uint32_t number[], unsigned int n)
{
	unsigned int found = 0;

	for (uint32_t i = 1; found < n; i++)
		if ((sn_table_hash(i) & 1023) == 7)
			number[found++] = i;
	return found;
}

Test(table, find__returns_the_right_one_of_many_that_share_a_place)
{
	struct sn_table t = { 0 };
	uint32_t number[4];
	unsigned int n = crowd(number, 4);

	cr_assert_null(sn_table_find(&t, number[0]), "an empty table returned an object");
	for (unsigned int i = 0; i < n; i++)
		cr_assert_eq(sn_table_insert(&t, number[i], &object[i]), 0);
	for (unsigned int i = 0; i < n; i++)
		cr_assert_eq(sn_table_find(&t, number[i]), &object[i],
			     "the table returned the wrong object for number %u", number[i]);
	sn_table_remove(&t, number[0]);
	cr_assert_null(sn_table_find(&t, number[0]), "the table returned a removed object");
	for (unsigned int i = 1; i < n; i++)
		cr_assert_eq(sn_table_find(&t, number[i]), &object[i],
			     "number %u, after an object was removed: the table returned the wrong "
			     "one",
			     number[i]);
	sn_table_free(&t);
}

Test(table, find__number_that_no_object_has_returns_null)
{
	struct sn_table t = { 0 };

	for (uint32_t i = 1; i < OBJECTS; i++)
		cr_assert_eq(sn_table_insert(&t, i, &object[i]), 0);
	for (uint32_t i = 1; i < OBJECTS; i += 2)
		sn_table_remove(&t, i);
	cr_assert_null(sn_table_find(&t, 0));
	cr_assert_null(sn_table_find(&t, UINT32_MAX));
	cr_assert_eq(t.live, OBJECTS / 2 - 1);
	for (uint32_t i = 1; i < OBJECTS; i++)
		cr_assert_eq(sn_table_find(&t, i), i % 2 ? NULL : &object[i],
			     "the table returned the wrong object for number %u", i);
	sn_table_free(&t);
}

/* Removing and inserting again and again does not fill the table. */
Test(table, insert__again_and_again_does_not_fill_the_table)
{
	struct sn_table t = { 0 };

	for (uint32_t i = 1; i < 100 * OBJECTS; i++) {
		cr_assert_eq(sn_table_insert(&t, i, &object[0]), 0);
		cr_assert_eq(sn_table_insert(&t, i, &object[1]), -EEXIST);
		if (i > 8)
			sn_table_remove(&t, i - 8);
	}
	cr_assert_eq(t.live, 8);
	cr_assert_lt(t.mask, 1024u);
	sn_table_free(&t);
}

Test(table, add__beyond_the_limit_returns_enospc)
{
	struct softnic *nic = calloc(1, sizeof(*nic));
	struct sn_table t = { 0 };
	uint32_t number;

	cr_assert_not_null(nic);
	for (unsigned int i = 0; i < 64; i++)
		cr_assert_eq(sn_table_add(nic, &t, 8, 6, object, &number), 0);
	cr_expect_eq(sn_table_add(nic, &t, 8, 6, object, &number), -ENOSPC);
	sn_table_remove(&t, number);
	cr_expect_eq(sn_table_add(nic, &t, 8, 6, object, &number), 0);
	sn_table_free(&t);
	free(nic);
}
