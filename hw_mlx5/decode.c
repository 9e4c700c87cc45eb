/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Work and completion queue elements as one line of text, for error messages; what a syndrome means. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hw_mlx5/obj.h"

struct line {
	char *buf;
	size_t len, used;
};

static void put_text(struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put_text(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->buf + l->used, l->len - l->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->used += (size_t)n < l->len - l->used ? (size_t)n : l->len - l->used - 1;
}

static void put_op(struct line *l, unsigned int op)
{
	static const char *const names[] = {
		[M5_OP_NOP] = "NOP", [M5_OP_SEND_INVAL] = "SEND_INVAL", [M5_OP_RDMA_WRITE] = "RDMA_WRITE",
		[M5_OP_RDMA_WRITE_IMM] = "RDMA_WRITE_IMM", [M5_OP_SEND] = "SEND",
		[M5_OP_SEND_IMM] = "SEND_IMM", [M5_OP_RDMA_READ] = "RDMA_READ",
		[M5_OP_ATOMIC_CS] = "ATOMIC_CS", [M5_OP_ATOMIC_FA] = "ATOMIC_FA", [M5_OP_UMR] = "UMR",
	};

	if (op < sizeof(names) / sizeof(names[0]) && names[op])
		put_text(l, "%s", names[op]);
	else
		put_text(l, "opcode 0x%02x", op);
}

/* Names of syndromes, and their statuses (IBTA 11.6.2, DAT 1.2 dat_dto_completion_status). */
static const struct syndrome {
	const char *name;
	enum dap_dto_status status;
} syndromes[] = {
	[M5_SYN_LOCAL_LENGTH] = { "local length", DAP_DTO_LOCAL_LENGTH },
	[M5_SYN_LOCAL_QP_OP] = { "local QP operation", DAP_DTO_LOCAL_EP },
	[M5_SYN_LOCAL_PROT] = { "local protection", DAP_DTO_LOCAL_PROTECTION },
	[M5_SYN_FLUSHED] = { "flushed", DAP_DTO_FLUSHED },
	[M5_SYN_MW_BIND] = { "window bind", DAP_RMR_OPERATION_FAILED },
	[M5_SYN_BAD_RESP] = { "bad response", DAP_DTO_BAD_RESPONSE },
	[M5_SYN_LOCAL_ACCESS] = { "local access", DAP_DTO_LOCAL_PROTECTION },
	[M5_SYN_REMOTE_INVAL_REQ] = { "remote invalid request", DAP_DTO_REMOTE_RESPONDER },
	[M5_SYN_REMOTE_ACCESS] = { "remote access", DAP_DTO_REMOTE_ACCESS },
	[M5_SYN_REMOTE_OP] = { "remote operation", DAP_DTO_REMOTE_RESPONDER },
	[M5_SYN_RETRY_EXCEEDED] = { "transport retries exceeded", DAP_DTO_TRANSPORT },
	[M5_SYN_RNR_EXCEEDED] = { "RNR retries exceeded", DAP_DTO_RECEIVER_NOT_READY },
	[M5_SYN_REMOTE_ABORTED] = { "remote aborted", DAP_DTO_REMOTE_RESPONDER },
};

static const struct syndrome *find_syndrome(unsigned int number)
{
	static const struct syndrome unknown = { "unknown syndrome", DAP_DTO_LOCAL_EP };
	bool known = number < sizeof(syndromes) / sizeof(syndromes[0]) && syndromes[number].name;

	return known ? &syndromes[number] : &unknown;
}

enum dap_dto_status m5_syndrome_status(unsigned int syndrome)
{
	return find_syndrome(syndrome)->status;
}

static void put_fm(struct line *l, uint8_t fm)
{
	static const char *const fences[8] = {
		"", " fence=small", " fence=read", " fence=strong", " fence=small+read",
		" fence=5", " fence=6", " fence=7"
	};
	static const char *const ces[4] = { " ce=error", " ce=first-error", "", " ce=event" };

	put_text(l, "%s%s%s", fences[fm >> 5], ces[fm >> 2 & 3], fm & M5_SE ? " solicited" : "");
}

/* The WQE in the ring: 16-byte pieces that wrap at its end. */
struct pieces {
	const uint8_t *ring;
	uint32_t mask, at, left;	/* numbers of pieces */
};

static const void *next_piece(struct pieces *p)
{
	if (!p->left)
		return NULL;
	p->left--;
	return p->ring + (size_t)(p->at++ & p->mask) * M5_DS;
}

static void put_data(struct line *l, struct pieces *p)
{
	const struct m5_data_seg *seg;

	while ((seg = next_piece(p))) {
		uint32_t count = be32_to_cpu(seg->byte_count);

		if (count & M5_INLINE_SEG) {
			uint32_t n = count & 0x3ff, pieces = (n + 4 + 15) / 16;

			put_text(l, " inline %u", n);
			while (--pieces && next_piece(p))
				;
			continue;
		}
		put_text(l, " [0x%" PRIx64 "+%u key 0x%x]", be64_to_cpu(seg->va), count,
			 be32_to_cpu(seg->lkey));
	}
}

static void put_raddr(struct line *l, struct pieces *p)
{
	const struct m5_raddr_seg *seg = next_piece(p);

	if (seg)
		put_text(l, " to 0x%" PRIx64 " rkey 0x%x", be64_to_cpu(seg->va), be32_to_cpu(seg->rkey));
}

static void put_umr(struct line *l, struct pieces *p, uint32_t mkey)
{
	const struct m5_umr_ctrl_seg *umr = next_piece(p);
	const uint8_t *mk, *range;

	next_piece(p);
	next_piece(p);
	mk = next_piece(p);
	range = next_piece(p);
	next_piece(p);
	next_piece(p);
	if (!umr || !mk || !range)
		return;
	put_text(l, " mkey 0x%x -> variant 0x%02x%s%s%s start 0x%" PRIx64 " len %" PRIu64, mkey, mk[7],
		 mk[0] & M5_SEG_FREE ? " free" : "", mk[2] & M5_SEG_RR ? " rr" : "",
		 mk[2] & M5_SEG_RW ? " rw" : "", be64_to_cpu(*(const be64_t *)range),
		 be64_to_cpu(*(const be64_t *)(range + 8)));
	for (unsigned int i = be16_to_cpu(umr->klm_octowords); i; i--) {
		const struct m5_klm_seg *klm = next_piece(p);

		if (klm && klm->mkey.be)
			put_text(l, " [0x%" PRIx64 "+%u key 0x%x]", be64_to_cpu(klm->va),
				 be32_to_cpu(klm->byte_count), be32_to_cpu(klm->mkey));
	}
}

const char *m5_decode_wqe(const void *ring, uint32_t mask, uint32_t index, char *buf, size_t len)
{
	struct line l = { buf, len, 0 };
	struct pieces p = { ring, mask * 4 + 3, (index & mask) * 4, 1 };
	const struct m5_ctrl_seg *ctrl = next_piece(&p);
	uint32_t w0 = be32_to_cpu(ctrl->opmod_idx_opcode), w1 = be32_to_cpu(ctrl->qpn_ds);
	unsigned int op = w0 & 0xff;

	p.left = (w1 & 0x3f) ? (w1 & 0x3f) - 1 : 0;
	put_op(&l, op);
	put_text(&l, " idx %u qpn 0x%x ds %u", w0 >> 8 & 0xffff, w1 >> 8, w1 & 0x3f);
	put_fm(&l, ctrl->fm_ce_se);
	if (op == M5_OP_SEND_INVAL || op == M5_OP_SEND_IMM || op == M5_OP_RDMA_WRITE_IMM)
		put_text(&l, " imm 0x%x", be32_to_cpu(ctrl->imm));
	if (op == M5_OP_UMR) {
		put_umr(&l, &p, be32_to_cpu(ctrl->imm));
		return buf;
	}
	if (op >= M5_OP_RDMA_WRITE && op != M5_OP_SEND && op != M5_OP_SEND_IMM &&
	    op <= M5_OP_ATOMIC_FA)
		put_raddr(&l, &p);
	if (op == M5_OP_ATOMIC_CS || op == M5_OP_ATOMIC_FA)
		next_piece(&p);
	put_data(&l, &p);
	return buf;
}

const char *m5_decode_recv(const void *wqe, unsigned int slots, char *buf, size_t len)
{
	const struct m5_data_seg *seg = wqe;
	struct line l = { buf, len, 0 };

	put_text(&l, "RECV");
	for (unsigned int i = 0; i < slots; i++, seg++) {
		if (!seg->byte_count.be && be32_to_cpu(seg->lkey) == M5_NULL_LKEY)
			break;
		put_text(&l, " [0x%" PRIx64 "+%u key 0x%x]", be64_to_cpu(seg->va),
			 be32_to_cpu(seg->byte_count), be32_to_cpu(seg->lkey));
	}
	return buf;
}

static const char *cqe_name(unsigned int op)
{
	static const char *const names[16] = {
		"REQ", "RESP_WRITE_IMM", "RESP_SEND", "RESP_SEND_IMM", "RESP_SEND_INV", "RESIZE",
		"NO_PACKET", "opcode 7", "opcode 8", "opcode 9", "opcode 10", "opcode 11",
		"SIG_ERR", "REQ_ERR", "RESP_ERR", "INVALID"
	};

	return names[op & 15];
}

const char *m5_decode_cqe(const struct m5_cqe *cqe, char *buf, size_t len)
{
	struct line l = { buf, len, 0 };
	unsigned int op = cqe->op_own >> 4;
	uint32_t w = be32_to_cpu(cqe->opcode_qpn);
	const uint8_t *raw = (const uint8_t *)cqe;

	put_text(&l, "CQE %s qpn 0x%x uidx %u wqe %u", cqe_name(op), w & 0xffffff,
		 be32_to_cpu(cqe->uidx) & 0xffffff, be16_to_cpu(cqe->wqe_counter));
	if (op == M5_CQE_REQ || op == M5_CQE_REQ_ERR) {
		put_text(&l, " of ");
		put_op(&l, w >> 24);
	}
	if (op == M5_CQE_REQ_ERR || op == M5_CQE_RESP_ERR)
		put_text(&l, ": %s (syndrome 0x%02x, vendor 0x%02x)",
			 find_syndrome(raw[M5_CQE_AT_SYNDROME])->name, raw[M5_CQE_AT_SYNDROME],
			 raw[M5_CQE_AT_VENDOR]);
	else
		put_text(&l, " bytes %u%s", be32_to_cpu(cqe->byte_cnt),
			 cqe->op_own & 2 ? " solicited" : "");
	return buf;
}

static void describe_ep(const struct m5_ep *e, char *buf, size_t len)
{
	uint16_t ci = (uint16_t)__atomic_load_n(&e->done.sq_ci, __ATOMIC_RELAXED);
	struct line l = { buf, len, 0 };
	char oldest[256];

	put_text(&l, "QP 0x%x, blocks posted up to %u, completed up to %u, receives %u and %" PRIu64,
		 e->qp.qpn, e->sq.pi, ci, e->rq.pi, e->done.rq_ci);
	if (e->sq.ring && ci != (uint16_t)e->sq.pi)
		put_text(&l, "; oldest request: %s",
			 m5_decode_wqe(e->sq.ring, e->sq.mask, ci, oldest, sizeof(oldest)));
}

static void describe_cq(const struct m5_cq *cq, char *buf, size_t len)
{
	struct line l = { buf, len, 0 };
	char next[160];

	put_text(&l, "CQ 0x%x of %u entries at %u", cq->cqn, cq->mask + 1, cq->ci);
	if (cq->next)
		put_text(&l, "; there: %s", m5_decode_cqe(cq->next, next, sizeof(next)));
}

void m5_describe(const struct dap_obj *obj, char *buf, size_t len)
{
	if (obj->type == DAP_EP)
		describe_ep((const struct m5_ep *)(const void *)((const struct dap_ep *)obj)->hw, buf, len);
	else if (obj->type == DAP_EVD && ((const struct dap_evd *)obj)->has_cq)
		describe_cq((const struct m5_cq *)(const void *)((const struct dap_evd *)obj)->hw, buf, len);
}
