/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Capabilities of a device, from libibverbs and efadv. A capability that an old libefa cannot report (RDMA
 * write, wide WQEs) counts as absent. No query reports whether a CQ can be armed, how long its entries are,
 * and whether memory can be locked: temporary objects show that.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "hw_common/memory.h"
#include "hw_efa/ctl/efadv.h"

#define NARROW_INLINE 32u		/* inline bytes of a 64-byte WQE */
#define LEAST_LOCKED (64u << 10)	/* less than the receive buffers of an endpoint need */
#define NITRO_V3_PCI_ID 0xefa0u

static int find_queries(struct edv *dv, char *why, size_t whylen)
{
	dv->query_wqs = (__typeof__(dv->query_wqs))dlsym(RTLD_DEFAULT, "efadv_query_qp_wqs");
	dv->query_cq = (__typeof__(dv->query_cq))dlsym(RTLD_DEFAULT, "efadv_query_cq");
	if (dv->query_wqs && dv->query_cq)
		return 0;
	snprintf(why, whylen, "libefa has no %s: install rdma-core 59 or newer (60 to sleep in "
		 "waits), as AWS's EFA installer does",
		 dv->query_wqs ? "efadv_query_cq" : "efadv_query_qp_wqs");
	return -EOPNOTSUPP;
}

/*
 * inline_buf_size: before 63.0 of any WQE, from then on of 64-byte WQEs. max_qp_wr is also limited
 * by the device's memory for send queues.
 */
static void set_caps(struct efa_caps *c, const struct edv_device_attr *a, const struct ibv_device_attr *dev)
{
	const uint32_t can = a->device_caps;
	const bool wide = a->inline_buf_size_ex > NARROW_INLINE;

	*c = (struct efa_caps){
		.rdma_read = can & EFADV_DEVICE_ATTR_CAPS_RDMA_READ,
		.rnr_retry = can & EFADV_DEVICE_ATTR_CAPS_RNR_RETRY,
		.rdma_write = can & EDV_CAP_RDMA_WRITE,
		.cq_with_sgid = can & EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID,
		.inline_max = (uint16_t)efa_min(a->inline_buf_size, NARROW_INLINE),
		.wide_wqe = wide, .inline_max_wide = wide ? a->inline_buf_size_ex : 0,
		.max_send_sge = a->max_sq_sge, .max_rdma_size = a->max_rdma_size,
		.max_sq_wr = efa_min(a->max_sq_wr, (uint32_t)dev->max_qp_wr),
		.max_rq_wr = a->max_rq_wr,
		.max_qp = (uint32_t)dev->max_qp, .max_cqe = (uint32_t)dev->max_cqe,
		.max_mr = (uint32_t)dev->max_mr, .max_pd = (uint32_t)dev->max_pd,
		.max_mr_size = dev->max_mr_size, .device_id = (uint16_t)dev->vendor_part_id,
	};
	snprintf(c->vendor, sizeof(c->vendor), "Amazon EFA 0x%04x", dev->vendor_part_id);
	sscanf(dev->fw_ver, "%hu.%hu", &c->fw[0], &c->fw[1]);
}

static int query_caps(struct edv *dv, struct ibv_port_attr *port)
{
	struct edv_device_attr efa = { 0 };
	struct ibv_device_attr dev;
	union ibv_gid gid;
	int ret = efadv_query_device(dv->ctx, (struct efadv_device_attr *)&efa, sizeof(efa));

	if (ret == EOPNOTSUPP)
		return -ENODEV;
	if (!ret)
		ret = ibv_query_device(dv->ctx, &dev);
	if (!ret)
		ret = ibv_query_port(dv->ctx, EDV_PORT, port);
	errno = EIO;
	if (!ret && ibv_query_gid(dv->ctx, EDV_PORT, 0, &gid))
		ret = errno;
	if (ret)
		return hw_error(ret);
	set_caps(&dv->ctl.caps, &efa, &dev);
	dv->ctl.caps.mtu = port->max_msg_sz;
	memcpy(dv->ctl.caps.gid, gid.raw, sizeof(dv->ctl.caps.gid));
	return 0;
}

/* A device without events refuses a CQ with a channel. rdma-core below 60 reports no CQ doorbell. */
static int try_cq(struct edv *dv)
{
	struct efa_cq_res cq;
	int err;

	dv->ctl.caps.cq_doorbell = true;
	err = edv_ops.cq_create(&dv->ctl, 16, &cq);
	if (err == -EOPNOTSUPP) {
		dv->ctl.caps.cq_doorbell = false;
		err = edv_ops.cq_create(&dv->ctl, 16, &cq);
	}
	if (err)
		return err;
	dv->ctl.caps.cq_doorbell = cq.ring.doorbell;
	edv_ops.cq_destroy(&dv->ctl, &cq);
	return 0;
}

static int try_memory(struct edv *dv, void *pd, char *why, size_t whylen)
{
	struct efa_mr mr;
	void *mem = dap_aligned_alloc(LEAST_LOCKED, LEAST_LOCKED);
	int err = !mem ? -ENOMEM : edv_ops.mr_reg(&dv->ctl, pd, (uintptr_t)mem, LEAST_LOCKED,
						  EFA_LOCAL_WRITE, &mr);

	if (!err)
		err = edv_ops.mr_dereg(&dv->ctl, &mr);
	free(mem);
	if (err)
		hw_why_memory(err, why, whylen);
	return err;
}

static int try_objects(struct edv *dv, char *why, size_t whylen)
{
	const char *name = dv->ctx->device->name;
	void *pd;
	int err = try_cq(dv);

	if (err) {
		snprintf(why, whylen, "cannot create a completion queue on %s: %s", name, err == -EPROTO ?
			 "its entries are not those of rdma-core 59 or newer" : strerror(-err));
		return err;
	}
	err = edv_ops.pd_alloc(&dv->ctl, &pd);
	if (err) {
		snprintf(why, whylen, "cannot create a protection domain on %s: %s", name, strerror(-err));
		return err;
	}
	err = try_memory(dv, pd, why, whylen);
	edv_ops.pd_free(&dv->ctl, pd);
	return err;
}

/* A CQ of Nitro v3 has several rings, and efadv reports the address of one. */
static int check(struct edv *dv, const struct ibv_port_attr *port, char *why, size_t whylen)
{
	const char *name = dv->ctx->device->name;

	if (dv->ctl.caps.device_id == NITRO_V3_PCI_ID) {
		snprintf(why, whylen, "%s is an EFA of Nitro v3 (instances p4d, p3dn, c5n, g4dn), which "
			 "is not supported: use Nitro v4 or newer", name);
		return -EOPNOTSUPP;
	}
	if (port->state != IBV_PORT_ACTIVE) {
		snprintf(why, whylen, "the port of %s is down: is the instance's EFA interface "
			 "attached?", name);
		return -EIO;
	}
	return 0;
}

int edv_caps_read(struct edv *dv, char *why, size_t whylen)
{
	const char *name = dv->ctx->device->name;
	struct ibv_port_attr port;
	int err = query_caps(dv, &port);

	if (err == -ENODEV)
		snprintf(why, whylen, "%s is not an EFA: dat_info(1) lists the adapters that this provider "
			 "supports", name);
	else if (err)
		snprintf(why, whylen, "cannot query the capabilities of %s: %s", name,
			 strerror(-err));
	if (!err)
		err = find_queries(dv, why, whylen);
	if (!err)
		err = check(dv, &port, why, whylen);
	return err ? err : try_objects(dv, why, whylen);
}
