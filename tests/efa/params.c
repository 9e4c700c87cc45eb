/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ia_params of an EFA are parsed strictly. An error names the key, the value and the valid range.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw_efa/ctl/ctl.h"
#include "hw_efa/params.h"
#include "softnic/softnic_efa.h"
#include "tests/harness/harness.h"

TestSuite(params, .timeout = 120);

static struct efa_params p;
static char why[256];

static int parsed(const char *text)
{
	why[0] = '\0';
	return efa_params_parse(text, &p, why, sizeof(why));
}

Test(params, parse__bad_word_reports_key_value_and_range)
{
	static const struct {
		const char *text, *words[2];
	} all[] = {
		{ "efa_window=2", { "efa_window=2", "a power of two from 4 to 1024" } },
		{ "efa_window=65", { "efa_window=65", "a power of two from 4 to 1024" } },
		{ "efa_cq=100000", { "efa_cq=100000", "a power of two from 16 to 1048576" } },
		{ "efa_rendezvous=32k", { "efa_rendezvous=32k", "from 0 to 1073741824" } },
		{ "efa_inline=81", { "efa_inline=81", "from 0 to 80" } },
		{ "efa_reorder=513", { "efa_reorder=513", "from 0 to 512" } },
		{ "efa_look=0", { "efa_look=0", "from 1 to 60000" } },
		{ "efa_look", { "efa_look has no value", "from 1 to 60000" } },
		{ "efa_profile=efa9", { "efa_profile=efa9", "read, write, unsol" } },
		{ "variant=soft", { "variant=soft", "silicon" } },
		{ "seed=x", { "seed=x", "from 0" } },
		{ "strict=2", { "strict=2", "from 0 to 1" } },
		{ "ip=", { "ip has no value", "IPv4 or IPv6 address" } },
		{ "ip=nosuchif0", { "ip=nosuchif0", "no such interface" } },
		{ "validate=x", { "validate=x", "from 0 to 1" } },
		{ "efa_windo=64", { "efa_windo=64", "no such key" } },
		{ "rnr_retry=7", { "rnr_retry=7", "no such key" } },
		{ "mmio=auto", { "mmio=auto", "no such key" } },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cr_expect_eq(parsed(all[i].text), -EINVAL,
			     "the invalid parameter \"%s\" was accepted", all[i].text);
		for (size_t w = 0; w < 2; w++)
			cr_expect(strstr(why, all[i].words[w]),
				  "\"%s\": the error \"%s\" does not contain \"%s\"", all[i].text,
				  why, all[i].words[w]);
	}
}

/* efa0 and efa1 have no RDMA read, and are refused. */
Test(params, parse__each_profile_with_rdma_read_is_known)
{
	char text[64];

	for (const char *const *name = softnic_efa_profiles(); *name; name++) {
		if (!strncmp(*name, "efa", 3))
			continue;
		snprintf(text, sizeof(text), "efa_profile=%s", *name);
		cr_expect_eq(parsed(text), 0, "a valid parameter was refused: %s", why);
		cr_expect_str_eq(p.profile, *name);
	}
}

Test(params, parse__words_are_read_and_the_rest_has_defaults)
{
	unsetenv("DAPL_EFA_PROFILE");
	cr_assert_eq(parsed("spin_us=5,efa_window=8;ip=127.0.0.1 fault=drop=0.1,dup=0.2"), 0,
		     "valid parameters were refused: %s", why);
	cr_assert(p.window == 8 && p.cq_entries == 32768 && p.rendezvous == 32768 && p.inl == 32);
	cr_assert(p.look_ms == 20 && !p.reorder && !p.silicon && !p.profile[0]);
	cr_assert_eq(p.ip.v4.sin_addr.s_addr, htonl(0x7f000001));
	cr_assert_eq(parsed("ip=fe80::1"), -EINVAL);
	cr_assert(strstr(why, "link-local"), "the error does not name the link-local address: %s",
		  why);
	cr_assert_eq(parsed("spin_us=5,efa_window=8;ip=127.0.0.1 fault=drop=0.1,dup=0.2"), 0,
		     "valid parameters were refused: %s", why);
	cr_assert_str_eq(p.fault, "drop=0.1,dup=0.2");
	cr_assert_eq(parsed("fault=drop:op=send;dup:op=ack;efa_window=16"), 0, "%s", why);
	cr_assert_str_eq(p.fault, "drop:op=send;dup:op=ack");
	cr_assert_eq(parsed("pcap=/tmp/x"), -EINVAL);
	cr_assert(strstr(why, "pcap=/tmp/x: this adapter has no such key"), "%s", why);
	setenv("DAPL_EFA_PROFILE", "read", 1);
	cr_assert_eq(parsed(""), 0);
	cr_assert_str_eq(p.profile, "read");
}

/* The model holds no more packets back, so a larger number must not pass the parser. */
Test(params, open__with_the_largest_efa_reorder_succeeds)
{
	struct efa_ctl *ctl;

	cr_assert_eq(efa_ctl_open("soft-efa-0", "efa_reorder=512", &ctl, why, sizeof(why)), 0, "%s", why);
	ctl->ops->close(ctl);
}

/* A script that is right stays right while memory is missing. */
Test(params, open__with_a_fault_script_lacks_memory_only)
{
	unsigned long n = 0, seen;
	struct efa_ctl *ctl;
	int err;

	do {
		th_fail_start(TH_FAIL_HEAP | TH_FAIL_MINE, ++n);
		err = efa_ctl_open("soft-efa-0", "fault=seed=1;drop:op=ack", &ctl, why, sizeof(why));
		seen = th_fail_stop();
		cr_assert_neq(err, -EINVAL, "without allocation %lu: %s", n, why);
		if (!err)
			ctl->ops->close(ctl);
	} while (seen >= n);
	cr_assert_eq(err, 0);
}
