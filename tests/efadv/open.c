/* SPDX-License-Identifier: BSD-2-Clause */
/* The device that each name opens, the attributes that it reports, and the reasons for refusals. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/efadv.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/hw.h"
#include "hw_efa/ctl/efadv.h"
#include "hw_efa/ops.h"
#include "tests/efadv/efa_calls.h"
#include "tests/harness/harness.h"
#include "tests/uverbs/refused.h"

static void setup(void)
{
	setenv("DAPL_DBG_TYPE", "0", 1);
}

TestSuite(open, .init = setup, .timeout = 60);

static const struct refusal refusals[] = {
	{ .name = "efa_7-1", .err = -ENODEV, .cause = "no RDMA device efa_7", .cure = "mlx5_ib or efa" },
	{ .name = "efa_0-2", .err = -ENODEV, .cause = "efa_0 has no port 2", .cure = "" },
	{ .name = "efa_0-1", .device = &(const struct efa_told){ .hidden = "efadv_query_qp_wqs" },
	  .err = -EOPNOTSUPP, .cause = "no efadv_query_qp_wqs", .cure = "rdma-core 59 or newer" },
	{ .name = "efa_0-1", .device = &(const struct efa_told){ .hidden = "efadv_query_cq" },
	  .err = -EOPNOTSUPP, .cause = "no efadv_query_cq", .cure = "rdma-core 59 or newer" },
	{ "ibv_get_device_list", ENOMEM, "efa_0-1", .err = -ENOMEM, .cause = "does not list efa_0",
	  .cure = "ibverbs-providers" },
	{ "ibv_open_device", EACCES, "efa_0-1", .err = -EACCES, .cause = "no permission to open",
	  .cure = "group" },
	{ "ibv_open_device", EMFILE, "efa_0-1", .err = -EMFILE, .cause = "Too many open files",
	  .cure = "" },
	{ "efadv_query_device", EOPNOTSUPP, "efa_0-1", .err = -ENODEV,
	  .cause = "this provider", .cure = "" },
	{ "efadv_query_device", EIO, "efa_0-1", .err = -EIO, .cause = "capabilities",
	  .cure = "" },
	{ "ibv_query_device", EPERM, "efa_0-1", .err = -EPERM, .cause = "capabilities",
	  .cure = "" },
	{ "ibv_query_port", EIO, "efa_0-1", .err = -EIO, .cause = "capabilities",
	  .cure = "" },
	{ "ibv_query_gid", EIO, "efa_0-1", .err = -EIO, .cause = "capabilities",
	  .cure = "" },
	{ "epoll_create1", EMFILE, "efa_0-1", .err = -EMFILE, .cause = "event channel",
	  .cure = "" },
	{ "epoll_ctl", ENOMEM, "efa_0-1", .err = -ENOMEM, .cause = "event channel", .cure = "" },
	{ "ibv_alloc_pd", ENOMEM, "efa_0-1", .err = -ENOMEM, .cause = "protection domain",
	  .cure = "" },
	{ "ibv_create_comp_channel", EMFILE, "efa_0-1", .err = -EMFILE,
	  .cause = "completion queue", .cure = "" },
	{ "efadv_create_cq", ENOMEM, "efa_0-1", .err = -ENOMEM, .cause = "completion queue",
	  .cure = "" },
	{ "efadv_query_cq", EOPNOTSUPP, "efa_0-1", .err = -EIO, .cause = "completion queue",
	  .cure = "" },
	{ "ibv_reg_mr_iova2", ENOMEM, "efa_0-1", .err = -ENOMEM,
	  .cause = "locked-memory limit is 64 KiB", .cure = "ulimit -l" },
	{ .name = "efa_0-1", .device = &(const struct efa_told){ .port_state = IBV_PORT_DOWN },
	  .err = -EIO, .cause = "the port of efa_0 is down", .cure = "attached" },
};

static int open_ia(const char *name, struct efa_ctl **ctl, char *why, size_t whylen)
{
	return efa_ctl_open(name, "", ctl, why, whylen);
}

static int open_refused(const struct refusal *r, void **ctl, char *why, size_t whylen)
{
	efa_told = r->device ? *(const struct efa_told *)r->device : (struct efa_told){ 0 };
	calls_port = (struct calls_port){ .on = efa_told.port_state,
					  .state = (enum ibv_port_state)efa_told.port_state };
	return open_ia(r->name, (struct efa_ctl **)ctl, why, whylen);
}

Test(open, efa_ctl_open__each_refusal_names_cause_and_cure)
{
	refused_each(refusals, sizeof(refusals) / sizeof(refusals[0]), open_refused);
}

/* Devices that have less than the driver needs. */
static const struct lack {
	struct efa_told told;
	const char *params;
	int err;
	const char *cause;
} lacks[] = {
	{ { .lacks = EFADV_DEVICE_ATTR_CAPS_RDMA_READ }, "", -EOPNOTSUPP, "no RDMA read" },
	{ { .mtu = 1023 }, "", -EOPNOTSUPP, "no MTU between 1024 and 65472 bytes" },
	{ { .mtu = 65473 }, "", -EOPNOTSUPP, "no MTU between 1024 and 65472 bytes" },
	{ { .sq_sge = 1 }, "", -EOPNOTSUPP, "no sends of two segments" },
	{ { .sq_wr = 16 }, "", -EOPNOTSUPP, "no queues of 128 receives and 32 sends" },
	{ { .rq_wr = 64 }, "", -EOPNOTSUPP, "no queues of 128 receives and 32 sends" },
	{ { .rq_wr = 128 }, "efa_window=1024", -EINVAL, "use a smaller efa_window=" },
};

Test(open, open__of_a_device_with_less_than_needed_is_refused)
{
	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++) {
		struct dap_ia *ia = aligned_alloc(64, (sizeof(*ia) + 63) & ~(size_t)63);
		char why[256] = "";
		int err;

		memset(ia, 0, sizeof(*ia));
		strcpy(ia->name, "efa_0-1");
		efa_told = lacks[i].told;
		calls_port = (struct calls_port){ .max_msg_sz = efa_told.mtu };
		err = efa_hw.open(ia, lacks[i].params, why, sizeof(why));
		cr_expect_eq(err, lacks[i].err, "%s: error %d", lacks[i].cause, err);
		cr_expect_not_null(strstr(why, lacks[i].cause), "\"%s\" does not say \"%s\"", why,
				   lacks[i].cause);
		free(ia);
		nothing_left();
	}
}

Test(open, efa_ctl_open__names_of_others_return_enodev)
{
	static const char *const names[] = { "efa_0", "efa_0-", "efa_0-1x", "soft-efa-9" };
	struct efa_ctl *ctl = NULL;
	char why[160] = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect_eq(open_ia(names[i], &ctl, why, sizeof(why)), -ENODEV,
			     "a device named \"%s\" was opened", names[i]);
	nothing_left();
}

Test(open, efa_ctl_open__without_memory_returns_enomem)
{
	struct efa_ctl *ctl = NULL;
	char why[160] = "";
	int err;

	th_fail_start(TH_FAIL_HEAP, 1);
	err = efa_ctl_open("efa_0-1", "", &ctl, why, sizeof(why));
	th_fail_stop();
	cr_assert_eq(err, -ENOMEM);
	cr_assert_null(ctl);
}

static struct efa_caps caps_of(const struct efa_told *told)
{
	struct efa_ctl *ctl = NULL;
	struct efa_caps caps;
	char why[160] = "";

	efa_told = *told;
	cr_assert_eq(open_ia("efa_0-1", &ctl, why, sizeof(why)), 0,
		     "the device cannot be opened: %s", why);
	caps = ctl->caps;
	ctl->ops->close(ctl);
	nothing_left();
	return caps;
}

Test(open, caps__of_the_newest_device_are_complete)
{
	const struct efa_caps c = caps_of(&(struct efa_told){ 0 });

	cr_assert(c.rdma_read && c.rdma_write && c.wide_wqe);
	cr_assert(c.rnr_retry && c.cq_doorbell);
	cr_assert_eq(c.mtu, 8928);
	cr_assert_eq(c.inline_max, 32);
	cr_assert_eq(c.inline_max_wide, 80);
	cr_assert_eq(c.max_send_sge, 2);
	cr_assert_eq(c.gid[0], 0xfe);
}

Test(open, caps__each_that_a_device_lacks_is_off)
{
	const uint32_t read = EFADV_DEVICE_ATTR_CAPS_RDMA_READ;
	const uint32_t rnr = EFADV_DEVICE_ATTR_CAPS_RNR_RETRY;

	cr_assert(!caps_of(&(struct efa_told){ .lacks = read }).rdma_read);
	cr_assert(!caps_of(&(struct efa_told){ .lacks = EDV_CAP_RDMA_WRITE }).rdma_write);
	cr_assert(!caps_of(&(struct efa_told){ .lacks = rnr }).rnr_retry);
	cr_assert(!caps_of(&(struct efa_told){ .inline_ex = 32 }).wide_wqe);
}

/* rdma-core 44.0 has no RDMA write, 56.0 has it; SOFTNIC_EFADV selects which release is
 * emulated. */
Test(open, caps__follow_the_release_of_rdma_core)
{
	bool writes = dlsym(RTLD_DEFAULT, "efadv_query_mr");	/* a call of release 50.0 */
	struct efa_caps installed;

	setenv("SOFTNIC_EFADV", "0", 1);
	installed = caps_of(&(struct efa_told){ 0 });
	cr_assert_eq(installed.rdma_write, writes);
	cr_assert(installed.cq_doorbell);
	setenv("SOFTNIC_EFADV", "59", 1);
	cr_assert(caps_of(&(struct efa_told){ 0 }).rdma_write);
	cr_assert(!caps_of(&(struct efa_told){ 0 }).cq_doorbell);
	setenv("SOFTNIC_EFADV", "60", 1);
	cr_assert(caps_of(&(struct efa_told){ 0 }).cq_doorbell);
	cr_assert_eq(caps_of(&(struct efa_told){ 0 }).wide_wqe, installed.wide_wqe);
}

/* The device refuses a CQ with a channel. */
Test(open, caps__of_a_device_without_events_have_no_doorbell)
{
	struct efa_caps c;

	setenv("SOFTNIC_EFA", "efa1", 1);
	c = caps_of(&(struct efa_told){ 0 });
	cr_assert(!c.cq_doorbell && !c.rdma_read && !c.rdma_write && !c.wide_wqe);
}

Test(open, efa_ctl_open__of_the_first_generation_names_the_needed_one)
{
	struct efa_ctl *ctl = NULL;
	char why[160] = "";

	setenv("SOFTNIC_EFA", "efa0", 1);
	cr_assert_eq(open_ia("efa_0-1", &ctl, why, sizeof(why)), -EOPNOTSUPP);
	cr_assert(strstr(why, "Nitro v3") || strstr(why, "first generation"),
		  "the error does not name the old generation: %s", why);
	cr_assert(strstr(why, "Nitro v4") || strstr(why, "later one"),
		  "the error does not name the needed generation: %s", why);
	nothing_left();
}

/* An endpoint has a receive buffer for each packet of the window, and 24 more. */
Test(open, ia_open__window_beyond_the_receive_queue_is_refused)
{
	struct dap_ia *ia = dap_aligned_alloc(64, sizeof(*ia));
	char why[160] = "";

	cr_assert_not_null(ia);
	memset(ia, 0, sizeof(*ia));
	strcpy(ia->name, "efa_0-1");
	efa_told.rq_wr = 128;
	cr_assert_eq(efa_hw.open(ia, "efa_window=128", why, sizeof(why)), -EINVAL);
	cr_assert(strstr(why, "efa_window=128 needs queues of 256 receives"), "the reason is: %s", why);
	cr_assert(strstr(why, "use a smaller efa_window="), "the error does not name the cure: %s", why);
	nothing_left();
	cr_assert_eq(efa_hw.open(ia, "efa_window=64", why, sizeof(why)), 0, "%s", why);
	efa_hw.close(ia);
	free(ia);
}

static const struct dapl_device *listed(const struct dapl_device *devs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(devs[i].name, "efa_0-1"))
			return &devs[i];
	return NULL;
}

Test(open, efa_ctl_list__returns_each_device)
{
	struct dapl_device devs[8];
	size_t n = efa_ctl_list(devs, 8);

	cr_assert_eq(n, 3);
	cr_assert(listed(devs, n));
	cr_assert_str_eq(listed(devs, n)->access, "efadv");
	cr_assert_str_eq(listed(devs, n)->why, "");
	cr_assert_eq(efa_ctl_list(devs, 1), 3);
	calls_fail_named("ibv_open_device", EACCES);
	cr_assert_eq(efa_ctl_list(devs, 8), 3);
	calls_stop();
	cr_assert(strstr(listed(devs, n)->why, "no permission"),
		  "the error does not name the permission: %s", listed(devs, n)->why);
	calls_fail_named("efadv_query_device", EOPNOTSUPP);
	cr_assert_eq(efa_ctl_list(devs, 8), 2);
	calls_stop();
	calls_fail_named("ibv_get_device_list", ENOMEM);
	cr_assert_eq(efa_ctl_list(devs, 8), 2);
	calls_stop();
	nothing_left();
}
