/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The software EFA of this process as an access. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/thread.h"
#include "hw_common/device.h"
#include "hw_common/near.h"
#include "hw_common/soft.h"
#include "hw_efa/obj.h"
#include "softnic/populate.h"
#include "softnic/softnic_efa.h"

#define SOFT_NAME "soft-efa-"
#define SOFT_DEVICES 2

struct soft {
	struct efa_ctl ctl;
	uint16_t min_sq_wr;
	bool strict;
	int fd;				/* events of the CQ */
};

static struct soft *soft_of(struct efa_ctl *ctl)
{
	return (struct soft *)ctl;
}

/* Called with the device locked: it may only write to the descriptor. */
static void on_event(void *ctx, uint16_t cq)
{
	(void)cq;
	dap_thread_signal(((struct soft *)ctx)->fd);
}

/* Called with the device locked, while the driver may be taking completions. */
static uint16_t cq_taken(void *ctx, uint16_t cq, uint16_t sub_cq)
{
	(void)cq;
	(void)sub_cq;
	return (uint16_t)__atomic_load_n(&((struct soft *)ctx)->ctl.cq->ci, __ATOMIC_RELAXED);
}

static int soft_pd_alloc(struct efa_ctl *ctl, void **pd)
{
	uint16_t number;
	int err = hw_soft_fails() ? -ENOMEM : softnic_efa_pd_alloc(ctl->soft, &number);

	if (!err)
		*pd = (void *)(uintptr_t)number;
	return err;
}

static uint16_t pd_number(const void *pd)
{
	return (uint16_t)(uintptr_t)pd;
}

static int soft_pd_free(struct efa_ctl *ctl, void *pd)
{
	return softnic_efa_pd_dealloc(ctl->soft, pd_number(pd));
}

_Static_assert((int)EFA_LOCAL_WRITE == SOFTNIC_EFA_LOCAL_WRITE &&
	       (int)EFA_REMOTE_WRITE == SOFTNIC_EFA_REMOTE_WRITE &&
	       (int)EFA_REMOTE_READ == SOFTNIC_EFA_REMOTE_READ, "mr_reg passes them on");

static int soft_mr_reg(struct efa_ctl *ctl, void *pd, uint64_t addr, uint64_t len,
		       unsigned int access, struct efa_mr *mr)
{
	int err = hw_soft_fails() ? -ENOMEM :
		  softnic_populate(addr, len, access & (EFA_LOCAL_WRITE | EFA_REMOTE_WRITE));

	if (err)
		return err;
	return softnic_efa_mr_reg(ctl->soft, pd_number(pd), (void *)(uintptr_t)addr, len, addr, access,
				  &mr->lkey, &mr->rkey);
}

static int soft_mr_dereg(struct efa_ctl *ctl, struct efa_mr *mr)
{
	return softnic_efa_mr_dereg(ctl->soft, mr->lkey);
}

static int soft_ah_create(struct efa_ctl *ctl, struct efa_ah *ah)
{
	return hw_soft_fails() ? -ENOMEM :
	       softnic_efa_ah_create(ctl->soft, pd_number(ah->pd), ah->gid, &ah->number);
}

static void soft_ah_destroy(struct efa_ctl *ctl, struct efa_ah *ah)
{
	softnic_efa_ah_destroy(ctl->soft, pd_number(ah->pd), ah->number);
}

static int soft_cq_create(struct efa_ctl *ctl, uint32_t entries, struct efa_cq_res *to)
{
	const struct softnic_efa_cq_attr attr = {
		.entries = entries, .entry_size = sizeof(struct efa_cqe), .sub_cqs = 1,
		.flags = (ctl->caps.cq_doorbell ? SOFTNIC_EFA_CQ_EVENTS : 0) |
			 (ctl->caps.cq_with_sgid ? SOFTNIC_EFA_CQ_SGID : 0),
	};
	struct softnic_efa_cq cq;
	int err = hw_soft_fails() ? -ENOMEM : softnic_efa_cq_create(ctl->soft, &attr, &cq);

	if (err)
		return err;
	*to = (struct efa_cq_res){
		.number = cq.cq, .fd = cq.doorbell ? soft_of(ctl)->fd : -1,
		.ring = { cq.ring, cq.doorbell, entries, attr.entry_size },
	};
	return 0;
}

static void soft_cq_destroy(struct efa_ctl *ctl, struct efa_cq_res *cq)
{
	softnic_efa_cq_destroy(ctl->soft, cq->number);
}

static bool soft_cq_drain(struct efa_ctl *ctl, struct efa_cq_res *cq)
{
	eventfd_t events;

	if (!eventfd_read(soft_of(ctl)->fd, &events))
		__atomic_add_fetch(&cq->cmd_sn, (unsigned int)events, __ATOMIC_RELEASE);
	return false;
}

static int qp_modify(struct efa_ctl *ctl, uint32_t handle, enum softnic_efa_qp_state state,
		     unsigned int mask, uint32_t qkey)
{
	const struct softnic_efa_modify m = {
		.mask = SOFTNIC_EFA_SET_STATE | mask, .state = state, .qkey = qkey,
		.rnr_retry = 7,
	};

	return hw_soft_fails() ? -EIO : softnic_efa_qp_modify(ctl->soft, handle, &m);
}

static int soft_qp_create(struct efa_ctl *ctl, const struct efa_qp_param *p, uint32_t qkey,
			  struct efa_qp_res *to)
{
	const uint32_t least = soft_of(ctl)->min_sq_wr;
	const struct softnic_efa_qp_attr attr = {
		.pd = pd_number(p->pd), .send_cq = p->cq->number, .recv_cq = p->cq->number,
		.sq_depth = p->sq_entries < least ? least : p->sq_entries, .rq_depth = p->rq_entries,
		.flags = p->wide ? SOFTNIC_EFA_QP_WIDE : 0,
	};
	struct softnic_efa_qp qp;
	int err = hw_soft_fails() ? -ENOMEM : softnic_efa_qp_create(ctl->soft, &attr, &qp);

	if (err)
		return err;
	err = qp_modify(ctl, qp.handle, SOFTNIC_EFA_INIT, SOFTNIC_EFA_SET_QKEY, qkey);
	if (err) {
		softnic_efa_qp_destroy(ctl->soft, qp.handle);
		return err;
	}
	*to = (struct efa_qp_res){
		.sq = { qp.sq.ring, qp.sq.doorbell, qp.sq.depth, qp.sq.entry_size },
		.rq = { qp.rq.ring, qp.rq.doorbell, qp.rq.depth, qp.rq.entry_size },
		.qpn = qp.qpn, .max_batch = qp.max_batch, .handle = qp.handle,
	};
	return 0;
}

static int soft_qp_ready(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	unsigned int rnr = ctl->caps.rnr_retry ? SOFTNIC_EFA_SET_RNR_RETRY : 0;
	int err = qp_modify(ctl, qp->handle, SOFTNIC_EFA_RTR, 0, 0);

	return err ? err : qp_modify(ctl, qp->handle, SOFTNIC_EFA_RTS, SOFTNIC_EFA_SET_SQ_PSN | rnr, 0);
}

static int soft_qp_error(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	return qp_modify(ctl, qp->handle, SOFTNIC_EFA_ERR, 0, 0);
}

static int soft_qp_destroy(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	return softnic_efa_qp_destroy(ctl->soft, qp->handle);
}

/* With strict=1, a violation by the driver ends the process. */
static void report_violations(struct soft *s)
{
	static const char *const of_consumer[] = { "rx.", "wqe.lkey", "cmd.resource", NULL };
	struct softnic_violation v[64];
	size_t n = softnic_efa_violations(s->ctl.soft, v, 64);

	if (hw_soft_report(s->ctl.device, v, n < 64 ? n : 64, of_consumer) && s->strict)
		abort();
}

static void soft_close(struct efa_ctl *ctl)
{
	struct soft *s = soft_of(ctl);

	report_violations(s);
	softnic_efa_close(ctl->soft);
	close(s->fd);
	free(s);
}

static const struct efa_ctl_ops soft_ops = {
	.access = "model",
	.close = soft_close,
	.pd_alloc = soft_pd_alloc,
	.pd_free = soft_pd_free,
	.mr_reg = soft_mr_reg,
	.mr_dereg = soft_mr_dereg,
	.ah_create = soft_ah_create,
	.ah_destroy = soft_ah_destroy,
	.cq_create = soft_cq_create,
	.cq_destroy = soft_cq_destroy,
	.cq_drain = soft_cq_drain,
	.qp_create = soft_qp_create,
	.qp_ready = soft_qp_ready,
	.qp_error = soft_qp_error,
	.qp_destroy = soft_qp_destroy,
	.drive = softnic_efa_pump,
	.kick = softnic_efa_kick,
	.kick_cq = softnic_efa_kick_cq,
	.qp_memory = softnic_efa_qp_memory,
};

static void set_caps(struct soft *s)
{
	struct softnic_efa_caps c;

	softnic_efa_caps(s->ctl.soft, &c);
	s->min_sq_wr = c.min_sq_wr;
	s->ctl.caps = (struct efa_caps){
		.rdma_read = c.rdma_read, .rdma_write = c.rdma_write, .wide_wqe = c.wide_wqe,
		.rnr_retry = c.rnr_retry, .cq_doorbell = c.cq_doorbell,
		.cq_with_sgid = c.cq_with_sgid, .mtu = c.mtu,
		.inline_max = c.inline_max, .inline_max_wide = c.inline_max_wide,
		.max_send_sge = c.max_send_sge,
		.max_sq_wr = c.max_sq_wr, .max_rq_wr = c.max_rq_wr,
		.max_rdma_size = c.max_rdma_size, .max_qp = c.max_qp,
		.max_cqe = c.max_cqe, .max_mr = c.max_mr,
		.max_pd = c.max_pd, .max_mr_size = c.max_mr_size, .device_id = c.device_id,
		.vendor = "dapl-direct software EFA",
	};
	memcpy(s->ctl.caps.gid, c.gid, sizeof(c.gid));
}

static int start(struct soft *s, const struct efa_params *p, unsigned int index, char *why,
		 size_t whylen)
{
	const struct softnic_efa_config config = {
		.flags = (p->silicon ? SOFTNIC_EFA_SCAN : 0) |
			 (p->step ? SOFTNIC_EFA_NO_THREAD | SOFTNIC_EFA_LOOPBACK_ONLY : 0) |
			 (p->adversarial ? SOFTNIC_EFA_ADVERSARIAL : 0),
		.index = index,
		.seed = p->seed,
		.profile = p->profile[0] ? p->profile : NULL,
		.window = p->reorder,
		.host = { .cq_event = on_event, .cq_taken = cq_taken, .ctx = s },
	};
	int err = hw_soft_fails() ? -ENOMEM : softnic_efa_open(&config, &s->ctl.soft);
	char reason[256] = "out of memory";

	if (err) {
		snprintf(why, whylen, "the software EFA%s%s does not start: %s",
			 p->profile[0] ? " of profile " : "", p->profile, strerror(-err));
		return err;
	}
	if (p->fault[0])
		err = softnic_efa_fault_why(s->ctl.soft, p->fault, reason, sizeof(reason));
	if (err) {
		snprintf(why, whylen, "ia_params: fault: %s", reason);
		softnic_efa_close(s->ctl.soft);
		return err;
	}
	set_caps(s);
	return 0;
}

static int soft_open(const char *ia_name, const char *params, struct efa_ctl **ctl, char *why,
		     size_t whylen)
{
	struct efa_params p;
	struct soft *s;
	unsigned int index;
	int err;

	if (!hw_soft_index(ia_name, SOFT_NAME, SOFT_DEVICES, &index))
		return -ENODEV;
	err = hw_device_only_port(ia_name, why, whylen);
	if (!err)
		err = efa_params_parse(params, &p, why, whylen);
	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->ctl.ops = &soft_ops;
	s->ctl.node = HW_NO_NODE;
	s->ctl.async_fd = -1;
	s->ctl.faults = softnic_efa_fault_words();
	snprintf(s->ctl.device, sizeof(s->ctl.device), SOFT_NAME "%u", index);
	s->strict = p.strict;
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = s->fd < 0 ? -errno : start(s, &p, index, why, whylen);
	if (err) {
		if (s->fd >= 0)
			close(s->fd);
		free(s);
		return err;
	}
	*ctl = &s->ctl;
	return 0;
}

static size_t soft_list(struct dapl_device *devs, size_t max)
{
	for (unsigned int i = 0; i < SOFT_DEVICES && i < max; i++) {
		devs[i] = (struct dapl_device){ .access = "model" };
		snprintf(devs[i].name, sizeof(devs[i].name), SOFT_NAME "%u", i);
	}
	return SOFT_DEVICES;
}

const struct efa_access_kind efa_access_soft = { .open = soft_open, .list = soft_list };
