/* SPDX-License-Identifier: BSD-2-Clause */
/* A fabric that records what it receives, for the tests of this suite. */
#ifndef TEST_FABRIC_PORT_H
#define TEST_FABRIC_PORT_H

#include "softnic/fabric/fabric.h"

#define PORT_RING (64u << 10)
enum { PORT_LOG = 64 };

struct port {
	struct sn_fab *fab;
	struct sn_addr addr;
	struct sn_fab_dest peer;
	unsigned int got, down, bad;
	unsigned int foreign;		/* datagrams that came by the port of sn_fab_listen */
	uint32_t next;			/* number of the next packet in order */
	uint32_t last;			/* number of the last packet */
	unsigned int disordered;
	uint32_t log[PORT_LOG];		/* the numbers of the first packets */
	unsigned int captured[2];	/* packets that this port captured: sent, received */
	bool stops;			/* each packet ends the poll */
	struct port *echo_via;		/* if set, each packet is sent back through this port */
};

/* Opens a fabric with a new address. Fails the test on error. */
void port_open(struct port *port, unsigned int flags);
void port_open_at(struct port *port, const struct sn_addr *addr, unsigned int flags);
void port_aim(struct port *port, const struct sn_addr *peer);

/* Opens two ports that send to each other by UDP, as ports of two hosts do. ip is one of this host. */
void ports_open_udp(struct port *a, struct port *b, const char *ip);

/* Opens two ports that send to each other. */
void ports_open(struct port *a, struct port *b);
void ports_close(struct port *a, struct port *b);

/* Sends a packet of len bytes (>= 4): its number, and a pattern derived from it. Returns the same
 * values as sn_fab_send. */
int port_send(struct port *port, uint32_t number, size_t len);
/* Returns the length of a packet in the streams of this suite: 4 to about 4200. */
size_t port_len(uint32_t number);

/* Polls both ports until no packet is left. */
void ports_settle(struct port *a, struct port *b);

/* Sends packets of at most this length both ways. Fails the test unless each arrives intact and in order. */
void ports_exchange(struct port *a, struct port *b, size_t longest);
/* Sends a packet to b, which sends it back. */
void ports_echo(struct port *a, struct port *b);

#endif
