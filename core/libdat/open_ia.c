/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of open IAs, under the registry's lock. */
#include <stdlib.h>

#include "core/libdat/registry.h"

static struct open_ia *open_ias;

void put_open_ia(struct open_ia *ia)
{
	ia->next = open_ias;
	open_ias = ia;
}

struct open_ia *take_open_ia(DAT_IA_HANDLE handle)
{
	struct open_ia **link = &open_ias, *ia;

	while (*link && (*link)->handle != handle)
		link = &(*link)->next;
	ia = *link;
	if (ia)
		*link = ia->next;
	return ia;
}

void forget_open_ias(void)
{
	for (struct open_ia *ia; (ia = open_ias);) {
		open_ias = ia->next;
		free(ia);
	}
}
