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

/* Shared. busy is the initiator's, all else is written by the target. */
struct sn_direct_ctl {
	_Alignas(SN_RING_APART) _Atomic uint32_t busy;
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
	uint32_t number;
};

/* sock -1: a link with itself. */
void sn_direct_init(struct sn_direct *d, struct sn_direct_ctl *in, struct sn_direct_ctl *out, int sock);
void sn_direct_grant(struct sn_direct *d, const struct sn_grant *grant);
void sn_direct_withdraw(struct sn_direct *d);
bool sn_direct_granted(const struct sn_direct *d, const struct sn_grant *what);
bool sn_direct_write(struct sn_direct *d, const struct sn_grant *what, const struct iovec *from,
		     unsigned int n);

#endif
