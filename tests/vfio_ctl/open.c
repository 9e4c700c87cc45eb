/* SPDX-License-Identifier: BSD-2-Clause */
/* Which device each name opens, its address, and the reasons for refusals. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hw_mlx5/ctl/vfio.h"
#include "tests/harness/capture.h"
#include "tests/harness/harness.h"
#include "tests/uverbs/opened.h"
#include "tests/uverbs/refused.h"
#include "tests/vfio_ctl/vfio_ctl.h"

static void setup(void)
{
	setenv("DAPL_DBG_TYPE", "0", 1);
}

TestSuite(open, .init = setup, .timeout = 60);

static const struct refusal refusals[] = {
	{ .name = "0000:99:00.0", .params = "gid=auto", .err = -ENODEV,
	  .cause = "no PCI device 0000:99:00.0", .cure = "lspci" },
	{ .name = VFIO_IA, .err = -EINVAL, .cause = "lack ip=", .cure = "gid=auto" },
	{ .name = VFIO_IA, .params = "ip=10.0.0", .err = -EINVAL, .cause = "ip", .cure = "" },
	{ .name = VFIO_IA, .params = "gid=auto;mac=1:2:3", .err = -EINVAL, .cause = "mac", .cure = "" },
	{ .name = VFIO_IA, .params = "gid=auto;mac=00:00:00:00:00:00", .err = -EINVAL,
	  .cause = "reports no MAC address", .cure = "mac=" },
	{ .name = VFIO_IA, .params = "gid=10.0.0.1", .err = -EINVAL, .cause = "gid", .cure = "" },
	{ "vendor", ENOENT, VFIO_IA, "gid=auto", .err = -EIO,
	  .cause = "not a ConnectX", .cure = "no other adapter" },
	{ "mlx5_core", EBUSY, VFIO_IA, "gid=auto", .err = -EIO,
	  .cause = "driven by mlx5_core", .cure = "scripts/vfio bind" },
	{ "viable", EINVAL, VFIO_IA, "gid=auto", .err = -EIO,
	  .cause = "not bound to vfio-pci", .cure = "scripts/vfio status" },
	{ "open group", ENODEV, VFIO_IA, "gid=auto", .err = -EIO,
	  .cause = "does not start through VFIO", .cure = "MLX5_DEBUG_FILE" },
	{ "iommu_group", ENOENT, VFIO_IA, "gid=auto", .err = -EIO,
	  .cause = "no IOMMU", .cure = "intel_iommu=on" },
	{ "driver", ENOENT, VFIO_IA, "gid=auto", .err = -EIO,
	  .cause = "has no driver", .cure = "scripts/vfio bind " VFIO_IA },
	{ "container", ENOENT, VFIO_IA, "gid=auto", .err = -EIO,
	  .cause = "no /dev/vfio/vfio", .cure = "modprobe vfio-pci" },
	{ "container", EACCES, VFIO_IA, "gid=auto", .err = -EACCES,
	  .cause = "no permission to open /dev/vfio/vfio", .cure = "chown" },
	{ "group", EACCES, VFIO_IA, "gid=auto", .err = -EACCES,
	  .cause = "no permission to open /dev/vfio/11", .cure = "chown" },
	{ "mlx5dv_get_vfio_device_list", ENOMEM, VFIO_IA, "gid=auto", .err = -ENOMEM,
	  .cause = "locked-memory limit is 64 KiB", .cure = "ulimit -l" },
	{ "ibv_open_device", EBUSY, VFIO_IA, "gid=auto", .err = -EBUSY,
	  .cause = "another process has the device", .cure = "fuser" },
	{ "ibv_open_device", EACCES, VFIO_IA, "gid=auto", .err = -EACCES,
	  .cause = "no permission", .cure = "chown" },
	{ "ibv_open_device", EOPNOTSUPP, VFIO_IA, "gid=auto", .err = -EIO,
	  .cause = "too old", .cure = "update" },
	{ "ibv_open_device", ETIMEDOUT, VFIO_IA, "gid=auto", .err = -EIO,
	  .cause = "timed out", .cure = "MLX5_DEBUG_FILE" },
	{ "VFIO_IOMMU_MAP_DMA", ENOMEM, VFIO_IA, "gid=auto", .err = -ENOMEM,
	  .cause = "locked-memory limit is 64 KiB", .cure = "memlock" },
	{ "mlx5dv_devx_alloc_uar", ENOMEM, VFIO_IA, "gid=auto", .err = -ENOMEM,
	  .cause = "cannot allocate an interrupt", .cure = "" },
	{ "mlx5dv_devx_alloc_msi_vector", ENOSPC, VFIO_IA, "gid=auto", .err = -EIO,
	  .cause = "cannot allocate an interrupt", .cure = "" },
	{ "mlx5dv_devx_create_eq", ENOMEM, VFIO_IA, "gid=auto", .err = -ENOMEM,
	  .cause = "cannot create an event queue", .cure = "" },
	/* The first two commands are QUERY_EQ, of the two event queues. */
	{ "mlx5dv_devx_general_cmd", EIO, VFIO_IA, "gid=auto", .err = -EIO,
	  .cause = "cannot create an event queue", .cure = "" },
	{ "mlx5dv_devx_general_cmd", EIO, VFIO_IA, "gid=auto", .first = 1, .err = -EIO,
	  .cause = "cannot create an event queue", .cure = "" },
	{ "mlx5dv_devx_general_cmd", EIO, VFIO_IA, "gid=auto", .first = 2, .err = -EIO,
	  .cause = "capabilities", .cure = "" },
	{ "mlx5dv_devx_umem_reg", ENOMEM, VFIO_IA, "gid=auto", .err = -ENOMEM,
	  .cause = "locked-memory limit is 64 KiB", .cure = "ulimit -l" },
};

static int open_refused(const struct refusal *r, void **ctl, char *why, size_t whylen)
{
	return m5_ctl_open(r->name, r->params, (struct m5_ctl **)ctl, why, whylen);
}

Test(open, m5_ctl_open__each_refusal_names_cause_and_cure)
{
	refused_each(refusals, sizeof(refusals) / sizeof(refusals[0]), open_refused);
}

Test(open, m5_ctl_open__infiniband_port_names_cause_and_cure)
{
	struct m5_ctl *ctl = NULL;
	char why[160] = "";

	calls_port.infiniband = 1;
	cr_assert_eq(m5_ctl_open(VFIO_IA, "gid=auto", &ctl, why, sizeof(why)), -EIO);
	cr_assert(strstr(why, "InfiniBand") && strstr(why, "scripts/vfio unbind"),
		  "the error does not name the cause and the cure: %s", why);
	calls_port.infiniband = 0;
	nothing_left();
}

/* libmlx5 leaves atomics as after power-on: they return big-endian values. */
Test(open, m5_cmd_caps__reports_no_atomics_in_the_hosts_order)
{
	struct m5_ctl *ctl = opened(VFIO_IA, "gid=auto");
	struct m5_dev_caps caps;

	cr_assert_eq(m5_cmd_caps(ctl, &caps), 0);
	cr_expect_not(caps.atomics);
	ctl->ops->close(ctl);
	nothing_left();
}

/* libmlx5 44.0 needs 2^39 bus addresses for memory at a multiple of 2^38. Some IOMMUs have fewer. */
Test(open, mr_reg__without_bus_addresses_names_the_cure)
{
	static char memory[4096];
	struct m5_ctl *ctl;
	const char *said;
	struct m5_mr mr;
	uint32_t pdn;
	void *pd;
	int err;

	setenv("DAPL_DBG_TYPE", "1", 1);
	ctl = opened(VFIO_IA, "gid=auto");
	cr_assert_eq(ctl->ops->pd_alloc(ctl, &pdn, &pd), 0);
	calls_fail_named("ibv_reg_mr_iova2", ENOSPC);
	capture_begin(STDERR_FILENO);
	err = ctl->ops->mr_reg(ctl, pd, pdn, memory, sizeof(memory), M5_ACCESS_LOCAL_WRITE, &mr);
	said = capture_end();
	calls_stop();
	cr_expect_eq(err, -EIO);
	cr_expect(strstr(said, "4096 bytes") && strstr(said, "another address"),
		  "the log does not name the cause and the cure: %s", said);
	ctl->ops->pd_free(ctl, pdn, pd);
	ctl->ops->close(ctl);
	nothing_left();
}

/* The kernel's driver has left the port down. */
Test(open, m5_ctl_open__administratively_down_port_comes_up)
{
	struct m5_port port;
	struct m5_ctl *ctl;

	setenv("SOFTNIC_FAULT", "admin_down", 1);
	ctl = opened(VFIO_IA, "gid=auto");
	cr_assert_eq(ctl->ops->port(ctl, &port), 0);
	cr_assert(port.up);
	ctl->ops->close(ctl);
	unsetenv("SOFTNIC_FAULT");
	nothing_left();
}

Test(open, m5_ctl_open__port_without_a_cable_names_cause_and_time)
{
	struct m5_ctl *ctl = NULL;
	char why[160] = "";

	setenv("SOFTNIC_FAULT", "link_down", 1);
	vfio_skip_pauses(true);
	cr_assert_eq(m5_ctl_open(VFIO_IA, "gid=auto", &ctl, why, sizeof(why)), -EIO);
	vfio_skip_pauses(false);
	unsetenv("SOFTNIC_FAULT");
	cr_assert(strstr(why, "is down: connect") && strstr(why, "20 s"),
		  "the error does not name the cause and the time: %s", why);
	nothing_left();
}

/* Opens the device without each of the resources that it needs, one at a time. */
static void lacks_in_turn(const char *name, int lack)
{
	unsigned long n = 0;
	struct m5_ctl *ctl = NULL;
	char why[160];
	int err;

	do {
		why[0] = 0;
		calls_fail_named_after(n, name, lack);
		err = m5_ctl_open(VFIO_IA, "gid=auto", &ctl, why, sizeof(why));
		calls_stop();
		cr_assert(!err || strlen(why) > 10,
			  "after %s failed (call %lu), error %d has no explanation: \"%s\"", name,
			  n, err, why);
		nothing_left_but(err ? 0 : 5);
	} while (err && ++n < 20);
	cr_assert_eq(err, 0, "the open failed although no call failed: %s", why);
	cr_assert_geq(n, 1, "the driver never calls %s", name);
	ctl->ops->close(ctl);
	nothing_left();
}

Test(open, m5_ctl_open__without_threads_or_descriptors_names_the_cause)
{
	lacks_in_turn("pthread_create", EAGAIN);
	lacks_in_turn("eventfd", EMFILE);
	lacks_in_turn("open /", EMFILE);
}

/* In this test the device is a program, which waits for its thread. */
Test(open, m5_ctl_open__without_threads_for_a_moment_succeeds)
{
	struct m5_ctl *ctl;

	vfio_no_threads(3);
	ctl = opened(VFIO_IA, "gid=auto");
	cr_assert_eq(vfio_no_threads(0), 0);
	ctl->ops->close(ctl);
	nothing_left();
}

/* These steps fail before libmlx5 is called. */
Test(open, m5_ctl_open__without_memory_returns_enomem)
{
	struct m5_ctl *ctl = NULL;
	char why[160];

	for (unsigned long n = 1; n <= 2; n++) {
		int err;

		th_fail_start(TH_FAIL_HEAP, n);
		err = m5_access_open(&m5_access_vfio, VFIO_IA, "gid=auto", &ctl, why, sizeof(why));
		th_fail_stop();
		cr_assert_eq(err, -ENOMEM,
			     "after allocation %lu failed, the open returned %d instead of -ENOMEM",
			     n, err);
		cr_assert_null(ctl);
	}
	nothing_left();
}

/* A process that cannot inspect its own descriptors can open the device nevertheless. */
Test(open, m5_ctl_open__without_proc_succeeds)
{
	struct m5_ctl *ctl;

	calls_fail_named("/proc/self/fd", EACCES);
	ctl = opened(VFIO_IA, "gid=auto");
	calls_stop();
	ctl->ops->close(ctl);
	nothing_left();
}

static struct m5_ctl *used;
static bool returned;

static void alloc_pd(void)
{
	uint32_t pdn;
	void *priv;

	if (!used->ops->pd_alloc(used, &pdn, &priv))
		used->ops->pd_free(used, pdn, priv);
	returned = true;
}

/* libmlx5 waits for the device in poll(), which is a cancellation point, and has a lock then. */
Test(open, pd_alloc__of_a_cancelled_thread_is_completed)
{
	used = opened(VFIO_IA, "gid=auto");
	cr_assert(th_cancelled(alloc_pd));
	cr_assert(returned, "the thread ended while it waited for a command");
	alloc_pd();
	used->ops->close(used);
	nothing_left();
}

Test(open, m5_ctl_open__two_devices_are_independent)
{
	struct m5_ctl *a = opened(VFIO_IA, "gid=auto"), *b = opened(VFIO_CHILD_IA, "gid=auto"), *c;

	a->ops->close(a);
	c = opened(VFIO_IA, "gid=auto");
	b->ops->close(b);
	c->ops->close(c);
	nothing_left();
}

Test(open, close__with_event_queues_that_stay_lets_the_next_open_succeed)
{
	struct m5_ctl *ctl = opened(VFIO_IA, "gid=auto");

	calls_fail_named("mlx5dv_devx_destroy_eq", EIO);
	ctl->ops->close(ctl);
	calls_stop();
	cr_assert_eq(calls_held(), 2);
	ctl = opened(VFIO_IA, "gid=auto");
	ctl->ops->close(ctl);
}

Test(open, m5_ctl_open__names_of_others_return_enodev)
{
	static const char *const names[] = { "0000:01:00", "01:00.0x", "0000:01:00.0-1", "1", "eth0",
					     "0000:01:00.9" };
	struct m5_ctl *ctl = NULL;
	char why[160];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect_eq(m5_ctl_open(names[i], "gid=auto", &ctl, why, sizeof(why)), -ENODEV,
			     "a device named \"%s\" was opened", names[i]);
}

Test(open, m5_ctl_open__while_the_port_is_down_names_the_cause)
{
	struct m5_ctl *first = opened("01:00.0", "gid=auto"), *ctl = NULL;
	char why[160] = "";

	cr_assert_eq(th_front_fault(0, "link_down"), 0);
	vfio_skip_pauses(true);
	cr_assert_eq(m5_ctl_open(VFIO_IA, "gid=auto", &ctl, why, sizeof(why)), -EIO);
	vfio_skip_pauses(false);
	cr_assert(strstr(why, "is down: connect"), "the error does not name the cause: %s", why);
	cr_assert_eq(th_front_fault(0, ""), 0);
	first->ops->close(first);
	nothing_left();
}

static struct m5_port port_of(struct m5_ctl *ctl)
{
	struct m5_port port;

	cr_assert_eq(ctl->ops->port(ctl, &port), 0);
	return port;
}

Test(open, port__by_ia_params_has_their_addresses)
{
	static const uint8_t ip[4] = { 10, 1, 2, 3 };
	static const uint8_t v4[16] = { [10] = 0xff, 0xff, 10, 1, 2, 3 };
	static const uint8_t v6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 9 };
	static const uint8_t mac[6] = { 2, 0x11, 0x22, 0x33, 0x44, 0x55 };
	struct m5_ctl *a = opened(VFIO_IA, "ip=10.1.2.3"),
		      *b = opened(VFIO_IA, "ip=10.1.2.3;gid=2001:db8::9;mac=02:11:22:33:44:55"),
		      *c = opened(VFIO_IA, "ip=10.1.2.3"), *d = opened(VFIO_IA, "gid=auto");
	struct m5_port pa = port_of(a), pb = port_of(b), pc = port_of(c), pd = port_of(d);

	cr_assert(pa.up && pa.ethernet);
	cr_assert_eq(pa.port_num, 1);
	cr_assert_geq(pa.mtu, 1024);
	cr_assert_arr_eq(pa.ipv4, ip, 4);
	cr_assert_arr_eq(pa.gid, v4, 16);
	cr_assert_arr_eq(pb.gid, v6, 16);
	cr_assert_arr_eq(pb.mac, mac, 6);
	cr_assert_arr_eq(pb.ipv4, ip, 4);
	cr_assert_neq(pb.gid_index, pa.gid_index,
		      "two different addresses share one GID table entry");
	cr_assert_eq(pc.gid_index, pa.gid_index,
		     "two IAs with the same address have different GID table entries");
	/* RFC 4291, appendix A */
	cr_assert_eq(pd.gid[0], 0xfe);
	cr_assert_eq(pd.gid[8] ^ 2, pd.mac[0]);
	cr_assert_arr_eq(pd.gid + 13, pd.mac + 3, 3);
	a->ops->close(a);
	b->ops->close(b);
	c->ops->close(c);
	d->ops->close(d);
	nothing_left();
}

Test(open, port__has_the_gid_of_an_ipv6_ip)
{
	static const uint8_t v6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 9 }, none[4];
	struct m5_ctl *a = opened(VFIO_IA, "ip=2001:db8::9"),
		      *b = opened(VFIO_IA, "ip=10.1.2.3;gid=2001:db8::9"),
		      *c = opened(VFIO_IA, "ip=10.1.2.3");
	struct m5_port pa = port_of(a), pb = port_of(b), pc = port_of(c);

	cr_assert_arr_eq(pa.gid, v6, 16);
	cr_assert_arr_eq(pa.ipv4, none, 4);
	cr_assert_eq(pb.gid_index, pa.gid_index,
		     "two IAs with the same GID have different GID table entries");
	cr_assert_neq(pc.gid_index, pa.gid_index);
	a->ops->close(a);
	b->ops->close(b);
	c->ops->close(c);
	nothing_left();
}

/* The table of a device has 16 entries. */
Test(open, m5_ctl_open__with_a_17th_address_returns_enospc)
{
	enum { ENTRIES = 16 };
	struct m5_ctl *ctl[ENTRIES], *late = NULL;
	char params[32], why[160];

	for (int i = 0; i < ENTRIES; i++) {
		snprintf(params, sizeof(params), "ip=10.1.2.%d", i);
		ctl[i] = opened(VFIO_IA, params);
	}
	cr_assert_eq(m5_ctl_open(VFIO_IA, "ip=10.1.2.99", &late, why, sizeof(why)), -ENOSPC);
	cr_assert(strstr(why, "16 other addresses"), "the error does not name the cause: %s", why);
	ctl[3]->ops->close(ctl[3]);
	ctl[3] = opened(VFIO_IA, "ip=10.1.2.99");
	for (int i = 0; i < ENTRIES; i++)
		ctl[i]->ops->close(ctl[i]);
	nothing_left();
}

/* The device's MTU counts the frame: 22 bytes more than that of a network interface. */
Test(open, port__path_mtu_leaves_room_for_the_headers_of_a_frame)
{
	static const struct { uint16_t frame, path; } devices[] = {
		{ 4200 + 22, 4096 }, { 4190, 2048 }, { 1500 + 22, 1024 },
	};
	struct m5_ctl *ctl = opened(VFIO_IA, "gid=auto");

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		calls_port.vport_mtu = devices[i].frame;
		cr_expect_eq(port_of(ctl).mtu, devices[i].path, "frames of %u bytes", devices[i].frame);
	}
	calls_port.vport_mtu = 0;
	ctl->ops->close(ctl);
	nothing_left();
}

/* The model's port has an MTU of 4200. */
Test(open, port__without_an_mtu_of_the_vport_has_that_of_the_port)
{
	struct m5_ctl *ctl = opened(VFIO_IA, "gid=auto");

	calls_port.vport_mtu = -1;
	cr_expect_eq(port_of(ctl).mtu, 4096);
	calls_port.vport_mtu = 0;
	ctl->ops->close(ctl);
	nothing_left();
}

/* Each armed CQ has a descriptor and may have an event that is not read yet. */
Test(open, eqn__of_a_queue_with_an_entry_for_each_descriptor)
{
	enum { QUERY_EQ = 0x303, LOG_EQ_SIZE = 16 + 12 };
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(QUERY_EQ) };
	uint8_t out[320] = { 0 };
	struct rlimit limit;
	struct m5_ctl *ctl;
	uint32_t eqn;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max < 6000 ? limit.rlim_max : 6000;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ctl = opened(VFIO_IA, "gid=auto");
	cr_assert_eq(ctl->ops->eqn(ctl, &eqn), 0);
	in.number = cpu_to_be32(eqn);
	cr_assert_eq(m5_cmd(ctl, &in, sizeof(in), out, sizeof(out)), 0);
	cr_expect_geq(1u << (out[LOG_EQ_SIZE] & 31), limit.rlim_cur);
	ctl->ops->close(ctl);
	nothing_left();
}

/* Does this entry of the device's table of addresses have a GID? */
static bool has_gid(struct m5_ctl *ctl, uint16_t index)
{
	static const uint8_t none[16];
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_QUERY_ROCE_ADDRESS),
				.number = cpu_to_be32((uint32_t)index << 16) };
	struct m5_query_roce_address_out out = { 0 };

	cr_assert_eq(m5_cmd(ctl, &in, sizeof(in), &out, sizeof(out)), 0);
	return memcmp(out.addr.gid, none, sizeof(none));
}

/* The table has 16 entries. */
Test(open, close__gives_the_entry_of_the_address_back)
{
	struct m5_ctl *first = opened(VFIO_IA, "ip=10.1.2.3"), *ctl;
	uint16_t index;
	char ip[32];

	for (int i = 0; i < 40; i++) {
		snprintf(ip, sizeof(ip), "ip=10.1.3.%d", i);
		ctl = opened(VFIO_IA, ip);
		index = port_of(ctl).gid_index;
		cr_assert(has_gid(first, index));
		ctl->ops->close(ctl);
		cr_assert_not(has_gid(first, index), "the device still answers to %s", ip);
	}
	first->ops->close(first);
	nothing_left();
}

Test(open, close__keeps_an_address_that_another_ia_has)
{
	struct m5_ctl *first = opened(VFIO_IA, "ip=10.1.2.3"), *other = opened(VFIO_IA, "ip=10.1.2.3");
	uint16_t index = port_of(first).gid_index;

	other->ops->close(other);
	cr_assert(has_gid(first, index));
	first->ops->close(first);
	nothing_left();
}

/* When the open has failed, the IA has no entry in the table of addresses any more. */
Test(open, m5_ctl_open__without_a_link_gives_the_entry_back)
{
	struct m5_ctl *first = opened(VFIO_IA, "ip=10.1.2.3"), *ctl = NULL;
	char why[160] = "";

	cr_assert_eq(th_front_fault(0, "link_down"), 0);
	vfio_skip_pauses(true);
	cr_assert_eq(m5_ctl_open(VFIO_IA, "ip=10.1.3.1", &ctl, why, sizeof(why)), -EIO);
	vfio_skip_pauses(false);
	cr_assert_eq(th_front_fault(0, ""), 0);
	cr_assert_not(has_gid(first, 1));
	first->ops->close(first);
	nothing_left();
}

Test(open, uar__is_for_doorbells_of_8_bytes)
{
	struct m5_ctl *ctl = opened(VFIO_IA, "gid=auto");
	struct m5_uar uar;

	cr_assert(ctl->no_bf);
	cr_assert_eq(ctl->ops->uar_alloc(ctl, M5_UAR_BF, &uar), 0);
	cr_assert_not(uar.bf);
	ctl->ops->uar_free(ctl, &uar);
	ctl->ops->close(ctl);
	nothing_left();
}

static int opens(int sock, void *arg)
{
	struct m5_ctl *ctl = NULL;
	char why[160] = "";
	int err = m5_ctl_open(arg, "gid=auto", &ctl, why, sizeof(why));

	(void)sock;
	if (!err)
		ctl->ops->close(ctl);
	return err == -EBUSY && strstr(why, "in use") && strstr(why, "one at a time") ? 7 : -err;
}

/* A device belongs to one process, but the machine's other function is another device. */
Test(open, m5_ctl_open__of_one_device_in_two_processes_fails)
{
	struct m5_ctl *ctl = opened(VFIO_IA, "gid=auto");
	struct th_child child;

	cr_assert_eq(th_spawn(&child, opens, (void *)VFIO_IA), 0);
	cr_assert_eq(th_join(&child, 30000), 7);
	cr_assert_eq(th_spawn(&child, opens, (void *)VFIO_CHILD_IA), 0);
	cr_assert_eq(th_join(&child, 30000), 0);
	ctl->ops->close(ctl);
	cr_assert_eq(th_spawn(&child, opens, (void *)VFIO_IA), 0);
	cr_assert_eq(th_join(&child, 30000), 0);
	nothing_left();
}

Test(open, m5_ctl_list__returns_each_function)
{
	struct dapl_device devs[8];
	size_t n = m5_ctl_list(devs, 8), found = 0;

	for (size_t i = 0; i < n && i < 8; i++) {
		if (strcmp(devs[i].access, "vfio"))
			continue;
		cr_assert(!strcmp(devs[i].name, VFIO_IA) || !strcmp(devs[i].name, VFIO_CHILD_IA),
			  "the list has an unknown VFIO device: %s", devs[i].name);
		cr_assert_str_eq(devs[i].why, "");
		found++;
	}
	cr_assert_eq(found, 2);
	nothing_left();
}

Test(open, m5_ctl_list__without_sysfs_has_no_vfio_device)
{
	struct dapl_device devs[8];
	size_t n;

	calls_fail_named("/sys/bus/pci/devices", ENOENT);
	n = m5_ctl_list(devs, 8);
	calls_stop();
	for (size_t i = 0; i < n && i < 8; i++)
		cr_assert(strcmp(devs[i].access, "vfio"),
			  "the list has a VFIO device although sysfs is missing: %s", devs[i].name);
}
