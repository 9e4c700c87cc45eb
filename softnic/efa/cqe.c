/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions of the send queue. They are written in a random order, and some of them late. */
#include "softnic/efa/nic.h"

enum { CHOICE = 8 };

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
	nic->ctr.tx_cqes++;
}

static struct sne_wr *choose(struct sne_nic *nic)
{
	struct sne_wr *wr = TAILQ_FIRST(&nic->done), *next;
	uint32_t skip = nic->window > 1 ? sne_below(nic, CHOICE) : 0;

	while (skip-- && (next = TAILQ_NEXT(wr, link)))
		wr = next;
	return wr;
}

bool sne_complete(struct sne_nic *nic)
{
	bool did = false;

	while (!TAILQ_EMPTY(&nic->done)) {
		complete(nic, choose(nic));
		did = true;
		if (nic->window > 1 && !nic->threaded && sne_below(nic, 4) == 0)
			break;
	}
	return did;
}
