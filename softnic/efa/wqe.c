/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses a WQE and reports its errors. */
#include "softnic/bytes.h"
#include "softnic/clock.h"
#include "softnic/efa/nic.h"

static uint64_t address(le32_t lo, le32_t hi)
{
	return (uint64_t)from_le32(hi) << 32 | from_le32(lo);
}

static uint8_t reserved(struct sne_nic *nic, struct sne_qp *qp, const char *where)
{
	sne_violate(nic, SNE_V_WQE_RESERVED, "QP %u WQE %u: %s", qp->qpn, qp->sq_pc, where);
	return SNE_QP_INTERNAL;
}

static uint8_t check_reserved(struct sne_nic *nic, struct sne_qp *qp, const struct sne_tx_meta *m)
{
	if (m->ctrl1 & SNE_C1_MBZ || m->ctrl2 & SNE_C2_MBZ || m->ctrl3 & SNE_C3_MBZ)
		return reserved(nic, qp, "reserved control bits are set");
	if (m->rsvd15 || !sn_is_zero(m->rsvd20, sizeof(m->rsvd20)))
		return reserved(nic, qp, "reserved bytes of the header are set");
	return SNE_OK;
}

static uint8_t check_op(struct sne_nic *nic, struct sne_qp *qp, const struct sne_wr *wr)
{
	bool ud = qp->attr.flags & SOFTNIC_EFA_QP_UD;

	if (wr->op == SNE_SEND || (wr->op == SNE_READ && nic->caps.rdma_read && !ud) ||
	    (wr->op == SNE_WRITE && nic->caps.rdma_write && !ud))
		return SNE_OK;
	sne_violate(nic, SNE_V_WQE_OPCODE,
		    "QP %u WQE %u: operation %u is not supported by profile %s", qp->qpn,
		    qp->sq_pc, wr->op, nic->caps.profile);
	return SNE_UNSUPPORTED_OP;
}

static uint8_t lkey_error(struct sne_nic *nic, struct sne_qp *qp, const struct sne_sge *sge,
			  enum sne_mr_error why)
{
	static const enum sne_viol kinds[] = {
		[SNE_MR_KEY] = SNE_V_WQE_LKEY,
		[SNE_MR_PD] = SNE_V_WQE_LKEY_PD,
		[SNE_MR_RIGHTS] = SNE_V_WQE_LKEY_RIGHTS,
	};

	sne_violate(nic, kinds[why], "QP %u WQE %u: lkey %#x, address %#llx+%u", qp->qpn, qp->sq_pc,
		    sge->lkey, (unsigned long long)sge->addr, sge->len);
	return SNE_INVALID_LKEY;
}

static uint8_t parse_buf(struct sne_nic *nic, struct sne_qp *qp, const struct sne_tx_buf *b,
			 struct sne_wr *wr)
{
	struct sne_sge *sge = &wr->sge[wr->nsge++];
	unsigned int access = wr->op == SNE_READ ? SOFTNIC_EFA_LOCAL_WRITE : 0;
	enum sne_mr_error why;

	sge->len = from_le32(b->length);
	sge->lkey = from_le32(b->lkey);
	sge->addr = address(b->addr_lo, b->addr_hi);
	/* the sum of two buffers may exceed 32 bits; check_length refuses it */
	wr->len = sge->len > UINT32_MAX - wr->len ? UINT32_MAX : wr->len + sge->len;
	if (sge->lkey & ~SNE_LKEY_MASK)
		return reserved(nic, qp, "the upper byte of an lkey is set");
	/* A buffer of length zero names no memory. */
	if (sge->len && !sne_mr_local(nic, qp->attr.pd, sge, access, &why))
		return lkey_error(nic, qp, sge, why);
	return SNE_OK;
}

static uint8_t parse_inline(struct sne_nic *nic, struct sne_qp *qp, const struct sne_tx_wqe *wqe,
			    struct sne_wr *wr)
{
	bool wide = qp->wqe_size == 128;
	uint32_t len = from_le16(wqe->meta.length), max = wide ? nic->caps.inline_max_wide :
		nic->caps.inline_max;

	if (len > max || wr->op == SNE_READ || (wr->op == SNE_WRITE && !wide)) {
		sne_violate(nic, SNE_V_WQE_INLINE,
			    "QP %u WQE %u: %u bytes of inline data in operation %u",
			    qp->qpn, qp->sq_pc, len, wr->op);
		return SNE_BAD_LENGTH;
	}
	wr->is_inline = true;
	wr->len = len;
	memcpy(wr->data, wr->op == SNE_SEND ? wqe->data : wqe->rdma.data, len);
	return SNE_OK;
}

static uint8_t sge_count(struct sne_nic *nic, struct sne_qp *qp, uint32_t n)
{
	sne_violate(nic, SNE_V_WQE_SGE_COUNT, "QP %u WQE %u has %u buffers", qp->qpn, qp->sq_pc, n);
	return SNE_BAD_LENGTH;
}

enum { SMALL = 128, SMALL_US = 500 };

static uint8_t parse_send(struct sne_nic *nic, struct sne_qp *qp, const struct sne_tx_wqe *wqe,
			  struct sne_wr *wr)
{
	uint32_t n = from_le16(wqe->meta.length);
	uint8_t status = SNE_OK;

	if (wr->is_inline)
		return parse_inline(nic, qp, wqe, wr);
	/* Drivers send empty messages inline: no device is known to accept a send without buffers and
	 * without inline data. */
	if ((!n && !nic->fault.empty_sgl) || n > nic->caps.max_send_sge)
		return sge_count(nic, qp, n);
	sne_slow(nic->fault.slow_sgl);
	for (uint32_t i = 0; i < n && !status; i++)
		status = parse_buf(nic, qp, &wqe->buf[i], wr);
	if (nic->fault.slow_small && wr->len <= SMALL)
		sn_sleep_us(SMALL_US);
	return status;
}

static uint8_t parse_rdma(struct sne_nic *nic, struct sne_qp *qp, const struct sne_tx_wqe *wqe,
			  struct sne_wr *wr)
{
	const struct sne_tx_remote *remote = &wqe->rdma.remote;
	uint32_t n = from_le16(wqe->meta.length);
	uint8_t status;

	sne_slow(nic->fault.slow_read && wr->op == SNE_READ);
	wr->remote.rkey = from_le32(remote->rkey);
	wr->remote.addr = address(remote->addr_lo, remote->addr_hi);
	if (wr->is_inline)
		status = parse_inline(nic, qp, wqe, wr);
	else if (n != 1)
		status = sge_count(nic, qp, n);
	else
		status = parse_buf(nic, qp, &wqe->rdma.local, wr);
	if (!status && from_le32(remote->length) != wr->len) {
		sne_violate(nic, SNE_V_WQE_REMOTE_LENGTH,
			    "QP %u WQE %u: %u bytes at the peer, %u in local memory", qp->qpn,
			    qp->sq_pc, from_le32(remote->length), wr->len);
		status = SNE_BAD_LENGTH;
	}
	return status;
}

static uint8_t check_length(struct sne_nic *nic, struct sne_qp *qp, const struct sne_wr *wr)
{
	uint32_t max = wr->op == SNE_SEND ? nic->caps.mtu : nic->caps.max_rdma_size;

	if (wr->len <= max)
		return SNE_OK;
	sne_violate(nic, SNE_V_WQE_LENGTH,
		    "QP %u WQE %u: %u bytes, operation %u supports at most %u", qp->qpn, qp->sq_pc,
		    wr->len, wr->op, max);
	return SNE_BAD_LENGTH;
}

static uint8_t find_peer(struct sne_nic *nic, struct sne_qp *qp, const struct sne_tx_meta *m,
			 struct sne_wr *wr)
{
	struct sne_ah *ah = sne_ah_find(nic, qp->attr.pd, from_le16(m->ah));

	if (!ah) {
		sne_violate(nic, SNE_V_WQE_AH,
			    "QP %u WQE %u: AH %u does not exist, or is of another PD", qp->qpn,
			    qp->sq_pc, from_le16(m->ah));
		return SNE_INVALID_AH;
	}
	wr->flow = ah->flow;
	wr->dest_qpn = from_le16(m->dest_qpn);
	wr->qkey = from_le32(m->qkey);
	return SNE_OK;
}

static uint8_t check_imm(struct sne_nic *nic, struct sne_qp *qp, const struct sne_wr *wr)
{
	if (!wr->has_imm || wr->op != SNE_READ)
		return SNE_OK;
	sne_violate(nic, SNE_V_WQE_IMM, "QP %u WQE %u: a read with an immediate", qp->qpn,
		    qp->sq_pc);
	return SNE_QP_INTERNAL;
}

uint8_t sne_wqe_parse(struct sne_nic *nic, struct sne_qp *qp, const struct sne_tx_wqe *wqe,
		      struct sne_wr *wr)
{
	const struct sne_tx_meta *m = &wqe->meta;
	uint8_t status = check_reserved(nic, qp, m);

	wr->has_imm = m->ctrl1 & SNE_C1_IMM;
	wr->is_inline = m->ctrl1 & SNE_C1_INLINE;
	wr->imm = from_le32(m->imm);
	if (!status)
		status = check_op(nic, qp, wr);
	if (!status)
		status = check_imm(nic, qp, wr);
	if (!status)
		status = find_peer(nic, qp, m, wr);
	if (!status)
		status = wr->op == SNE_SEND ? parse_send(nic, qp, wqe, wr)
					    : parse_rdma(nic, qp, wqe, wr);
	return status ? status : check_length(nic, qp, wr);
}
