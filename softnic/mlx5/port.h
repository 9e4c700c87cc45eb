/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's ports, between its QPs and the fabric. The fabric knows each port by one address: on
 * Ethernet GID 0, on InfiniBand the GID derived from the LID.
 */
#ifndef SN_PORT_H
#define SN_PORT_H

#include "softnic/fabric/fabric.h"
#include "softnic/mlx5/nic.h"

struct sn_outer;
struct sn_packet;

/* A packet to send: headers, beginning with the BTH, and payload. */
struct sn_frame {
	uint32_t head_len, len;
	/* number of packets that the frame stands for, if it is a train */
	uint32_t packets;
	uint32_t piggyback;			/* length of the headers of a second packet, or 0 */
	uint8_t *head, *payload;	/* buffers for headers and payload */
	uint8_t *piggyback_head;
};

/* A QP that found the ring full: it is kicked when there is room. */
struct sn_waiter {
	struct sn_qp *qp;
	const struct sn_fab_dest *dest;
	bool blocked;
	TAILQ_ENTRY(sn_waiter) link;
};

/*
 * A packet is built in place: begin returns buffers for headers and payload; end adds padding and ICRC,
 * and sends the packet. Both return values like sn_fab_reserve and sn_fab_commit. If the link is down,
 * head is NULL and the packet is silently lost.
 */
int sn_port_begin(struct sn_port *port, struct sn_fab_dest *dest, struct sn_frame *frame);
int sn_port_end(struct sn_port *port, struct sn_fab_dest *dest, const struct sn_frame *frame);
/* May a second packet share the ring record of this one? Both then become visible together. */
bool sn_port_can_piggyback(const struct sn_port *port);
void sn_port_block(struct sn_waiter *waiter);
void sn_port_unblock(struct sn_waiter *waiter);
/* Selects the port's address on the fabric. Returns 0 or -EAGAIN. */
int sn_port_choose_address(struct sn_port *port);
enum { SN_UDP_SPORT = 0xc000 };		/* source port in the ICRC of packets within a host */
/* Returns the port's own address: on the fabric, or with udp its IP address and UDP port. foreign: the port
 * that RoCE devices of others send to. */
struct sn_fab_dest sn_port_own(const struct sn_port *port, bool udp, bool foreign);
/* Returns the outer headers of a packet between two ports. Within a host no packet has
 * them, but the ICRC covers them. */
struct sn_outer sn_port_outer(const struct sn_fab_dest *src, const struct sn_fab_dest *dst);
/*
 * True if the length and the ICRC of a packet are valid. A socket does not see the identification of an IPv4
 * packet, which the ICRC covers: ours is 0, and that of a foreign sender may be any.
 */
bool sn_port_icrc_fits(const struct sn_port *port, const struct sn_fab_dest *src, const void *bytes,
		       size_t len);
/* Applies a new fault script to the fabric. Not within a delivery. */
void sn_port_apply_faults(struct sn_port *port);
/*
 * Does the path lead to UDP port 4791, that of devices which are not ours? It does if its source is the IP
 * address, which is an entry of the table of GIDs if the driver has set it.
 */
bool sn_port_is_foreign(const struct sn_port *port, const struct sn_av *av);
/* Resolves the path of a datagram to a destination: by its GID, or on InfiniBand by LID alone. */
void sn_port_resolve(const struct sn_port *port, const struct sn_av *av, struct sn_fab_dest *dest);
/* Resolves the path of a connection, which may also lead to a UDP port of our device on another host. */
void sn_port_resolve_conn(const struct sn_port *port, const struct sn_av *av, struct sn_fab_dest *dest);
/* Counts the QP as a user of the UDP port, or no longer. *in_use: the QP is counted. */
void sn_port_use_udp(struct sn_port *port, bool *in_use, bool use);
/* capture.c: the function sn_fab_config.capture of a port */
void sn_capture_packet(void *port, bool in, const struct sn_fab_dest *peer, const void *bytes, size_t len);
bool sn_port_same_partition(const struct sn_qp *qp, const struct sn_packet *pkt);

#endif
