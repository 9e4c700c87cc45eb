/* SPDX-License-Identifier: BSD-2-Clause */
/* The address of an IA whose adapter has no network interface: other hosts can reach it, even if
 * ia_params do not set it. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <net/route.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/e2e/rig.h"

TestSuite(address, .timeout = 60);

static bool has_default_route(void)
{
	FILE *f = fopen("/proc/net/route", "r");
	char line[256];
	unsigned long to;
	unsigned int flags;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %lx %*x %x", &to, &flags) == 2 && !to && !(flags & RTF_REJECT);
	if (f)
		fclose(f);
	return found;
}

static struct in_addr told(const char *params)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	struct in_addr at;
	DAT_IA_ATTR attr;

	rig_conf(params);
	must(rig_ia_open(&async, &ia));
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	at = ((const struct sockaddr_in *)(const void *)attr.ia_address_ptr)->sin_addr;
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	return at;
}

static bool is_of_this_machine(struct in_addr at)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = at };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

Test(address, ia_query__returns_an_address_for_other_hosts)
{
	const struct in_addr at = told("");

	if (at.s_addr == htonl(INADDR_LOOPBACK))
		cr_assert_not(has_default_route());
	else
		cr_assert(is_of_this_machine(at), "the IA's address %s is not of this machine",
			  inet_ntoa(at));
}

Test(address, ia_query__returns_the_given_address)
{
	cr_assert_eq(told("ip=127.0.0.2").s_addr, htonl(0x7f000002));
}
