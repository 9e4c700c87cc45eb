/* SPDX-License-Identifier: BSD-2-Clause */
/* The access alone: calls that fail leak nothing, and return the reason. */
#include <criterion/criterion.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "hw_mlx5/cmd.h"
#include "tests/harness/harness.h"
#include "tests/uverbs/calls.h"
#include "tests/uverbs/opened.h"

static struct m5_ctl *ctl;

static void open_one(void)
{
	setenv("DAPL_DBG_TYPE", "0", 1);
	ctl = opened("mlx5_0-1", "");
}

static void close_one(void)
{
	ctl->ops->close(ctl);
	cr_assert_eq(calls_held(), 0, "%ld objects are leaked", calls_held());
}

TestSuite(ctl, .init = open_one, .timeout = 60);

/* The kernel's driver has selected the order when it booted the device. */
Test(ctl, m5_cmd_caps__reports_atomics_in_the_hosts_order)
{
	struct m5_dev_caps caps;

	cr_assert_eq(m5_cmd_caps(ctl, &caps), 0);
	cr_expect(caps.atomics);
	close_one();
}

/* The kernel's driver reads the same limits from the device. */
static struct ibv_device_attr told_by_the_kernel(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list && *list ? ibv_open_device(*list) : NULL;
	struct ibv_device_attr attr;

	cr_assert_not_null(ctx);
	cr_assert_eq(ibv_query_device(ctx, &attr), 0);
	ibv_close_device(ctx);
	ibv_free_device_list(list);
	return attr;
}

Test(ctl, m5_cmd_caps__limits_are_those_of_the_kernel)
{
	struct ibv_device_attr attr = told_by_the_kernel();
	struct m5_dev_caps caps;

	cr_assert_eq(m5_cmd_caps(ctl, &caps), 0);
	cr_expect_eq((int)caps.max_qp, attr.max_qp);
	cr_expect_eq((int)caps.max_cq, attr.max_cq);
	cr_expect_eq((int)caps.max_cqe, attr.max_cqe + 1);
	cr_expect_eq((int)caps.max_mkey, attr.max_mr);
	cr_expect_eq((int)caps.max_pd, attr.max_pd);
	cr_expect_eq((int)caps.max_srq, attr.max_srq);
	cr_expect_eq((int)caps.max_srq_wqe, attr.max_srq_wr + 1);
	cr_expect_eq((int)caps.max_rd_in, attr.max_qp_rd_atom);
	cr_expect_eq((int)caps.max_rd_out, attr.max_qp_init_rd_atom);
	close_one();
}

static int channel_when(const char *call, int err)
{
	struct m5_evch *ch = NULL;
	int ret;

	calls_fail_named(call, err);
	ret = ctl->ops->evch_create(ctl, &ch);
	calls_stop();
	cr_assert_null(ch);
	return ret;
}

Test(ctl, evch_create__that_fails_returns_the_error)
{
	struct m5_evch *ch = NULL;
	int ret;

	cr_assert_eq(channel_when("mlx5dv_devx_create_event_channel", EMFILE), -EMFILE);
	cr_assert_eq(channel_when("mlx5dv_devx_create_event_channel", EPERM), -EPERM);
	cr_assert_eq(channel_when("fcntl", ENOMEM), -ENOMEM);
	th_fail_start(TH_FAIL_HEAP, 1);
	ret = ctl->ops->evch_create(ctl, &ch);
	th_fail_stop();
	cr_assert_eq(ret, -ENOMEM);
	close_one();
}

/* Creates an object without attributes, by PRM ALLOC_PD. */
static struct m5_obj *make(void)
{
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(0x800) };
	struct m5_obj *obj = NULL;
	uint32_t number;

	cr_assert_eq(m5_cmd_create(ctl, &in, sizeof(in), &obj, &number), 0);
	return obj;
}

/* The object stays in the context. Closing the context frees it. */
Test(ctl, obj_destroy__that_is_refused_leaves_the_object_to_close)
{
	struct m5_obj *obj = make();
	long before = calls_held();

	calls_fail_named("mlx5dv_devx_obj_destroy", EBUSY);
	cr_assert_eq(ctl->ops->obj_destroy(obj), -EBUSY);
	calls_stop();
	cr_assert_eq(calls_held(), before);
	ctl->ops->close(ctl);
}

Test(ctl, obj_create__without_memory_returns_enomem)
{
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(0x800) };
	struct m5_obj_out out = { 0 };
	struct m5_obj *obj = NULL;
	int ret;

	th_fail_start(TH_FAIL_HEAP, 1);
	ret = ctl->ops->obj_create(ctl, &in, sizeof(in), &out, sizeof(out), &obj);
	th_fail_stop();
	cr_assert_eq(ret, -ENOMEM);
	cr_assert_null(obj);
	close_one();
}

Test(ctl, timer__that_the_kernel_does_not_map_fails)
{
	uint64_t ticks;

	calls_fail_named("ibv_query_rt_values_ex", EOPNOTSUPP);
	cr_assert_eq(ctl->ops->timer(ctl, &ticks), -EOPNOTSUPP);
	calls_stop();
	cr_assert_eq(ctl->ops->timer(ctl, &ticks), 0);
	close_one();
}
