/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies WQEs from their rings and parses them strictly. PRM "WQE segments". */
#include <errno.h>
#include <sys/param.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/quirk.h"
#include "softnic/mlx5/wqe.h"

/* Copies a WQE. PRM: it may wrap to the start of the ring at any segment. */
bool sn_sq_copy(struct sn_qp *qp, uint16_t idx, unsigned int ds, uint8_t *dst)
{
	uint32_t size = qp->sq_size * SN_WQEBB;
	uint32_t at = (idx & (qp->sq_size - 1)) * SN_WQEBB;
	uint32_t len = ds * 16, head = MIN(len, size - at);

	return sn_buf_copy_out(qp->nic, &qp->buf, qp->sq_off + at, dst, head) &&
	       sn_buf_copy_out(qp->nic, &qp->buf, qp->sq_off, dst + head, len - head);
}

#define OP(name) (UINT64_C(1) << SN_OP_##name)

static bool known_opcode(uint8_t opcode)
{
	const uint64_t known = OP(NOP) | OP(SEND) | OP(SEND_IMM) | OP(SEND_INVAL) | OP(WRITE) |
			       OP(WRITE_IMM) | OP(READ) | OP(ATOMIC_CS) | OP(ATOMIC_FA) | OP(UMR);

	return opcode < 64 && known >> opcode & 1;
}

/* False: this block holds no WQE of this queue and index. */
bool sn_wqe_ctrl_ok(struct sn_qp *qp, const struct sn_ctrl *ctrl)
{
	uint32_t word = from_be32(ctrl->opmod_idx_opcode), qpn_ds = from_be32(ctrl->qpn_ds);
	uint16_t idx = (uint16_t)(word >> 8), room = (uint16_t)(qp->sq_pi - qp->sq_next);
	unsigned int ds = qpn_ds & 0x3f;

	if (idx != qp->sq_next)
		sn_violate(qp->nic, SN_V_WQE_INDEX, "QP %#x: the WQE has index %u, expected %u",
			   qp->qpn, idx, qp->sq_next);
	else if (qpn_ds >> 8 != qp->qpn)
		sn_violate(qp->nic, SN_V_WQE_QPN, "QP %#x: the WQE names QP %#x", qp->qpn,
			   qpn_ds >> 8);
	else if (!known_opcode((uint8_t)word))
		sn_violate(qp->nic, SN_V_WQE_OPCODE, "QP %#x: %#x", qp->qpn, word & 0xff);
	else if (!ds || sn_blocks(ds) > room)
		sn_violate(qp->nic, SN_V_WQE_DS, "QP %#x: DS %u in %u blocks", qp->qpn, ds, room);
	else
		return true;
	return false;
}

static uint8_t bad_wqe(struct sn_qp *qp, const struct sn_wqe *wqe, enum sn_viol v, const char *words)
{
	sn_violate(qp->nic, v, "QP %#x: opcode %#x index %u: %s", qp->qpn, wqe->opcode,
		   wqe->wr->idx, words);
	return v == SN_V_WQE_INLINE ? SN_SYND_LOCAL_LENGTH : SN_SYND_LOCAL_QP_OP;
}

/*
 * Parses an inline segment at pos: its header and data are padded to 16 bytes. Returns the next
 * position, or 0.
 */
static unsigned int parse_inline(struct sn_wqe *wqe, unsigned int pos, uint32_t len)
{
	unsigned int end = wqe->ds * 16u;

	if (len > end - pos - 4)
		return 0;
	wqe->sge[wqe->nsge++] = (struct sn_sge){ .inl = wqe->raw + pos + 4, .len = len };
	return pos + ((4 + len + 15) & ~15u);
}

/* Parses a data segment. PRM: a byte count of 0 means 2^31, which no driver intends. */
static uint8_t parse_data(struct sn_qp *qp, struct sn_wqe *wqe, unsigned int pos)
{
	uint64_t total = 0;

	wqe->nsge = 0;
	while (pos < wqe->ds * 16u) {
		const struct sn_data *d = (const void *)(wqe->raw + pos);
		uint32_t count = from_be32(d->byte_count);

		if (count & SN_INLINE && sn_is_read(wqe->opcode))
			return bad_wqe(qp, wqe, SN_V_WQE_SEGMENT, "inline data in a read");
		if (count & SN_INLINE) {
			count &= ~SN_INLINE;
			sn_quirk_slows(qp->nic, SN_Q_SLOW_INLINE);
			pos = parse_inline(wqe, pos, count);
			if (!pos)
				return bad_wqe(qp, wqe, SN_V_WQE_INLINE,
					       "inline data extends beyond DS");
		} else {
			if (!count)
				return bad_wqe(qp, wqe, SN_V_WQE_SEGMENT, "byte count 0 means 2 GiB");
			wqe->sge[wqe->nsge++] = (struct sn_sge){ .va = from_be64(d->va), .len = count,
								 .key = from_be32(d->lkey) };
			pos += 16;
		}
		total += count;
	}
	if (total > UINT64_C(1) << qp->log_msg_max) {
		bad_wqe(qp, wqe, SN_V_WQE_SEGMENT, "the message is longer than 2^log_msg_max");
		return SN_SYND_LOCAL_LENGTH;
	}
	wqe->len = (uint32_t)total;
	return SN_SYND_OK;
}

static uint8_t parse_raddr(struct sn_qp *qp, struct sn_wqe *wqe)
{
	const struct sn_raddr *r = (const void *)(wqe->raw + 16);

	if (wqe->ds < 2)
		return bad_wqe(qp, wqe, SN_V_WQE_DS, "the WQE is too short for its remote address segment");
	wqe->raddr = from_be64(r->va);
	wqe->rkey = from_be32(r->rkey);
	if (r->rsvd.be)
		bad_wqe(qp, wqe, SN_V_WQE_RESERVED,
			"reserved bits of the remote address segment are set");
	return SN_SYND_OK;
}

/* Parses an atomic. PRM: eight bytes, big-endian operands, one data segment for the result. */
static uint8_t parse_atomic(struct sn_qp *qp, struct sn_wqe *wqe)
{
	const struct sn_atomic *at = (const void *)(wqe->raw + 32);
	uint8_t synd = parse_raddr(qp, wqe);

	if (synd)
		return synd;
	if (wqe->ds != 4)
		return bad_wqe(qp, wqe, SN_V_WQE_DS, "an atomic must have four segments");
	wqe->swap_add = from_be64(at->swap_add);
	wqe->compare = from_be64(at->compare);
	synd = parse_data(qp, wqe, 48);
	if (!synd && wqe->len != 8)
		return bad_wqe(qp, wqe, SN_V_WQE_SEGMENT, "an atomic returns eight bytes");
	return synd;
}

/* Parses a UD WQE, which is like a SEND behind its PRM "Datagram segment". A short address vector ends before
 * the fields of the GRH (compact_address_vector). */
static uint8_t parse_datagram(struct sn_qp *qp, struct sn_wqe *wqe)
{
	const struct sn_ud_av *a = (const void *)(wqe->raw + 16);
	bool extended = from_be32(a->dqpn) & SN_AV_EXTENDED;
	uint32_t word = from_be32(a->grh_gid_fl), data = extended ? 64 : 32;

	if (wqe->opcode != SN_OP_SEND && wqe->opcode != SN_OP_SEND_IMM)
		return bad_wqe(qp, wqe, SN_V_WQE_OPCODE, "opcode is not allowed on a datagram QP");
	if (wqe->ds < data / 16)
		return bad_wqe(qp, wqe, SN_V_WQE_DS, "no datagram segment");
	wqe->qkey = from_be32(a->qkey);
	wqe->dqpn = from_be32(a->dqpn) & 0xffffff;
	wqe->av = (struct sn_av){ .rlid = from_be16(a->rlid) };
	if (extended) {
		wqe->av.tclass = a->tclass;
		wqe->av.hop_limit = a->hop_limit;
		wqe->av.gid_index = (uint8_t)(word >> 20);
		wqe->av.flow_label = word & 0xfffff;
		wqe->av.grh = word & SN_AV_GRH;
		memcpy(wqe->av.rgid, a->rgid, sizeof(wqe->av.rgid));
		memcpy(wqe->av.rmac, a->rmac, sizeof(wqe->av.rmac));
	}
	if (sn_path_fault(qp->port, &wqe->av))
		return bad_wqe(qp, wqe, SN_V_WQE_SEGMENT, sn_path_fault(qp->port, &wqe->av));
	return parse_data(qp, wqe, data);
}

uint8_t sn_wqe_parse(struct sn_qp *qp, struct sn_wqe *wqe)
{
	uint8_t synd;

	wqe->len = 0;
	wqe->nsge = 0;
	wqe->raddr = 0;
	wqe->rkey = 0;
	if (qp->umr_only && wqe->opcode != SN_OP_NOP && wqe->opcode != SN_OP_UMR)
		return bad_wqe(qp, wqe, SN_V_WQE_OPCODE, "opcode is not allowed on a QP for UMRs");
	if (qp->umr_only)
		return SN_SYND_OK;
	if (qp->ud)
		return wqe->opcode == SN_OP_NOP ? SN_SYND_OK : parse_datagram(qp, wqe);
	switch (wqe->opcode) {
	case SN_OP_SEND:
	case SN_OP_SEND_IMM:
	case SN_OP_SEND_INVAL:
		return parse_data(qp, wqe, 16);
	case SN_OP_WRITE:
	case SN_OP_WRITE_IMM:
	case SN_OP_READ:
		synd = parse_raddr(qp, wqe);
		return synd ? synd : parse_data(qp, wqe, 32);
	case SN_OP_ATOMIC_CS:
	case SN_OP_ATOMIC_FA:
		return parse_atomic(qp, wqe);
	default:
		return SN_SYND_OK;
	}
}

/*
 * Reads data segments to the end of the stride, or to the end of a short list: a byte count of 0 and the key
 * 0x100 (Linux, mlx5_ib_post_recv(); libmlx5, MLX5_INVALID_LKEY). Neither alone ends a list.
 */
int sn_rq_parse(struct sn_qp *qp, struct sn_rwqe *r, const uint8_t *raw, uint32_t len)
{
	uint64_t total = 0;

	r->nsge = 0;
	for (uint32_t pos = 0; pos < len; pos += 16) {
		struct sn_data d;
		uint32_t count;

		memcpy(&d, raw + pos, sizeof(d));
		count = from_be32(d.byte_count);
		if (from_be32(d.lkey) == SN_LIST_END && !count)
			break;
		if (from_be32(d.lkey) == SN_LIST_END || !count || count & SN_INLINE) {
			sn_violate(qp->nic, SN_V_RQ_SEGMENT, "QP %#x WQE %u: byte count %#x, key %#x",
				   qp->qpn, r->idx, count, from_be32(d.lkey));
			return -EIO;
		}
		r->sge[r->nsge++] = (struct sn_sge){ .va = from_be64(d.va), .len = count,
						     .key = from_be32(d.lkey) };
		total += count;
	}
	r->len = total > UINT32_MAX ? UINT32_MAX : (uint32_t)total;
	return 1;
}
