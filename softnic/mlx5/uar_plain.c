/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast path of doorbells: a trapped WQE of one block, still in its queue, and the only one not sent
 * yet. If the device has no other work, the WQE is sent at once and the device stays idle. All other
 * doorbells, and invalid ones, are left to sn_uar_write.
 */
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/rc.h"
#include "softnic/mlx5/wqe.h"

/* The QP of the last doorbell most often rings again. A QP's UAR page lives as long as the QP. */
static struct sn_qp *doorbell_qp(struct softnic *nic, uint32_t page, uint32_t qpn)
{
	struct sn_qp *qp = nic->last_rung;

	if (!qp || qp->qpn != qpn)
		qp = sn_table_find(&nic->qps, qpn);
	if (!qp || qp->uar->page != page)
		return NULL;
	nic->last_rung = qp;
	return qp;
}

/* Does this block follow the last sent block, and is it the only new one according to the doorbell
 * record? */
static bool is_next(struct sn_qp *qp, const uint8_t *data)
{
	const struct sn_rc_req *r = qp->rc ? &qp->rc->req : NULL;
	uint16_t pi = (uint16_t)(qp->sq_next + 1);
	uint32_t rec;

	if (!r || qp->state != SN_QP_RTS || qp->sq_next != qp->sq_pi ||
	    qp->sq_stopped || sn_wr_count(qp) == qp->sq_size || r->rnr_wait || r->unreachable ||
	    qp->rc->waiter.blocked)
		return false;
	return sn_sq_block(qp, qp->sq_next) == data && sn_dbr_read(qp->nic, &qp->dbr, 1, &rec) &&
	       rec == pi && (uint16_t)(pi - qp->sq_reported) <= qp->sq_size;
}

/* Hosts poll between most doorbells, so this looks for arrived packets only now and then. */
static void drive_sometimes(struct softnic *nic)
{
	enum { EVERY = 4 };

	if (++nic->rings % EVERY == 0 && !sn_poll_idle(nic))
		sn_drive(nic);
	else
		sn_thread_inline(nic);
}

bool sn_uar_plain(struct softnic *nic, uint32_t page, uint32_t offset, const uint8_t *data, size_t len)
{
	const struct sn_ctrl *ctrl = (const void *)data;
	struct sn_fab *fab;
	struct sn_qp *qp;

	if (len != SN_WQEBB || !sn_is_bf(offset) || !sn_is_idle(nic))
		return false;
	qp = doorbell_qp(nic, page, from_be32(ctrl->qpn_ds) >> 8);
	if (!qp || !is_next(qp, data))
		return false;
	fab = qp->port->fabric->fab;
	sn_fab_hold(fab);
	if (!sn_rc_plain_at(qp, data)) {
		sn_fab_release(fab);
		return false;
	}
	qp->sq_pi = qp->sq_next;
	nic->ctr.blueflames++;
	drive_sometimes(nic);
	sn_fab_release(fab);
	return true;
}
