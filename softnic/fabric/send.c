/* SPDX-License-Identifier: BSD-2-Clause */
/* Links by address, created on first use, and sending packets into their rings. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "softnic/fabric/link.h"

int sn_fab_watch(struct sn_fab *f, int fd, uint64_t key)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = key};

	return epoll_ctl(f->epfd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int free_slot(struct sn_fab *f, uint32_t *slot)
{
	uint32_t i, slots = f->slots ? 2 * f->slots : 8;
	struct sn_link **links;

	for (i = 0; i < f->slots; i++) {
		if (!f->links[i]) {
			*slot = i;
			return 0;
		}
	}
	links = realloc(f->links, slots * sizeof(*links));
	if (!links)
		return -ENOMEM;
	memset(links + f->slots, 0, (slots - f->slots) * sizeof(*links));
	*slot = f->slots;
	f->links = links;
	f->slots = slots;
	return 0;
}

int sn_fab_add_link(struct sn_fab *f, struct sn_link *link, uint32_t *slot)
{
	int err = free_slot(f, slot);

	if (!err && link->sock >= 0)
		err = sn_fab_watch(f, link->sock, *slot);
	if (err)
		return err;
	f->links[*slot] = link;
	if (*slot >= f->used)
		f->used = *slot + 1;
	f->stats.links_made++;
	return 0;
}

static int open_link(struct sn_fab *f, const struct sn_addr *peer, struct sn_link **link)
{
	if (sn_addr_equal(peer, &f->config.gid))
		return sn_link_loop(peer, f->config.ring_bytes, link);
	if (f->config.flags & SN_FAB_ALONE)
		return -EHOSTUNREACH;
	return sn_link_connect(&f->config, peer, link);
}

static int make_link(struct sn_fab *f, const struct sn_addr *peer, uint32_t *slot)
{
	struct sn_link *link;
	int err, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	sn_registry_lock();
	err = open_link(f, peer, &link);
	if (!err) {
		err = sn_fab_add_link(f, link, slot);
		if (err)
			sn_link_free(link, false);
	}
	sn_registry_unlock();
	pthread_setcancelstate(cancel, NULL);
	if (!err)
		sn_registry_notify(peer);
	return err;
}

static bool is_usable(const struct sn_link *link, const struct sn_addr *peer)
{
	return link && !link->broken && sn_addr_equal(&link->peer, peer);
}

bool sn_fab_linked(const struct sn_fab *f, const struct sn_addr *gid)
{
	uint32_t i;

	for (i = 0; i < f->slots; i++)
		if (is_usable(f->links[i], gid))
			return true;
	return false;
}

static struct sn_link *link_to(const struct sn_fab *f, const struct sn_fab_dest *dest)
{
	if (f->forked || dest->slot >= f->slots || !is_usable(f->links[dest->slot], &dest->gid))
		return NULL;
	return f->links[dest->slot];
}

int sn_fab_find_link(struct sn_fab *f, struct sn_fab_dest *dest, struct sn_link **link)
{
	uint32_t slot = dest->slot;
	int err;

	if (slot >= f->slots || !is_usable(f->links[slot], &dest->gid)) {
		for (slot = 0; slot < f->slots; slot++)
			if (is_usable(f->links[slot], &dest->gid))
				break;
		if (slot == f->slots) {
			err = make_link(f, &dest->gid, &slot);
			if (err)
				return err;
		}
		dest->slot = slot;
	}
	*link = f->links[slot];
	return 0;
}

void sn_fab_break_link(struct sn_fab *f, struct sn_link *link)
{
	link->broken = true;
	atomic_store_explicit(&f->attention, 1, memory_order_relaxed);
}

/* Reading the flag waits until the records have become visible, so it is read once for a whole run of
 * packets. */
static void wake_peer(struct sn_fab *f, struct sn_link *link)
{
	link->wake_unchecked = false;
	if (!sn_ring_take_waiter(&link->tx))
		return;
	f->stats.wakeups++;
	sn_link_wake(link);
}

void sn_fab_hold(struct sn_fab *f)
{
	f->held = true;
}

void sn_fab_release(struct sn_fab *f)
{
	struct sn_link *link;

	f->held = false;
	while ((link = SLIST_FIRST(&f->wake_unchecked)) && !f->forked) {
		SLIST_REMOVE_HEAD(&f->wake_unchecked, unchecked_link);
		wake_peer(f, link);
	}
	if (f->udp && !f->forked)
		sn_udp_flush(f);
}

static void hold_back(struct sn_fab *f, struct sn_link *link)
{
	if (link->wake_unchecked)
		return;
	link->wake_unchecked = true;
	SLIST_INSERT_HEAD(&f->wake_unchecked, link, unchecked_link);
}

int sn_fab_reserve_now(struct sn_fab *f, struct sn_fab_dest *dest, size_t len, void **pkt)
{
	struct sn_link *link;
	int err;

	if (dest->udp_port)
		return sn_udp_reserve(f, len, pkt);
	err = sn_fab_find_link(f, dest, &link);
	if (err)
		return err;
	switch (sn_ring_reserve(&link->tx, len, pkt)) {
	case SN_RING_OK:
		return 0;
	case SN_RING_FULL:
		link->blocked = len;
		f->stats.full++;
		return -EAGAIN;
	case SN_RING_BROKEN:
		sn_fab_break_link(f, link);
		break;
	}
	return -EAGAIN;
}

void sn_fab_commit_both(struct sn_fab *f, struct sn_fab_dest *dest, size_t len, size_t piggyback)
{
	struct sn_link *link = f->links[dest->slot];

	sn_ring_commit(&link->tx, len, piggyback);
	link->blocked = 0;
	f->stats.sent += piggyback ? 2 : 1;
	if (f->held)
		hold_back(f, link);
	else
		wake_peer(f, link);
}

int sn_fab_send_now(struct sn_fab *f, struct sn_fab_dest *dest, const void *bytes, size_t len)
{
	void *pkt;
	int err = sn_fab_reserve_now(f, dest, len, &pkt);

	if (err)
		return err;
	memcpy(pkt, bytes, len);
	if (dest->udp_port)
		sn_udp_commit(f, dest, len);
	else
		sn_fab_commit_both(f, dest, len, 0);
	return 0;
}

void *sn_fab_room(const struct sn_fab *f, const struct sn_fab_dest *dest, size_t len)
{
	struct sn_link *link = f->chaos || len > SN_FAB_MAX ? NULL : link_to(f, dest);

	return link ? sn_ring_room(&link->tx, len) : NULL;
}

bool sn_fab_has_room(struct sn_fab *f, const struct sn_fab_dest *dest)
{
	struct sn_link *link = link_to(f, dest);

	if (dest->udp_port)
		return f->forked || sn_udp_has_room(f);
	return !link || !link->blocked || sn_ring_has_room(&link->tx, link->blocked);
}

bool sn_fab_unread(const struct sn_fab *f, const struct sn_fab_dest *dest)
{
	const struct sn_link *link = link_to(f, dest);

	return link && sn_ring_unread(&link->tx);
}
