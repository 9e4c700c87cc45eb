/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writing into the memory of a peer that does nothing for it, as an adapter's DMA does. The target
 * grants ranges of its address space, by key and QP, in memory that both have mapped; the initiator
 * copies by process_vm_writev, where the kernel lets it (same user, ptrace rules).
 *
 * A withdrawn grant is not used any more when its withdrawal returns. The initiator says that it is
 * busy and then looks at the grant again; the target clears the grant and then waits for it not to
 * be busy. Nobody waits for the dead: the kernel closes a socket after the last system call of its
 * process has ended. One that is stopped in the midst of a copy is waited for until it goes on or dies:
 * no limit could keep it from copying afterwards.
 *
 * Of a large write the initiator offers the second half to a target that polls, which copies it by
 * process_vm_readv meanwhile. An offer that nobody has taken is withdrawn; one that was taken is waited
 * for as above. Who takes it waits for nothing, so that no two can wait for each other.
 */
#ifndef SOFTNIC_FABRIC_DIRECT_H
#define SOFTNIC_FABRIC_DIRECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "softnic/fabric/fabric.h"
#include "softnic/fabric/ring.h"

#define SN_DIRECT_SLOTS 12u

struct sn_direct_slot {
	_Alignas(SN_RING_LINE) _Atomic uint32_t valid;	/* 0, or a number that is new each time */
	_Atomic uint32_t key, qpn;
	_Atomic uint64_t start, len, at;
};

enum sn_offer_state {
	SN_OFFER_NONE,
	SN_OFFER_OPEN,		/* by the initiator; what follows, by the target: */
	SN_OFFER_TAKEN,
	SN_OFFER_LAST,		/* by the initiator: its own half is there */
	SN_OFFER_ALL,		/* copied */
	SN_OFFER_BUT_LAST,	/* but for the last bytes, as the first half was not there yet */
	SN_OFFER_REFUSED,	/* perhaps not all of it */
};

/* len bytes from off in what was granted by that slot are at from in the initiator. */
struct sn_direct_offer {
	_Alignas(SN_RING_APART) _Atomic uint32_t state;	/* enum sn_offer_state */
	_Atomic uint32_t slot;
	_Atomic uint64_t off, len, from;
};

/* Shared. busy and the offer are the initiator's, all else is written by the target. */
struct sn_direct_ctl {
	_Alignas(SN_RING_APART) _Atomic uint32_t busy;
	struct sn_direct_offer offer;
	_Alignas(SN_RING_APART) _Atomic uint32_t polled;	/* its host looks for what arrives */
	struct sn_direct_slot slot[SN_DIRECT_SLOTS];
};

/* One side's view of both directions. */
struct sn_direct {
	struct sn_direct_ctl *in, *out;		/* what the peer may do, what we may */
	int sock;
	pid_t pid;				/* the peer's, 0: cannot be written to */
	uint64_t seen;				/* when it was known to live, ns */
	struct sn_grant granted[SN_DIRECT_SLOTS];	/* len 0: free */
	bool any;
	bool no_help;				/* the kernel forbids it */
	unsigned int alone;			/* so many writes without an offer: the last was not taken */
	uint32_t number;
};

/* sock -1: a link with itself. */
void sn_direct_init(struct sn_direct *d, struct sn_direct_ctl *in, struct sn_direct_ctl *out, int sock);
void sn_direct_grant(struct sn_direct *d, const struct sn_grant *grant);
void sn_direct_withdraw(struct sn_direct *d);
bool sn_direct_granted(const struct sn_direct *d, const struct sn_grant *what);
bool sn_direct_write(struct sn_direct *d, const struct sn_grant *what, const struct iovec *from,
		     unsigned int n);

/* The peer offers a half to copy. */
static inline bool sn_direct_offered(const struct sn_direct *d)
{
	return atomic_load_explicit(&d->in->offer.state, memory_order_relaxed) == SN_OFFER_OPEN &&
	       !d->no_help;
}

/* Copies it, if it lies in what is granted to the peer. */
void sn_direct_help(struct sn_direct *d);

/* direct.c, for half.c */
enum { SN_DIRECT_LAST = 8 };	/* hosts poll on the last bytes: they are written last */

bool sn_direct_peer_lives(struct sn_direct *d);
/* Spins for a while; false: the peer is gone. turn counts. */
bool sn_direct_wait(const struct sn_direct *d, unsigned int *turn);
/* last: so many of the len bytes are written after all others. */
bool sn_direct_copy(struct sn_direct *d, uint64_t at, uint64_t len, uint64_t last,
		    const struct iovec *from, unsigned int n);
/* half.c: is the peer to be asked, and the copy where it is. */
bool sn_direct_shares(struct sn_direct *d, uint64_t len, unsigned int n);
bool sn_direct_copy_shared(struct sn_direct *d, const struct sn_direct_slot *slot, uint64_t at,
			   const struct iovec *from);

#endif
