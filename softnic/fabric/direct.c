/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "softnic/fabric/direct.h"

enum {
	SPINS = 1024,		/* between looks at whether the peer lives */
	SEEN_NS = 10000000,	/* no process number is given to another one within this time */
};

static struct sn_direct_slot *slot_of(struct sn_direct_ctl *ctl, uint32_t key, uint32_t qpn)
{
	return &ctl->slot[((key ^ qpn) * UINT32_C(2654435769) >> 16) % SN_DIRECT_SLOTS];
}

static bool peer_gone(int sock)
{
	struct pollfd p = {.fd = sock, .events = POLLRDHUP};

	return poll(&p, 1, 0) < 0 || (p.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

void sn_direct_init(struct sn_direct *d, struct sn_direct_ctl *in, struct sn_direct_ctl *out, int sock)
{
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);

	*d = (struct sn_direct){.in = in, .out = out, .sock = sock};
	/* Two devices of one process are brought on by the same calls. */
	if (sock >= 0 && !getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) &&
	    cred.pid != getpid())
		d->pid = cred.pid;
}

static void put(_Atomic uint64_t *word, uint64_t v)
{
	atomic_store_explicit(word, v, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

bool sn_direct_wait(const struct sn_direct *d, unsigned int *turn)
{
	__builtin_ia32_pause();
	if (++*turn % SPINS)
		return true;
	if (peer_gone(d->sock))
		return false;
	sched_yield();
	return true;
}

/* Whoever has looked at a grant before it was cleared is busy, or will look again. */
static void wait_until_idle(struct sn_direct *d)
{
	unsigned int turn = 0;

	while (atomic_load(&d->in->busy) && sn_direct_wait(d, &turn))
		;
}

void sn_direct_grant(struct sn_direct *d, const struct sn_grant *g)
{
	struct sn_direct_slot *slot = slot_of(d->in, g->key, g->qpn);
	struct sn_grant *mine = &d->granted[slot - d->in->slot];

	if (!d->pid)
		return;
	if (mine->len) {
		atomic_exchange(&slot->valid, 0);
		wait_until_idle(d);
	}
	*mine = *g;
	d->any = true;
	atomic_store_explicit(&slot->key, g->key, memory_order_relaxed);
	atomic_store_explicit(&slot->qpn, g->qpn, memory_order_relaxed);
	put(&slot->start, g->start);
	put(&slot->len, g->len);
	put(&slot->at, g->at);
	d->number += d->number == UINT32_MAX ? 2 : 1;
	atomic_store(&slot->valid, d->number);
}

void sn_direct_withdraw(struct sn_direct *d)
{
	if (!d->any)
		return;
	for (unsigned int i = 0; i < SN_DIRECT_SLOTS; i++) {
		if (!d->granted[i].len)
			continue;
		d->granted[i].len = 0;
		atomic_exchange(&d->in->slot[i].valid, 0);
	}
	d->any = false;
	wait_until_idle(d);
}

/* Subtractions only. The words are the target's: if they lie, it is its own memory that suffers. */
static uint32_t look(const struct sn_direct *d, const struct sn_grant *what, uint64_t *at)
{
	const struct sn_direct_slot *slot = slot_of(d->out, what->key, what->qpn);
	uint32_t valid = atomic_load_explicit(&slot->valid, memory_order_acquire);
	uint64_t off = what->start - get(&slot->start), len = get(&slot->len);

	if (atomic_load_explicit(&slot->key, memory_order_relaxed) != what->key ||
	    atomic_load_explicit(&slot->qpn, memory_order_relaxed) != what->qpn ||
	    off > len || what->len > len - off)
		return 0;
	*at = get(&slot->at) + off;
	return valid;
}

bool sn_direct_granted(const struct sn_direct *d, const struct sn_grant *what)
{
	uint64_t at;

	return d->pid && look(d, what, &at);
}

bool sn_direct_peer_lives(struct sn_direct *d)
{
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	if (d->seen && now - d->seen < SEEN_NS)
		return true;
	d->seen = now;
	if (peer_gone(d->sock))
		d->pid = 0;
	return d->pid;
}

bool sn_direct_copy(struct sn_direct *d, uint64_t at, uint64_t len, uint64_t last,
		    const struct iovec *from, unsigned int n)
{
	struct iovec to[2] = {{(void *)(uintptr_t)at, len - last},
			      {(void *)(uintptr_t)(at + len - last), last}};
	unsigned int skip = len == last, parts = last && !skip ? 2 : 1;
	ssize_t done = process_vm_writev(d->pid, from, n, to + skip, parts, 0);

	/* Once forbidden, always; a page that is not there is for the target to stumble over. */
	if (done < 0 && errno != EFAULT && errno != ENOMEM)
		d->pid = 0;
	return done == (ssize_t)len;
}

static bool copy(struct sn_direct *d, uint64_t at, uint64_t len, const struct iovec *from, unsigned int n)
{
	uint64_t last = len < SN_DIRECT_LAST ? len : SN_DIRECT_LAST;

	return sn_direct_copy(d, at, len, last, from, n);
}

bool sn_direct_write(struct sn_direct *d, const struct sn_grant *what, const struct iovec *from,
		     unsigned int n)
{
	const struct sn_direct_slot *slot = slot_of(d->out, what->key, what->qpn);
	uint64_t at = 0;
	uint32_t valid;
	bool done;

	if (!d->pid || !sn_direct_peer_lives(d))
		return false;
	valid = look(d, what, &at);
	if (!valid)
		return false;
	atomic_exchange(&d->out->busy, 1);
	done = atomic_load(&slot->valid) == valid &&
	       (sn_direct_shares(d, what->len, n) ? sn_direct_copy_shared(d, slot, at, from)
						  : copy(d, at, what->len, from, n));
	atomic_store_explicit(&d->out->busy, 0, memory_order_release);
	return done;
}
