/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/socket.h>

#include "tests/cm/trio.h"

struct trio trio;

void trio_open(void)
{
	node_open(&trio.a, "127.0.0.1");
	node_open(&trio.b, "127.0.0.1");
	node_open(&trio.c, "127.0.0.2");
	trio.b.answer = NODE_HOLD;
	node_listen(&trio.b, QUAL);
}

void trio_close(void)
{
	node_close(&trio.a);
	node_close(&trio.b);
	node_close(&trio.c);
}

void trio_ask(void)
{
	unsigned int before = trio.b.requests;
	uint8_t pd[100];

	pattern(pd, sizeof(pd), 5);
	cr_assert_eq(node_connect_pd(&trio.a, QUAL, FOR_EVER, pd, sizeof(pd), &trio.conn), 0);
	SOON(trio.b.requests == before + 1);
}

int trio_hand_off(struct node *from, uint64_t to)
{
	struct dap_cm_conn *request = from->request;
	int err = dap_cm_handoff(request, to, &from->path, from->got, from->got_size);

	if (!err)
		from->request = NULL;
	return err;
}

int trio_ask_bare(void)
{
	int fd = raw_connect(QUAL);

	raw_say(fd, CM_REQ, ID, QUAL);
	SOON(trio.b.requests == 1);
	return fd;
}

int trio_knock(uint64_t conn_qual, int flags)
{
	struct sockaddr_un name;
	socklen_t len = cm_handoff_name(conn_qual, &name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0), err;

	cr_assert(fd >= 0);
	if (!connect(fd, (struct sockaddr *)&name, len))
		return fd;
	err = -errno;
	close(fd);
	return err;
}
