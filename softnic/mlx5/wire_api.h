/* SPDX-License-Identifier: BSD-2-Clause */
/* What the wire does for the device. */
#ifndef SN_WIRE_API_H
#define SN_WIRE_API_H

#include "softnic/mlx5/sn.h"

/* port.c: the entry of the table of partitions; RoCE has the default alone. False: there is none. */
bool sn_port_pkey(const struct sn_nic *nic, uint32_t index, uint16_t *pkey);
/* What is wrong with an address path, in words, or NULL. */
const char *sn_path_fault(const struct sn_port *port, const struct sn_av *av);
void sn_port_first_gid(const uint8_t mac[6], uint8_t gid[16]);

/* fabric.c. softnic_open has filled config, rng, tables and ports. Fills their addresses uniquely. */
int sn_fabric_open(struct sn_nic *nic);		/* 0, -errno */
void sn_fabric_close(struct sn_nic *nic);
/*
 * Moves the port to another address; its links are lost. 1: moved, and its descriptor has changed;
 * 0: it had that address already; -errno: it keeps the old one.
 */
int sn_fabric_readdress(struct sn_port *port, const uint8_t gid[16]);
/* Between the two, peers are not woken one packet at a time but at the end. */
void sn_fabric_hold(struct sn_nic *nic);
void sn_fabric_release(struct sn_nic *nic);
/* ACKs wait to be sent: they go out after some polls that find nothing. */
bool sn_fabric_ack_pending(const struct sn_nic *nic);
/* A poll would find nothing. True for a few hundred calls at most, then a poll is due. */
bool sn_fabric_quiet(struct sn_nic *nic);
/* Takes what has arrived and sends what waits. True when it did anything, or left some waiting. */
bool sn_fabric_poll(struct sn_nic *nic);
/* A pollable fd that is readable when an armed fabric has work, or -1. port: from 0. */
int sn_fabric_fd(struct sn_nic *nic, unsigned int port);
/* From now on peers must wake this device by its fd. False: something has already arrived. */
bool sn_fabric_arm(struct sn_nic *nic);
void sn_fabric_disarm(struct sn_nic *nic);	/* also drains the fd */

/* rc.c */
int sn_rc_create(struct sn_qp *qp);		/* 0, -ENOMEM; CREATE_QP */
void sn_rc_destroy(struct sn_qp *qp);
/* After a transition: qp->state is the new state and its attributes are set. RST forgets all. */
void sn_rc_modified(struct sn_qp *qp, enum sn_qp_state from);
/* The QP is off the run list: fetch and send what windows, credits and resources allow. */
void sn_rc_run(struct sn_qp *qp);
/* rc_ack_out.c. The QP has just entered ERR: no more packets, no timers, no touching of wr. Writes no CQE. */
void sn_rc_stop(struct sn_qp *qp);
/* An ACK that was put off goes out now. */
void sn_rc_flush_delayed_ack(struct sn_qp *qp);

/* ud.c: the same of a QP that sends datagrams */
int sn_ud_create(struct sn_qp *qp);
void sn_ud_destroy(struct sn_qp *qp);
void sn_ud_modified(struct sn_qp *qp, enum sn_qp_state from);
void sn_ud_run(struct sn_qp *qp);

#endif
