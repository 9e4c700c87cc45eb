/* SPDX-License-Identifier: BSD-2-Clause */
/* The address path of a connection, on Ethernet and on InfiniBand. */
#include <errno.h>
#include <stdlib.h>

#include "hw_mlx5/cmd.h"
#include "tests/e2e/life.h"
#include "tests/uverbs/calls.h"
#include "tests/uverbs/opened.h"

TestSuite(path, .timeout = 60);

static const uint8_t router[6] = { 0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee };
/* PRM, address path: rmac at 0x26. */
enum { RMAC = 0x26 };

static void live(void)
{
	struct life l;

	rig_conf("");
	setenv("DAPL_DBG_TYPE", "0", 1);
	cr_assert(life_run(&l, SOON_MS), "the run failed: %s", life_words(&l));
}

/* No port has the router's MAC, so nothing arrives. The path shows what the QP got. */
static void connect_by_router(void)
{
	struct life l;

	calls_port.router = router;
	rig_conf("");
	setenv("DAPL_DBG_TYPE", "0", 1);
	life_run(&l, SOON_MS);
}

Test(path, next_hop__is_the_kernels_answer)
{
	connect_by_router();
	cr_assert_arr_eq(calls_path + RMAC, router, sizeof(router));
}

/* If the kernel does not know the next hop, the connection uses the MAC that the peer has sent. */
Test(path, next_hop__unknown_to_the_kernel_is_the_peer)
{
	static const uint8_t none[6];

	calls_port.router = router;
	calls_fail_named("ibv_create_ah", EHOSTUNREACH);
	live();
	calls_stop();
	cr_assert_arr_neq(calls_path + RMAC, router, sizeof(router));
	cr_assert_arr_neq(calls_path + RMAC, none, sizeof(none));
}

/* Only that case needs the MAC, so a device that does not report it can be opened nevertheless. */
Test(path, own_mac__refused_by_the_device_is_not_needed_with_a_next_hop)
{
	calls_port.no_roce_address = 1;
	connect_by_router();
	cr_assert_arr_eq(calls_path + RMAC, router, sizeof(router));
}

Test(path, own_mac__refused_by_the_device_and_no_next_hop_fails_the_connect)
{
	struct life l;

	calls_port.no_roce_address = 1;
	calls_fail_named("ibv_create_ah", EHOSTUNREACH);
	rig_conf("");
	setenv("DAPL_DBG_TYPE", "0", 1);
	memset(calls_path, 0xff, sizeof(calls_path));
	cr_assert_not(life_run(&l, SOON_MS));
	calls_stop();
	cr_assert_eq(calls_path[RMAC], 0xff, "a QP got the peer MAC 0");
}

/* The kernel's answer is used for a second, for that address. Then the kernel is asked again. */
Test(path, next_hop__is_queried_again_in_time)
{
	static const uint8_t other[6] = { 0x02, 1, 2, 3, 4, 5 };
	uint8_t gid[16] = { [10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 9 }, mac[6];
	struct m5_ctl *ctl;
	uint32_t pdn;
	void *pd;

	rig_conf("");
	calls_port.router = router;
	ctl = opened("mlx5_0-1", "");
	cr_assert_eq(ctl->ops->pd_alloc(ctl, &pdn, &pd), 0);
	cr_assert_eq(ctl->ops->next_hop(ctl, pd, gid, mac), 0);
	calls_port.router = other;
	gid[15]++;
	cr_assert_eq(ctl->ops->next_hop(ctl, pd, gid, mac), 0);
	cr_assert_arr_eq(mac, other, sizeof(mac),
			 "the kernel was not asked for a new address at once");
	calls_port.router = router;
	th_sleep_ms(1100);
	cr_assert_eq(ctl->ops->next_hop(ctl, pd, gid, mac), 0);
	cr_assert_arr_eq(mac, router, sizeof(mac));
	cr_assert_eq(ctl->ops->pd_free(ctl, pdn, pd), 0);
	ctl->ops->close(ctl);
}

/* ---- Commands that an access records ---- */

static uint8_t kept[512];

static int keep(struct m5_obj *obj, const void *in, size_t inlen, void *out, size_t outlen)
{
	(void)obj;
	cr_assert_leq(inlen, sizeof(kept));
	memcpy(kept, in, inlen);
	memset(out, 0, outlen);
	return 0;
}

static void rtr(const struct m5_port *port, bool grh, bool force_order)
{
	static const struct m5_ctl_ops ops = { .obj_cmd = keep };
	struct m5_ctl fake = { .ops = &ops };
	const struct m5_qp_ref qp = { .ctl = &fake, .qpn = 0x123456 };
	const struct m5_qp_conn conn = {
		.port = port, .ethernet = port->ethernet, .mtu = 4096, .rlid = 0x4321,
		.sl = 5, .tclass = 0xb9, .rgid = { 0xfd, 0, 0, 0, 0, 0, 0, 1, [15] = 9 }, .grh = grh,
		.force_order = force_order,
	};

	cr_assert_eq(m5_cmd_qp_rtr(&qp, &conn), 0);
}

/* PRM: the context begins at byte 0x18 of the command, the path at byte 0x18 of the context. */
static uint32_t word(unsigned int at)
{
	return (uint32_t)kept[at] << 24 | (uint32_t)kept[at + 1] << 16 |
	       (uint32_t)kept[at + 2] << 8 | kept[at + 3];
}

Test(path, infiniband__path_has_lid_service_level_partition_and_port)
{
	const struct m5_port port = { .up = true, .port_num = 2, .pkey_index = 3, .lid = 7 };

	rtr(&port, false, false);
	cr_assert_eq(word(0x30) & 0xffff, 3);
	cr_assert_eq(word(0x34), 0x4321);
	cr_assert_eq(word(0x3c), 0, "a path without a GRH has a traffic class");
	cr_assert_eq(word(0x50), 0, "an InfiniBand path has a DSCP or UDP source port");
	cr_assert_eq(word(0x54) >> 24 & 15, 5);
	cr_assert_eq(word(0x54) >> 16 & 255, 2);
	cr_assert_eq(word(0x40), 0);
}

/* Linux, opt_mask of mlx5_ib: INIT2RTR_QP takes the P_Key index with bit 4, the rights with bits 1 to 3. */
Test(path, infiniband__partition_that_has_moved_in_the_table_is_taken)
{
	struct m5_port port = { .up = true, .port_num = 2, .pkey_index = 3, .lid = 7 };

	rtr(&port, false, false);
	cr_assert_eq(word(0x10), 0x1e);
	port.ethernet = true;
	rtr(&port, false, false);
	cr_assert_eq(word(0x10), 0xe);
}

Test(path, infiniband__path_between_subnets_has_a_global_header)
{
	const struct m5_port port = { .up = true, .port_num = 1, .lid = 7 };

	rtr(&port, true, false);
	cr_assert_eq(word(0x34), 1u << 23 | 0x4321);
	cr_assert_eq(word(0x38) & 255, 64);
	cr_assert_eq(word(0x3c), 0xb9u << 20);
	cr_assert_eq(word(0x50), 0);
	cr_assert_eq(word(0x40), 0xfd000000);
	cr_assert_eq(word(0x4c), 9);
}

/* PRM "Address Path": src_addr_index is in 23:16 of word 2, tclass in 27:20 of 3, dscp in 21:16 of 8,
 * eth_prio in 30:28 of 9. */
Test(path, ethernet__path_has_table_entry_traffic_class_and_priority)
{
	struct m5_port port = { .up = true, .port_num = 2, .ethernet = true };

	for (unsigned int index = 0; index < 256; index += 85) {
		port.gid_index = (uint16_t)index;
		rtr(&port, false, false);
		cr_expect_eq(word(0x38), index << 16 | 64);
	}
	cr_assert_eq(word(0x30), 0, "a RoCE path does not use the default partition");
	cr_assert_eq(word(0x3c), 0xb9u << 20);
	cr_assert_eq(word(0x50) >> 16, 0xb9 >> 2);
	cr_assert_eq(word(0x54) >> 16, 5u << 12 | 2);
}

Test(path, order__is_requested_where_necessary)
{
	const struct m5_port port = { .up = true, .port_num = 1, .ethernet = true };

	rtr(&port, false, false);
	cr_assert_eq(word(0x1c), 0);
	rtr(&port, false, true);
	cr_assert_eq(word(0x1c), 1u << 24);
}
