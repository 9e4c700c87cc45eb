/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reliability between two devices: each packet has a number, arrives at most once, and is retransmitted
 * until its acknowledgement comes or a timeout. Order is not guaranteed.
 */
#include <errno.h>

#include "softnic/bytes.h"
#include "softnic/efa/nic.h"

enum { NS_PER_MS = 1000000, TRIES = 8 };

struct patience {
	/* after this time without an acknowledgement the packet is retransmitted */
	uint64_t repeat;
	uint64_t silent;		/* timeout for a peer that is alive but does not answer */
	uint64_t stalled;		/* timeout for a peer that has not even read its packets */
	uint64_t absent;		/* timeout for a GID that no device has */
	uint64_t read;			/* timeout of a read that was acknowledged but gets no further data */
};

/* For a device without a thread, which counts turns as time: a test with one seed takes thousands of
 * turns. */
static const struct patience in_turns = {
	2 * NS_PER_MS, 20 * NS_PER_MS, 100 * NS_PER_MS, 5 * NS_PER_MS, 40 * NS_PER_MS,
}, in_earnest = {
	5 * NS_PER_MS, UINT64_C(4000) * NS_PER_MS, UINT64_C(30000) * NS_PER_MS, 300 * NS_PER_MS,
	UINT64_C(10000) * NS_PER_MS,
};

static const struct patience *patience(const struct sne_nic *nic)
{
	return nic->virtual_time ? &in_turns : &in_earnest;
}

/* Has the packet's time run out? A peer whose process was stopped gets some more tries. So does any peer
 * after this process was stopped, since the peer then only seemed to be silent. */
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

/* Has the peer read the packets sent before this turn? */
static bool is_stalled(struct sne_nic *nic, struct sne_flow *flow)
{
	if (flow->self)
		return false;
	if (flow->looked != nic->ctr.turns) {
		flow->looked = nic->ctr.turns;
		flow->stalled = sn_fab_unread(nic->fab, &flow->dest);
	}
	return flow->stalled;
}

bool sne_end_late_reads(struct sne_nic *nic)
{
	const struct patience *p = patience(nic);
	struct sne_wr *wr, *next;
	bool did = false;

	for (wr = TAILQ_FIRST(&nic->reads); wr && nic->now - wr->when > p->read; wr = next) {
		next = TAILQ_NEXT(wr, by_progress);
		if (nic->now - wr->when < p->stalled && is_stalled(nic, wr->flow))
			continue;
		sne_wr_end(nic, wr, SNE_UNRESPONSIVE);
		did = true;
	}
	return did;
}

/* Ends a packet. If the peer did not take a packet of a read's data, it is gone or does not wait for more, so
 * the rest is not sent. */
static void end(struct sne_nic *nic, struct sne_pkt *pkt, uint8_t status)
{
	if (status && pkt->hdr.kind == SNE_K_DATA)
		sne_answer_ended(nic, pkt->flow, &pkt->hdr);
	sne_pkt_end(nic, pkt, status);
}

bool sne_retransmit(struct sne_nic *nic)
{
	uint64_t repeat = patience(nic)->repeat;
	struct sne_pkt *pkt;
	bool did = false;
	int err;

	while ((pkt = TAILQ_FIRST(&nic->unacked)) && nic->now - pkt->sent >= repeat) {
		bool stalled = is_stalled(nic, pkt->flow);

		if (time_is_up(nic, pkt, stalled)) {
			end(nic, pkt, pkt->flow->responsive ? SNE_UNRESPONSIVE : SNE_UNREACHABLE);
			did = true;
			continue;
		}
		TAILQ_REMOVE(&nic->unacked, pkt, by_time);
		pkt->sent = nic->now;
		TAILQ_INSERT_TAIL(&nic->unacked, pkt, by_time);
		if (stalled)
			continue;
		did = true;
		pkt->tries++;
		err = sne_transmit(nic, pkt);
		if (err == -EFAULT)
			sne_pkt_end(nic, pkt, SNE_INVALID_LKEY);
		nic->ctr.retransmits += !err;
	}
	return did;
}

/* Adds an acknowledgement to an ACK that waits in the window and has room. */
static void join_ack(struct sne_flow *flow, uint32_t seq, uint8_t status)
{
	const struct sne_ack more = { seq, status };
	struct sne_pkt *ack = flow->ack;

	memcpy(ack->payload + ack->hdr.len, &more, sizeof(more));
	ack->hdr.len += (uint32_t)sizeof(more);
	ack->hdr.msg_len = ack->hdr.len;
	if (ack->hdr.len == SNE_ACKS * sizeof(more))
		flow->ack = NULL;
}

static void acknowledge(struct sne_nic *nic, struct sne_flow *flow, uint32_t seq, uint8_t status)
{
	struct sne_pkt *ack;

	if (flow->ack) {
		join_ack(flow, seq, status);
		return;
	}
	ack = sne_pkt_new(nic, 0);
	if (!ack)
		return;			/* the packet is treated as lost */
	ack->flow = flow;
	ack->hdr.kind = SNE_K_ACK;
	ack->hdr.seq = seq;
	ack->hdr.status = status;
	if (sne_hold(nic, ack))
		flow->ack = ack;
}

static void take_ack(struct sne_nic *nic, struct sne_flow *flow, uint32_t seq, uint8_t status)
{
	struct sne_pkt *pkt = flow->sent[seq % SNE_SEQS];

	if (pkt && pkt->hdr.seq == seq && pkt->in_flight)
		end(nic, pkt, status);
}

/* The sender may still write to the payload, so each entry is copied before it is checked. */
static void take_acks(struct sne_nic *nic, struct sne_flow *flow, const struct sne_hdr *h,
		      const uint8_t *payload)
{
	struct sne_ack more;

	flow->responsive = true;
	take_ack(nic, flow, h->seq, h->status);
	for (uint32_t at = 0; at + sizeof(more) <= h->len; at += (uint32_t)sizeof(more)) {
		memcpy(&more, payload + at, sizeof(more));
		sn_end_copy();
		if (more.status > SNE_FEATURE_MISMATCH) {
			sne_violate(nic, SNE_V_RX_MALFORMED, "an ACK with status %u", more.status);
			return;
		}
		take_ack(nic, flow, more.seq, (uint8_t)more.status);
	}
}

/* Numbers that the sender will not retransmit are done, which makes room for new numbers. */
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
	if (h->seq - flow->base >= SNE_SEQS)
		return;				/* the packet was acknowledged long ago */
	if (!*verdict)
		*verdict = (uint8_t)(1 + sne_rx(nic, flow, h, payload));
	/* The packet is dropped silently and counts as not received, because the sender will retransmit
	 * it. */
	if (*verdict == 1 + SNE_SILENT)
		*verdict = 0;
	else
		acknowledge(nic, flow, h->seq, (uint8_t)(*verdict - 1));
}

/* Are both devices the same that began this flow? A peer that was reopened starts with new numbers. */
static bool same_lives(struct sne_nic *nic, struct sne_flow *flow, const struct sne_hdr *h)
{
	if (h->dst_life && h->dst_life != nic->life)
		return false;
	if (flow->peer_life != h->src_life) {
		flow->peer_life = h->src_life;
		memset(flow->verdict, 0, sizeof(flow->verdict));
		flow->base = h->una;
		sne_rmsgs_forget(nic, NULL, flow);
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

/* The sender may still write to pkt, so the header is copied before it is checked. */
void sne_receive_packet(struct sne_nic *nic, const struct sn_addr *src, const void *pkt, size_t len)
{
	struct sne_flow *flow;
	struct sne_hdr h;

	nic->ctr.rx_packets++;
	if (nic->fault.silence)
		return;
	if (len >= sizeof(h))
		memcpy(&h, pkt, sizeof(h));
	sn_end_copy();
	if (len < sizeof(h) || !well_formed(&h, len)) {
		sne_violate(nic, SNE_V_RX_MALFORMED, "%zu bytes", len);
		return;
	}
	flow = sne_flow_get(nic, src->raw);
	if (!flow || !same_lives(nic, flow, &h))
		return;
	if (h.kind == SNE_K_ACK)
		take_acks(nic, flow, &h, (const uint8_t *)pkt + sizeof(h));
	else if (h.kind == SNE_K_DATAGRAM)
		sne_rx(nic, flow, &h, (const uint8_t *)pkt + sizeof(h));
	else
		take_numbered(nic, flow, &h, (const uint8_t *)pkt + sizeof(h));
}
