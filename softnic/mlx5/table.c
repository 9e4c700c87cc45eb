/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables from numbers to objects: open addressing, linear probing, at most half full. */
#include <errno.h>
#include <stdlib.h>

#include "softnic/mlx5/dev.h"

#define GRAVE UINT32_MAX	/* marks the slot of a removed object */

void *sn_table_search(const struct sn_table *t, uint32_t number)
{
	if (!t->slot)
		return NULL;
	for (uint32_t i = sn_table_hash(number);; i++) {
		void *obj = t->slot[i & t->mask];

		if (!obj && t->number[i & t->mask] != GRAVE)
			return NULL;
		if (obj && t->number[i & t->mask] == number)
			return obj;
	}
}

static void place_object(struct sn_table *t, uint32_t number, void *obj)
{
	uint32_t i = sn_table_hash(number);

	while (t->slot[i & t->mask] || t->number[i & t->mask] == GRAVE)
		i++;
	t->slot[i & t->mask] = obj;
	t->number[i & t->mask] = number;
	t->used++;
	t->live++;
}

/* Rehashes the table, which drops the marks of removed objects. The new table is a quarter full, so
 * growth is rare. */
static int grow_table(struct sn_table *t)
{
	size_t size = 16;
	struct sn_table n = { 0 };

	while (size < (size_t)t->live * 4)
		size *= 2;
	n.slot = calloc(size, sizeof(*n.slot));
	n.number = calloc(size, sizeof(*n.number));
	if (!n.slot || !n.number) {
		sn_table_free(&n);
		return -ENOMEM;
	}
	n.mask = (uint32_t)size - 1;
	for (uint32_t i = 0; t->slot && i <= t->mask; i++)
		if (t->slot[i])
			place_object(&n, t->number[i], t->slot[i]);
	sn_table_free(t);
	*t = n;
	return 0;
}

int sn_table_reserve(struct sn_table *t)
{
	return !t->slot || (t->used + 1) * 2 > t->mask ? grow_table(t) : 0;
}

int sn_table_insert(struct sn_table *t, uint32_t number, void *obj)
{
	int err = sn_table_find(t, number) ? -EEXIST : sn_table_reserve(t);

	if (!err)
		place_object(t, number, obj);
	return err;
}

int sn_table_add(struct softnic *nic, struct sn_table *t, unsigned int bits, unsigned int log_max,
		 void *obj, uint32_t *number)
{
	uint32_t mask = (UINT32_C(1) << bits) - 1;
	/* Numbers are random, because on hardware they have no meaning to the driver. So a stale
	 * number stays invalid for long. */
	uint32_t first = (uint32_t)sn_draw(&nic->rng) & mask;

	if (t->live >= UINT32_C(1) << sn_log_max(nic, log_max))
		return -ENOSPC;
	for (uint32_t i = 0; i <= mask; i++) {
		uint32_t n = (first + i) & mask;
		int err;

		/* in some fields of the manual 0, 1 and all ones are special */
		if (n < 2 || n == mask)
			continue;
		err = sn_table_insert(t, n, obj);
		if (err == -EEXIST)
			continue;
		if (!err)
			*number = n;
		return err;
	}
	return -ENOSPC;
}

void sn_table_remove(struct sn_table *t, uint32_t number)
{
	uint32_t i = sn_table_hash(number);

	if (!sn_table_search(t, number))
		return;
	while (!t->slot[i & t->mask] || t->number[i & t->mask] != number)
		i++;
	t->slot[i & t->mask] = NULL;
	t->number[i & t->mask] = GRAVE;
	t->live--;
}

void sn_table_each(struct softnic *nic, struct sn_table *t, void (*fn)(struct softnic *, void *))
{
	for (uint32_t i = 0; t->slot && i <= t->mask; i++)
		if (t->slot[i])
			fn(nic, t->slot[i]);
}

void sn_table_free(struct sn_table *t)
{
	free(t->slot);
	free(t->number);
	*t = (struct sn_table){ 0 };
}
