/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_modify_qp: the transitions of a QP and their attributes, as the kernel's driver allows them. */
#include <errno.h>

#include <infiniband/verbs.h>

#include "softnic/uverbs/efa/front.h"

enum {
	ANY_STATE = 0xff,
	NOT_RESET = 0xfe,
	OF_INIT = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
	OF_RTS = IBV_QP_CUR_STATE | IBV_QP_QKEY,
	SUPPORTED = OF_INIT | OF_RTS | IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_SQ_PSN |
		IBV_QP_RNR_RETRY,
};

/* The model has no drained state, so the transitions to and from it are left out. */
static const struct transition {
	uint8_t from, to;
	uint32_t required, optional;
} transitions[] = {
	{ ANY_STATE, IBV_QPS_RESET, 0, 0 },
	{ NOT_RESET, IBV_QPS_ERR, 0, 0 },
	{ IBV_QPS_RESET, IBV_QPS_INIT, OF_INIT, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0, OF_INIT },
	{ IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	{ IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, OF_RTS | IBV_QP_RNR_RETRY },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, OF_RTS },
};

static bool begins_in(const struct transition *t, uint8_t state)
{
	return t->from == state || t->from == ANY_STATE || (t->from == NOT_RESET && state != IBV_QPS_RESET);
}

/* Datagrams are not acknowledged, so a UD QP has no RNR retries. */
static bool is_allowed(const struct uv_obj *qp, const struct ib_uverbs_modify_qp *in)
{
	uint32_t mask = in->attr_mask, never = qp->cap.qp_type == IBV_QPT_UD ? IBV_QP_RNR_RETRY : 0;

	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		const struct transition *t = &transitions[i];

		if (t->to == in->qp_state && begins_in(t, in->cur_qp_state))
			return (mask & t->required) == t->required &&
				!(mask & ~(t->required | (t->optional & ~never) | IBV_QP_STATE));
	}
	return false;
}

static int check(const struct uv_obj *qp, const struct ib_uverbs_modify_qp *in)
{
	if (in->attr_mask & ~(uint32_t)SUPPORTED || in->qp_state == IBV_QPS_SQD ||
	    in->qp_state == IBV_QPS_SQE)
		return -EOPNOTSUPP;
	if (!is_allowed(qp, in))
		return -EINVAL;
	return in->attr_mask & IBV_QP_PKEY_INDEX && in->pkey_index ? -EOPNOTSUPP : 0;
}

static int modify(struct uv_obj *qp, const struct ib_uverbs_modify_qp *in)
{
	static const enum softnic_efa_qp_state states[] = {
		[IBV_QPS_RESET] = SOFTNIC_EFA_RESET, [IBV_QPS_INIT] = SOFTNIC_EFA_INIT,
		[IBV_QPS_RTR] = SOFTNIC_EFA_RTR, [IBV_QPS_RTS] = SOFTNIC_EFA_RTS,
		[IBV_QPS_ERR] = SOFTNIC_EFA_ERR,
	};
	const struct softnic_efa_modify m = {
		.mask = SOFTNIC_EFA_SET_STATE |
			(in->attr_mask & IBV_QP_QKEY ? SOFTNIC_EFA_SET_QKEY : 0u) |
			(in->attr_mask & IBV_QP_SQ_PSN ? SOFTNIC_EFA_SET_SQ_PSN : 0u) |
			(in->attr_mask & IBV_QP_RNR_RETRY ? SOFTNIC_EFA_SET_RNR_RETRY : 0u),
		.state = states[in->qp_state], .qkey = in->qkey, .sq_psn = in->sq_psn,
		.rnr_retry = in->attr_mask & IBV_QP_RNR_RETRY ? in->rnr_retry : 0,
	};

	return softnic_efa_qp_modify(qp->ctx->dev->efa, qp->number, &m);
}

int uve_modify_qp(struct uv_req *req)
{
	struct uv_obj *qp = req->obj;
	struct ib_uverbs_modify_qp in;
	int err = uv_modify_qp_args(req, &in);

	if (err)
		return err;
	err = check(qp, &in);
	if (!err)
		err = modify(qp, &in);
	return err ? err : uv_qp_modified(req, in.qp_state);
}
