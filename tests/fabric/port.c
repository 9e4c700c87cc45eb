/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <string.h>
#include <sys/random.h>

#include "tests/fabric/port.h"

static uint8_t pattern(uint32_t number, size_t i)
{
	return (uint8_t)(number * 31u + i * 7u + (i >> 8));
}

size_t port_len(uint32_t number)
{
	return 4 + (number * UINT32_C(2654435761) >> 20) % 4200;
}

static void record(struct port *port, const void *pkt, size_t len)
{
	const uint8_t *bytes = pkt;
	uint32_t number;
	size_t i;

	port->got++;
	port->bad += len < sizeof(number);
	memcpy(&number, bytes, sizeof(number));
	for (i = sizeof(number); i < len; i++)
		port->bad += bytes[i] != pattern(number, i);
	port->disordered += number != port->next;
	port->next = number + 1;
	port->last = number;
	if (port->got <= PORT_LOG)
		port->log[port->got - 1] = number;
	if (port->stops)
		sn_fab_stop(port->fab);
	if (port->echo_via)
		port->bad += port_send(port->echo_via, number, len) != 0;
}

static void got(void *ctx, const struct sn_addr *src, const void *pkt, size_t len)
{
	struct port *port = ctx;

	port->bad += !sn_addr_equal(src, &port->peer.gid);
	record(port, pkt, len);
}

static void got_datagram(void *ctx, const struct sn_fab_dest *src, const void *pkt, size_t len)
{
	struct port *port = ctx;

	port->foreign += src->foreign;
	port->bad += !sn_addr_equal(&src->gid, &port->peer.gid) || src->udp_port != port->peer.udp_port;
	record(port, pkt, len);
}

/* The rules of these tests name packets by their number: bit 0 is the operation, the second byte the QP. */
static bool label(const void *pkt, size_t len, struct sn_fab_label *label)
{
	uint32_t number;

	memcpy(&number, pkt, sizeof(number));
	*label = (struct sn_fab_label){number & 1, number >> 8, number & 0xff};
	return len >= sizeof(number);
}

static void captured(void *ctx, bool in, const struct sn_fab_dest *peer, const void *pkt, size_t len)
{
	struct port *port = ctx;

	(void)pkt;
	(void)len;
	port->captured[in]++;
	port->bad += !sn_addr_equal(&peer->gid, &port->peer.gid) || peer->udp_port != port->peer.udp_port;
}

static void down(void *ctx, const struct sn_addr *peer)
{
	struct port *port = ctx;

	port->down++;
	port->bad += !sn_addr_equal(peer, &port->peer.gid);
}

void port_open_at(struct port *port, const struct sn_addr *addr, unsigned int flags)
{
	struct sn_fab_config config = {.gid = *addr, .flags = flags, .ring_bytes = PORT_RING,
				       .deliver = got, .down = down, .label = label, .capture = captured,
				       .ctx = port};

	memset(port, 0, sizeof(*port));
	port->addr = *addr;
	cr_assert_eq(sn_fab_open(&config, &port->fab), 0);
}

void port_open(struct port *port, unsigned int flags)
{
	struct sn_addr addr;

	cr_assert_eq(getrandom(&addr, sizeof(addr), 0), (ssize_t)sizeof(addr));
	port_open_at(port, &addr, flags);
}

static void open_udp(struct port *port, const struct sn_addr *ip)
{
	struct sn_fab_config config = {.ip = *ip, .ring_bytes = PORT_RING, .deliver = got,
				       .datagram = got_datagram, .down = down, .label = label,
				       .capture = captured, .ctx = port};

	memset(port, 0, sizeof(*port));
	cr_assert_eq(getrandom(&config.gid, sizeof(config.gid), 0), (ssize_t)sizeof(config.gid));
	port->addr = config.gid;
	cr_assert_eq(sn_fab_open(&config, &port->fab), 0);
}

static void aim_udp(struct port *port, const struct sn_addr *ip, const struct port *peer)
{
	port->peer = (struct sn_fab_dest){.gid = *ip, .slot = SN_FAB_NO_SLOT,
					  .udp_port = sn_fab_udp_port(peer->fab)};
	sn_fab_udp_use(port->fab, 1);
}

void ports_open_udp(struct port *a, struct port *b, const char *text)
{
	struct sn_addr ip = {.raw = {[10] = 0xff, 0xff}};

	cr_assert(inet_pton(AF_INET, text, ip.raw + 12) == 1 || inet_pton(AF_INET6, text, ip.raw) == 1);
	open_udp(a, &ip);
	open_udp(b, &ip);
	aim_udp(a, &ip, b);
	aim_udp(b, &ip, a);
}

void port_aim(struct port *port, const struct sn_addr *peer)
{
	port->peer = (struct sn_fab_dest){.gid = *peer};
}

void ports_open(struct port *a, struct port *b)
{
	port_open(a, 0);
	port_open(b, 0);
	port_aim(a, &b->addr);
	port_aim(b, &a->addr);
}

void ports_close(struct port *a, struct port *b)
{
	sn_fab_close(a->fab);
	sn_fab_close(b->fab);
}

int port_send(struct port *port, uint32_t number, size_t len)
{
	uint8_t bytes[8192];
	struct iovec iov[3] = {{&number, sizeof(number)}};
	size_t i, half = (len - sizeof(number)) / 2;

	for (i = sizeof(number); i < len; i++)
		bytes[i] = pattern(number, i);
	iov[1] = (struct iovec){bytes + 4, half};
	iov[2] = (struct iovec){bytes + 4 + half, len - 4 - half};
	return sn_fab_send(port->fab, &port->peer, iov, 3);
}

void ports_settle(struct port *a, struct port *b)
{
	int quiet = 0;

	while (quiet < 3)
		quiet = sn_fab_poll(a->fab, 64) + sn_fab_poll(b->fab, 64) ? 0 : quiet + 1;
}

void ports_exchange(struct port *a, struct port *b, size_t longest)
{
	size_t lengths = longest - 3;

	for (uint32_t i = 0; i < 2000; i++) {
		cr_assert_eq(port_send(a, i, 4 + (port_len(i) - 4) % lengths), 0);
		cr_assert_eq(port_send(b, i, 4 + (port_len(i + 5) - 4) % lengths), 0);
		if (i % 3 == 2)
			ports_settle(a, b);
	}
	ports_settle(a, b);
	cr_assert_eq(a->got, 2000);
	cr_assert_eq(b->got, 2000);
	cr_assert_eq(a->bad + b->bad + a->disordered + b->disordered, 0);
}

void ports_echo(struct port *a, struct port *b)
{
	b->echo_via = b;
	cr_assert_eq(port_send(a, 0, 100), 0);
	ports_settle(a, b);
	cr_assert_eq(a->got, 1);
	cr_assert_eq(a->bad + b->bad, 0);
}
