/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * The counter set of the port, which sysfs shows as hw_counters. The kernel puts the set into its own QPs at
 * RST2INIT and into none of DEVX, and no call reports its number. So a QP of verbs makes that transition, and
 * QUERY_QP reads the set from it.
 */
#include <errno.h>
#include <string.h>

#include "core/dap.h"
#include "hw_mlx5/ctl/uverbs.h"

static void qp_destroy(struct ibv_qp *qp)
{
	struct ibv_cq *cq = qp->send_cq;
	struct ibv_pd *pd = qp->pd;

	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
}

/* Returns NULL with errno set on failure. */
static struct ibv_qp *qp_create(struct ibv_context *ctx)
{
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = pd ? ibv_create_cq(ctx, 1, NULL, NULL, 0) : NULL;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};
	struct ibv_qp *qp = cq ? ibv_create_qp(pd, &attr) : NULL;
	int err = errno;

	if (!qp && cq)
		ibv_destroy_cq(cq);
	if (!qp && pd)
		ibv_dealloc_pd(pd);
	errno = err;
	return qp;
}

static int query_set(struct m5_ctl_uverbs *u, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = u->port_num };
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_QUERY_QP),
				.number = cpu_to_be32(qp->qp_num) };
	struct m5_query_qp_out out = { 0 };
	int err = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				IBV_QP_ACCESS_FLAGS);

	if (!err)
		err = mlx5dv_devx_qp_query(qp, &in, sizeof(in), &out, sizeof(out));
	if (!err)
		u->dv.ctl.counter_set = (uint8_t)(be32_to_cpu(out.qpc.uar_page) >> 24);
	return hw_error(err);
}

/*
 * Without the set everything works but hw_counters. In the automatic mode of rdma-statistic(8), which is off
 * by default, the kernel frees the set with the last QP of verbs that has it.
 */
void uv_counter_set_read(struct m5_ctl_uverbs *u)
{
	struct dv_call call;
	struct ibv_qp *qp;
	int err = dv_begin(&u->dv.ctl, &call);

	if (!err) {
		qp = qp_create(u->dv.ctx);
		err = qp ? query_set(u, qp) : hw_errno();
		if (qp)
			qp_destroy(qp);
		dv_end(&call);
	}
	if (err)
		dap_log(DAP_LOG_WARN, "%s: hw_counters do not count this instance: cannot read their set: %s",
			u->dv.ctl.device, strerror(-err));
}
