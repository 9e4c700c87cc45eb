/* SPDX-License-Identifier: BSD-2-Clause */
/* Address handles. */
#include <errno.h>

#include "softnic/efa/nic.h"

struct sne_ah *sne_ah_find(struct sne_nic *nic, uint16_t pd, uint16_t number)
{
	struct sne_ah *ah = number < SNE_AHS ? &nic->ahs[number] : NULL;

	return ah && ah->refs && (ah->pd == pd || ah->pd == SNE_ANY_PD) ? ah : NULL;
}

struct sne_ah *sne_ah_of_flow(const struct sne_flow *flow, uint16_t pd)
{
	struct sne_ah *ah;

	LIST_FOREACH(ah, &flow->ahs, link)
		if (ah->pd == pd || ah->pd == SNE_ANY_PD)
			return ah;
	return NULL;
}

static int create(struct sne_nic *nic, uint16_t pd, const uint8_t gid[16], uint16_t *number)
{
	struct sne_flow *flow = sne_flow_get(nic, gid);
	bool shared = nic->fault.shared_ah;
	struct sne_ah *ah;
	uint32_t id;
	int err;

	if (!flow)
		return -ENOMEM;
	ah = sne_ah_of_flow(flow, pd);
	if (ah && !shared) {
		sne_violate(nic, SNE_V_AH_DUPLICATE, "AH %u of PD %u was created twice", ah->number,
			    pd);
	} else if (!ah) {
		err = sne_id_take(&nic->ah_ids, &id);
		if (err) {
			sne_violate(nic, SNE_V_CMD_RESOURCE, "more than %u AHs", SNE_AHS);
			return err;
		}
		ah = &nic->ahs[id];
		*ah = (struct sne_ah){ .pd = shared ? SNE_ANY_PD : pd, .number = (uint16_t)id,
				       .flow = flow,
				       .late = nic->window > 1 && nic->fault.unnamed > 0 ?
					       sne_below(nic, SNE_LATE_AHS) : 0 };
		LIST_INSERT_HEAD(&flow->ahs, ah, link);
		nic->pds[pd].users += !shared;
	}
	ah->refs++;
	*number = ah->number;
	return 0;
}

int softnic_efa_ah_create(struct softnic_efa *handle, uint16_t pd, const uint8_t gid[16],
			  uint16_t *ah)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	int err = -EINVAL;

	if (!sne_enter(nic))
		return -ENODEV;
	if (pd >= SNE_PDS || !nic->pds[pd].live)
		sne_violate(nic, SNE_V_CMD_OBJECT, "create of an AH in PD %u, which does not exist",
			    pd);
	else
		err = sne_refuses(nic, SNE_CMD_AH) ? -ENOMEM : create(nic, pd, gid, ah);
	sne_leave(nic);
	return err;
}

void sne_ah_free(struct sne_nic *nic, struct sne_ah *ah)
{
	ah->refs = 0;
	LIST_REMOVE(ah, link);
	sne_flow_release(nic, ah->flow);
	if (ah->pd != SNE_ANY_PD)
		nic->pds[ah->pd].users--;
	sne_id_give(&nic->ah_ids, ah->number);
}

/* Requests that use an address handle end with the flush status when it is destroyed (SRD.txt, 3.3.1). */
static void flush_requests(struct sne_nic *nic, const struct sne_ah *ah)
{
	struct sne_qp *qp;
	struct sne_wr *wr;

	LIST_FOREACH(qp, &nic->qp_list, link) {
		if (ah->pd != SNE_ANY_PD && ah->pd != qp->attr.pd)
			continue;
		TAILQ_FOREACH(wr, &qp->out, by_qp) {
			if (wr->flow != ah->flow || wr->state == SNE_WR_DONE)
				continue;
			sne_pkts_forget(nic, qp, wr);
			wr->pieces = 0;
			sne_wr_end(nic, wr, SNE_FLUSHED);
		}
	}
}

int softnic_efa_ah_destroy(struct softnic_efa *handle, uint16_t pd, uint16_t number)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	struct sne_ah *ah;
	int err = 0;

	if (!sne_enter(nic))
		return -ENODEV;
	ah = sne_ah_find(nic, pd, number);
	if (!ah) {
		sne_violate(nic, SNE_V_CMD_OBJECT,
			    "destroy of AH %u in PD %u, which does not exist", number, pd);
		err = -EINVAL;
	} else if (!--ah->refs) {
		flush_requests(nic, ah);
		sne_ah_free(nic, ah);
	}
	sne_thread_hand_over(nic);
	sne_leave(nic);
	return err;
}
