/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: creation, and the memory of each. qp_modify.c has their states and their end. */
#include <errno.h>
#include <stdlib.h>

#include "softnic/efa/nic.h"

enum { ID_WORDS = 65536 / 64, RQ_DB = 64 };

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static uint32_t wqe_size(const struct softnic_efa_qp_attr *a)
{
	return a->flags & SOFTNIC_EFA_QP_WIDE ? 128 : 64;
}

static int check_fields(struct sne_nic *nic, const struct softnic_efa_qp_attr *a)
{
	const struct softnic_efa_caps *c = &nic->caps;
	const char *what = NULL;

	if (a->sq_depth && (!power_of_two(a->sq_depth) || a->sq_depth < c->min_sq_wr ||
			    a->sq_depth > c->max_llq_size / wqe_size(a)))
		what = "SQ depth";
	else if (a->rq_depth && (!power_of_two(a->rq_depth) || a->rq_depth > c->max_rq_wr))
		what = "RQ depth";
	else if (a->flags & SOFTNIC_EFA_QP_BUS_RQ && (!nic->config.host.dma || a->rq_bus_addr % 16))
		what = "bus address";
	else if (a->flags & SOFTNIC_EFA_QP_UD && a->flags & SOFTNIC_EFA_QP_UNSOLICITED)
		what = "type for unsolicited writes";
	else if (a->flags & SOFTNIC_EFA_QP_REQ_ID_64 &&
		 !(sne_cq_find(nic, a->send_cq)->attr.flags & SOFTNIC_EFA_CQ_REQ_ID_64))
		what = "send CQ for 64-bit request ids";
	if (!what)
		return 0;
	sne_violate(nic, SNE_V_CMD_FIELD, "QP with a wrong %s", what);
	return -EINVAL;
}

static int check_objects(struct sne_nic *nic, const struct softnic_efa_qp_attr *a)
{
	if (a->pd < SNE_PDS && nic->pds[a->pd].live && sne_cq_find(nic, a->send_cq) &&
	    sne_cq_find(nic, a->recv_cq))
		return 0;
	sne_violate(nic, SNE_V_CMD_OBJECT, "QP with PD %u, CQs %u and %u, not all of which exist",
		    a->pd, a->send_cq, a->recv_cq);
	return -EINVAL;
}

static int check_caps(struct sne_nic *nic, unsigned int flags)
{
	const struct softnic_efa_caps *c = &nic->caps;

	if ((!(flags & SOFTNIC_EFA_QP_UNSOLICITED) || c->unsolicited_write_recv) &&
	    (!(flags & SOFTNIC_EFA_QP_WIDE) || c->wide_wqe) &&
	    (!(flags & SOFTNIC_EFA_QP_REQ_ID_64) || c->req_id_64))
		return 0;
	sne_violate(nic, SNE_V_CMD_CAPS,
		    "QP with flags %#x, which profile %s does not support", flags, c->profile);
	return -EOPNOTSUPP;
}

/* Returns the size of a receive queue in bytes of the device's memory. */
static uint64_t rq_bytes(const struct softnic_efa_qp_attr *a)
{
	return a->flags & SOFTNIC_EFA_QP_BUS_RQ ? 0 : a->rq_depth * UINT64_C(16);
}

static int take_memory(struct sne_nic *nic, struct sne_qp *qp)
{
	uint64_t sq = (uint64_t)qp->attr.sq_depth * qp->wqe_size, rq = rq_bytes(&qp->attr);
	int err = sq ? sne_bar_take(&nic->bar, sq, &qp->sq_off) : 0;

	if (err)
		return err;
	err = rq ? sne_bar_take(&nic->bar, rq, &qp->rq_off) : 0;
	if (err)
		goto give_sq;
	err = sne_bar_take(&nic->bar, SNE_PAGE, &qp->db_off);
	if (err)
		goto give_rq;
	qp->sq = sq ? nic->bar.map + qp->sq_off : NULL;
	qp->rq = rq ? nic->bar.map + qp->rq_off : NULL;
	qp->sq_db = (_Atomic uint32_t *)(void *)(nic->bar.map + qp->db_off);
	qp->rq_db = (_Atomic uint32_t *)(void *)(nic->bar.map + qp->db_off + RQ_DB);
	return 0;
give_rq:
	if (rq)
		sne_bar_give(&nic->bar, qp->rq_off, rq);
give_sq:
	if (sq)
		sne_bar_give(&nic->bar, qp->sq_off, sq);
	return err;
}

static void give_memory(struct sne_nic *nic, struct sne_qp *qp)
{
	if (qp->sq)
		sne_bar_give(&nic->bar, qp->sq_off, (uint64_t)qp->attr.sq_depth * qp->wqe_size);
	if (qp->rq)
		sne_bar_give(&nic->bar, qp->rq_off, rq_bytes(&qp->attr));
	sne_bar_give(&nic->bar, qp->db_off, SNE_PAGE);
}

/* Returns the most WQEs that one doorbell may announce. If the device has a minimum depth, this is
 * less than the depth. */
static uint32_t max_batch(const struct softnic_efa_caps *c, const struct sne_qp *qp)
{
	uint32_t n = c->max_tx_batch ? c->max_tx_batch * 64u / qp->wqe_size : qp->attr.sq_depth;

	if (c->min_sq_wr && qp->attr.sq_depth && n > qp->attr.sq_depth - 1)
		n = qp->attr.sq_depth - 1;
	return n;
}

static void reset_queues(struct sne_nic *nic, struct sne_qp *qp)
{
	qp->sq_pc = qp->sq_done = qp->rq_pc = qp->rq_cc = 0;
	atomic_store(qp->sq_db, 0);
	atomic_store(qp->rq_db, 0);
	memset(qp->sq_ids, 0, ID_WORDS * sizeof(uint64_t));
	memset(qp->rq_ids, 0, ID_WORDS * sizeof(uint64_t));
	if (qp->sq)
		sne_sq_poison(nic, qp->sq, (size_t)qp->attr.sq_depth * qp->wqe_size);
	if (qp->rq)
		memset(qp->rq, 0, rq_bytes(&qp->attr));
}

static void make_wrs(struct sne_nic *nic, struct sne_qp *qp)
{
	TAILQ_INIT(&qp->free);
	TAILQ_INIT(&qp->out);
	for (uint32_t i = 0; i < qp->attr.sq_depth; i++) {
		qp->wrs[i].qp = qp;
		TAILQ_INSERT_TAIL(&qp->free, &qp->wrs[i], link);
	}
	qp->msgs = (uint32_t)sn_draw(&nic->rng);
}

void sne_qp_free_memory(struct sne_qp *qp)
{
	free(qp->wrs);
	free(qp->sq_ids);
	free(qp->rq_ids);
	free(qp);
}

size_t softnic_efa_qp_memory(uint32_t sq_depth)
{
	return sizeof(struct sne_qp) + (sq_depth + 1) * sizeof(struct sne_wr) +
	       2 * ID_WORDS * sizeof(uint64_t);
}

static struct sne_qp *new_qp(const struct softnic_efa_qp_attr *attr)
{
	struct sne_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->attr = *attr;
	qp->wqe_size = wqe_size(attr);
	qp->wrs = calloc(attr->sq_depth + 1, sizeof(*qp->wrs));
	qp->sq_ids = calloc(ID_WORDS, sizeof(uint64_t));
	qp->rq_ids = calloc(ID_WORDS, sizeof(uint64_t));
	if (qp->wrs && qp->sq_ids && qp->rq_ids)
		return qp;
	sne_qp_free_memory(qp);
	return NULL;
}

static int create(struct sne_nic *nic, const struct softnic_efa_qp_attr *attr, struct sne_qp **out)
{
	struct sne_qp *qp = new_qp(attr);
	uint32_t id;
	int err;

	if (!qp)
		return -ENOMEM;
	err = sne_id_take(&nic->qp_ids, &id);
	if (err) {
		sne_violate(nic, SNE_V_CMD_RESOURCE, "more than %u QPs", SNE_QPS);
		goto free;
	}
	err = take_memory(nic, qp);
	if (err)
		goto give_id;
	qp->handle = id;
	qp->qpn = (uint16_t)((uint32_t)nic->qpn_high << 8 | id);
	qp->ssub = (uint16_t)(id % nic->caps.sub_cqs);
	qp->rsub = (uint16_t)((id + 1) % nic->caps.sub_cqs);
	qp->scq = nic->cqs[attr->send_cq];
	qp->rcq = nic->cqs[attr->recv_cq];
	qp->scq->users++;
	qp->rcq->users++;
	nic->pds[attr->pd].users++;
	qp->max_batch = max_batch(&nic->caps, qp);
	make_wrs(nic, qp);
	reset_queues(nic, qp);
	LIST_INSERT_HEAD(&nic->qp_list, qp, link);
	nic->qps[id] = qp;
	*out = qp;
	return 0;
give_id:
	sne_id_give(&nic->qp_ids, id);
free:
	sne_qp_free_memory(qp);
	return err;
}

/* If the fault word bad_order needs the order of stores, observe them. */
static void *drivers_ring(struct sne_nic *nic, const struct sne_qp *qp)
{
	uint64_t bytes = sne_pages((uint64_t)qp->attr.sq_depth * qp->wqe_size);
	bool watched = qp->sq && nic->fault.bad_order;
	void *ring = watched ? sne_order_watch(nic, qp->sq_off, bytes) : NULL;

	return ring ? ring : qp->sq;
}

static void describe(struct sne_nic *nic, const struct sne_qp *qp, struct softnic_efa_qp *out)
{
	*out = (struct softnic_efa_qp){
		.handle = qp->handle,
		.qpn = qp->qpn,
		.max_batch = qp->max_batch,
		.sq = {.ring = drivers_ring(nic, qp),
		       .depth = qp->attr.sq_depth,
		       .entry_size = (uint16_t)qp->wqe_size,
		       .sub_cq = qp->ssub,
		       .ring_bytes = sne_pages((uint64_t)qp->attr.sq_depth * qp->wqe_size),
		       .ring_bar_offset = qp->sq_off,
		       .doorbell = (volatile uint32_t *)qp->sq_db,
		       .doorbell_bar_offset = qp->db_off},
		.rq = {.ring = qp->rq,
		       .depth = qp->attr.rq_depth,
		       .entry_size = 16,
		       .sub_cq = qp->rsub,
		       .ring_bytes = sne_pages(rq_bytes(&qp->attr)),
		       .ring_bar_offset = qp->rq_off,
		       .doorbell = (volatile uint32_t *)qp->rq_db,
		       .doorbell_bar_offset = qp->db_off,
		       .doorbell_page_offset = RQ_DB},
	};
}

int softnic_efa_qp_create(struct softnic_efa *handle, const struct softnic_efa_qp_attr *attr,
			  struct softnic_efa_qp *out)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	struct sne_qp *qp;
	int err;

	if (!sne_enter(nic))
		return -ENODEV;
	err = check_objects(nic, attr);
	if (!err)
		err = check_caps(nic, attr->flags);
	if (!err)
		err = check_fields(nic, attr);
	if (!err)
		err = sne_refuses(nic, SNE_CMD_QP) ? -ENOMEM : create(nic, attr, &qp);
	if (!err)
		describe(nic, qp, out);
	sne_leave(nic);
	return err;
}

void sne_flush_forget(struct sne_nic *nic, struct sne_qp *qp)
{
	if (qp->flushes_late && qp->flush_at != UINT64_MAX)
		nic->late_flushes--;
	qp->flushes_late = false;
}

/* Drops outstanding work without completions. Reads that this QP is answering end with an abort
 * status at the peer. */
void sne_qp_forget(struct sne_nic *nic, struct sne_qp *qp)
{
	struct sne_wr *wr;

	sne_flush_forget(nic, qp);
	sne_pkts_forget(nic, qp, NULL);
	sne_rx_forget(nic, qp);
	while ((wr = TAILQ_FIRST(&qp->out))) {
		sne_wr_detach(nic, wr);
		sne_wr_release(nic, wr);
	}
	reset_queues(nic, qp);
}

void sne_qp_free(struct sne_nic *nic, struct sne_qp *qp)
{
	sne_qp_forget(nic, qp);
	LIST_REMOVE(qp, link);
	nic->qps[qp->handle] = NULL;
	qp->scq->users--;
	qp->rcq->users--;
	nic->pds[qp->attr.pd].users--;
	give_memory(nic, qp);
	sne_id_give(&nic->qp_ids, qp->handle);
	sne_qp_free_memory(qp);
}
