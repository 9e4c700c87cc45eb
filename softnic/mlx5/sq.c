/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue: doorbells and fetching. PRM "Send queue", "Control segment". */
#include "softnic/bytes.h"
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/wqe.h"

/* Only blocks that a CQE has reported are free, so the producer index may not go beyond those. */
static bool producer_ok(struct sn_qp *qp, uint32_t rec)
{
	uint16_t pi = (uint16_t)rec;

	if (rec >> 16)
		sn_violate(qp->nic, SN_V_DB_RECORD, "QP %#x: reserved bits in SQ record %#x",
			   qp->qpn, rec);
	if ((uint16_t)(pi - qp->sq_pi) > 0x8000) {
		sn_violate(qp->nic, SN_V_DB_BACKWARDS, "QP %#x: SQ record %u after %u", qp->qpn, pi,
			   qp->sq_pi);
		return false;
	}
	if ((uint16_t)(pi - qp->sq_reported) > qp->sq_size) {
		sn_violate(qp->nic, SN_V_SQ_OVERRUN, "QP %#x: %u blocks after block %u, ring of %u",
			   qp->qpn, (uint16_t)(pi - qp->sq_reported), qp->sq_reported, qp->sq_size);
		return (uint16_t)(pi - qp->sq_done) <= qp->sq_size;
	}
	return true;
}

bool sn_sq_read_record(struct sn_qp *qp, uint32_t *rec)
{
	if (qp->sq_size && sn_dbr_read(qp->nic, &qp->dbr, 1, rec))
		return true;
	if (qp->sq_size && qp->state >= SN_QP_RTS)
		sn_qp_fatal(qp, SN_EV_WQ_CATAS);
	return false;
}

/* The doorbell's own value is not used, because by the manual the doorbell record is authoritative. */
void sn_sq_doorbell(struct sn_qp *qp)
{
	uint32_t rec;

	if (qp->sq_size && sn_dbr_read(qp->nic, &qp->dbr, 1, &rec))
		sn_sq_record(qp, rec);
}

void sn_sq_record(struct sn_qp *qp, uint32_t rec)
{
	if ((uint16_t)rec == qp->sq_pi)
		return;
	if (qp->state < SN_QP_RTS) {
		sn_violate(qp->nic, SN_V_DB_STATE, "doorbell of QP %#x in state %u", qp->qpn, qp->state);
		return;
	}
	if (!producer_ok(qp, rec))
		return;
	qp->sq_pi = (uint16_t)rec;
	sn_qp_kick(qp);
}

/*
 * Reports reserved bits. A WQE with reserved bits is executed nevertheless. The immediate field of
 * opcodes without one is not checked: libmlx5's ibv_wr_send leaves stale bytes there.
 */
static void ctrl_reserved(struct sn_qp *qp, const struct sn_ctrl *ctrl)
{
	uint32_t word = from_be32(ctrl->opmod_idx_opcode);
	uint8_t opcode = (uint8_t)word;

	if (word >> 24 || from_be32(ctrl->qpn_ds) & 0xc0 || ctrl->signature || ctrl->dci_stream[0] ||
	    ctrl->dci_stream[1] ||
	    ctrl->fm_ce_se & 0x11 || ctrl->fm_ce_se >> 5 > SN_FENCE_SMALL_READ)
		sn_violate(qp->nic, SN_V_WQE_RESERVED,
			   "QP %#x: opcode %#x index %u: reserved bits of the control segment",
			   qp->qpn, opcode, word >> 8 & 0xffff);
}

/*
 * Must a WQE with this PRM fence mode wait? See enum sn_fence. A small fence alone never waits: an operation
 * that is local to the device completes when it is fetched.
 */
static bool is_fenced(const struct sn_qp *qp, uint8_t fence)
{
	if (fence == SN_FENCE_STRONG)
		return sn_wr_count(qp);
	return (fence == SN_FENCE_READ || fence == SN_FENCE_SMALL_READ) && qp->wr_reads;
}

/*
 * PRM "Fence": hardware may fetch a WQE before the UMR ahead of it has changed the key, unless the WQE has a
 * small or strong fence. This device never does; the driver must not rely on that, whatever umr_fence says:
 * that is the fence of a UMR itself, and an adversarial device needs none there. A NOP uses no key. A UMR
 * that frees its key needs no fence behind it: no correct WQE there uses the key, and Linux has none.
 */
static void check_umr_fence(struct sn_qp *qp, uint8_t opcode, uint8_t fence)
{
	bool excused = opcode == SN_OP_UMR && qp->nic->config.flags & SOFTNIC_ADVERSARIAL;

	if (opcode == SN_OP_NOP)
		return;
	if (fence == SN_FENCE_NONE || fence == SN_FENCE_READ) {
		if (excused)
			return;
		if (qp->umr_unfenced)
			sn_violate(qp->nic, SN_V_WQE_UMR_FENCE, "QP %#x index %u: opcode %#x after a UMR",
				   qp->qpn, qp->sq_next, opcode);
	}
	qp->umr_unfenced = false;
}

/* A WQE that cannot be executed still completes in its turn. It ends no later than the posted blocks. */
static void stop(struct sn_qp *qp, const struct sn_ctrl *ctrl, uint8_t syndrome)
{
	uint8_t ds = (uint8_t)(from_be32(ctrl->qpn_ds) & 0x3f);
	bool fits = ds && sn_blocks(ds) <= (uint16_t)(qp->sq_pi - qp->sq_next);
	struct sn_wr *wr = sn_wr_push(qp, qp->sq_next, (uint8_t)from_be32(ctrl->opmod_idx_opcode),
				      fits ? ds : 1, SN_CE_ALWAYS);

	sn_wr_done(qp, wr, syndrome, 0, 0);
}

static bool parse_wqe(struct sn_qp *qp, struct sn_wr *wr, struct sn_wqe *wqe)
{
	const struct sn_ctrl *ctrl = (const void *)wqe->raw;

	wqe->wr = wr;
	wqe->opcode = wr->opcode;
	wqe->ds = wr->ds;
	wqe->solicited = ctrl->fm_ce_se >> 1 & 1;
	wqe->imm = ctrl->imm;
	wqe->syndrome = sn_wqe_parse(qp, wqe);
	return wqe->syndrome == SN_SYND_OK;
}

bool sn_sq_refetch(struct sn_qp *qp, struct sn_wr *wr, struct sn_wqe *wqe)
{
	wqe->syndrome = SN_SYND_LOCAL_QP_OP;
	return sn_sq_copy(qp, wr->idx, wr->ds, wqe->raw) && parse_wqe(qp, wr, wqe);
}

/* Fetches the block at sq_next, or only its control segment if no more is readable. Returns the
 * number of fetched bytes. */
static unsigned int fetch_wqe(struct sn_qp *qp, struct sn_wqe *wqe)
{
	const uint8_t *block = sn_sq_block(qp, qp->sq_next);

	if (!block)
		return sn_sq_copy(qp, qp->sq_next, 1, wqe->raw) ? sizeof(struct sn_ctrl) : 0;
	memcpy(wqe->raw, block, SN_WQEBB);
	sn_end_copy();
	return SN_WQEBB;
}

/* Puts the fetched WQE into the FIFO. False: the WQE is not sent, because it has completed already or the
 * queue has stopped. */
static bool take_wqe(struct sn_qp *qp, struct sn_wqe *wqe, unsigned int fetched)
{
	const struct sn_ctrl *ctrl = (const void *)wqe->raw;
	uint8_t opcode = (uint8_t)from_be32(ctrl->opmod_idx_opcode);
	uint8_t ds = (uint8_t)(from_be32(ctrl->qpn_ds) & 0x3f);
	struct sn_wr *wr;

	check_umr_fence(qp, opcode, ctrl->fm_ce_se >> 5);
	wr = sn_wr_push(qp, qp->sq_next, opcode, ds, ctrl->fm_ce_se >> 2 & 3);
	ctrl_reserved(qp, ctrl);
	qp->nic->ctr.wqes++;
	if (ds * 16u <= fetched ? !parse_wqe(qp, wr, wqe) : !sn_sq_refetch(qp, wr, wqe)) {
		sn_wr_done(qp, wr, wqe->syndrome, 0, 0);
		return false;
	}
	/* Hosts post a NOP to end a connection. Before it completes, the delayed ACK for received
	 * requests must be sent. */
	if (opcode == SN_OP_NOP && qp->rc)
		sn_rc_flush_delayed_ack(qp);
	if (opcode == SN_OP_NOP || opcode == SN_OP_UMR) {
		sn_wr_done(qp, wr, opcode == SN_OP_UMR ? sn_umr_execute(qp, wqe) : SN_SYND_OK, 0, 0);
		return false;
	}
	wr->counted = sn_is_read(opcode);
	qp->wr_reads += wr->counted;
	return true;
}

enum sn_sq_status sn_sq_next(struct sn_qp *qp, struct sn_wqe *wqe)
{
	const struct sn_ctrl *ctrl = (const void *)wqe->raw;
	unsigned int fetched;

	while (qp->state == SN_QP_RTS && !qp->sq_stopped && qp->sq_next != qp->sq_pi) {
		if (sn_wr_count(qp) == qp->sq_size)
			break;
		if (sn_is_spent(qp->nic)) {
			sn_qp_kick(qp);
			break;
		}
		qp->nic->work += SN_WORK_WQE;
		fetched = fetch_wqe(qp, wqe);
		if (!fetched) {
			sn_qp_fatal(qp, SN_EV_WQ_CATAS);
			break;
		}
		if (!sn_wqe_ctrl_ok(qp, ctrl)) {
			stop(qp, ctrl, SN_SYND_LOCAL_QP_OP);
			break;
		}
		if (is_fenced(qp, ctrl->fm_ce_se >> 5)) {
			qp->sq_fenced = true;
			return SN_SQ_FENCED;
		}
		if (take_wqe(qp, wqe, fetched))
			return SN_SQ_WQE;
	}
	return SN_SQ_EMPTY;
}
