/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* A device opened through the kernel, and closed. */
#include <errno.h>
#include <stdlib.h>

#include "hw_efa/ctl/efadv.h"

static void edv_close(struct efa_ctl *ctl)
{
	struct edv *dv = edv_of(ctl);

	edv_device_close(dv);
	free(dv);
}

static const struct efa_ctl_ops edv_ops = {
	.access = "efadv",
	.close = edv_close,
	.caps = edv_caps,
	.pd_alloc = edv_pd_alloc,
	.pd_free = edv_pd_free,
	.mr_reg = edv_mr_reg,
	.mr_dereg = edv_mr_dereg,
	.ah_create = edv_ah_create,
	.ah_destroy = edv_ah_destroy,
	.cq_create = edv_cq_create,
	.cq_destroy = edv_cq_destroy,
	.cq_arm = edv_cq_arm,
	.cq_fd = edv_cq_fd,
	.cq_drain = edv_cq_drain,
	.qp_create = edv_qp_create,
	.qp_ready = edv_qp_ready,
	.qp_error = edv_qp_error,
	.qp_destroy = edv_qp_destroy,
	.async_fd = edv_async_fd,
	.async_read = edv_async_read,
};

static int edv_open(const char *ia_name, const char *params, struct efa_ctl **ctl, char *why,
		    size_t whylen)
{
	struct edv *dv = calloc(1, sizeof(*dv));
	int err;

	(void)params;
	if (!dv)
		return -ENOMEM;
	dv->ctl.ops = &edv_ops;
	err = edv_device_open(dv, ia_name, why, whylen);
	if (err)
		goto err_free;
	err = edv_caps_read(dv, why, whylen);
	if (err)
		goto err_close;
	*ctl = &dv->ctl;
	return 0;

err_close:
	edv_device_close(dv);
err_free:
	free(dv);
	return err;
}

const struct efa_access_kind efa_access_efadv = { .open = edv_open, .list = edv_list };
