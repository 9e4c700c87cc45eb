/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers and ports of a test process. A process takes a number by binding an abstract socket of
 * that name. Its ports are bound but do not listen. With SO_REUSEADDR the process itself can still
 * listen on them, but a process that asks for any free port does not get them.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/harness/harness.h"

#define PORTS 16
/* the lowest of 16 * TH_NUMBERS ports; core/cm/sock.c explains how qualifiers map to ports */
#define LOWEST 24576

static int held[1 + PORTS], n_held;

static bool hold(int domain, const void *at, size_t len)
{
	int fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int on = 1;

	if (fd < 0)
		abort();
	held[n_held++] = fd;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return !bind(fd, at, (socklen_t)len);
}

static bool hold_name(unsigned int n)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "dapl-test.%u", n);

	return hold(AF_UNIX, &name, offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

static bool hold_ports(unsigned int n)
{
	for (unsigned int i = 0; i < PORTS; i++) {
		struct sockaddr_in any = { .sin_family = AF_INET,
					   .sin_port = htons((uint16_t)(LOWEST + PORTS * n + i)) };

		if (!hold(AF_INET, &any, sizeof(any)))
			return false;
	}
	return true;
}

unsigned int th_number(void)
{
	static unsigned int number;

	if (n_held)
		return number;
	for (unsigned int i = 0; i < TH_NUMBERS; i++) {
		number = ((unsigned int)getpid() + i) % TH_NUMBERS;
		if (hold_name(number) && hold_ports(number))
			return number;
		while (n_held)
			close(held[--n_held]);
	}
	abort();
}

unsigned int th_number_fds(void)
{
	return (unsigned int)n_held;
}

/* Returns the first qualifier of the number: the 14-bit parts of 0x200000 are 0 and 0x80. */
uint64_t th_qual(void)
{
	return 0x200000 | ((PORTS * th_number()) ^ 0x80);
}

const char *th_no_ipv6(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int err = fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) ? errno : 0;

	if (fd >= 0)
		close(fd);
	return err ? strerror(err) : NULL;
}
