/* SPDX-License-Identifier: BSD-2-Clause */
/* Work requests: from the WQE to the completion. */
#include "softnic/efa/nic.h"

enum {
	RNR_NS = 20000,				/* time between two RNR retries */
	RNR_FOR_EVER = 7,
	MSG_INDEX = 4096,			/* maximum SQ depth */
};

struct sne_wr *sne_wr_new(struct sne_qp *qp)
{
	struct sne_wr *wr = TAILQ_FIRST(&qp->free);
	uint32_t index;

	if (!wr)
		return NULL;
	TAILQ_REMOVE(&qp->free, wr, link);
	index = (uint32_t)(wr - qp->wrs);
	wr->qp = qp;
	wr->flow = NULL;
	wr->status = SNE_OK;
	wr->waits_for_data = false;
	wr->len = wr->next = wr->pieces = wr->got = 0;
	wr->nsge = 0;
	wr->msg = qp->msgs++ * MSG_INDEX + index;
	TAILQ_INSERT_TAIL(&qp->out, wr, by_qp);
	return wr;
}

unsigned int sne_wr_blocks(struct sne_nic *nic, struct sne_wr *wr, uint32_t off, uint32_t len,
			   struct iovec *iov)
{
	enum sne_mr_error why;
	unsigned int n = 0;

	if (wr->is_inline) {
		*iov = (struct iovec){ wr->data + off, len };
		return 1;
	}
	for (unsigned int i = 0; i < wr->nsge && len; i++) {
		const struct sne_sge *s = &wr->sge[i];
		struct sne_sge part = { 0, s->lkey, s->addr + off };
		const struct sne_mr *mr;
		unsigned int more;

		if (off >= s->len) {
			off -= s->len;
			continue;
		}
		part.len = s->len - off < len ? s->len - off : len;
		mr = sne_mr_local(nic, wr->qp->attr.pd, &part, 0, &why);
		more = mr ? sne_mr_blocks(nic, mr, part.addr, part.len, iov + n) : 0;
		if (!more)
			return 0;
		n += more;
		len -= part.len;
		off = 0;
	}
	return len ? 0 : n;
}

struct sne_wr *sne_wr_choose(struct sne_nic *nic, struct sne_wrs *list)
{
	struct sne_wr *wr = TAILQ_FIRST(list), *next = TAILQ_NEXT(wr, link);
	uint32_t skip = nic->window > 1 && next ? sne_below(nic, SNE_CHOICE) : 0;

	for (; skip && next; skip--) {
		wr = next;
		next = TAILQ_NEXT(wr, link);
	}
	return wr;
}

struct sne_wr *sne_wr_of_msg(struct sne_qp *qp, uint32_t msg)
{
	struct sne_wr *wr = &qp->wrs[msg % MSG_INDEX];

	if (msg % MSG_INDEX >= qp->attr.sq_depth || wr->state == SNE_WR_FREE || wr->msg != msg)
		return NULL;
	return wr;
}

void sne_update_sender(struct sne_nic *nic, struct sne_flow *flow)
{
	bool sends = !TAILQ_EMPTY(&flow->cutting) || !TAILQ_EMPTY(&flow->jobs);

	if (sends == flow->in_senders)
		return;
	flow->in_senders = sends;
	if (sends)
		TAILQ_INSERT_TAIL(&nic->senders, flow, by_work);
	else
		TAILQ_REMOVE(&nic->senders, flow, by_work);
}

static struct sne_wrs *list_of(struct sne_nic *nic, const struct sne_wr *wr)
{
	switch (wr->state) {
	case SNE_WR_CUTTING: return &wr->flow->cutting;
	case SNE_WR_RNR: return &nic->rnr;
	case SNE_WR_DONE: return &nic->done;
	case SNE_WR_FREE:
	case SNE_WR_WAITING: break;
	}
	return NULL;
}

static void move(struct sne_nic *nic, struct sne_wr *wr, enum sne_wr_state state)
{
	bool was_cutting = wr->state == SNE_WR_CUTTING;
	struct sne_wrs *from = list_of(nic, wr), *to;

	if (from)
		TAILQ_REMOVE(from, wr, link);
	wr->state = state;
	to = list_of(nic, wr);
	if (to)
		TAILQ_INSERT_TAIL(to, wr, link);
	if (was_cutting)
		sne_update_sender(nic, wr->flow);
}

static void stop_waiting(struct sne_nic *nic, struct sne_wr *wr)
{
	if (wr->waits_for_data)
		TAILQ_REMOVE(&nic->reads, wr, by_progress);
	wr->waits_for_data = false;
}

void sne_wr_start(struct sne_nic *nic, struct sne_wr *wr)
{
	/* If no state change has set RNR retries, a QP tries once. */
	wr->rnr_left = wr->qp->now.rnr_retry;
	wr->state = SNE_WR_CUTTING;
	TAILQ_INSERT_TAIL(&wr->flow->cutting, wr, link);
	sne_update_sender(nic, wr->flow);
}

void sne_wr_detach(struct sne_nic *nic, struct sne_wr *wr)
{
	stop_waiting(nic, wr);
	move(nic, wr, SNE_WR_WAITING);
}

void sne_wr_end(struct sne_nic *nic, struct sne_wr *wr, uint8_t status)
{
	stop_waiting(nic, wr);
	wr->status = status;
	move(nic, wr, SNE_WR_DONE);
}

void sne_wr_release(struct sne_nic *nic, struct sne_wr *wr)
{
	struct sne_qp *qp = wr->qp;

	sne_wr_detach(nic, wr);
	TAILQ_REMOVE(&qp->out, wr, by_qp);
	if (!(qp->attr.flags & SOFTNIC_EFA_QP_REQ_ID_64))
		sne_id_mark(qp->sq_ids, wr->req_id, false);
	wr->state = SNE_WR_FREE;
	/* The WR that was freed last is reused first, so a stale message meets a WR in use and the
	 * defect shows. */
	TAILQ_INSERT_HEAD(&qp->free, wr, link);
}

/* Ends a WR once all of it is cut into packets, all packets are acknowledged, and a read has all of
 * its bytes. */
static void maybe_end(struct sne_nic *nic, struct sne_wr *wr)
{
	if (wr->state != SNE_WR_WAITING || wr->pieces)
		return;
	if (wr->op == SNE_READ && !wr->status && wr->got < wr->len) {
		if (!wr->waits_for_data) {
			wr->waits_for_data = true;
			wr->when = nic->now;
			TAILQ_INSERT_TAIL(&nic->reads, wr, by_progress);
		}
		return;
	}
	sne_wr_end(nic, wr, wr->status);
}

static bool try_again(struct sne_nic *nic, struct sne_wr *wr, const struct sne_hdr *piece)
{
	nic->ctr.rnrs++;
	if (!wr->rnr_left || wr->status)
		return false;
	if (wr->rnr_left != RNR_FOR_EVER)
		wr->rnr_left--;
	wr->redo_off = piece->off;
	wr->redo_len = piece->len;
	wr->when = nic->now + RNR_NS;
	move(nic, wr, SNE_WR_RNR);
	return true;
}

void sne_wr_acked(struct sne_nic *nic, struct sne_wr *wr, const struct sne_hdr *piece,
		  uint8_t status)
{
	wr->pieces--;
	/*
	 * Of a write, only the last piece needs a receive. So if the peer lacks one, all pieces
	 * have been cut already.
	 */
	if (status == SNE_REMOTE_RNR && wr->state == SNE_WR_WAITING && try_again(nic, wr, piece))
		return;
	if (status && !wr->status)
		wr->status = status;
	if (status && (wr->state == SNE_WR_CUTTING || wr->state == SNE_WR_RNR))
		move(nic, wr, SNE_WR_WAITING);
	maybe_end(nic, wr);
}

/* The memory may have been deregistered since the WQE was checked. */
static bool place(struct sne_nic *nic, struct sne_wr *wr, const struct sne_hdr *h,
		  const uint8_t *payload)
{
	struct sne_sge sge = { h->len, wr->sge[0].lkey, wr->sge[0].addr + h->off };
	enum sne_mr_error why;
	const struct sne_mr *mr = sne_mr_local(nic, wr->qp->attr.pd, &sge, SOFTNIC_EFA_LOCAL_WRITE, &why);

	return mr && sne_mr_write(nic, mr, sge.addr, payload, h->len);
}

void sne_wr_data(struct sne_nic *nic, struct sne_wr *wr, const struct sne_hdr *h,
		 const uint8_t *payload)
{
	uint8_t status = h->status;

	if (wr->op != SNE_READ || wr->state == SNE_WR_DONE)
		return;
	if (!status && (h->off > wr->len || h->len > wr->len - h->off))
		status = SNE_REMOTE_BAD_STATUS;
	if (!status && !place(nic, wr, h, payload))
		status = SNE_INVALID_LKEY;
	if (!status)
		wr->got += h->len;
	else if (!wr->status)
		wr->status = status;
	if (wr->waits_for_data) {
		TAILQ_REMOVE(&nic->reads, wr, by_progress);
		wr->when = nic->now;
		TAILQ_INSERT_TAIL(&nic->reads, wr, by_progress);
	}
	maybe_end(nic, wr);
}
