/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoding and decoding of connection manager messages. */
#include <errno.h>
#include <string.h>

#include "core/cm/wire.h"

/* The fields that each type may have; all others are zero. */
static const struct {
	bool path, pd, reason, qual;
} types[CM_TYPES] = {
	[CM_REQ] = { .path = true, .pd = true, .qual = true },
	[CM_REP] = { .path = true, .pd = true },
	[CM_REJ] = { .pd = true, .reason = true },
	[CM_BREAK] = { .pd = true },
};

static void put_path(const struct dap_path *p, struct cm_wire_path *w)
{
	w->link_layer = p->link_layer;
	w->rd_in = p->rd_in;
	w->rd_out = p->rd_out;
	w->sl = p->sl;
	w->mtu = cpu_to_be16(p->mtu);
	w->lid = cpu_to_be16(p->lid);
	w->pkey_index = cpu_to_be16(p->pkey_index);
	w->qpn = cpu_to_be32(p->qpn);
	w->psn = cpu_to_be32(p->psn);
	w->proto = cpu_to_be32(p->proto);
	memcpy(w->own, p->own, sizeof(w->own));
	memcpy(w->gid, p->gid, sizeof(w->gid));
}

void cm_wire_put(const struct cm_msg *msg, void *to)
{
	struct cm_wire w = {
		.magic = cpu_to_be32(CM_MAGIC),
		.version = cpu_to_be16(CM_VERSION),
		.type = (uint8_t)msg->type,
		.id = cpu_to_be64(msg->id),
	};

	if (types[msg->type].path)
		put_path(&msg->path, &w.path);
	if (types[msg->type].qual)
		w.conn_qual = cpu_to_be64(msg->conn_qual);
	if (types[msg->type].reason)
		w.reason = (uint8_t)msg->reason;
	if (types[msg->type].pd) {
		w.pd_size = cpu_to_be16((uint16_t)msg->pd_size);
		memcpy(w.pd, msg->pd, msg->pd_size);
	}
	memcpy(to, &w, sizeof(w));
}

static bool all_zero(const void *p, size_t len)
{
	const uint8_t *b = p;

	return !len || (!*b && !memcmp(b, b + 1, len - 1));
}

static bool get_path(const struct cm_wire_path *w, struct dap_path *p)
{
	*p = (struct dap_path){
		.link_layer = w->link_layer,
		.rd_in = w->rd_in,
		.rd_out = w->rd_out,
		.sl = w->sl,
		.mtu = be16_to_cpu(w->mtu),
		.lid = be16_to_cpu(w->lid),
		.pkey_index = be16_to_cpu(w->pkey_index),
		.qpn = be32_to_cpu(w->qpn),
		.psn = be32_to_cpu(w->psn),
		.proto = be32_to_cpu(w->proto),
	};
	memcpy(p->own, w->own, sizeof(p->own));
	memcpy(p->gid, w->gid, sizeof(p->gid));
	return (p->link_layer == 1 || p->link_layer == 2) && p->sl < 16 && p->mtu &&
	       p->qpn < 1u << 24 && p->psn < 1u << 24 && !w->zero0.be;
}

static int check_prefix(const struct cm_wire *w, size_t len)
{
	struct cm_wire ours = { .magic = cpu_to_be32(CM_MAGIC) };
	size_t magic = len < sizeof(w->magic) ? len : sizeof(w->magic);

	if (memcmp(w, &ours, magic))
		return -EPROTO;
	if (len < CM_PREFIX_SIZE)
		return 0;
	if (be16_to_cpu(w->version) != CM_VERSION)
		return -EPROTONOSUPPORT;
	if (w->type == 0 || w->type >= CM_TYPES || w->zero0)
		return -EPROTO;
	return len < CM_WIRE_SIZE ? 0 : 1;
}

static bool get_body(const struct cm_wire *w, struct cm_msg *m)
{
	unsigned int size = be16_to_cpu(w->pd_size);

	if (types[w->type].path ? !get_path(&w->path, &m->path) :
				  !all_zero(&w->path, sizeof(w->path)))
		return false;
	if (!types[w->type].qual && w->conn_qual.be)
		return false;
	if (types[w->type].reason ? !w->reason || w->reason >= CM_REASONS : w->reason != 0)
		return false;
	if (size > (types[w->type].pd ? DAP_MAX_PRIVATE_DATA : 0))
		return false;
	if (!all_zero(w->zero1, sizeof(w->zero1)) || !all_zero(w->pd + size, sizeof(w->pd) - size))
		return false;
	m->pd_size = size;
	memcpy(m->pd, w->pd, size);
	return true;
}

int cm_wire_get(const void *from, size_t len, struct cm_msg *msg)
{
	struct cm_wire w = { 0 };
	struct cm_msg m = { 0 };
	int err;

	if (len > CM_WIRE_SIZE)
		len = CM_WIRE_SIZE;
	if (!len)
		return 0;
	memcpy(&w, from, len);
	err = check_prefix(&w, len);
	if (err <= 0)
		return err;
	if (!get_body(&w, &m))
		return -EPROTO;
	m.type = (enum cm_type)w.type;
	m.reason = (enum cm_reason)w.reason;
	m.id = be64_to_cpu(w.id);
	m.conn_qual = be64_to_cpu(w.conn_qual);
	*msg = m;
	return 1;
}
