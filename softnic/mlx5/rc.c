/* SPDX-License-Identifier: BSD-2-Clause */
/* Reliable connections: creation, transitions and the run loop. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/mlx5/rc.h"

int sn_rc_create(struct sn_qp *qp)
{
	qp->rc = calloc(1, sizeof(*qp->rc));
	if (!qp->rc)
		return -ENOMEM;
	qp->rc->qp = qp;
	qp->rc->scratch = &qp->nic->port[0].fabric->scratch;
	qp->rc->waiter = (struct sn_waiter){.qp = qp, .dest = &qp->rc->dest};
	sn_rc_timers_init(qp);
	return 0;
}

void sn_rc_destroy(struct sn_qp *qp)
{
	if (!qp->rc)
		return;
	sn_rc_stop(qp);
	free(qp->rc);
	qp->rc = NULL;
}

static void start_responder(struct sn_qp *qp)
{
	struct sn_rc *rc = qp->rc;

	sn_port_resolve_conn(qp->port, &qp->av, &rc->dest);
	sn_port_use_udp(qp->port, &rc->uses_udp, sn_rc_is_far(qp));
	rc->resp.psn = qp->rq_psn & SN_PSN_MASK;
	rc->resp.msn = 0;
	rc->resp.nak_sent = rc->resp.established = false;
	memset(rc->resp.atomic, 0, sizeof(rc->resp.atomic));
}

static void start_requester(struct sn_qp *qp)
{
	struct sn_rc_req *r = &qp->rc->req;

	r->psn_next = r->psn_una = r->psn_max = qp->sq_psn & SN_PSN_MASK;
	r->wr = qp->wr_head;
	r->pkt = r->in_flight = r->sent = 0;
	r->window = sn_rc_is_far(qp) ? SN_RC_WINDOW_UDP : SN_RC_WINDOW;
	r->rnr_wait = r->unreachable = r->link_lost = false;
	sn_rc_made_progress(qp);
}

void sn_rc_modified(struct sn_qp *qp, enum sn_qp_state from)
{
	if (qp->state == from || !qp->rc)
		return;
	if (qp->state == SN_QP_RST || qp->state == SN_QP_INIT)
		sn_rc_stop(qp);
	else if (qp->state == SN_QP_RTR)
		start_responder(qp);
	else if (qp->state == SN_QP_RTS)
		start_requester(qp);
}

void sn_rc_run(struct sn_qp *qp)
{
	bool more;

	if (!qp->rc)
		return;
	more = sn_rc_answer_pending(qp) && sn_rc_resp_run(qp);
	if (qp->state == SN_QP_RTS)
		more |= sn_rc_req_run(qp);
	if (more && qp->state != SN_QP_ERR)
		sn_qp_kick(qp);
}
