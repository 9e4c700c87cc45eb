/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cached translations of keys, for the next packet that uses the same key. A mapping is valid until
 * keys, windows or connections change: each change increments the device's key_turn.
 */
#include "softnic/mlx5/rc.h"

static bool is_faultless(const struct sn_qp *qp)
{
	return !qp->nic->fault.generation && !qp->port->link_down;
}

/* With an IOMMU each access must be translated, so nothing is cached. */
bool sn_rc_mapping_fill(struct sn_qp *qp, struct sn_rc_mapping *p, uint32_t key, uint8_t rights)
{
	struct softnic *nic = qp->nic;
	const struct sn_mkey *m = sn_mkey_find(nic, key);
	struct sn_access a = {.key = key, .pd = qp->pd, .qpn = qp->qpn, .rights = rights};
	void *at;

	*p = (struct sn_rc_mapping){.key = key, .turn = nic->key_turn};
	if (!m || m->length64 || !m->len || nic->config.host.dma || !is_faultless(qp))
		return false;
	a.va = m->start;
	a.len = m->len;
	if (sn_mkey_map(nic, &a, &at) != SN_ACC_OK)
		return false;
	p->start = a.va;
	p->len = a.len;
	p->at = at;
	return true;
}

void sn_rc_cache_target(struct sn_qp *qp)
{
	uint32_t rkey = qp->rc->resp.rkey;

	if (!sn_rc_mapping_valid(qp, &qp->rc->target, rkey))
		sn_rc_mapping_fill(qp, &qp->rc->target, rkey, SN_RW);
}
