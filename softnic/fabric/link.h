/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to the fabric: links, the handshake that makes them, and the registry of this process. */
#ifndef SOFTNIC_FABRIC_LINK_H
#define SOFTNIC_FABRIC_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "softnic/fabric/fabric.h"
#include "softnic/fabric/ring.h"

#define SN_LINK_RING_MIN (64u << 10)
#define SN_LINK_RING_MAX (64u << 20)
#define SN_LINK_RING_DEFAULT (1u << 20)
#define SN_FAB_HALF_OPEN 32u	/* most accepted connections without a hello message */

/* The memory of a link: a page with the shared words of both rings, then the data of each. */
#define SN_LINK_CTL_BYTES 4096u

/* The only message with content on the socket, from the connecting side. */
struct sn_link_hello {
	char magic[8];
	uint32_t version;
	uint32_t ring_bytes;
	struct sn_addr self;
	uint32_t protocol, reserved;
};

#define SN_LINK_MAGIC "snfabric"
#define SN_LINK_VERSION 6u

_Static_assert(sizeof(struct sn_link_hello) == 40, "the struct has no padding");
_Static_assert(2 * sizeof(struct sn_ring_ctl) <= SN_LINK_CTL_BYTES, "the words of both directions fit");

struct sn_chaos;

/* A link between two devices. Loopback is a link without a socket and with a single ring. */
struct sn_link {
	struct sn_addr peer;
	int sock;			/* -1: loopback */
	bool broken;			/* the next sn_fab_service closes the link */
	/* rx.pos when this side last checked whether the peer starves for room */
	uint64_t asked;
	/* a packet was sent, but it is not yet known whether the peer sleeps; the link is in the list
	 * wake_unchecked */
	bool wake_unchecked;
	SLIST_ENTRY(sn_link) unchecked_link;
	size_t blocked;			/* length of a packet that found the ring full */
	struct sn_ring tx, rx;
	void *map;
	size_t map_bytes;
};

struct sn_fab {
	struct sn_fab_config config;
	/* where packets arrive: the model's functions, or while faults are set those of chaos.c */
	struct {
		void (*deliver)(void *ctx, const struct sn_addr *src, const void *pkt, size_t len);
		void (*datagram)(void *ctx, const struct sn_fab_dest *src, const void *pkt, size_t len);
		void *ctx;
	} receiver;
	int epfd, listener;
	/* a spare descriptor: closed to turn a caller away if no other is left */
	int spare;
	/* until this time (ns) the listener is not watched; 0: it is watched */
	uint64_t paused;
	/* the warning about missing descriptors has been logged */
	bool warned;
	struct sn_link **links;		/* array of slots; an empty slot is NULL */
	/* number of allocated slots, and the highest number ever used */
	uint32_t slots, used;
	uint32_t turn;			/* the link that the next poll begins with */
	bool polling;
	bool stopped;			/* sn_fab_stop() ended the poll */
	uint64_t rests_from;	/* the ticks() when packets were last taken; 0: the rings do not rest */
	/* wake-ups of the links in the list below are deferred until sn_fab_release() */
	bool held;
	SLIST_HEAD(, sn_link) wake_unchecked;
	/* another device of this process has connected or left, so the sockets must be checked */
	_Atomic uint32_t attention;
	/* this process is a forked child: the descriptors in this copy are closed */
	bool forked;
	unsigned int polls;
	int half_open[SN_FAB_HALF_OPEN];
	unsigned int half_open_next;
	struct sn_chaos *chaos;
	struct sn_udp *udp;		/* the socket for other hosts, or NULL */
	struct sn_fab_stats stats;
	LIST_ENTRY(sn_fab) entry;	/* entry in the registry */
};

/* Loopback: one private ring. */
int sn_link_loop(const struct sn_addr *self, size_t ring_bytes, struct sn_link **link);

/* Connects to the listener of peer and passes the memory of a new link. */
int sn_link_connect(const struct sn_fab_config *self, const struct sn_addr *peer,
		    struct sn_link **link);

/* The accepting side: reads the handshake from sock, which belongs to the link on success. */
int sn_link_accept(int sock, uint32_t protocol, struct sn_link **link);

/* Wakes the peer's fabric. Never blocks. */
void sn_link_wake(struct sn_link *link);

/* The link need not be complete. in_child: the mappings do not exist there (MADV_DONTFORK), and their
 * addresses may be in use. */
void sn_link_free(struct sn_link *link, bool in_child);

int sn_link_listen(const struct sn_addr *self);

/* user.c: returns true if the process at the other end of sock has our effective user id. */
bool sn_link_same_user(int sock);

/* A forked child closes the fabric's descriptors; otherwise peers could not notice the parent's death. */
int sn_registry_add(struct sn_fab *fabric);
/* Closes the descriptors as well: a child of a later fork() would not know them. */
void sn_registry_remove(struct sn_fab *fabric);
/* The lock is taken while descriptors are created and not yet stored in the fabric. So a fork() waits,
 * and the child knows every descriptor that it must close. */
void sn_registry_lock(void);
void sn_registry_unlock(void);
/* Tells the device of this process with the GID, if any, to check its sockets. */
void sn_registry_notify(const struct sn_addr *gid);

/* Keys of the epoll set: SN_KEY_LISTENER, SN_KEY_UDP, SN_KEY_HALF_OPEN plus a caller's number, or a
 * link's slot. */
#define SN_KEY_LISTENER UINT64_MAX
#define SN_KEY_UDP (UINT64_MAX - 1)
#define SN_KEY_HALF_OPEN (UINT64_C(1) << 32)

/* Functions of send.c. The first two return 0 or -errno. */
int sn_fab_watch(struct sn_fab *fabric, int fd, uint64_t key);
int sn_fab_add_link(struct sn_fab *fabric, struct sn_link *link, uint32_t *slot);
void sn_fab_break_link(struct sn_fab *fabric, struct sn_link *link);
/* Finds the link to the destination, or makes it. Returns 0 or -errno. */
int sn_fab_find_link(struct sn_fab *fabric, struct sn_fab_dest *dest, struct sn_link **link);
/* Like sn_fab_reserve(), sn_fab_commit() and so on, but without injected faults. sn_fab_commit_both()
 * completes sn_fab_reserve_now(). */
int sn_fab_reserve_now(struct sn_fab *fabric, struct sn_fab_dest *dest, size_t len, void **pkt);
int sn_fab_send_now(struct sn_fab *fabric, struct sn_fab_dest *dest, const void *bytes,
		    size_t len);

/* Functions of udp.c. The first two need the registry's lock and return 0 or -errno. */
int sn_udp_open(struct sn_fab *fabric);
int sn_udp_listen(struct sn_fab *fabric, uint16_t port);
void sn_udp_close_sockets(const struct sn_udp *udp);
/* Reserves room for one datagram. Returns 0, -EMSGSIZE, or -EAGAIN: the kernel takes no more for now. */
int sn_udp_reserve(struct sn_fab *fabric, size_t len, void **pkt);
/* Sends the reserved datagram, at the latest in sn_fab_release(). */
void sn_udp_commit(struct sn_fab *fabric, const struct sn_fab_dest *dest, size_t len);
void sn_udp_flush(struct sn_fab *fabric);
bool sn_udp_has_room(struct sn_fab *fabric);
/* Is there a datagram to deliver, or does the socket have one and a user? */
bool sn_udp_ready(struct sn_udp *udp);
/* Delivers at most budget datagrams; returns how many. all: also while the port has no user. */
unsigned int sn_udp_poll(struct sn_fab *fabric, unsigned int budget, bool all);
/* Must the socket wake the fabric's epoll set? False: there is a datagram already. */
bool sn_udp_watch(struct sn_fab *fabric, bool on);

/* Functions of caller.c: accept callers, read the hello of a caller, watch the listener again. */
void sn_callers_accept(struct sn_fab *fabric);
void sn_caller_serve(struct sn_fab *fabric, unsigned int i);
void sn_callers_resume(struct sn_fab *fabric);

/* rules.c: the rules of a fault script, and the packets that they have counted */
struct sn_stream;
struct sn_rules {
	struct sn_script script;
	struct sn_stream *stream;
	size_t streams;
};
/* Counts a packet. Returns the actions of the rules for it: bits, one for each enum sn_action. Sets *us if
 * one of them is a delay. */
unsigned int sn_rules_apply(struct sn_rules *rules, const struct sn_fab_dest *peer,
			    const struct sn_fab_label *label, bool in, uint32_t *us);
void sn_rules_clear(struct sn_rules *rules);
bool sn_same_port(const struct sn_fab_dest *a, const struct sn_fab_dest *b);

/* Functions of chaos.c. While faults are set, sn_chaos_send runs between sn_fab_commit and the
 * ring. */
/* Returns a buffer for a packet that may never enter a ring. */
uint8_t *sn_chaos_room(struct sn_fab *fabric);
/* Sends the packet that was built in sn_chaos_room(). */
int sn_chaos_send(struct sn_fab *fabric, struct sn_fab_dest *dest, size_t len);
/* Sends and delivers delayed packets that are due. Returns how many it delivered. */
unsigned int sn_chaos_release(struct sn_fab *fabric);
void sn_chaos_close(struct sn_fab *fabric);

static inline void sn_fab_receive_directly(struct sn_fab *fabric)
{
	const struct sn_fab_config *c = &fabric->config;

	fabric->receiver = (__typeof__(fabric->receiver)){c->deliver, c->datagram, c->ctx};
}

#endif
