/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the TCP connection manager, version 1. All have one size and one layout; each type
 * says which of the fields it uses, the others are zero. A receiver checks every field before it
 * uses one and ends the connection at the first that is wrong.
 *
 * The first 8 bytes (magic, version, type, zero) stay where they are in every later version.
 */
#ifndef DAP_CM_WIRE_H
#define DAP_CM_WIRE_H

#include "core/dap.h"
#include "core/endian.h"

#define CM_MAGIC 0x44415443u		/* "DATC" */
#define CM_VERSION 1
#define CM_PREFIX_SIZE 8

enum cm_type {
	CM_REQ = 1,	/* path, conn_qual, private data */
	CM_REP,		/* path, private data */
	CM_RTU,
	CM_GO,
	CM_REJ,		/* reason, private data */
	CM_DISC,
	CM_BREAK,	/* private data: why, in words. Who does not know it ends the same way */
	CM_CUT,		/* on a line: what closing the socket of the connection would be */
	CM_MOVE,	/* on a line: the connection goes on by the socket that comes along */
	CM_LOOK,	/* this end waits for the peer's software, which nobody may be driving */
	CM_TYPES
};

enum cm_reason {
	CM_REASON_NONE,
	CM_REASON_CONSUMER,	/* dat_cr_reject */
	CM_REASON_NO_LISTENER,	/* no listener for this conn_qual: it may come, ask again */
	CM_REASON_REFUSED,	/* event queue full, out of memory */
	CM_REASON_VERSION,
	CM_REASONS
};

struct cm_wire_path {
	uint8_t link_layer, rd_in, rd_out, sl;
	be16_t mtu, lid, pkey_index, zero0;
	be32_t qpn, psn, proto;
	uint8_t own[8];		/* what proto says they are */
	uint8_t gid[16];
};
WIRE_SIZE(struct cm_wire_path, 48);
WIRE_AT(struct cm_wire_path, mtu, 4);
WIRE_AT(struct cm_wire_path, qpn, 12);
WIRE_AT(struct cm_wire_path, own, 24);
WIRE_AT(struct cm_wire_path, gid, 32);

struct cm_wire {
	be32_t magic;
	be16_t version;
	uint8_t type, zero0;
	be64_t id;		/* random, of the side that connects; every message repeats it */
	be64_t conn_qual;
	struct cm_wire_path path;
	be16_t pd_size;
	uint8_t reason, zero1[5];
	uint8_t pd[DAP_MAX_PRIVATE_DATA];	/* zero beyond pd_size */
};
WIRE_SIZE(struct cm_wire, 336);
WIRE_AT(struct cm_wire, type, 6);
WIRE_AT(struct cm_wire, id, 8);
WIRE_AT(struct cm_wire, path, 24);
WIRE_AT(struct cm_wire, pd_size, 72);
WIRE_AT(struct cm_wire, pd, 80);

#define CM_WIRE_SIZE sizeof(struct cm_wire)

struct cm_msg {
	enum cm_type type;
	enum cm_reason reason;
	uint64_t id, conn_qual;
	struct dap_path path;
	uint32_t pd_size;
	uint8_t pd[DAP_MAX_PRIVATE_DATA];
};

/* The size of pd must be right. */
void cm_wire_put(const struct cm_msg *msg, void *to);
/* Reads len bytes that a stranger sent. 1: a message, in *msg; 0: so far one, but it needs more
 * bytes; -EPROTONOSUPPORT: another version; -EPROTO: not a message. Looks at no more than
 * CM_WIRE_SIZE. */
int cm_wire_get(const void *from, size_t len, struct cm_msg *msg);
const char *cm_type_name(enum cm_type type);

#endif
