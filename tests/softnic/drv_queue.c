/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues of the test driver: CQ, EQ, QP and its transitions. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/harness/harness.h"
#include "tests/softnic/drv.h"

void drv_cq_create(struct drv_cq *cq, size_t dbr_at, bool oi)
{
	struct drv *d = cq->d;
	uint8_t *ctx = d->in + AT_CTX;

	drv_begin(d, CMD_CREATE_CQ);
	sn_set(ctx, CQC_LOG_SIZE, cq->log);
	sn_set(ctx, CQC_UAR, d->uar);
	sn_set(ctx, CQC_EQN, d->eq.eqn);
	sn_set(ctx, CQC_OI, oi);
	sn_set(ctx, CQC_DBR_UMEM, 1);
	sn_set32(ctx, CQC_DBR_UMEM_ID, cq->umem);
	sn_set64(ctx, CQC_DBR_ADDR, dbr_at);
	sn_set(d->in, CQ_UMEM_VALID, 1);
	sn_set32(d->in, CQ_UMEM_ID, cq->umem);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	cq->cqn = sn_get(d->out, CMD_NUMBER);
}

void drv_cq(struct drv *d, struct drv_cq *cq, unsigned int log, bool oi)
{
	size_t bytes = 64ul << log;

	*cq = (struct drv_cq){ .d = d, .log = log };
	/* the ring, then the doorbell record in a page of its own */
	bytes = (bytes + 4095) & ~4095ul;
	cq->ring = drv_pages(bytes + 4096);
	cq->dbr = (uint32_t *)(void *)(cq->ring + bytes);
	for (unsigned int i = 0; i < 1u << log; i++)
		cq->ring[64 * i + 63] = 0xf0;
	cq->umem = drv_umem(d, cq->ring, bytes + 4096);
	drv_cq_create(cq, bytes, oi);
}

void drv_cq_free(struct drv_cq *cq)
{
	cr_expect_eq(drv_simple(cq->d, CMD_DESTROY_CQ, cq->cqn), 0);
	drv_umem_free(cq->d, cq->umem);
	free(cq->ring);
}

bool drv_poll(struct drv_cq *cq, struct drv_cqe *cqe)
{
	const uint8_t *e = cq->ring + 64ul * (cq->ci & ((1u << cq->log) - 1));
	uint8_t own = __atomic_load_n(&e[63], __ATOMIC_ACQUIRE);

	if (own >> 4 == 0xf || (own & 1) != (cq->ci >> cq->log & 1))
		return false;
	*cqe = (struct drv_cqe){
		.opcode = own >> 4,
		.solicited = own >> 1 & 1,
		.vendor = e[54],
		.syndrome = e[55],
		.uidx = sn_get32(e, 32),
		.imm = sn_get32(e, 36),
		.byte_cnt = sn_get32(e, 44),
		.wqe_opcode = e[56],
		.qpn = sn_get32(e, 56) & 0xffffff,
		.counter = (uint16_t)(e[60] << 8 | e[61]),
	};
	if (cqe->opcode != 13 && cqe->opcode != 14)
		cqe->vendor = cqe->syndrome = 0;
	cq->ci++;
	if (!cq->keep_ci)
		__atomic_store_n(&cq->dbr[0], htobe32(cq->ci & 0xffffff), __ATOMIC_RELEASE);
	return true;
}

static bool come(struct drv_cq *cq, struct drv_cqe *cqe)
{
	if (drv_poll(cq, cqe))
		return true;
	softnic_pump(cq->d->nic);
	return false;
}

/*
 * Waits for a CQE, with a long limit: another thread may be driving the device, and another process
 * may have the CPU.
 */
void drv_wait(struct drv_cq *cq, struct drv_cqe *cqe)
{
	for (int i = 0; i < 1000; i++) {
		if (come(cq, cqe))
			return;
	}
	cr_assert(TH_WITHIN(10000, come(cq, cqe)), "the CQ got no completion in 10 seconds");
}

void drv_arm(struct drv_cq *cq, bool solicited)
{
	uint32_t hi = (cq->arm_sn & 3) << 28 | (uint32_t)solicited << 24 | (cq->ci & 0xffffff);
	uint32_t db[2] = { htobe32(hi), htobe32(cq->cqn) };

	__atomic_store_n(&cq->dbr[1], htobe32(hi), __ATOMIC_RELEASE);
	softnic_mmio_write(cq->d->nic, cq->d->uar, 0x20, db, sizeof(db));
}

bool drv_event(struct drv *d, uint8_t *type, uint8_t data[28])
{
	const uint8_t *e = d->eq.ring + 64ul * (d->eq.ci & ((1u << d->eq.log) - 1));

	if ((e[63] & 1) != (d->eq.ci >> d->eq.log & 1))
		return false;
	*type = e[1];
	memcpy(data, e + 32, 28);
	d->eq.ci++;
	return true;
}

void drv_eq_arm(struct drv *d)
{
	uint32_t db[2] = { htobe32(d->eq.eqn << 24 | (d->eq.ci & 0xffffff)) };

	softnic_mmio_write(d->nic, d->uar, 0x40, db, sizeof(db));
}

void drv_qp_begin(struct drv *d, struct drv_qp *qp, struct drv_cq *scq, struct drv_cq *rcq)
{
	uint8_t *ctx = d->in + AT_QPC;
	size_t rq;

	qp->d = d;
	qp->scq = scq;
	qp->rcq = rcq;
	qp->uar = qp->uar ? qp->uar : d->uar;
	qp->log_sq = qp->log_sq ? qp->log_sq : 6;
	qp->log_rq = qp->log_rq ? qp->log_rq : 4;
	qp->rq_stride = 64;
	rq = (size_t)qp->rq_stride << qp->log_rq;
	qp->len = (rq + (64ul << qp->log_sq) + 4095) & ~4095ul;
	qp->mem = qp->rq = drv_pages(qp->len + 4096);
	qp->sq = qp->mem + rq;
	qp->dbr = (uint32_t *)(void *)(qp->mem + qp->len);
	qp->umem = drv_umem(d, qp->mem, qp->len + 4096);
	drv_begin(d, CMD_CREATE_QP);
	sn_set(ctx, QPC_PM_STATE, 3);
	sn_set(ctx, QPC_PD, d->pd);
	sn_set(ctx, QPC_UAR, qp->uar);
	sn_set(ctx, QPC_CQN_SND, scq->cqn);
	sn_set(ctx, QPC_CQN_RCV, rcq->cqn);
	sn_set(ctx, QPC_USER_INDEX, 0xabc);
	sn_set(ctx, QPC_LOG_SQ_SIZE, qp->log_sq);
	sn_set(ctx, QPC_LOG_RQ_SIZE, qp->log_rq);
	sn_set(ctx, QPC_LOG_RQ_STRIDE, 2);
	sn_set(ctx, QPC_TS_FORMAT, TS_DEFAULT);
	sn_set(ctx, QPC_DBR_UMEM, 1);
	sn_set32(ctx, QPC_DBR_UMEM_ID, qp->umem);
	sn_set64(ctx, QPC_DBR_ADDR, qp->len);
	sn_set(d->in, QP_WQ_UMEM_VALID, 1);
	sn_set32(d->in, QP_WQ_UMEM_ID, qp->umem);
}

void drv_qp(struct drv *d, struct drv_qp *qp, struct drv_cq *scq, struct drv_cq *rcq)
{
	drv_qp_begin(d, qp, scq, rcq);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	qp->qpn = sn_get(d->out, CMD_NUMBER);
}

void drv_qp_free(struct drv_qp *qp)
{
	if (qp->qpn)
		cr_expect_eq(drv_simple(qp->d, CMD_DESTROY_QP, qp->qpn), 0);
	drv_umem_free(qp->d, qp->umem);
	free(qp->mem);
}

uint8_t *drv_modify(struct drv_qp *qp, uint16_t opcode)
{
	drv_begin(qp->d, opcode);
	sn_set(qp->d->in, CMD_NUMBER, qp->qpn);
	return qp->d->in + AT_QPC;
}

uint8_t drv_init(struct drv_qp *qp)
{
	uint8_t *ctx = drv_modify(qp, CMD_RST2INIT_QP);

	sn_set(ctx + AT_ADS, ADS_PORT, 1);
	sn_set(ctx, QPC_PM_STATE, 3);
	sn_set(ctx, QPC_RRE, 1);
	sn_set(ctx, QPC_RWE, 1);
	sn_set(ctx, QPC_RAE, 1);
	sn_set(ctx, QPC_ATOMIC_MODE, 1);
	return drv_run(qp->d, AT_PAS);
}

/* Connects the QP to the device itself: the address of the peer is the device's own. */
uint8_t drv_rtr(struct drv_qp *qp, uint32_t remote_qpn, uint32_t psn)
{
	uint8_t gid[16], mac[6], *ctx;

	drv_begin(qp->d, CMD_QUERY_ROCE_ADDRESS);
	cr_assert_eq(drv_run(qp->d, 16), 0);
	memcpy(gid, qp->d->out + AT_CTX + ROCE_GID, sizeof(gid));
	memcpy(mac, qp->d->out + AT_CTX + ROCE_MAC, sizeof(mac));
	ctx = drv_modify(qp, CMD_INIT2RTR_QP);
	sn_set(ctx, QPC_MTU, 3);
	sn_set(ctx, QPC_LOG_MSG_MAX, 30);
	sn_set(ctx, QPC_REMOTE_QPN, remote_qpn);
	sn_set(ctx, QPC_RCV_PSN, psn);
	sn_set(ctx, QPC_LOG_RRA_MAX, 2);
	sn_set(ctx, QPC_MIN_RNR, 1);
	sn_set(ctx + AT_ADS, ADS_PORT, 1);
	sn_set(ctx + AT_ADS, ADS_HOP_LIMIT, 64);
	sn_set(ctx + AT_ADS, ADS_UDP_SPORT, 0xc123);
	memcpy(ctx + AT_ADS + ADS_RGID, gid, sizeof(gid));
	memcpy(ctx + AT_ADS + ADS_RMAC, mac, sizeof(mac));
	return drv_run(qp->d, AT_PAS);
}

uint8_t drv_rts(struct drv_qp *qp, uint32_t psn)
{
	uint8_t *ctx = drv_modify(qp, CMD_RTR2RTS_QP);

	sn_set(ctx, QPC_SEND_PSN, psn);
	sn_set(ctx, QPC_RETRY, 7);
	sn_set(ctx, QPC_RNR_RETRY, 7);
	sn_set(ctx, QPC_LOG_SRA_MAX, 2);
	sn_set(ctx + AT_ADS, ADS_ACK_TIMEOUT, 14);
	return drv_run(qp->d, AT_PAS);
}

uint8_t drv_to(struct drv_qp *qp, uint16_t opcode)
{
	drv_modify(qp, opcode);
	return drv_run(qp->d, 16);
}

void drv_connect(struct drv_qp *a, struct drv_qp *b)
{
	cr_assert_eq(drv_init(a), 0);
	cr_assert_eq(drv_rtr(a, b->qpn, a == b ? 0x222222 : 0x111111), 0);
	cr_assert_eq(drv_rts(a, 0x222222), 0);
	if (a == b)
		return;
	cr_assert_eq(drv_init(b), 0);
	cr_assert_eq(drv_rtr(b, a->qpn, 0x222222), 0);
	cr_assert_eq(drv_rts(b, 0x111111), 0);
}

struct drv *drv_loop_open(unsigned int flags, unsigned int log, struct drv_cq *cq, struct drv_qp *qp)
{
	struct drv *d = drv_open(flags);

	drv_cq(d, cq, log, false);
	drv_qp(d, qp, cq, cq);
	drv_connect(qp, qp);
	return d;
}

void drv_loop_close(struct drv_cq *cq, struct drv_qp *qp)
{
	struct drv *d = qp->d;

	drv_qp_free(qp);
	drv_cq_free(cq);
	drv_close(d);
}

unsigned int drv_state(struct drv_qp *qp)
{
	cr_assert_eq(drv_simple(qp->d, CMD_QUERY_QP, qp->qpn), 0);
	return sn_get(qp->d->out + AT_QPC, QPC_STATE);
}
