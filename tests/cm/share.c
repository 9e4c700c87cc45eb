/* SPDX-License-Identifier: BSD-2-Clause */
/* Two adapters of one process use one qualifier: one listens at a single address, the other at all addresses.
 * The called address decides which of them gets a request, whatever the order in which they began. */
#include <arpa/inet.h>
#include <errno.h>

#include "tests/cm/node.h"

#define SINGLE "127.0.0.3"
#define ALL "0.0.0.0"

static struct node caller, one, all;
static struct dap_cm_listener *of_one, *of_all;

static void setup(void)
{
	cm_limits.tcp = true;
	node_open(&caller, "127.0.0.1");
	node_open(&one, SINGLE);
	node_open(&all, ALL);
}

static void teardown(void)
{
	node_close(&caller);
	node_close(&one);
	node_close(&all);
}

TestSuite(share, .init = setup, .fini = teardown, .timeout = 60);

static void listen_at_one(void)
{
	of_one = node_listen(&one, QUAL);
}

static void listen_at_all(void)
{
	of_all = node_listen(&all, QUAL);
}

/* Returns the node that gets the request. */
static const struct node *call(const char *address)
{
	unsigned int before = caller.established, at_one = one.requests;
	struct dap_cm_conn *c;

	inet_pton(AF_INET, address, &caller.calls);
	cr_assert_eq(node_connect(&caller, QUAL, FOR_EVER, &c), 0);
	SOON(caller.established == before + 1);
	return one.requests > at_one ? &one : &all;
}

static void expect_each_gets_its_requests(void)
{
	cr_expect_eq(call(SINGLE), &one);
	cr_expect_eq(call("127.0.0.1"), &all);
	cr_expect_eq(call("127.0.0.2"), &all);
}

Test(share, listen__at_one_address_then_at_all_each_gets_its_requests)
{
	listen_at_one();
	cr_expect_eq(call(SINGLE), &one);
	listen_at_all();
	expect_each_gets_its_requests();
}

Test(share, listen__at_all_addresses_then_at_one_each_gets_its_requests)
{
	listen_at_all();
	cr_expect_eq(call(SINGLE), &all);
	listen_at_one();
	expect_each_gets_its_requests();
}

/* Opens a third node and listens on the same qualifier. */
static int listen_again_at(const char *address)
{
	struct dap_cm_listener *l;
	uint64_t qual = QUAL;
	struct node third;
	int err;

	node_open(&third, address);
	err = dap_cm_listen(third.cm, &qual, false, &third, &l);
	node_close(&third);
	return err;
}

Test(share, listen__twice_at_one_address_beside_all_returns_eaddrinuse)
{
	listen_at_one();
	listen_at_all();
	cr_expect_eq(listen_again_at(SINGLE), -EADDRINUSE);
}

/* The address of an adapter that listens at all addresses is its own, too: here 127.0.0.1. */
Test(share, listen__at_all_addresses_and_at_one_of_the_same_adapter_address_returns_eaddrinuse)
{
	listen_at_all();
	cr_expect_eq(listen_again_at("127.0.0.1"), -EADDRINUSE);
	dap_cm_unlisten(of_all);
	of_all = node_listen(&caller, QUAL);
	cr_expect_eq(listen_again_at(ALL), -EADDRINUSE);
}

/* This adapter listens at all addresses, too. */
Test(share, listen__at_an_address_of_no_interface_after_one_address_succeeds)
{
	listen_at_one();
	cr_expect_eq(listen_again_at("192.0.2.1"), 0);
}

Test(share, unlisten__of_either_leaves_the_other)
{
	listen_at_one();
	listen_at_all();
	dap_cm_unlisten(of_all);
	cr_expect_eq(call(SINGLE), &one);
	listen_at_all();
	dap_cm_unlisten(of_one);
	cr_expect_eq(call(SINGLE), &all);
	listen_at_one();
	expect_each_gets_its_requests();
}

static int listen_in_child(int sock, void *address)
{
	(void)sock;
	return -listen_again_at(address);
}

Test(share, listen__at_one_address_then_at_all_keeps_other_processes_out)
{
	static char *const addresses[] = { SINGLE, ALL, "127.0.0.5" };

	listen_at_one();
	listen_at_all();
	for (int i = 0; i < 3; i++) {
		struct th_child child;

		cr_assert_eq(th_spawn(&child, listen_in_child, addresses[i]), 0);
		cr_expect_eq(th_join(&child, SOON_MS), EADDRINUSE, "another process listens at %s",
			     addresses[i]);
	}
}
