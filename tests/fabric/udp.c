/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets between hosts: two fabrics that send to each other by UDP. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fabric/port.h"
#include "tests/harness/harness.h"

static struct port a, b;

static void open_udp_pair(void)
{
	ports_open_udp(&a, &b, "127.0.0.1");
}

static void close_udp_pair(void)
{
	ports_close(&a, &b);
}

static struct sn_fab_stats stats_of(const struct port *port)
{
	struct sn_fab_stats stats;

	sn_fab_stats(port->fab, &stats);
	return stats;
}

/* Sends bytes to a port of b from a socket of its own. */
static void send_to_port(uint16_t port, const void *bytes, size_t len)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(sendto(sock, bytes, len, 0, (struct sockaddr *)&to, sizeof(to)), (ssize_t)len);
	close(sock);
}

static void send_as_stranger(const void *bytes, size_t len)
{
	send_to_port(sn_fab_udp_port(b.fab), bytes, len);
}

/* Returns a socket at a free port of this host. */
static int open_any_port(uint16_t *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(at);

	cr_assert_eq(bind(sock, (struct sockaddr *)&at, len) |
		     getsockname(sock, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	return sock;
}

/* b listens at a port that was free a moment ago. */
static uint16_t listen_at_any_port(void)
{
	uint16_t port;
	int err, tries = 0;

	do {
		close(open_any_port(&port));
		err = sn_fab_listen(b.fab, port);
	} while (err == -EADDRINUSE && ++tries < 10);
	cr_assert_eq(err, 0);
	return port;
}

/* Returns the port if fd is a bound UDP socket of IPv4, else 0. */
static uint16_t udp_port_of(int fd)
{
	struct sockaddr_in at = {.sin_family = AF_UNSPEC};
	socklen_t len = sizeof(at);

	return getsockname(fd, (struct sockaddr *)&at, &len) || at.sin_family != AF_INET ? 0
										      : ntohs(at.sin_port);
}

static bool readable(const struct port *port)
{
	struct pollfd fd = {.fd = sn_fab_fd(port->fab), .events = POLLIN};

	return poll(&fd, 1, 0) > 0;
}

enum { LONGEST = 4160 };		/* an MTU of 4096 and the longest headers */

Test(udp, send__arrives_in_order_both_ways, .init = open_udp_pair, .fini = close_udp_pair)
{
	ports_exchange(&a, &b, LONGEST);
}

Test(udp, send__by_ipv6_arrives)
{
	if (access("/proc/net/if_inet6", R_OK))
		cr_skip_test("no IPv6 on this machine");
	ports_open_udp(&a, &b, "::1");
	ports_exchange(&a, &b, LONGEST);
	ports_close(&a, &b);
}

Test(udp, deliver__may_send, .init = open_udp_pair, .fini = close_udp_pair)
{
	ports_echo(&a, &b);
}

Test(udp, release__sends_what_hold_kept_back, .init = open_udp_pair, .fini = close_udp_pair)
{
	sn_fab_hold(a.fab);
	cr_assert_eq(port_send(&a, 0, 100), 0);
	ports_settle(&a, &b);
	cr_assert_eq(b.got, 0);
	sn_fab_release(a.fab);
	ports_settle(&a, &b);
	cr_assert_eq(b.got, 1);
}

Test(udp, send__of_a_train_is_refused, .init = open_udp_pair, .fini = close_udp_pair)
{
	static uint8_t big[SN_FAB_MAX];
	struct iovec iov = {big, sizeof(big)};

	cr_assert_eq(sn_fab_send(a.fab, &a.peer, &iov, 1), -EMSGSIZE);
}

Test(udp, deliver__of_a_stranger_names_its_port, .init = open_udp_pair, .fini = close_udp_pair)
{
	uint32_t number = 0;

	send_as_stranger(&number, sizeof(number));
	ports_settle(&a, &b);
	cr_assert_eq(b.got, 1);
	cr_assert_eq(b.bad, 1, "the stranger's datagram was delivered as one of the peer");
}

Test(udp, datagram__longer_than_a_packet_is_counted, .init = open_udp_pair, .fini = close_udp_pair)
{
	static uint8_t big[9000];

	send_as_stranger(big, sizeof(big));
	send_as_stranger(big, 4200);
	cr_assert_eq(port_send(&a, 0, 100), 0);
	ports_settle(&a, &b);
	cr_assert_eq(stats_of(&b).oversized, 2);
	cr_assert_eq(b.got, 1);
	cr_assert_eq(b.bad, 0);
}

Test(udp, sleep__ends_with_a_datagram, .init = open_udp_pair, .fini = close_udp_pair)
{
	ports_settle(&a, &b);
	cr_assert(sn_fab_sleep(b.fab));
	cr_assert_not(readable(&b));
	cr_assert_eq(port_send(&a, 0, 100), 0);
	cr_assert(readable(&b));
	sn_fab_awake(b.fab);
	cr_assert_not(readable(&b), "a fabric that is polled has a descriptor that wakes its thread");
	ports_settle(&a, &b);
	cr_assert_eq(b.got, 1);
}

/* If the socket were not emptied, any sender could keep the thread of an idle device busy. */
Test(udp, service__empties_a_socket_without_users, .init = open_udp_pair, .fini = close_udp_pair)
{
	static uint8_t big[5000];

	sn_fab_udp_use(b.fab, -1);
	cr_assert(sn_fab_sleep(b.fab));
	send_as_stranger(big, sizeof(big));
	cr_assert(readable(&b));
	sn_fab_awake(b.fab);
	sn_fab_service(b.fab);
	cr_assert(sn_fab_sleep(b.fab));
	cr_assert_not(readable(&b));
	cr_assert_eq(stats_of(&b).oversized, 1);
}

Test(udp, poll__without_users_reads_no_socket, .init = open_udp_pair, .fini = close_udp_pair)
{
	sn_fab_udp_use(b.fab, -1);
	cr_assert_eq(port_send(&a, 0, 100), 0);
	cr_assert(sn_fab_quiet(b.fab));
	sn_fab_udp_use(b.fab, 1);
	cr_assert_not(sn_fab_quiet(b.fab));
}

Test(udp, open__at_an_address_of_another_host_fails)
{
	/* RFC 5737: no host has the address 192.0.2.7. */
	struct sn_fab_config config = {.gid.raw = {1}, .ip.raw = {[10] = 0xff, 0xff, 192, 0, 2, 7}};
	struct sn_fab *fab;

	cr_assert_eq(sn_fab_open(&config, &fab), -EADDRNOTAVAIL);
}

static void send_without_a_route(void)
{
	/* A socket of 127.0.0.1 has no route to another network. */
	a.peer.gid.raw[12] = 192;
	a.peer.gid.raw[14] = 2;
	cr_assert_eq(port_send(&a, 0, 100), 0);
}

Test(udp, send__to_an_address_without_a_route_is_counted, .init = open_udp_pair, .fini = close_udp_pair)
{
	send_without_a_route();
	cr_assert_eq(stats_of(&a).unsent, 1);
}

/* The thread holds the lock of its device while the fabric sends. */
Test(udp, report__of_a_lost_packet_is_no_cancellation_point, .init = open_udp_pair, .fini = close_udp_pair)
{
	cr_assert(th_cancelled(send_without_a_route));
	cr_assert_eq(stats_of(&a).unsent, 1);
}

Test(udp, send__has_the_traffic_class_of_its_destination, .init = open_udp_pair, .fini = close_udp_pair)
{
	int sock = open_any_port(&a.peer.udp_port), on = 1;
	char bytes[64], control[64];
	struct iovec iov = {bytes, sizeof(bytes)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			   .msg_controllen = sizeof(control)};

	cr_assert_eq(setsockopt(sock, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on)), 0);
	a.peer.tclass = 0xb8;
	cr_assert_eq(port_send(&a, 0, 64), 0);
	cr_assert_eq(recvmsg(sock, &m, 0), 64);
	cr_assert_eq(CMSG_FIRSTHDR(&m)->cmsg_type, IP_TOS);
	cr_assert_eq(*CMSG_DATA(CMSG_FIRSTHDR(&m)), 0xb8);
	close(sock);
}

Test(udp, listen__at_a_port_that_is_taken_fails, .init = open_udp_pair, .fini = close_udp_pair)
{
	uint16_t port;
	int sock = open_any_port(&port);

	cr_assert_eq(sn_fab_listen(b.fab, port), -EADDRINUSE);
	close(sock);
	listen_at_any_port();
}

Test(udp, listen__without_an_address_does_nothing)
{
	struct port p;

	port_open(&p, 0);
	cr_assert_eq(sn_fab_listen(p.fab, 4791), 0);
	sn_fab_close(p.fab);
}

/* Datagrams at the second port are marked as foreign. */
Test(udp, listen__receives_at_both_ports, .init = open_udp_pair, .fini = close_udp_pair)
{
	static uint8_t big[5000];
	uint16_t port = listen_at_any_port();
	uint32_t number = 0;

	for (unsigned int i = 0; i < 100; i++)
		send_to_port(port, &number, sizeof(number));
	cr_assert_eq(port_send(&a, 0, 100), 0);
	ports_settle(&a, &b);
	cr_assert_eq(b.got, 101);
	cr_assert_eq(b.foreign, 100);
	send_to_port(port, big, sizeof(big));
	ports_settle(&a, &b);
	cr_assert_eq(b.got, 101);
	cr_assert_eq(stats_of(&b).oversized, 1);
}

Test(udp, sleep__ends_with_a_datagram_of_a_foreign_sender, .init = open_udp_pair, .fini = close_udp_pair)
{
	uint16_t port = listen_at_any_port();
	uint32_t number = 0;

	ports_settle(&a, &b);
	cr_assert(sn_fab_sleep(b.fab));
	cr_assert_not(readable(&b));
	send_to_port(port, &number, sizeof(number));
	cr_assert(readable(&b));
	sn_fab_awake(b.fab);
	cr_assert_not(readable(&b), "a fabric that is polled has a descriptor that wakes its thread");
	ports_settle(&a, &b);
	cr_assert_eq(b.foreign, 1);
}

/* While a caller polls, a packet at the new socket does not wake the fabric's thread. */
Test(udp, listen__of_a_fabric_that_is_polled_wakes_no_thread, .init = open_udp_pair, .fini = close_udp_pair)
{
	uint32_t number = 0;

	ports_settle(&a, &b);
	cr_assert(sn_fab_sleep(b.fab));
	sn_fab_awake(b.fab);
	send_to_port(listen_at_any_port(), &number, sizeof(number));
	cr_assert_not(readable(&b));
	ports_settle(&a, &b);
	cr_assert_eq(b.foreign, 1);
}

Test(udp, reach__tells_this_host_from_others, .init = open_udp_pair, .fini = close_udp_pair)
{
	struct sn_addr other = b.addr;

	other.raw[5] ^= 1;
	cr_assert_eq(sn_fab_reach(a.fab, &b.addr), 0);
	cr_assert_eq(sn_fab_reach(b.fab, &a.addr), 0);
	cr_assert_eq(stats_of(&b).links_made, 1, "each side has made a link of its own");
	cr_assert_eq(sn_fab_reach(a.fab, &other), -EHOSTUNREACH);
}

/* The child closes the parent's sockets, so that the ports end with the parent. */
Test(udp, fork__leaves_the_socket_to_the_parent, .init = open_udp_pair, .fini = close_udp_pair)
{
	uint16_t port = sn_fab_udp_port(b.fab), second = listen_at_any_port();
	pid_t child = fork();
	int status;

	if (!child) {
		for (int fd = 3; fd < 64; fd++)
			if (udp_port_of(fd) == port || udp_port_of(fd) == second)
				_exit(1);
		_exit(port_send(&b, 0, 100) == -EHOSTUNREACH ? 0 : 2);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0, "the child has the socket, or sends by it: status %#x", status);
	cr_assert_eq(port_send(&b, 0, 100), 0);
	ports_settle(&a, &b);
	cr_assert_eq(a.got, 1);
}

Test(udp, faults__apply, .init = open_udp_pair, .fini = close_udp_pair)
{
	uint32_t i;

	cr_assert_eq(sn_fab_set_faults(a.fab, &(struct sn_fab_faults){.drop = 0.5, .seed = 1}), 0);
	for (i = 0; i < 100; i++)
		cr_assert_eq(port_send(&a, i, 100), 0);
	ports_settle(&a, &b);
	cr_assert_eq(b.got + stats_of(&a).dropped, 100);
	cr_assert(b.got > 20 && b.got < 80);
}
