/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Finds the device of an IA name: tries each kind of access in turn. */
#include <errno.h>
#include <stdlib.h>

#include "hw_common/near.h"
#include "hw_mlx5/ctl/read.h"

static const struct m5_access_kind *const kinds[] = {
	&m5_access_soft,
	&m5_access_uverbs,
	&m5_access_vfio,
};

int m5_access_open(const struct m5_access_kind *kind, const char *ia_name, const char *params,
		   struct m5_ctl **ctl, char *why, size_t whylen)
{
	struct m5_ctl *new = calloc(1, kind->size);
	int err;

	if (!new)
		return -ENOMEM;
	new->ops = kind->ops;
	new->node = HW_NO_NODE;
	err = kind->open(new, ia_name, params, why, whylen);
	if (err)
		free(new);
	else
		*ctl = new;
	return err;
}

int m5_ctl_open(const char *ia_name, const char *params, struct m5_ctl **ctl, char *why,
		size_t whylen)
{
	int err = -ENODEV;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && err == -ENODEV; i++)
		err = m5_access_open(kinds[i], ia_name, params, ctl, why, whylen);
	return err;
}

size_t m5_ctl_list(struct dapl_device *devs, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		n += kinds[i]->list(kinds[i]->ops, n < max ? devs + n : NULL,
				    n < max ? max - n : 0);
	return n;
}
