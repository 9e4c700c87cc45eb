/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's ports: between its QPs and the fabric. Each has an address of its own, by which the
 * fabric knows it: on Ethernet GID 0, on InfiniBand the GID that is made of the LID.
 */
#ifndef SN_PORT_H
#define SN_PORT_H

#include "softnic/fabric/fabric.h"
#include "softnic/mlx5/sn.h"

struct sn_packet;

/* What is sent from a port: headers, beginning with the BTH, and payload. */
struct sn_frame {
	uint32_t head_len, len;
	uint32_t packets;		/* that it stands for */
	uint32_t piggyback;			/* bytes of headers of a second packet, or 0 */
	uint8_t *head, *payload;	/* where they are to be written */
	uint8_t *piggyback_head;
};

/* A QP that has met a full ring: it is kicked when there is room. */
struct sn_waiter {
	struct sn_qp *qp;
	const struct sn_fab_dest *dest;
	bool blocked;
	TAILQ_ENTRY(sn_waiter) link;
};

/*
 * A packet is built where it is sent from: begin gives room for both, end adds padding and ICRC and
 * sends it. As sn_fab_reserve and sn_fab_commit. On a link that is down head is NULL: packets are
 * lost, and that is not told.
 */
int sn_port_begin(struct sn_port *port, struct sn_fab_dest *dest, struct sn_frame *frame);
int sn_port_end(struct sn_port *port, struct sn_fab_dest *dest, const struct sn_frame *frame);
/* May a packet ride with another? What it says is then known as soon as that is. */
bool sn_port_can_piggyback(const struct sn_port *port);
void sn_port_block(struct sn_waiter *waiter);
void sn_port_unblock(struct sn_waiter *waiter);
/* Chooses the address by which the fabric knows the port: 0, or -EAGAIN. */
int sn_port_choose_address(struct sn_port *port);
/* True if the length and the ICRC of a packet are valid. */
bool sn_port_acceptable(const struct sn_port *port, const struct sn_addr *src, const void *bytes,
			size_t len);
/* Passes a new fault script on to the fabric. */
void sn_port_obey_script(struct sn_port *port);
/* Where an address path leads: by its GID, or on InfiniBand by LID alone. */
void sn_port_resolve(const struct sn_port *port, const struct sn_av *av, struct sn_addr *gid);
bool sn_port_same_partition(const struct sn_qp *qp, const struct sn_packet *pkt);

#endif
