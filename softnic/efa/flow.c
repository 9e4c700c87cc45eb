/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows, one for each peer device: their packet numbers and their link. */
#include <errno.h>
#include <stdlib.h>

#include "softnic/efa/nic.h"

enum { SMALL = 256 };

_Static_assert(SNE_ACKS * sizeof(struct sne_ack) <= SMALL, "an ACK fits in a small packet");

struct sne_pkt *sne_pkt_new(struct sne_nic *nic, size_t payload)
{
	bool big = payload > SMALL;
	struct sne_pkt *pkt = TAILQ_FIRST(&nic->spare[big]);

	if (pkt)
		TAILQ_REMOVE(&nic->spare[big], pkt, by_time);
	else
		pkt = malloc(sizeof(*pkt) + (big ? SNE_MTU : SMALL));
	if (!pkt)
		return NULL;
	pkt->flow = NULL;
	pkt->wr = NULL;
	pkt->qp = NULL;
	pkt->born = nic->births++;
	pkt->tries = 0;
	pkt->numbered = pkt->in_flight = false;
	pkt->big = big;
	pkt->hdr = (struct sne_hdr){ .magic = SNE_MAGIC, .version = SNE_VERSION, .src_life = nic->life };
	return pkt;
}

void sne_pkt_free(struct sne_nic *nic, struct sne_pkt *pkt)
{
	TAILQ_INSERT_HEAD(&nic->spare[pkt->big], pkt, by_time);
}

static unsigned int bucket(const struct sn_addr *gid)
{
	unsigned int h = 0;

	for (unsigned int i = 0; i < sizeof(gid->raw); i++)
		h = h * 31 + gid->raw[i];
	return h % SNE_BUCKETS;
}

struct sne_flow *sne_flow_find(struct sne_nic *nic, const struct sn_addr *gid)
{
	struct sne_flow *flow = nic->last_flow;

	if (flow && sn_addr_equal(&flow->dest.gid, gid))
		return flow;
	LIST_FOREACH(flow, &nic->flows[bucket(gid)], link)
		if (sn_addr_equal(&flow->dest.gid, gid))
			break;
	nic->last_flow = flow;
	return flow;
}

static bool wr_names(const struct sne_nic *nic, const struct sne_flow *flow)
{
	const struct sne_qp *qp;
	const struct sne_wr *wr;

	LIST_FOREACH(qp, &nic->qp_list, link)
		TAILQ_FOREACH(wr, &qp->out, by_qp)
			if (wr->flow == flow)
				return true;
	return false;
}

static bool packet_names(const struct sne_nic *nic, const struct sne_flow *flow)
{
	const struct sne_pkt *pkt;

	for (uint32_t i = 0; i < nic->nheld; i++)
		if (nic->held[i]->flow == flow)
			return true;
	TAILQ_FOREACH(pkt, &nic->inbox, by_time)
		if (pkt->flow == flow)
			return true;
	return flow->flight;
}

void sne_rmsgs_forget(struct sne_nic *nic, const struct sne_qp *qp, const struct sne_flow *flow)
{
	struct sne_rmsg *m, *next;

	for (m = LIST_FIRST(&nic->rmsgs); m; m = next) {
		next = LIST_NEXT(m, link);
		if (m->qp != qp && m->flow != flow)
			continue;
		LIST_REMOVE(m, link);
		free(m);
	}
}

/*
 * A flow without references ends with its link. If the peer is alive and connects again, a new flow must
 * not reuse numbers that the peer has seen. So each new flow starts after the numbers of all ended
 * flows. Without an AH no write comes to its end.
 */
void sne_flow_release(struct sne_nic *nic, struct sne_flow *flow)
{
	if (flow->self || !LIST_EMPTY(&flow->ahs) || (nic->fab && sn_fab_linked(nic->fab, &flow->dest.gid)) ||
	    packet_names(nic, flow) || wr_names(nic, flow) || flow->in_senders)
		return;
	if ((int32_t)(flow->next_seq - nic->first_seq) > 0)
		nic->first_seq = flow->next_seq;
	sne_rmsgs_forget(nic, NULL, flow);
	LIST_REMOVE(flow, link);
	if (nic->last_flow == flow)
		nic->last_flow = NULL;
	nic->nflows--;
	free(flow);
}

/* Frees the flows whose link is gone and whose last packet or request has ended. */
static void release_idle(struct sne_nic *nic)
{
	struct sne_flow *flow, *next;

	for (unsigned int i = 0; i < SNE_BUCKETS; i++) {
		for (flow = LIST_FIRST(&nic->flows[i]); flow; flow = next) {
			next = LIST_NEXT(flow, link);
			sne_flow_release(nic, flow);
		}
	}
}

struct sne_flow *sne_flow_get(struct sne_nic *nic, const uint8_t gid[16])
{
	struct sne_flow *flow;
	struct sn_addr addr;

	memcpy(addr.raw, gid, sizeof(addr.raw));
	flow = sne_flow_find(nic, &addr);
	if (flow)
		return flow;
	release_idle(nic);
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		return NULL;
	nic->nflows++;
	flow->next_seq = flow->una = nic->first_seq;
	flow->dest.gid = addr;
	flow->self = sn_addr_equal(&addr, &nic->gid);
	TAILQ_INIT(&flow->cutting);
	TAILQ_INIT(&flow->jobs);
	LIST_INSERT_HEAD(&nic->flows[bucket(&addr)], flow, link);
	return flow;
}

static void free_list(struct sne_pkts *list)
{
	struct sne_pkt *pkt;

	while ((pkt = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, pkt, by_time);
		free(pkt);
	}
}

void sne_flows_free(struct sne_nic *nic)
{
	struct sne_flow *flow;
	struct sne_job *job;

	while (nic->nheld)
		free(nic->held[--nic->nheld]);
	free_list(&nic->unacked);
	free_list(&nic->inbox);
	free_list(&nic->spare[0]);
	free_list(&nic->spare[1]);
	for (unsigned int i = 0; i < SNE_BUCKETS; i++)
		while ((flow = LIST_FIRST(&nic->flows[i]))) {
			while ((job = TAILQ_FIRST(&flow->jobs))) {
				TAILQ_REMOVE(&flow->jobs, job, link);
				free(job);
			}
			LIST_REMOVE(flow, link);
			free(flow);
		}
}

void sne_flow_number(struct sne_flow *flow, struct sne_pkt *pkt)
{
	pkt->numbered = true;
	pkt->hdr.seq = flow->next_seq++;
	flow->flight++;
	flow->sent[pkt->hdr.seq % SNE_SEQS] = pkt;
}

void sne_flow_drop(struct sne_nic *nic, struct sne_pkt *pkt)
{
	struct sne_flow *flow = pkt->flow;

	flow->sent[pkt->hdr.seq % SNE_SEQS] = NULL;
	flow->flight--;
	while (flow->una != flow->next_seq && !flow->sent[flow->una % SNE_SEQS])
		flow->una++;
	if (pkt->in_flight)
		TAILQ_REMOVE(&nic->unacked, pkt, by_time);
	sne_pkt_free(nic, pkt);
}

void sne_pkt_end(struct sne_nic *nic, struct sne_pkt *pkt, uint8_t status)
{
	struct sne_wr *wr = pkt->wr;
	struct sne_hdr h = pkt->hdr;

	if (pkt->numbered)
		sne_flow_drop(nic, pkt);
	else
		sne_pkt_free(nic, pkt);
	if (wr)
		sne_wr_acked(nic, wr, &h, status);
}

static void gather(uint8_t *to, const struct iovec *iov, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		memcpy(to, iov[i].iov_base, iov[i].iov_len);
		to += iov[i].iov_len;
	}
}

static int put_in_inbox(struct sne_nic *nic, const struct sne_pkt *pkt, const struct iovec *iov,
			unsigned int n)
{
	struct sne_pkt *copy = sne_pkt_new(nic, pkt->hdr.len);

	if (!copy)
		return -ENOMEM;
	copy->flow = pkt->flow;
	copy->hdr = pkt->hdr;
	gather(copy->payload, iov, n);
	TAILQ_INSERT_TAIL(&nic->inbox, copy, by_time);
	return 0;
}

static int put_in_link(struct sne_nic *nic, const struct sne_pkt *pkt, const struct iovec *iov,
		       unsigned int n)
{
	struct sn_fab_dest *dest = &pkt->flow->dest;
	size_t len = sizeof(pkt->hdr) + pkt->hdr.len;
	void *to = sn_fab_room(nic->fab, dest, len);
	int err = to ? 0 : sn_fab_reserve(nic->fab, dest, len, &to);

	if (err)
		return err;
	memcpy(to, &pkt->hdr, sizeof(pkt->hdr));
	gather((uint8_t *)to + sizeof(pkt->hdr), iov, n);
	return sn_fab_commit(nic->fab, dest, len);
}

/* A device reads the payload of a request from the host's memory when the packet leaves, again each time
 * it leaves. */
static int put(struct sne_nic *nic, struct sne_pkt *pkt)
{
	struct iovec iov[SNE_BLOCKS];
	unsigned int n = 0;
	int err;

	if (pkt->hdr.len && pkt->wr)
		n = sne_wr_blocks(nic, pkt->wr, pkt->hdr.off, pkt->hdr.len, iov);
	else if (pkt->hdr.len)
		iov[n++] = (struct iovec){ pkt->payload, pkt->hdr.len };
	if (pkt->hdr.len && !n)
		return -EFAULT;
	/* The rules of a script apply in the fabric. */
	if (pkt->flow->self && !nic->fault.script.rules)
		return put_in_inbox(nic, pkt, iov, n);
	err = put_in_link(nic, pkt, iov, n);
	pkt->flow->blocked = err == -EAGAIN;
	return err;
}

/*
 * Checks the link again: if the packet that found it full was a retransmission and its acknowledgement
 * has come since, no retry would clear the flag.
 */
static bool is_blocked(const struct sne_nic *nic, struct sne_flow *flow)
{
	if (flow->blocked && sn_fab_has_room(nic->fab, &flow->dest))
		flow->blocked = false;
	return flow->blocked;
}

bool sne_flow_has_room(struct sne_nic *nic, struct sne_flow *flow)
{
	if (flow->held >= nic->window || nic->nheld >= SNE_HELD_MAX / 2 || is_blocked(nic, flow))
		return false;
	return flow->flight < SNE_FLIGHT && flow->next_seq - flow->una < SNE_SEQS;
}

/* If the packet is lost, it counts as sent: a timer retransmits it. */
int sne_transmit(struct sne_nic *nic, struct sne_pkt *pkt)
{
	int err;

	pkt->hdr.una = pkt->flow->una;
	pkt->hdr.dst_life = pkt->flow->peer_life;
	if (sne_chance(nic, nic->fault.drop)) {
		nic->ctr.drops++;
		return 0;
	}
	if (nic->nheld > 1 && sne_chance(nic, nic->fault.reorder))
		return -EAGAIN;
	err = put(nic, pkt);
	if (err == -EAGAIN || err == -EFAULT)
		return err;
	nic->ctr.tx_packets++;
	if (err == -EHOSTUNREACH && !pkt->flow->away)
		pkt->flow->away = nic->now;
	else if (!err)
		pkt->flow->away = 0;
	if (!err && sne_chance(nic, nic->fault.dup))
		put(nic, pkt);
	return 0;
}
