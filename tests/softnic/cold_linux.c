/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands and registers that Linux's mlx5_core and mlx5_ib use when they boot a device. */
#include <criterion/criterion.h>
#include <unistd.h>

#include "tests/harness/harness.h"
#include "tests/softnic/cold_rig.h"

TestSuite(cold_linux, .timeout = 60);

static uint32_t alloc_uar(struct cold *c)
{
	cr_assert_eq(cold_simple(c, CMD_ALLOC_UAR, 0), 0);
	return sn_get(c->out, CMD_NUMBER);
}

/* Sends TEARDOWN_HCA, then boots the function again. */
static void boot_again(struct cold *c)
{
	cr_assert_eq(cold_simple(c, CMD_TEARDOWN_HCA, 0), 0);
	cr_assert_eq(cold_simple(c, CMD_INIT_HCA, 0), 0);
}

Test(cold_linux, alloc_uar__first_after_each_boot_is_the_drivers)
{
	struct cold *c = cold_open();

	cold_boot(c);
	for (int i = 0; i < 3; i++) {
		cr_expect_eq(alloc_uar(c), SOFTNIC_UAR_DRIVER);
		cr_expect_neq(alloc_uar(c), SOFTNIC_UAR_DRIVER);
		boot_again(c);
	}
	cold_close(c);
}

/* A process that got the descriptor of the BAR cannot remove the pages that the device uses. */
Test(cold_linux, bar_fd__size_cannot_be_changed)
{
	struct cold *c = cold_open();
	size_t size;
	int fd = softnic_bar_fd(c->nic, &size);

	cr_expect_lt(ftruncate(fd, 0), 0);
	cr_expect_lt(ftruncate(fd, (off_t)size * 2), 0);
	cold_boot(c);
	cold_close(c);
}

/* PRM "ACCESS_REG": register_id at bit 0x50, the register from byte 0x10 on, its local_port at bit 8. */
static uint8_t read_reg(struct cold *c, uint16_t reg, uint8_t port)
{
	enum { READ = 1 };

	cold_begin(c, CMD_ACCESS_REG, READ);
	sn_set(c->in, SN_FLD(0x50, 16), reg);
	c->in[0x11] = port;
	return cold_run(c, 0x60, 0x60);
}

Test(cold_linux, access_reg__reads_the_node_description)
{
	struct cold *c = cold_open();

	cold_boot(c);
	cr_assert_eq(read_reg(c, 0x6001, 0), 0);
	cr_expect_str_eq((char *)c->out + 0x10, "software ConnectX");
	cold_close(c);
}

/* PTYS: proto_mask at bit 0x1d; eth_proto_oper at 0x120, ib_link_width_oper 0x140, ib_proto_oper 0x150 */
Test(cold_linux, access_reg__reads_the_speed_of_a_port)
{
	for (unsigned int ib = 0; ib < 2; ib++) {
		struct cold *c = cold_open_flags(ib ? SOFTNIC_INFINIBAND : 0);
		const uint8_t *reg = c->out + 0x10;

		cold_boot(c);
		softnic_fault(c->nic, "link_down");
		cr_assert_eq(read_reg(c, 0x5004, 1), 0);
		cr_expect_eq(sn_get(reg, SN_FLD(0x120, 32)), 0);
		cr_expect_eq(sn_get(reg, SN_FLD(0x150, 16)), 0);
		softnic_fault(c->nic, "");
		cr_assert(TH_WITHIN(30000, !read_reg(c, 0x5004, 1) && (sn_get(reg, SN_FLD(0x120, 32)) ||
								       sn_get(reg, SN_FLD(0x150, 16)))));
		cr_expect_eq(sn_get(reg, SN_FLD(0x1d, 3)), ib ? 1 : 4);
		cr_expect_eq(sn_get(reg, SN_FLD(0x120, 32)), ib ? 0 : 1u << 20,
			     "only an Ethernet port should report 100GBASE-CR4");
		cr_expect_eq(sn_get(reg, SN_FLD(0x140, 16)), ib ? 4 : 0,
			     "the port type register reports a wrong number of lanes");
		cr_expect_eq(sn_get(reg, SN_FLD(0x150, 16)), ib ? 1u << 5 : 0,
			     "only an InfiniBand port should report EDR");
		cold_close(c);
	}
}

Test(cold_linux, access_reg__reads_mtu_and_lanes)
{
	struct cold *c = cold_open_flags(SOFTNIC_INFINIBAND), *eth = cold_open();

	cold_boot(c);
	cold_boot(eth);
	cr_assert_eq(read_reg(c, 0x5003, 1), 0);
	cr_expect_eq(sn_get(c->out + 0x10, SN_FLD(0x20, 16)), 4096);
	cr_expect_eq(sn_get(c->out + 0x10, SN_FLD(0x60, 16)), 4096);
	cr_assert_eq(read_reg(c, 0x500f, 1), 0);
	cr_expect_eq(sn_get(c->out + 0x10, SN_FLD(0x3c, 4)), 4);
	cr_assert_eq(read_reg(eth, 0x5003, 1), 0);
	cr_expect_eq(read_reg(eth, 0x500f, 1), 0x03,
		     "the virtual lane register of an Ethernet port is not refused");
	cold_close(c);
	cold_close(eth);
}

Test(cold_linux, access_reg__invalid_ports_registers_and_writes_are_refused)
{
	struct cold *c = cold_open();

	cold_boot(c);
	cr_expect_eq(read_reg(c, 0x5004, 0), 0x03);
	cr_expect_eq(read_reg(c, 0x5004, 2), 0x03);
	cr_expect_eq(read_reg(c, 0x1234, 1), 0x03);
	cold_begin(c, CMD_ACCESS_REG, 0);
	sn_set(c->in, SN_FLD(0x50, 16), 0x5004);
	c->in[0x11] = 1;
	cr_expect_eq(cold_run(c, 0x60, 0x60), 0x03, "a write to the register PTYS is not refused");
	cold_begin(c, CMD_ACCESS_REG, 1);
	sn_set(c->in, SN_FLD(0x50, 16), 0x5004);
	cr_expect_eq(cold_run(c, 16, 16), 0x50);
	cr_expect_eq(cold_count(c, "cmd.field"), 4);
	cold_close(c);
}

/* PRM "QUERY_HCA_VPORT_GID": port_num at bit 0x4c, gid_index 0x70; gids_num at 0x60, GIDs from byte 0x10. */
static uint8_t query_gid(struct cold *c, uint8_t port, uint16_t index)
{
	cold_begin(c, 0x764, 0);
	sn_set(c->in, SN_FLD(0x4c, 4), port);
	sn_set(c->in, SN_FLD(0x70, 16), index);
	return cold_run(c, 16, 0x210);
}

Test(cold_linux, query_hca_vport_gid__returns_one_entry_or_all)
{
	struct cold *c = cold_open_flags(SOFTNIC_INFINIBAND);
	uint8_t first[16], none[16] = { 0 };

	cold_boot(c);
	cr_assert_eq(query_gid(c, 1, 0), 0);
	cr_expect_eq(sn_get(c->out, SN_FLD(0x60, 16)), 1);
	memcpy(first, c->out + 0x10, 16);
	cr_expect_eq(first[0], 0xfe);
	cr_assert_eq(query_gid(c, 0, 0xffff), 0);
	cr_expect_eq(sn_get(c->out, SN_FLD(0x60, 16)), 16);
	cr_expect_arr_eq(c->out + 0x10, first, 16);
	cr_expect_arr_eq(c->out + 0x20, none, 16);
	cr_expect_eq(query_gid(c, 1, 16), 0x03);
	cr_expect_eq(query_gid(c, 2, 0), 0x03);
	cold_close(c);
	c = cold_open();
	cold_boot(c);
	cr_expect_eq(query_gid(c, 1, 0), 0x03,
		     "a query of an Ethernet port's GID table is not refused");
	cold_close(c);
}

/* Bits of the general capabilities that select mlx5_ib's commands. */
Test(cold_linux, query_hca_cap__ports_by_vport_commands_are_infiniband)
{
	for (unsigned int ib = 0; ib < 2; ib++) {
		struct cold *c = cold_open_flags(ib ? SOFTNIC_INFINIBAND : 0);

		cold_boot(c);
		cold_begin(c, CMD_QUERY_HCA_CAP, 1);
		cr_assert_eq(cold_run(c, 16, 0x1010), 0);
		cr_expect_eq(sn_get(c->out + 0x10, SN_FLD(0x1a2, 1)), ib,
			     "the capability ib_virt is wrong");
		cold_close(c);
	}
}

/* PRM "CREATE_UCTX": the uid at bit 0x50; each command has one at bit 0x10. */
static uint8_t create_uctx(struct cold *c, uint32_t cap)
{
	cold_begin(c, 0xa04, 0);
	sn_set32(c->in, 0x10, cap);
	return cold_run(c, 0x40, 16);
}

static uint8_t alloc_pd_of(struct cold *c, uint32_t uid)
{
	cold_begin(c, CMD_ALLOC_PD, 0);
	sn_set(c->in, SN_FLD(0x10, 16), uid);
	return cold_run(c, 16, 16);
}

static uint8_t destroy_uctx(struct cold *c, uint32_t uid)
{
	cold_begin(c, 0xa06, 0);
	sn_set(c->in, SN_FLD(0x50, 16), uid);
	return cold_run(c, 16, 16);
}

Test(cold_linux, uctx__names_whose_a_command_is)
{
	struct cold *c = cold_open();
	uint32_t uid;

	cold_boot(c);
	cr_assert_eq(create_uctx(c, 0), 0);
	uid = sn_get(c->out, SN_FLD(0x50, 16));
	cr_expect_neq(uid, 0);
	cr_expect_eq(alloc_pd_of(c, uid), 0);
	cr_expect_eq(alloc_pd_of(c, 0), 0);
	cr_expect_eq(alloc_pd_of(c, 0xffff), 0,
		     "a command for the user context 0xffff, which all share, failed");
	cr_expect_eq(alloc_pd_of(c, uid ^ 1), 0x03);
	cr_expect_eq(destroy_uctx(c, uid), 0);
	cr_expect_eq(alloc_pd_of(c, uid), 0x03,
		     "a command for a destroyed user context is not refused");
	cr_expect_eq(destroy_uctx(c, uid), 0x05);
	cr_expect_eq(create_uctx(c, 1), 0x03, "a user context with raw packets is not refused");
	cr_expect_eq(cold_count(c, "cmd.field"), 3);
	cold_close(c);
}

Test(cold_linux, create_uctx__as_many_as_announced_succeed)
{
	struct cold *c = cold_open();

	cold_boot(c);
	for (int i = 0; i < 256; i++)
		cr_assert_eq(create_uctx(c, 0), 0, "user context %d cannot be created", i);
	cr_expect_eq(create_uctx(c, 0), 0x08);
	boot_again(c);
	cr_expect_eq(create_uctx(c, 0), 0);
	cold_close(c);
}

static uint8_t dealloc_pd_of(struct cold *c, uint32_t uid, uint32_t pdn)
{
	cold_begin(c, CMD_DEALLOC_PD, 0);
	sn_set(c->in, SN_FLD(0x10, 16), uid);
	sn_set(c->in, CMD_NUMBER, pdn);
	return cold_run(c, 16, 16);
}

Test(cold_linux, uctx__object_is_not_anothers)
{
	struct cold *c = cold_open();
	uint32_t uid[2], pd;

	cold_boot(c);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(create_uctx(c, 0), 0);
		uid[i] = sn_get(c->out, SN_FLD(0x50, 16));
	}
	cr_assert_eq(alloc_pd_of(c, uid[0]), 0);
	pd = sn_get(c->out, CMD_NUMBER);
	cr_expect_eq(dealloc_pd_of(c, uid[1], pd), 0x05);
	cr_expect_eq(dealloc_pd_of(c, uid[0], pd), 0);
	cr_assert_eq(alloc_pd_of(c, uid[0]), 0);
	cr_expect_eq(dealloc_pd_of(c, 0, sn_get(c->out, CMD_NUMBER)), 0,
		     "the driver cannot free an object of a user context");
	cr_assert_eq(alloc_pd_of(c, uid[0]), 0);
	boot_again(c);
	cold_close(c);
}

Test(cold_linux, uctx__object_whose_owner_cannot_be_recorded_is_not_created)
{
	struct cold *c = cold_open();
	unsigned long n = 0, seen;
	uint32_t uid[2];
	uint8_t status;

	cold_boot(c);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(create_uctx(c, 0), 0);
		uid[i] = sn_get(c->out, SN_FLD(0x50, 16));
	}
	do {
		th_fail_start(TH_FAIL_HEAP, ++n);
		status = alloc_pd_of(c, uid[0]);
		seen = th_fail_stop();
		cr_expect_eq(!status, seen < n, "allocation %lu of %lu failed, the status is %#x", n, seen,
			     status);
	} while (seen >= n);
	cr_assert_gt(n, 2);
	cr_expect_eq(dealloc_pd_of(c, uid[1], sn_get(c->out, CMD_NUMBER)), 0x05);
	cold_close(c);
}

/* A program frees a UAR too early, which is refused. Linux does not free it again, but ends the
 * context. */
Test(cold_linux, uctx__takes_its_uars_with_it)
{
	struct cold *c = cold_open();
	size_t before;
	uint32_t uid;

	cold_boot(c);
	cr_assert_eq(create_uctx(c, 0), 0);
	uid = sn_get(c->out, SN_FLD(0x50, 16));
	before = softnic_object_count(c->nic, "uar");
	cold_begin(c, CMD_ALLOC_UAR, 0);
	sn_set(c->in, SN_FLD(0x10, 16), uid);
	cr_assert_eq(cold_run(c, 16, 16), 0);
	cr_assert_eq(softnic_object_count(c->nic, "uar"), before + 1);
	cr_expect_eq(destroy_uctx(c, uid), 0);
	cr_expect_eq(softnic_object_count(c->nic, "uar"), before);
	cold_close(c);
}
