/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fabric connects software devices. It does not interpret packets.
 *
 * Within a host a port is known by its GID; a packet sent to a GID is delivered there, in order, unless
 * the peer dies, breaks the link or a fault script interferes. To another host a packet is a datagram to
 * an IP address and a UDP port, which may be lost like any other: see udp.c.
 *
 * Each pair of devices shares one sealed memfd with a ring per direction, passed through an abstract
 * Unix socket named after the GID. The same socket carries wake-ups and reports the peer's death: a
 * malicious peer cannot make us block on a socket, but could on an eventfd.
 *
 * Threads: one caller at a time for each fabric (the device's lock). Two fabrics of one process are
 * independent and never call each other.
 */
#ifndef SOFTNIC_FABRIC_H
#define SOFTNIC_FABRIC_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "softnic/fabric/script.h"

/* The longest packet, headers and ICRC included. It is never split on the way. */
#define SN_FAB_MAX 17408

struct sn_fab;

struct sn_addr {
	uint8_t raw[16];
};

/*
 * A destination: its address and a cached link index. Initially zero except for the GID. With a UDP port
 * the address is an IP address, and slot is SN_FAB_NO_SLOT: there is no link.
 */
struct sn_fab_dest {
	struct sn_addr gid;
	uint32_t slot;
	uint16_t udp_port;
	uint8_t tclass;			/* traffic class of datagrams */
	/* sender: its datagram came to the port of sn_fab_listen, so the sender's own port may be any */
	bool foreign;
};

#define SN_FAB_NO_SLOT UINT32_MAX

/* A packet as the rules of a fault script name it: see struct sn_rule. */
struct sn_fab_label {
	int op;
	uint32_t qpn, psn;
};

enum sn_fab_flags {
	SN_FAB_ALONE = 1 << 0,	/* the fabric has no socket and reaches only its own GID */
	SN_FAB_RESTS = 1 << 1,	/* sn_fab_rests() may be true */
};

struct sn_fab_config {
	struct sn_addr gid;
	unsigned int flags;		/* bits of enum sn_fab_flags */
	/* packet format of the model; devices connect only if their formats are equal */
	uint32_t protocol;
	/* size of one direction's ring, a power of two >= 64 KiB; 0: the default */
	size_t ring_bytes;
	/* The IP address for packets to and from other hosts, IPv4-mapped or IPv6; all zero: none. */
	struct sn_addr ip;
	/*
	 * Delivers one packet from the port src. A hostile peer may still be writing to pkt, so copy
	 * headers before checking them. The function may send packets, but must not close or poll the
	 * fabric.
	 */
	void (*deliver)(void *ctx, const struct sn_addr *src, const void *pkt, size_t len);
	/* Delivers one datagram from the UDP port src, under the same conditions. Anyone may have sent it. */
	void (*datagram)(void *ctx, const struct sn_fab_dest *src, const void *pkt, size_t len);
	/* The link to peer has ended, and the packets in it are lost. The next send tries to make a new
	 * link. */
	void (*down)(void *ctx, const struct sn_addr *peer);
	/*
	 * Optional. Labels a packet while the fault script has rules; false: no rule applies to it. As in
	 * deliver, a peer may still be writing to the packet.
	 */
	bool (*label)(const void *pkt, size_t len, struct sn_fab_label *label);
	/*
	 * Optional. Records a packet while the faults say so: what this fabric sends, before faults apply to
	 * it, and what arrives after they did. peer is the destination or the sender.
	 */
	void (*capture)(void *ctx, bool in, const struct sn_fab_dest *peer, const void *pkt, size_t len);
	void *ctx;
};

/*
 * Returns 0, -EADDRINUSE if the GID is taken, -EADDRNOTAVAIL if this host does not have the IP address,
 * -EMSGSIZE if its interface carries only shorter packets than RoCE allows, -ENOMEM, or -errno of the
 * socket calls.
 */
int sn_fab_open(const struct sn_fab_config *config, struct sn_fab **fabric);
void sn_fab_close(struct sn_fab *fabric);

/*
 * Reserves room for one packet of len bytes, to be built in place; sn_fab_commit sends it. Between the
 * two calls send nothing else. Without a commit nothing is sent. -EAGAIN: no room now; sn_fab_sleep will
 * request a wake-up for the link. -EHOSTUNREACH: no device has this GID, or a device of another user has
 * it. -EMSGSIZE. Other -errno: no link could be made.
 */
int sn_fab_reserve(struct sn_fab *fabric, struct sn_fab_dest *dest, size_t len, void **pkt);
/*
 * Returns 0: the packet is in the ring, or a fault script has dropped or delayed it. -EAGAIN, only while
 * a fault script is set: no room now.
 */
int sn_fab_commit(struct sn_fab *fabric, struct sn_fab_dest *dest, size_t len);

/*
 * Sends two packets in one ring record: reserve sn_ring_behind(len) + piggyback bytes and build the
 * second packet behind the first. They are delivered in this order. Not available while faults are set,
 * which apply to single packets.
 */
bool sn_fab_can_piggyback(const struct sn_fab *fabric);
/*
 * Reserves room on the fast path: for an existing link whose ring is known to have room, while no faults
 * are set. NULL: use sn_fab_reserve.
 */
void *sn_fab_room(const struct sn_fab *fabric, const struct sn_fab_dest *dest, size_t len);
void sn_fab_commit_both(struct sn_fab *fabric, struct sn_fab_dest *dest, size_t len, size_t piggyback);

/* Reserves and commits one packet gathered from iov. */
int sn_fab_send(struct sn_fab *fabric, struct sn_fab_dest *dest, const struct iovec *iov,
		unsigned int n);

/*
 * Between hold and release packets wake no peers; release wakes the sleeping ones. Call release before
 * anything else that may take time.
 */
void sn_fab_hold(struct sn_fab *fabric);
void sn_fab_release(struct sn_fab *fabric);

/* False: a send found the ring of dest full, and it is still full. */
bool sn_fab_has_room(struct sn_fab *fabric, const struct sn_fab_dest *dest);

/* Is there a link to the GID, made by either side? */
bool sn_fab_linked(const struct sn_fab *fabric, const struct sn_addr *gid);

/*
 * Makes the link to a device of this host, unless there is one. -EHOSTUNREACH: no device of this host
 * and user has the GID.
 */
int sn_fab_reach(struct sn_fab *fabric, const struct sn_addr *gid);

/* Returns the fabric's UDP port; 0: it has no IP address. */
uint16_t sn_fab_udp_port(const struct sn_fab *fabric);
/* Returns the longest packet that leaves through the interface of the IP address as one datagram. */
size_t sn_fab_udp_max(const struct sn_fab *fabric);
/*
 * From now on the fabric also receives at this UDP port. Devices that are not ours send to a fixed one.
 * Returns 0, -EADDRINUSE: another socket has the port at this address, or -errno. Without an IP address
 * it does nothing.
 */
int sn_fab_listen(struct sn_fab *fabric, uint16_t port);
/*
 * Counts the users of the UDP port: change is 1 or -1. While there is one, each poll reads the socket,
 * which takes a system call.
 */
void sn_fab_udp_use(struct sn_fab *fabric, int change);

/* Returns true if the peer is alive but has not yet read all packets sent to it. */
bool sn_fab_unread(const struct sn_fab *fabric, const struct sn_fab_dest *dest);

/*
 * Delivers at most budget packets; returns how many. Checks the sockets every few hundred calls, and at
 * once if a device of this process connected or left.
 */
unsigned int sn_fab_poll(struct sn_fab *fabric, unsigned int budget);
/* For deliver and datagram: the poll that called them delivers no more packets. */
void sn_fab_stop(struct sn_fab *fabric);

/* True if a poll now would find nothing. The call counts as a poll: when it is time to check the
 * sockets, it returns false. */
bool sn_fab_quiet(struct sn_fab *fabric);
/* True for a moment after packets of a peer. A caller that polls all the time should not look for more yet: a
 * stream is faster if its receiver looks less often. */
bool sn_fab_rests(struct sn_fab *fabric);

/* Returns a descriptor that is readable when a peer has connected, left, or woken this fabric; -1 with
 * SN_FAB_ALONE. */
int sn_fab_fd(const struct sn_fab *fabric);

/* Serves the descriptors behind sn_fab_fd; never blocks. */
void sn_fab_service(struct sn_fab *fabric);

/*
 * Requests a wake-up from every peer: at its next packet, and when there is room again in a ring that a
 * send found full. False: there is work already, so call sn_fab_poll instead of sleeping. The request
 * lasts until a peer uses it or sn_fab_awake withdraws it; poll after withdrawing it.
 */
bool sn_fab_sleep(struct sn_fab *fabric);
void sn_fab_awake(struct sn_fab *fabric);

/*
 * When the next poll is due at the latest, because a fault script delays packets or callers wait for a
 * descriptor: CLOCK_MONOTONIC time in ns. 0: at no fixed time.
 */
uint64_t sn_fab_deadline(const struct sn_fab *fabric);

/*
 * Probabilities, 0..1, for each packet sent; rules for packets in both directions; whether the model
 * captures the packets. All zero ends the faults: packets held back are then sent, and those held back on
 * their arrival are lost.
 */
struct sn_fab_faults {
	double drop, dup, reorder, corrupt, delay;
	uint64_t seed;
	struct sn_script script;
	bool capture;
};

/*
 * Sets the faults. Returns 0 or -ENOMEM. The same seed and the same packets give the same faults, and the
 * rules begin to count anew. Not within a delivery.
 */
int sn_fab_set_faults(struct sn_fab *fabric, const struct sn_fab_faults *faults);

struct sn_fab_stats {
	uint64_t sent, received, full, wakeups, links_made, links_lost, refused;
	/* counters of the packets that were dropped, duplicated, and so on */
	uint64_t dropped, duplicated, reordered, corrupted;
	/* datagrams that the kernel refused to send; that arrived but were too long for any packet */
	uint64_t unsent, oversized;
};
void sn_fab_stats(const struct sn_fab *fabric, struct sn_fab_stats *stats);

/* Starts a device's thread, with signals blocked. Retries for up to a second. 0 or -errno. */
int sn_begin_thread(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

static inline bool sn_addr_equal(const struct sn_addr *a, const struct sn_addr *b)
{
	uint64_t x[2], y[2];

	__builtin_memcpy(x, a, sizeof(x));
	__builtin_memcpy(y, b, sizeof(y));
	return x[0] == y[0] && x[1] == y[1];
}

#endif
