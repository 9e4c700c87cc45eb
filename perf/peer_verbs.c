/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peer of `make bench`: stock libibverbs, through ibv_post_send and related calls, or with -w through
 * ibv_wr_*. Work requests are filled in ahead, like the triplets of a DAT consumer.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "perf/peer/peer.h"

static struct {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *scq, *rcq, *empty;
	struct ibv_qp *a, *b;
	struct ibv_qp_ex *ax;
	struct ibv_mr *mr;
	struct ibv_mw *mw, *mw2;
	struct ibv_port_attr port;
	union ibv_gid gid;
} v;

static char memory[2 * PEER_BIG] __attribute__((aligned(PEER_BIG)));
static struct ibv_sge sge[4];
static struct ibv_send_wr write8, write64, write4k, read4k, send4k, pieces;
static struct ibv_recv_wr recv4k;
static struct ibv_mw_bind bind, unbind;

/* Setup of the peer */

static void fill(struct ibv_send_wr *wr, struct ibv_sge *s, uint32_t len, enum ibv_wr_opcode op,
		 unsigned int flags)
{
	*s = (struct ibv_sge){ .addr = (uintptr_t)memory, .length = len, .lkey = v.mr->lkey };
	*wr = (struct ibv_send_wr){
		.sg_list = s, .num_sge = 1, .opcode = op, .send_flags = IBV_SEND_SIGNALED | flags,
		.wr.rdma = { .remote_addr = (uintptr_t)memory + PEER_BIG, .rkey = v.mr->rkey },
	};
}

static void fill_all(void)
{
	static struct ibv_sge four[4];
	int i;

	fill(&write8, &sge[0], PEER_SMALL, IBV_WR_RDMA_WRITE, IBV_SEND_INLINE);
	fill(&write64, &sge[1], PEER_LINE, IBV_WR_RDMA_WRITE, IBV_SEND_INLINE);
	fill(&write4k, &sge[2], PEER_BIG, IBV_WR_RDMA_WRITE, 0);
	fill(&read4k, &sge[2], PEER_BIG, IBV_WR_RDMA_READ, 0);
	fill(&send4k, &sge[2], PEER_BIG, IBV_WR_SEND, 0);
	fill(&pieces, &four[0], PEER_BIG / 4, IBV_WR_RDMA_WRITE, 0);
	for (i = 1; i < 4; i++) {
		four[i] = four[0];
		four[i].addr += (uint64_t)i * PEER_BIG / 4;
	}
	pieces.num_sge = 4;
	sge[3] = (struct ibv_sge){ .addr = (uintptr_t)memory + PEER_BIG, .length = PEER_BIG,
				   .lkey = v.mr->lkey };
	recv4k = (struct ibv_recv_wr){ .sg_list = &sge[3], .num_sge = 1 };
	bind = (struct ibv_mw_bind){
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = v.mr, .addr = (uintptr_t)memory, .length = PEER_BIG,
			       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};
	unbind = bind;
	unbind.bind_info.length = 0;
	unbind.bind_info.mw_access_flags = 0;
}

static struct ibv_qp *make_qp(struct ibv_cq *scq, struct ibv_cq *rcq)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = scq, .recv_cq = rcq, .qp_type = IBV_QPT_RC, .pd = v.pd,
		.cap = { .max_send_wr = PEER_DEPTH, .max_recv_wr = PEER_DEPTH, .max_send_sge = 4,
			 .max_recv_sge = 1, .max_inline_data = 188 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_BIND_MW |
				  IBV_QP_EX_WITH_LOCAL_INV,
	};

	return ibv_create_qp_ex(v.ctx, &attr);
}

static int connect_to(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS))
		return -1;
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = v.port.active_mtu;
	attr.dest_qp_num = peer;
	attr.max_dest_rd_atomic = 4;
	attr.min_rnr_timer = 12;
	attr.ah_attr = (struct ibv_ah_attr){
		.is_global = 1, .port_num = 1, .dlid = v.port.lid,
		.grh = { .dgid = v.gid, .sgid_index = 0, .hop_limit = 1 },
	};
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 16;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 4;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static const char *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list || !list[0])
		return "no device: run it under softnic-run";
	v.ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	if (!v.ctx || ibv_query_port(v.ctx, 1, &v.port) || ibv_query_gid(v.ctx, 1, 0, &v.gid))
		return "device";
	v.pd = ibv_alloc_pd(v.ctx);
	v.mr = v.pd ? ibv_reg_mr(v.pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE |
				 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				 IBV_ACCESS_MW_BIND) : NULL;
	return v.mr ? NULL : "memory";
}

static const char *open_all(void)
{
	const char *why = open_device();

	if (why)
		return why;
	v.scq = ibv_create_cq(v.ctx, 2 * PEER_DEPTH, NULL, NULL, 0);
	v.rcq = ibv_create_cq(v.ctx, 2 * PEER_DEPTH, NULL, NULL, 0);
	v.empty = ibv_create_cq(v.ctx, 2 * PEER_DEPTH, NULL, NULL, 0);
	if (!v.scq || !v.rcq || !v.empty)
		return "CQ";
	v.a = make_qp(v.scq, v.empty);
	v.b = v.a ? make_qp(v.scq, v.rcq) : NULL;
	if (!v.b || connect_to(v.a, v.b->qp_num) || connect_to(v.b, v.a->qp_num))
		return "QP";
	v.ax = ibv_qp_to_qp_ex(v.a);
	v.mw = ibv_alloc_mw(v.pd, IBV_MW_TYPE_1);
	v.mw2 = ibv_alloc_mw(v.pd, IBV_MW_TYPE_2);
	if (!v.mw || !v.mw2)
		return "memory window";
	fill_all();
	return NULL;
}

PEER_SHARED post_send(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(v.a, wr, &bad);
}

PEER_SHARED post_recv(void)
{
	struct ibv_recv_wr *bad;

	return ibv_post_recv(v.b, &recv4k, &bad);
}

PEER_SHARED poll_cq(struct ibv_cq *cq, int n)
{
	struct ibv_wc wc[PEER_BATCH];

	return ibv_poll_cq(cq, n, wc);
}

/* Functions that run before and after batches */

static int reap(struct ibv_cq *cq, unsigned int n)
{
	struct ibv_wc wc;
	int got;

	while (n) {
		got = ibv_poll_cq(cq, 1, &wc);
		if (got < 0 || (got && wc.status != IBV_WC_SUCCESS)) {
			fprintf(stderr, "completion with status %s\n",
				got < 0 ? "of a failed poll" : ibv_wc_status_str(wc.status));
			return -1;
		}
		n -= (unsigned int)got;
	}
	return 0;
}

static int reap_sent(unsigned int n)
{
	return reap(v.scq, n);
}

static int reap_both(unsigned int n)
{
	return reap(v.scq, n) || reap(v.rcq, n) ? -1 : 0;
}

static int post_recvs(unsigned int n)
{
	while (n--)
		if (post_recv())
			return -1;
	return 0;
}

static int feed(unsigned int n)
{
	while (n--)
		if (post_send(&write8))
			return -1;
	peer_let_complete();
	return 0;
}

static int send_to_all(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (post_send(&send4k))
			return -1;
	return reap_both(n);
}

static int bind_now(struct ibv_mw_bind *how)
{
	return ibv_bind_mw(v.a, v.mw, how) || reap(v.scq, 1) ? -1 : 0;
}

static int have_bound(unsigned int n)
{
	(void)n;
	return bind_now(&bind);
}

static int have_unbound(unsigned int n)
{
	(void)n;
	return bind_now(&unbind);
}

/* The measured calls */

PEER_CALL verbs_write8(void) { return post_send(&write8); }
PEER_CALL verbs_write64(void) { return post_send(&write64); }
PEER_CALL verbs_write4k(void) { return post_send(&write4k); }
PEER_CALL verbs_read4k(void) { return post_send(&read4k); }
PEER_CALL verbs_send4k(void) { return post_send(&send4k); }
PEER_CALL verbs_pieces(void) { return post_send(&pieces); }
PEER_CALL verbs_recv(void) { return post_recv(); }
PEER_CALL verbs_bind(void) { return ibv_bind_mw(v.a, v.mw, &bind); }
PEER_CALL verbs_rebind(void) { return ibv_bind_mw(v.a, v.mw, &bind); }
PEER_CALL verbs_unbind(void) { return ibv_bind_mw(v.a, v.mw, &unbind); }
PEER_CALL verbs_poll_one(void) { return poll_cq(v.scq, 1); }
PEER_CALL verbs_poll_4(void) { return poll_cq(v.scq, 4); }
PEER_CALL verbs_poll_16(void) { return poll_cq(v.scq, 16); }
PEER_CALL verbs_poll_none(void) { return poll_cq(v.empty, 1); }

static const struct peer_op by_verbs[] = {
	{ "post write 8 B inline", "verbs_write8", verbs_write8, NULL, reap_sent, PEER_BATCH, 0 },
	{ "post write 64 B inline", "verbs_write64", verbs_write64, NULL, reap_sent, PEER_BATCH, 0 },
	{ "post write 4 KB", "verbs_write4k", verbs_write4k, NULL, reap_sent, PEER_BATCH, 0 },
	{ "post read 4 KB", "verbs_read4k", verbs_read4k, NULL, reap_sent, PEER_BATCH, 0 },
	{ "post send 4 KB", "verbs_send4k", verbs_send4k, post_recvs, reap_both, PEER_BATCH, 0 },
	{ "post write 4 segments", "verbs_pieces", verbs_pieces, NULL, reap_sent, PEER_BATCH, 0 },
	{ "post recv", "verbs_recv", verbs_recv, NULL, send_to_all, PEER_BATCH, 0 },
	{ "bind unbound RMR", "verbs_bind", verbs_bind, have_unbound, reap_sent, 1, 0 },
	{ "rebind RMR", "verbs_rebind", verbs_rebind, have_bound, reap_sent, 1, 0 },
	{ "unbind RMR", "verbs_unbind", verbs_unbind, have_bound, reap_sent, 1, 0 },
	{ "dequeue one completion", "verbs_poll_one", verbs_poll_one, feed, reap_sent, PEER_BATCH, 1 },
	{ "dequeue none", "verbs_poll_none", verbs_poll_none, NULL, NULL, PEER_BATCH, 0 },
	{ "each of 1 dequeued", "verbs_poll_one", verbs_poll_one, feed, reap_sent, PEER_BATCH, 1 },
	{ "each of 4 dequeued", "verbs_poll_4", verbs_poll_4, feed, reap_sent, 4, 4 },
	{ "each of 16 dequeued", "verbs_poll_16", verbs_poll_16, feed, reap_sent, 1, 16 },
	{ 0 },
};

/* The measured calls through ibv_wr_*. A post needs several of them, so a function wraps them. */

static inline void begin(void)
{
	ibv_wr_start(v.ax);
	v.ax->wr_id = 1;
	v.ax->wr_flags = IBV_SEND_SIGNALED;
}

static inline int rdma(bool read, uint32_t len, bool in_line)
{
	begin();
	if (read)
		ibv_wr_rdma_read(v.ax, v.mr->rkey, (uintptr_t)memory + PEER_BIG);
	else
		ibv_wr_rdma_write(v.ax, v.mr->rkey, (uintptr_t)memory + PEER_BIG);
	if (in_line)
		ibv_wr_set_inline_data(v.ax, memory, len);
	else
		ibv_wr_set_sge(v.ax, v.mr->lkey, (uintptr_t)memory, len);
	return ibv_wr_complete(v.ax);
}

#define WRAPPED __attribute__((noinline)) static int
WRAPPED do_write8(void) { return rdma(false, PEER_SMALL, true); }
WRAPPED do_write64(void) { return rdma(false, PEER_LINE, true); }
WRAPPED do_write4k(void) { return rdma(false, PEER_BIG, false); }
WRAPPED do_read4k(void) { return rdma(true, PEER_BIG, false); }

WRAPPED do_send4k(void)
{
	begin();
	ibv_wr_send(v.ax);
	ibv_wr_set_sge(v.ax, v.mr->lkey, (uintptr_t)memory, PEER_BIG);
	return ibv_wr_complete(v.ax);
}

WRAPPED do_pieces(void)
{
	begin();
	ibv_wr_rdma_write(v.ax, v.mr->rkey, (uintptr_t)memory + PEER_BIG);
	ibv_wr_set_sge_list(v.ax, 4, pieces.sg_list);
	return ibv_wr_complete(v.ax);
}

/* Binds a window of type 2. A bound window must be invalidated before it can be bound again. */
WRAPPED do_bind(void)
{
	begin();
	ibv_wr_bind_mw(v.ax, v.mw2, ibv_inc_rkey(v.mw2->rkey), &bind.bind_info);
	return ibv_wr_complete(v.ax);
}

WRAPPED do_invalidate(void)
{
	begin();
	ibv_wr_local_inv(v.ax, v.mw2->rkey);
	return ibv_wr_complete(v.ax);
}

PEER_CALL wr_write8(void) { return do_write8(); }
PEER_CALL wr_write64(void) { return do_write64(); }
PEER_CALL wr_write4k(void) { return do_write4k(); }
PEER_CALL wr_read4k(void) { return do_read4k(); }
PEER_CALL wr_send4k(void) { return do_send4k(); }
PEER_CALL wr_pieces(void) { return do_pieces(); }
PEER_CALL wr_bind(void) { return do_bind(); }
PEER_CALL wr_unbind(void) { return do_invalidate(); }

static bool bound2;

static int after_bind2(unsigned int n)
{
	bound2 = true;
	v.mw2->rkey = ibv_inc_rkey(v.mw2->rkey);
	return reap(v.scq, n);
}

static int after_unbind2(unsigned int n)
{
	bound2 = false;
	return reap(v.scq, n);
}

static int have_unbound2(unsigned int n)
{
	return bound2 && (do_invalidate() || after_unbind2(n)) ? -1 : 0;
}

static int have_bound2(unsigned int n)
{
	return !bound2 && (do_bind() || after_bind2(n)) ? -1 : 0;
}

static const struct peer_op by_wr[] = {
	{ "post write 8 B inline", "wr_write8", wr_write8, NULL, reap_sent, PEER_BATCH, 0 },
	{ "post write 64 B inline", "wr_write64", wr_write64, NULL, reap_sent, PEER_BATCH, 0 },
	{ "post write 4 KB", "wr_write4k", wr_write4k, NULL, reap_sent, PEER_BATCH, 0 },
	{ "post read 4 KB", "wr_read4k", wr_read4k, NULL, reap_sent, PEER_BATCH, 0 },
	{ "post send 4 KB", "wr_send4k", wr_send4k, post_recvs, reap_both, PEER_BATCH, 0 },
	{ "post write 4 segments", "wr_pieces", wr_pieces, NULL, reap_sent, PEER_BATCH, 0 },
	{ "bind unbound RMR", "wr_bind", wr_bind, have_unbound2, after_bind2, 1, 0 },
	{ "unbind RMR", "wr_unbind", wr_unbind, have_bound2, after_unbind2, 1, 0 },
	{ 0 },
};

int main(int argc, char **argv)
{
	bool wr = argc > 1 && !strcmp(argv[1], "-w");
	const char *why = open_all();

	if (why) {
		fprintf(stderr, "%s: %m\n", why);
		return 1;
	}
	return peer_run(argc, argv, wr ? by_wr : by_verbs);
}
