/* SPDX-License-Identifier: BSD-2-Clause */
/* Object numbers. A freed number is reused at once, so a stale number names a new object. */
#include <errno.h>
#include <stdlib.h>

#include "softnic/efa/nic.h"

int sne_id_take(struct sne_ids *ids, uint32_t *id)
{
	/* Allocates the list entry for the number's return now, so that returning the number cannot
	 * fail. */
	if (ids->room <= ids->live) {
		uint32_t room = ids->room ? 2 * ids->room : 16;
		uint32_t *list = realloc(ids->free, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		ids->free = list;
		ids->room = room;
	}
	if (ids->nfree)
		*id = ids->free[--ids->nfree];
	else if (ids->next < ids->max)
		*id = ids->next++;
	else
		return -ENOMEM;
	ids->live++;
	return 0;
}

void sne_id_give(struct sne_ids *ids, uint32_t id)
{
	ids->free[ids->nfree++] = id;
	ids->live--;
}

void sne_ids_reset(struct sne_ids *ids)
{
	if (ids->live)
		return;
	ids->nfree = 0;
	ids->next = 0;
}
