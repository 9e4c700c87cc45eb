/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion entries. PRM "Completion queue element", version 1 (user index). */
#include <time.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"

struct cqe64 {
	uint8_t rsvd0[22];
	be16_t slid;
	/* UD receive: reserved (2 bits), GRH (2), SL (4), source QPN (24) */
	be32_t flags_rqpn;
	uint8_t rsvd28[4];
	be32_t srqn_uidx;
	be32_t imm_inval_pkey;
	uint8_t app, app_op;
	be16_t app_info;
	be32_t byte_cnt;
	be64_t timestamp;
	be32_t sop_drop_qpn;
	be16_t wqe_counter;
	uint8_t signature;
	uint8_t op_own;
};
SN_SIZE(struct cqe64, 64);
SN_AT(struct cqe64, flags_rqpn, 24);
SN_AT(struct cqe64, srqn_uidx, 32);
SN_AT(struct cqe64, byte_cnt, 44);
SN_AT(struct cqe64, sop_drop_qpn, 56);
SN_AT(struct cqe64, wqe_counter, 60);
SN_AT(struct cqe64, op_own, 63);

/* Offsets of these fields in an error CQE */
enum { CQE_VENDOR = 54, CQE_SYNDROME = 55 };

static bool is_error(const struct sn_cqe *c)
{
	return c->op == SN_CQE_REQ_ERR || c->op == SN_CQE_RESP_ERR;
}

/* PRM: a CQ in error raises an event with this syndrome, accepts no more CQEs, and its QPs fail. */
enum { SYND_OVERRUN = 1, SYND_ACCESS = 2 };

static void fail_cq(struct softnic *nic, struct sn_cq *cq, uint8_t syndrome)
{
	uint8_t data[28] = { 0 };

	cq->error = syndrome == SYND_OVERRUN ? CQC_OVERFLOW : CQC_WRITE_FAIL;
	sn_set32(data, 0, cq->cqn);
	data[11] = syndrome;
	sn_async(nic, SN_EV_CQ_ERROR, 0, data);
}

static void overrun(struct softnic *nic, struct sn_cq *cq)
{
	sn_violate(nic, SN_V_CQ_OVERRUN,
		   "overrun of CQ %#x, which has %u entries", cq->cqn, 1u << cq->log_size);
	fail_cq(nic, cq, SYND_OVERRUN);
}

static void refuse_access(struct softnic *nic, struct sn_cq *cq, const char *words)
{
	sn_violate(nic, SN_V_DMA_REFUSED, "CQ %#x: its %s", cq->cqn, words);
	fail_cq(nic, cq, SYND_ACCESS);
}

static void refuse_ring(struct softnic *nic, struct sn_cq *cq)
{
	refuse_access(nic, cq, "ring may not be written");
}

/* Reads and checks the host's consumer index. If there is no room for another CQE, the CQ fails. */
static bool has_room(struct softnic *nic, struct sn_cq *cq)
{
	uint32_t size = UINT32_C(1) << cq->log_size;
	uint32_t ci;

	if (cq->oi)
		return true;
	if (!sn_dbr_read(nic, &cq->dbr, 0, &ci)) {
		refuse_access(nic, cq, "doorbell record may not be read");
		return false;
	}
	ci &= 0xffffff;
	if (((ci - cq->ci) & 0xffffff) > 0x7fffff)
		sn_violate(nic, SN_V_CQ_CI_BACKWARDS, "CQ %#x: consumer index %u after %u", cq->cqn,
			   ci, cq->ci);
	else if (((ci - cq->ci) & 0xffffff) > ((cq->pi - cq->ci) & 0xffffff))
		sn_violate(nic, SN_V_CQ_CI_AHEAD,
			   "CQ %#x: consumer index %u is ahead of producer %u", cq->cqn, ci,
			   cq->pi);
	else
		cq->ci = ci;
	if (((cq->pi - cq->ci) & 0xffffff) < size)
		return true;
	overrun(nic, cq);
	return false;
}

/* PRM, scatter to CQE: up to 32 bytes are placed at the start of the descriptor; up to 64 bytes in the first
 * half of the entry. */
enum { SMALL_32 = 1, SMALL_64 = 2, SMALL_IN_DESCRIPTOR = 32 };

static unsigned int small_format(const struct sn_cqe *c)
{
	if (!c->small)
		return 0;
	return c->byte_cnt <= SMALL_IN_DESCRIPTOR ? SMALL_32 : SMALL_64;
}

/* Each datagram has a GRH, or an IP header in its place. */
static void fill_datagram(struct cqe64 *e, const struct sn_datagram *d)
{
	e->slid = to_be16(d->slid);
	e->flags_rqpn = to_be32(1u << 28 | (uint32_t)d->l3_type << 24 | d->sqpn);
}

/* PRM, ts_format. Real time: seconds in the upper half, ns in the lower one. */
static uint64_t timestamp(const struct sn_qp *qp, const struct sn_cqe *c)
{
	struct timespec now;

	if (!__atomic_load_n(&qp->nic->stamps, __ATOMIC_RELAXED) || is_error(c))
		return 0;
	if (qp->nic->config.flags & SOFTNIC_FREE_RUNNING)
		return sn_internal_timer(qp->nic);
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec << 32 | (uint64_t)now.tv_nsec;
}

/*
 * Fills a CQE of version 1, where the user index replaces the SRQ number of version 0. Bytes that
 * have no meaning in this kind of CQE are zero, so that a driver that reads a wrong field is
 * noticed. small: the place of a small payload.
 */
static void fill_cqe(struct cqe64 *e, void *small, const struct sn_qp *qp, const struct sn_cqe *c,
		     uint8_t own)
{
	be64_t last = to_be64((uint64_t)c->wqe_opcode << 56 | (uint64_t)qp->qpn << 32 |
			      (uint64_t)c->counter << 16 | own);

	/* Writes the CQE in place: a consumer on this core then reads the fields from the store
	 * buffer. */
	memset(e, 0, offsetof(struct cqe64, srqn_uidx));
	if (qp->ud && c->op >= SN_CQE_RESP_SEND && c->op <= SN_CQE_RESP_SEND_IMM)
		fill_datagram(e, &qp->datagram);
	if (c->small)
		memcpy(small, c->small, c->byte_cnt);
	e->srqn_uidx = to_be32(qp->uidx);
	e->imm_inval_pkey = c->imm;
	memset(&e->app, 0, 4);
	e->byte_cnt = to_be32(c->byte_cnt);
	e->timestamp = to_be64(timestamp(qp, c));
	if (is_error(c)) {
		((uint8_t *)e)[CQE_VENDOR] = c->vendor;
		((uint8_t *)e)[CQE_SYNDROME] = c->syndrome;
	}
	/* The owner bit is written last, together with its eight bytes. */
	__atomic_store_n((uint64_t *)(void *)&e->sop_drop_qpn, last.be, __ATOMIC_RELEASE);
}

void sn_cq_event(struct softnic *nic, struct sn_cq *cq)
{
	uint8_t data[28] = { 0 };

	sn_cq_set_armed(nic, cq, false, false);
	cq->notified = cq->pi;
	cq->had_event = true;
	sn_set32(data, 24, cq->cqn);
	sn_eq_event(nic, cq->eq, SN_EV_COMPLETION, 0, data);
}

/* IBTA, completion notification: an unsuccessful completion counts as solicited. */
static void notify_host(struct softnic *nic, struct sn_cq *cq, bool solicited)
{
	if (solicited)
		cq->solicited = cq->pi;
	if (cq->armed || (cq->armed_solicited && solicited))
		sn_cq_event(nic, cq);
}

/* Returns the half of the next entry that begins at off, or NULL. The halves of a 128-byte entry may be in
 * different pages, because a ring starts at any multiple of 64 bytes. */
static inline void *half_at(struct softnic *nic, struct sn_cq *cq, uint32_t off)
{
	uint32_t slot = cq->pi & ((UINT32_C(1) << cq->log_size) - 1);

	if (!(cq->buf.perm & MTT_WR))
		return NULL;
	return sn_buf_at(nic, &cq->buf, (uint64_t)slot * cq->cqe_size + off, 64, true);
}

/* The slot for the next CQE, or NULL if the CQ accepts no more. */
static inline struct cqe64 *next_slot(struct softnic *nic, struct sn_cq *cq)
{
	void *at;

	if (cq->error || !has_room(nic, cq))
		return NULL;
	/* The descriptor of a 128-byte entry is in its second half. */
	at = half_at(nic, cq, cq->cqe_size - 64u);
	if (!at)
		refuse_ring(nic, cq);
	return at;
}

bool sn_cqe_write(struct sn_qp *qp, struct sn_cq *cq, const struct sn_cqe *c)
{
	struct softnic *nic = qp->nic;
	uint8_t own = (uint8_t)((unsigned int)c->op << 4 | small_format(c) << 2 |
				(unsigned int)c->solicited << 1 |
				(cq->pi >> cq->log_size & 1));
	struct cqe64 *e = next_slot(nic, cq);
	void *small = e;

	if (!e)
		return false;
	if (small_format(c) == SMALL_64)
		small = half_at(nic, cq, 0);
	if (!small) {
		refuse_ring(nic, cq);
		return false;
	}
	fill_cqe(e, small, qp, c, own);
	cq->pi = (cq->pi + 1) & 0xffffff;
	nic->ctr.cqes++;
	notify_host(nic, cq, c->solicited || is_error(c));
	return true;
}

/* The CQE that ends a ring is no completion, so an armed CQ stays armed. */
bool sn_cqe_end(struct softnic *nic, struct sn_cq *cq)
{
	struct cqe64 *e = next_slot(nic, cq);

	if (!e)
		return false;
	memset(e, 0, offsetof(struct cqe64, op_own));
	__atomic_store_n(&e->op_own, (uint8_t)((unsigned int)SN_CQE_RESIZE << 4 |
					       (cq->pi >> cq->log_size & 1)), __ATOMIC_RELEASE);
	cq->pi = (cq->pi + 1) & 0xffffff;
	return true;
}
