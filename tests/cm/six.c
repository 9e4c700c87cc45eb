/* SPDX-License-Identifier: BSD-2-Clause */
/* Managers whose addresses are IPv6, and callers of either family. */
#include <arpa/inet.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "tests/cm/node.h"

static struct node a, b;

/* Skips the test on a machine without IPv6. */
static void needs_ipv6(void)
{
	if (th_no_ipv6())
		cr_skip_test("no IPv6 on this machine, ::1: %s", th_no_ipv6());
}

static void open_two(const char *mine, const char *theirs)
{
	needs_ipv6();
	node_open(&a, mine);
	node_open(&b, theirs);
	node_listen(&b, QUAL);
}

static union dap_addr addr_of(const char *text)
{
	union dap_addr at = { .v6 = { .sin6_family = AF_INET6 } };

	if (inet_pton(AF_INET6, text, &at.v6.sin6_addr) == 1)
		return at;
	at = dap_addr_v4(0);
	cr_assert_eq(inet_pton(AF_INET, text, &at.v4.sin_addr), 1);
	return at;
}

static struct dap_cm_conn *call(const char *to)
{
	const union dap_addr at = addr_of(to);
	struct dap_path path = path_of(1);
	struct dap_cm_conn *c;

	cr_assert_eq(dap_cm_connect(a.cm, &at, QUAL, SOON_MS * 1000u, &path, NULL, 0, &a, &c), 0);
	return c;
}

static void close_two(void)
{
	node_close_two(&a, &b);
}

static void expect_from(const char *text)
{
	const union dap_addr at = addr_of(text);

	cr_assert(dap_addr_same(&b.from, &at));
}

Test(six, connect__to_a_local_ipv6_address_uses_the_local_stream)
{
	struct dap_cm_conn *c;

	open_two("::1", "::1");
	c = call("::1");
	SOON(a.established == 1);
	cr_assert(c->mux);
	expect_from("::1");
	close_two();
}

Test(six, connect__to_an_ipv6_address_by_tcp_establishes)
{
	struct dap_cm_conn *c;

	cm_limits.tcp = true;
	open_two("::1", "::1");
	c = call("::1");
	SOON(a.established == 1);
	cr_assert_not(c->mux);
	expect_from("::1");
	close_two();
}

/* An adapter with an IPv6 address listens only at this address. */
Test(six, listen__at_an_ipv6_address_does_not_answer_at_ipv4)
{
	cm_limits.tcp = true;
	open_two("::1", "::1");
	call("127.0.0.1");
	call("::1");
	SOON(a.established == 1);
	cr_assert_eq(a.established + a.ended, 1);
	cr_assert_eq(b.requests, 1);
	expect_from("::1");
	close_two();
}

/* RFC 3493, 3.7: a socket bound to :: accepts callers of both families. An IPv4 caller is reported
 * as such. */
Test(six, listen__everywhere_answers_both_families)
{
	cm_limits.tcp = true;
	open_two("0.0.0.0", "0.0.0.0");
	call("::1");
	SOON(a.established == 1);
	expect_from("::1");
	call("127.0.0.1");
	SOON(a.established == 2);
	expect_from("127.0.0.1");
	cr_assert_eq(b.from.sa.sa_family, AF_INET);
	close_two();
}

/* One qualifier has addresses of both families. The address that is called decides. */
Test(six, listen__same_qualifier_at_ipv4_and_ipv6_each_gets_its_requests)
{
	struct node d;

	open_two("::1", "::1");
	node_open(&d, "127.0.0.1");
	node_listen(&d, QUAL);
	call("127.0.0.1");
	SOON(a.established == 1);
	cr_assert_eq(d.requests, 1);
	call("::1");
	SOON(a.established == 2);
	cr_assert_eq(b.requests, 1);
	node_close(&d);
	close_two();
}

enum { NO_NAMESPACE = 77 };

/* In a new network namespace lo is down, so the host has no IPv6 address. Returns the reason of the end. */
static int call_without_ipv6(int sock, void *arg)
{
	int why = DAP_CM_BROKEN;

	(void)sock;
	(void)arg;
	if (unshare(CLONE_NEWNET | (geteuid() ? CLONE_NEWUSER : 0)))
		return NO_NAMESPACE;
	node_open(&a, "127.0.0.1");
	call("::1");
	SOON(a.ended);
	while (why && !a.why[why])
		why--;
	node_close(&a);
	return why;
}

/* The attempt fails at once. It is not repeated until the timeout, as it is if no port is free. */
Test(six, connect__from_a_host_without_ipv6_is_unreachable)
{
	struct th_child child;
	int why;

	th_qual();
	cr_assert_eq(th_spawn(&child, call_without_ipv6, NULL), 0);
	why = th_join(&child, 2 * SOON_MS);
	if (why == NO_NAMESPACE)
		cr_skip_test("this user may not have a network namespace");
	cr_assert_eq(why, DAP_CM_UNREACHABLE);
}

/* The request is moved from the shared stream to a socket of its own. The new listener sees the
 * same caller. */
Test(six, handoff__of_a_request_to_an_ipv6_address_keeps_the_caller)
{
	struct node d;

	open_two("::1", "::1");
	node_open(&d, "::1");
	node_listen(&d, QUAL + 1);
	b.answer = NODE_HOLD;
	call("::1");
	SOON(b.request);
	cr_assert_eq(dap_cm_handoff(b.request, QUAL + 1, &b.path, NULL, 0), 0);
	SOON(a.established == 1);
	cr_assert_eq(d.requests, 1);
	cr_assert(dap_addr_same(&d.from, &b.from));
	node_close(&d);
	close_two();
}

/* Replaces accept: the connection comes from an address that this machine does not have. */
static int accept_from(const char *text)
{
	const union dap_addr from = addr_of(text), called = addr_of("127.0.0.1");
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	cr_assert(cm_enter(cm_loop.generation));
	cm_passive_accepted(cm_port_of(QUAL), fds[0], &from, &called);
	cm_leave();
	return fds[1];
}

/* The number of half-open connections per host is limited, and a host counts with its whole /64. */
Test(six, flood__from_addresses_of_one_64_is_from_one_source)
{
	static const char *const from[] = {
		"2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:1:ffff::3", "2001:db8:0:2::1",
		"2001:db8:0:2::2", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "2001:db8:0:1::4",
	};
	enum { N = sizeof(from) / sizeof(*from) };
	int fds[N];

	cm_limits.half_open_source = 3;
	node_open(&b, "127.0.0.1");
	node_listen(&b, QUAL);
	for (int i = 0; i < N; i++) {
		fds[i] = accept_from(from[i]);
		cr_assert_eq(cm_loop.half_opens, (unsigned int)(i < N - 1 ? i + 1 : N - 1),
			     "wrong number of unidentified connections after one from %s", from[i]);
	}
	cr_assert(raw_is_cut(fds[0]));		/* the oldest connection of the same /64 */
	for (int i = 0; i < N; i++)
		close(fds[i]);
	SOON(cm_loop.half_opens == 0);
	node_close(&b);
}
