/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the connection manager, version 1. All have one size and one layout; each type names
 * the fields that it uses, the others are zero. A receiver checks every field before use and
 * closes the connection at the first wrong one.
 *
 * The first 8 bytes (magic, version, type, zero) keep their meaning in every later version.
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
	CM_BREAK,	/* private data: the reason as text */
	CM_CUT,		/* on a mux: stands for closing the connection's socket */
	CM_MOVE,	/* on a mux: the connection continues on the attached socket */
	CM_LOOK,	/* progress request: the peer's software must poll */
	CM_TYPES
};

enum cm_reason {
	CM_REASON_NONE,
	CM_REASON_CONSUMER,	/* dat_cr_reject */
	CM_REASON_NO_LISTENER,	/* no listener for this conn_qual yet: retry */
	CM_REASON_REFUSED,	/* event queue full, out of memory */
	CM_REASON_VERSION,
	CM_REASONS
};

struct cm_wire_path {
	uint8_t link_layer, rd_in, rd_out, sl;
	be16_t mtu, lid, pkey_index, zero0;
	be32_t qpn, psn, proto;
	uint8_t own[8];		/* meaning depends on proto */
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
	be64_t id;		/* random, chosen by the active side; in every message */
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

/* pd_size is already checked. */
void cm_wire_put(const struct cm_msg *msg, void *to);
/* Decodes up to CM_WIRE_SIZE untrusted bytes. Returns 1: *msg is filled; 0: incomplete so far;
 * -EPROTONOSUPPORT: another version; -EPROTO: malformed. */
int cm_wire_get(const void *from, size_t len, struct cm_msg *msg);

#endif
