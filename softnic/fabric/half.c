/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A large write copied by both sides at once, each a half: the kernel's copy is bound to one core, and
 * a target that polls has another one.
 *
 * Each change of an offer's state is a compare-and-swap of the state that it changes, so that the side
 * that comes second knows what the first did. Nothing of the other half has to be copied before, but
 * the last bytes of all are written when both halves are there: by the target, or when it is done
 * first, by the initiator.
 */
#include <errno.h>
#include <string.h>

#include "softnic/fabric/direct.h"

_Static_assert(SN_DIRECT_LAST == sizeof(uint64_t), "kept in a word");

enum {
	LAST = SN_DIRECT_LAST,
	SHARED_MIN = 1 << 16,	/* bytes; below, telling takes longer than what it saves */
	PAGE = 4096,
	ALONE = 64,		/* writes until a target that did not come is asked again */
};

static bool changed(struct sn_direct_offer *o, uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&o->state, &from, to);
}

bool sn_direct_shares(struct sn_direct *d, uint64_t len, unsigned int n)
{
	if (n != 1 || len < SHARED_MIN || !atomic_load_explicit(&d->out->polled, memory_order_relaxed))
		return false;
	if (!d->alone)
		return true;
	d->alone--;
	return false;
}

static void offer(struct sn_direct *d, uint32_t slot, uint64_t off, uint64_t len, uint64_t from)
{
	struct sn_direct_offer *o = &d->out->offer;

	atomic_store_explicit(&o->slot, slot, memory_order_relaxed);
	atomic_store_explicit(&o->off, off, memory_order_relaxed);
	atomic_store_explicit(&o->len, len, memory_order_relaxed);
	atomic_store_explicit(&o->from, from, memory_order_relaxed);
	atomic_store_explicit(&o->state, SN_OFFER_OPEN, memory_order_release);
}

/* What has become of it. first: our half is there. Nobody works for the offer any more afterwards. */
static enum sn_offer_state settle(struct sn_direct *d, bool first)
{
	struct sn_direct_offer *o = &d->out->offer;
	uint32_t state = atomic_load_explicit(&o->state, memory_order_acquire);
	unsigned int turn = 0;

	if (state == SN_OFFER_OPEN && changed(o, SN_OFFER_OPEN, SN_OFFER_NONE)) {
		d->alone = ALONE;
		return SN_OFFER_NONE;
	}
	if (first)
		changed(o, SN_OFFER_TAKEN, SN_OFFER_LAST);
	do {
		state = atomic_load_explicit(&o->state, memory_order_acquire);
	} while ((state == SN_OFFER_TAKEN || state == SN_OFFER_LAST) && sn_direct_wait(d, &turn));
	return state;
}

bool sn_direct_copy_shared(struct sn_direct *d, const struct sn_direct_slot *slot, uint64_t at,
			   const struct iovec *from)
{
	uint64_t len = from->iov_len, mine = len / 2 - (at + len / 2) % PAGE;
	uint64_t granted = atomic_load_explicit(&slot->at, memory_order_relaxed);
	uint8_t *bytes = from->iov_base;
	struct iovec first = {bytes, mine}, second = {bytes + mine, len - mine};
	struct iovec last = {bytes + len - LAST, LAST};
	bool done;

	offer(d, (uint32_t)(slot - d->out->slot), at + mine - granted, len - mine,
	      (uintptr_t)second.iov_base);
	done = sn_direct_copy(d, at, mine, 0, &first, 1);
	switch (settle(d, done)) {
	case SN_OFFER_ALL:
		return done;
	case SN_OFFER_BUT_LAST:
		return done && sn_direct_copy(d, at + len - LAST, LAST, LAST, &last, 1);
	case SN_OFFER_TAKEN:
	case SN_OFFER_LAST:
		d->pid = 0;
		return false;
	default:
		return done && sn_direct_copy(d, at + mine, len - mine, LAST, &second, 1);
	}
}

/* Where the offered bytes belong, by our own list of what is granted; NULL: nowhere. */
static uint8_t *place(const struct sn_direct *d, uint64_t *len, uint64_t *from)
{
	const struct sn_direct_offer *o = &d->in->offer;
	uint32_t slot = atomic_load_explicit(&o->slot, memory_order_relaxed);
	uint64_t off = atomic_load_explicit(&o->off, memory_order_relaxed);
	const struct sn_grant *g = &d->granted[slot % SN_DIRECT_SLOTS];

	*len = atomic_load_explicit(&o->len, memory_order_relaxed);
	*from = atomic_load_explicit(&o->from, memory_order_relaxed);
	if (*len <= LAST || off > g->len || *len > g->len - off)
		return NULL;
	return (uint8_t *)(uintptr_t)(g->at + off);
}

static bool fetch(struct sn_direct *d, uint8_t *to, uint64_t len, uint64_t from, uint64_t *last)
{
	struct iovec parts[2] = {{to, len - sizeof(*last)}, {last, sizeof(*last)}};
	struct iovec there = {(void *)(uintptr_t)from, len};
	ssize_t done = process_vm_readv(d->pid, parts, 2, &there, 1, 0);

	if (done < 0 && errno != EFAULT && errno != ENOMEM && errno != ESRCH)
		d->no_help = true;
	return done == (ssize_t)len;
}

void sn_direct_help(struct sn_direct *d)
{
	struct sn_direct_offer *o = &d->in->offer;
	uint64_t len, from, last = 0;
	uint8_t *to;

	if (!d->pid || !sn_direct_peer_lives(d) || !changed(o, SN_OFFER_OPEN, SN_OFFER_TAKEN))
		return;
	to = place(d, &len, &from);
	if (!to || !fetch(d, to, len, from, &last)) {
		atomic_store_explicit(&o->state, SN_OFFER_REFUSED, memory_order_release);
		return;
	}
	if (changed(o, SN_OFFER_TAKEN, SN_OFFER_BUT_LAST))
		return;
	memcpy(to + len - sizeof(last), &last, sizeof(last));
	atomic_store_explicit(&o->state, SN_OFFER_ALL, memory_order_release);
}
