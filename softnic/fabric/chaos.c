/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults of packets, drawn from one seeded generator in a fixed order per packet, so that a run can be
 * repeated. A delayed packet is copied into a small pool; `reorder` delays a packet until the next one
 * has passed it, `delay` for a time. If the pool is full, the packet is sent at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "softnic/fabric/link.h"
#include "softnic/random.h"

#define POOL 32
/* if no other packet follows a reordered packet, it leaves after this time */
#define REORDER_NS UINT64_C(500000)
#define DELAY_NS UINT64_C(2000000)

struct held {
	bool used, overtaken;		/* overtaken: the packet is to be sent after the next one */
	uint64_t due;
	struct sn_fab_dest dest;
	size_t len;
	uint8_t bytes[SN_FAB_MAX];
};

struct sn_chaos {
	struct sn_fab_faults faults;
	uint64_t state;
	unsigned int held;
	struct held pool[POOL];
	uint8_t room[SN_FAB_MAX];
};

uint64_t sn_fab_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct held *hold_packet(struct sn_chaos *c, const struct sn_fab_dest *dest, const uint8_t *bytes,
			 size_t len)
{
	unsigned int i;

	for (i = 0; i < POOL; i++) {
		struct held *h = &c->pool[i];

		if (h->used)
			continue;
		h->used = true;
		h->overtaken = false;
		h->dest = *dest;
		h->len = len;
		memcpy(h->bytes, bytes, len);
		c->held++;
		return h;
	}
	return NULL;
}

static void release_held(struct sn_fab *f, bool overtaken_too, bool all)
{
	struct sn_chaos *c = f->chaos;
	uint64_t now = sn_fab_now();
	unsigned int i;

	for (i = 0; i < POOL && c->held; i++) {
		struct held *h = &c->pool[i];

		if (!h->used || !(all || h->due <= now || (overtaken_too && h->overtaken)))
			continue;
		/* The ring has no room, so the packet is lost. */
		if (sn_fab_send_now(f, &h->dest, h->bytes, h->len))
			f->stats.dropped++;
		h->used = false;
		c->held--;
	}
}

void sn_chaos_release(struct sn_fab *f)
{
	if (f->chaos->held)
		release_held(f, false, false);
}

/* Delays the packet if its fault says so. False: it must be sent now. */
static bool hold_back(struct sn_fab *f, const struct sn_fab_dest *dest, const uint8_t *bytes,
		      size_t len)
{
	struct sn_chaos *c = f->chaos;
	bool reorder = sn_hit(&c->state, c->faults.reorder), delay = sn_hit(&c->state, c->faults.delay);
	struct held *h = reorder || delay ? hold_packet(c, dest, bytes, len) : NULL;

	if (!h)
		return false;
	h->overtaken = reorder;
	h->due = sn_fab_now() + (reorder ? REORDER_NS : DELAY_NS);
	if (reorder)
		f->stats.reordered++;
	return true;
}

uint8_t *sn_chaos_room(struct sn_fab *f)
{
	return f->chaos->room;
}

int sn_chaos_send(struct sn_fab *f, struct sn_fab_dest *dest, size_t len)
{
	struct sn_chaos *c = f->chaos;
	uint8_t *bytes = c->room;
	int err;

	if (sn_hit(&c->state, c->faults.drop)) {
		f->stats.dropped++;
		return 0;
	}
	if (sn_hit(&c->state, c->faults.corrupt)) {
		uint64_t bit = sn_draw(&c->state) % (len * 8);

		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		f->stats.corrupted++;
	}
	if (hold_back(f, dest, bytes, len))
		return 0;
	err = sn_fab_send_now(f, dest, bytes, len);
	if (err)
		return err;
	if (sn_hit(&c->state, c->faults.dup) && !sn_fab_send_now(f, dest, bytes, len))
		f->stats.duplicated++;
	if (c->held)
		release_held(f, true, false);
	return 0;
}

uint64_t sn_fab_deadline(const struct sn_fab *f)
{
	uint64_t first = f->paused;
	unsigned int i;

	for (i = 0; f->chaos && i < POOL; i++) {
		const struct held *h = &f->chaos->pool[i];

		if (h->used && (!first || h->due < first))
			first = h->due;
	}
	return first;
}

int sn_fab_set_faults(struct sn_fab *f, const struct sn_fab_faults *faults)
{
	bool any = faults->drop > 0 || faults->dup > 0 || faults->reorder > 0 ||
		   faults->corrupt > 0 || faults->delay > 0;

	if (f->chaos) {
		release_held(f, true, true);
		if (!any) {
			free(f->chaos);
			f->chaos = NULL;
			return 0;
		}
	} else if (any) {
		f->chaos = calloc(1, sizeof(*f->chaos));
		if (!f->chaos)
			return -ENOMEM;
	}
	if (any) {
		f->chaos->faults = *faults;
		f->chaos->state = faults->seed;
	}
	return 0;
}
