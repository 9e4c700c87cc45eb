/* SPDX-License-Identifier: BSD-2-Clause */
/* The receive queue: descriptors in host memory, which arriving packets consume in order. */
#include "softnic/efa/nic.h"

static void *desc_at(struct sne_nic *nic, const struct sne_qp *qp, uint32_t index)
{
	uint64_t off = (uint64_t)(index & (qp->attr.rq_depth - 1)) * sizeof(struct sne_rx_desc);

	return qp->rq ? qp->rq + off : sne_dma(nic, qp->attr.rq_bus_addr + off, sizeof(struct sne_rx_desc));
}

/*
 * Reads a descriptor. If the host's memory cannot be reached, the descriptor counts as a WR without
 * a buffer.
 */
static struct sne_rx_desc desc(struct sne_nic *nic, const struct sne_qp *qp, uint32_t index)
{
	struct sne_rx_desc d = { .lkey_ctrl = to_le32(SNE_RX_FIRST | SNE_RX_LAST) };
	const void *at = desc_at(nic, qp, index);

	if (at)
		memcpy(&d, at, sizeof(d));
	return d;
}

static void read_sge(const struct sne_rx_desc *d, struct sne_sge *sge)
{
	sge->len = from_le16(d->length);
	sge->lkey = from_le32(d->lkey_ctrl) & SNE_LKEY_MASK;
	sge->addr = (uint64_t)from_le32(d->addr_hi) << 32 | from_le32(d->addr_lo);
}

static void check_key(struct sne_nic *nic, struct sne_qp *qp, uint32_t index,
		      const struct sne_sge *sge)
{
	static const enum sne_viol kinds[] = {
		[SNE_MR_KEY] = SNE_V_RQ_LKEY,
		[SNE_MR_PD] = SNE_V_RQ_LKEY_PD,
		[SNE_MR_RIGHTS] = SNE_V_RQ_LKEY_RIGHTS,
	};
	enum sne_mr_error why;

	if (sge->len && !sne_mr_local(nic, qp->attr.pd, sge, SOFTNIC_EFA_LOCAL_WRITE, &why))
		sne_violate(nic, kinds[why], "QP %u descriptor %u: lkey %#x, address %#llx+%u", qp->qpn,
			    index, sge->lkey, (unsigned long long)sge->addr, sge->len);
}

/* State of the descriptor checks, which run up to the last descriptor that the doorbell
 * announced. */
struct check {
	bool inside;
	uint16_t req_id;
	unsigned int sges;
};

static void check_one(struct sne_nic *nic, struct sne_qp *qp, uint32_t index, struct check *c)
{
	struct sne_rx_desc d = desc(nic, qp, index);
	uint32_t ctrl = from_le32(d.lkey_ctrl);
	uint16_t id = from_le16(d.req_id);
	struct sne_sge sge;

	if (ctrl & SNE_RX_MBZ)
		sne_violate(nic, SNE_V_RQ_RESERVED, "QP %u descriptor %u: control %#x", qp->qpn, index,
			    ctrl);
	if (!(ctrl & SNE_RX_FIRST) != c->inside)
		sne_violate(nic, SNE_V_RQ_FIRST_LAST, "QP %u descriptor %u: control %#x", qp->qpn, index,
			    ctrl);
	if (!c->inside) {
		c->sges = 0;
		if (sne_id_in_use(qp->rq_ids, id))
			sne_violate(nic, SNE_V_RQ_REQ_ID,
				    "QP %u: request id %#x is outstanding already", qp->qpn, id);
		sne_id_mark(qp->rq_ids, id, true);
		c->req_id = id;
	} else if (c->req_id != id) {
		sne_violate(nic, SNE_V_RQ_REQ_ID, "QP %u: request ids %#x and %#x in one WR",
			    qp->qpn, c->req_id, id);
	}
	if (++c->sges > nic->caps.max_recv_sge)
		sne_violate(nic, SNE_V_RQ_SGE_COUNT, "QP %u descriptor %u: number %u of its WR",
			    qp->qpn, index, c->sges);
	read_sge(&d, &sge);
	check_key(nic, qp, index, &sge);
	c->inside = !(ctrl & SNE_RX_LAST);
}

bool sne_rq_doorbell(struct sne_nic *nic, struct sne_qp *qp)
{
	uint32_t db = atomic_load_explicit(qp->rq_db, memory_order_acquire);
	uint32_t n = (db - qp->rq_pc) & 0xffff;
	struct check c = { 0 };

	if (db == (qp->rq_pc & 0xffff))
		return false;
	nic->ctr.doorbells++;
	if (qp->now.state == SOFTNIC_EFA_RESET || db > 0xffff) {
		sne_violate(nic, db > 0xffff ? SNE_V_RQ_DOORBELL : SNE_V_RQ_STATE,
			    "receive doorbell of QP %u with %#x in state %u", qp->qpn, db,
			    qp->now.state);
		atomic_store(qp->rq_db, qp->rq_pc & 0xffff);
		return false;
	}
	if (qp->rq_pc + n - qp->rq_cc > qp->attr.rq_depth) {
		sne_violate(nic, SNE_V_RQ_OVERRUN, "QP %u: %u descriptors posted, depth %u",
			    qp->qpn, qp->rq_pc + n - qp->rq_cc, qp->attr.rq_depth);
		atomic_store(qp->rq_db, qp->rq_pc & 0xffff);
		return false;
	}
	for (uint32_t i = 0; i < n; i++)
		check_one(nic, qp, qp->rq_pc + i, &c);
	if (c.inside)
		sne_violate(nic, SNE_V_RQ_PARTIAL, "QP %u: descriptor %u does not end its WR", qp->qpn,
			    qp->rq_pc + n - 1);
	qp->rq_pc += n;
	if (qp->now.state == SOFTNIC_EFA_ERR)
		sne_rq_flush(nic, qp);
	return true;
}

/* Reads the WR at the head; returns its number of descriptors, 0 if the queue is empty. */
static uint32_t read_wr(struct sne_nic *nic, const struct sne_qp *qp, struct sne_receive *r)
{
	uint32_t n = 0;
	bool last = false;

	*r = (struct sne_receive){ 0 };
	while (!last && qp->rq_cc + n != qp->rq_pc) {
		struct sne_rx_desc d = desc(nic, qp, qp->rq_cc + n);

		if (!n++)
			r->req_id = from_le16(d.req_id);
		last = from_le32(d.lkey_ctrl) & SNE_RX_LAST;
		if (r->nsge < SNE_SGES) {
			read_sge(&d, &r->sge[r->nsge]);
			r->room += r->sge[r->nsge++].len;
		}
	}
	return n;
}

bool sne_rq_peek(struct sne_nic *nic, const struct sne_qp *qp, struct sne_receive *r)
{
	return read_wr(nic, qp, r) != 0;
}

bool sne_rq_take(struct sne_nic *nic, struct sne_qp *qp, struct sne_receive *r)
{
	uint32_t n = read_wr(nic, qp, r);

	if (!n)
		return false;
	while (n--) {
		void *at = nic->config.flags & SOFTNIC_EFA_ADVERSARIAL ? desc_at(nic, qp, qp->rq_cc) : NULL;

		if (at)
			memset(at, 0xde, sizeof(struct sne_rx_desc));
		qp->rq_cc++;
	}
	sne_id_mark(qp->rq_ids, r->req_id, false);
	return true;
}

void sne_rq_flush(struct sne_nic *nic, struct sne_qp *qp)
{
	struct sne_receive r;

	while (sne_rq_take(nic, qp, &r)) {
		struct sne_cqe cqe = {
			.req_id = to_le16(r.req_id),
			.status = SNE_FLUSHED,
			.flags = SNE_RQ << SNE_CQE_QUEUE_SHIFT,
			.qpn = to_le16(qp->qpn),
			.rx.ah = to_le16(SNE_AH_UNKNOWN),
		};

		sne_cqe_put(nic, qp->rcq, qp->rsub, &cqe);
	}
}
