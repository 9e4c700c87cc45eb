/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion of work requests. Send WQEs in flight form a FIFO, and their completions leave it in order
 * (PRM "Completion" and CE field). Receives complete as they arrive. The error state flushes both queues.
 */
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/quirk.h"
#include "softnic/mlx5/ud.h"
#include "softnic/mlx5/wqe.h"

struct sn_wr *sn_wr_push(struct sn_qp *qp, uint16_t idx, uint8_t opcode, uint8_t ds, uint8_t ce)
{
	struct sn_wr *wr = &qp->wr[qp->wr_tail++ & (qp->sq_size - 1)];

	*wr = (struct sn_wr){ .idx = idx, .opcode = opcode, .ds = ds, .ce = ce };
	qp->sq_next = (uint16_t)(idx + sn_blocks(ds));
	return wr;
}

/* Poisons the blocks that a CQE is about to free. */
static void report_blocks(struct sn_qp *qp, uint16_t upto)
{
	bool poison = qp->nic->config.flags & SOFTNIC_ADVERSARIAL;

	for (; poison && qp->sq_reported != upto; qp->sq_reported++) {
		uint64_t at = (qp->sq_reported & (qp->sq_size - 1)) * (uint64_t)SN_WQEBB;
		void *p = sn_buf_at(qp->nic, &qp->buf, qp->sq_off + at, SN_WQEBB, true);

		if (p)
			memset(p, SN_POISON, SN_WQEBB);
	}
	qp->sq_reported = upto;
}

/*
 * PRM CE: 0 only on error, 1 only on the first error, so not when flushed, 2 always. IBTA, error state:
 * every other WQE completes with a flush error.
 */
static bool wants_cqe(const struct sn_wr *wr)
{
	if (wr->syndrome == SN_SYND_FLUSH)
		return wr->ce != SN_CE_FIRST_ERR;
	return wr->syndrome || wr->ce >= SN_CE_ALWAYS;
}

static bool complete_wr(struct sn_qp *qp, const struct sn_wr *wr)
{
	struct sn_cqe cqe;

	qp->sq_done = (uint16_t)(wr->idx + sn_blocks(wr->ds));
	if (!wants_cqe(wr))
		return true;
	cqe = (struct sn_cqe){
		.op = wr->syndrome ? SN_CQE_REQ_ERR : SN_CQE_REQ,
		.syndrome = wr->syndrome,
		.vendor = wr->vendor,
		.wqe_opcode = wr->opcode,
		.counter = wr->idx,
		.byte_cnt = wr->byte_cnt,
	};
	if (wr->small && !wr->syndrome) {
		/* The WQE must not be reused yet: the host reads the data's destination from it. */
		cqe.small = qp->small[(qp->wr_head - 1) & (qp->sq_size - 1)];
		report_blocks(qp, wr->idx);
		qp->sq_reported = qp->sq_done;
	}
	report_blocks(qp, qp->sq_done);
	return sn_cqe_write(qp, qp->scq, &cqe);
}

static void flush_fifo(struct sn_qp *qp)
{
	while (sn_wr_count(qp)) {
		struct sn_wr wr = *sn_wr_at(qp, 0);

		qp->wr_head++;
		wr.syndrome = SN_SYND_FLUSH;
		wr.vendor = 0;
		wr.byte_cnt = 0;
		if (!complete_wr(qp, &wr))
			break;
	}
	qp->wr_head = qp->wr_tail;
	qp->wr_reads = 0;
	qp->sq_fenced = false;
}

/* IBTA 10.3.1.6, Send Queue Error: a datagram QP flushes only its send queue, and goes on receiving. */
static void send_failed(struct sn_qp *qp)
{
	if (!qp->ud || qp->umr_only) {
		sn_qp_to_error(qp);
		return;
	}
	qp->state = SN_QP_SQER;
	flush_fifo(qp);
	sn_sq_flush(qp);
}

/* Completions stay in order: a local operation that has finished waits for earlier WRITEs. */
void sn_wr_retire(struct sn_qp *qp)
{
	while (qp->state != SN_QP_ERR && sn_wr_count(qp) && sn_wr_at(qp, 0)->done) {
		struct sn_wr wr = *sn_wr_at(qp, 0);

		qp->wr_head++;
		if (!complete_wr(qp, &wr))
			sn_qp_to_error(qp);
		else if (wr.syndrome)
			send_failed(qp);
	}
}

void sn_wr_done(struct sn_qp *qp, struct sn_wr *wr, uint8_t syndrome, uint8_t vendor,
		uint32_t byte_cnt)
{
	if (qp->state == SN_QP_ERR)
		return;
	wr->done = true;
	wr->syndrome = syndrome;
	wr->vendor = vendor;
	wr->byte_cnt = byte_cnt;
	if (wr->counted)
		qp->wr_reads--;
	if (syndrome)
		qp->sq_stopped = true;
	sn_wr_retire(qp);
	if (!qp->sq_fenced || qp->state == SN_QP_ERR)
		return;
	qp->sq_fenced = false;
	sn_qp_kick(qp);
}

bool sn_wr_pop(struct sn_qp *qp)
{
	const struct sn_wr *wr = sn_wr_at(qp, 0);
	struct sn_cqe cqe = { .op = SN_CQE_REQ, .wqe_opcode = wr->opcode, .counter = wr->idx };

	qp->wr_head++;
	qp->sq_done = (uint16_t)(wr->idx + sn_blocks(wr->ds));
	if (wr->ce < SN_CE_ALWAYS)
		return true;
	report_blocks(qp, qp->sq_done);
	if (sn_cqe_write(qp, qp->scq, &cqe))
		return true;
	sn_qp_to_error(qp);
	return false;
}

static void complete_receive(struct sn_qp *qp, const struct sn_rwqe *rwqe, const struct sn_cqe *cqe)
{
	if (rwqe->srq)
		sn_srq_release(qp);
	else
		qp->rq_done = (uint16_t)(rwqe->idx + 1);
	if (!sn_cqe_write(qp, qp->rcq, cqe))
		sn_qp_to_error(qp);
}

void sn_rq_done(struct sn_qp *qp, const struct sn_rwqe *rwqe, enum sn_cqe_op op,
		uint32_t byte_cnt, be32_t imm, bool solicited, const void *small)
{
	struct sn_cqe cqe = { .op = op, .counter = rwqe->idx, .byte_cnt = byte_cnt, .imm = imm,
			      .solicited = solicited, .small = small };

	complete_receive(qp, rwqe, &cqe);
}

void sn_rq_fail(struct sn_qp *qp, const struct sn_rwqe *rwqe, uint8_t syndrome)
{
	struct sn_cqe cqe = { .op = SN_CQE_RESP_ERR, .counter = rwqe->idx, .syndrome = syndrome };

	complete_receive(qp, rwqe, &cqe);
}

/* In states SQER and ERR: flushes the WQEs that were never fetched. */
void sn_sq_flush(struct sn_qp *qp)
{
	if (qp->flush_late)
		return;
	while (qp->sq_next != qp->sq_pi) {
		struct sn_ctrl ctrl;
		unsigned int ds;
		struct sn_wr wr = { .idx = qp->sq_next };

		if (!sn_sq_copy(qp, qp->sq_next, 1, (uint8_t *)&ctrl) || !sn_wqe_ctrl_ok(qp, &ctrl)) {
			qp->sq_next = qp->sq_done = qp->sq_pi;
			break;
		}
		ds = from_be32(ctrl.qpn_ds) & 0x3f;
		wr.ds = (uint8_t)ds;
		wr.ce = ctrl.fm_ce_se >> 2 & 3;
		wr.opcode = (uint8_t)from_be32(ctrl.opmod_idx_opcode);
		wr.syndrome = SN_SYND_FLUSH;
		qp->nic->work += SN_WORK_WQE;
		qp->sq_next = (uint16_t)(qp->sq_next + sn_blocks(ds));
		if (!complete_wr(qp, &wr))
			break;
	}
	/* In SQER the QP could still work, but its CQ is in error, so it moves to ERR. */
	if (qp->scq->error)
		sn_qp_to_error(qp);
}

static struct sn_qp *qp_of_flush(struct sn_timer *timer)
{
	return (struct sn_qp *)((uint8_t *)timer - offsetof(struct sn_qp, flush));
}

static void flush_later(struct sn_qp *qp, void (*fire)(struct softnic *, struct sn_timer *))
{
	enum { FLUSH_NS = 1000000 };

	qp->flush.fire = fire;
	if (sn_timer_arm(qp->nic, &qp->flush, sn_now() + FLUSH_NS))
		fire(qp->nic, &qp->flush);
}

/* IBTA, "Last WQE Reached": from here on the QP takes no WQE from the SRQ. */
static void last_wqe(struct softnic *nic, struct sn_timer *timer)
{
	struct sn_qp *qp = qp_of_flush(timer);

	(void)nic;
	sn_rq_flush(qp);
	sn_qp_event(qp, SN_EV_SRQ_LAST_WQE);
}

/*
 * Flushes the send queue, then the receive queue, each in the order of posting. The flush of a WQE that was
 * taken from an SRQ is delayed: a driver that destroys the QP before the event loses the WQE.
 */
static void flush_queues(struct sn_qp *qp)
{
	flush_fifo(qp);
	sn_sq_flush(qp);
	if (!qp->srq)
		sn_rq_flush(qp);
	else if (sn_quirk(qp->nic, SN_Q_LOST_WQE))
		sn_srq_lose(qp);
	else
		flush_later(qp, last_wqe);
}

static void flush_all(struct softnic *nic, struct sn_timer *timer)
{
	struct sn_qp *qp = qp_of_flush(timer);

	(void)nic;
	qp->flush_late = false;
	flush_queues(qp);
}

/*
 * IBTA, error state. The wire stops first, so that no earlier activity can touch the FIFO. On hardware
 * 2ERR_QP completes before the QP is flushed: Linux posts a marker to each queue and waits for its flush.
 */
void sn_qp_to_error(struct sn_qp *qp)
{
	if (qp->state == SN_QP_ERR)
		return;
	qp->state = SN_QP_ERR;
	sn_mappings_forget(qp->nic);
	sn_rc_stop(qp);
	sn_ud_stop(qp);
	TAILQ_INSERT_TAIL(&qp->nic->err, qp, err);
	qp->on_err = true;
	qp->flush_late = qp->nic->config.flags & SOFTNIC_ADVERSARIAL;
	if (qp->flush_late)
		flush_later(qp, flush_all);
	else
		flush_queues(qp);
}

void sn_qp_event(struct sn_qp *qp, enum sn_event event)
{
	uint8_t data[28] = { 0 };

	sn_set32(data, 24, qp->qpn);	/* byte 20 stays 0: the queue type is a QP */
	sn_async(qp->nic, event, 0, data);
}

void sn_qp_fatal(struct sn_qp *qp, enum sn_event event)
{
	if (qp->state == SN_QP_ERR)
		return;
	sn_qp_event(qp, event);
	sn_qp_to_error(qp);
}
