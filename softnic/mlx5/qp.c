/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: CREATE, DESTROY, QUERY. PRM "Queue pair context"; transitions are in qp_modify.c. */
#include <errno.h>
#include <stdlib.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"
#include "softnic/mlx5/quirk.h"

/* QPs 0 and 1 send datagrams. A queue only for UMRs has the layout of a datagram QP. */
static bool known_service(const struct softnic *nic, unsigned int st)
{
	return st == ST_RC || st == ST_UD || st == ST_QP1 || st == ST_REG_UMR ||
		(st == ST_QP0 && nic->infiniband);
}

static uint8_t find_objects(struct sn_cmd *c, const uint8_t *ctx, struct sn_qp *qp)
{
	struct softnic *nic = c->nic;

	qp->umr_only = sn_get(ctx, QPC_ST) == ST_REG_UMR;
	qp->pd = qp->umr_only ? &nic->dev->no_pd : sn_cmd_find(c, &nic->pds, sn_get(ctx, QPC_PD));
	qp->uar = sn_cmd_find(c, &nic->uars, sn_get(ctx, QPC_UAR));
	qp->scq = sn_cmd_find(c, &nic->cqs, sn_get(ctx, QPC_CQN_SND));
	qp->rcq = sn_cmd_find(c, &nic->cqs, sn_get(ctx, QPC_CQN_RCV));
	if (!qp->pd)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no PD %#x", sn_get(ctx, QPC_PD));
	if (!qp->uar)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no UAR %u", sn_get(ctx, QPC_UAR));
	if (!qp->scq)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no send CQ %#x", sn_get(ctx, QPC_CQN_SND));
	if (!qp->rcq)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no receive CQ %#x",
				     sn_get(ctx, QPC_CQN_RCV));
	if (sn_get(ctx, QPC_RQ_TYPE) != RQ_SRQ)
		return STAT_OK;
	qp->srq = sn_cmd_find(c, &nic->srqs, sn_get(ctx, QPC_SRQN));
	if (!qp->srq)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no RMP %#x", sn_get(ctx, QPC_SRQN));
	return STAT_OK;
}

/*
 * Scatter to CQE has three settings: off, up to 32 bytes, or up to 64 with 128-byte CQEs. The
 * device puts small payloads into the CQE and marks it; the host copies them to the buffer.
 */
static bool read_scatter(const uint8_t *ctx, struct sn_qp *qp)
{
	uint32_t req = sn_get(ctx, QPC_CS_REQ), res = sn_get(ctx, QPC_CS_RES);

	if ((req && req != 0x11 && req != 0x22) || res > 2)
		return false;
	if (sn_quirk(qp->nic, SN_Q_NO_SCATTER))
		return true;
	qp->small_req = (uint8_t)(req ? 32 : 0);
	qp->small_res = (uint8_t)(res ? 32 : 0);
	if (req == 0x22 && qp->scq->cqe_size == 128)
		qp->small_req = SN_SMALL;
	if (res == 2 && qp->rcq->cqe_size == 128)
		qp->small_res = SN_SMALL;
	return true;
}

/* PRM: log_sq_size counts WQEBBs, log_rq_size WQEs of 16 << log_rq_stride bytes. */
static uint8_t read_sizes(struct sn_cmd *c, const uint8_t *ctx, struct sn_qp *qp)
{
	unsigned int rq_type = sn_get(ctx, QPC_RQ_TYPE);
	bool real_time = !(c->nic->config.flags & SOFTNIC_FREE_RUNNING);

	if (!known_service(c->nic, sn_get(ctx, QPC_ST)))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "service type %#x is not among the capabilities",
				     sn_get(ctx, QPC_ST));
	if (sn_get(ctx, QPC_ST) > ST_UD && sn_get(c->in, CMD_UID))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "a program's QP of service type %#x",
				     sn_get(ctx, QPC_ST));
	if (rq_type != RQ_REGULAR && rq_type != RQ_SRQ && rq_type != RQ_ZERO)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "rq_type %u is not among the capabilities", rq_type);
	if (sn_get(ctx, QPC_WQ_SIGN))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "signatures are not among the capabilities");
	if (sn_get(ctx, QPC_TS_FORMAT) == (real_time ? TS_FREE_RUNNING : TS_REAL_TIME))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "ts_format: qp_ts_format is %s only",
				     real_time ? "real time" : "free running");
	if (!read_scatter(ctx, qp))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "cs_req %#x, cs_res %#x",
				     sn_get(ctx, QPC_CS_REQ), sn_get(ctx, QPC_CS_RES));
	qp->uidx = sn_get(ctx, QPC_USER_INDEX);
	qp->reserved_lkey = sn_get(ctx, QPC_RLKY);
	qp->fast_reg = sn_get(ctx, QPC_FRE);
	if ((qp->reserved_lkey || qp->fast_reg) && sn_get(c->in, CMD_UID))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "a program's QP with the reserved lkey or fre");
	if (!sn_get(ctx, QPC_NO_SQ))
		qp->sq_size = UINT32_C(1) << sn_get(ctx, QPC_LOG_SQ_SIZE);
	if (rq_type == RQ_REGULAR) {
		qp->rq_size = UINT32_C(1) << sn_get(ctx, QPC_LOG_RQ_SIZE);
		qp->rq_stride = UINT32_C(16) << sn_get(ctx, QPC_LOG_RQ_STRIDE);
		if (qp->rq_stride > SN_RQ_STRIDE_MAX)
			return sn_cmd_refuse(c, STAT_BAD_PARAM, "log_rq_stride: above max_wqe_sz_rq");
	}
	/* PRM: the receive queue comes first in the buffer. */
	qp->sq_off = (uint64_t)qp->rq_size * qp->rq_stride;
	return STAT_OK;
}

static uint8_t read_buffers(struct sn_cmd *c, const uint8_t *ctx, struct sn_qp *qp)
{
	uint64_t bytes = qp->sq_off + (uint64_t)qp->sq_size * SN_WQEBB;
	struct sn_umem_at at = { sn_get32(c->in, QP_WQ_UMEM_ID), 6,
				 sn_get64(c->in, QP_WQ_UMEM_OFFSET) };
	uint8_t status = STAT_OK;

	if (bytes && sn_get(c->in, QP_WQ_UMEM_VALID))
		status = sn_cmd_umem_queue(c, &qp->buf, &at, bytes, SN_WQEBB);
	else if (bytes)
		status = sn_cmd_list(c, &qp->buf, sn_get(ctx, QPC_LOG_PAGE) + 12,
				     sn_get(ctx, QPC_PAGE_OFFSET), bytes);
	return status ? status : sn_cmd_record(c, &qp->dbr, sn_get(ctx, QPC_DBR_UMEM),
					       sn_get32(ctx, QPC_DBR_UMEM_ID), sn_get64(ctx, QPC_DBR_ADDR));
}

static uint8_t read_context(struct sn_cmd *c, struct sn_qp *qp)
{
	const uint8_t *ctx = c->in + AT_QPC;
	uint8_t status = find_objects(c, ctx, qp);

	if (!status)
		status = read_sizes(c, ctx, qp);
	if (!status)
		status = read_buffers(c, ctx, qp);
	memcpy(qp->ctx, ctx, QPC_BYTES);
	return status;
}

/* The memory of a queue of requests in flight, in units of 8 bytes. */
static uint64_t fifo_words(const struct sn_qp *qp)
{
	return qp->wr ? qp->sq_size * (sizeof(*qp->wr) + (qp->small ? sizeof(*qp->small) : 0)) / 8 : 0;
}

static void release_qp(struct sn_qp *qp)
{
	qp->nic->heap_words -= fifo_words(qp);
	sn_buf_release(qp->nic, &qp->buf);
	sn_buf_release(qp->nic, &qp->dbr);
	free(qp->small);
	free(qp->wr);
	free(qp);
}

static void hold_refs(struct sn_qp *qp)
{
	qp->pd->refs++;
	qp->uar->refs++;
	qp->scq->refs++;
	qp->rcq->refs++;
	if (qp->srq)
		qp->srq->refs++;
	LIST_INSERT_HEAD(&qp->uar->qps, qp, link);
}

uint8_t sn_cmd_create_qp(struct sn_cmd *c)
{
	struct sn_qp *qp = calloc(1, sizeof(*qp));
	uint8_t status;
	int err;

	if (!qp)
		return sn_cmd_refuse_errno(c, -ENOMEM);
	qp->nic = c->nic;
	qp->port = &c->nic->port[0];
	status = read_context(c, qp);
	if (status)
		goto release;
	qp->wr = calloc(qp->sq_size ? qp->sq_size : 1, sizeof(*qp->wr));
	if (qp->small_req && qp->sq_size)
		qp->small = calloc(qp->sq_size, sizeof(*qp->small));
	c->nic->heap_words += fifo_words(qp);
	err = -ENOMEM;
	if (qp->wr && (qp->small || !qp->small_req || !qp->sq_size))
		err = sn_table_add(c->nic, &c->nic->qps, SN_NUMBER_BITS, SN_LOG_MAX_QP, qp, &qp->qpn);
	if (err)
		goto refuse;
	err = sn_get(qp->ctx, QPC_ST) == ST_RC ? sn_rc_create(qp) : sn_ud_create(qp);
	if (err)
		goto remove;
	hold_refs(qp);
	sn_set(c->out, CMD_NUMBER, qp->qpn);
	return STAT_OK;
remove:
	sn_table_remove(&c->nic->qps, qp->qpn);
refuse:
	status = sn_cmd_refuse_errno(c, err);
release:
	release_qp(qp);
	return status;
}

static void leave_lists(struct sn_qp *qp)
{
	if (qp->on_run)
		TAILQ_REMOVE(&qp->nic->run, qp, run);
	if (qp->on_err)
		TAILQ_REMOVE(&qp->nic->err, qp, err);
	qp->on_run = qp->on_err = false;
}

/* A QP may be freed in any state, as on hardware. Its WQEs in flight get no completions. */
void sn_qp_free(struct softnic *nic, void *obj)
{
	struct sn_qp *qp = obj;

	sn_rc_destroy(qp);
	sn_ud_destroy(qp);
	sn_table_remove(&nic->qps, qp->qpn);
	sn_timer_cancel(nic, &qp->flush);
	leave_lists(qp);
	nic->last_rung = nic->last_rung == qp ? NULL : nic->last_rung;
	nic->last_requester = nic->last_requester == qp ? NULL : nic->last_requester;
	LIST_REMOVE(qp, link);
	qp->pd->refs--;
	qp->uar->refs--;
	qp->scq->refs--;
	qp->rcq->refs--;
	sn_srq_release(qp);
	if (qp->srq)
		qp->srq->refs--;
	release_qp(qp);
}

/* The host must zero its records: after a transition to RST both sides count from 0. */
void sn_qp_reset_queues(struct sn_qp *qp)
{
	leave_lists(qp);
	sn_timer_cancel(qp->nic, &qp->flush);
	sn_srq_release(qp);
	qp->sq_pi = qp->sq_next = qp->sq_done = qp->sq_reported = 0;
	qp->rq_pi = qp->rq_next = qp->rq_done = 0;
	qp->wr_head = qp->wr_tail = qp->wr_reads = 0;
	qp->sq_stopped = qp->sq_fenced = qp->umr_unfenced = qp->flush_late = false;
}

uint8_t sn_cmd_query_qp(struct sn_cmd *c)
{
	struct sn_qp *qp = sn_qp_find(c->nic, sn_get(c->in, CMD_NUMBER));
	uint8_t *ctx = c->out + AT_QPC;

	if (!qp)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no such QP: %#x", sn_get(c->in, CMD_NUMBER));
	memcpy(ctx, qp->ctx, QPC_BYTES);
	sn_set(ctx, QPC_STATE, qp->state);
	sn_set(ctx, QPC_RRE, qp->rre);
	sn_set(ctx, QPC_RWE, qp->rwe);
	sn_set(ctx, QPC_RAE, qp->rae);
	sn_set(ctx, QPC_ATOMIC_MODE, qp->atomic_mode);
	sn_set(ctx, QPC_MIN_RNR, qp->min_rnr_nak);
	sn_set(ctx, QPC_REMOTE_QPN, qp->remote_qpn);
	sn_set(ctx, QPC_QKEY, qp->qkey);
	sn_set(ctx, QPC_SEND_PSN, qp->sq_psn);
	sn_set(ctx, QPC_RCV_PSN, qp->rq_psn);
	sn_set(ctx, QPC_HW_SQ, qp->sq_next);
	sn_set(ctx, QPC_SW_SQ, qp->sq_pi);
	sn_set(ctx, QPC_HW_RQ, qp->rq_next);
	sn_set(ctx, QPC_SW_RQ, qp->rq_pi);
	return STAT_OK;
}
