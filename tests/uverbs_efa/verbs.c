/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs of libefa 44.0 with the front: its encoding of sends and reads, events, refusals. With the
 * two newer queries, also queues that the test writes itself.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <string.h>

#include "tests/harness/harness.h"

enum { MEM = 1 << 16, QKEY = 0x77, DEPTH = 32 };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq_ex *cq;
static struct ibv_qp *qp;
static struct ibv_ah *ah;
static struct ibv_mr *mr;
static uint8_t mem[MEM];

static void to_state(enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = {.qp_state = state, .port_num = 1, .qkey = QKEY, .rnr_retry = 7};

	cr_assert_eq(ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask), 0);
}

static struct ibv_qp *create_qp(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = ibv_cq_ex_to_cq(cq), .recv_cq = ibv_cq_ex_to_cq(cq),
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = 32 },
		.qp_type = IBV_QPT_DRIVER, .pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
			IBV_QP_EX_WITH_RDMA_READ,
	};
	struct efadv_qp_init_attr srd = { .driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD };

	return efadv_create_qp_ex(context, &attr, &srd, sizeof(srd));
}

static void make_qp(void)
{
	cr_assert_not_null(qp = create_qp());
	to_state(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	to_state(IBV_QPS_RTR, 0);
	to_state(IBV_QPS_RTS, IBV_QP_SQ_PSN | IBV_QP_RNR_RETRY);
}

static void setup(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_cq_init_attr_ex attr = { .cqe = 4 * DEPTH, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1 };

	cr_assert(list && list[0]);
	context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	cr_assert(context);
	pd = ibv_alloc_pd(context);
	channel = attr.channel = ibv_create_comp_channel(context);
	cq = ibv_create_cq_ex(context, &attr);
	cr_assert(pd && channel && cq);
	make_qp();
	cr_assert_eq(ibv_query_gid(context, 1, 0, &to.grh.dgid), 0);
	ah = ibv_create_ah(pd, &to);
	mr = ibv_reg_mr(pd, mem, MEM, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_WRITE);
	cr_assert(ah && mr);
}

static void teardown(void)
{
	cr_assert_eq(ibv_destroy_qp(qp), 0);
	cr_assert_eq(ibv_destroy_ah(ah), 0);
	cr_assert_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	cr_assert_eq(ibv_destroy_comp_channel(channel), 0);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	cr_assert_eq(ibv_dealloc_pd(pd), 0);
	cr_assert_eq(ibv_close_device(context), 0);
}

TestSuite(verbs, .init = setup, .fini = teardown);

static void post_recv(uint32_t off)
{
	struct ibv_sge sge = { (uintptr_t)mem + off, 1024, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1 }, *bad;

	cr_assert_eq(ibv_post_recv(qp, &wr, &bad), 0);
}

static struct ibv_wc wait_wc(void)
{
	struct ibv_wc wc = { 0 };

	cr_assert(TH_WITHIN(20000, ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc) == 1));
	cr_assert_eq(wc.status, IBV_WC_SUCCESS, "the completion has status %d, vendor error %u",
		     wc.status, wc.vendor_err);
	return wc;
}

static void start_wr(struct ibv_qp_ex *ex, void (*op)(struct ibv_qp_ex *))
{
	ibv_wr_start(ex);
	ex->wr_id = 7;
	ex->wr_flags = IBV_SEND_SIGNALED;	/* libefa supports no other flags */
	op(ex);
	ibv_wr_set_ud_addr(ex, ah, qp->qp_num, QKEY);
}

static void op_send(struct ibv_qp_ex *ex)
{
	ibv_wr_send_imm(ex, htobe32(0x1234));
}

static void op_read(struct ibv_qp_ex *ex)
{
	ibv_wr_rdma_read(ex, mr->rkey, (uintptr_t)mem + 20000);
}

static void send_100(void)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	start_wr(ex, op_send);
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)mem, 100);
	cr_assert_eq(ibv_wr_complete(ex), 0);
}

Test(verbs, send__arrives_with_its_immediate)
{
	struct ibv_wc wc;

	memset(mem, 0x5a, 100);
	for (int i = 0; i < 3 * DEPTH; i++) {
		post_recv(4096);
		send_100();
		for (int k = 0; k < 2; k++) {
			wc = wait_wc();
			if (wc.opcode != IBV_WC_RECV)
				continue;
			cr_assert_eq(wc.byte_len, 100);
			cr_assert_eq(be32toh(wc.imm_data), 0x1234);
			cr_assert_eq(wc.src_qp, qp->qp_num);
			cr_assert(!memcmp(mem, mem + 4096, 100));
		}
	}
}

Test(verbs, read__of_several_packets_returns_all_bytes)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	for (uint32_t i = 0; i < 20000; i++)
		mem[20000 + i] = (uint8_t)(i * 7);
	start_wr(ex, op_read);
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)mem + 40000, 20000);
	cr_assert_eq(ibv_wr_complete(ex), 0);
	wait_wc();
	cr_assert(!memcmp(mem + 20000, mem + 40000, 20000));
}

Test(verbs, armed_cq__each_arming_causes_one_event)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *got;
	void *user;

	for (int i = 0; i < 6; i++) {
		cr_assert_eq(ibv_req_notify_cq(ibv_cq_ex_to_cq(cq), 0), 0);
		post_recv(4096);
		send_100();
		cr_assert_eq(poll(&p, 1, 20000), 1);
		cr_assert_eq(ibv_get_cq_event(channel, &got, &user), 0);
		ibv_ack_cq_events(got, 1);
		wait_wc();
		wait_wc();
		cr_assert_eq(poll(&p, 1, 0), 0, "one arming caused two events");
	}
}

/* Linux's driver has a vector for each of its event queues. libfabric takes one vector for none. */
Test(verbs, vectors__are_several_and_each_takes_a_cq)
{
	int vectors = context->num_comp_vectors;
	struct ibv_cq *other;

	cr_assert_gt(vectors, 1);
	for (int i = 0; i <= vectors; i++) {
		other = ibv_create_cq(context, DEPTH, NULL, channel, i);
		cr_assert_eq(!other, i == vectors, "vector %d of %d: %s", i, vectors, strerror(errno));
		if (other)
			cr_assert_eq(ibv_destroy_cq(other), 0);
	}
	cr_assert_eq(errno, EINVAL);
}

Test(verbs, device__reports_its_attributes_by_efadv)
{
	struct efadv_device_attr attr;
	struct ibv_port_attr port;
	struct efadv_ah_attr a;

	cr_assert_eq(efadv_query_device(context, &attr, sizeof(attr)), 0);
	cr_assert_eq(attr.device_caps & EFADV_DEVICE_ATTR_CAPS_RDMA_READ,
		     EFADV_DEVICE_ATTR_CAPS_RDMA_READ);
	cr_assert_eq(attr.inline_buf_size, 32);
	cr_assert_eq(attr.max_sq_sge, 2);
	cr_assert_eq(ibv_query_port(context, 1, &port), 0);
	cr_assert_eq(port.max_msg_sz, 8928);
	cr_assert_eq(efadv_query_ah(ah, &a, sizeof(a)), 0);
	cr_assert_lt(a.ahn, 1024);
}

Test(verbs, refusals__are_the_kernels)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };

	cr_assert_null(ibv_reg_mr(pd, mem, MEM, IBV_ACCESS_REMOTE_ATOMIC));
	cr_assert_null(ibv_reg_mr(pd, mem, MEM, IBV_ACCESS_REMOTE_WRITE));
	cr_assert_null(ibv_reg_mr(pd, mem, 0, IBV_ACCESS_LOCAL_WRITE));
	cr_assert_neq(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	cr_assert_eq(ibv_dealloc_pd(pd), EBUSY);
	cr_assert_null(ibv_alloc_mw(pd, IBV_MW_TYPE_1));
}

/* Linux, ib_check_mr_access, then efa_reg_mr, and only then the memory. */
Test(verbs, reg_mr__rights_are_checked_before_the_memory)
{
	static const struct {
		unsigned int access;
		int err;
	} cases[] = {
		{ IBV_ACCESS_REMOTE_ATOMIC, EINVAL },
		{ IBV_ACCESS_LOCAL_WRITE | 1 << 12, EINVAL },
		{ IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC, EOPNOTSUPP },
		{ IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_HUGETLB, EOPNOTSUPP },
		{ IBV_ACCESS_LOCAL_WRITE, EFAULT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		errno = 0;
		cr_expect_null(ibv_reg_mr(pd, (void *)4096, 4096, cases[i].access));
		cr_expect_eq(errno, cases[i].err, "access %#x: %s", cases[i].access, strerror(errno));
	}
}

enum {
	OF_INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
	OF_RTS = IBV_QP_STATE | IBV_QP_SQ_PSN,
};

/* A transition, and what the kernel's efa driver returns for it (efa_modify_qp_validate). */
static const struct transition {
	enum ibv_qp_state to;
	int mask;
	unsigned int port, pkey;
	int err;
} transitions[] = {
	{ IBV_QPS_ERR, IBV_QP_STATE, 1, 0, EINVAL },
	{ IBV_QPS_RTR, IBV_QP_STATE, 1, 0, EINVAL },
	{ IBV_QPS_INIT, OF_INIT & ~IBV_QP_PORT, 1, 0, EINVAL },
	{ IBV_QPS_INIT, OF_INIT & ~IBV_QP_PKEY_INDEX, 1, 0, EINVAL },
	{ IBV_QPS_INIT, OF_INIT & ~IBV_QP_QKEY, 1, 0, EINVAL },
	{ IBV_QPS_INIT, OF_INIT | IBV_QP_SQ_PSN, 1, 0, EINVAL },
	{ IBV_QPS_INIT, OF_INIT | IBV_QP_CUR_STATE, 1, 0, EINVAL },
	{ IBV_QPS_INIT, OF_INIT | IBV_QP_ACCESS_FLAGS, 1, 0, EOPNOTSUPP },
	{ IBV_QPS_INIT, OF_INIT, 2, 0, EINVAL },
	{ IBV_QPS_INIT, OF_INIT, 1, 1, EOPNOTSUPP },
	{ IBV_QPS_INIT, OF_INIT, 1, 0, 0 },
	{ IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_QKEY, 1, 0, 0 },
	{ IBV_QPS_INIT, IBV_QP_QKEY, 1, 0, 0 },
	{ IBV_QPS_RTR, IBV_QP_STATE | IBV_QP_PORT, 1, 0, EINVAL },
	{ IBV_QPS_RTR, IBV_QP_STATE | IBV_QP_RNR_RETRY, 1, 0, EINVAL },
	{ IBV_QPS_RTR, IBV_QP_STATE, 1, 0, 0 },
	{ IBV_QPS_RTS, IBV_QP_STATE, 1, 0, EINVAL },
	{ IBV_QPS_RTS, OF_RTS | IBV_QP_PKEY_INDEX, 1, 0, EINVAL },
	{ IBV_QPS_RTS, OF_RTS | IBV_QP_QKEY | IBV_QP_RNR_RETRY, 1, 0, 0 },
	{ IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_RNR_RETRY, 1, 0, EINVAL },
	{ IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_QKEY, 1, 0, 0 },
	{ IBV_QPS_INIT, OF_INIT, 1, 0, EINVAL },
	{ IBV_QPS_ERR, IBV_QP_STATE | IBV_QP_QKEY, 1, 0, EINVAL },
	{ IBV_QPS_ERR, IBV_QP_STATE, 1, 0, 0 },
	{ IBV_QPS_ERR, IBV_QP_STATE, 1, 0, 0 },
	{ IBV_QPS_RTS, OF_RTS, 1, 0, EINVAL },
	{ IBV_QPS_RESET, IBV_QP_STATE, 1, 0, 0 },
};

Test(verbs, modify_qp__transitions_and_attributes_are_the_kernels)
{
	struct ibv_qp *other = create_qp();

	cr_assert_not_null(other);
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		const struct transition *t = &transitions[i];
		struct ibv_qp_attr attr = { .qp_state = t->to, .port_num = (uint8_t)t->port,
					    .pkey_index = (uint16_t)t->pkey, .qkey = QKEY };
		int err = ibv_modify_qp(other, &attr, t->mask);

		cr_expect_eq(err, t->err, "case %zu: the transition to state %d returned %d", i, t->to, err);
	}
	cr_assert_eq(ibv_destroy_qp(other), 0);
}

/* IBTA 3.5.3: only privileged programs set such a Q_Key. Linux requires CAP_NET_RAW. */
Test(verbs, modify_qp__controlled_qkey_needs_a_capability)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x80000001 };
	struct ibv_qp *other = create_qp();

	cr_assert_not_null(other);
	cr_assert_eq(th_drop_net_raw(), 0);
	cr_expect_eq(ibv_modify_qp(other, &attr, OF_INIT), EPERM);
	attr.qkey = 0x7fffffff;
	cr_expect_eq(ibv_modify_qp(other, &attr, OF_INIT), 0);
	cr_assert_eq(ibv_destroy_qp(other), 0);
}

/* Linux, ib_uverbs_create_ah and rdma_get_gid_attr. */
Test(verbs, create_ah__of_a_port_or_gid_that_does_not_exist_returns_einval)
{
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 2, .grh.dgid.raw = { 0xfe, 0x80 } };

	cr_expect_null(ibv_create_ah(pd, &to));
	cr_expect_eq(errno, EINVAL);
	to.port_num = 1;
	to.grh.sgid_index = 1;
	cr_expect_null(ibv_create_ah(pd, &to));
	cr_expect_eq(errno, EINVAL);
}

/* Linux, ib_uverbs_create_ah: the GID of such a handle is zero. */
Test(verbs, create_ah__without_a_grh_reaches_no_peer)
{
	struct ibv_ah_attr to = { .port_num = 1 };
	struct ibv_ah *global = ah;
	struct ibv_wc wc = { 0 };

	cr_assert_eq(ibv_query_gid(context, 1, 0, &to.grh.dgid), 0);
	cr_assert_not_null(ah = ibv_create_ah(pd, &to));
	post_recv(4096);
	send_100();
	cr_assert(TH_WITHIN(20000, ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc) == 1));
	cr_expect_neq(wc.status, IBV_WC_SUCCESS);
	cr_assert_eq(ibv_destroy_ah(ah), 0);
	ah = global;
}

/* Linux, efa_query_qp: EFA_QUERY_QP_SUPP_MASK. */
Test(verbs, query_qp__of_an_attribute_that_an_efa_lacks_is_refused)
{
	const int known = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY | IBV_QP_SQ_PSN |
		IBV_QP_CAP | IBV_QP_RNR_RETRY;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	cr_expect_eq(ibv_query_qp(qp, &attr, known, &init), 0);
	for (int bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1)
		if (!(known & bit))
			cr_expect_eq(ibv_query_qp(qp, &attr, bit, &init), EOPNOTSUPP, "attribute %#x", bit);
}

/* ---- rdma-core 59 and 60 */

struct wq_attr {
	uint64_t comp_mask;
	uint8_t *buffer;
	uint32_t entry_size, num_entries;
	uint32_t *doorbell;
	uint32_t max_batch;
	uint8_t reserved[4];
};

struct cq_attr {
	uint64_t comp_mask;
	uint8_t *buffer;
	uint32_t entry_size, num_entries;
	uint32_t *doorbell;
};

typedef int query_wqs(struct ibv_qp *qp, struct wq_attr *sq, struct wq_attr *rq, uint32_t inlen);
typedef int query_cq(struct ibv_cq *cq, struct cq_attr *attr, uint32_t inlen);

static void put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

/* Writes a WQE of an RDMA write directly, because libefa 44.0 cannot encode it. */
static void write_by_hand(const struct wq_attr *sq, uint16_t ahn)
{
	uint8_t w[64] = { 0x21, 0, 0x82, 0x1c };
	uint64_t to = (uintptr_t)mem + 30000, from = (uintptr_t)mem;

	put32(w + 4, qp->qp_num | 1u << 16);
	w[12] = (uint8_t)ahn;
	w[13] = (uint8_t)(ahn >> 8);
	put32(w + 16, QKEY);
	put32(w + 32, 500);
	put32(w + 36, mr->rkey);
	memcpy(w + 40, &to, 8);
	put32(w + 48, 500);
	put32(w + 52, mr->lkey);
	memcpy(w + 56, &from, 8);
	memcpy(sq->buffer, w, sizeof(w));
	__atomic_store_n(sq->doorbell, 1, __ATOMIC_RELEASE);
}

Test(verbs, queries_of_the_queues__lead_to_them)
{
	union { void *p; query_wqs *f; } wqs = { dlsym(RTLD_DEFAULT, "efadv_query_qp_wqs") };
	union { void *p; query_cq *f; } cqs = { dlsym(RTLD_DEFAULT, "efadv_query_cq") };
	struct wq_attr sq, rq;
	struct efadv_ah_attr a;
	struct cq_attr c;

	cr_assert(wqs.p && cqs.p);
	cr_assert_eq(wqs.f(qp, &sq, &rq, 8), EINVAL);
	cr_assert_eq(wqs.f(qp, &sq, &rq, sizeof(sq)), 0);
	cr_assert_eq(sq.entry_size, 64);
	cr_assert_eq(sq.num_entries, DEPTH);
	cr_assert_eq(sq.max_batch, DEPTH - 1);
	cr_assert_eq(rq.entry_size, 16);
	cr_assert_eq(rq.num_entries, DEPTH);
	cr_assert_eq(cqs.f(ibv_cq_ex_to_cq(cq), &c, sizeof(c)), 0);
	cr_assert_eq(c.num_entries, 4 * DEPTH);
	/* sizes that the structure has in 44.0 and in 56.0 */
	cr_assert(c.entry_size == 16 || c.entry_size == 32,
		  "the CQ entry size is %u instead of 16 or 32", c.entry_size);
	cr_assert(c.doorbell);
	cr_assert_eq(efadv_query_ah(ah, &a, sizeof(a)), 0);
	memset(mem, 0x33, 500);
	write_by_hand(&sq, a.ahn);
	cr_assert(TH_WITHIN(20000, __atomic_load_n(c.buffer + 3, __ATOMIC_ACQUIRE) & 1));
	cr_assert_eq(c.buffer[0], 0x21);
	cr_assert_eq(c.buffer[2], 0);
	cr_assert(!memcmp(mem, mem + 30000, 500));
}
