/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue. The device poisons a slot after it has fetched the WQE. A driver that reads the
 * slot back, which write-combined memory forbids, gets the poison. So does the device if a doorbell
 * comes before its WQE is complete.
 */
#include "softnic/efa/nic.h"

void sne_sq_poison(const struct sne_nic *nic, uint8_t *slot, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += sizeof(nic->poison))
		memcpy(slot + i, &nic->poison, sizeof(nic->poison));
}

/* Copies a WQE and poisons its slot. True: a part of the WQE was still poisoned. */
static bool take_slot(const struct sne_nic *nic, uint8_t *slot, struct sne_tx_wqe *wqe, size_t bytes)
{
	const uint64_t poison = nic->poison;
	uint8_t *to = (uint8_t *)wqe;
	bool partial = false;
	uint64_t word;

	for (size_t i = 0; i < bytes; i += sizeof(word)) {
		memcpy(&word, slot + i, sizeof(word));
		memcpy(to + i, &word, sizeof(word));
		memcpy(slot + i, &poison, sizeof(word));
		partial |= word == poison;
	}
	return partial;
}

static uint8_t *slot(const struct sne_qp *qp, uint32_t index)
{
	return qp->sq + (size_t)(index & (qp->attr.sq_depth - 1)) * qp->wqe_size;
}

/* Is the request id valid? An id that is outstanding already is ambiguous, and so is one with more
 * bits than the queue uses. */
static bool check_req_id(struct sne_nic *nic, struct sne_qp *qp, const struct sne_wr *wr)
{
	if (qp->attr.flags & SOFTNIC_EFA_QP_REQ_ID_64)
		return true;
	if (!sne_id_in_use(qp->sq_ids, wr->req_id) &&
	    !(wr->req_id_ex[0] | wr->req_id_ex[1] | wr->req_id_ex[2])) {
		sne_id_mark(qp->sq_ids, wr->req_id, true);
		return true;
	}
	sne_violate(nic, SNE_V_WQE_REQ_ID, "QP %u: request id %#x is outstanding or has 64 bits",
		    qp->qpn, wr->req_id);
	return false;
}

static uint8_t check_header(struct sne_nic *nic, struct sne_qp *qp, const struct sne_tx_meta *m)
{
	unsigned int phase = !!(qp->sq_pc & qp->attr.sq_depth);

	if (!(m->ctrl1 & SNE_C1_META)) {
		sne_violate(nic, SNE_V_WQE_META, "QP %u WQE %u: ctrl1 %#x", qp->qpn, qp->sq_pc,
			    m->ctrl1);
		return SNE_QP_INTERNAL;
	}
	if ((m->ctrl2 & (SNE_C2_FIRST | SNE_C2_LAST)) != (SNE_C2_FIRST | SNE_C2_LAST)) {
		sne_violate(nic, SNE_V_WQE_FIRST_LAST, "QP %u WQE %u: ctrl2 %#x", qp->qpn,
			    qp->sq_pc, m->ctrl2);
		return SNE_QP_INTERNAL;
	}
	if ((m->ctrl2 & SNE_C2_PHASE) != phase) {
		sne_violate(nic, SNE_V_WQE_PHASE, "QP %u WQE %u: phase is not %u", qp->qpn,
			    qp->sq_pc, phase);
		return SNE_QP_INTERNAL;
	}
	/* What hardware does with such a WQE is unknown. The model writes a completion
	 * nevertheless. */
	if (!(m->ctrl2 & SNE_C2_COMP))
		sne_violate(nic, SNE_V_WQE_COMP_REQ, "QP %u WQE %u: ctrl2 %#x", qp->qpn, qp->sq_pc,
			    m->ctrl2);
	return SNE_OK;
}

/* A fault script can make the n-th WQE fail, or a WQE that was not stored in ascending order. */
static uint8_t injected(struct sne_nic *nic)
{
	if (nic->fault.bad_order && sne_order_descends())
		return SNE_QP_INTERNAL;
	if (!nic->fault.status_in || --nic->fault.status_in)
		return SNE_OK;
	return nic->fault.status;
}

static void fetch_one(struct sne_nic *nic, struct sne_qp *qp)
{
	struct sne_wr *wr = sne_wr_new(qp);
	struct sne_tx_wqe wqe;		/* a WQE of 64 bytes sets only the first half */
	uint8_t status = SNE_OK, fault;
	bool partial;

	if (!wr)
		return;			/* this overrun has already been reported */
	partial = take_slot(nic, slot(qp, qp->sq_pc), &wqe, qp->wqe_size);
	wr->req_id = from_le16(wqe.meta.req_id);
	for (int i = 0; i < 3; i++)
		wr->req_id_ex[i] = from_le16(wqe.meta.req_id_ex[i]);
	wr->op = wqe.meta.ctrl1 & SNE_C1_OP;
	if (partial) {
		sne_violate(nic, SNE_V_WQE_PARTIAL, "QP %u WQE %u", qp->qpn, qp->sq_pc);
		status = SNE_QP_INTERNAL;
	}
	if (!check_req_id(nic, qp, wr))
		status = SNE_QP_INTERNAL;
	if (!status)
		status = check_header(nic, qp, &wqe.meta);
	fault = injected(nic);
	if (!status)
		status = sne_wqe_parse(nic, qp, &wqe, wr);
	if (!status)
		status = fault;
	if (qp->now.state == SOFTNIC_EFA_ERR)
		status = SNE_FLUSHED;
	if (status)
		sne_wr_end(nic, wr, status);
	else
		sne_wr_start(nic, wr);
}

static bool check_doorbell(struct sne_nic *nic, struct sne_qp *qp, uint32_t db, uint32_t n,
			   bool by_poster)
{
	if (qp->now.state != SOFTNIC_EFA_RTS && qp->now.state != SOFTNIC_EFA_ERR) {
		sne_violate(nic, SNE_V_SQ_STATE, "send doorbell of QP %u in state %u", qp->qpn,
			    qp->now.state);
		return false;
	}
	if (db > 0xffff || n > qp->attr.sq_depth) {
		sne_violate(nic, SNE_V_SQ_DOORBELL, "QP %u: doorbell value %#x after %#x, depth %u",
			    qp->qpn, db, qp->sq_pc & 0xffff, qp->attr.sq_depth);
		return false;
	}
	if (qp->sq_pc + n - qp->sq_done > qp->attr.sq_depth)
		sne_violate(nic, SNE_V_SQ_OVERRUN, "QP %u: %u outstanding, depth %u", qp->qpn,
			    qp->sq_pc + n - qp->sq_done, qp->attr.sq_depth);
	/* If the driver does not call softnic_efa_kick, it may have stored any number of doorbells
	 * since the last scan. */
	if (by_poster && n > qp->max_batch)
		sne_violate(nic, SNE_V_SQ_BATCH,
			    "QP %u: one doorbell announces %u WQEs, at most %u are allowed", qp->qpn, n,
			    qp->max_batch);
	return true;
}

static void look_behind(struct sne_nic *nic, struct sne_qp *qp)
{
	if (qp->sq_pc - qp->sq_done < qp->attr.sq_depth &&
	    memcmp(slot(qp, qp->sq_pc), &nic->poison, sizeof(nic->poison)) != 0)
		sne_violate(nic, SNE_V_SQ_BEHIND,
			    "QP %u: WQE %u was written, but no doorbell announced it", qp->qpn,
			    qp->sq_pc);
}

bool sne_sq_doorbell(struct sne_nic *nic, struct sne_qp *qp, bool by_poster)
{
	uint32_t db = atomic_load_explicit(qp->sq_db, memory_order_acquire);
	uint32_t n = (db - qp->sq_pc) & 0xffff;

	if (db == (qp->sq_pc & 0xffff))
		return false;
	nic->ctr.doorbells++;
	if (!check_doorbell(nic, qp, db, n, by_poster)) {
		atomic_store(qp->sq_db, qp->sq_pc & 0xffff);
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		fetch_one(nic, qp);
		qp->sq_pc++;
		nic->ctr.wqes++;
	}
	if (by_poster)
		look_behind(nic, qp);
	return true;
}
