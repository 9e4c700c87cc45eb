/* SPDX-License-Identifier: BSD-2-Clause */
/* Which device each name opens, the attributes of its port, and the reasons for refusals. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/devices.h"
#include "hw_mlx5/cmd.h"
#include "hw_mlx5/obj.h"
#include "tests/e2e/life.h"
#include "tests/harness/capture.h"
#include "tests/uverbs/calls.h"
#include "tests/uverbs/opened.h"
#include "tests/uverbs/refused.h"

static void setup(void)
{
	setenv("DAPL_DBG_TYPE", "0", 1);
}

TestSuite(open, .init = setup, .timeout = 60);

static const struct refusal refusals[] = {
	{ .name = "mlx5_7-1", .err = -ENODEV, .cause = "no RDMA device mlx5_7", .cure = "mlx5_ib" },
	{ .name = "mlx5_0-9", .err = -ENODEV, .cause = "no port 9", .cure = "" },
	{ .name = "mlx5_0-1", .params = "sl=77", .err = -EINVAL, .cause = "sl", .cure = "" },
	{ .name = "mlx5_0-1", .params = "ip=192.0.2.7",
	  .device = &(const struct calls_port){ .on = true, .state = IBV_PORT_ACTIVE,
		    .link_layer = IBV_LINK_LAYER_INFINIBAND, .pkeys = { 0xffff } },
	  .err = -EINVAL, .cause = "ip=192.0.2.7 is not an address", .cure = "ip addr" },
	{ "ibv_get_device_list", ENOMEM, "mlx5_0-1", .err = -ENOMEM,
	  .cause = "does not list mlx5_0", .cure = "ibverbs-providers" },
	{ "mlx5dv_open_device", EACCES, "mlx5_0-1", .err = -EACCES, .cause = "no permission to open",
	  .cure = "group" },
	{ "mlx5dv_open_device", EAGAIN, "mlx5_0-1", .err = -EAGAIN, .cause = "it has failed",
	  .cure = "see dmesg" },
	{ "mlx5dv_open_device", EINVAL, "mlx5_0-1", .err = -EIO, .cause = "no DEVX",
	  .cure = "firmware" },
	{ "mlx5dv_open_device", EMFILE, "mlx5_0-1", .err = -EMFILE,
	  .cause = "Too many open files", .cure = "" },
	{ "mlx5dv_devx_general_cmd", EINVAL, "mlx5_0-1", .err = -EIO,
	  .cause = "cannot query the capabilities", .cure = "" },
	{ "mlx5dv_devx_umem_reg", ENOMEM, "mlx5_0-1", .err = -ENOMEM,
	  .cause = "locked-memory limit is 64 KiB", .cure = "ulimit -l" },
	{ "_ibv_query_gid_ex", ENODATA, "mlx5_0-1", .err = -EIO, .cause = "no RoCE v2 address",
	  .cure = "IP address" },
	{ "_ibv_query_gid_ex", ENODATA, "mlx5_0-1", .params = "gid_index=2", .err = -EIO,
	  .cause = "entry 2 of the GID table of port 1 of mlx5_0 has no RoCE v2", .cure = "gid_index=" },
	{ "mlx5dv_devx_create_event_channel", EMFILE, "mlx5_0-1", .err = -EMFILE,
	  .cause = "cannot create an event channel", .cure = "" },
	{ "epoll_create1", EMFILE, "mlx5_0-1", .err = -EMFILE, .cause = "cannot create an event channel",
	  .cure = "" },
	{ "epoll_ctl", ENOMEM, "mlx5_0-1", .err = -ENOMEM, .cause = "cannot create an event channel", .cure = "" },
	{ "mlx5dv_is_supported", EINVAL, "mlx5_0-1", .err = -ENODEV,
	  .cause = "mlx5_0 is not a ConnectX", .cure = "dat_info(1)" },
	{ "ibv_query_port", EPERM, "mlx5_0-1", .err = -EPERM, .cause = "cannot query the address",
	  .cure = "" },
	{ "ibv_query_pkey", EIO, "mlx5_0-1",
	  .device = &(const struct calls_port){ .on = true, .state = IBV_PORT_ACTIVE,
		    .link_layer = IBV_LINK_LAYER_INFINIBAND, .pkeys = { 0xffff } },
	  .err = -EIO, .cause = "not in partition 0xffff", .cure = "pkey=" },
	{ .name = "mlx5_0-1", .device = &(const struct calls_port){ .cqe_version_0 = 1 },
	  .err = -EIO, .cause = "too old", .cure = "update" },
	{ .name = "mlx5_0-1", .device = &(const struct calls_port){ .short_wqes = 1 },
	  .err = -EOPNOTSUPP, .cause = "mlx5_0 supports WQEs of only 256 bytes", .cure = "" },
	{ .name = "mlx5_0-1",
	  .device = &(const struct calls_port){ .on = true, .state = IBV_PORT_DOWN,
		    .link_layer = IBV_LINK_LAYER_ETHERNET },
	  .err = -EIO, .cause = "port 1 of mlx5_0 is down", .cure = "ip link" },
	{ .name = "mlx5_0-1",
	  .device = &(const struct calls_port){ .on = true, .state = IBV_PORT_INIT,
		    .link_layer = IBV_LINK_LAYER_INFINIBAND, .pkeys = { 0xffff } },
	  .err = -EIO, .cause = "port 1 of mlx5_0 is down", .cure = "opensm" },
	{ .name = "mlx5_0-1", .params = "pkey=0x8003",
	  .device = &(const struct calls_port){ .on = true, .state = IBV_PORT_ACTIVE,
		    .link_layer = IBV_LINK_LAYER_INFINIBAND, .pkeys = { 0xffff, 0x8001 } },
	  .err = -EIO, .cause = "not in partition 0x8003", .cure = "pkey=" },
};

static int open_refused(const struct refusal *r, void **ctl, char *why, size_t whylen)
{
	calls_port = r->device ? *(const struct calls_port *)r->device : (struct calls_port){ 0 };
	return m5_ctl_open(r->name, r->params, (struct m5_ctl **)ctl, why, whylen);
}

Test(open, m5_ctl_open__each_refusal_names_cause_and_cure)
{
	refused_each(refusals, sizeof(refusals) / sizeof(refusals[0]), open_refused);
}

Test(open, m5_ctl_open__names_of_others_return_enodev)
{
	static const char *const names[] = { "mlx5_0", "mlx5_0-", "-1", "mlx5_0-0", "mlx5_0-1x",
					     "mlx5_0-256", "ofa-v2-ib0" };
	struct m5_ctl *ctl = NULL;
	char why[160];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect_eq(m5_ctl_open(names[i], "", &ctl, why, sizeof(why)), -ENODEV,
			     "a device named \"%s\" was opened", names[i]);
}

static struct m5_port port_of(const char *params)
{
	struct m5_ctl *ctl = opened("mlx5_0-1", params);
	struct m5_port port;

	cr_assert_eq(ctl->ops->port(ctl, &port), 0);
	ctl->ops->close(ctl);
	return port;
}

Test(open, port__of_ethernet_has_a_gid_from_its_mac)
{
	struct m5_port port = port_of("");

	cr_assert(port.up && port.ethernet);
	cr_assert_eq(port.port_num, 1);
	cr_assert_geq(port.mtu, 1024);
	/* RFC 4291, appendix A: an interface identifier is derived from the MAC. */
	cr_assert_eq(port.gid[8] ^ 2, port.mac[0]);
	cr_assert_arr_eq(port.gid + 9, port.mac + 1, 2);
	cr_assert_arr_eq(port.gid + 13, port.mac + 3, 3);
}

/* RoCE v2 is preferred to v1, and an IPv4 address to others, unless ia_params name an entry. */
Test(open, port__of_several_addresses_prefers_roce_v2_and_ipv4)
{
	static const struct ibv_gid_entry table[] = {
		{ .gid.raw = { 0xfe, 0x80, [15] = 1 }, .gid_type = IBV_GID_TYPE_ROCE_V2 },
		{ .gid.raw = { [10] = 0xff, 0xff, 9, 9, 9, 9 }, .gid_type = IBV_GID_TYPE_ROCE_V1 },
		{ .gid.raw = { 0x20, 0x01, [15] = 2 }, .gid_type = IBV_GID_TYPE_ROCE_V2 },
		{ .gid.raw = { [10] = 0xff, 0xff, 10, 0, 0, 7 }, .gid_type = IBV_GID_TYPE_ROCE_V2 },
	};
	static const uint8_t ip[4] = { 10, 0, 0, 7 };

	calls_port.gids = table;
	calls_port.ngids = 4;
	cr_assert_eq(port_of("").gid_index, 3);
	cr_assert_arr_eq(port_of("").ipv4, ip, 4);
	calls_port.ngids = 3;
	cr_assert_eq(port_of("").gid_index, 2);
	calls_port.ngids = 2;
	cr_assert_eq(port_of("").gid_index, 0);
	calls_port.ngids = 4;
	cr_assert_eq(port_of("gid_index=2").gid_index, 2);
	nothing_left();
}

/* IBTA annex A17: the GID of an IPv6 address is that address. */
Test(open, port__with_an_address_in_ia_params_uses_its_gid)
{
	static const struct ibv_gid_entry table[] = {
		{ .gid.raw = { [10] = 0xff, 0xff, 10, 0, 0, 7 }, .gid_type = IBV_GID_TYPE_ROCE_V2 },
		{ .gid.raw = { [15] = 1 }, .gid_type = IBV_GID_TYPE_ROCE_V2 },
		{ .gid.raw = { [10] = 0xff, 0xff, 127, 0, 0, 1 }, .gid_type = IBV_GID_TYPE_ROCE_V2 },
	};

	calls_port.gids = table;
	calls_port.ngids = 3;
	cr_assert_eq(port_of("").gid_index, 0);
	cr_assert_eq(port_of("ip=127.0.0.1").gid_index, 2);
	cr_assert_eq(port_of("ip=127.0.0.2").gid_index, 0);
	if (!th_no_ipv6())
		cr_assert_eq(port_of("ip=::1").gid_index, 1);
	nothing_left();
}

Test(open, port__of_infiniband_has_its_lid_and_partition)
{
	struct m5_port port;

	calls_port = (struct calls_port){ .on = true, .state = IBV_PORT_ACTIVE,
					  .link_layer = IBV_LINK_LAYER_INFINIBAND, .lid = 0x1234,
					  .pkeys = { 0x1111, 0xffff, 0x8001 } };
	port = port_of("");
	cr_assert(port.up && !port.ethernet);
	cr_assert_eq(port.lid, 0x1234);
	cr_assert_eq(port.pkey_index, 1);
	cr_assert_eq(port_of("pkey=0x8001").pkey_index, 2);
	cr_assert_eq(port_of("pkey=1").pkey_index, 2);
	nothing_left();
}

/* The subnet manager can take the port out of the partition, and its index can become that of another one. */
Test(open, port__that_left_its_partition_returns_enetunreach)
{
	struct m5_port port;
	struct m5_ctl *ctl;

	calls_port = (struct calls_port){ .on = true, .state = IBV_PORT_ACTIVE,
					  .link_layer = IBV_LINK_LAYER_INFINIBAND, .lid = 0x1234,
					  .pkeys = { 0xffff, 0x8001 } };
	ctl = opened("mlx5_0-1", "pkey=0x8001");
	calls_port.pkeys[1] = 0x8002;
	cr_expect_eq(ctl->ops->port(ctl, &port), -ENETUNREACH);
	calls_port.pkeys[2] = 0x8001;
	cr_expect_eq(ctl->ops->port(ctl, &port), 0);
	cr_expect_eq(port.pkey_index, 2);
	ctl->ops->close(ctl);
	nothing_left();
}

/* IBTA 9.6.1.1: limited members of a partition do not reach each other. */
Test(open, port__of_infiniband_prefers_the_full_membership)
{
	calls_port = (struct calls_port){ .on = true, .state = IBV_PORT_ACTIVE,
					  .link_layer = IBV_LINK_LAYER_INFINIBAND, .lid = 0x1234,
					  .pkeys = { 0x7fff, 0x0001, 0xffff, 0x8001 } };
	cr_expect_eq(port_of("").pkey_index, 2);
	cr_expect_eq(port_of("pkey=0x7fff").pkey_index, 2);
	cr_expect_eq(port_of("pkey=1").pkey_index, 3);
	calls_port.pkeys[2] = 0x7fff;
	cr_expect_eq(port_of("").pkey_index, 0);
	nothing_left();
}

Test(open, m5_cmd_caps__reports_the_order_of_writes)
{
	static const struct { uint8_t reorders, keeps; } devices[] = {
		{ 0, 0 }, { CALLS_REORDERS_ALL, 0 }, { CALLS_REORDERS_ALL, 1 },
		{ CALLS_REORDERS_RW, 0 }, { CALLS_REORDERS_RW, 1 },
	};

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		struct m5_dev_caps caps;
		struct m5_ctl *ctl;

		calls_port.reorders = devices[i].reorders;
		calls_port.keeps_order = devices[i].keeps;
		ctl = opened("mlx5_0-1", "");
		cr_assert_eq(m5_cmd_caps(ctl, &caps), 0);
		cr_assert_eq(caps.reorders, devices[i].reorders != 0,
			     "case %zu: the driver reports reordering wrongly", i);
		cr_assert_eq(caps.force_order, devices[i].keeps != 0,
			     "case %zu: the driver reports forced ordering wrongly", i);
		ctl->ops->close(ctl);
	}
	nothing_left();
}

Test(open, m5_cmd_caps__without_imaicl_reports_no_windows)
{
	struct m5_ctl *ctl = opened("mlx5_0-1", "");
	struct m5_dev_caps caps;

	cr_assert_eq(m5_cmd_caps(ctl, &caps), 0);
	cr_expect(caps.windows);
	calls_port.no_windows = 1;
	cr_assert_eq(m5_cmd_caps(ctl, &caps), 0);
	cr_expect_not(caps.windows);
	ctl->ops->close(ctl);
	nothing_left();
}

static bool has_atomics(struct m5_ctl *ctl)
{
	struct m5_dev_caps caps;

	cr_assert_eq(m5_cmd_caps(ctl, &caps), 0);
	return caps.atomics;
}

/* As Linux does (get_atomic_caps), the driver offers both operations on 8 bytes, or none. */
Test(open, m5_cmd_caps__without_an_atomic_of_8_bytes_reports_none)
{
	struct m5_ctl *ctl = opened("mlx5_0-1", "");

	cr_expect(has_atomics(ctl));
	calls_port.no_fetch_add = 1;
	cr_expect_not(has_atomics(ctl), "the QPs have no fetch and add");
	calls_port.no_fetch_add = 0;
	calls_port.no_atomics_of_8 = 1;
	cr_expect_not(has_atomics(ctl), "the QPs have no atomics of 8 bytes");
	ctl->ops->close(ctl);
	nothing_left();
}

static void attribute_is(const char *name, const char *text)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	static DAT_PROVIDER_ATTR attr;
	const char *is = "missing";
	DAT_IA_HANDLE ia;

	must(rig_ia_open(&async, &ia));
	must(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	for (DAT_COUNT i = 0; i < attr.num_provider_specific_attr; i++)
		if (!strcmp(attr.provider_specific_attr[i].name, name))
			is = attr.provider_specific_attr[i].value;
	cr_expect_str_eq(is, text, "%s is \"%s\" instead of \"%s\"", name, is, text);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void write_order_is(uint8_t reorders, bool keeps, const char *text)
{
	calls_port.reorders = reorders;
	calls_port.keeps_order = keeps;
	attribute_is("write_order", text);
}

Test(open, ia_query__write_order_follows_the_capabilities)
{
	rig_conf("");
	write_order_is(0, false, "kept");
	write_order_is(CALLS_REORDERS_RW, true, "kept by order of each endpoint");
	write_order_is(CALLS_REORDERS_ALL, false, "kept unless the fabric is set up to reorder");
}

/* As Linux does, the driver asks for scatter to CQE only if the device has it. */
Test(open, ia_query__scatter_cqe_is_off_without_the_capability)
{
	rig_conf("scatter_cqe=2");
	attribute_is("scatter_cqe", "receives and reads");
	calls_port.no_scatter = 1;
	attribute_is("scatter_cqe", "off");
}

Test(open, m5_ctl_list__returns_each_port)
{
	struct dapl_device devs[8];
	size_t n = m5_ctl_list(devs, 8);

	cr_assert_eq(n, 3);
	cr_assert_str_eq(devs[2].name, "mlx5_0-1");
	cr_assert_str_eq(devs[2].access, "devx");
	cr_assert_str_eq(devs[2].why, "");
	cr_assert_eq(m5_ctl_list(devs, 1), 3);
	calls_fail_named("mlx5dv_open_device", EACCES);
	cr_assert_eq(m5_ctl_list(devs, 8), 3);
	calls_stop();
	cr_assert(strstr(devs[2].why, "no permission"),
		  "the error does not name the permission: %s", devs[2].why);
	calls_port.short_wqes = 1;
	cr_assert_eq(m5_ctl_list(devs, 8), 3);
	calls_port.short_wqes = 0;
	cr_assert(strstr(devs[2].why, "WQEs of only 256 bytes"),
		  "the error does not name the length of WQEs: %s", devs[2].why);
	calls_fail_named("ibv_get_device_list", ENOMEM);
	cr_assert_eq(m5_ctl_list(devs, 8), 2);
	calls_stop();
	nothing_left();
}

/* A machine may have several devices, so the log must name the one that refuses a command. */
Test(open, m5_ctl_list__logs_the_name_of_a_device_that_refuses_a_command)
{
	struct dapl_device devs[8];
	const char *said;

	setenv("DAPL_DBG_TYPE", "1", 1);
	calls_fail_named("mlx5dv_devx_general_cmd", EPERM);
	capture_begin(STDERR_FILENO);
	m5_ctl_list(devs, 8);
	said = capture_end();
	calls_stop();
	cr_expect(strstr(said, "mlx5_0: command QUERY_HCA_CAP"), "the log does not name the device: %s",
		  said);
	nothing_left();
}

/* Firmware may not report errors of objects. Everything else must work. */
Test(open, subscription__refused_by_firmware_leaves_all_else_working)
{
	struct life l;

	rig_conf("");
	calls_port.no_errors = 1;
	cr_assert(life_run(&l, SOON_MS), "the run failed: %s", life_words(&l));
	cr_assert_eq(calls_held(), 0);
}

/* The page of softnic-run is plain memory, so either result is right. */
Test(open, mmio__is_measured_on_request)
{
	static struct m5_ia ia = { .dev.bf = true, .params = { .mmio = M5_MMIO_MEASURE, .bf_eps = 2 } };

	ia.ctl = opened("mlx5_0-1", "");
	m5_mmio_choose(&ia);
	cr_expect(ia.mmio == M5_MMIO_BLUEFLAME || ia.mmio == M5_MMIO_DOORBELL);
	cr_expect_eq(ia.bf_regs_left, ia.mmio == M5_MMIO_DOORBELL ? 0 : 2);
	cr_expect(!strncmp(ia.mmio_by, "measured: 64 bytes ", 19), "%s", ia.mmio_by);
	ia.ctl->ops->close(ia.ctl);
	nothing_left();
}
