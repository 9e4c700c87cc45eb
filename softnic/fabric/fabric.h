/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fabric: joins the software devices of one host. A port is known by its GID; a packet sent to
 * a GID is delivered there, in order, unless the peer dies, breaks the link or a fault script says
 * otherwise. Nothing here knows what is inside a packet.
 *
 * Each pair of devices shares one sealed memfd with a ring per direction, handed over through an
 * abstract Unix socket named from the GID. The same socket is the wake-up line and tells of the
 * peer's death: its end of it cannot be made to block us, unlike an eventfd given by a stranger.
 *
 * Threads: one caller at a time for each fabric (the device's lock). Two fabrics of one process
 * are independent and never call each other.
 */
#ifndef SOFTNIC_FABRIC_H
#define SOFTNIC_FABRIC_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* The longest packet, headers and ICRC included. Nothing on the way has to cut it. */
#define SN_FAB_MAX 17408

struct sn_fab;

struct sn_addr {
	uint8_t raw[16];
};

enum sn_fab_flags {
	SN_FAB_ALONE = 1 << 0,	/* no socket: reaches only its own GID */
};

struct sn_fab_config {
	struct sn_addr gid;
	unsigned int flags;		/* enum sn_fab_flags */
	uint32_t protocol;		/* which model's packets: links join equal ones only */
	size_t ring_bytes;		/* per direction, a power of two >= 64 KiB; 0: the default */
	/*
	 * One packet from the port src. pkt lies in memory that a hostile peer may still be writing:
	 * copy headers before judging them. May send; must not close or poll.
	 */
	void (*deliver)(void *ctx, const struct sn_addr *src, const void *pkt, size_t len);
	/* The link to peer is gone, with what was in it; sending again tries to make a new one. */
	void (*down)(void *ctx, const struct sn_addr *peer);
	void *ctx;
};

/* A destination: its address, and where its link was found last. Zero but for the GID at first. */
struct sn_fab_dest {
	struct sn_addr gid;
	uint32_t slot;
};

/* 0, -EADDRINUSE when the GID is taken, -ENOMEM, -errno of the sockets. */
int sn_fab_open(const struct sn_fab_config *config, struct sn_fab **fabric);
void sn_fab_close(struct sn_fab *fabric);

/*
 * Room for one packet of len bytes, where it is to be built; sn_fab_commit sends it. In between
 * nothing else is sent; what is never committed was not sent. -EAGAIN: no room now, the link is
 * marked so that sn_fab_sleep asks for a wake-up when there is. -EHOSTUNREACH: nobody has this GID,
 * or another user has. -EMSGSIZE. Other -errno: no link could be made.
 */
int sn_fab_reserve(struct sn_fab *fabric, struct sn_fab_dest *dest, size_t len, void **pkt);
/* 0: in the ring. -EAGAIN as above, when a fault script stood between. */
int sn_fab_commit(struct sn_fab *fabric, struct sn_fab_dest *dest, size_t len);

/*
 * Two packets for the price of one: room is reserved for sn_ring_behind(len) + rider bytes, and the
 * second is built behind the first. Delivered in this order. Not while faults are set, which meet
 * single packets.
 */
bool sn_fab_can_piggyback(const struct sn_fab *fabric);
/*
 * The same room where nothing is to be considered: a link that is there, a ring with room as far as
 * is known, no script. NULL: sn_fab_reserve sees to it.
 */
void *sn_fab_room(const struct sn_fab *fabric, const struct sn_fab_dest *dest, size_t len);
void sn_fab_commit_both(struct sn_fab *fabric, struct sn_fab_dest *dest, size_t len, size_t piggyback);

/* Both, for one packet gathered from iov. */
int sn_fab_send(struct sn_fab *fabric, struct sn_fab_dest *dest, const struct iovec *iov,
		unsigned int n);

/*
 * Between hold and release, peers that sleep are not woken by each packet that is sent, but by
 * release. Nothing may be left held when the caller goes on to something else.
 */
void sn_fab_hold(struct sn_fab *fabric);
void sn_fab_release(struct sn_fab *fabric);

/* False while a send to dest that met a full ring would do so again. */
bool sn_fab_has_room(struct sn_fab *fabric, const struct sn_fab_dest *dest);

/* Is there a link to the GID, made by either side? */
bool sn_fab_linked(const struct sn_fab *fabric, const struct sn_addr *gid);

/* The peer is there but has not yet looked at all that was sent to it. */
bool sn_fab_unread(const struct sn_fab *fabric, const struct sn_fab_dest *dest);

/*
 * Delivers at most budget packets; returns how many. Looks at the sockets now and then (every few
 * hundred calls), and at once when a device of this process connected or left.
 */
unsigned int sn_fab_poll(struct sn_fab *fabric, unsigned int budget);

/*
 * A poll now would find nothing. Counts as a poll: false at the latest when the sockets are due.
 */
bool sn_fab_quiet(struct sn_fab *fabric);

/* Readable when a peer connected, left, or woke this fabric up. -1 with SN_FAB_ALONE. */
int sn_fab_fd(const struct sn_fab *fabric);

/* Serves the descriptors behind sn_fab_fd; never blocks. */
void sn_fab_service(struct sn_fab *fabric);

/*
 * Asks every peer for a wake-up at its next packet, and, where a send met a full ring, when there
 * is room. False: there is something to do already (call sn_fab_poll), do not sleep.
 * The request holds until a peer takes it or sn_fab_awake withdraws it; poll after withdrawing.
 */
bool sn_fab_sleep(struct sn_fab *fabric);
void sn_fab_awake(struct sn_fab *fabric);

/*
 * When a fault script holds packets back, or callers wait for a descriptor: the CLOCK_MONOTONIC time in
 * ns at which to poll at the latest; else 0.
 */
uint64_t sn_fab_deadline(const struct sn_fab *fabric);

/* Chances, 0..1, of each packet sent. All zero ends it; what was held back is then sent. */
struct sn_fab_faults {
	double drop, dup, reorder, corrupt, delay;
	uint64_t seed;
};

/* 0 or -ENOMEM. The same seed and the same packets give the same faults. */
int sn_fab_set_faults(struct sn_fab *fabric, const struct sn_fab_faults *faults);

struct sn_fab_stats {
	uint64_t sent, received, full, wakeups, links_made, links_lost, refused;
	uint64_t dropped, duplicated, reordered, corrupted, delayed;	/* by the fault script */
};
void sn_fab_stats(const struct sn_fab *fabric, struct sn_fab_stats *stats);

/* Of a device, without signals. Waits up to a second for a thread to be had. 0 or -errno. */
int sn_begin_thread(pthread_t *thread, void *(*run)(void *), void *arg);

static inline bool sn_addr_equal(const struct sn_addr *a, const struct sn_addr *b)
{
	uint64_t x[2], y[2];

	__builtin_memcpy(x, a, sizeof(x));
	__builtin_memcpy(y, b, sizeof(y));
	return x[0] == y[0] && x[1] == y[1];
}

#endif
