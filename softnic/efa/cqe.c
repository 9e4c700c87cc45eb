/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions of the send queue. They are written in a random order, and some of them late. */
#include "softnic/efa/nic.h"

static void complete(struct sne_nic *nic, struct sne_wr *wr)
{
	struct sne_qp *qp = wr->qp;
	struct sne_cqe cqe = {
		.req_id = to_le16(wr->req_id),
		.status = wr->status,
		.flags =
			(uint8_t)(SNE_SQ << SNE_CQE_QUEUE_SHIFT | (wr->op & 7) << SNE_CQE_OP_SHIFT),
		.qpn = to_le16(qp->qpn),
	};

	if (qp->attr.flags & SOFTNIC_EFA_QP_REQ_ID_64)
		for (int i = 0; i < 3; i++)
			cqe.tx.req_id_ex[i] = to_le16(wr->req_id_ex[i]);
	sne_wr_release(nic, wr);
	qp->sq_done++;
	sne_cqe_put(nic, qp->scq, qp->ssub, &cqe);
}

void sne_complete_qp(struct sne_nic *nic, struct sne_qp *qp)
{
	struct sne_wr *wr, *next;

	for (wr = TAILQ_FIRST(&qp->out); wr; wr = next) {
		next = TAILQ_NEXT(wr, by_qp);
		if (wr->state == SNE_WR_DONE)
			complete(nic, wr);
	}
}

bool sne_complete(struct sne_nic *nic)
{
	bool did = false;

	while (!TAILQ_EMPTY(&nic->done)) {
		complete(nic, sne_wr_choose(nic, &nic->done));
		did = true;
		if (nic->window > 1 && !nic->threaded && sne_below(nic, 4) == 0)
			break;
	}
	return did;
}
