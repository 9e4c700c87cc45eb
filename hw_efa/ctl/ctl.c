/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The first access that knows an IA name opens the device. */
#include <errno.h>

#include "config.h"
#include "hw_efa/ctl/ctl.h"

static const struct efa_access_kind *const kinds[] = {
	&efa_access_soft,
#ifdef HAVE_EFADV
	&efa_access_efadv,
#endif
};

int efa_ctl_open(const char *ia_name, const char *params, struct efa_ctl **ctl, char *why,
		 size_t whylen)
{
	int err = -ENODEV;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && err == -ENODEV; i++)
		err = kinds[i]->open(ia_name, params, ctl, why, whylen);
	return err;
}

size_t efa_ctl_list(struct dapl_device *devs, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		n += kinds[i]->list(n < max ? devs + n : NULL, n < max ? max - n : 0);
	return n;
}
