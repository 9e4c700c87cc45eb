/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* What stands in for the access through the kernel where it could not be built. */
#include <errno.h>

#include "hw_efa/ctl/ctl.h"

/* hw_mlx5 is asked first, and has said what is missing. */
static int none_open(const char *ia_name, const char *params, struct efa_ctl **ctl, char *why,
		     size_t whylen)
{
	(void)ia_name;
	(void)params;
	(void)ctl;
	(void)why;
	(void)whylen;
	return -ENODEV;
}

static size_t none_list(struct dapl_device *devs, size_t max)
{
	(void)devs;
	(void)max;
	return 0;
}

const struct efa_access_kind efa_access_efadv = { .open = none_open, .list = none_list };
