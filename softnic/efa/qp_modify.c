/* SPDX-License-Identifier: BSD-2-Clause */
/* The state transitions of a QP that an EFA supports, and its destruction. */
#include <errno.h>

#include "softnic/efa/nic.h"

/* The required attributes of a transition, and the allowed ones. False: no such transition. */
static bool wants(enum softnic_efa_qp_state from, enum softnic_efa_qp_state to, unsigned int *must,
		  unsigned int *may)
{
	*must = *may = 0;
	if (to == SOFTNIC_EFA_RESET || to == SOFTNIC_EFA_ERR)
		return from != SOFTNIC_EFA_RESET || to == SOFTNIC_EFA_RESET;
	if (from == SOFTNIC_EFA_RESET && to == SOFTNIC_EFA_INIT)
		*must = SOFTNIC_EFA_SET_QKEY;
	else if (from == SOFTNIC_EFA_RTR && to == SOFTNIC_EFA_RTS)
		*must = SOFTNIC_EFA_SET_SQ_PSN;
	else if (from != SOFTNIC_EFA_INIT || to != SOFTNIC_EFA_RTR)
		return from == to && (to == SOFTNIC_EFA_INIT || to == SOFTNIC_EFA_RTS);
	if (to == SOFTNIC_EFA_RTS)
		*may = SOFTNIC_EFA_SET_RNR_RETRY;
	return true;
}

static int check(struct sne_nic *nic, const struct sne_qp *qp, const struct softnic_efa_modify *m)
{
	unsigned int must, may;

	if (!wants(qp->now.state, m->state, &must, &may)) {
		sne_violate(nic, SNE_V_QP_TRANSITION,
			    "QP %u: no transition from state %u to %u", qp->qpn,
			    qp->now.state, m->state);
		return -EINVAL;
	}
	if ((m->mask & must) != must || m->rnr_retry > 7) {
		sne_violate(nic, SNE_V_CMD_FIELD,
			    "QP %u: transition to state %u with mask %#x, but it needs %#x",
			    qp->qpn, m->state, m->mask, must);
		return -EINVAL;
	}
	if (m->mask & SOFTNIC_EFA_SET_RNR_RETRY && (!(may & SOFTNIC_EFA_SET_RNR_RETRY) ||
						    !nic->caps.rnr_retry)) {
		sne_violate(nic, SNE_V_CMD_CAPS,
			    "QP %u with RNR retries, which the device does not support", qp->qpn);
		return -EOPNOTSUPP;
	}
	return 0;
}

/* The peer may have executed an outstanding request or not. The request completes with the flush
 * status in both cases. */
static void flush_now(struct sne_nic *nic, struct sne_qp *qp)
{
	struct sne_wr *wr, *next;

	sne_pkts_forget(nic, qp, NULL);
	sne_rx_forget(nic, qp);
	for (wr = TAILQ_FIRST(&qp->out); wr; wr = next) {
		next = TAILQ_NEXT(wr, by_qp);
		if (wr->state == SNE_WR_DONE)
			continue;
		wr->pieces = 0;
		sne_wr_end(nic, wr, SNE_FLUSHED);
	}
	sne_rq_flush(nic, qp);
}

bool sne_flush_late(struct sne_nic *nic)
{
	struct sne_qp *qp;
	bool did = false;

	if (!nic->late_flushes)
		return false;
	LIST_FOREACH(qp, &nic->qp_list, link) {
		if (!qp->flushes_late || nic->now < qp->flush_at)
			continue;
		sne_flush_forget(nic, qp);
		flush_now(nic, qp);
		did = true;
	}
	return did;
}

/* Flushes the QP. A fault script can let outstanding work continue for a while, or until the QP is
 * destroyed. */
static void flush(struct sne_nic *nic, struct sne_qp *qp)
{
	const struct sne_fault *f = &nic->fault;

	sne_sq_doorbell(nic, qp, false);
	sne_rq_doorbell(nic, qp);
	qp->now.state = SOFTNIC_EFA_ERR;
	if (!f->flush_late) {
		flush_now(nic, qp);
		return;
	}
	sne_flush_forget(nic, qp);
	sne_take_time(nic);
	qp->flushes_late = true;
	qp->flush_at = f->flush_us ? nic->now + f->flush_us * UINT64_C(1000) : UINT64_MAX;
	nic->late_flushes += f->flush_us != 0;
}

static void set(struct sne_nic *nic, struct sne_qp *qp, const struct softnic_efa_modify *m)
{
	if (m->mask & SOFTNIC_EFA_SET_QKEY)
		qp->now.qkey = m->qkey;
	if (m->mask & SOFTNIC_EFA_SET_SQ_PSN)
		qp->now.sq_psn = m->sq_psn;
	if (m->mask & SOFTNIC_EFA_SET_RNR_RETRY)
		qp->now.rnr_retry = m->rnr_retry;
	if (m->state == SOFTNIC_EFA_RESET) {
		sne_qp_forget(nic, qp);
		qp->now = (struct softnic_efa_modify){ .state = SOFTNIC_EFA_RESET };
	} else if (m->state == SOFTNIC_EFA_ERR) {
		flush(nic, qp);
	}
	qp->now.state = m->state;
}

static struct sne_qp *find(struct sne_nic *nic, uint32_t handle)
{
	struct sne_qp *qp = handle < SNE_QPS ? nic->qps[handle] : NULL;

	if (!qp)
		sne_violate(nic, SNE_V_CMD_OBJECT, "command for QP %u, which does not exist",
			    handle);
	return qp;
}

int softnic_efa_qp_modify(struct softnic_efa *handle, uint32_t number,
			  const struct softnic_efa_modify *modify)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	struct softnic_efa_modify m = *modify;
	struct sne_qp *qp;
	int err;

	if (!sne_enter(nic))
		return -ENODEV;
	qp = find(nic, number);
	if (qp && !(m.mask & SOFTNIC_EFA_SET_STATE))
		m.state = qp->now.state;
	err = qp ? check(nic, qp, &m) : -EINVAL;
	if (!err && sne_refuses(nic, SNE_CMD_MODIFY))
		err = -ENOMEM;
	if (!err)
		set(nic, qp, &m);
	sne_thread_hand_over(nic);
	sne_leave(nic);
	return err;
}

int softnic_efa_qp_query(struct softnic_efa *handle, uint32_t number,
			 struct softnic_efa_modify *now)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	struct sne_qp *qp;

	if (!sne_enter(nic))
		return -ENODEV;
	qp = find(nic, number);
	if (qp) {
		now->state = qp->now.state;
		now->qkey = qp->now.qkey;
		now->sq_psn = qp->now.sq_psn;
		now->rnr_retry = qp->now.rnr_retry;
	}
	sne_leave(nic);
	return qp ? 0 : -EINVAL;
}

/*
 * Writes a completion for each request and receive that is outstanding (efa_io_defs.h, status 1). A device
 * sends packets as soon as a doorbell rings, so before its driver's next command; this one sends them now.
 */
static void flush_at_destroy(struct sne_nic *nic, struct sne_qp *qp)
{
	if (qp->now.state == SOFTNIC_EFA_RESET)
		return;
	sne_sq_doorbell(nic, qp, false);
	sne_rq_doorbell(nic, qp);
	sne_cut(nic);
	sne_release(nic);
	flush_now(nic, qp);
	sne_complete_qp(nic, qp);
}

int softnic_efa_qp_destroy(struct softnic_efa *handle, uint32_t number)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	int err = 0;

	if (!sne_enter(nic))
		return -ENODEV;
	if (number >= SNE_QPS || !nic->qps[number]) {
		sne_violate(nic, SNE_V_CMD_OBJECT, "destroy of QP %u, which does not exist",
			    number);
		err = -EINVAL;
	} else {
		flush_at_destroy(nic, nic->qps[number]);
		sne_qp_free(nic, nic->qps[number]);
	}
	sne_leave(nic);
	return err;
}
