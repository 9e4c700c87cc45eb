/* SPDX-License-Identifier: BSD-2-Clause */
/* The receive queue of an endpoint, its receives, and the window that puts packets in order. */
#ifndef EFA_RX_H
#define EFA_RX_H

#include "hw_efa/tx.h"

/* ---- receives ---- */

enum efa_recv_state { EFA_R_POSTED, EFA_R_PULLS, EFA_R_DONE, EFA_R_READY };	/* for 8 bytes at least */
#define EFA_R_PLAIN (1u << 24 | EFA_R_READY)	/* efa_recv.info: one segment, no flag */

struct efa_recv {
	uint64_t cookie;
	uint32_t room, got;		/* bytes */
	union {
		struct { uint8_t state, flags, status, nseg; };
		uint32_t info;
	};
	uint16_t left;			/* reads in the queue */
	bool solicited;
	const struct dap_lmr *lmr;	/* READY: what it lay in when it was posted */
	struct efa_iov seg[EFA_MAX_IOV];
	struct efa_iov from[EFA_MAX_IOV];	/* where a long message lies */
	uint32_t at;			/* bytes of the message whose reads are issued */
	uint32_t fin;			/* the sender's number of it */
	uint32_t unused[6];
};
_Static_assert(sizeof(struct efa_recv) == 1024, "a receive is found by a shift");

/* Of the reorder window: what the CQE of the packet began with, but for its status. 0: empty. */
union efa_place {
	struct {
		uint16_t id;
		uint8_t kind, flags;	/* EFA_PLACE_SE; of the CQE */
		uint16_t bytes, length;	/* a kind of its own: bytes, and EFA_PLACE_OTHER */
	};
	uint64_t word;
};
_Static_assert(sizeof(union efa_place) == 8, "a place is found by a shift");
#define EFA_PLACE_SE 0x80u
#define EFA_PLACE_OTHER 0xffffu		/* more than an MTU */

struct efa_rx {
	uint8_t *ring, *bufs;
	volatile uint32_t *doorbell;
	struct efa_recv *recv;
	union efa_place *place;
	const struct dap_lmr *lmr;	/* of the last receive: it may be written */
	uint8_t *slot, *ring_at, *ring_end;	/* see rq.h */
	size_t batch_bytes;
	uint8_t *begin;			/* of the buffer whose request id were 0 */
	uint32_t mask, rung;		/* of the RQ: its producer index as the device knows it */
	uint64_t stride;
	uint32_t lkey, nbufs;
	uint32_t gen;			/* in the bits of a request id above the index */
	uint32_t row_gen;		/* which these are */
	uint8_t log;
	uint32_t recv_mask, max;
	uint32_t posted, match, free_at;
	uint32_t done, pull;		/* while messages are being read: delivered; may have reads */
					/* to issue. Else both are match */
	uint32_t next;			/* sequence number awaited */
	uint32_t safe;			/* places that are free and have a receive: packets from number */
	uint32_t safe_seq, told;	/* safe_seq on ack them; those before acked told of them */
	uint32_t window, place_mask;
	union {
		struct {
			uint32_t ahead;	/* packets that came before their turn */
			union {
				struct {
					bool stalled;	/* a message waits for a receive */
					bool asked;	/* the peer, for its last message to be taken */
					bool picky;	/* notifies of solicited messages only */
					bool pulls;	/* messages are being read */
				};
				uint32_t rare;
			};
		};
		uint64_t odd;		/* none of these */
	};
	uint32_t part, part_total;	/* of a message in fragments */
	uint32_t deny, max_iov;
	bool failed;
	uint32_t batch;			/* buffers given back by one doorbell */
	uint32_t look_at;		/* next: from here on safe is for efa_bound_safe */
	uint64_t desc;			/* of a buffer, without its number */
};

#endif
