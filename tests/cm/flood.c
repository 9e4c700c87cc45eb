/* SPDX-License-Identifier: BSD-2-Clause */
/* Silent connections take all descriptors that the process may have. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "tests/cm/node.h"

#define ID UINT64_C(0x9182736455463728)

static struct node b;

TestSuite(flood, .timeout = 60);

static void open_listener(void)
{
	node_open(&b, "127.0.0.1");
	node_listen(&b, QUAL);
}

static int tcp_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert(fd >= 0);
	return fd;
}

/* Connects from any address of the host. */
static void connect_from(int fd, uint32_t host)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(host) };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(cm_port_of(QUAL)) };

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
}

enum { SPARE = 20, SILENT = 30 };

/* Returns 0 if the listener answers a request behind the silent connections. */
static int request_behind_silent(int sock, void *arg)
{
	int fds[SILENT + 1];
	struct cm_msg m;

	(void)arg;
	th_meet(sock);
	for (uint32_t i = 0; i <= SILENT; i++) {
		fds[i] = tcp_socket();
		connect_from(fds[i], 0x7f000010 + i);
	}
	raw_say(fds[SILENT], CM_REQ, ID, QUAL);
	return raw_hear(fds[SILENT], &m) != 1 || m.type != CM_REP;
}

/* The limit of descriptors is below those of half-open connections. */
Test(flood, silent__connections_without_descriptors_keep_no_other_out)
{
	struct th_child child;

	th_qual();
	cm_limits.request_us = 600 * 1000000ull;
	cr_assert_eq(th_spawn(&child, request_behind_silent, NULL), 0);
	open_listener();
	cr_assert_eq(th_fds_limit(SPARE), 0);
	th_meet(child.sock);
	cr_expect_eq(th_join(&child, 2 * SOON_MS), 0, "the listener did not answer");
	th_fds_restore();
	node_close(&b);
}

/* Clients whose request has arrived are served. They are not dropped for the descriptor of another one. */
Test(flood, storm__without_descriptors_drops_no_request_that_has_come)
{
	enum { ROOM = 3 };
	int fds[ROOM + 1];
	struct cm_msg m;

	open_listener();
	for (int i = 0; i <= ROOM; i++)
		fds[i] = tcp_socket();
	cr_assert_eq(th_fds_limit(ROOM), 0);
	for (uint32_t i = 0; i < ROOM; i++)
		connect_from(fds[i], 0x7f000010 + i);
	SOON(cm_loop.half_opens == ROOM);
	cr_assert(cm_enter(cm_loop.generation));
	connect_from(fds[ROOM], 0x7f000010 + ROOM);
	for (int i = 0; i <= ROOM; i++)
		raw_say(fds[i], CM_REQ, ID + (uint64_t)i, QUAL);
	cm_leave();
	for (int i = 0; i < ROOM; i++) {
		cr_expect_eq(raw_hear(fds[i], &m), 1, "request %d got no reply", i);
		cr_expect_eq(m.type, CM_REP);
	}
	close(fds[0]);
	cr_expect_eq(raw_hear(fds[ROOM], &m), 1);
	cr_expect_eq(m.type, CM_REP);
	th_fds_restore();
	for (int i = 1; i <= ROOM; i++)
		close(fds[i]);
	node_close(&b);
}
