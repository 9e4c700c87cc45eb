/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Completions, endpoints and EVDs as text, for messages. */
#include <stdio.h>

#include "hw_efa/ops.h"

#define OURS "this driver avoids this error: please report it"

static const struct efa_status_info statuses[] = {
	[EFA_ST_OK] = { "ok", "", DAP_DTO_SUCCESS },
	[EFA_ST_FLUSHED] = { "flushed", "the adapter has given up the QP", DAP_DTO_FLUSHED },
	[EFA_ST_LOCAL_QP] = { "local QP error", OURS, DAP_DTO_LOCAL_EP },
	[EFA_ST_UNSUPPORTED_OP] = { "operation not supported", OURS, DAP_DTO_LOCAL_EP },
	[EFA_ST_INVALID_AH] = { "bad address handle", OURS, DAP_DTO_LOCAL_EP },
	[EFA_ST_INVALID_LKEY] = {
		"bad local key", "has an LMR of the request been freed?", DAP_DTO_LOCAL_PROTECTION },
	[EFA_ST_LOCAL_LENGTH] = { "longer than the MTU", OURS, DAP_DTO_LOCAL_LENGTH },
	[EFA_ST_REMOTE_ADDRESS] = {
		"bad remote address or key",
		"the context has ended at the peer, or does not permit this access to these bytes",
		DAP_DTO_REMOTE_ACCESS },
	[EFA_ST_REMOTE_ABORT] = {
		"the remote side aborted", "has its endpoint been freed?", DAP_DTO_TRANSPORT },
	[EFA_ST_REMOTE_QPN] = {
		"no such remote QP", "has its endpoint been freed?", DAP_DTO_TRANSPORT },
	[EFA_ST_RNR] = { "receiver not ready", OURS, DAP_DTO_RECEIVER_NOT_READY },
	[EFA_ST_REMOTE_LENGTH] = { "remote receive too short", OURS, DAP_DTO_REMOTE_RESPONDER },
	[EFA_ST_REMOTE_STATUS] = {
		"bad remote status", "the peer's adapter and this one do not agree",
		DAP_DTO_BAD_RESPONSE },
	[EFA_ST_UNRESPONSIVE] = {
		"the remote side has stopped answering", "is its host up?", DAP_DTO_TRANSPORT },
	[EFA_ST_UNKNOWN_PEER] = {
		"the remote side has no address handle for us",
		"is its end of the connection gone? Connect again", DAP_DTO_TRANSPORT },
	[EFA_ST_UNREACHABLE] = {
		"the remote side never answered",
		"do the security groups let all traffic between the two pass?", DAP_DTO_TRANSPORT },
	[EFA_ST_FEATURE_MISMATCH] = {
		"the two sides differ in a feature",
		"do both run the same release of this provider?", DAP_DTO_TRANSPORT },
};

const struct efa_status_info *efa_status_info(unsigned int status)
{
	static const struct efa_status_info unknown = {
		"?", "a status that this driver does not know", DAP_DTO_TRANSPORT };

	return status < sizeof(statuses) / sizeof(statuses[0]) && statuses[status].name ?
	       &statuses[status] : &unknown;
}

const char *efa_decode_cqe(const struct efa_cqe *c, char *buf, size_t len)
{
	static const char *const ops[] = { "SEND", "RDMA_READ", "RDMA_WRITE" };
	static const char *const queues[] = { "no queue", "SQ", "RQ", "no queue" };
	static const char *const kinds[8] = { "MSG", "FIRST", "NEXT", "CTRL", "UNSEQ", "WRITE" };
	unsigned int queue = (c->flags & EFA_CQE_QUEUE_MASK) >> EFA_CQE_QUEUE_SHIFT;
	unsigned int op = efa_cqe_op(c);
	uint32_t imm = le32_to_cpu(c->imm);
	const char *kind = kinds[imm >> 29];
	char from[64] = "", with[64] = "";

	if (queue == EFA_CQE_RQ)
		snprintf(from, sizeof(from), ", %u bytes of qp %u ah %u", le16_to_cpu(c->length),
			 le16_to_cpu(c->src_qp), le16_to_cpu(c->ah));
	if (queue == EFA_CQE_RQ && c->flags & EFA_CQE_HAS_IMM)
		snprintf(with, sizeof(with), " imm (%s%s seq %u ack %u)", kind ? kind : "KIND?",
			 imm & EFA_IMM_SE ? " SE" : "", imm >> 12 & 0xffff, imm & EFA_ACK_MASK);
	snprintf(buf, len, "CQE of %s %s qp %u id 0x%04x phase %u: %s%s%s", queues[queue],
		 op < 3 ? ops[op] : "OP?", le16_to_cpu(c->qp_num), le16_to_cpu(c->req_id),
		 c->flags & EFA_CQE_PHASE, efa_status_info(c->status)->name, from, with);
	return buf;
}

void efa_log_dropped(unsigned int level, const struct dap_ia *ia, const char *what,
		     const struct efa_cqe *cqe)
{
	char text[EFA_CQE_TEXT];

	dap_log(level, "%s: dropped a completion %s: %s", ia->name, what,
		efa_decode_cqe(cqe, text, sizeof(text)));
}

void efa_describe(const struct dap_obj *obj, char *buf, size_t len)
{
	if (obj->type == DAP_EP) {
		const struct efa_ep *e = (const void *)((const struct dap_ep *)obj)->hw;

		if (e->sq.ring)		/* the endpoint has a QP */
			snprintf(buf, len, "QP %u, peer's QP %u through AH %u%s%s%s", e->qpn,
				 e->remote_qpn, e->ah, e->cold->destroyed ? ", destroyed" : "",
				 *e->cold->why ? ": " : "", e->cold->why);
	} else if (obj->type == DAP_EVD && ((const struct dap_evd *)obj)->has_cq) {
		const struct efa_evd *q = (const void *)((const struct dap_evd *)obj)->hw;

		snprintf(buf, len, "%u completions, %s%s", q->head - q->tail,
			 q->armed ? "armed" : "not armed", q->overflowed ? ", overflowed" : "");
	}
}
