/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The common part of the adapters' commands. Converts older, shorter or attribute forms to the extended
 * form.
 */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "softnic/populate.h"
#include "softnic/uverbs/front.h"

void uv_create_cq_args(const struct uv_req *req, struct ib_uverbs_ex_create_cq *core)
{
	struct ib_uverbs_create_cq in;

	if (req->extended) {
		uv_copy_in(core, sizeof(*core), req->in, req->in_len);
		return;
	}
	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	*core = (struct ib_uverbs_ex_create_cq){
		.user_handle = in.user_handle,
		.cqe = in.cqe,
		.comp_vector = in.comp_vector,
		.comp_channel = in.comp_channel,
	};
}

void uv_create_qp_args(const struct uv_req *req, struct ib_uverbs_ex_create_qp *core)
{
	struct ib_uverbs_create_qp in;

	if (req->extended) {
		uv_copy_in(core, sizeof(*core), req->in, req->in_len);
		return;
	}
	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	*core = (struct ib_uverbs_ex_create_qp){
		.user_handle = in.user_handle,
		.pd_handle = in.pd_handle,
		.send_cq_handle = in.send_cq_handle,
		.recv_cq_handle = in.recv_cq_handle,
		.srq_handle = in.srq_handle,
		.max_send_wr = in.max_send_wr,
		.max_recv_wr = in.max_recv_wr,
		.max_send_sge = in.max_send_sge,
		.max_recv_sge = in.max_recv_sge,
		.max_inline_data = in.max_inline_data,
		.sq_sig_all = in.sq_sig_all,
		.qp_type = in.qp_type,
		.is_srq = in.is_srq,
	};
}

static uint64_t attr_number(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id)
{
	uint64_t v;

	return uv_attr_number(hdr, id, &v) ? v : 0;
}

void uv_create_cq_attrs(struct ib_uverbs_ioctl_hdr *hdr, struct ib_uverbs_ex_create_cq *core)
{
	bool channel = uv_attr(hdr, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);

	*core = (struct ib_uverbs_ex_create_cq){
		.user_handle = attr_number(hdr, UVERBS_ATTR_CREATE_CQ_USER_HANDLE),
		.cqe = (uint32_t)attr_number(hdr, UVERBS_ATTR_CREATE_CQ_CQE),
		.comp_vector = (uint32_t)attr_number(hdr, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR),
		.comp_channel = channel ? (int32_t)attr_number(hdr, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL) : -1,
		.flags = (uint32_t)attr_number(hdr, UVERBS_ATTR_CREATE_CQ_FLAGS),
	};
}

int uv_create_qp_attrs(struct ib_uverbs_ioctl_hdr *hdr, struct ib_uverbs_ex_create_qp *core)
{
	struct ib_uverbs_attr *attr = uv_attr(hdr, UVERBS_ATTR_CREATE_QP_CAP);
	uint64_t flags = attr_number(hdr, UVERBS_ATTR_CREATE_QP_FLAGS);
	struct ib_uverbs_qp_cap cap;

	if (!attr || attr->len < sizeof(cap) || !attr->data)
		return -EINVAL;
	if (flags & ~(uint64_t)IB_UVERBS_QP_CREATE_SQ_SIG_ALL ||
	    uv_attr(hdr, UVERBS_ATTR_CREATE_QP_SOURCE_QPN))
		return -EOPNOTSUPP;
	memcpy(&cap, uv_attr_in(attr), sizeof(cap));
	*core = (struct ib_uverbs_ex_create_qp){
		.user_handle = attr_number(hdr, UVERBS_ATTR_CREATE_QP_USER_HANDLE),
		.pd_handle = (uint32_t)attr_number(hdr, UVERBS_ATTR_CREATE_QP_PD_HANDLE),
		.send_cq_handle = (uint32_t)attr_number(hdr, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE),
		.recv_cq_handle = (uint32_t)attr_number(hdr, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE),
		.srq_handle = (uint32_t)attr_number(hdr, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE),
		.max_send_wr = cap.max_send_wr,
		.max_recv_wr = cap.max_recv_wr,
		.max_send_sge = cap.max_send_sge,
		.max_recv_sge = cap.max_recv_sge,
		.max_inline_data = cap.max_inline_data,
		.sq_sig_all = (flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL) != 0,
		.qp_type = (uint8_t)attr_number(hdr, UVERBS_ATTR_CREATE_QP_TYPE),
		.is_srq = uv_attr(hdr, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE) != NULL,
	};
	return 0;
}

/* Returns false for an SRQ of another type than the basic one, which the front does not create. */
bool uv_create_srq_attrs(struct ib_uverbs_ioctl_hdr *hdr, struct ib_uverbs_create_srq *core)
{
	*core = (struct ib_uverbs_create_srq){
		.user_handle = attr_number(hdr, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE),
		.pd_handle = (uint32_t)attr_number(hdr, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE),
		.max_wr = (uint32_t)attr_number(hdr, UVERBS_ATTR_CREATE_SRQ_MAX_WR),
		.max_sge = (uint32_t)attr_number(hdr, UVERBS_ATTR_CREATE_SRQ_MAX_SGE),
		.srq_limit = (uint32_t)attr_number(hdr, UVERBS_ATTR_CREATE_SRQ_LIMIT),
	};
	return attr_number(hdr, UVERBS_ATTR_CREATE_SRQ_TYPE) == IB_UVERBS_SRQT_BASIC;
}

/* Writes the response of QUERY_DEVICE. Only the extended form includes the provider's part. */
int uv_device_queried(struct uv_req *req, const struct ib_uverbs_query_device_resp *base, const void *drv,
		      size_t drv_size)
{
	struct ib_uverbs_ex_query_device_resp resp = {
		.base = *base,
		.device_cap_flags_ex = base->device_cap_flags,
		.response_length = (uint32_t)(req->out_len < sizeof(resp) ? req->out_len : sizeof(resp)),
		.hca_core_clock = uv_cap(req->dev, CAP_FREQUENCY_KHZ),
	};

	if (!req->extended)
		return uv_answer(req, base, sizeof(*base), NULL, 0);
	if (resp.hca_core_clock)
		resp.timestamp_mask = INT64_MAX;
	if (uv_cap(req->dev, CAP_CQ_MODERATION)) {
		resp.cq_moderation_caps.max_cq_moderation_count = PRM_CQ_COUNT_MAX;
		resp.cq_moderation_caps.max_cq_moderation_period = PRM_CQ_PERIOD_MAX;
	}
	return uv_answer(req, &resp, sizeof(resp), drv, drv_size);
}

static bool has_net_raw(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return !syscall(SYS_capget, &head, data) && data[0].effective >> CAP_NET_RAW & 1;
}

/* Linux makes these checks before it calls the adapter's driver. */
int uv_modify_qp_args(const struct uv_req *req, struct ib_uverbs_modify_qp *in)
{
	const uint32_t privileged = UINT32_C(1) << 31;		/* IBTA 3.5.3: a controlled Q_Key */

	uv_copy_in(in, sizeof(*in), req->in, req->in_len);
	if (in->attr_mask >= 2u * (req->extended ? IBV_QP_RATE_LIMIT : IBV_QP_DEST_QPN))
		return -EOPNOTSUPP;
	if (in->attr_mask & IBV_QP_PORT && (!in->port_num || in->port_num > req->dev->ports))
		return -EINVAL;
	if (!(in->attr_mask & IBV_QP_CUR_STATE))
		in->cur_qp_state = req->obj->state;
	if (!(in->attr_mask & IBV_QP_STATE))
		in->qp_state = in->cur_qp_state;
	if (in->cur_qp_state > IBV_QPS_ERR || in->qp_state > IBV_QPS_ERR)
		return -EINVAL;
	return in->attr_mask & IBV_QP_QKEY && in->qkey & privileged && !has_net_raw() ? -EPERM : 0;
}

int uv_qp_hold(struct uv_obj *qp)
{
	const struct ib_uverbs_ex_create_qp *core = &qp->cap;
	int err = uv_obj_hold_handle(qp, UV_HELD_PD, UV_PD, core->pd_handle);

	if (!err)
		err = uv_obj_hold_handle(qp, UV_HELD_SEND_CQ, UV_CQ, core->send_cq_handle);
	if (!err)
		err = uv_obj_hold_handle(qp, UV_HELD_RECV_CQ, UV_CQ, core->recv_cq_handle);
	if (err || !core->is_srq)
		return err;
	return uv_obj_hold_handle(qp, UV_HELD_SRQ, UV_SRQ, core->srq_handle);
}

/* Writes the response. In a command without an extended form it has room for base alone. */
int uv_cq_ready(struct uv_req *req, const struct ib_uverbs_ex_create_cq *core, uint32_t cqe, const void *drv,
		size_t drv_size)
{
	struct ib_uverbs_ex_create_cq_resp resp = {
		.base = { .cq_handle = req->made->handle, .cqe = cqe },
		.response_length = sizeof(resp),
	};

	uv_source_add(req->made, core->user_handle);
	return uv_answer(req, &resp, sizeof(resp), drv, drv_size);
}

int uv_qp_ready(struct uv_req *req, uint32_t qpn, const void *drv, size_t drv_size)
{
	const struct ib_uverbs_ex_create_qp *core = &req->made->cap;
	struct ib_uverbs_ex_create_qp_resp resp = {
		.base = {
			.qp_handle = req->made->handle,
			.qpn = qpn,
			.max_send_wr = core->max_send_wr,
			.max_recv_wr = core->max_recv_wr,
			.max_send_sge = core->max_send_sge,
			.max_recv_sge = core->max_recv_sge,
			.max_inline_data = core->max_inline_data,
		},
		.response_length = sizeof(resp),
	};

	uv_source_add(req->made, core->user_handle);
	return uv_answer(req, &resp, sizeof(resp), drv, drv_size);
}

int uv_qp_queried(struct uv_req *req, struct ib_uverbs_query_qp_resp *resp)
{
	const struct ib_uverbs_ex_create_qp *cap = &req->obj->cap;

	resp->max_send_wr = cap->max_send_wr;
	resp->max_recv_wr = cap->max_recv_wr;
	resp->max_send_sge = cap->max_send_sge;
	resp->max_recv_sge = cap->max_recv_sge;
	resp->max_inline_data = cap->max_inline_data;
	resp->sq_sig_all = cap->sq_sig_all;
	return uv_answer(req, resp, sizeof(*resp), NULL, 0);
}

int uv_qp_modified(struct uv_req *req, uint8_t state)
{
	struct ib_uverbs_ex_modify_qp_resp resp = { .response_length = sizeof(resp) };

	req->obj->state = state;
	return uv_answer(req, &resp, sizeof(resp), NULL, 0);
}

enum { REMOTE_WRITES = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC };

int uv_check_access(uint64_t access)
{
	/* those of ib_uverbs_access_flags before the optional ones */
	const uint64_t known = 0x3ff | (uint64_t)IBV_ACCESS_OPTIONAL_RANGE;

	/* IBTA 10.6: remote write access requires local write access. */
	if (access & REMOTE_WRITES && !(access & IBV_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return access & ~known ? -EINVAL : 0;
}

int uv_pin(uint64_t start, uint64_t len, uint64_t access)
{
	/* Linux, ib_umem_get: the last page ends within the address space. */
	if (!len || start + len < start || start + len > UINT64_MAX - 4095 || uv_check_access(access))
		return -EINVAL;
	return softnic_populate(start, len, access & (REMOTE_WRITES | IBV_ACCESS_LOCAL_WRITE));
}

int uv_pin_queue(uint64_t addr, uint64_t bytes, uint64_t record, uint64_t access)
{
	int err = bytes ? uv_pin(addr, bytes, access) : 0;

	return err ? err : uv_pin(record, 8, 0);
}

int uv_create_channel(struct uv_req *req)
{
	struct ib_uverbs_create_comp_channel_resp resp;
	struct uv_chan *chan;
	int err, fd;

	err = uv_chan_new(req->dev, UV_CHAN_COMP, &fd, &chan);
	if (err)
		return err;
	chan->owner = req->ctx->id;
	resp.fd = (uint32_t)fd;
	return uv_answer(req, &resp, sizeof(resp), NULL, 0);
}

/*
 * libibverbs waits until the acknowledged events equal the events that were read, so unread ones do not
 * count.
 */
int uv_destroy(struct uv_req *req)
{
	struct uv_obj *obj = req->obj;
	struct ib_uverbs_destroy_cq_resp cq;
	struct ib_uverbs_destroy_qp_resp qp;	/* an SRQ's response has the same layout */
	int err = uv_obj_destroy(obj);

	if (err)
		return err;
	cq.comp_events_reported = obj->comp_events;
	cq.async_events_reported = qp.events_reported = obj->async_events;
	if (obj->type == UV_CQ)
		uv_answer(req, &cq, sizeof(cq), NULL, 0);
	else if (obj->type == UV_QP || obj->type == UV_SRQ)
		uv_answer(req, &qp, sizeof(qp), NULL, 0);
	uv_obj_free(obj);
	return 0;
}
