/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects of verbs: refused calls, references, and queries. */
#include <errno.h>
#include <sys/mman.h>

#include "tests/harness/harness.h"
#include "tests/stock/rig.h"

TestSuite(stock, .timeout = 60);

enum { ALL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };

Test(stock, query_qp__gives_back_what_modify_gave)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct st_end a;
	union ibv_gid gid;

	st_create(&a, st_open());
	cr_assert_eq(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init), 0);
	cr_assert_eq(attr.qp_state, IBV_QPS_RESET);
	st_connect(&a, &a);
	cr_assert_eq(ibv_query_gid(a.ctx, 1, 0, &gid), 0);
	cr_assert_eq(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init), 0);
	cr_expect_eq(attr.qp_state, IBV_QPS_RTS);
	cr_expect_eq(attr.path_mtu, IBV_MTU_1024);
	cr_expect_eq(attr.dest_qp_num, a.qp->qp_num);
	cr_expect_eq(attr.rq_psn, 0x123456);
	cr_expect_eq(attr.sq_psn, 0x123456);
	cr_expect_eq(attr.qp_access_flags, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	cr_expect_eq(attr.max_rd_atomic, 2);
	cr_expect_eq(attr.max_dest_rd_atomic, 4);
	cr_expect_eq(attr.min_rnr_timer, 12);
	cr_expect_eq(attr.timeout, 14);
	cr_expect_eq(attr.retry_cnt, 6);
	cr_expect_eq(attr.rnr_retry, 5);
	cr_expect_eq(attr.port_num, 1);
	cr_expect_eq(attr.ah_attr.sl, 3);
	cr_expect_eq(attr.ah_attr.is_global, 1);
	cr_expect_eq(attr.ah_attr.grh.hop_limit, 64);
	cr_expect_eq(attr.ah_attr.grh.traffic_class, 8);
	cr_expect_arr_eq(attr.ah_attr.grh.dgid.raw, gid.raw, 16);
	cr_expect_geq(init.cap.max_send_wr, ST_DEPTH);
	cr_expect_geq(init.cap.max_inline_data, 64);
	st_finish(&a);
}

/* Linux, mlx5_ib_query_device. */
Test(stock, query_device__reads_of_all_qps_add_up)
{
	struct ibv_context *ctx = st_open();
	struct ibv_device_attr attr;

	cr_assert_eq(ibv_query_device(ctx, &attr), 0);
	cr_expect_eq(attr.max_res_rd_atom, attr.max_qp_rd_atom * attr.max_qp, "%d, not %d times %d",
		     attr.max_res_rd_atom, attr.max_qp_rd_atom, attr.max_qp);
	st_close(ctx);
}

/* Linux, mlx5_query_port_roce: the port has a CM and IP-based GIDs. Ethernet has no virtual lanes. */
Test(stock, query_port__of_ethernet_has_flags_and_no_lanes)
{
	struct ibv_context *ctx = st_open();
	struct ibv_port_attr attr;

	cr_assert_eq(ibv_query_port(ctx, 1, &attr), 0);
	cr_expect_eq(attr.port_cap_flags, 1u << 16 | 1u << 26, "the flags are %#x", attr.port_cap_flags);
	cr_expect_eq(attr.max_vl_num, 0, "the port has %u virtual lanes", attr.max_vl_num);
	st_close(ctx);
}

Test(stock, modify_qp__wrong_order_or_attributes_return_einval)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	union ibv_gid gid = { .raw = { 0xfe, 0x80 } };
	struct st_end a;

	st_create(&a, st_open());
	cr_expect_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), EINVAL, "a QP went from RESET to ERR");
	attr.qp_state = IBV_QPS_INIT;
	cr_expect_eq(st_to_rtr(a.qp, &gid, 1), EINVAL);
	cr_expect_eq(st_to_rts(a.qp), EINVAL);
	cr_expect_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), EINVAL);
	attr.port_num = 2;
	cr_expect_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
				   IBV_QP_ACCESS_FLAGS), EINVAL);
	attr.port_num = 1;
	cr_expect_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_PORT |
				   IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS), EINVAL,
		     "the current state is accepted, which only the transitions to RTS take");
	cr_assert_eq(st_to_init(a.qp), 0);
	cr_expect_eq(st_to_rts(a.qp), EINVAL);
	attr.qp_state = IBV_QPS_ERR;
	cr_expect_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	cr_expect_eq(st_to_init(a.qp), EINVAL);
	attr.qp_state = IBV_QPS_RESET;
	cr_expect_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	cr_expect_eq(st_to_init(a.qp), 0);
	st_finish(&a);
}

/* Linux: the port of a path is that of the QP, which the transition to INIT has set. */
Test(stock, modify_qp__path_of_another_port_returns_einval)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = 1, .max_dest_rd_atomic = 1,
		.ah_attr = { .is_global = 1, .grh = { .dgid.raw = { 0xfe, 0x80 }, .hop_limit = 64 } },
	};
	const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	struct st_end a;

	st_create(&a, st_open());
	cr_assert_eq(st_to_init(a.qp), 0);
	cr_expect_eq(ibv_modify_qp(a.qp, &attr, mask), EINVAL, "a path without a port was accepted");
	attr.ah_attr.port_num = 2;
	cr_expect_eq(ibv_modify_qp(a.qp, &attr, mask), EINVAL);
	attr.ah_attr.port_num = 1;
	cr_expect_eq(ibv_modify_qp(a.qp, &attr, mask), 0);
	st_finish(&a);
}

enum {
	RTR_MASK = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
};

static const struct ibv_qp_attr to_rtr = {
	.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = 1, .max_dest_rd_atomic = 1,
	.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid.raw = { 0xfe, 0x80 }, .hop_limit = 64 } },
};

static unsigned int rights(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	cr_assert_eq(ibv_query_qp(qp, &attr, IBV_QP_ACCESS_FLAGS, &init), 0);
	return attr.qp_access_flags;
}

/* Linux, set_qpc_atomic_flags: a responder without resources for reads allows only writes. */
Test(stock, modify_qp__without_responder_resources_allows_no_reads)
{
	struct ibv_qp_attr attr = to_rtr;
	struct st_end a;

	st_create(&a, st_open());
	for (unsigned int i = 0; i < 2; i++) {
		attr.max_dest_rd_atomic = (uint8_t)i;
		cr_assert_eq(st_to_init(a.qp), 0);
		cr_expect_eq(rights(a.qp), IBV_ACCESS_REMOTE_WRITE);
		cr_assert_eq(ibv_modify_qp(a.qp, &attr, RTR_MASK), 0);
		cr_expect_eq(rights(a.qp), IBV_ACCESS_REMOTE_WRITE | (i ? IBV_ACCESS_REMOTE_READ : 0u),
			     "with %u resources", i);
		cr_assert_eq(ibv_modify_qp(a.qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET },
					   IBV_QP_STATE), 0);
	}
	st_finish(&a);
}

/* Linux, __mlx5_ib_modify_qp: numbers of reads are powers of two. */
Test(stock, modify_qp__number_of_reads_is_rounded_up)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = to_rtr;
	struct st_end a;

	st_create(&a, st_open());
	cr_assert_eq(st_to_init(a.qp), 0);
	attr.max_dest_rd_atomic = 3;
	cr_assert_eq(ibv_modify_qp(a.qp, &attr, RTR_MASK), 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .max_rd_atomic = 9 };
	cr_assert_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), 0);
	cr_assert_eq(ibv_query_qp(a.qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC,
				  &init), 0);
	cr_expect_eq(attr.max_dest_rd_atomic, 4, "3 reads as responder became %u", attr.max_dest_rd_atomic);
	cr_expect_eq(attr.max_rd_atomic, 16, "9 reads as requester became %u", attr.max_rd_atomic);
	st_finish(&a);
}

/* Linux, mlx5_set_path: a service level on RoCE has three bits. ib_rate_to_mlx5: 1 is no rate. */
Test(stock, modify_qp__service_level_is_cut_and_rate_is_checked)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = to_rtr;
	struct st_end a;

	st_create(&a, st_open());
	cr_assert_eq(st_to_init(a.qp), 0);
	attr.ah_attr.static_rate = 1;
	cr_expect_eq(ibv_modify_qp(a.qp, &attr, RTR_MASK), EINVAL);
	attr.ah_attr.static_rate = 255;
	cr_expect_eq(ibv_modify_qp(a.qp, &attr, RTR_MASK), EINVAL);
	attr.ah_attr.static_rate = IBV_RATE_40_GBPS;
	attr.ah_attr.sl = 13;
	cr_expect_eq(ibv_modify_qp(a.qp, &attr, RTR_MASK), 0);
	cr_assert_eq(ibv_query_qp(a.qp, &attr, IBV_QP_AV, &init), 0);
	cr_expect_eq(attr.ah_attr.sl, 5);
	cr_expect_eq(attr.ah_attr.static_rate, 0, "a rate that the device does not support is set");
	st_finish(&a);
}

/* Linux, rdma_get_gid_attr: ENODATA, as a query of that entry. */
Test(stock, path__from_an_empty_gid_returns_enodata)
{
	struct ibv_qp_attr attr = to_rtr;
	struct ibv_port_attr port;
	struct st_end a;

	st_create(&a, st_open());
	cr_assert_eq(ibv_query_port(a.ctx, 1, &port), 0);
	attr.ah_attr.grh.sgid_index = (uint8_t)(port.gid_tbl_len - 1);
	cr_assert_eq(st_to_init(a.qp), 0);
	cr_expect_eq(ibv_modify_qp(a.qp, &attr, RTR_MASK), ENODATA);
	errno = 0;
	cr_expect_null(ibv_create_ah(a.pd, &attr.ah_attr));
	cr_expect_eq(errno, ENODATA);
	st_finish(&a);
}

/* IBTA 3.5.3: only privileged programs set such a Q_Key. Linux requires CAP_NET_RAW. */
Test(stock, modify_qp__controlled_qkey_needs_a_capability)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x80000001 };
	const int mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY;
	struct ibv_context *ctx = st_open();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_qp *qp;

	cr_assert_not_null(init.send_cq = init.recv_cq = ibv_create_cq(ctx, 2, NULL, NULL, 0));
	cr_assert_not_null(qp = ibv_create_qp(pd, &init));
	cr_assert_eq(th_drop_net_raw(), 0);
	cr_expect_eq(ibv_modify_qp(qp, &attr, mask), EPERM);
	attr.qkey = 0x7fffffff;
	cr_expect_eq(ibv_modify_qp(qp, &attr, mask), 0);
	cr_assert_eq(ibv_destroy_qp(qp), 0);
	cr_assert_eq(ibv_destroy_cq(init.send_cq), 0);
	cr_assert_eq(ibv_dealloc_pd(pd), 0);
	st_close(ctx);
}

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	cr_assert_eq(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

/* IBTA 10.3.1.6: a failed send of a datagram QP leads to Send Queue Error, and from there back to RTS. */
Test(stock, modify_qp__takes_a_datagram_qp_with_a_failed_send_back)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .ah_attr = { .is_global = 1, .port_num = 1 } };
	struct ibv_sge nowhere = { .length = 8 };
	struct ibv_send_wr wr = { .sg_list = &nowhere, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct st_end a;
	struct ibv_qp *qp;

	st_create(&a, st_open());
	init.send_cq = init.recv_cq = a.cq;
	cr_assert_not_null(qp = ibv_create_qp(a.pd, &init));
	cr_assert_eq(ibv_modify_qp(qp, &attr,
				   IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY), 0);
	attr.qp_state = IBV_QPS_RTR;
	cr_assert_eq(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	cr_assert_eq(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	cr_assert_eq(ibv_query_gid(a.ctx, 1, 0, &attr.ah_attr.grh.dgid), 0);
	cr_assert_not_null(wr.wr.ud.ah = ibv_create_ah(a.pd, &attr.ah_attr));
	cr_assert_eq(ibv_post_send(qp, &wr, &bad), 0);
	cr_expect_eq(st_poll(&a), IBV_WC_LOC_PROT_ERR);
	cr_expect_eq(state_of(qp), IBV_QPS_SQE);
	attr.cur_qp_state = IBV_QPS_SQE;
	cr_expect_eq(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
	cr_expect_eq(state_of(qp), IBV_QPS_RTS);
	cr_assert_eq(ibv_destroy_ah(wr.wr.ud.ah), 0);
	cr_assert_eq(ibv_destroy_qp(qp), 0);
	st_finish(&a);
}

/* Gives a region other memory, other rights or another PD, after which its old key is invalid. A
 * refused call changes nothing. */
Test(stock, rereg_mr__ends_the_old_key)
{
	struct st_end a, b;
	uint32_t old;

	st_pair(&a, &b);
	old = b.mr->rkey;
	cr_assert_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b.buf + 4096,
				  ST_BUF - 4096, 0), 0);
	cr_assert_neq(b.mr->rkey, old);
	cr_assert_eq(st_write(&a, (uintptr_t)b.buf + 4096, b.mr->rkey, 64), IBV_WC_SUCCESS);
	cr_expect_neq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				   IBV_ACCESS_REMOTE_WRITE),
		      0, "an MR got the right of remote write without local write");
	cr_assert_eq(st_write(&a, (uintptr_t)b.buf + 4096, b.mr->rkey, 64), IBV_WC_SUCCESS);
	cr_assert_eq(st_write(&a, (uintptr_t)b.buf + 4096, old, 64), IBV_WC_REM_ACCESS_ERR);
	st_unpair(&a, &b);
}

Test(stock, rereg_mr__takes_rights_away)
{
	struct st_end a, b;

	st_pair(&a, &b);
	cr_assert_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_PD, a.pd, NULL,
				  0, IBV_ACCESS_LOCAL_WRITE), 0);
	cr_assert_eq(st_write(&a, (uintptr_t)b.buf, b.mr->rkey, 64), IBV_WC_REM_ACCESS_ERR);
	st_unpair(&b, &a);
}

/* A change of the rights or the PD rewrites the mkey, whose number stays the same. Linux's driver
 * does so too. */
Test(stock, rereg_mr__of_access_keeps_the_key)
{
	struct st_end a, b;
	uint32_t key;

	st_pair(&a, &b);
	key = b.mr->rkey;
	cr_assert_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_PD, a.pd, NULL,
				  0, IBV_ACCESS_LOCAL_WRITE), 0);
	cr_assert_eq(b.mr->rkey, key);
	cr_assert_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_PD, b.pd, NULL,
				  0, ALL), 0);
	cr_assert_eq(st_write(&a, (uintptr_t)b.buf, key, 64), IBV_WC_SUCCESS);
	cr_assert_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  IBV_ACCESS_LOCAL_WRITE), 0);
	cr_assert_eq(st_write(&a, (uintptr_t)b.buf, key, 64), IBV_WC_REM_ACCESS_ERR);
	st_unpair(&b, &a);
}

/* QUERY_QP reports how many receives the queue holds, not the requested number. */
Test(stock, post_recv__beyond_what_query_qp_reports_is_refused)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { 10, 10, 1, 3, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr now;
	struct ibv_qp *was;
	struct st_end a;
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	st_create(&a, st_open());
	sge = (struct ibv_sge){ (uintptr_t)a.buf, 64, a.mr->lkey };
	was = a.qp;
	attr.pd = a.pd;
	attr.send_cq = attr.recv_cq = a.cq;
	cr_assert_not_null(a.qp = ibv_create_qp_ex(a.ctx, &attr));
	cr_assert_eq(st_to_init(a.qp), 0);
	cr_assert_eq(ibv_query_qp(a.qp, &now, IBV_QP_CAP, &init), 0);
	cr_assert_geq(now.cap.max_recv_wr, 10);
	cr_assert_geq(now.cap.max_recv_sge, 3);
	for (uint32_t i = 0; i < now.cap.max_recv_wr; i++)
		cr_assert_eq(ibv_post_recv(a.qp, &wr, &bad), 0, "receive %u cannot be posted", i);
	cr_expect_eq(ibv_post_recv(a.qp, &wr, &bad), ENOMEM);
	cr_assert_eq(ibv_destroy_qp(was), 0);
	st_finish(&a);
}

/* Linux has source QPNs only for IPoIB, which RoCE lacks (process_create_flags). */
Test(stock, create_qp__with_a_source_qpn_is_refused)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_UD, .cap = { 1, 1, 1, 1, 0 }, .create_flags = IBV_QP_CREATE_SOURCE_QPN,
		.source_qpn = 0x10, .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
	};
	struct st_end a;

	st_create(&a, st_open());
	attr.pd = a.pd;
	attr.send_cq = attr.recv_cq = a.cq;
	cr_expect_null(ibv_create_qp_ex(a.ctx, &attr));
	st_finish(&a);
}

Test(stock, destroy__of_an_object_in_use_returns_ebusy)
{
	struct st_end a;

	st_create(&a, st_open());
	cr_expect_eq(ibv_dealloc_pd(a.pd), EBUSY);
	cr_expect_eq(ibv_destroy_cq(a.cq), EBUSY);
	st_finish(&a);
}

static struct ibv_mr *reg(struct ibv_pd *pd, void *addr, size_t len, unsigned int access, int *err)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_mr(pd, addr, len, access);
	*err = errno;
	return mr;
}

Test(stock, reg_mr__of_what_cannot_be_pinned_returns_efault)
{
	struct ibv_context *ctx = st_open();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	uint8_t *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;
	int err;

	cr_assert_neq((void *)p, MAP_FAILED);
	cr_assert_eq(munmap(p + 4096, 4096), 0);
	cr_expect_null(reg(pd, p, 3 * 4096, ALL, &err));
	cr_expect_eq(err, EFAULT);
	cr_expect_null(reg(pd, p, 4097, 0, &err));
	cr_expect_eq(err, EFAULT);
	cr_assert_eq(mprotect(p, 4096, PROT_READ), 0);
	cr_expect_null(reg(pd, p, 4096, ALL, &err));
	cr_expect_eq(err, EFAULT);
	cr_assert_not_null(mr = reg(pd, p, 4096, IBV_ACCESS_REMOTE_READ, &err));
	cr_expect_eq(ibv_dereg_mr(mr), 0);
	cr_assert_not_null(mr = reg(pd, p + 2 * 4096 + 17, 100, ALL, &err));
	cr_expect_eq(ibv_dereg_mr(mr), 0);
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
	st_close(ctx);
}

Test(stock, reg_mr__invalid_arguments_are_refused)
{
	struct ibv_context *ctx = st_open();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	static uint8_t buf[100];
	int err;

	cr_expect_null(reg(pd, buf, 0, ALL, &err));
	cr_expect_eq(err, EINVAL);
	cr_expect_null(reg(pd, (void *)-4096, 8192, ALL, &err));
	cr_expect_neq(err, 0);
	cr_expect_null(reg(pd, buf, sizeof(buf), IBV_ACCESS_REMOTE_WRITE, &err));
	cr_expect_eq(err, EINVAL);
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
	st_close(ctx);
}

/* Linux returns the same for a device without this capability. */
Test(stock, reg_mr__on_demand_is_not_supported)
{
	struct ibv_context *ctx = st_open();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	static uint8_t buf[100];
	int err;

	cr_expect_null(reg(pd, buf, sizeof(buf), IBV_ACCESS_ON_DEMAND, &err));
	cr_expect_eq(err, EOPNOTSUPP);
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
	st_close(ctx);
}

Test(stock, reg_mr__of_64_mb_and_of_300_regions_succeeds)
{
	enum { MANY = 300 };
	struct ibv_context *ctx = st_open();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	size_t len = 64 << 20;
	uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr[MANY];

	cr_assert_neq((void *)p, MAP_FAILED);
	cr_assert_not_null(mr[0] = ibv_reg_mr(pd, p + 5, len - 5, ALL));
	cr_expect_eq(ibv_dereg_mr(mr[0]), 0);
	for (int i = 0; i < MANY; i++) {
		cr_assert_not_null(mr[i] = ibv_reg_mr(pd, p + i, 4096, ALL));
		for (int k = 0; k < i; k++)
			cr_assert_neq(mr[i]->lkey, mr[k]->lkey);
	}
	for (int i = 0; i < MANY; i++)
		cr_expect_eq(ibv_dereg_mr(mr[i]), 0);
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
	st_close(ctx);
}

Test(stock, query_gid__of_an_empty_or_missing_index_fails)
{
	struct ibv_context *ctx = st_open();
	struct ibv_gid_entry entry, table[64];
	struct ibv_port_attr port;
	union ibv_gid gid;

	cr_assert_eq(ibv_query_port(ctx, 1, &port), 0);
	cr_assert_eq(ibv_query_gid_ex(ctx, 1, 0, &entry, 0), 0);
	cr_expect_eq(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	cr_expect_neq(ibv_query_gid(ctx, 1, port.gid_tbl_len, &gid), 0);
	cr_expect_neq(ibv_query_gid(ctx, 2, 0, &gid), 0);
	cr_expect_eq(ibv_query_gid_ex(ctx, 1, (uint32_t)port.gid_tbl_len - 1, &entry, 0), ENODATA);
	cr_expect_geq(ibv_query_gid_table(ctx, table, 64, 0), 1);
	cr_expect_eq(ibv_query_port(ctx, 2, &port), EINVAL);
	st_close(ctx);
}

/* Linux knows no flag of these queries. */
Test(stock, query_gid__with_a_flag_returns_einval)
{
	struct ibv_context *ctx = st_open();
	struct ibv_gid_entry entry, table[64];

	cr_expect_eq(ibv_query_gid_ex(ctx, 1, 0, &entry, 1), EINVAL);
	cr_expect_eq(ibv_query_gid_table(ctx, table, 64, 1), -EINVAL);
	st_close(ctx);
}
