/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The window: packets wait here and leave in a random order. Acknowledgements wait too, which delays
 * them. A device with a window of one packet keeps the order.
 */
#include <errno.h>

#include "softnic/efa/nic.h"

enum { AT_ONCE = 4 };

/* Removes packet i from the window. In a window of one packet the others keep their order. */
static struct sne_pkt *take(struct sne_nic *nic, uint32_t i)
{
	struct sne_pkt *pkt = nic->held[i];

	if (pkt->flow->ack == pkt)
		pkt->flow->ack = NULL;
	pkt->flow->held--;
	nic->nheld--;
	if (nic->window == 1)
		memmove(&nic->held[i], &nic->held[i + 1], (nic->nheld - i) * sizeof(nic->held[0]));
	else
		nic->held[i] = nic->held[nic->nheld];
	return pkt;
}

/* The packet has left the window: it waits for its acknowledgement, which a datagram does not have. */
static void sent(struct sne_nic *nic, struct sne_pkt *pkt)
{
	if (!pkt->numbered) {
		sne_pkt_end(nic, pkt, SNE_OK);
		return;
	}
	pkt->in_flight = true;
	pkt->first = pkt->sent = nic->now;
	TAILQ_INSERT_TAIL(&nic->unacked, pkt, by_time);
}

static bool let_go(struct sne_nic *nic, uint32_t i)
{
	struct sne_pkt *pkt = nic->held[i];
	int err = pkt->flow->full == nic->passes ? -EAGAIN : sne_transmit(nic, pkt);

	if (err == -EAGAIN) {
		pkt->flow->full = nic->passes;
		return false;
	}
	if (pkt->born < nic->youngest_sent)
		nic->ctr.reordered++;
	else
		nic->youngest_sent = pkt->born;
	take(nic, i);
	if (err == -EFAULT)
		sne_pkt_end(nic, pkt, SNE_INVALID_LKEY);
	else
		sent(nic, pkt);
	return true;
}

bool sne_hold(struct sne_nic *nic, struct sne_pkt *pkt)
{
	/* Only acknowledgements are sent without a check for room in the window. If one is dropped
	 * here, the peer retransmits its packet and gets a new one. */
	if (nic->nheld == SNE_HELD_MAX) {
		nic->ctr.drops++;
		if (pkt->numbered)
			sent(nic, pkt);
		else
			sne_pkt_free(nic, pkt);
		return false;
	}
	pkt->flow->held++;
	nic->held[nic->nheld++] = pkt;
	return true;
}

/*
 * Releases a few packets, at least one. If another device waits for its turn, releases all of them. Packets
 * whose link is full move to the front, where this pass does not draw from.
 */
bool sne_release(struct sne_nic *nic)
{
	uint32_t n = nic->window == 1 || nic->threaded ? nic->nheld : 1 + sne_below(nic, AT_ONCE);
	uint32_t front = 0, i;
	struct sne_pkt *pkt;
	bool did = false;

	nic->passes++;
	while (n && front < nic->nheld) {
		i = front;
		if (nic->window > 1 && nic->nheld - front > 1)
			i += sne_below(nic, nic->nheld - front);
		pkt = nic->held[i];
		if (let_go(nic, i)) {
			did = true;
			n--;
			continue;
		}
		if (pkt->flow->held == nic->nheld)
			break;
		nic->held[i] = nic->held[front];
		nic->held[front++] = pkt;
	}
	return did;
}

void sne_pkts_forget(struct sne_nic *nic, const struct sne_qp *qp, const struct sne_wr *wr)
{
	struct sne_pkt *pkt, *next;

	for (uint32_t i = 0; i < nic->nheld;) {
		pkt = nic->held[i];
		if (pkt->qp != qp || (wr && pkt->wr != wr)) {
			i++;
			continue;
		}
		take(nic, i);
		if (pkt->numbered)
			sne_flow_drop(nic, pkt);
		else
			sne_pkt_free(nic, pkt);
	}
	for (pkt = TAILQ_FIRST(&nic->unacked); pkt; pkt = next) {
		next = TAILQ_NEXT(pkt, by_time);
		if (pkt->qp == qp && (!wr || pkt->wr == wr))
			sne_flow_drop(nic, pkt);
	}
}
