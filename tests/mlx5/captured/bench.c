/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/mlx5/captured/bench.h"

void die(const char *what)
{
	fprintf(stderr, "capture: %s failed\n", what);
	exit(1);
}

/* ---- The QP, connected to itself */

static void modify(struct bench *b, struct ibv_qp_attr *attr, int mask)
{
	NEED(!ibv_modify_qp(b->qp, attr, mask | IBV_QP_STATE));
}

static void connect_to_itself(struct bench *b)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = b->qp->qp_num,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 1 } },
	};

	NEED(!ibv_query_gid(b->ctx, 1, 0, &attr.ah_attr.grh.dgid));
	modify(b, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	attr.qp_state = IBV_QPS_RTR;
	modify(b, &attr, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	attr.qp_state = IBV_QPS_RTS;
	modify(b, &attr, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	       IBV_QP_MAX_QP_RD_ATOMIC);
}

void bench_reset(struct bench *b)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	modify(b, &attr, 0);
	b->sq_index = b->rq_index = b->unreaped = 0;
	connect_to_itself(b);
}

void bench_create(struct bench *b)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { DEPTH, DEPTH, MAX_SGE, MAX_SGE, MAX_INLINE },
	};
	struct mlx5dv_obj obj = { .qp = { .out = &b->dv } };

	NEED(b->pd = ibv_alloc_pd(b->ctx));
	NEED(b->cq = ibv_create_cq(b->ctx, 4 * DEPTH, NULL, NULL, 0));
	attr.send_cq = attr.recv_cq = b->cq;
	NEED(b->qp = ibv_create_qp(b->pd, &attr));
	/* The address is always the same, so that new captures differ from old ones only in what
	 * libmlx5 does. */
	b->buf = mmap((void *)0x5a0012340000, BUFFER, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	NEED(b->buf != MAP_FAILED);
	NEED(b->mr = ibv_reg_mr(b->pd, b->buf, BUFFER, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND |
				IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				IBV_ACCESS_REMOTE_ATOMIC));
	NEED(b->mw1 = ibv_alloc_mw(b->pd, IBV_MW_TYPE_1));
	NEED(b->mw2 = ibv_alloc_mw(b->pd, IBV_MW_TYPE_2));
	obj.qp.in = b->qp;
	NEED(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP));
}

void bench_reap(struct bench *b)
{
	time_t end = time(NULL) + 20;
	struct ibv_wc wc;

	while (b->unreaped) {
		int n = ibv_poll_cq(b->cq, 1, &wc);

		if (n < 0 || time(NULL) > end)
			die("waiting for a completion");
		if (!n)
			continue;
		if (wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr, "capture: completion: %s\n", ibv_wc_status_str(wc.status));
			exit(1);
		}
		b->unreaped -= !(wc.opcode & IBV_WC_RECV);
	}
}

/* ---- A case, and how to post it */

static struct ibv_mw *window(struct bench *b, const struct captured_wqe *c)
{
	return c->mw.type == 1 ? b->mw1 : b->mw2;
}

static unsigned int send_flags(const struct captured_wqe *c)
{
	return (c->flags & CAPTURED_SIGNALED ? IBV_SEND_SIGNALED : 0u) |
		(c->flags & CAPTURED_SOLICITED ? IBV_SEND_SOLICITED : 0u) |
		(c->flags & CAPTURED_FENCE ? IBV_SEND_FENCE : 0u) |
		(c->flags & CAPTURED_INLINE ? IBV_SEND_INLINE : 0u);
}

static struct ibv_mw_bind_info bind_info(struct bench *b, const struct captured_wqe *c)
{
	return (struct ibv_mw_bind_info){
		.mr = c->mw.len ? b->mr : NULL,
		.addr = c->mw.addr,
		.length = c->mw.len,
		.mw_access_flags = c->mw.access,
	};
}

static void fill_wr(struct bench *b, struct captured_wqe *c, struct ibv_send_wr *wr)
{
	static const enum ibv_wr_opcode opcode[] = {
		[CAPTURED_WRITE] = IBV_WR_RDMA_WRITE,
		[CAPTURED_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[CAPTURED_READ] = IBV_WR_RDMA_READ,
		[CAPTURED_SEND] = IBV_WR_SEND,
		[CAPTURED_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
		[CAPTURED_SEND_INVAL] = IBV_WR_SEND_WITH_INV,
		[CAPTURED_ATOMIC_CS] = IBV_WR_ATOMIC_CMP_AND_SWP,
		[CAPTURED_ATOMIC_FA] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[CAPTURED_BIND] = IBV_WR_BIND_MW,
		[CAPTURED_LOCAL_INVAL] = IBV_WR_LOCAL_INV,
	};

	wr->opcode = opcode[c->op];
	wr->send_flags = send_flags(c);
	wr->imm_data = htonl(c->imm);
	if (c->op == CAPTURED_SEND_INVAL || c->op == CAPTURED_LOCAL_INVAL)
		wr->invalidate_rkey = c->imm;
	if (c->op == CAPTURED_ATOMIC_CS || c->op == CAPTURED_ATOMIC_FA) {
		wr->wr.atomic.remote_addr = c->raddr;
		wr->wr.atomic.rkey = c->rkey;
		wr->wr.atomic.compare_add = c->compare_add;
		wr->wr.atomic.swap = c->swap;
	} else if (c->op == CAPTURED_BIND) {
		wr->bind_mw.mw = b->mw2;
		wr->bind_mw.rkey = c->mw.new_rkey;
		wr->bind_mw.bind_info = bind_info(b, c);
	} else {
		wr->wr.rdma.remote_addr = c->raddr;
		wr->wr.rdma.rkey = c->rkey;
	}
}

static void fill_sge(const struct captured_wqe *c, struct ibv_sge *sge)
{
	for (unsigned int i = 0; i < c->nsge; i++)
		sge[i] = (struct ibv_sge){ c->sge[i].addr, c->sge[i].len, c->sge[i].lkey };
}

static void post_type1(struct bench *b, struct captured_wqe *c)
{
	struct ibv_mw_bind bind = { .send_flags = send_flags(c), .bind_info = bind_info(b, c) };

	NEED(!ibv_bind_mw(b->qp, b->mw1, &bind));
	c->mw.new_rkey = b->mw1->rkey;
}

void bench_post(struct bench *b, struct captured_wqe *c)
{
	struct ibv_send_wr wr = { .num_sge = (int)c->nsge }, *bad;
	struct ibv_sge sge[MAX_SGE];

	c->qpn = b->qp->qp_num;
	fill_sge(c, sge);
	if (c->op == CAPTURED_RECV) {
		struct ibv_recv_wr rwr = { .num_sge = (int)c->nsge, .sg_list = sge }, *rbad;

		NEED(!ibv_post_recv(b->qp, &rwr, &rbad));
		return;
	}
	if (c->mw.type)
		c->mw.rkey = window(b, c)->rkey;
	if (c->op == CAPTURED_BIND && c->mw.type == 2)
		c->mw.new_rkey = ibv_inc_rkey(b->mw2->rkey);
	b->unreaped += !!(c->flags & CAPTURED_SIGNALED);
	if (c->op == CAPTURED_BIND && c->mw.type == 1) {
		post_type1(b, c);
		return;
	}
	wr.sg_list = sge;
	fill_wr(b, c, &wr);
	NEED(!ibv_post_send(b->qp, &wr, &bad));
	if (c->op == CAPTURED_BIND) {
		b->mw2->rkey = c->mw.new_rkey;
		b->bound2 = true;
	} else if (c->op == CAPTURED_LOCAL_INVAL || c->op == CAPTURED_SEND_INVAL) {
		b->bound2 = false;
	}
}

struct captured_wqe element_case(struct bench *b, const char *name, enum captured_op op,
				 unsigned int nsge, uint32_t len)
{
	struct captured_wqe c = { .name = name, .op = op, .nsge = nsge, .flags = CAPTURED_SIGNALED };

	for (unsigned int i = 0; i < nsge; i++) {
		uint8_t *p = b->buf + i * ELEMENT;

		/*
		 * A receive gets no data here: it only has to be long enough for all elements of
		 * any other case.
		 */
		for (uint32_t k = 0; op != CAPTURED_RECV && k < len; k++)
			p[k] = captured_payload(i, k);
		c.sge[i] = (struct captured_sge){ (uintptr_t)p, len, b->mr->lkey };
	}
	c.raddr = (uintptr_t)b->buf + TARGET;
	c.rkey = b->mr->rkey;
	return c;
}

struct captured_wqe bind_case(struct bench *b, const char *name, int type, uint32_t len)
{
	struct captured_wqe c = { .name = name, .op = CAPTURED_BIND, .flags = CAPTURED_SIGNALED };

	c.mw.type = type;
	c.mw.len = len;
	c.mw.addr = len ? (uintptr_t)b->buf + 64 : 0;
	c.mw.mr_lkey = len ? b->mr->lkey : 0;
	c.mw.access = len ? IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ : 0;
	return c;
}

struct captured_wqe plain_case(const char *name, enum captured_op op)
{
	return (struct captured_wqe){ .name = name, .op = op, .flags = CAPTURED_SIGNALED };
}
