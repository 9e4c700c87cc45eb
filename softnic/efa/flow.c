/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reliability between two devices: each packet has a number, arrives at most once, and is repeated
 * until its acknowledgement comes or time is up. Order is nobody's promise.
 */
#include <errno.h>
#include <stdlib.h>

#include "softnic/efa/sne.h"

enum { NS_PER_MS = 1000000, TRIES = 8 };

struct patience {
	uint64_t repeat;		/* after so long without an acknowledgement */
	uint64_t silent;		/* a peer that is there and does not answer */
	uint64_t stalled;		/* one that has not even looked */
	uint64_t absent;		/* nobody has the GID */
};

/* The time of a device without thread is counted in turns, of which a seed takes thousands. */
static const struct patience in_turns = {
	2 * NS_PER_MS, 20 * NS_PER_MS, 100 * NS_PER_MS, 5 * NS_PER_MS,
}, in_earnest = {
	5 * NS_PER_MS, UINT64_C(4000) * NS_PER_MS, UINT64_C(30000) * NS_PER_MS, 300 * NS_PER_MS,
};

static const struct patience *patience(const struct sne_nic *nic)
{
	return nic->virtual_time ? &in_turns : &in_earnest;
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
	struct sne_flow *flow;

	LIST_FOREACH(flow, &nic->flows[bucket(gid)], link)
		if (sn_addr_equal(&flow->dest.gid, gid))
			return flow;
	return NULL;
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
	return !TAILQ_EMPTY(&flow->by_seq);
}

static bool message_names(const struct sne_nic *nic, const struct sne_flow *flow)
{
	const struct sne_rmsg *m;
	const struct sne_job *job;

	LIST_FOREACH(m, &nic->rmsgs, link)
		if (m->flow == flow)
			return true;
	TAILQ_FOREACH(job, &nic->jobs, link)
		if (job->flow == flow)
			return true;
	return false;
}

/*
 * A flow ends with its link, when nothing names it any more. If the peer lives and comes back, a new flow
 * must not repeat numbers that the peer has seen: numbers go on from those of all flows that have ended.
 */
void sne_flow_release(struct sne_nic *nic, struct sne_flow *flow)
{
	if (flow->self || !LIST_EMPTY(&flow->ahs) || (nic->fab && sn_fab_linked(nic->fab, &flow->dest.gid)) ||
	    packet_names(nic, flow) || wr_names(nic, flow) || message_names(nic, flow))
		return;
	if ((int32_t)(flow->next_seq - nic->first_seq) > 0)
		nic->first_seq = flow->next_seq;
	LIST_REMOVE(flow, link);
	nic->nflows--;
	free(flow);
}

/* Flows whose last packet or request has ended after their link. */
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
	flow->next_seq = nic->first_seq;
	flow->dest.gid = addr;
	flow->self = sn_addr_equal(&addr, &nic->gid);
	TAILQ_INIT(&flow->by_seq);
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

	while (nic->nheld)
		free(nic->held[--nic->nheld]);
	free_list(&nic->unacked);
	free_list(&nic->inbox);
	free_list(&nic->spare[0]);
	free_list(&nic->spare[1]);
	for (unsigned int i = 0; i < SNE_BUCKETS; i++)
		while ((flow = LIST_FIRST(&nic->flows[i]))) {
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
	TAILQ_INSERT_TAIL(&flow->by_seq, pkt, by_seq);
}

void sne_flow_drop(struct sne_nic *nic, struct sne_pkt *pkt)
{
	TAILQ_REMOVE(&pkt->flow->by_seq, pkt, by_seq);
	pkt->flow->sent[pkt->hdr.seq % SNE_SEQS] = NULL;
	pkt->flow->flight--;
	if (pkt->in_flight)
		TAILQ_REMOVE(&nic->unacked, pkt, by_time);
	sne_pkt_free(nic, pkt);
}

static int put_in_inbox(struct sne_nic *nic, const struct sne_pkt *pkt)
{
	struct sne_pkt *copy = sne_pkt_new(nic, pkt->hdr.len);

	if (!copy)
		return -ENOMEM;
	copy->flow = pkt->flow;
	copy->hdr = pkt->hdr;
	memcpy(copy->payload, pkt->payload, pkt->hdr.len);
	TAILQ_INSERT_TAIL(&nic->inbox, copy, by_time);
	return 0;
}

static int put(struct sne_nic *nic, struct sne_pkt *pkt)
{
	struct iovec iov[2] = { { &pkt->hdr, sizeof(pkt->hdr) }, { pkt->payload, pkt->hdr.len } };
	int err;

	if (pkt->flow->self)
		return put_in_inbox(nic, pkt);
	if (!nic->fab)
		return -EHOSTUNREACH;
	err = sn_fab_send(nic->fab, &pkt->flow->dest, iov, pkt->hdr.len ? 2 : 1);
	pkt->flow->blocked = err == -EAGAIN;
	return err;
}

/* What met a full link may have been a repetition, which nothing tries again once it is answered. */
bool sne_flow_blocked(struct sne_nic *nic, struct sne_flow *flow)
{
	if (flow->blocked && (!nic->fab || sn_fab_has_room(nic->fab, &flow->dest)))
		flow->blocked = false;
	return flow->blocked;
}

bool sne_flow_has_room(struct sne_nic *nic, struct sne_flow *flow)
{
	const struct sne_pkt *oldest = TAILQ_FIRST(&flow->by_seq);

	if (nic->nheld >= nic->window || sne_flow_blocked(nic, flow))
		return false;
	return !oldest || (flow->flight < SNE_FLIGHT &&
			   flow->next_seq - oldest->hdr.seq < SNE_SEQS);
}

/* -EAGAIN: to be tried again. All else counts as sent: what the wire loses is repeated. */
int sne_transmit(struct sne_nic *nic, struct sne_pkt *pkt)
{
	const struct sne_pkt *oldest = TAILQ_FIRST(&pkt->flow->by_seq);
	int err;

	pkt->hdr.una = oldest ? oldest->hdr.seq : pkt->flow->next_seq;
	pkt->hdr.dst_life = pkt->flow->peer_life;
	if (sne_chance(nic, nic->fault.drop)) {
		nic->ctr.drops++;
		return 0;
	}
	if (nic->nheld > 1 && sne_chance(nic, nic->fault.reorder))
		return -EAGAIN;
	err = put(nic, pkt);
	if (err == -EAGAIN)
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

static void give_up(struct sne_nic *nic, struct sne_pkt *pkt)
{
	struct sne_wr *wr = pkt->wr;
	struct sne_hdr h = pkt->hdr;
	uint8_t status = pkt->flow->responsive ? SNE_UNRESPONSIVE : SNE_UNREACHABLE;

	sne_flow_drop(nic, pkt);
	if (wr)
		sne_wr_acked(nic, wr, &h, status);
}

/* A peer that was stopped, as one to which we were, has some tries from when it is back. */
static bool time_is_up(struct sne_nic *nic, const struct sne_pkt *pkt, bool stalled)
{
	const struct patience *p = patience(nic);
	const struct sne_flow *flow = pkt->flow;

	if (flow->away && nic->now - flow->away >= p->absent && nic->now - pkt->first >= p->absent)
		return true;
	if (stalled)
		return nic->now - pkt->first >= p->stalled;
	return nic->now - pkt->first >= p->silent && pkt->tries >= TRIES;
}

/* Has the peer looked at what it was sent before this turn? */
static bool is_stalled(struct sne_nic *nic, struct sne_flow *flow)
{
	if (!nic->fab || flow->self)
		return false;
	if (flow->looked != nic->ctr.turns) {
		flow->looked = nic->ctr.turns;
		flow->stalled = sn_fab_unread(nic->fab, &flow->dest);
	}
	return flow->stalled;
}

bool sne_retransmit(struct sne_nic *nic)
{
	uint64_t repeat = patience(nic)->repeat;
	struct sne_pkt *pkt;
	bool did = false;

	while ((pkt = TAILQ_FIRST(&nic->unacked)) && nic->now - pkt->sent >= repeat) {
		bool stalled = is_stalled(nic, pkt->flow);

		did = true;
		if (time_is_up(nic, pkt, stalled)) {
			give_up(nic, pkt);
			continue;
		}
		TAILQ_REMOVE(&nic->unacked, pkt, by_time);
		pkt->sent = nic->now;
		TAILQ_INSERT_TAIL(&nic->unacked, pkt, by_time);
		if (stalled)
			continue;
		pkt->tries++;
		if (sne_transmit(nic, pkt))
			continue;
		nic->ctr.retransmits++;
	}
	return did;
}

static void acknowledge(struct sne_nic *nic, struct sne_flow *flow, uint32_t seq, uint8_t status)
{
	struct sne_pkt *ack = sne_pkt_new(nic, 0);

	if (!ack)
		return;			/* as if the wire had lost it */
	ack->flow = flow;
	ack->hdr.kind = SNE_K_ACK;
	ack->hdr.seq = seq;
	ack->hdr.status = status;
	sne_hold(nic, ack);
}

static void take_ack(struct sne_nic *nic, struct sne_flow *flow, const struct sne_hdr *h)
{
	struct sne_pkt *pkt = flow->sent[h->seq % SNE_SEQS];

	flow->responsive = true;
	if (pkt && pkt->hdr.seq == h->seq && pkt->in_flight) {
		struct sne_wr *wr = pkt->wr;
		struct sne_hdr piece = pkt->hdr;

		sne_flow_drop(nic, pkt);
		if (wr)
			sne_wr_acked(nic, wr, &piece, h->status);
	}
}

/* What the sender will not repeat makes room for new numbers. */
static void advance(struct sne_flow *flow, uint32_t una)
{
	uint32_t n = una - flow->base;

	if (n >= UINT32_C(1) << 31)
		return;
	for (uint32_t i = 0; i < n && i < SNE_SEQS; i++)
		flow->verdict[(flow->base + i) % SNE_SEQS] = 0;
	flow->base = una;
}

static void take_numbered(struct sne_nic *nic, struct sne_flow *flow, const struct sne_hdr *h,
			  const uint8_t *payload)
{
	uint8_t *verdict = &flow->verdict[h->seq % SNE_SEQS];

	advance(flow, h->una);
	if (h->seq - flow->base >= SNE_SEQS) {
		nic->ctr.duplicates++;		/* of what was acknowledged long ago */
		return;
	}
	if (*verdict)
		nic->ctr.duplicates++;
	else
		*verdict = (uint8_t)(1 + sne_rx(nic, flow, h, payload));
	/* Dropped without a word: it may come again. */
	if (*verdict == 1 + SNE_SILENT)
		*verdict = 0;
	else
		acknowledge(nic, flow, h->seq, (uint8_t)(*verdict - 1));
}

/* A peer that was opened anew starts with new numbers. */
static bool same_lives(struct sne_nic *nic, struct sne_flow *flow, const struct sne_hdr *h)
{
	if (h->dst_life && h->dst_life != nic->life)
		return false;
	if (flow->peer_life != h->src_life) {
		flow->peer_life = h->src_life;
		memset(flow->verdict, 0, sizeof(flow->verdict));
		flow->base = h->kind == SNE_K_ACK ? 0 : h->una;
	}
	return true;
}

static bool well_formed(const struct sne_hdr *h, size_t len)
{
	return h->magic == SNE_MAGIC && h->version == SNE_VERSION && h->kind >= SNE_K_ACK &&
	       h->kind <= SNE_K_DATA && h->len <= SNE_MTU && len == sizeof(*h) + h->len &&
	       h->off <= h->msg_len && h->len <= h->msg_len - h->off &&
	       h->status <= SNE_FEATURE_MISMATCH;
}

/* pkt may lie in memory that its sender still writes: the header is copied before it is judged. */
void sne_receive_packet(struct sne_nic *nic, const struct sn_addr *src, const void *pkt, size_t len)
{
	struct sne_flow *flow;
	struct sne_hdr h;

	nic->ctr.rx_packets++;
	if (nic->fault.silence)
		return;
	if (len >= sizeof(h))
		memcpy(&h, pkt, sizeof(h));
	/* Load the header once, so that the checked values are the used ones. */
	__asm__ volatile("" ::: "memory");
	if (len < sizeof(h) || !well_formed(&h, len)) {
		sne_violate(nic, SNE_V_RX_MALFORMED, "%zu bytes", len);
		return;
	}
	flow = sne_flow_get(nic, src->raw);
	if (!flow || !same_lives(nic, flow, &h))
		return;
	if (h.kind == SNE_K_ACK)
		take_ack(nic, flow, &h);
	else if (h.kind == SNE_K_DATAGRAM)
		sne_rx(nic, flow, &h, (const uint8_t *)pkt + sizeof(h));
	else
		take_numbered(nic, flow, &h, (const uint8_t *)pkt + sizeof(h));
}
