/* SPDX-License-Identifier: BSD-2-Clause */
/* ia_params of a ConnectX are parsed strictly. An error names the key, the value and the valid
 * range. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/param.h"
#include "hw_mlx5/params.h"

TestSuite(params, .timeout = 120);

static struct m5_params p;
static char why[256];

static int parsed(const char *text)
{
	why[0] = '\0';
	return m5_params_parse(text, &p, why, sizeof(why));
}

struct refusal {
	const char *text, *words[3];	/* the ia_params, and words of the message */
};

Test(params, parse__bad_value_names_key_value_and_range)
{
	static const struct refusal all[] = {
		{ "rnr_retry=8", { "rnr_retry=8", "from 0 to 7" } },
		{ "rnr_retry=x", { "rnr_retry=x", "from 0 to 7" } },
		{ "seed=1 retry_cnt=-1", { "retry_cnt=-1", "from 0 to 7" } },
		{ "ack_timeout=32", { "ack_timeout=32", "from 0 to 31" } },
		{ "min_rnr=1.5", { "min_rnr=1.5", "from 0 to 31" } },
		{ "inline=221", { "inline=221", "from 0 to 220" } },
		{ "inline=64k", { "inline=64k", "from 0 to 220" } },
		{ "bf_eps=256", { "bf_eps=256", "from 0 to 255" } },
		{ "scatter_cqe=3", { "scatter_cqe=3", "from 0 to 2" } },
		{ "mmio=fast", { "mmio=fast", "auto", "measure" } },
		{ "eal=yes", { "eal=yes", "from 0 to 1" } },
		{ "isa=avx", { "isa=avx", "base" } },
		{ "gid_index=256", { "gid_index=256", "from 0 to 255" } },
		{ "pkey=0x10000", { "pkey=0x10000", "from 0 to 65535" } },
		{ "sl=16", { "sl=16", "from 0 to 15" } },
		{ "sl=fast:1", { "sl=fast:1", "from 0 to 15", "low_latency:15" } },
		{ "tclass=256", { "tclass=256", "from 0 to 255" } },
		{ "tclass=premium:", { "tclass=premium:", "from 0 to 255" } },
		{ "tclass=:1", { "tclass=:1", "after a class" } },
		{ "dscp=64", { "dscp=64", "from 0 to 63" } },
		{ "dscp=premiums:1", { "dscp=premiums:1", "from 0 to 63" } },
		{ "ip=10.0.0", { "ip=10.0.0", "IPv4 or IPv6 address" } },
		{ "ip=fe80::7", { "ip=fe80::7", "link-local" } },
		{ "mac=1:2:3", { "mac=1:2:3", "six hexadecimal bytes" } },
		{ "mac=01:02:03:04:05:06", { "mac=01:02:03:04:05:06", "not a multicast" } },
		{ "gid=10.0.0.1", { "gid=10.0.0.1", "auto or an IPv6 address" } },
		{ "seed=0x", { "seed=0x", "from 0 to 18446744073709551615" } },
		{ "seed=18446744073709551616", { "seed=18446744073709551616", "from 0 to" } },
		{ "memlock=yes", { "memlock=yes", "strict" } },
		{ "variant=gold", { "variant=gold", "silicon" } },
		{ "validate=2", { "validate=2", "from 0 to 1" } },
		{ "spin_us=fast", { "spin_us=fast", "from 0 to 1000000" } },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cr_expect_eq(parsed(all[i].text), -EINVAL,
			     "the invalid parameter \"%s\" was accepted", all[i].text);
		for (size_t w = 0; w < 3 && all[i].words[w]; w++)
			cr_expect(strstr(why, all[i].words[w]),
				  "\"%s\": the error \"%s\" does not contain \"%s\"", all[i].text,
				  why, all[i].words[w]);
	}
}

Test(params, parse__missing_value_names_key_and_range)
{
	static const char *const all[] = { "rnr_retry", "rnr_retry=", "rnr_retry= seed=1",
					   "seed=1,rnr_retry" };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cr_expect_eq(parsed(all[i]), -EINVAL,
			     "the parameter \"%s\" without a value was accepted", all[i]);
		cr_expect_str_eq(why,
				 "ia_params: rnr_retry has no value: must be a number from 0 to 7",
				 "\"%s\": wrong error message: %s", all[i], why);
	}
	cr_expect_eq(parsed("validate"), -EINVAL);
	cr_expect_eq(parsed("fault="), -EINVAL);
}

Test(params, parse__unknown_key_is_named)
{
	static const char *const all[][2] = {
		{ "inlin=64", "inlin=64" }, { "seed=1;Inline=64", "Inline=64" }, { "mlx5_0", "mlx5_0" },
		{ "=7", "=7" }, { "efa_window=64", "efa_window=64" },
		{ "a_key_of_more_than_thirty_two_bytes_in_all=1", "a_key_of" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cr_expect_eq(parsed(all[i][0]), -EINVAL,
			     "the unknown parameter \"%s\" was accepted", all[i][0]);
		cr_expect(strstr(why, all[i][1]) && strstr(why, "no such key"),
			  "\"%s\": wrong error message: %s", all[i][0], why);
	}
}

Test(params, parse__value_longer_than_its_room_is_refused)
{
	char text[800] = "pcap=";

	memset(text + 5, 'a', 255);
	cr_assert_eq(parsed(text), 0);
	cr_assert_eq(strlen(p.pcap), 255);
	memset(text + 5, 'a', 256);
	cr_assert_eq(parsed(text), -EINVAL);
	cr_assert(strstr(why, "pcap="), "the error does not name the key: %s", why);
	memset(text + 5, 'a', 700);
	cr_assert_eq(parsed(text), -EINVAL);
}

/* In a fault script a semicolon is part of the value if a rule follows, and ends the value otherwise. */
Test(params, fault__rules_are_separated_by_semicolons)
{
	cr_assert_eq(parsed("fault=drop=0.1;seed=3"), 0, "%s", why);
	cr_assert_str_eq(p.fault, "drop=0.1");
	cr_assert_eq(p.seed, 3);
	cr_assert_eq(parsed("fault=far;drop:op=write,psn=+17,times=1;dup:op=ack;seed=4;retry_cnt=2"), 0, "%s",
		     why);
	cr_assert_str_eq(p.fault, "far;drop:op=write,psn=+17,times=1;dup:op=ack");
	cr_assert_eq(p.seed, 4);
	cr_assert_eq(p.retry_cnt, 2);
	cr_assert_eq(parsed("fault=drop:dir=in pcap=/tmp/x,sl=low_latency:3;"), 0, "%s", why);
	cr_assert_str_eq(p.fault, "drop:dir=in");
	cr_assert_str_eq(p.pcap, "/tmp/x");
	cr_assert_eq(parsed("fault=far;drop"), -EINVAL);
	cr_assert(strstr(why, "drop"), "%s", why);
}

Test(params, parse__each_separator_is_accepted_and_the_last_value_counts)
{
	cr_assert_eq(parsed(" validate=1,spin_us=40 seed=7;;fault=drop=0.1,dup=0.2\trnr_retry=3 "
			    "seed=0x10,"),
		     0, "valid parameters were refused: %s", why);
	cr_assert_eq(p.seed, 16);
	cr_assert_eq(p.rnr_retry, 3);
	cr_assert_str_eq(p.fault, "drop=0.1,dup=0.2");
	cr_assert_eq(parsed("seed=010 ip=10.0.0.7 gid=auto memlock=strict variant=silicon "
			    "isa=base"),
		     0, "valid parameters were refused: %s", why);
	cr_assert_eq(p.seed, 10, "a number with a leading zero was not read as decimal");
	cr_assert(p.has_ip && p.gid_from == M5_GID_AUTO && p.memlock && p.silicon && p.base);
}

/* Whether there is a default route depends on the machine. */
Test(params, ip__auto_is_the_address_of_the_default_route)
{
	int err = parsed("ip=auto");

	cr_assert(err ? strstr(why, "ip=auto: this machine has no default route") != NULL
		      : p.has_ip && !dap_addr_is_any(&p.ip), "%s", why);
}

Test(params, parse__without_words_has_the_defaults)
{
	cr_assert_eq(parsed(NULL), 0);
	cr_assert_eq(p.rnr_retry, 7);
	cr_assert_eq(p.ack_timeout, 16);
	cr_assert_eq(p.inline_max, 188);
	cr_assert_eq(p.bf_eps, 8);
	cr_assert_eq(p.gid_index, -1);
	cr_assert_eq(p.pkey, 0xffff);
	cr_assert_eq(p.mmio, M5_MMIO_AUTO);
	cr_assert(!p.has_ip && !p.memlock && !p.silicon && !p.base && !p.strict);
}

Test(params, core__keys_of_core_are_read_and_others_ignored)
{
	struct dap_core_params c;

	unsetenv("DAPL_VALIDATE");
	dap_params_core("seed=7;validate=1 inline=0 spin_us=0", &c);
	cr_assert(c.validate && c.spin_us == 0);
	setenv("DAPL_VALIDATE", "1", 1);
	dap_params_core("", &c);
	cr_assert(c.validate && c.spin_us == 20);
	dap_params_core("validate=0", &c);
	cr_assert(!c.validate);
}

static char device[72];

static int selected(const char *text)
{
	strcpy(device, "?");
	why[0] = '\0';
	return dap_params_device(text, device, sizeof(device), why, sizeof(why));
}

Test(params, device__each_form_selects_name_and_port)
{
	static const char *const all[][2] = {
		{ "", "" }, { "seed=1", "" }, { " ", "" }, { "port=0", "" },
		{ "device=mlx5_0 port=1", "mlx5_0 1" }, { "port=2,device=mlx5_0;seed=1", "mlx5_0 2" },
		{ "device=mlx5_0", "mlx5_0 0" }, { "device=0000:3b:00.0", "0000:3b:00.0 0" },
		{ "mlx5_0 1", "mlx5_0 1" }, { "  eth2  0 ", "eth2 0" }, { "fe80::1 0", "fe80::1 0" },
		{ "mlx5_0 2 inline=64 seed=1", "mlx5_0 2" },
	};

	cr_expect_eq(dap_params_device(NULL, device, sizeof(device), why, sizeof(why)), 0);
	cr_expect_str_eq(device, "");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cr_expect_eq(selected(all[i][0]), 0, "\"%s\" was refused: %s", all[i][0], why);
		cr_expect_str_eq(device, all[i][1], "\"%s\" selects the wrong device %s", all[i][0],
				 device);
		cr_expect_eq(parsed(all[i][0]), 0, "\"%s\" was refused: %s", all[i][0], why);
	}
	cr_expect_eq(parsed("mlx5_0 1 inline=64"), 0, "valid parameters were refused: %s", why);
	cr_expect_eq(p.inline_max, 64);
}

Test(params, device__bad_form_names_cause_and_cure)
{
	static const struct refusal all[] = {
		{ "mlx5_0 1 device=mlx5_1", { "\"mlx5_0 1\"", "device=", "remove one of them" } },
		{ "mlx5_0 1 port=2", { "\"mlx5_0 1\"", "port=", "remove one of them" } },
		{ "port=2", { "port=2", "needs device=" } },
		{ "mlx5_0 256", { "\"mlx5_0 256\"", "port from 0 to 255" } },
		{ "mlx5_0 1x", { "\"mlx5_0 1x\"", "port from 0 to 255" } },
		{ "device=mlx5_0 port=256", { "port=256", "from 0 to 255" } },
		{ "device=mlx5_0 port=one", { "port=one", "from 0 to 255" } },
		{ "device= port=1", { "device has no value", "at most 63 bytes" } },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cr_expect_eq(selected(all[i].text), -EINVAL,
			     "the invalid device \"%s\" was accepted", all[i].text);
		for (size_t w = 0; w < 3 && all[i].words[w]; w++)
			cr_expect(strstr(why, all[i].words[w]),
				  "\"%s\": the error \"%s\" does not contain \"%s\"", all[i].text,
				  why, all[i].words[w]);
	}
}

Test(params, variables__set_defaults_that_ia_params_override)
{
	setenv("DAPL_ACK_TIMER", "20", 1);
	setenv("DAPL_ACK_RETRY", "5", 1);
	setenv("DAPL_RNR_TIMER", "28", 1);
	setenv("DAPL_RNR_RETRY", "6", 1);
	setenv("DAPL_MAX_INLINE", "64", 1);
	setenv("DAPL_IB_SL", "3", 1);
	setenv("DAPL_IB_PKEY", "0x8001", 1);
	setenv("DAPL_TCLASS", "104", 1);
	cr_assert_eq(parsed(""), 0, "empty parameters were refused: %s", why);
	cr_expect_eq(p.ack_timeout, 20);
	cr_expect_eq(p.retry_cnt, 5);
	cr_expect_eq(p.min_rnr, 28);
	cr_expect_eq(p.rnr_retry, 6);
	cr_expect_eq(p.inline_max, 64);
	cr_expect_eq(p.sl[0], 3);
	cr_expect_eq(p.pkey, 0x8001);
	cr_expect_eq(p.tclass[0], 104);
	cr_assert_eq(parsed("ack_timeout=3 tclass=8 pkey=0x7fff"), 0,
		     "valid parameters were refused: %s", why);
	cr_expect_eq(p.ack_timeout, 3);
	cr_expect_eq(p.tclass[0], 8);
	cr_expect_eq(p.pkey, 0x7fff);
}

Test(params, variables__zero_as_pkey_and_bad_values_leave_the_default)
{
	setenv("DAPL_IB_PKEY", "0", 1);
	setenv("DAPL_ACK_TIMER", "32", 1);
	setenv("DAPL_RNR_RETRY", "", 1);
	setenv("DAPL_CM_TOS", "many", 1);
	cr_assert_eq(parsed(""), 0, "empty parameters were refused: %s", why);
	cr_expect_eq(p.pkey, 0xffff);
	cr_expect_eq(p.ack_timeout, 16);
	cr_expect_eq(p.rnr_retry, 7);
	cr_expect_eq(p.tclass[0], 0);
}
