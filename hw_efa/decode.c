/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Descriptors as text: what every message about one of them uses. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hw_efa/ops.h"
#include "hw_efa/proto.h"
#include "hw_efa/wqe.h"

struct text {
	char *buf;
	size_t len, at;
};

static void __attribute__((format(printf, 2, 3))) add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (t->at >= t->len)
		return;
	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->at, t->len - t->at, fmt, ap);
	va_end(ap);
	t->at += n > 0 ? (size_t)n : 0;
}

const char *efa_status_name(unsigned int status)
{
	static const char *const names[] = {
		[EFA_ST_OK] = "ok",
		[EFA_ST_FLUSHED] = "flushed",
		[EFA_ST_LOCAL_QP] = "local QP error",
		[EFA_ST_UNSUPPORTED_OP] = "operation not supported",
		[EFA_ST_INVALID_AH] = "bad address handle",
		[EFA_ST_INVALID_LKEY] = "bad local key",
		[EFA_ST_LOCAL_LENGTH] = "longer than the MTU",
		[EFA_ST_REMOTE_ADDRESS] = "bad remote address or key",
		[EFA_ST_REMOTE_ABORT] = "the remote side aborted",
		[EFA_ST_REMOTE_QPN] = "no such remote QP",
		[EFA_ST_RNR] = "receiver not ready",
		[EFA_ST_REMOTE_LENGTH] = "remote receive too short",
		[EFA_ST_REMOTE_STATUS] = "bad remote status",
		[EFA_ST_UNRESPONSIVE] = "the remote side has stopped to answer",
		[EFA_ST_UNKNOWN_PEER] = "the remote side has no address handle for us",
		[EFA_ST_UNREACHABLE] = "the remote side never answered",
		[EFA_ST_FEATURE_MISMATCH] = "the two sides differ in a feature",
	};

	return status < sizeof(names) / sizeof(names[0]) && names[status] ? names[status] : "?";
}

#define OURS "this driver rules it out: please report it"

const char *efa_status_cure(unsigned int status)
{
	static const char *const cures[] = {
		[EFA_ST_FLUSHED] = "the adapter has given up the QP",
		[EFA_ST_LOCAL_QP] = OURS,
		[EFA_ST_UNSUPPORTED_OP] = OURS,
		[EFA_ST_INVALID_AH] = OURS,
		[EFA_ST_INVALID_LKEY] = "has an LMR of the request been freed?",
		[EFA_ST_LOCAL_LENGTH] = OURS,
		[EFA_ST_REMOTE_ADDRESS] = "the context has ended at the peer, or opens other bytes, or "
					  "not for this",
		[EFA_ST_REMOTE_ABORT] = "has its endpoint been freed?",
		[EFA_ST_REMOTE_QPN] = "has its endpoint been freed?",
		[EFA_ST_RNR] = OURS,
		[EFA_ST_REMOTE_LENGTH] = OURS,
		[EFA_ST_REMOTE_STATUS] = "its adapter and ours do not agree",
		[EFA_ST_UNRESPONSIVE] = "is its host up?",
		[EFA_ST_UNKNOWN_PEER] = "is its end of the connection gone? Connect again",
		[EFA_ST_UNREACHABLE] = "do the security groups let all traffic between the two pass?",
		[EFA_ST_FEATURE_MISMATCH] = "do both run the same release of this provider?",
	};

	return status < sizeof(cures) / sizeof(cures[0]) && cures[status] ? cures[status] :
	       "a status that this driver does not know";
}

static const char *op_name(unsigned int op)
{
	static const char *const names[] = { "SEND", "RDMA_READ", "RDMA_WRITE" };

	return op < 3 ? names[op] : "OP?";
}

static void add_buf(struct text *t, const char *what, const struct efa_tx_buf *b)
{
	add(t, " %s 0x%08x%08x+%u key 0x%x", what, le32_to_cpu(b->addr_hi),
	    le32_to_cpu(b->addr_lo), le32_to_cpu(b->length), le32_to_cpu(b->lkey));
}

static void add_imm(struct text *t, uint32_t imm)
{
	static const char *const kinds[] = { "MSG", "FIRST", "NEXT", "CTRL", "UNSEQ", "WRITE" };
	unsigned int kind = imm >> 29;

	add(t, "%s%s seq %u ack %u", kind < EFA_KINDS ? kinds[kind] : "KIND?",
	    imm & EFA_IMM_SE ? " SE" : "", imm >> 12 & 0xffff, imm & EFA_ACK_MASK);
}

static void add_segments(struct text *t, const struct efa_wqe *w)
{
	unsigned int op = w->meta.ctrl1 & EFA_TX_OP_MASK, n = le16_to_cpu(w->meta.length);

	if (op != EFA_OP_SEND) {
		const struct efa_remote *r = &w->rdma.remote;

		add(t, " remote 0x%08x%08x+%u rkey 0x%x", le32_to_cpu(r->addr_hi),
		    le32_to_cpu(r->addr_lo), le32_to_cpu(r->length), le32_to_cpu(r->rkey));
	}
	if (w->meta.ctrl1 & EFA_TX_INLINE)
		add(t, " inline %u", n);
	else if (op != EFA_OP_SEND)
		add_buf(t, "local", &w->rdma.local);
	else
		for (unsigned int i = 0; i < n && i < 2; i++)
			add_buf(t, "seg", &w->sgl[i]);
}

const char *efa_decode_wqe(const void *wqe, unsigned int bytes, char *buf, size_t len)
{
	struct text t = { buf, len, 0 };
	struct efa_wqe w = { 0 };

	memcpy(&w, wqe, bytes < sizeof(w) ? bytes : sizeof(w));
	add(&t, "%s id 0x%04x phase %u to qp %u ah %u qkey 0x%x", op_name(w.meta.ctrl1 & EFA_TX_OP_MASK),
	    le16_to_cpu(w.meta.req_id), w.meta.ctrl2 & EFA_TX_PHASE, le16_to_cpu(w.meta.dest_qp),
	    le16_to_cpu(w.meta.ah), le32_to_cpu(w.meta.qkey));
	if (!(w.meta.ctrl1 & EFA_TX_META))
		add(&t, " NO META");
	if (w.meta.ctrl1 & EFA_TX_HAS_IMM) {
		add(&t, " imm (");
		add_imm(&t, le32_to_cpu(w.meta.imm));
		add(&t, ")");
	}
	add_segments(&t, &w);
	return buf;
}

const char *efa_decode_rx(const struct efa_rx_desc *d, char *buf, size_t len)
{
	struct text t = { buf, len, 0 };
	uint32_t ctrl = le32_to_cpu(d->lkey_ctrl);

	add(&t, "RECV id 0x%04x 0x%08x%08x+%u key 0x%x%s%s", le16_to_cpu(d->req_id),
	    le32_to_cpu(d->addr_hi), le32_to_cpu(d->addr_lo), le16_to_cpu(d->length),
	    ctrl & EFA_LKEY_MASK, ctrl & EFA_RX_FIRST ? " first" : "",
	    ctrl & EFA_RX_LAST ? " last" : "");
	return buf;
}

const char *efa_decode_cqe(const struct efa_cqe *c, char *buf, size_t len)
{
	unsigned int queue = (c->flags & EFA_CQE_QUEUE_MASK) >> EFA_CQE_QUEUE_SHIFT;
	unsigned int op = (c->flags & EFA_CQE_OP_MASK) >> EFA_CQE_OP_SHIFT;
	struct text t = { buf, len, 0 };

	add(&t, "CQE of %s %s qp %u id 0x%04x phase %u: %s", queue == EFA_CQE_SQ ? "SQ" :
	    queue == EFA_CQE_RQ ? "RQ" : "no queue", op_name(op), le16_to_cpu(c->qp_num),
	    le16_to_cpu(c->req_id), c->flags & EFA_CQE_PHASE, efa_status_name(c->status));
	if (queue != EFA_CQE_RQ)
		return buf;
	add(&t, ", %u bytes of qp %u ah %u", le16_to_cpu(c->length), le16_to_cpu(c->src_qp),
	    le16_to_cpu(c->ah));
	if (c->flags & EFA_CQE_UNSOLICITED)
		add(&t, " unsolicited");
	if (c->flags & EFA_CQE_HAS_IMM) {
		add(&t, " imm (");
		add_imm(&t, le32_to_cpu(c->imm));
		add(&t, ")");
	}
	return buf;
}

static void describe_ep(const struct efa_ep *e, char *buf, size_t len)
{
	struct text t = { buf, len, 0 };

	if (!e->made)
		return;
	add(&t, "QP %u, peer's QP %u through AH %u%s", e->qpn, e->remote_qpn, e->ah,
	    e->more->destroyed ? ", destroyed" : "");
	if (*e->more->why)
		add(&t, ": %s", e->more->why);
}

static void describe_evd(const struct efa_evd *q, char *buf, size_t len)
{
	struct text t = { buf, len, 0 };

	add(&t, "%u completions, %s%s", q->head - q->tail, q->armed ? "armed" : "not armed",
	    q->overflowed ? ", overflowed" : "");
}

void efa_describe(const struct dap_obj *obj, char *buf, size_t len)
{
	if (obj->type == DAP_EP)
		describe_ep((const struct efa_ep *)(const void *)((const struct dap_ep *)obj)->hw, buf, len);
	else if (obj->type == DAP_EVD && ((const struct dap_evd *)obj)->has_cq)
		describe_evd((const struct efa_evd *)(const void *)((const struct dap_evd *)obj)->hw, buf,
			     len);
}
