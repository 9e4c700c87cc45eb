/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that libibverbs would never send, sent directly by ioctl. */
#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "tests/stock/devx.h"

enum { ROOM = 40 };

union command {
	struct ib_uverbs_ioctl_hdr hdr;
	uint8_t bytes[sizeof(struct ib_uverbs_ioctl_hdr) + ROOM * sizeof(struct ib_uverbs_attr)];
};

static void add(union command *c, uint16_t id, const void *data, size_t len)
{
	struct ib_uverbs_attr *a = &c->hdr.attrs[c->hdr.num_attrs++];

	*a = (struct ib_uverbs_attr){ .attr_id = id, .len = (uint16_t)len };
	if (data && len <= sizeof(a->data) && id != UVERBS_ATTR_CORE_OUT)
		memcpy(&a->data, data, len);
	else
		a->data = (uintptr_t)data;
	c->hdr.length = (uint16_t)(sizeof(c->hdr) + c->hdr.num_attrs * sizeof(*a));
}

static int run(struct ibv_context *ctx, union command *c)
{
	return ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &c->hdr) ? errno : 0;
}

/* Sends a write command with the core's input, and room for an answer. */
static int write_cmd(struct ibv_context *ctx, uint32_t number, const void *in, size_t len,
		     size_t room)
{
	uint64_t command = number;
	union command c = { .hdr = { .object_id = UVERBS_OBJECT_DEVICE, .driver_id = RDMA_DRIVER_MLX5,
				      .method_id = UVERBS_METHOD_INVOKE_WRITE } };
	uint8_t out[1024] = { 0 };

	add(&c, UVERBS_ATTR_WRITE_CMD, &command, sizeof(command));
	if (len)
		add(&c, UVERBS_ATTR_CORE_IN, in, len);
	if (room)
		add(&c, UVERBS_ATTR_CORE_OUT, out, room);
	return run(ctx, &c);
}

Test(stock, ioctl__shorter_than_its_command_is_refused)
{
	struct ibv_context *ctx = st_open();
	uint8_t zero[256] = { 0 };

	for (uint32_t cmd = 0; cmd < 64; cmd++) {
		for (uint32_t ext = 0; ext <= IB_USER_VERBS_CMD_FLAG_EXTENDED;
		     ext += IB_USER_VERBS_CMD_FLAG_EXTENDED) {
			cr_expect_neq(write_cmd(ctx, cmd | ext, NULL, 0, 0), 0,
				      "command %u without input was accepted", cmd);
			if (!ext && cmd == IB_USER_VERBS_CMD_DEALLOC_PD)
				continue;
			cr_expect_neq(write_cmd(ctx, cmd | ext, zero, 3, 0), 0,
				      "command %u with 3 bytes of input was accepted", cmd);
			if (ext)
				break;
		}
	}
	cr_expect_eq(write_cmd(ctx, IB_USER_VERBS_CMD_QUERY_DEVICE, NULL, 0, 0), ENOSPC);
	cr_expect_eq(write_cmd(ctx, IB_USER_VERBS_CMD_POST_SEND, zero, 32, 0), EOPNOTSUPP);
	st_close(ctx);
}

Test(stock, ioctl__handles_that_are_none_or_of_another_kind_are_refused)
{
	struct ibv_context *ctx = st_open(), *other = st_open();
	struct ib_uverbs_alloc_mw mw = { .mw_type = IBV_MW_TYPE_2 };
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	const uint32_t handle[] = { 0, 1u << 20, UINT32_MAX, pd->handle };

	/* Linux refuses an unknown handle in lookup_get_idr_uobject, and a handle of another kind
	 * in rdma_lookup_get_uobject. */
	for (size_t i = 0; i < sizeof(handle) / sizeof(handle[0]); i++) {
		int want = handle[i] == pd->handle ? EINVAL : ENOENT;
		struct ib_uverbs_destroy_qp qp = { .qp_handle = handle[i] };
		struct ib_uverbs_destroy_cq cq = { .cq_handle = handle[i] };
		struct ib_uverbs_dereg_mr mr = { .mr_handle = handle[i] };
		struct ib_uverbs_destroy_srq srq = { .srq_handle = handle[i] };
		struct ib_uverbs_query_qp query = { .qp_handle = handle[i] };
		struct ib_uverbs_modify_qp modify = { .qp_handle = handle[i], .attr_mask = 1 };

		cr_expect_eq(write_cmd(ctx, IB_USER_VERBS_CMD_DESTROY_QP, &qp, sizeof(qp), 4), want);
		cr_expect_eq(write_cmd(ctx, IB_USER_VERBS_CMD_DESTROY_CQ, &cq, sizeof(cq), 8), want);
		cr_expect_eq(write_cmd(ctx, IB_USER_VERBS_CMD_DEREG_MR, &mr, sizeof(mr), 0), want);
		cr_expect_eq(write_cmd(ctx, IB_USER_VERBS_CMD_QUERY_QP, &query, sizeof(query), 128),
			     want);
		cr_expect_eq(write_cmd(ctx, IB_USER_VERBS_CMD_MODIFY_QP, &modify, sizeof(modify), 0),
			     want);
		cr_expect_eq(write_cmd(ctx, IB_USER_VERBS_CMD_DEALLOC_MW, &handle[i], 4, 0), want);
		cr_expect_eq(write_cmd(ctx, IB_USER_VERBS_CMD_DESTROY_SRQ, &srq, sizeof(srq), 4), want);
	}
	cr_expect_eq(write_cmd(other, IB_USER_VERBS_CMD_DEALLOC_PD, &pd->handle, 4, 0), ENOENT,
		     "a context freed the PD of another context");
	mw.pd_handle = pd->handle;
	cr_expect_eq(write_cmd(other, IB_USER_VERBS_CMD_ALLOC_MW, &mw, sizeof(mw), 8), ENOENT);
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
	st_close(ctx);
	st_close(other);
}

/* Linux refuses such an index in rdma_get_gid_attr. */
Test(stock, ioctl__address_handle_with_a_missing_gid_returns_einval)
{
	struct ibv_context *ctx = st_open();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ib_uverbs_create_ah in = { .pd_handle = pd->handle,
					  .attr = { .is_global = 1, .port_num = 1,
						    .grh = { .dgid = { 0xfe, 0x80 } } } };
	struct ibv_port_attr port;

	cr_assert_eq(ibv_query_port(ctx, 1, &port), 0);
	in.attr.grh.sgid_index = (uint8_t)port.gid_tbl_len;
	cr_expect_eq(write_cmd(ctx, IB_USER_VERBS_CMD_CREATE_AH, &in, sizeof(in), 4), EINVAL);
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
	st_close(ctx);
}

Test(stock, ioctl__headers_that_lie_are_refused)
{
	struct ibv_context *ctx = st_open();
	union command c = { .hdr = { .object_id = UVERBS_OBJECT_DEVICE, .driver_id = RDMA_DRIVER_MLX5 } };

	add(&c, UVERBS_ATTR_WRITE_CMD, &(uint64_t){ 1 }, 8);
	c.hdr.length--;
	cr_expect_eq(run(ctx, &c), EINVAL);
	c.hdr.length++;
	c.hdr.num_attrs = 0xffff;
	cr_expect_eq(run(ctx, &c), EINVAL);
	c.hdr.num_attrs = 1;
	c.hdr.reserved2 = 1;
	cr_expect_eq(run(ctx, &c), EPROTONOSUPPORT);
	c.hdr.reserved2 = 0;
	c.hdr.driver_id = RDMA_DRIVER_MLX4;
	cr_expect_eq(run(ctx, &c), EINVAL, "a command for another driver was accepted");
	c.hdr.driver_id = RDMA_DRIVER_MLX5;
	c.hdr.attrs[0].attr_id = UVERBS_ATTR_CORE_IN;
	cr_expect_eq(run(ctx, &c), EINVAL,
		     "a command without a number was not refused with EINVAL");
	cr_expect_eq(ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, NULL), -1);
	cr_expect_eq(errno, EFAULT);
	c.hdr.object_id = 0x7777;
	cr_expect_eq(run(ctx, &c), EPROTONOSUPPORT);
	st_close(ctx);
}

/* Asks for the number of the EQ. id: an attribute behind those of the method. */
static int query_eqn_with(struct ibv_context *ctx, uint16_t id, uint16_t flags)
{
	union command c = { .hdr = { .object_id = MLX5_IB_OBJECT_DEVX, .driver_id = RDMA_DRIVER_MLX5,
				      .method_id = MLX5_IB_METHOD_DEVX_QUERY_EQN } };
	uint32_t eqn;

	add(&c, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, &(uint32_t){ 0 }, 4);
	add(&c, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, NULL, sizeof(eqn));
	c.hdr.attrs[1].data = (uintptr_t)&eqn;
	add(&c, id, &(uint32_t){ 0 }, 4);
	c.hdr.attrs[2].flags = flags;
	return run(ctx, &c);
}

/* Linux does this in uverbs_set_attr. */
Test(stock, ioctl__attribute_that_is_unknown_or_there_twice)
{
	const uint16_t unknown[] = { 0, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN + 1, 0x2000, 0xffff };
	struct ibv_context *ctx = st_open();

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		cr_expect_eq(query_eqn_with(ctx, unknown[i], 0), 0);
		cr_expect_eq(query_eqn_with(ctx, unknown[i], UVERBS_ATTR_F_MANDATORY), EPROTONOSUPPORT,
			     "the mandatory attribute %#x is ignored", unknown[i]);
	}
	cr_expect_eq(query_eqn_with(ctx, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, 0), EINVAL);
	cr_expect_eq(query_eqn_with(ctx, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, UVERBS_ATTR_F_MANDATORY),
		     EINVAL);
	st_close(ctx);
}

/* Sends CREATE_CQ with a buffer and a doorbell record at these addresses. */
static int create_cq_at(struct ibv_context *ctx, uint64_t buf, uint64_t record)
{
	const struct ib_uverbs_create_cq core = { .cqe = 15, .comp_channel = -1 };
	const struct mlx5_ib_create_cq drv = {
		.buf_addr = buf, .db_addr = record, .cqe_size = 64,
		.flags = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX,
	};
	const uint64_t command = IB_USER_VERBS_CMD_CREATE_CQ;
	union command c = { .hdr = { .object_id = UVERBS_OBJECT_DEVICE, .driver_id = RDMA_DRIVER_MLX5,
				      .method_id = UVERBS_METHOD_INVOKE_WRITE } };
	uint8_t out[64] = { 0 };

	add(&c, UVERBS_ATTR_WRITE_CMD, &command, sizeof(command));
	add(&c, UVERBS_ATTR_CORE_IN, &core, sizeof(core));
	add(&c, UVERBS_ATTR_CORE_OUT, out, sizeof(out));
	add(&c, UVERBS_ATTR_UHW_IN, &drv, sizeof(drv));
	return run(ctx, &c);
}

Test(stock, create_cq__memory_that_is_not_mapped_returns_efault)
{
	/* far from the addresses at which another thread may map memory into the hole */
	void *far = (void *)(uintptr_t)0x200000000000;
	struct ibv_context *ctx = st_open();
	uint8_t *hole = mmap(far, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(hole, MAP_FAILED);
	cr_assert_eq(munmap(hole + 4096, 4096), 0);
	cr_expect_eq(create_cq_at(ctx, (uintptr_t)hole + 4096, (uintptr_t)hole), EFAULT);
	cr_expect_eq(create_cq_at(ctx, (uintptr_t)hole + 4096 - 64, (uintptr_t)hole), EFAULT);
	cr_expect_eq(create_cq_at(ctx, (uintptr_t)hole, (uintptr_t)hole + 4096), EFAULT);
	cr_expect_neq(create_cq_at(ctx, (uintptr_t)hole, (uintptr_t)hole + 8192), EFAULT);
	munmap(hole, 4096);
	munmap(hole + 8192, 4096);
	st_close(ctx);
}

Test(stock, ioctl__queues_of_impossible_shape_are_refused)
{
	struct ibv_context *ctx = st_open();
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);

	cr_expect_null(ibv_create_cq(ctx, 0, NULL, NULL, 0));
	cr_expect_null(ibv_create_cq(ctx, INT32_MAX, NULL, NULL, 0));
	cr_expect_null(ibv_create_cq(ctx, 8, NULL, NULL, 1),
		       "a CQ with a missing completion vector was created");
	attr.send_cq = attr.recv_cq = cq;
	cr_expect_null(ibv_create_qp(pd, &attr), "a QP without queues was created");
	attr.cap.max_send_wr = 1 << 24;
	cr_expect_null(ibv_create_qp(pd, &attr));
	attr.cap = (struct ibv_qp_cap){ .max_send_wr = 4, .max_send_sge = 1000 };
	cr_expect_null(ibv_create_qp(pd, &attr));
	attr.cap.max_send_sge = 1;
	attr.qp_type = IBV_QPT_UC;
	cr_expect_null(ibv_create_qp(pd, &attr), "a QP of a type other than RC and UD was created");
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	st_close(ctx);
}

/* Linux, ib_umem_get: the last page must end within the address space. */
Test(stock, reg__up_to_the_last_byte_of_the_address_space_returns_einval)
{
	struct ibv_context *ctx = dx_open();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	cr_expect_null(ibv_reg_mr(pd, NULL, SIZE_MAX, 0));
	cr_expect_eq(errno, EINVAL);
	cr_expect_null(mlx5dv_devx_umem_reg(ctx, NULL, SIZE_MAX, 0));
	cr_expect_eq(errno, EINVAL);
	ibv_dealloc_pd(pd);
	st_close(ctx);
}
