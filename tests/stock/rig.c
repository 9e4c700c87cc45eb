/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/harness.h"
#include "tests/stock/rig.h"

struct ibv_context *st_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	cr_assert(list && list[0], "no device: is this under softnic-run?");
	cr_assert_str_eq(ibv_get_device_name(list[0]), "mlx5_0");
	ctx = ibv_open_device(list[0]);
	cr_assert_not_null(ctx);
	ibv_free_device_list(list);
	return ctx;
}

void st_close(struct ibv_context *ctx)
{
	cr_assert_eq(ibv_close_device(ctx), 0);
}

void st_create(struct st_end *end, struct ibv_context *ctx)
{
	/* Allows both ways of posting. The newer calls support only the operations that are named
	 * here. */
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { ST_DEPTH, ST_DEPTH, 4, 4, 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_INV,
	};

	memset(end, 0, sizeof(*end));
	end->ctx = ctx;
	cr_assert_not_null(end->pd = ibv_alloc_pd(ctx));
	cr_assert_not_null(end->chan = ibv_create_comp_channel(ctx));
	cr_assert_not_null(end->cq = ibv_create_cq(ctx, 4 * ST_DEPTH, end, end->chan, 0));
	attr.send_cq = attr.recv_cq = end->cq;
	attr.qp_context = end;
	attr.pd = end->pd;
	cr_assert_not_null(end->qp = ibv_create_qp_ex(ctx, &attr));
	cr_assert_not_null(end->buf = aligned_alloc(4096, ST_BUF));
	memset(end->buf, 0, ST_BUF);
	end->mr = ibv_reg_mr(end->pd, end->buf, ST_BUF, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND |
			     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	cr_assert_not_null(end->mr);
}

void st_destroy(struct st_end *end)
{
	if (end->qp)
		cr_assert_eq(ibv_destroy_qp(end->qp), 0);
	cr_assert_eq(ibv_destroy_cq(end->cq), 0);
	cr_assert_eq(ibv_destroy_comp_channel(end->chan), 0);
	cr_assert_eq(ibv_dereg_mr(end->mr), 0);
	cr_assert_eq(ibv_dealloc_pd(end->pd), 0);
	free(end->buf);
}

int st_to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

int st_to_rtr(struct ibv_qp *qp, const union ibv_gid *dgid, uint32_t qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.rq_psn = 0x123456,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .sl = 3,
			     .grh = { .dgid = *dgid, .hop_limit = 64, .traffic_class = 8 } },
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int st_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 5,
		.sq_psn = 0x123456,
		.max_rd_atomic = 2,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void connect_one(struct st_end *from, struct st_end *to)
{
	union ibv_gid gid;

	cr_assert_eq(ibv_query_gid(to->ctx, 1, 0, &gid), 0);
	cr_assert_eq(st_to_init(from->qp), 0);
	cr_assert_eq(st_to_rtr(from->qp, &gid, to->qp->qp_num), 0);
	cr_assert_eq(st_to_rts(from->qp), 0);
}

void st_connect(struct st_end *a, struct st_end *b)
{
	connect_one(a, b);
	if (a != b)
		connect_one(b, a);
}

void st_pair(struct st_end *a, struct st_end *b)
{
	st_create(a, st_open());
	st_create(b, a->ctx);
	st_connect(a, b);
}

void st_finish(struct st_end *end)
{
	st_destroy(end);
	st_close(end->ctx);
}

void st_unpair(struct st_end *a, struct st_end *b)
{
	st_destroy(a);
	st_finish(b);
}

void st_recv(struct st_end *end, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)end->buf, len, end->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	cr_assert_eq(ibv_post_recv(end->qp, &wr, &bad), 0);
}

void st_post(struct st_end *end, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	cr_assert_eq(ibv_post_send(end->qp, wr, &bad), 0);
}

void st_send(struct st_end *end, uint32_t len, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)end->buf, len, end->mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | flags,
		.sg_list = &sge,
		.num_sge = 1,
	};

	st_post(end, &wr);
}

struct ibv_wc st_wc(struct st_end *end)
{
	struct ibv_wc wc = { 0 };
	int n = 0;

	cr_assert(TH_WITHIN(ST_LIMIT_MS, (n = ibv_poll_cq(end->cq, 1, &wc)) != 0),
		  "the CQ got no completion in time");
	cr_assert_eq(n, 1);
	return wc;
}

enum ibv_wc_status st_poll(struct st_end *end)
{
	return st_wc(end).status;
}

enum ibv_wc_status st_write(struct st_end *a, uint64_t addr, uint32_t rkey, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)a->buf, len, a->mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { addr, rkey },
	};

	st_post(a, &wr);
	return st_poll(a);
}

bool st_readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}
