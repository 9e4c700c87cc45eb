/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that libefa would never send, sent directly by ioctl: the kernel's efa driver refuses them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/efa-abi.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <string.h>
#include <sys/ioctl.h>

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static void setup(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	cr_assert(list && list[0]);
	cr_assert_not_null(context = ibv_open_device(list[0]));
	ibv_free_device_list(list);
	cr_assert_not_null(pd = ibv_alloc_pd(context));
	cr_assert_not_null(cq = ibv_create_cq(context, 64, NULL, NULL, 0));
}

/* Closing the context destroys what the commands have made. */
static void teardown(void)
{
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	cr_assert_eq(ibv_dealloc_pd(pd), 0);
	cr_assert_eq(ibv_close_device(context), 0);
}

TestSuite(raw, .init = setup, .fini = teardown, .timeout = 60);

/* A command: the core's part and the provider's part. */
struct command {
	uint32_t number;
	uint8_t core[80];
	uint8_t drv[32];
	size_t core_len, drv_len;
};

/* Returns the errno. An object that the command makes stays; its handle comes first in the answer. */
static int run(const struct command *c, uint32_t *handle)
{
	uint8_t answer[64] = { 0 }, drv_answer[128] = { 0 };
	const struct ib_uverbs_attr attrs[] = {
		{ .attr_id = UVERBS_ATTR_WRITE_CMD, .len = 8, .data = c->number },
		{ .attr_id = UVERBS_ATTR_CORE_IN, .len = (uint16_t)c->core_len, .data = (uintptr_t)c->core },
		{ .attr_id = UVERBS_ATTR_CORE_OUT, .len = sizeof(answer), .data = (uintptr_t)answer },
		{ .attr_id = UVERBS_ATTR_UHW_IN, .len = (uint16_t)c->drv_len, .data = (uintptr_t)c->drv },
		{ .attr_id = UVERBS_ATTR_UHW_OUT, .len = sizeof(drv_answer), .data = (uintptr_t)drv_answer },
	};
	union {
		struct ib_uverbs_ioctl_hdr hdr;
		uint8_t bytes[sizeof(struct ib_uverbs_ioctl_hdr) + sizeof(attrs)];
	} m = { .hdr = { .object_id = UVERBS_OBJECT_DEVICE, .method_id = UVERBS_METHOD_INVOKE_WRITE,
			 .driver_id = RDMA_DRIVER_EFA, .num_attrs = 5, .length = sizeof(m) } };
	int err;

	memcpy(m.bytes + sizeof(m.hdr), attrs, sizeof(attrs));
	err = ioctl(context->cmd_fd, RDMA_VERBS_IOCTL, &m.hdr) ? errno : 0;
	memcpy(handle, answer, sizeof(*handle));
	return err;
}

/* A change of one field of a correct command, and the errno that it must cause. */
struct change {
	bool drv;
	size_t at;
	uint32_t value;
	uint8_t size;
	size_t drv_len;			/* 0: as long as it has to be */
	int err;
};

#define CORE(type, field, v, e) \
	{ false, offsetof(struct type, field), v, sizeof(((struct type *)0)->field), 0, e }

/* Runs the correct command with each change, and destroys what it makes by the command `destroy`. */
static void try_changes(const struct command *good, const struct change *changes, size_t n, uint32_t destroy)
{
	for (size_t i = 0; i < n; i++) {
		const struct change *c = &changes[i];
		struct command bad = *good, end = { .number = destroy, .core_len = 16 };
		uint32_t handle;
		int err;

		memcpy((c->drv ? bad.drv : bad.core) + c->at, &c->value, c->size);
		if (c->drv_len)
			bad.drv_len = c->drv_len;
		err = run(&bad, &handle);
		cr_expect_eq(err, c->err, "case %zu: the command returned %d instead of %d", i, err, c->err);
		if (err)
			continue;
		memcpy(end.core + 8, &handle, sizeof(handle));
		cr_assert_eq(run(&end, &handle), 0);
	}
}

/* Offsets in the provider's part, which old headers do not have in full. */
enum { QP_FLAGS = 16, QP_RESERVED = 19, QP_LEN = 24, CQ_RESERVED = 11, CQ_LEN = 16 };

Test(raw, create_qp__what_the_kernel_refuses_is_refused)
{
	static const struct change changes[] = {
		CORE(ib_uverbs_create_qp, max_send_wr, 64, 0),
		CORE(ib_uverbs_create_qp, max_send_wr, 1 << 20, EINVAL),
		CORE(ib_uverbs_create_qp, max_recv_wr, 1 << 20, EINVAL),
		CORE(ib_uverbs_create_qp, max_send_sge, 3, EINVAL),
		CORE(ib_uverbs_create_qp, max_recv_sge, 3, EINVAL),
		CORE(ib_uverbs_create_qp, max_inline_data, 1000, EINVAL),
		CORE(ib_uverbs_create_qp, qp_type, IBV_QPT_RC, EOPNOTSUPP),
		{ true, offsetof(struct efa_ibv_create_qp, comp_mask), 1, 4, 0, EINVAL },
		{ true, offsetof(struct efa_ibv_create_qp, driver_qp_type), 7, 4, 0, EOPNOTSUPP },
		{ true, offsetof(struct efa_ibv_create_qp, sq_ring_size), 64 * 64 + 32, 4, 0, EINVAL },
		{ true, offsetof(struct efa_ibv_create_qp, rq_ring_size), 64 * 16 + 8, 4, 0, EINVAL },
		{ true, QP_FLAGS, 1 << 15, 2, 0, EOPNOTSUPP },
		{ true, QP_RESERVED, 1, 1, 0, EINVAL },
		{ true, 0, 0, 1, 12, EINVAL },
	};
	struct command good = { .number = IB_USER_VERBS_CMD_CREATE_QP,
				.core_len = sizeof(struct ib_uverbs_create_qp), .drv_len = QP_LEN };
	const struct ib_uverbs_create_qp core = {
		.pd_handle = pd->handle, .send_cq_handle = cq->handle, .recv_cq_handle = cq->handle,
		.max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1,
		.qp_type = IBV_QPT_DRIVER,
	};
	const struct efa_ibv_create_qp drv = { .rq_ring_size = 64 * 16, .sq_ring_size = 64 * 64,
					       .driver_qp_type = EFA_QP_DRIVER_TYPE_SRD };

	memcpy(good.core, &core, sizeof(core));
	memcpy(good.drv, &drv, sizeof(drv));
	try_changes(&good, changes, sizeof(changes) / sizeof(changes[0]), IB_USER_VERBS_CMD_DESTROY_QP);
}

Test(raw, create_cq__what_the_kernel_refuses_is_refused)
{
	static const struct change changes[] = {
		CORE(ib_uverbs_ex_create_cq, cqe, 64, 0),
		CORE(ib_uverbs_ex_create_cq, cqe, 0, EINVAL),
		CORE(ib_uverbs_ex_create_cq, cqe, 1 << 20, EINVAL),
		CORE(ib_uverbs_ex_create_cq, comp_vector, 1000, EINVAL),
		CORE(ib_uverbs_ex_create_cq, comp_mask, 1, EINVAL),
		CORE(ib_uverbs_ex_create_cq, flags, IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN, EOPNOTSUPP),
		{ true, offsetof(struct efa_ibv_create_cq, comp_mask), 1, 4, 0, EINVAL },
		{ true, offsetof(struct efa_ibv_create_cq, cq_entry_size), 24, 4, 0, EINVAL },
		{ true, offsetof(struct efa_ibv_create_cq, cq_entry_size), 1 << 16 | 32, 4, 0, EINVAL },
		{ true, offsetof(struct efa_ibv_create_cq, num_sub_cqs), 2, 2, 0, EINVAL },
		{ true, CQ_RESERVED, 1, 1, 0, EINVAL },
		{ true, 0, 0, 1, 9, EINVAL },
	};
	struct command good = { .number = IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_CREATE_CQ,
				.core_len = sizeof(struct ib_uverbs_ex_create_cq), .drv_len = CQ_LEN };
	const struct ib_uverbs_ex_create_cq core = { .cqe = 64, .comp_channel = -1 };
	const struct efa_ibv_create_cq drv = { .cq_entry_size = 32, .num_sub_cqs = 1 };

	memcpy(good.core, &core, sizeof(core));
	memcpy(good.drv, &drv, sizeof(drv));
	try_changes(&good, changes, sizeof(changes) / sizeof(changes[0]), IB_USER_VERBS_CMD_DESTROY_CQ);
}
