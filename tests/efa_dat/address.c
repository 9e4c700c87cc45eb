/* SPDX-License-Identifier: BSD-2-Clause */
/* The address of an adapter that has no network interface: ip= in ia_params sets it. */
#include <arpa/inet.h>
#include <dat/dat_registry.h>
#include <sched.h>
#include <string.h>

#include "hw_common/address.h"
#include "tests/efa_dat/rig.h"

TestSuite(efa_address, .timeout = 120);

static DAT_IA_ADDRESS_PTR address_of(const struct end *e)
{
	static DAT_IA_ATTR attr;

	ok(dat_ia_query(e->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	return attr.ia_address_ptr;
}

static void has_address(const struct end *e, const char *text)
{
	const struct sockaddr_in *in = (const void *)address_of(e);
	char buf[INET_ADDRSTRLEN] = "";

	cr_assert_eq(in->sin_family, AF_INET);
	cr_assert_str_eq(inet_ntop(AF_INET, &in->sin_addr, buf, sizeof(buf)), text);
}

Test(efa_address, ia_query__returns_the_given_address)
{
	static const char *const each[][2] = {
		{ "", "127.0.0.1" }, { "ip=127.0.0.2", "127.0.0.2" }, { "ip=lo", "127.0.0.1" },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		end_open(&a, "soft-efa-0", each[i][0]);
		has_address(&a, each[i][1]);
		end_close(&a);
	}
}

/* Calls one of two adapters that listen at one qualifier. The destination address decides. */
static void calls(struct end *to, struct end *other, DAT_EP_HANDLE ep)
{
	DAT_EVENT ev;

	ok(dat_ep_connect(ep, address_of(to), to->qual, SOON_MS * 1000u, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	cr_assert(TH_WITHIN(SOON_MS, dat_evd_dequeue(to->cr, &ev) == DAT_SUCCESS));
	cr_assert_neq(dat_evd_dequeue(other->cr, &ev), DAT_SUCCESS);
}

Test(efa_address, ep_connect__reaches_the_adapter_of_that_address)
{
	static struct end c;

	end_open(&a, "soft-efa-0", "");
	end_open(&b, "soft-efa-1", "ip=127.0.0.2");
	end_open(&c, "soft-efa-0", "ip=127.0.0.3");
	ok(dat_psp_create_any(b.ia, &b.qual, b.cr, DAT_PSP_CONSUMER_FLAG, &b.psp));
	c.qual = b.qual;
	ok(dat_psp_create(c.ia, c.qual, c.cr, DAT_PSP_CONSUMER_FLAG, &c.psp));
	calls(&b, &c, a.ep);
	ok(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_conn(&a, DAT_CONNECTION_EVENT_DISCONNECTED);
	ok(dat_ep_reset(a.ep));
	calls(&c, &b, a.ep);
	end_close(&c);
	pair_close();
}

Test(efa_address, ia_open__refuses_an_address_that_the_machine_lacks)
{
	static const char *const each[][2] = {
		{ "ip=192.0.2.7", "192.0.2.7 is not an address of this machine" },
		{ "ip=0.0.0.0", "is not an address of this machine" },
		{ "ip=nosuch0", "no such interface" },
		{ "ip=", "ip has no value: must be an IPv4 or IPv6 address" },
		{ "ip=300.1.2.3.4.5.6.7", "neither an address nor an interface" },
	};
	DAT_PROVIDER_INFO info = { .ia_name = "soft-efa-0", .dapl_version_major = DAT_VERSION_MAJOR,
				   .dapl_version_minor = DAT_VERSION_MINOR };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		dat_provider_init(&info, each[i][0]);
		cr_expect_eq(DAT_GET_TYPE(dat_ia_open(info.ia_name, 8, &async, &ia)),
			     DAT_INVALID_PARAMETER, "%s was not refused with DAT_INVALID_PARAMETER",
			     each[i][0]);
		said(each[i][1]);
		dat_provider_fini(&info);
	}
}

/* The test runs in a new network namespace, in which the adapter's interface does not exist. */
Test(efa_address, default__without_routes_is_no_address_and_logs_the_cure)
{
	union dap_addr ip = dap_addr_v4(INADDR_ANY);

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		cr_skip_test("a test may not have a network of its own here");
	hw_address_default("rdmap0s6-1", &ip);
	cr_assert(dap_addr_is_any(&ip));
	said("rdmap0s6-1: cannot choose an address for peers on other hosts");
	said("no default route");
	said("ip= in ia_params");
}
