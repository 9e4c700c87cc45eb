/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * WRITEs that need no help of the target's device: nobody may be driving it, or there is so much to
 * write that one copy is better than two. A target whose device has executed a WRITE grants the whole
 * range of the key to the connection that it came by, and takes all grants back before anything that
 * they depend on is known to have changed: keys, windows, connections.
 *
 * Such a WRITE has no PSN: the peer learns nothing of it. So it must have nothing of its connection
 * before it that is not acknowledged, and what comes after it finds its bytes there. Whatever is not
 * as it should be goes over the wire, where the target judges it.
 */
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/rc.h"

enum {
	PIECES = 8,
	LEN_MAX = 4 << 20,	/* a target that takes a grant back waits for that */
};

static bool faultless(const struct sn_qp *qp)
{
	return !qp->nic->fault.generation && !qp->port->link_down;
}

/* The host's IOMMU wants to be asked each time: nothing is kept behind it. */
bool sn_rc_place_find(struct sn_qp *qp, struct sn_rc_place *p, uint32_t key, uint8_t rights)
{
	struct sn_nic *nic = qp->nic;
	const struct sn_mkey *m = sn_mkey_find(nic, key);
	struct sn_access a = {.key = key, .pd = qp->pd, .qpn = qp->qpn, .rights = rights};
	struct iovec iov;
	unsigned int n = 0;

	*p = (struct sn_rc_place){.key = key, .turn = nic->key_turn};
	if (!m || m->length64 || !m->len || nic->host.dma || !faultless(qp))
		return false;
	a.va = m->start;
	a.len = m->len;
	if (sn_mkey_map(nic, &a, &iov, 1, &n) != SN_ACC_OK || n != 1)
		return false;
	p->start = a.va;
	p->len = a.len;
	p->at = iov.iov_base;
	return true;
}

void sn_rc_grant(struct sn_qp *qp)
{
	struct sn_rc_place *p = &qp->rc->target;

	if (!sn_rc_place_find(qp, p, qp->rc->resp.rkey, SN_RW))
		return;
	qp->nic->granting = true;
	sn_fab_grant(qp->port->fabric->fab, &qp->rc->dest,
		     &(struct sn_grant){p->key, qp->qpn, p->start, p->len, (uintptr_t)p->at});
}

void sn_grants_withdraw(struct sn_nic *nic)
{
	nic->key_turn++;
	if (!nic->granting)
		return;
	nic->granting = false;
	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		sn_fab_withdraw(nic->port[i].fabric->fab);
}

void sn_host_polls(struct sn_nic *nic, bool polls)
{
	nic->polled = polls;
	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		sn_fab_tell_polled(nic->port[i].fabric->fab, polls);
}

/* Where the data is. 0: too scattered, or refused, which is for the wire to say. */
static unsigned int sources(struct sn_qp *qp, const struct sn_wqe *wqe, struct iovec *iov)
{
	unsigned int n = 0, more;

	for (unsigned int i = 0; i < wqe->nsge; i++, n += more) {
		const struct sn_sge *sge = &wqe->sge[i];
		struct sn_access a = {sge->key, qp->pd, qp->qpn, SN_LR, sge->va, sge->len};

		more = 1;
		if (n == PIECES)
			return 0;
		if (sge->inl)
			iov[n] = (struct iovec){(void *)(uintptr_t)sge->inl, sge->len};
		else if (sn_mkey_map(qp->nic, &a, iov + n, PIECES - n, &more) != SN_ACC_OK)
			return 0;
	}
	return n;
}

/* Nothing of it was ever sent: its PSNs can be given back, for those after it have none yet. */
static bool fresh(const struct sn_qp *qp, const struct sn_wr *wr)
{
	const struct sn_rc_req *r = &qp->rc->req;

	return !r->pkt && r->psn_max == wr->psn && r->psn_next == sn_psn_add(wr->psn, wr->npsn);
}

static void finish(struct sn_qp *qp, struct sn_wr *wr)
{
	struct sn_rc_req *r = &qp->rc->req;

	r->psn_next = wr->psn;
	r->loaded = false;
	r->wr++;
	qp->nic->ctr.direct++;
	sn_wr_done(qp, wr, SN_SYND_OK, 0, wr->len);
}

enum sn_rc_direct sn_rc_write_direct(struct sn_qp *qp, struct sn_wr *wr)
{
	const struct sn_wqe *wqe = &qp->rc->hand->send;
	struct sn_fab *fab = qp->port->fabric->fab;
	struct sn_grant what = {wqe->rkey, qp->remote_qpn & 0xffffff, wqe->raddr, wr->len, 0};
	struct iovec iov[PIECES];
	unsigned int n;

	if (!wr->len || wr->len > LEN_MAX || !fresh(qp, wr) || !faultless(qp) ||
	    (wr->len < SN_RC_BULK && sn_fab_is_polled(fab, &qp->rc->dest)) ||
	    !sn_fab_granted(fab, &qp->rc->dest, &what))
		return SN_DIRECT_NOT;
	if (qp->rc->req.psn_una != wr->psn)
		return wr->len < SN_RC_BULK ? SN_DIRECT_NOT : SN_DIRECT_WAIT;
	n = sources(qp, wqe, iov);
	if (!n || !sn_fab_write(fab, &qp->rc->dest, &what, iov, n))
		return SN_DIRECT_NOT;
	finish(qp, wr);
	return SN_DIRECT_DONE;
}
