/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel has no memory for a message, although the socket is writable. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tests/cm/node.h"

static struct node a, b;

static void open_both(void)
{
	node_open_two(&a, &b);
}

static void close_both(void)
{
	node_close_two(&a, &b);
}

#define MEMORY(name) Test(memory, name, .init = open_both, .fini = close_both, .timeout = 60)

/* the kernel has no memory for the next message, or for each one */
static atomic_bool no_memory, stays_short;
static atomic_uint tries;

__attribute__((visibility("default"))) ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	if (flags == (MSG_NOSIGNAL | MSG_DONTWAIT) && no_memory) {
		no_memory = stays_short;
		tries++;
		errno = ENOBUFS;
		return -1;
	}
	return syscall(SYS_sendmsg, fd, m, flags);
}

MEMORY(connect__request_that_the_kernel_has_no_memory_for_is_sent_later)
{
	struct dap_cm_conn *c, *d;

	node_listen(&b, QUAL);
	node_pair(&a, &b, QUAL, &c);
	no_memory = true;
	cr_assert_eq(node_connect(&a, QUAL, FOR_EVER, &d), 0);
	SOON(a.established == 2);
	cr_assert_not(no_memory);
}

static void memory_lacks(bool lacks)
{
	tries = 0;
	stays_short = no_memory = lacks;
}

/* The socket is writable all the time. The message is sent once there is memory. */
MEMORY(disconnect__without_memory_waits_without_spinning)
{
	struct dap_cm_conn *c;
	uint64_t begin;

	node_listen(&b, QUAL);
	node_pair(&a, &b, QUAL, &c);
	memory_lacks(true);
	cr_assert_eq(dap_cm_disconnect(c, false), 0);
	begin = th_now_ms();
	th_sleep_ms(200);
	cr_expect_lt(tries, 64 + (th_now_ms() - begin) / 10, "the manager's threads spin");
	cr_assert_gt(tries, 0);
	memory_lacks(false);
	ENDED(&b, DAP_CM_DISCONNECTED);
	ENDED(&a, DAP_CM_DISCONNECTED);
}

/* There is no memory for the last message until the process has closed its last IA. */
MEMORY(close__without_memory_for_the_last_message_returns)
{
	struct dap_cm_conn *c;

	node_listen(&b, QUAL);
	node_pair(&a, &b, QUAL, &c);
	memory_lacks(true);
	cr_assert_eq(dap_cm_disconnect(c, false), 0);
	close_both();
	memory_lacks(false);
	open_both();
}
