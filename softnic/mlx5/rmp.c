/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive memory pools, which implement IBTA's shared receive queues. PRM "Receive Memory Pool" and
 * "Work Queue Context".
 *
 * The WQEs are a linked list that starts at number 0: each holds the index of the next. The record
 * counts the WQEs; only the list gives their order. In a cyclic RMP the next WQE is the following one
 * in memory, and the index is ignored.
 */
#include <errno.h>
#include <stdlib.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"
#include "softnic/mlx5/quirk.h"

struct next_seg {
	uint8_t rsvd0[2];
	be16_t next_wqe_index;
	uint8_t signature, rsvd5[11];
};
SN_SIZE(struct next_seg, 16);
SN_AT(struct next_seg, next_wqe_index, 2);

static uint8_t read_sizes(struct sn_cmd *c, const uint8_t *wq, struct sn_srq *srq)
{
	unsigned int log_stride = sn_get(wq, WQ_LOG_STRIDE), log_size = sn_get(wq, WQ_LOG_SIZE);

	if (sn_get(c->in + AT_RMPC, RMPC_STATE) != RMPC_RDY)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "an RMP is made in state RDY");
	srq->cyclic = sn_get(wq, WQ_TYPE) == WQ_CYCLIC;
	if ((!srq->cyclic && sn_get(wq, WQ_TYPE) != WQ_LINKED_LIST) ||
	    sn_get(c->in + AT_RMPC, RMPC_CYCLIC))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "wq_type %u is not among the capabilities",
				     sn_get(wq, WQ_TYPE));
	if (sn_get(wq, WQ_SIGNATURE))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "signatures are not among the capabilities");
	/* A WQE needs room for a next segment and at least one data segment. */
	if (log_stride < 5 || log_stride > SN_LOG_RQ_STRIDE_MAX)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "log_wq_stride %u", log_stride);
	if (log_size > 15)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "log_wq_sz %u", log_size);
	srq->size = UINT32_C(1) << log_size;
	srq->stride = UINT32_C(1) << log_stride;
	if (sn_get(wq, WQ_LWM) > srq->size)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "lwm %u", sn_get(wq, WQ_LWM));
	srq->lwm = (uint16_t)sn_get(wq, WQ_LWM);
	return STAT_OK;
}

static uint8_t read_buffers(struct sn_cmd *c, const uint8_t *wq, struct sn_srq *srq)
{
	uint64_t bytes = (uint64_t)srq->size * srq->stride;
	unsigned int log_page = sn_get(wq, WQ_LOG_PAGE) + 12;
	struct sn_umem_at at = { sn_get32(wq, WQ_UMEM_ID), 5, sn_get64(wq, WQ_UMEM_OFFSET) };
	uint8_t status;

	if (sn_get(wq, WQ_UMEM))
		status = sn_cmd_umem_queue(c, &srq->buf, &at, bytes, SN_WQEBB);
	else
		status = sn_cmd_list(c, &srq->buf, log_page, sn_get(wq, WQ_PAGE_OFFSET), bytes);
	return status ? status : sn_cmd_record(c, &srq->dbr, sn_get(wq, WQ_DBR_UMEM),
					       sn_get32(wq, WQ_DBR_UMEM_ID), sn_get64(wq, WQ_DBR_ADDR));
}

static void release_srq(struct softnic *nic, struct sn_srq *srq)
{
	sn_buf_release(nic, &srq->buf);
	sn_buf_release(nic, &srq->dbr);
	free(srq->held);
	free(srq);
}

static uint8_t read_context(struct sn_cmd *c, struct sn_srq *srq)
{
	const uint8_t *wq = c->in + AT_WQ;
	uint8_t status = read_sizes(c, wq, srq);

	if (status)
		return status;
	srq->pd = sn_cmd_find(c, &c->nic->pds, sn_get(wq, WQ_PD));
	if (!srq->pd)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no PD %#x", sn_get(wq, WQ_PD));
	return read_buffers(c, wq, srq);
}

uint8_t sn_cmd_create_rmp(struct sn_cmd *c)
{
	struct sn_srq *srq = calloc(1, sizeof(*srq));
	uint8_t status;

	if (!srq)
		return sn_cmd_refuse_errno(c, -ENOMEM);
	status = read_context(c, srq);
	if (!status) {
		srq->held = calloc(srq->size, 1);
		status = srq->held ? sn_cmd_add(c, &c->nic->srqs, SN_NUMBER_BITS, SN_LOG_MAX_RMP, srq,
						&srq->rmpn) : sn_cmd_refuse_errno(c, -ENOMEM);
	}
	if (status) {
		release_srq(c->nic, srq);
		return status;
	}
	srq->pd->refs++;
	sn_set(c->out, CMD_NUMBER, srq->rmpn);
	return STAT_OK;
}

void sn_srq_free(struct softnic *nic, void *obj)
{
	struct sn_srq *srq = obj;

	sn_table_remove(&nic->srqs, srq->rmpn);
	srq->pd->refs--;
	release_srq(nic, srq);
}

/* PRM "QP/SRQ event": an RMP has the type of a receive queue. */
enum { QUEUE_RQ = 1 };

static void event(struct softnic *nic, const struct sn_srq *srq, enum sn_event type)
{
	uint8_t data[28] = { 0 };

	data[20] = QUEUE_RQ;
	sn_set32(data, 24, srq->rmpn);
	sn_async(nic, type, 0, data);
}

/* Makes the queue unusable, so that each QP that uses it will fail. */
static int fail_srq(struct softnic *nic, struct sn_srq *srq)
{
	srq->error = true;
	event(nic, srq, SN_EV_SRQ_CATAS);
	return -EIO;
}

static bool read_producer(struct softnic *nic, struct sn_srq *srq)
{
	uint32_t rec;
	uint16_t pi;

	if (!sn_dbr_read(nic, &srq->dbr, 0, &rec))
		return false;
	pi = (uint16_t)rec;
	if (rec >> 16)
		sn_violate(nic, SN_V_DB_RECORD, "RMP %#x: reserved bits in record %#x", srq->rmpn,
			   rec);
	if ((uint16_t)(pi - srq->pi) > 0x8000) {
		sn_violate(nic, SN_V_DB_BACKWARDS, "RMP %#x: record %u after %u", srq->rmpn, pi,
			   srq->pi);
		return false;
	}
	if ((uint16_t)(pi - srq->taken) > srq->size) {
		sn_violate(nic, SN_V_SRQ_OVERRUN, "RMP %#x: %u posted, list of %u", srq->rmpn,
			   (uint16_t)(pi - srq->taken), srq->size);
		return false;
	}
	srq->pi = pi;
	return true;
}

static uint16_t wqes_left(const struct sn_srq *srq)
{
	return (uint16_t)(srq->pi - srq->taken);
}

/* Raises the event "SRQ Limit Reached" (IBTA), once per arming. */
static void check_limit(struct softnic *nic, struct sn_srq *srq)
{
	if (!srq->lwm || wqes_left(srq) >= srq->lwm + (unsigned int)sn_quirk(nic, SN_Q_EARLY_LIMIT))
		return;
	srq->lwm = 0;
	event(nic, srq, SN_EV_SRQ_LIMIT);
}

/* Only the limit can be modified. WQEs that are posted already count too. */
uint8_t sn_cmd_modify_rmp(struct sn_cmd *c)
{
	struct sn_srq *srq = sn_table_find(&c->nic->srqs, sn_get(c->in, CMD_NUMBER));
	unsigned int lwm = sn_get(c->in + AT_WQ, WQ_LWM);

	if (!srq)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no such RMP: %#x", sn_get(c->in, CMD_NUMBER));
	if (sn_get(c->in, RMP_STATE) != RMPC_RDY || srq->error)
		return sn_cmd_refuse(c, STAT_BAD_RES_STATE, "RMP is not in state %u",
				     sn_get(c->in, RMP_STATE));
	if (sn_get(c->in + AT_RMPC, RMPC_STATE) != RMPC_RDY)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "to state %u",
				     sn_get(c->in + AT_RMPC, RMPC_STATE));
	if (!sn_get(c->in, RMP_SEL_LWM))
		return STAT_OK;
	if (lwm > srq->size)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "lwm %u, list of %u", lwm, srq->size);
	srq->lwm = (uint16_t)lwm;
	if (read_producer(c->nic, srq))
		check_limit(c->nic, srq);
	else
		fail_srq(c->nic, srq);
	return STAT_OK;
}

uint8_t sn_cmd_query_rmp(struct sn_cmd *c)
{
	struct sn_srq *srq = sn_table_find(&c->nic->srqs, sn_get(c->in, CMD_NUMBER));
	uint8_t *wq = c->out + AT_WQ;

	if (!srq)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no such RMP: %#x", sn_get(c->in, CMD_NUMBER));
	if (!srq->error && !read_producer(c->nic, srq))
		fail_srq(c->nic, srq);
	sn_set(c->out + AT_RMPC, RMPC_STATE, srq->error ? RMPC_ERR : RMPC_RDY);
	sn_set(wq, WQ_TYPE, srq->cyclic ? WQ_CYCLIC : WQ_LINKED_LIST);
	sn_set(wq, WQ_LWM, srq->lwm);
	sn_set(wq, WQ_PD, srq->pd->pdn);
	sn_set(wq, WQ_LOG_STRIDE, (uint32_t)__builtin_ctz(srq->stride));
	sn_set(wq, WQ_LOG_SIZE, (uint32_t)__builtin_ctz(srq->size));
	sn_set32(wq, WQ_HW_COUNTER, sn_quirk(c->nic, SN_Q_NO_RMP_COUNT) ? 0 : srq->taken);
	sn_set32(wq, WQ_SW_COUNTER, srq->pi);
	return STAT_OK;
}

/* Follows the link of the WQE that was just taken. False: the link is invalid, or leads to a WQE in
 * use. */
static bool follow_link(struct softnic *nic, struct sn_srq *srq, const struct next_seg *seg)
{
	uint32_t next = from_be16(seg->next_wqe_index);

	if (srq->cyclic) {
		srq->next = (uint16_t)((srq->next + 1u) & (srq->size - 1));
		return true;
	}
	if (next >= srq->size || srq->held[next]) {
		sn_violate(nic, SN_V_SRQ_LINK, "RMP %#x: WQE %u links to %u, which is %s", srq->rmpn,
			   srq->next, next, next < srq->size ? "in use" : "none");
		return false;
	}
	srq->next = (uint16_t)next;
	return true;
}

static bool read_wqe(struct softnic *nic, const struct sn_srq *srq, uint16_t idx, uint8_t *raw)
{
	return sn_buf_copy_out(nic, &srq->buf, (uint64_t)idx * srq->stride, raw, srq->stride);
}

static int parse_wqe(struct sn_qp *qp, struct sn_rwqe *rwqe, const uint8_t *raw)
{
	return sn_rq_parse(qp, rwqe, raw + sizeof(struct next_seg),
			   rwqe->srq->stride - (uint32_t)sizeof(struct next_seg));
}

int sn_srq_refetch(struct sn_qp *qp, struct sn_rwqe *rwqe)
{
	uint8_t raw[SN_RQ_STRIDE_MAX] __attribute__((aligned(16)));

	return read_wqe(qp->nic, rwqe->srq, rwqe->idx, raw) ? parse_wqe(qp, rwqe, raw) : -EIO;
}

/* A WQE that was taken belongs to the QP until sn_rq_done() or sn_rq_fail(), and is flushed with it. */
int sn_srq_next(struct sn_qp *qp, struct sn_rwqe *rwqe)
{
	uint8_t raw[SN_RQ_STRIDE_MAX] __attribute__((aligned(16)));
	struct sn_srq *srq = qp->srq;
	struct softnic *nic = qp->nic;

	if (srq->error)
		return -EIO;
	if (!read_producer(nic, srq))
		return fail_srq(nic, srq);
	if (!wqes_left(srq))
		return 0;
	if (!read_wqe(nic, srq, srq->next, raw))
		return fail_srq(nic, srq);
	rwqe->idx = srq->next;
	rwqe->srq = srq;
	srq->held[srq->next] = 1;
	qp->srq_holds = true;
	qp->srq_idx = srq->next;
	srq->taken++;
	check_limit(nic, srq);
	if (!follow_link(nic, srq, (const struct next_seg *)(const void *)raw))
		fail_srq(nic, srq);
	return parse_wqe(qp, rwqe, raw);
}

void sn_srq_release(struct sn_qp *qp)
{
	if (qp->srq_holds)
		qp->srq->held[qp->srq_idx] = 0;
	qp->srq_holds = false;
}

void sn_srq_put_back(struct sn_qp *qp)
{
	qp->srq->next = qp->srq_idx;
	qp->srq->taken--;
	sn_srq_release(qp);
}

void sn_srq_lose(struct sn_qp *qp)
{
	struct sn_rwqe rwqe;

	if (!qp->srq_holds)
		(void)sn_srq_next(qp, &rwqe);
	sn_srq_release(qp);
}
