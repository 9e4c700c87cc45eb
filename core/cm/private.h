/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The upper layers of the connection manager. A file calls only those of lower layers:
 *
 *	cm
 *	listen, drive
 *	handoff
 *	active, passive		roles, see struct cm_role
 *	mux
 *	conn, acceptor
 *	loop
 *	sock, wire, heap
 */
#ifndef DAP_CM_PRIVATE_H
#define DAP_CM_PRIVATE_H

#include "core/cm/mux.h"
#include "core/cm/sock.h"

struct dap_cm_listener {
	struct dap_cm *cm;
	struct cm_port *port;
	/* handoff listener for requests of other processes, or NULL */
	struct cm_local *handoff;
	struct cm_local *local;		/* local listener for peers of this host, or NULL */
	uint64_t conn_qual;
	void *ctx;
	LIST_ENTRY(dap_cm_listener) link, link_cm;
};

struct cm_port {			/* a listening TCP socket for peers */
	struct cm_acceptor acceptor;
	uint16_t port;
	union dap_addr at;		/* any: all addresses of the host */
	LIST_HEAD(, dap_cm_listener) listeners;
	LIST_ENTRY(cm_port) link;
};

struct cm_pending {			/* accepted by a handoff listener, request not yet received */
	struct cm_item item;
	int fd;
	uint64_t conn_qual;
	struct dap_timer timer;
	LIST_ENTRY(cm_pending) link;
};

struct cm_handed {			/* a request that was handed off */
	int fd;
	union dap_addr own, peer;
	struct cm_msg req;
	const uint8_t *rest;		/* bytes of the next message that have arrived */
	uint32_t rest_len;
};

/* ---- passive.c ---- */
extern const struct cm_role cm_passive;
void cm_passive_accepted(uint16_t port, int fd, const union dap_addr *from,
			 const union dap_addr *called);
/* Drops the oldest half-open connection, unless its REQ has arrived. False: there is none. */
bool cm_half_open_spare(void);
/* Takes over h->fd. */
void cm_passive_handed(const struct cm_handed *h);

/* ---- handoff.c ---- */
/* Finds or opens the handoff listener of this qualifier. */
int cm_handoff_listener_get(uint64_t conn_qual, struct cm_local **l);
void cm_pending_drop_all(void);

/* ---- drive.c ---- */
int cm_drive_start(void);
void cm_drive_stop(void);

/* ---- listen.c ---- */
void cm_listener_close(struct dap_cm_listener *l);

#endif
