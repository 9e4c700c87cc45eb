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

/* the kernel has no memory for the next message */
static atomic_bool no_memory;

__attribute__((visibility("default"))) ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	if (flags == (MSG_NOSIGNAL | MSG_DONTWAIT) && atomic_exchange(&no_memory, false)) {
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
