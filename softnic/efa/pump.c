/* SPDX-License-Identifier: BSD-2-Clause */
/* One turn of the device, and the functions that run turns. */
#include "softnic/efa/nic.h"

enum {
	BUDGET = 64,			/* packets that one turn takes from the fabric */
	POSTS_PER_TAKE = 16,		/* posts in a row, one of which takes packets */
	POLLS_PER_LOOK = 16,		/* polls in a row, one of which reads the clock */
	/* how far one turn advances the time, in a device without a clock */
	TURN_NS = 1000,
	/* how far a turn advances the time if it waits only for time to pass */
	IDLE_NS = 50000,
};

bool sne_doorbells(struct sne_nic *nic)
{
	struct sne_qp *qp;
	bool did = false;

	LIST_FOREACH(qp, &nic->qp_list, link) {
		did |= sne_sq_doorbell(nic, qp, false);
		did |= sne_rq_doorbell(nic, qp);
	}
	for (uint32_t i = 0; i < nic->cq_ids.next; i++)
		if (nic->cqs[i])
			sne_cq_doorbell(nic, nic->cqs[i]);
	return did;
}

/* Handles the packets that are in the inbox now. Packets that arrive meanwhile wait for the next
 * turn. */
static bool take_inbox(struct sne_nic *nic)
{
	struct sne_pkts now = TAILQ_HEAD_INITIALIZER(now);
	struct sne_pkt *pkt;
	bool did = false;

	TAILQ_CONCAT(&now, &nic->inbox, by_time);
	while ((pkt = TAILQ_FIRST(&now))) {
		struct { struct sne_hdr hdr; uint8_t payload[SNE_MTU]; } flat;

		TAILQ_REMOVE(&now, pkt, by_time);
		flat.hdr = pkt->hdr;
		memcpy(flat.payload, pkt->payload, pkt->hdr.len);
		sne_receive_packet(nic, &pkt->flow->dest.gid, &flat,
				   sizeof(flat.hdr) + pkt->hdr.len);
		sne_pkt_free(nic, pkt);
		did = true;
	}
	return did;
}

static bool waits(const struct sne_nic *nic)
{
	return nic->nheld || !TAILQ_EMPTY(&nic->senders) || !TAILQ_EMPTY(&nic->done) ||
	       !TAILQ_EMPTY(&nic->inbox);
}

/* In a device that counts turns as time: are more turns needed until a retransmission or a
 * timeout? */
static bool waits_for_time(const struct sne_nic *nic)
{
	return nic->virtual_time && (nic->late_flushes || !TAILQ_EMPTY(&nic->unacked) ||
				     !TAILQ_EMPTY(&nic->rnr) || !TAILQ_EMPTY(&nic->reads));
}

bool sne_waits(const struct sne_nic *nic)
{
	return waits(nic) || waits_for_time(nic);
}

/* Should this turn send packets? Most posts only queue packets: if each left at once, none could
 * overtake another. */
static bool lets_go(struct sne_nic *nic, bool posted)
{
	if (!nic->nheld)
		return false;
	return !posted || nic->threaded || nic->window == 1 || nic->nheld >= nic->window / 2 ||
	       !sne_below(nic, 8);
}

/*
 * A post only sends: the packets of the peers wait for a poll or for the thread, so a run of posts does not
 * share the ring's lines with the peer packet by packet. A host that only posts takes them now and then.
 */
static bool takes(const struct sne_nic *nic, bool posted)
{
	return !posted || !nic->threaded || !(nic->ctr.turns % POSTS_PER_TAKE);
}

/* Handles the packets that have arrived, and what is due at this time. */
static bool take_packets(struct sne_nic *nic)
{
	bool did = take_inbox(nic);

	nic->takes++;
	if (!sn_fab_quiet(nic->fab))
		did |= sn_fab_poll(nic->fab, BUDGET) != 0;
	did |= sne_retry_rnr(nic);
	did |= sne_end_late_reads(nic);
	did |= sne_flush_late(nic);
	did |= sne_retransmit(nic);
	did |= sne_answer_reads(nic);
	return did;
}

bool sne_turn(struct sne_nic *nic, bool posted)
{
	bool did;

	if (nic->virtual_time)
		nic->now += TURN_NS;
	nic->ctr.turns++;
	sn_fab_hold(nic->fab);
	did = takes(nic, posted) && take_packets(nic);
	did |= sne_cut(nic);
	if (lets_go(nic, posted))
		did |= sne_release(nic);
	did |= sne_complete(nic);
	sn_fab_release(nic->fab);
	if (!did && nic->virtual_time)
		nic->now += IDLE_NS;
	return did;
}

/* Would a turn do nothing? Without outstanding work it need not even read the clock. */
static bool is_idle(struct sne_nic *nic)
{
	return nic->threaded && !waits(nic) && !nic->late_flushes && TAILQ_EMPTY(&nic->unacked) &&
	       TAILQ_EMPTY(&nic->rnr) && TAILQ_EMPTY(&nic->reads) && sn_fab_quiet(nic->fab);
}

void softnic_efa_kick(struct softnic_efa *handle, uint32_t number)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	struct sne_qp *qp;

	if (!sne_enter(nic))
		return;
	qp = number < SNE_QPS ? nic->qps[number] : NULL;
	if (qp) {
		sne_sq_doorbell(nic, qp, true);
		sne_rq_doorbell(nic, qp);
	} else {
		sne_violate(nic, SNE_V_DB_UNKNOWN, "doorbell of QP %u, which does not exist",
			    number);
	}
	if (TAILQ_EMPTY(&nic->unacked))
		sne_take_time(nic);
	sne_thread_inline(nic, sne_turn(nic, true), true);
	sne_leave(nic);
}

bool softnic_efa_pump(struct softnic_efa *handle)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	bool left, rests;

	if (!sne_enter(nic))
		return false;
	left = sne_doorbells(nic);
	/* In a rest most turns only send, as after a post. */
	rests = sn_fab_rests(nic->fab);
	if (left || rests || !is_idle(nic)) {
		if (TAILQ_EMPTY(&nic->unacked) || !(nic->takes % POLLS_PER_LOOK))
			sne_take_time(nic);
		left |= sne_turn(nic, rests);
	} else {
		nic->takes++;
	}
	sne_thread_inline(nic, left, false);
	left |= sne_waits(nic);
	sne_leave(nic);
	return left;
}
