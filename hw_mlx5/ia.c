/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The adapter: open, query, close. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "hw_common/address.h"
#include "hw_common/near.h"
#include "hw_mlx5/mlx5.h"
#include "hw_mlx5/hot/hot.h"
#include "hw_mlx5/obj.h"
#include "hw_mlx5/ops.h"

#ifdef HAVE_MLX5DV
#define ACCESSES "model, devx, vfio"
#else
#define ACCESSES "model"
#endif

static void attr(struct dap_caps *caps, const char *name, const char *value)
{
	caps->attr[caps->nattr].name = name;
	snprintf(caps->attr[caps->nattr++].value, sizeof(caps->attr[0].value), "%s", value);
}

static void caps_fabric(struct dap_caps *caps, const struct m5_ia *m)
{
	char text[sizeof(caps->attr[0].value)], ip[DAP_ADDR_TEXT];

	snprintf(text, sizeof(text), "memory; UDP %s port %u, MTU %u", dap_addr_text(&m->params.ip, ip),
		 m->port.udp_port, m->port.udp_mtu);
	attr(caps, "fabric", m->port.udp_port ? text : "memory");
}

static void caps_named(struct dap_caps *caps, const struct m5_ia *m)
{
	static const char *const scatter[] = { "off", "receives", "receives and reads" };
	static const char *const stamps[] = { "free running", "real time", "free running or real time" };
	char text[sizeof(caps->attr[0].value)];

	attr(caps, "device", m->ctl->device);
	attr(caps, "access", m->ctl->ops->access);
	m5_mmio_text(m, text, sizeof(text));
	attr(caps, "doorbell", text);
	attr(caps, "doorbell_by", m->mmio_by);
	attr(caps, "driven_by", !m->ctl->soft ? "hardware" : m->inline_model ? "caller" : "thread");
	snprintf(text, sizeof(text), "%u", m->params.inline_max);
	attr(caps, "inline", text);
	attr(caps, "write_order", !m->dev.reorders ? "kept" :
	     m->dev.force_order ? "kept by order of each endpoint" :
	     "kept unless the fabric is set up to reorder");
	attr(caps, "link_layer", m->port.ethernet ? "ethernet" : "infiniband");
	snprintf(text, sizeof(text), "%u", m->port.mtu);
	attr(caps, "path_mtu", text);
	hw_near_text(m->ctl->node, text, sizeof(text));
	attr(caps, "numa_node", text);
	attr(caps, "queue_memory", m->ctl->arena ? m5_arena_kind(m->ctl->arena) : M5_SMALL_PAGES);
	attr(caps, "scatter_cqe", scatter[m->params.scatter_cqe]);
	attr(caps, "timestamps", m->dev.sq_ts <= M5_TS_BOTH ? stamps[m->dev.sq_ts] : "unknown");
	snprintf(text, sizeof(text), "%s%s", m->inline_model ? "model" : "silicon",
		 m5_hot_kind(m->v3, m->locked));
	attr(caps, "hot_functions", text);
	if (!m->ctl->soft)
		return;
	caps_fabric(caps, m);
	snprintf(text, sizeof(text), "%s memlock", m->ctl->faults);
	attr(caps, "faults", text);
}

static void caps_limits(struct dap_caps *caps, const struct m5_dev_caps *dev)
{
	uint32_t blocks = m5_min(dev->max_qp_blocks, 32768);

	caps->max_eps = dev->max_qp;
	caps->max_dto_per_ep = blocks / 4 - 16;
	caps->max_rdma_read_in = m5_min(dev->max_rd_in, 128);
	caps->max_rdma_read_out = m5_min(dev->max_rd_out, 128);
	caps->max_evds = dev->max_cq;
	caps->max_evd_qlen = dev->max_cqe / 4;
	caps->max_iov = caps->max_rdma_read_iov = caps->max_rdma_write_iov = M5_MAX_IOV;
	caps->max_lmrs = dev->max_mkey;
	caps->max_rmrs = dev->windows ? dev->max_mkey : 0;
	caps->max_srqs = dev->max_srq;
	caps->max_ep_per_srq = dev->max_qp;
	caps->max_recv_per_srq = m5_min(dev->max_srq_wqe, 32768) - 1;
	caps->max_pzs = dev->max_pd;
	caps->max_lmr_size = dev->max_mr_log < 48 ? 1ull << dev->max_mr_log : 1ull << 48;
	caps->max_message_size = caps->max_rdma_size = dev->max_msg;
	caps->optimal_alignment = 256;
	caps->qos = DAP_QOS_ALL;
	caps->rmr_for_ep = true;
	caps->no_atomics = !dev->atomics;
	/* A window refers to the key of a zero-based LMR, and that key refers to another one. */
	caps->zero_based = dev->max_indirection >= 2;
}

static void caps_ident(struct dap_caps *caps, const struct m5_ctl *ctl)
{
	const struct m5_ident *id = &ctl->ident;
	char text[64];

	snprintf(caps->vendor, sizeof(caps->vendor), "%s%s",
		 ctl->soft ? "dapl-direct software ConnectX" : "NVIDIA ",
		 ctl->soft ? "" : *id->model ? id->model : "ConnectX");
	caps->hw_major = id->hw;
	caps->fw_major = id->fw[0];
	caps->fw_minor = id->fw[1];
	if (!id->fw[0])
		return;
	snprintf(text, sizeof(text), "%u.%u.%04u", id->fw[0], id->fw[1], id->fw[2]);
	attr(caps, "firmware", text);
}

/* Without ip=, the peers of the software ConnectX are on this host. The GID of an InfiniBand port has no IPv4
 * address. */
static void caps_address(const char *name, const struct m5_ia *m, union dap_addr *to)
{
	if (m->params.has_ip) {
		*to = m->params.ip;
		return;
	}
	*to = dap_addr_v4(m->ctl->soft ? INADDR_LOOPBACK : INADDR_ANY);
	if (m->ctl->soft)
		return;
	memcpy(&to->v4.sin_addr, m->port.ipv4, sizeof(m->port.ipv4));
	if (dap_addr_is_any(to))
		hw_address_default(name, to);
}

static void caps_fill(struct dap_ia *ia)
{
	const struct m5_ia *m = m5_ia(ia);
	struct dap_caps *caps = &ia->caps;

	*caps = (struct dap_caps){ 0 };
	caps_ident(caps, m->ctl);
	caps->host_only = m->ctl->soft != NULL;
	caps->needs_ip = m->ctl->soft && !m->port.udp_port;
	caps_address(ia->name, m, &caps->address);
	caps_limits(caps, &m->dev);
	caps_named(caps, m);
}

/* Ethernet has eight priorities. DAPL_IB_SL may be for other ports of the host: above 7 it is ignored. */
static int check_priorities(struct m5_ia *m, char *why, size_t whylen)
{
	for (size_t i = 0; i < DAP_QOS_CLASSES; i++) {
		if (m->params.sl_given[i] <= 7)
			continue;
		snprintf(why, whylen, "sl=%u: must be 0 to 7 on Ethernet", m->params.sl_given[i]);
		return -EINVAL;
	}
	for (size_t i = 0; i < DAP_QOS_CLASSES; i++) {
		if (m->params.sl[i] <= 7)
			continue;
		dap_log(DAP_LOG_ERR, "%s: DAPL_IB_SL is ignored: its value %u must be 0 to 7 on Ethernet",
			m->ctl->device, m->params.sl[i]);
		memcpy(m->params.sl, m->params.sl_given, sizeof(m->params.sl));
	}
	return 0;
}

static void check_scatter(struct m5_ia *m)
{
	if (m->params.scatter_cqe == M5_SCATTER_NONE || m->dev.small_cqe)
		return;
	dap_log(DAP_LOG_ERR, "%s: scatter_cqe=%u is ignored: the adapter does not support it",
		m->ctl->device, m->params.scatter_cqe);
	m->params.scatter_cqe = M5_SCATTER_NONE;
}

static int device_facts(struct m5_ia *m, char *why, size_t whylen)
{
	int err = m5_cmd_caps(m->ctl, &m->dev);

	if (!err)
		err = m->ctl->ops->port(m->ctl, &m->port);
	if (err == -ENETDOWN && m->params.gid_index >= 0) {
		snprintf(why, whylen, "ia_params: gid_index=%d: that entry of the GID table of %s has no "
			 "RoCE v2 address: choose another, or let the provider choose", m->params.gid_index,
			 m->ctl->device);
		return -EINVAL;
	}
	if (err) {
		snprintf(why, whylen, "cannot query the capabilities or the port address of %s: %s",
			 m->ctl->device, strerror(-err));
		return err == -ENETDOWN || err == -ENETUNREACH ? -EIO : err;
	}
	if (m->port.ethernet)
		err = check_priorities(m, why, whylen);
	if (err)
		return err;
	check_scatter(m);
	m->dev.bf = m->dev.bf && !m->ctl->no_bf;
	/* Lengths in slots and segments have 31 bits. */
	if (m->dev.max_msg > 1ull << 30)
		m->dev.max_msg = 1ull << 30;
	return 0;
}

static int start(struct dap_ia *ia, char *why, size_t whylen)
{
	struct m5_ia *m = m5_ia(ia);
	int err = device_facts(m, why, whylen);

	if (!err)
		err = m->ctl->ops->eqn(m->ctl, &m->eqn);
	if (err)
		return err;
	err = m5_uidx_open(m);
	if (err)
		return err;
	err = m->ctl->ops->uar_alloc(m->ctl, M5_UAR_NC, &m->uar);
	if (err) {
		snprintf(why, whylen, "cannot allocate a doorbell page of %s: %s", m->ctl->device,
			 strerror(-err));
		m5_uidx_close(m);
		return err;
	}
	m5_arena_open(&m->arena, m->params.eal);
	/* Huge pages save translations, of which the software model in this process has none. */
	m->ctl->arena = m->ctl->soft ? NULL : &m->arena;
	m5_mmio_choose(m);
	m->inline_model = m->ctl->soft && !m->params.silicon;
	m->last_wqe_ms = M5_LAST_WQE_MS;
	m->flush_ms = M5_FLUSH_MS;
	m->locked = m5_cq_own_init() || ia->threadsafe;
	m->v3 = m5_isa_v3() && !m->params.base;
	m->calls = m5_hot_calls(m->v3, m->locked);
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->async_lock, NULL);
	pthread_mutex_init(&m->clock.lock, NULL);
	return 0;
}

static int ia_open(struct dap_ia *ia, const char *params, char *why, size_t whylen)
{
	struct m5_ia *m = m5_ia(ia);
	int err;

	*m = (struct m5_ia){ 0 };
	err = m5_ctl_open(dap_ia_device(ia), params, &m->ctl, why, whylen);
	if (err)
		return err;
	err = m5_params_parse(params, &m->params, why, whylen);
	if (!err)
		err = start(ia, why, whylen);
	if (err) {
		m->ctl->ops->close(m->ctl);
		return err;
	}
	caps_fill(ia);
	return 0;
}

static void ia_close(struct dap_ia *ia)
{
	struct m5_ia *m = m5_ia(ia);

	m->ctl->ops->uar_free(m->ctl, &m->uar);
	m5_uidx_close(m);
	m5_arena_close(&m->arena, m->ctl);
	m->ctl->ops->close(m->ctl);
	pthread_mutex_destroy(&m->clock.lock);
	pthread_mutex_destroy(&m->async_lock);
	pthread_mutex_destroy(&m->lock);
}

static const void *ia_hot(const struct dap_ia *ia, enum dap_api api)
{
	const struct m5_ia *m = (const struct m5_ia *)(const void *)ia->hw_area;

	if (api != m5_hot_api())
		return NULL;
	return m->inline_model ? m5_soft_calls() : m->calls;
}

const struct dap_hw m5_hw = {
	.name = "mlx5",
	.accesses = ACCESSES,
	.params = m5_param_table,
	.list = m5_ctl_list,
	.open = ia_open,
	.close = ia_close,
	.hot = ia_hot,
	.async_fd = m5_ia_async_fd,
	.async_handle = m5_ia_async_handle,
	.pz_create = m5_pz_create,
	.pz_destroy = m5_pz_destroy,
	.lmr_create = m5_lmr_create,
	.lmr_destroy = m5_lmr_destroy,
	.rmr_create = m5_rmr_create,
	.rmr_destroy = m5_rmr_destroy,
	.cq_create = m5_cq_create,
	.cq_resize = m5_cq_resize,
	.cq_destroy = m5_cq_destroy,
	.cq_poll = m5_cq_poll,
	.cq_arm = m5_cq_arm,
	.cq_fd = m5_cq_fd,
	.cq_drain_fd = m5_cq_drain_fd,
	.cq_settle = m5_cq_settle,
	.cq_total = m5_cq_total,
	.stamp = m5_stamp,
	.srq_create = m5_srq_create,
	.srq_destroy = m5_srq_destroy,
	.srq_resize = m5_srq_resize,
	.srq_limit = m5_srq_limit,
	.srq_count = m5_srq_count,
	.qp_create = m5_qp_create,
	.qp_idle = m5_qp_idle,
	.recv_count = m5_recv_count,
	.ep_total = m5_ep_total,
	.qp_address = m5_qp_address,
	.qp_connect = m5_qp_connect,
	.qp_error = m5_qp_error,
	.qp_drain_begin = m5_qp_drain_begin,
	.qp_drain_done = m5_qp_drain_done,
	.qp_destroy = m5_qp_destroy,
	.describe = m5_describe,
};
