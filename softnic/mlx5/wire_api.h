/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of the wire that the device calls. */
#ifndef SN_WIRE_API_H
#define SN_WIRE_API_H

#include "softnic/mlx5/nic.h"

/* port.c: finds an entry of the partition table; RoCE has only the default one. False: there is no
 * such entry. */
bool sn_port_pkey(const struct softnic *nic, uint32_t index, uint16_t *pkey);
/* Returns the reason why an address path is invalid, or NULL. */
const char *sn_path_fault(const struct sn_port *port, const struct sn_av *av);
void sn_port_first_gid(const uint8_t mac[6], uint8_t gid[16]);

/* fabric.c. softnic_open has filled config, rng, tables and ports. Assigns unique addresses to the ports. */
int sn_fabric_open(struct softnic *nic);		/* returns 0 or -errno */
void sn_fabric_close(struct softnic *nic);
/*
 * Moves the port to another address, which ends its links. Returns 1 if it moved and has a new
 * descriptor, 0 if it has that address already, -errno if it keeps the old address.
 */
int sn_fabric_readdress(struct sn_port *port, const uint8_t gid[16]);
/* Between these two calls, wake-ups of peers are deferred to the second one. */
void sn_fabric_hold(struct softnic *nic);
void sn_fabric_release(struct softnic *nic);
/* Are delayed ACKs pending? After some empty polls they are sent. */
bool sn_fabric_ack_pending(const struct softnic *nic);
/*
 * True if a poll would find no work. After a few hundred calls this returns false, so that a poll checks
 * the sockets.
 */
bool sn_fabric_quiet(struct softnic *nic);
/* Handles arrived packets and sends pending ones. True if it did anything, or if packets remain. */
bool sn_fabric_poll(struct softnic *nic);
/* implements softnic_is_local(); returns 0 or -errno */
int sn_fabric_reach(struct softnic *nic, const uint8_t gid[16]);
/*
 * Opens UDP port 4791 when a QP moves to RTR, if foreign devices may send to it. Returns 0, or -errno
 * after reporting the error: the path cannot be used. A datagram QP works without the port.
 */
int sn_fabric_listen(struct sn_qp *qp, const struct sn_av *av);
/* Returns a descriptor that is readable when an armed fabric has work, or -1. Ports count from 0. */
int sn_fabric_fd(struct softnic *nic, unsigned int port);
/* From now on peers must wake this device through its fd. False: a packet has already arrived. */
bool sn_fabric_arm(struct softnic *nic);
void sn_fabric_disarm(struct softnic *nic);	/* withdraws the request for wake-ups, and drains the fd */
/* Notices new links and dead peers now, and not at a later poll. */
void sn_fabric_serve(struct softnic *nic);

/* functions of rc.c */
int sn_rc_create(struct sn_qp *qp);		/* called by CREATE_QP; returns 0 or -ENOMEM */
void sn_rc_destroy(struct sn_qp *qp);
/* Called after a transition: qp->state is new and its attributes are set. RST drops all state. */
void sn_rc_modified(struct sn_qp *qp, enum sn_qp_state from);
/* Called when the QP has left the run list: fetches and sends as windows, credits and resources
 * allow. */
void sn_rc_run(struct sn_qp *qp);
/* rc_ack_out.c. Called when the QP has just entered ERR. Afterwards there are no more packets,
 * timers or accesses to wr. Writes no CQE. */
void sn_rc_stop(struct sn_qp *qp);
/* Sends a delayed ACK at once. */
void sn_rc_flush_delayed_ack(struct sn_qp *qp);

/* functions of ud.c, for datagram QPs like those of rc.c */
int sn_ud_create(struct sn_qp *qp);
void sn_ud_destroy(struct sn_qp *qp);
void sn_ud_modified(struct sn_qp *qp, enum sn_qp_state from);
void sn_ud_run(struct sn_qp *qp);

#endif
