/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receives of the test driver. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/softnic/drv.h"

static void link_to(struct drv_srq *srq, uint16_t index, uint32_t next)
{
	sn_set32(srq->mem + 64ul * index, 0, next);
}

void drv_srq_begin(struct drv *d, struct drv_srq *srq)
{
	uint8_t *wq = d->in + AT_WQ;
	size_t bytes;

	srq->d = d;
	srq->log = srq->log ? srq->log : 3;
	bytes = ((64ul << srq->log) + 4095) & ~4095ul;
	srq->mem = drv_pages(bytes + 4096);
	srq->dbr = (uint32_t *)(void *)(srq->mem + bytes);
	srq->head = srq->pi = 0;
	srq->tail = (uint16_t)((1u << srq->log) - 1);
	for (uint16_t i = 0; i < srq->tail; i++)
		link_to(srq, i, i + 1u);
	srq->umem = drv_umem(d, srq->mem, bytes + 4096);
	drv_begin(d, CMD_CREATE_RMP);
	sn_set(d->in + AT_RMPC, RMPC_STATE, RMPC_RDY);
	sn_set(wq, WQ_TYPE, WQ_LINKED_LIST);
	sn_set(wq, WQ_PD, srq->pd ? srq->pd : d->pd);
	sn_set(wq, WQ_LOG_STRIDE, 6);
	sn_set(wq, WQ_LOG_SIZE, srq->log);
	sn_set(wq, WQ_UMEM, 1);
	sn_set32(wq, WQ_UMEM_ID, srq->umem);
	sn_set(wq, WQ_DBR_UMEM, 1);
	sn_set32(wq, WQ_DBR_UMEM_ID, srq->umem);
	sn_set64(wq, WQ_DBR_ADDR, bytes);
}

void drv_srq(struct drv *d, struct drv_srq *srq)
{
	drv_srq_begin(d, srq);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	srq->rmpn = sn_get(d->out, CMD_NUMBER);
}

void drv_srq_free(struct drv_srq *srq)
{
	if (srq->rmpn)
		cr_expect_eq(drv_simple(srq->d, CMD_DESTROY_RMP, srq->rmpn), 0);
	drv_umem_free(srq->d, srq->umem);
	free(srq->mem);
}

void drv_srq_recv(struct drv_srq *srq, const struct drv_mr *mr, uint32_t off, uint32_t len)
{
	uint8_t *w = srq->mem + 64ul * srq->head;

	cr_assert_neq(srq->head, srq->tail, "the SRQ is full");
	srq->head = (uint16_t)(w[2] << 8 | w[3]);
	sn_set32(w, 16, len);
	sn_set32(w, 20, mr->key);
	sn_set64(w, 24, (uintptr_t)mr->mem + off);
	sn_set32(w, 32, 0);
	sn_set32(w, 36, 0x100);
	srq->pi++;
	__atomic_store_n(&srq->dbr[0], htobe32(srq->pi), __ATOMIC_RELEASE);
}

void drv_srq_done(struct drv_srq *srq, uint16_t index)
{
	link_to(srq, srq->tail, index);
	srq->tail = index;
}

uint8_t drv_srq_arm(struct drv_srq *srq, uint16_t limit)
{
	struct drv *d = srq->d;

	drv_begin(d, CMD_MODIFY_RMP);
	sn_set(d->in, CMD_NUMBER, srq->rmpn);
	sn_set(d->in, RMP_STATE, RMPC_RDY);
	sn_set(d->in, RMP_SEL_LWM, 1);
	sn_set(d->in + AT_RMPC, RMPC_STATE, RMPC_RDY);
	sn_set(d->in + AT_WQ, WQ_LWM, limit);
	return drv_run(d, AT_PAS);
}

void drv_qp_of_srq(struct drv *d, struct drv_qp *qp, struct drv_cq *scq, struct drv_cq *rcq,
		   const struct drv_srq *srq)
{
	drv_qp_begin(d, qp, scq, rcq);
	sn_set(d->in + AT_QPC, QPC_RQ_TYPE, RQ_SRQ);
	sn_set(d->in + AT_QPC, QPC_SRQN, srq->rmpn);
	sn_set(d->in + AT_QPC, QPC_LOG_RQ_SIZE, 0);
	sn_set(d->in + AT_QPC, QPC_LOG_RQ_STRIDE, 0);
	qp->sq = qp->mem;
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	qp->qpn = sn_get(d->out, CMD_NUMBER);
}
