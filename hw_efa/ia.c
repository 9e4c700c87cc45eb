/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The adapter: open, query, close. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "config.h"
#include "hw_common/address.h"
#include "hw_common/near.h"
#include "hw_efa/hot/hot.h"
#include "hw_efa/lock.h"
#include "hw_efa/ops.h"

#ifdef HAVE_EFADV
#define ACCESSES "model, efadv"
#else
#define ACCESSES "model"
#endif

/* ---- Attributes of the IA ---- */

static void caps_named(struct dap_caps *caps, const struct efa_ia *e)
{
	char id[8], node[16];
	const struct { const char *name, *text; size_t number; } rows[] = {
		{ "device", e->ctl->device, 0 },
		{ "access", e->ctl->ops->access, 0 },
		{ "driven_by", !e->ctl->soft ? "hardware" : e->eng->driven ? "caller" : "thread", 0 },
		{ "inline", NULL, e->shape.inline_max },
		{ "path_mtu", NULL, e->dev.mtu },
		{ "hot_functions", e->eng->driven ? e->shape.wide ? "model-wide" : "model" :
		  e->shape.wide ? "silicon-wide" : "silicon", 0 },
		{ "write_order", e->params.relaxed ? "relaxed" : "kept", 0 },
		{ "numa_node", node, 0 },
		{ "send_completion", "at the peer's adapter", 0 },
		{ "efa_device_id", id, 0 },
		{ "efa_rdma_write", e->dev.rdma_write ? "native" : "emulated", 0 },
		{ "efa_rmr_bind", "reregister", 0 },
		{ "efa_rendezvous_threshold", NULL, e->params.rendezvous },
		{ "efa_endpoint_memory", NULL, efa_ep_memory(e) },
		{ "efa_silicon", "never run on EFA hardware", 0 },
		{ "faults", e->ctl->faults, 0 },	/* the last row, which only a software
							 * adapter has */
	};
	const unsigned int n = sizeof(rows) / sizeof(rows[0]) - !e->ctl->soft;

	snprintf(id, sizeof(id), "0x%04x", e->dev.device_id);
	hw_near_text(e->ctl->node, node, sizeof(node));
	for (unsigned int i = 0; i < n; i++) {
		const char *text = rows[i].text;
		char *to = caps->attr[i].value;

		caps->attr[i].name = rows[i].name;
		if (text)
			snprintf(to, sizeof(caps->attr[i].value), "%s", text);
		else
			snprintf(to, sizeof(caps->attr[i].value), "%zu", rows[i].number);
	}
	caps->nattr = n;
}

/* 0.0.0.0 means that the address is unknown. The peers of the software EFA are on this host. */
static void caps_address(const char *name, const struct efa_ia *e, union dap_addr *to)
{
	*to = e->params.ip;
	if (to->sa.sa_family)
		return;
	*to = dap_addr_v4(e->ctl->soft ? INADDR_LOOPBACK : INADDR_ANY);
	if (!e->ctl->soft)
		hw_address_default(name, to);
}

static void caps_fill(struct dap_ia *ia)
{
	const struct efa_ia *e = efa_ia(ia);
	const struct efa_caps *dev = &e->dev;
	struct dap_caps *caps = &ia->caps;

	*caps = (struct dap_caps){
		.hw_major = dev->device_id, .fw_major = dev->fw[0], .fw_minor = dev->fw[1],
		.host_only = e->ctl->soft != NULL, .no_extension = true,
		.max_eps = efa_min(dev->max_qp, (e->eng->cq_entries - e->eng->cq.lag) / e->shape.cqes),
		.max_dto_per_ep = 4096, .max_rdma_read_in = 128, .max_rdma_read_out = 128,
		.max_evds = 65536, .max_evd_qlen = 1u << 20,
		.max_iov = EFA_MAX_IOV, .max_rdma_read_iov = EFA_MAX_IOV,
		.max_rdma_write_iov = EFA_MAX_IOV,
		.max_lmrs = dev->max_mr, .max_rmrs = dev->max_mr, .max_pzs = dev->max_pd,
		.max_lmr_size = dev->max_mr_size < 1ull << 48 ? dev->max_mr_size : 1ull << 48,
		.max_message_size = INT32_MAX, .max_rdma_size = INT32_MAX, .optimal_alignment = 64,
	};
	snprintf(caps->vendor, sizeof(caps->vendor), "%s", dev->vendor);
	caps_address(ia->name, e, &caps->address);
	caps_named(caps, e);
}

/* ---- Opening the engine ---- */

#define LEAST_CQ 1024u			/* enough for some endpoints at the default window */
#define REPORTS 64u			/* writes of the consumer index in a lap of the CQ */

static int cq_open(struct efa_ia *e, char *why, size_t whylen)
{
	struct efa_engine *eng = e->eng;
	int err;

	uint32_t wanted = e->params.cq_entries, n;

	while (wanted > e->dev.max_cqe)
		wanted /= 2;
	n = wanted;
	while ((err = e->ctl->ops->cq_create(e->ctl, n, &eng->res)) == -ENOMEM && n > LEAST_CQ)
		n /= 2;
	if (err) {
		snprintf(why, whylen, "cannot create a completion queue of %u entries: %s%s", n,
			 strerror(-err), err == -ENOMEM ? "; try a smaller efa_cq= in ia_params" : "");
		return err;
	}
	if (n < wanted)
		dap_log(DAP_LOG_WARN, "%s: the CQ has %u entries instead of %u, because contiguous "
			"memory is short: it serves fewer endpoints", eng->ia->name, n, wanted);
	eng->cq_entries = eng->res.ring.entries;
	eng->cq = (struct efa_cqring){ .base = eng->res.ring.base, .mask = eng->cq_entries - 1,
				       .lag = eng->cq_entries / efa_min(eng->cq_entries, REPORTS) - 1,
				       .log = (uint32_t)__builtin_ctz(eng->cq_entries) };
	e->ctl->cq = &eng->cq;
	return 0;
}

static int engine_open(struct dap_ia *ia, char *why, size_t whylen)
{
	struct efa_ia *e = efa_ia(ia);
	struct efa_engine *eng = dap_aligned_alloc(64, sizeof(*eng));
	int err;

	if (!eng)
		return -ENOMEM;
	*eng = (struct efa_engine){
		.eps = calloc(1u << 16, sizeof(struct dap_ep *)),
		.ctl = e->ctl,
		.ia = ia,
		.driven = e->ctl->soft && !e->params.silicon,
		.tick = { .fn = efa_tick, .arg = eng },
	};
	pthread_mutex_init(&eng->ah_lock, NULL);
	e->eng = eng;
	err = eng->eps ? cq_open(e, why, whylen) : -ENOMEM;
	if (err) {
		free(eng->eps);
		free(eng);
	}
	return err;
}

static int check_caps(const struct efa_ia *e, char *why, size_t whylen)
{
	const struct efa_caps *dev = &e->dev;
	const char *lacks = NULL;

	if (!dev->rdma_read)
		lacks = "RDMA read";
	else if (dev->mtu < 1024 || dev->mtu > 65472)
		lacks = "MTU between 1024 and 65472 bytes";
	else if (dev->max_send_sge < 2)
		lacks = "sends of two segments";
	else if (dev->max_rq_wr < 128 || dev->max_sq_wr < 32)
		lacks = "queues of 128 receives and 32 sends";
	if (lacks) {
		snprintf(why, whylen, "the EFA (PCI id 0x%04x) has no %s, which this driver needs: "
			 "use %s", dev->device_id, lacks, e->ctl->soft ? "efa_profile=read or a later one" :
			 "an instance type of Nitro v4 or newer");
		return -EOPNOTSUPP;
	}
	if (e->shape.rq <= dev->max_rq_wr)
		return 0;
	snprintf(why, whylen, "ia_params: efa_window=%u needs queues of %u receives, but the device has at "
		 "most %u: use a smaller efa_window=", e->params.window, e->shape.rq, dev->max_rq_wr);
	return -EINVAL;
}

static int ia_open(struct dap_ia *ia, const char *params, char *why, size_t whylen)
{
	struct efa_ia *e = efa_ia(ia);
	int err;

	*e = (struct efa_ia){ 0 };
	err = efa_ctl_open(dap_ia_device(ia), params, &e->ctl, why, whylen);
	if (err)
		return err;
	e->dev = e->ctl->caps;
	err = efa_params_parse(params, &e->params, why, whylen);
	efa_set_shape(e);
	if (!err)
		err = check_caps(e, why, whylen);
	if (!err)
		err = engine_open(ia, why, whylen);
	if (err) {
		e->ctl->ops->close(e->ctl);
		return err;
	}
	caps_fill(ia);
	return 0;
}

static void ia_stop(struct dap_ia *ia)
{
	dap_cm_timer_close(ia->cm, &efa_ia(ia)->eng->tick);
}

static void ia_close(struct dap_ia *ia)
{
	struct efa_ia *e = efa_ia(ia);

	e->ctl->ops->cq_destroy(e->ctl, &e->eng->res);
	e->ctl->ops->close(e->ctl);
	pthread_mutex_destroy(&e->eng->ah_lock);
	free(e->eng->eps);
	free(e->eng);
}

static int ia_async_fd(struct dap_ia *ia)
{
	return efa_ia(ia)->ctl->async_fd;
}

enum { IA_OTHER = 1 };			/* DAT_IA_ASYNC_ERROR_REASON */

static void ia_async_handle(struct dap_ia *ia)
{
	struct efa_ctl *ctl = efa_ia(ia)->ctl;
	enum hw_event event;

	while ((event = ctl->ops->async_read(ctl)) != HW_EVENT_NONE) {
		if (event == HW_EVENT_GONE) {
			dap_ia_fatal(ia);
			return;
		}
		if (event != HW_EVENT_PORT_DOWN)
			continue;
		dap_log(DAP_LOG_ERR, "%s: the port is down: requests fail unless it comes up in time; check "
			"the instance's EFA interface", ia->name);
		dap_async_post(ia, DAP_EV_ASYNC_INTERNAL, &ia->obj, IA_OTHER);
	}
}

const struct dap_hw efa_hw = {
	.name = "efa",
	.accesses = ACCESSES,
	.params = efa_param_table,
	.list = efa_ctl_list,
	.open = ia_open,
	.close = ia_close,
	.stop = ia_stop,
	.hot = efa_hot_calls,
	.async_fd = ia_async_fd,
	.async_handle = ia_async_handle,
	.pz_create = efa_pz_create,
	.pz_destroy = efa_pz_destroy,
	.lmr_create = efa_lmr_create,
	.lmr_destroy = efa_lmr_destroy,
	.rmr_destroy = efa_rmr_destroy,
	.cq_create = efa_cq_create,
	.cq_resize = efa_cq_resize,
	.cq_destroy = efa_cq_destroy,
	.cq_poll = efa_cq_poll,
	.cq_arm = efa_cq_arm,
	.cq_disarm = efa_cq_disarm,
	.cq_fd = efa_cq_fd,
	.cq_drain_fd = efa_cq_drain_fd,
	.cq_settle = efa_cq_settle,
	.qp_create = efa_qp_create,
	.qp_idle = efa_qp_idle,
	.recv_count = efa_recv_count,
	.ep_total = efa_ep_total,
	.qp_address = efa_qp_address,
	.qp_connect = efa_qp_connect,
	.qp_settle = efa_qp_settle,
	.qp_error = efa_qp_error,
	.qp_why = efa_qp_why,
	.qp_drain_done = efa_qp_drain_done,
	.qp_look = efa_qp_look,
	.qp_destroy = efa_qp_destroy,
	.describe = efa_describe,
};
