/* SPDX-License-Identifier: BSD-2-Clause */
/* Two managers of one process: the events of each side for every way to connect and disconnect. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/cm/node.h"
#include "tests/harness/capture.h"

static struct node a, b;
static struct dap_cm_listener *l;
static const char *home;		/* the address of node b */

static void open_near(void)
{
	home = "127.0.0.1";
	node_open(&a, "127.0.0.1");
	node_open(&b, home);
	l = node_listen(&b, QUAL);
}

static void open_far(void)
{
	cm_limits.tcp = true;
	open_near();
}

static void close_both(void)
{
	node_close_two(&a, &b);
}

/* Node a connects; node b has the request and has not answered it yet. */
static struct dap_cm_conn *asks(void)
{
	struct dap_cm_conn *c;

	b.answer = NODE_HOLD;
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	SOON(b.request);
	return c;
}

/* Defines each test twice: with TCP and with the local stream. */
#define PAIR(name)                                                                                 \
	static void name(void);                                                                    \
	Test(cm, name, .init = open_far, .fini = close_both) { name(); }                           \
	Test(near, name, .init = open_near, .fini = close_both) { name(); }                        \
	static void name(void)

PAIR(connect__each_side_gets_each_event_once)
{
	struct dap_path one = path_of(1), two = path_of(2);
	struct dap_cm_conn *c;

	node_pair(&a, &b, QUAL, &c);
	cr_assert_eq(a.replies, 1);
	cr_assert_eq(a.established, 1);
	cr_assert_eq(b.requests, 1);
	cr_assert_eq(b.readies, 1);
	cr_assert_eq(a.ended + b.ended, 0);
	cr_assert_eq(b.conn_qual, QUAL);
	cr_assert_eq(b.from.v4.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	cr_assert(same_path(&b.path, &one));
	cr_assert(same_path(&a.path, &two));
}

PAIR(connect__private_data_reaches_both_sides)
{
	static const uint32_t sizes[] = { 0, 1, 64, 255, 256 };
	uint8_t pd[DAP_MAX_PRIVATE_DATA], other[DAP_MAX_PRIVATE_DATA];
	struct dap_cm_conn *c;

	pattern(pd, sizeof(pd), 1);
	pattern(other, sizeof(other), 2);
	for (unsigned int i = 0; i < 5; i++) {
		b.pd_size = sizes[4 - i];
		cr_assert_eq(node_connect_pd(&a, QUAL, FOR_EVER, pd, sizes[i], &c), 0);
		SOON(a.established == i + 1);
		cr_assert_eq(b.got_size, sizes[i]);
		cr_assert_eq(memcmp(b.got, pd, sizes[i]), 0);
		cr_assert_eq(a.got_size, sizes[4 - i]);
		cr_assert_eq(memcmp(a.got, other, sizes[4 - i]), 0);
	}
}

PAIR(connect__private_data_too_long_returns_emsgsize)
{
	uint8_t pd[DAP_MAX_PRIVATE_DATA + 1] = { 0 };
	struct dap_path path = path_of(2);
	struct dap_cm_conn *c;

	cr_assert_eq(node_connect_pd(&a, QUAL, FOR_EVER, pd, sizeof(pd), &c), -EMSGSIZE);
	c = asks();
	cr_assert_eq(dap_cm_accept(b.request, &path, pd, sizeof(pd), &b), -EMSGSIZE);
	cr_assert_eq(node_accept(&b), 0);	/* node b still has the request */
	SOON(a.established == 1);
}

PAIR(reject__by_the_consumer_ends_as_rejected)
{
	struct dap_cm_conn *c;

	b.answer = NODE_REJECT;
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	ENDED(&a, DAP_CM_REJECTED);
	cr_assert_eq(b.ended, 0);
}

PAIR(reject__after_the_request_was_held_ends_as_rejected)
{
	asks();
	cr_assert_eq(dap_cm_reject(b.request, NULL, 0), 0);
	ENDED(&a, DAP_CM_REJECTED);
}

PAIR(request__refused_by_core_ends_as_non_peer_rejected)
{
	struct dap_cm_conn *c;

	b.answer = NODE_REFUSE;
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	ENDED(&a, DAP_CM_NON_PEER_REJECTED);
}

/* Both qualifiers have one socket; the REQ names one of them. */
PAIR(listen__two_qualifiers_of_one_port_each_get_their_requests)
{
	uint64_t other = QUAL ^ (UINT64_C(1) << 14 | 1);
	struct dap_cm_listener *l2;
	struct dap_cm_conn *c;
	struct node d;

	cr_assert_eq(cm_port_of(other), cm_port_of(QUAL));
	node_open(&d, home);
	l2 = node_listen(&d, other);
	node_pair(&a, &d, other, &c);
	cr_assert_eq(d.conn_qual, other);
	cr_assert_eq(b.requests, 0);
	dap_cm_unlisten(l2);
	node_pair(&a, &b, QUAL, &c);
	cr_assert_eq(d.requests, 1);
	node_close(&d);
}

/* No time passes before the first refusal. */
static void is_refused_until_its_timeout(uint64_t conn_qual, uint32_t timeout_us)
{
	struct dap_cm_conn *c;

	cm_limits.young_us = FOR_EVER;
	clock_stop();
	cr_assert_eq(node_connect(&a, conn_qual, timeout_us, &c), 0);
	SOON(node_retries(&a));
	clock_go_on();
	ENDED(&a, DAP_CM_NON_PEER_REJECTED);
}

PAIR(listen__open_port_without_this_qualifier_rejects_the_request)
{
	uint64_t other = QUAL ^ (UINT64_C(1) << 14 | 1);

	is_refused_until_its_timeout(other, 500000);
	cr_assert_eq(b.requests, 0);
}

PAIR(listen__twice_on_one_qualifier_returns_eaddrinuse)
{
	struct dap_cm_listener *l2;
	uint64_t qual = QUAL;
	struct node d;

	cr_assert_eq(dap_cm_listen(b.cm, &qual, false, &b, &l2), -EADDRINUSE);
	node_open(&d, home);
	cr_assert_eq(dap_cm_listen(d.cm, &qual, false, &d, &l2), -EADDRINUSE);
	dap_cm_unlisten(l);
	cr_assert_eq(dap_cm_listen(d.cm, &qual, false, &d, &l2), 0);
	node_close(&d);
}

/* Two adapters of one process listen. The destination address decides which one gets the
 * request. */
PAIR(listen__same_qualifier_on_two_addresses_each_gets_its_requests)
{
	union dap_addr to = { .v4 = { .sin_family = AF_INET } };
	struct dap_path path = path_of(1);
	struct dap_cm_conn *c;
	struct node d;

	node_open(&d, "127.0.0.3");
	node_listen(&d, QUAL);
	inet_pton(AF_INET, home, &to.v4.sin_addr);
	cr_assert_eq(dap_cm_connect(a.cm, &to, QUAL, FOR_EVER, &path, NULL, 0, &a, &c), 0);
	SOON(a.established == 1);
	inet_pton(AF_INET, "127.0.0.3", &to.v4.sin_addr);
	cr_assert_eq(dap_cm_connect(a.cm, &to, QUAL, FOR_EVER, &path, NULL, 0, &a, &c), 0);
	SOON(a.established == 2);
	cr_assert_eq(b.requests, 1);
	cr_assert_eq(d.requests, 1);
	node_close(&d);
}

static const char *child_address;

static int listen_in_child(int sock, void *arg)
{
	uint64_t qual = *(uint64_t *)arg;
	struct dap_cm_listener *other;
	struct node n;
	int err;

	(void)sock;
	node_open(&n, child_address);
	err = dap_cm_listen(n.cm, &qual, false, &n, &other);
	node_close(&n);
	return -err;
}

PAIR(listen__port_of_another_process_returns_eaddrinuse)
{
	uint64_t taken = QUAL, free = QUAL + 1;
	struct th_child child;

	child_address = home;
	cr_assert_eq(th_spawn(&child, listen_in_child, &taken), 0);
	cr_assert_eq(th_join(&child, SOON_MS), EADDRINUSE);
	cr_assert_eq(th_spawn(&child, listen_in_child, &free), 0);
	cr_assert_eq(th_join(&child, SOON_MS), 0);
}

/* Two adapters of one host can use the same port on their addresses, like two hosts. */
PAIR(listen__port_of_another_process_on_another_address_is_free)
{
	uint64_t qual = QUAL;
	struct th_child child;

	child_address = "127.0.0.9";
	cr_assert_eq(th_spawn(&child, listen_in_child, &qual), 0);
	cr_assert_eq(th_join(&child, SOON_MS), 0);
}

static int port_at(const char *address)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(cm_port_of(QUAL)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	inet_pton(AF_INET, address, &at.sin_addr);
	err = connect(fd, (struct sockaddr *)&at, sizeof(at)) ? errno : 0;
	close(fd);
	return err;
}

PAIR(listen__other_addresses_of_the_host_are_refused)
{
	cr_assert_eq(port_at(home), 0);
	cr_assert_eq(port_at("127.0.0.2"), ECONNREFUSED);
	cr_assert_eq(port_at("127.0.1.1"), ECONNREFUSED);
}

/* Qualifiers of two adapters may share a port: each serves requests to its own address. */
PAIR(listen__request_for_a_qualifier_of_another_address_is_refused)
{
	uint64_t other = QUAL ^ (UINT64_C(1) << 14 | 1);
	struct node d;

	node_open(&d, "127.0.0.3");
	node_listen(&d, other);
	is_refused_until_its_timeout(other, 200000);
	cr_assert_eq(d.requests, 0);
	node_close(&d);
}

/* No host has the address 192.0.2.7 (RFC 5737). An address that only the GID of an adapter has
 * behaves alike. */
Test(cm, listen__adapter_whose_address_the_host_lacks_is_reached_by_all)
{
	struct dap_cm_conn *c;

	node_open(&a, "127.0.0.1");
	node_open(&b, "192.0.2.7");
	node_listen(&b, QUAL);
	cr_assert_eq(port_at("127.0.0.2"), 0);
	node_pair(&a, &b, QUAL, &c);
	close_both();
}

Test(cm, listen__adapter_without_address_is_reached_by_all)
{
	struct dap_cm_conn *c;

	node_open(&a, "127.0.0.1");
	node_open(&b, "0.0.0.0");
	node_listen(&b, QUAL);
	cr_assert_eq(port_at("127.0.0.2"), 0);
	node_pair(&a, &b, QUAL, &c);
	close_both();
}

PAIR(listen__any_picks_a_free_one)
{
	struct dap_cm_listener *any[50];
	struct dap_cm_conn *c;
	uint64_t qual[50];

	for (unsigned int i = 0; i < 50; i++) {
		cr_assert_eq(dap_cm_listen(b.cm, &qual[i], true, &b, &any[i]), 0);
		cr_assert(qual[i] >= 1024 && qual[i] < 65536);
		for (unsigned int k = 0; k < i; k++)
			cr_assert_neq(qual[i], qual[k]);
	}
	node_pair(&a, &b, qual[49], &c);
	cr_assert_eq(b.conn_qual, qual[49]);
}

static bool chosen;
static unsigned int choice;

/* Replaces getrandom, so that the test chooses the random bytes. */
__attribute__((visibility("default"))) ssize_t getrandom(void *buf, size_t len, unsigned int flags)
{
	if (!chosen || len != sizeof(choice))
		return syscall(SYS_getrandom, buf, len, flags);
	memcpy(buf, &choice, len);
	return sizeof(choice);
}

/* A process that has bound a port is about to listen there, and cannot choose another one. */
PAIR(listen__any_avoids_a_bound_port)
{
	const uint64_t reserved = 16384 + 16 * th_number() + 2, ours = cm_port_of(QUAL) / 16;
	struct dap_cm_listener *any;
	uint64_t qual;

	cr_assert_eq(cm_port_of(reserved) / 16, ours);
	chosen = true;
	choice = (unsigned int)reserved - 1024;
	cr_assert_eq(dap_cm_listen(b.cm, &qual, true, &b, &any), 0);
	cr_assert_neq(cm_port_of(qual) / 16, ours,
		      "the qualifier %llu has a port of the taken range", (unsigned long long)qual);
}

/* ---- Disconnecting ---- */

PAIR(disconnect__orderly_by_the_active_side_ends_both_sides)
{
	struct dap_cm_conn *c;

	node_pair(&a, &b, QUAL, &c);
	cr_assert_eq(dap_cm_disconnect(c, false), 0);
	ENDED(&a, DAP_CM_DISCONNECTED);
	ENDED(&b, DAP_CM_DISCONNECTED);
}

PAIR(disconnect__orderly_by_the_passive_side_ends_both_sides)
{
	struct dap_cm_conn *c;

	node_pair(&a, &b, QUAL, &c);
	node_disconnect(&b, false);
	ENDED(&a, DAP_CM_DISCONNECTED);
	ENDED(&b, DAP_CM_DISCONNECTED);
}

PAIR(disconnect__abrupt_ends_both_sides)
{
	struct dap_cm_conn *c;

	node_pair(&a, &b, QUAL, &c);
	cr_assert_eq(dap_cm_disconnect(c, true), 0);
	ENDED(&a, DAP_CM_DISCONNECTED);
	ENDED(&b, DAP_CM_DISCONNECTED);
}

PAIR(disconnect__by_both_at_once_ends_each_side_once)
{
	for (unsigned int i = 1; i <= 50; i++) {
		struct dap_cm_conn *c;

		node_pair(&a, &b, QUAL, &c);
		cr_assert_eq(dap_cm_disconnect(c, i & 1), 0);
		node_disconnect(&b, i & 2);
		SOON(a.ended == i && b.ended == i);
		cr_assert_eq(a.why[DAP_CM_DISCONNECTED], i);
		cr_assert_eq(b.why[DAP_CM_DISCONNECTED], i);
	}
}

/* Releases the connection inside the callback. If the release came later, the peer's answer might
 * have ended the connection before. */
PAIR(disconnect__then_release_still_informs_the_peer)
{
	struct dap_cm_conn *c;

	a.parts = true;
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	ENDED(&b, DAP_CM_DISCONNECTED);
	dap_cm_sync(a.cm);
	cr_assert_eq(a.ended, 0);
}

PAIR(disconnect__while_no_listener_exists_ends_the_attempt)
{
	struct dap_cm_conn *c;

	cr_assert_eq(node_connect(&a, QUAL + 1, FOR_EVER, &c), 0);
	cr_assert_eq(dap_cm_disconnect(c, true), 0);
	ENDED(&a, DAP_CM_DISCONNECTED);
}

PAIR(disconnect__before_the_peer_accepted_fails_the_accept)
{
	struct dap_cm_conn *c = asks();

	cr_assert_eq(dap_cm_disconnect(c, false), 0);
	ENDED(&a, DAP_CM_DISCONNECTED);
	cr_assert_eq(node_accept(&b), -ECONNRESET);
	cr_assert_eq(b.ended, 0);
}

PAIR(disconnect__before_the_go_ends_both_sides_without_established)
{
	struct dap_cm_conn *c;

	b.no_go = true;
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
	SOON(b.readies == 1);
	node_disconnect(&b, false);
	ENDED(&a, DAP_CM_DISCONNECTED);
	ENDED(&b, DAP_CM_DISCONNECTED);
	cr_assert_eq(a.established, 0);
}

PAIR(look__reaches_the_peer)
{
	struct dap_cm_conn *c;

	node_pair(&a, &b, QUAL, &c);
	dap_cm_look(c);
	SOON(b.looks == 1);
	dap_cm_look(b.passive);
	SOON(a.looks == 1);
	cr_assert(!a.ended && !b.ended);
}

PAIR(look__before_a_connection_exists_does_nothing)
{
	struct dap_cm_conn *c = asks();

	dap_cm_look(c);
	dap_cm_look(b.request);
	cr_assert_eq(node_accept(&b), 0);
	SOON(a.established == 1);
	cr_assert(!a.looks && !b.looks);
}

PAIR(break__is_reported_to_the_peer_only)
{
	struct dap_cm_conn *c;

	node_pair(&a, &b, QUAL, &c);
	dap_cm_break(c, NULL);
	ENDED(&b, DAP_CM_BROKEN);
	dap_cm_sync(a.cm);
	cr_assert_eq(a.ended, 0);
}

/* Text that goes to a terminal has only printable bytes. */
PAIR(break__logs_the_reason)
{
	struct dap_cm_conn *c;
	const char *said;

	setenv("DAPL_DBG_TYPE", "16", 1);
	node_pair(&a, &b, QUAL, &c);
	capture_begin(STDERR_FILENO);
	dap_cm_break(c, "too\x1blong");
	ENDED(&b, DAP_CM_BROKEN);
	said = capture_end();
	cr_assert_not_null(strstr(said, "broke the connection: too?long\n"),
			   "the log does not report who broke the connection: %s", said);
}

PAIR(release__is_a_break)
{
	struct dap_cm_conn *c;

	node_pair(&a, &b, QUAL, &c);
	dap_cm_release(b.passive);
	ENDED(&a, DAP_CM_BROKEN);
	cr_assert_eq(b.ended, 0);
}

PAIR(release__of_a_request_rejects_it)
{
	asks();
	dap_cm_release(b.request);
	ENDED(&a, DAP_CM_NON_PEER_REJECTED);
}

PAIR(close__breaks_connections)
{
	struct dap_cm_conn *c;

	node_pair(&a, &b, QUAL, &c);
	node_close(&b);
	ENDED(&a, DAP_CM_BROKEN);
	cr_assert_eq(b.ended, 0);
	node_open(&b, home);		/* close_both closes this node */
}

PAIR(unlisten__requests_handed_over_live_on)
{
	asks();
	dap_cm_unlisten(l);
	cr_assert_eq(node_accept(&b), 0);
	SOON(a.established == 1);
}

/* Each connection has a listener that is used once, as in dapltest. No request may be lost between
 * two listeners. */
PAIR(unlisten__and_listen_again_loses_no_request)
{
	dap_cm_unlisten(l);
	for (unsigned int i = 1; i <= 100; i++) {
		struct dap_cm_conn *c;

		cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &c), 0);
		do {
			l = node_listen(&b, QUAL);
			if (i % 2)
				th_yield();
			if (b.requests < i && i % 3)
				dap_cm_unlisten(l);
			else
				break;
		} while (true);
		SOON(a.established == i);
		dap_cm_unlisten(l);
	}
	cr_assert_eq(a.ended, 0);
}
