/* SPDX-License-Identifier: BSD-2-Clause */
/* The receive queue. It has no MMIO doorbell, so the device reads the doorbell record when a packet
 * arrives. */
#include <errno.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/wqe.h"

/* Reads the producer index from the doorbell record. False: it is unreadable or invalid. */
static bool read_producer(struct sn_qp *qp)
{
	uint32_t rec;
	uint16_t pi;

	if (!sn_dbr_read(qp->nic, &qp->dbr, 0, &rec))
		return false;
	pi = (uint16_t)rec;
	if (rec >> 16)
		sn_violate(qp->nic, SN_V_DB_RECORD, "QP %#x: reserved bits in RQ record %#x",
			   qp->qpn, rec);
	if ((uint16_t)(pi - qp->rq_pi) > 0x8000) {
		sn_violate(qp->nic, SN_V_DB_BACKWARDS, "QP %#x: RQ record %u after %u", qp->qpn, pi,
			   qp->rq_pi);
		return false;
	}
	if ((uint16_t)(pi - qp->rq_done) > qp->rq_size) {
		sn_violate(qp->nic, SN_V_RQ_OVERRUN, "QP %#x: %u posted, ring of %u", qp->qpn,
			   (uint16_t)(pi - qp->rq_done), qp->rq_size);
		return false;
	}
	qp->rq_pi = pi;
	return true;
}

static bool is_in_one_piece(const struct sn_qp *qp, uint64_t at)
{
	return !qp->buf.pages && sn_buf_run(qp->nic, &qp->buf, at, qp->rq_stride) == qp->rq_stride;
}

static int read_wqe(struct sn_qp *qp, struct sn_rwqe *rwqe)
{
	uint8_t raw[SN_RQ_STRIDE_MAX] __attribute__((aligned(16)));
	uint64_t at = (rwqe->idx & (qp->rq_size - 1)) * (uint64_t)qp->rq_stride;
	const uint8_t *wqe = NULL;

	if (is_in_one_piece(qp, at))
		wqe = sn_buf_at(qp->nic, &qp->buf, at, qp->rq_stride, false);
	if (!wqe) {
		if (!sn_buf_copy_out(qp->nic, &qp->buf, at, raw, qp->rq_stride))
			return -EIO;
		wqe = raw;
	}
	return sn_rq_parse(qp, rwqe, wqe, qp->rq_stride);
}

int sn_rq_refetch(struct sn_qp *qp, struct sn_rwqe *rwqe)
{
	return rwqe->srq ? sn_srq_refetch(qp, rwqe) : read_wqe(qp, rwqe);
}

/* From here on until sn_rq_done() or sn_rq_fail(), a flush of the queue also ends this WQE. */
int sn_rq_next(struct sn_qp *qp, struct sn_rwqe *rwqe)
{
	if (qp->srq)
		return sn_srq_next(qp, rwqe);
	if (!qp->rq_size)
		return 0;
	if (!read_producer(qp))
		return -EIO;
	if (qp->rq_next == qp->rq_pi)
		return 0;
	rwqe->idx = qp->rq_next++;
	rwqe->srq = NULL;
	return read_wqe(qp, rwqe);
}

void sn_rq_put_back(struct sn_qp *qp, const struct sn_rwqe *rwqe)
{
	if (rwqe->srq)
		sn_srq_put_back(qp);
	else
		qp->rq_next = rwqe->idx;
}

bool sn_rq_peek(struct sn_qp *qp, struct sn_sge *sge)
{
	uint64_t at = (qp->rq_next & (qp->rq_size - 1)) * (uint64_t)qp->rq_stride;
	struct sn_data d[2];
	const uint8_t *wqe;
	uint32_t rec;

	if (qp->srq || !qp->rq_size || !is_in_one_piece(qp, at) || !sn_dbr_read(qp->nic, &qp->dbr, 0, &rec) ||
	    rec >> 16 || (uint16_t)(rec - qp->rq_pi) > 0x8000 ||
	    (uint16_t)(rec - qp->rq_done) > qp->rq_size || (uint16_t)rec == qp->rq_next)
		return false;
	wqe = sn_buf_at(qp->nic, &qp->buf, at, qp->rq_stride, false);
	if (!wqe)
		return false;
	memcpy(d, wqe, qp->rq_stride < sizeof(d) ? sizeof(d[0]) : sizeof(d));
	if ((qp->rq_stride >= sizeof(d) && (from_be32(d[1].lkey) != SN_LIST_END || d[1].byte_count.be)) ||
	    from_be32(d[0].lkey) == SN_LIST_END || from_be32(d[0].byte_count) & SN_INLINE)
		return false;
	qp->rq_pi = (uint16_t)rec;
	*sge = (struct sn_sge){ .va = from_be64(d[0].va), .len = from_be32(d[0].byte_count),
				.key = from_be32(d[0].lkey) };
	return true;
}

/*
 * Flushes the WQE that this QP took from an SRQ. The other WQEs of the SRQ belong to all its QPs.
 */
static bool flush_taken(struct sn_qp *qp)
{
	struct sn_cqe cqe = { .op = SN_CQE_RESP_ERR, .counter = qp->srq_idx,
			      .syndrome = SN_SYND_FLUSH };

	if (!qp->srq_holds || qp->flush.slot)
		return false;
	sn_srq_release(qp);
	sn_cqe_write(qp, qp->rcq, &cqe);
	return true;
}

/* A receive that was taken but not completed is flushed first, then the ones after it. */
bool sn_rq_flush(struct sn_qp *qp)
{
	bool any = false;

	if (qp->flush_late)
		return false;
	if (qp->srq)
		return flush_taken(qp);
	if (!qp->rq_size || qp->rcq->error || !read_producer(qp))
		return false;
	while (qp->rq_done != qp->rq_pi) {
		struct sn_cqe cqe = { .op = SN_CQE_RESP_ERR, .counter = qp->rq_done,
				      .syndrome = SN_SYND_FLUSH };

		qp->nic->work += SN_WORK_WQE;
		qp->rq_next = ++qp->rq_done;
		any = true;
		if (!sn_cqe_write(qp, qp->rcq, &cqe))
			break;
	}
	return any;
}
