/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults of packets: random ones of packets sent, drawn from one seeded generator in a fixed order per
 * packet, so that a run can be repeated; and those that the rules of a script name, in both directions. A
 * packet held back is copied into a list; `reorder` holds it until the next one has passed it, `delay` for
 * a time. If the list is full, the packet is not held back.
 *
 * The capture sees the adapter's side of the faults: they happen on the wire behind it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/clock.h"
#include "softnic/fabric/link.h"
#include "softnic/random.h"

/* most packets held back: several windows of a connection on a path with a delay */
#define HELD_MAX 1024u
/* if no other packet follows a reordered packet, it leaves after this time */
#define REORDER_US 500u
/* the same time if a rule reorders the packet: longer than a retransmission takes, so timing has no
 * effect */
#define REORDER_RULE_US 1000000u
#define DELAY_US 2000u
#define NS_PER_US UINT64_C(1000)

/* What happens to one packet: bits, one for each enum sn_action, and those among them that rules set. */
struct fate {
	unsigned int actions, rules;
	uint32_t us;
	struct sn_fab_label label;
};

struct held {
	TAILQ_ENTRY(held) link;
	bool in;
	bool overtaken;			/* the packet waits until the next packet has passed it */
	bool by_rule;			/* the next packet must go to the same queue pair */
	uint32_t qpn;
	uint64_t due;
	struct sn_fab_dest peer;	/* destination, or sender of a packet that arrived */
	size_t len;
	uint8_t bytes[];
};

struct sn_chaos {
	struct sn_fab_faults faults;
	struct sn_rules rules;
	uint64_t state;
	unsigned int held;
	TAILQ_HEAD(held_list, held) list;	/* packets held back, sorted by due */
	uint8_t room[SN_FAB_MAX];
	uint8_t arrived[SN_FAB_MAX];	/* the packet that arrives */
};

static bool has(const struct fate *fate, enum sn_action action)
{
	return fate->actions >> action & 1;
}

static unsigned int draw(struct sn_chaos *c)
{
	const struct sn_fab_faults *f = &c->faults;
	const double shares[] = {[SN_DROP] = f->drop, [SN_CORRUPT] = f->corrupt, [SN_DELAY] = f->delay,
				 [SN_REORDER] = f->reorder, [SN_DUP] = f->dup};
	unsigned int actions = 0;

	for (unsigned int i = 0; i < SN_ACTIONS; i++)
		actions |= (unsigned int)sn_hit(&c->state, shares[i]) << i;
	return actions;
}

static struct fate judge(struct sn_fab *f, const struct sn_fab_dest *peer, const uint8_t *bytes, size_t len,
			 bool in)
{
	struct sn_rules *rules = &f->chaos->rules;
	struct fate fate = {.us = DELAY_US};

	if (rules->script.rules && f->config.label(bytes, len, &fate.label))
		fate.rules = sn_rules_apply(rules, peer, &fate.label, in, &fate.us);
	fate.actions = fate.rules | (in ? 0 : draw(f->chaos));
	return fate;
}

static void capture(struct sn_fab *f, bool in, const struct sn_fab_dest *peer, const void *bytes, size_t len)
{
	if (f->chaos->faults.capture)
		f->config.capture(f->config.ctx, in, peer, bytes, len);
}

static void arrive(struct sn_fab *f, const struct sn_fab_dest *src, const void *bytes, size_t len)
{
	capture(f, true, src, bytes, len);
	if (src->udp_port)
		f->config.datagram(f->config.ctx, src, bytes, len);
	else
		f->config.deliver(f->config.ctx, &src->gid, bytes, len);
}

/* Packets that are due at the same time keep their order. NULL: the list is full, or there is no memory. */
static struct held *hold_packet(struct sn_chaos *c, const struct sn_fab_dest *peer, const uint8_t *bytes,
				size_t len, uint64_t due)
{
	struct held *h = c->held < HELD_MAX ? malloc(sizeof(*h) + len) : NULL, *before;

	if (!h)
		return NULL;
	*h = (struct held){.peer = *peer, .len = len, .due = due};
	memcpy(h->bytes, bytes, len);
	TAILQ_FOREACH_REVERSE(before, &c->list, held_list, link)
		if (before->due <= due)
			break;
	if (before)
		TAILQ_INSERT_AFTER(&c->list, before, h, link);
	else
		TAILQ_INSERT_HEAD(&c->list, h, link);
	c->held++;
	return h;
}

/* Removes the packet from the list first, because delivering it may send packets, which may release
 * others. */
static void release_packet(struct sn_fab *f, struct held *h)
{
	TAILQ_REMOVE(&f->chaos->list, h, link);
	f->chaos->held--;
	if (h->in)
		arrive(f, &h->peer, h->bytes, h->len);
	else if (sn_fab_send_now(f, &h->peer, h->bytes, h->len))
		f->stats.dropped++;	/* the ring has no room, so the packet is lost */
	free(h);
}

/* Returns a held packet that waits until a packet with this label has passed it, or NULL. */
static struct held *overtaken_packet(struct sn_chaos *c, const struct sn_fab_dest *peer,
				     const struct sn_fab_label *label, bool in)
{
	struct held *h;

	TAILQ_FOREACH(h, &c->list, link)
		if (h->overtaken && h->in == in &&
		    (!h->by_rule || (h->qpn == label->qpn && sn_same_port(&h->peer, peer))))
			break;
	return h;
}

/* Sends the packets that are held back. Drops those that arrived: this may be called within a send, which
 * cannot deliver them. */
static void release_all(struct sn_fab *f)
{
	struct held *h, *next;

	for (h = TAILQ_FIRST(&f->chaos->list); h; h = next) {
		next = TAILQ_NEXT(h, link);
		if (h->in)
			f->stats.dropped++;
		else
			release_packet(f, h);
	}
}

unsigned int sn_chaos_release(struct sn_fab *f)
{
	struct held_list *list = &f->chaos->list;
	uint64_t now = TAILQ_EMPTY(list) ? 0 : sn_now();
	unsigned int delivered = 0;
	struct held *h;

	while ((h = TAILQ_FIRST(list)) && h->due <= now) {
		delivered += h->in;
		release_packet(f, h);
	}
	return delivered;
}

/* Holds the packet back if its fate says so. False: it must be sent or delivered now. */
static bool hold_back(struct sn_fab *f, const struct fate *fate, const struct sn_fab_dest *peer,
		      const uint8_t *bytes, size_t len, bool in)
{
	bool reorder = has(fate, SN_REORDER), by_rule = fate->rules & (1u << SN_REORDER | 1u << SN_DELAY);
	uint32_t us = !reorder ? fate->us : by_rule ? REORDER_RULE_US : REORDER_US;
	struct held *h;

	if (!reorder && !has(fate, SN_DELAY))
		return false;
	h = hold_packet(f->chaos, peer, bytes, len, sn_now() + NS_PER_US * us);
	if (!h)
		return false;
	h->in = in;
	h->overtaken = reorder;
	h->by_rule = by_rule;
	h->qpn = fate->label.qpn;
	if (reorder)
		f->stats.reordered++;
	return true;
}

uint8_t *sn_chaos_room(struct sn_fab *f)
{
	return f->chaos->room;
}

/* A rule flips a bit of the last byte, which is one of the ICRC. So it is detected even if the sender
 * computed no ICRC. */
static void flip_bit(struct sn_fab *f, const struct fate *fate, uint8_t *bytes, size_t len)
{
	uint64_t bit = fate->rules >> SN_CORRUPT & 1 ? len * 8 - 1 : sn_draw(&f->chaos->state) % (len * 8);

	bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	f->stats.corrupted++;
}

static int pass_on(struct sn_fab *f, struct sn_fab_dest *peer, const uint8_t *bytes, size_t len, bool in)
{
	if (!in)
		return sn_fab_send_now(f, peer, bytes, len);
	arrive(f, peer, bytes, len);
	return 0;
}

static int apply_faults(struct sn_fab *f, struct sn_fab_dest *peer, uint8_t *bytes, size_t len, bool in)
{
	struct fate fate = judge(f, peer, bytes, len, in);
	struct held *h;
	int err;

	if (has(&fate, SN_DROP)) {
		f->stats.dropped++;
		return 0;
	}
	if (has(&fate, SN_CORRUPT))
		flip_bit(f, &fate, bytes, len);
	if (hold_back(f, &fate, peer, bytes, len, in))
		return 0;
	err = pass_on(f, peer, bytes, len, in);
	if (err)
		return err;
	if (has(&fate, SN_DUP) && !pass_on(f, peer, bytes, len, in))
		f->stats.duplicated++;
	while ((h = overtaken_packet(f->chaos, peer, &fate.label, in)))
		release_packet(f, h);
	return 0;
}

int sn_chaos_send(struct sn_fab *f, struct sn_fab_dest *dest, size_t len)
{
	uint8_t *bytes = f->chaos->room;
	void *room;
	int err = sn_fab_reserve_now(f, dest, len, &room);

	/* If there is no room, nothing has happened yet, and the caller sends the packet again later. */
	if (err)
		return err;
	capture(f, false, dest, bytes, len);
	return apply_faults(f, dest, bytes, len, false);
}

static void datagram_in(void *fabric, const struct sn_fab_dest *src, const void *pkt, size_t len)
{
	struct sn_fab *f = fabric;
	struct sn_fab_dest peer = *src;

	memcpy(f->chaos->arrived, pkt, len);
	apply_faults(f, &peer, f->chaos->arrived, len, true);
}

static void packet_in(void *fabric, const struct sn_addr *src, const void *pkt, size_t len)
{
	datagram_in(fabric, &(struct sn_fab_dest){.gid = *src}, pkt, len);
}

uint64_t sn_fab_deadline(const struct sn_fab *f)
{
	const struct held *h = f->chaos ? TAILQ_FIRST(&f->chaos->list) : NULL;

	return h && (!f->paused || h->due < f->paused) ? h->due : f->paused;
}

void sn_chaos_close(struct sn_fab *f)
{
	struct held *h;

	while (f->chaos && (h = TAILQ_FIRST(&f->chaos->list))) {
		TAILQ_REMOVE(&f->chaos->list, h, link);
		free(h);
	}
	if (f->chaos)
		sn_rules_clear(&f->chaos->rules);
	free(f->chaos);
	f->chaos = NULL;
	sn_fab_receive_directly(f);
}

int sn_fab_set_faults(struct sn_fab *f, const struct sn_fab_faults *faults)
{
	bool any = faults->drop > 0 || faults->dup > 0 || faults->reorder > 0 ||
		   faults->corrupt > 0 || faults->delay > 0 || faults->script.rules || faults->capture;
	struct sn_chaos *next = any ? calloc(1, sizeof(*next)) : NULL;

	if (any && !next)
		return -ENOMEM;
	if (f->chaos && !f->forked)
		release_all(f);
	sn_chaos_close(f);
	f->chaos = next;
	if (any) {
		next->faults = *faults;
		next->rules.script = faults->script;
		next->state = faults->seed;
		TAILQ_INIT(&next->list);
		f->receiver = (__typeof__(f->receiver)){packet_in, datagram_in, f};
	}
	return 0;
}
