/* SPDX-License-Identifier: BSD-2-Clause */
/* The ports of a test belong to it alone, whatever else runs on the machine. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness/harness.h"

enum how { ANY_FREE, THIS_ONE };

/* A socket that listens at the i-th port of a number, or -1. */
static int listen_at(unsigned int number, unsigned int i, enum how how)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = how == THIS_ONE;
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons((uint16_t)(24576 + 16 * number + i)) };

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(fd, (const struct sockaddr *)&at, sizeof(at)) && !listen(fd, 1))
		return fd;
	close(fd);
	return -1;
}

Test(number, th_number__skips_one_where_another_process_listens)
{
	const unsigned int first = (unsigned int)getpid() % TH_NUMBERS;
	int fd = listen_at(first, 5, THIS_ONE);

	cr_assert_neq(th_number(), first);
	close(fd);
}

Test(number, th_number__keeps_its_ports_from_other_processes)
{
	const unsigned int number = th_number();

	for (unsigned int i = 0; i < 16; i++) {
		int fd = listen_at(number, i, ANY_FREE);

		cr_assert_eq(fd, -1, "port %u of another owner can be used", i);
		fd = listen_at(number, i, THIS_ONE);
		cr_assert_geq(fd, 0, "the owner of port %u cannot listen at it", i);
		close(fd);
	}
}

Test(number, th_number__takes_no_descriptor_that_counts)
{
	struct th_usage before, after;

	th_usage(&before);
	cr_assert_eq(th_number(), th_number());
	th_usage(&after);
	cr_assert_eq(after.fds, before.fds);
}

static int tell(int sock, void *arg)
{
	const unsigned int number = th_number();

	(void)arg;
	return th_send(sock, &number, sizeof(number));
}

static unsigned int of_child(void)
{
	struct th_child child;
	unsigned int number;

	cr_assert_eq(th_spawn(&child, tell, NULL), 0);
	cr_assert_eq(th_recv(child.sock, &number, sizeof(number)), 0);
	cr_assert_eq(th_join(&child, 30000), 0);
	return number;
}

Test(number, th_number__of_a_child_is_that_of_its_parent)
{
	const unsigned int mine = th_number();

	cr_assert_eq(of_child(), mine);
}
