/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <errno.h>

#include "hw_efa/efa_ctl.h"

static int dv_open(const char *ia_name, const struct efa_params *p, struct efa_ctl **ctl, char *why,
		   size_t whylen)
{
	(void)ia_name;
	(void)p;
	(void)ctl;
	(void)why;
	(void)whylen;
	return -ENODEV;
}

static size_t dv_list(struct efa_ctl_device *devs, size_t max)
{
	(void)devs;
	(void)max;
	return 0;
}

const struct efa_access_kind efa_access_efadv = { .open = dv_open, .list = dv_list };
