/* SPDX-License-Identifier: BSD-2-Clause */
/* The fabric of one device: sending with or without faults, polling, sleeping. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "softnic/fabric/link.h"

enum { REST_TICKS = 700 };	/* about 250 ns: two or three packets of a stream */

/* One in this number of polls checks the sockets, because a system call costs more than a poll. */
#define SERVICE_POLLS 256
#define EVENTS 16

int sn_fab_reserve(struct sn_fab *f, struct sn_fab_dest *dest, size_t len, void **pkt)
{
	if (f->forked)
		return -EHOSTUNREACH;
	if (len == 0 || len > SN_FAB_MAX)
		return -EMSGSIZE;
	if (!f->chaos)
		return sn_fab_reserve_now(f, dest, len, pkt);
	*pkt = sn_chaos_room(f);
	return 0;
}

int sn_fab_commit(struct sn_fab *f, struct sn_fab_dest *dest, size_t len)
{
	if (f->chaos)
		return sn_chaos_send(f, dest, len);
	if (dest->udp_port)
		sn_udp_commit(f, dest, len);
	else
		sn_fab_commit_both(f, dest, len, 0);
	return 0;
}

bool sn_fab_can_piggyback(const struct sn_fab *f)
{
	return !f->chaos;
}

int sn_fab_send(struct sn_fab *f, struct sn_fab_dest *dest, const struct iovec *iov,
		unsigned int n)
{
	size_t len = 0;
	unsigned int i;
	void *pkt;
	uint8_t *to;
	int err;

	for (i = 0; i < n; i++)
		len += iov[i].iov_len;
	err = sn_fab_reserve(f, dest, len, &pkt);
	if (err)
		return err;
	to = pkt;
	for (i = 0; i < n; i++) {
		memcpy(to, iov[i].iov_base, iov[i].iov_len);
		to += iov[i].iov_len;
	}
	return sn_fab_commit(f, dest, len);
}

/* Time by the processor, which costs less than clock_gettime(); 0 where there is no such clock. */
static uint64_t ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

/* The space in the ring is freed after the whole record has been delivered. */
static unsigned int take_record(struct sn_fab *f, struct sn_link *link, const uint8_t *pkt, size_t len)
{
	size_t piggyback = link->rx.piggyback;

	f->receiver.deliver(f->receiver.ctx, &link->peer, pkt, len);
	if (piggyback)
		f->receiver.deliver(f->receiver.ctx, &link->peer, pkt + sn_ring_behind(len), piggyback);
	sn_ring_pop(&link->rx, len, piggyback);
	return piggyback ? 2 : 1;
}

void sn_fab_stop(struct sn_fab *f)
{
	f->stopped = true;
}

static unsigned int poll_link(struct sn_fab *f, struct sn_link *link, unsigned int budget)
{
	unsigned int done = 0;
	const void *pkt;
	int len;

	while (done < budget && !f->stopped && (len = sn_ring_peek(&link->rx, &pkt)) != 0) {
		if (len < 0) {
			sn_fab_break_link(f, link);
			break;
		}
		done += take_record(f, link, pkt, (size_t)len);
	}
	if (link->rx.pos - link->asked >= link->rx.size / 4) {
		/*
		 * After each quarter of the ring, checks whether the peer waits for room. The peer waits
		 * only if the ring was full, so a quarter is early enough.
		 */
		link->asked = link->rx.pos;
		if (sn_ring_take_starved(&link->rx)) {
			f->stats.wakeups++;
			sn_link_wake(link);
		}
	}
	/* A link to oneself has no other producer. */
	if (done && done < budget && !f->stopped && link->sock >= 0 && f->config.flags & SN_FAB_RESTS)
		f->rests_from = ticks();
	f->stats.received += done;
	return done;
}

/* The peer has died. The packets that it had put into the ring count as sent and are delivered. */
static void drop_link(struct sn_fab *f, uint32_t slot)
{
	struct sn_link *link = f->links[slot];
	struct sn_addr peer = link->peer;
	unsigned int left = link->broken ? 0 : (unsigned int)(link->rx.size / SN_RING_LINE), n;

	do {
		f->stopped = false;
		n = left ? poll_link(f, link, left) : 0;
		left -= n < left ? n : left;
	} while (n);
	if (link->wake_unchecked)
		SLIST_REMOVE(&f->wake_unchecked, link, sn_link, unchecked_link);
	sn_registry_lock();
	f->links[slot] = NULL;
	sn_link_free(link, false);
	sn_registry_unlock();
	f->stats.links_lost++;
	f->config.down(f->config.ctx, &peer);
}

/* Wake-ups carry no data; an end of file means that the peer is gone. */
static void serve_link(struct sn_fab *f, uint32_t slot, uint32_t events)
{
	char junk[64];
	ssize_t n = 1;
	unsigned int i;

	if (slot >= f->slots || !f->links[slot])
		return;
	for (i = 0; i < EVENTS && n > 0; i++)
		n = recv(f->links[slot]->sock, junk, sizeof(junk), MSG_DONTWAIT);
	if (n == 0 || (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) || f->links[slot]->broken)
		drop_link(f, slot);
}

static void drop_broken(struct sn_fab *f)
{
	uint32_t i;

	for (i = 0; i < f->slots; i++)
		if (f->links[i] && f->links[i]->broken)
			drop_link(f, i);
}

/* A thread of the host that was cancelled in a system call would keep the device's lock. */
void sn_fab_service(struct sn_fab *f)
{
	struct epoll_event ev[EVENTS];
	int i, n, cancel;

	if (f->forked || f->polling)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	f->polls = 0;
	atomic_store_explicit(&f->attention, 0, memory_order_seq_cst);
	f->polling = true;
	f->stopped = false;
	drop_broken(f);
	/* Empties the UDP socket even if no QP uses it, because unread datagrams would keep the epoll set
	 * readable. */
	if (f->udp)
		sn_udp_poll(f, EVENTS, true);
	n = f->epfd < 0 ? 0 : epoll_wait(f->epfd, ev, EVENTS, 0);
	for (i = 0; i < n; i++) {
		if (ev[i].data.u64 == SN_KEY_LISTENER)
			sn_callers_accept(f);
		else if (ev[i].data.u64 == SN_KEY_UDP)
			continue;
		else if (ev[i].data.u64 & SN_KEY_HALF_OPEN)
			sn_caller_serve(f, (uint32_t)ev[i].data.u64);
		else
			serve_link(f, (uint32_t)ev[i].data.u64, ev[i].events);
	}
	f->polling = false;
	pthread_setcancelstate(cancel, NULL);
}

int sn_fab_reach(struct sn_fab *f, const struct sn_addr *gid)
{
	struct sn_fab_dest dest = {.gid = *gid};
	struct sn_link *link;

	if (f->forked)
		return -EHOSTUNREACH;
	/* Accepts waiting connections first, because the peer may have made the link already. */
	sn_fab_service(f);
	return sn_fab_find_link(f, &dest, &link);
}

unsigned int sn_fab_poll(struct sn_fab *f, unsigned int budget)
{
	unsigned int done = 0;
	uint32_t i, slot, slots;

	if (f->forked || f->polling)
		return 0;
	if (f->paused)
		sn_callers_resume(f);
	if (atomic_load_explicit(&f->attention, memory_order_acquire) ||
	    ++f->polls >= SERVICE_POLLS)
		sn_fab_service(f);
	if (f->chaos)
		done = sn_chaos_release(f);
	f->polling = true;
	f->stopped = false;
	/* UDP gets half of the budget, so that neither UDP nor the rings wait for the other. */
	if (f->udp)
		done += sn_udp_poll(f, (budget + 1) / 2, false);
	slots = f->used;
	slot = f->turn < slots ? f->turn : 0;
	for (i = 0; i < slots && done < budget && !f->stopped; i++) {
		if (f->links[slot] && !f->links[slot]->broken)
			done += poll_link(f, f->links[slot], budget - done);
		if (++slot == slots)
			slot = 0;
	}
	f->polling = false;
	f->turn = slot + (done != 0);
	return done;
}

/*
 * A look at an empty ring takes a cache line from the producer, which needs it back for the next packet of a
 * stream. So no one looks at the rings for a moment after packets. The moment is shorter than the time until
 * the peer could have answered this host's next packet.
 */
bool sn_fab_rests(struct sn_fab *f)
{
	if (!f->rests_from)
		return false;
	if (ticks() - f->rests_from < REST_TICKS)
		return true;
	f->rests_from = 0;
	return false;
}

bool sn_fab_quiet(struct sn_fab *f)
{
	uint32_t i;

	if (f->forked)
		return true;
	if (f->chaos || f->paused || atomic_load_explicit(&f->attention, memory_order_acquire) ||
	    f->polls + 1 >= SERVICE_POLLS)
		return false;
	for (i = 0; i < f->used; i++)
		if (f->links[i] && (f->links[i]->broken || !sn_ring_empty(&f->links[i]->rx)))
			return false;
	if (f->udp && sn_udp_ready(f->udp))
		return false;
	f->polls++;
	return true;
}

int sn_fab_fd(const struct sn_fab *f)
{
	return f->forked ? -1 : f->epfd;
}

bool sn_fab_sleep(struct sn_fab *f)
{
	bool idle = true;
	uint32_t i;

	for (i = 0; i < f->used && !f->forked; i++) {
		struct sn_link *link = f->links[i];

		if (!link)
			continue;
		if (link->broken || !sn_ring_await_record(&link->rx))
			idle = false;
		if (link->blocked && !sn_ring_await_room(&link->tx, link->blocked)) {
			link->blocked = 0;	/* a sender that still waits sets it again */
			idle = false;
		}
	}
	if (f->udp && !f->forked && !sn_udp_watch(f, true))
		idle = false;
	return idle && !atomic_load_explicit(&f->attention, memory_order_seq_cst);
}

void sn_fab_awake(struct sn_fab *f)
{
	uint32_t i;

	for (i = 0; i < f->used && !f->forked; i++) {
		struct sn_link *link = f->links[i];

		if (link && atomic_load_explicit(&link->rx.ctl->asleep, memory_order_relaxed))
			atomic_exchange(&link->rx.ctl->asleep, 0);
	}
	if (f->udp && !f->forked)
		sn_udp_watch(f, false);
}

void sn_fab_stats(const struct sn_fab *f, struct sn_fab_stats *stats)
{
	*stats = f->stats;
}
