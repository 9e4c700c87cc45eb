/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Replaces the access through the kernel in builds without rdma-core. */
#include <errno.h>
#include <stdio.h>

#include "hw_mlx5/ctl/read.h"

static int none_open(struct m5_ctl *ctl, const char *ia_name, const char *params, char *why,
		     size_t whylen)
{
	(void)ctl;
	(void)params;
	snprintf(why, whylen, "%s is not a software adapter, and this provider was built without "
		 "rdma-core: install libibverbs-dev and build it again", ia_name);
	return -ENODEV;
}

static size_t none_list(const struct m5_ctl_ops *ops, struct dapl_device *devs, size_t max)
{
	(void)ops;
	(void)devs;
	(void)max;
	return 0;
}

const struct m5_access_kind m5_access_uverbs = {
	.size = sizeof(struct m5_ctl), .open = none_open, .list = none_list,
};
const struct m5_access_kind m5_access_vfio = {
	.size = sizeof(struct m5_ctl), .open = none_open, .list = none_list,
};
