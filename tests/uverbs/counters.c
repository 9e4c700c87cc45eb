/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters of the port in sysfs count a QP that has their set. Linux puts it into each QP of verbs. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "hw_mlx5/ctl/ctl.h"
#include "tests/e2e/life.h"
#include "tests/uverbs/calls.h"
#include "tests/uverbs/opened.h"

TestSuite(counters, .timeout = 60);

/* Calls without which the set is not known. */
static const char *const calls[] = { "ibv_create_cq", "ibv_create_qp", "ibv_modify_qp",
				     "mlx5dv_devx_qp_query" };
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

/* PRM, QUERY_QP: the QPN is in bytes 9 to 11; the context is 0x18 bytes into the answer, and counter_set_id
 * 0x0c bytes into that. */
static uint8_t set_of(struct ibv_qp *qp)
{
	uint8_t in[16] = { 0x05, 0x0b, [9] = (uint8_t)(qp->qp_num >> 16), [10] = (uint8_t)(qp->qp_num >> 8),
			   [11] = (uint8_t)qp->qp_num }, out[272] = { 0 };

	cr_assert_eq(mlx5dv_devx_qp_query(qp, in, sizeof(in), out, sizeof(out)), 0);
	return out[0x18 + 0x0c];
}

/* Returns the set that the kernel gives to a QP of another program. */
static uint8_t kernels_set(void)
{
	struct mlx5dv_context_attr devx = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = mlx5dv_open_device(list[0], &devx);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);
	uint8_t set;

	cr_assert_eq(ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				   IBV_QP_ACCESS_FLAGS), 0);
	set = set_of(qp);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	ibv_free_device_list(list);
	cr_assert_neq(set, 0);
	return set;
}

static uint8_t set_when_opened(void)
{
	struct m5_ctl *ctl = opened("mlx5_0-1", "");
	uint8_t set = ctl->counter_set;

	ctl->ops->close(ctl);
	cr_expect_eq(calls_held(), 0, "%ld objects are leaked", calls_held());
	return set;
}

Test(counters, m5_ctl_open__reads_the_set_of_the_port)
{
	cr_expect_eq(set_when_opened(), kernels_set());
}

Test(counters, m5_ctl_open__without_the_set_succeeds)
{
	setenv("DAPL_DBG_TYPE", "0", 1);
	for (int i = 0; i < CALLS; i++) {
		calls_fail_named(calls[i], ENOMEM);
		cr_expect_eq(set_when_opened(), 0, "%s failed, and there is a set", calls[i]);
		cr_expect_str_eq(calls_failed(), calls[i], "%s was not called", calls[i]);
		calls_stop();
	}
}

/* Opens an IA, and connects two endpoints of it. */
static void live(void)
{
	struct life l;

	rig_conf("");
	setenv("DAPL_DBG_TYPE", "0", 1);
	cr_assert(life_run(&l, SOON_MS), "the run failed: %s", life_words(&l));
}

Test(counters, rst2init__has_the_set_of_the_port)
{
	live();
	cr_expect_eq(calls_counter_set, kernels_set());
}

Test(counters, rst2init__without_the_set_has_none)
{
	calls_counter_set = 0xff;
	calls_fail_named("mlx5dv_devx_qp_query", EPERM);
	live();
	calls_stop();
	cr_expect_eq(calls_counter_set, 0);
}

/* In the automatic mode of rdma-statistic the kernel frees the set with the last QP of verbs that has it. */
Test(counters, rst2init__whose_set_is_gone_is_repeated_without_it)
{
	calls_counter_set = 0xff;
	calls_reported_set = 0x77;
	live();
	cr_expect_eq(calls_counter_set, 0);
}
