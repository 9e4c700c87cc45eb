/* SPDX-License-Identifier: BSD-2-Clause */
/* The receive queue of an endpoint, its receives, and the window that puts packets in order. */
#ifndef EFA_RX_H
#define EFA_RX_H

#include "hw_efa/tx.h"

/* ---- receives ---- */

enum efa_recv_state { EFA_R_POSTED, EFA_R_PULLS, EFA_R_DONE };

struct efa_recv {
	uint64_t cookie;
	uint32_t room, got;		/* bytes of room, and bytes received */
	uint8_t state, flags, status, nseg;
	uint16_t left;			/* outstanding RDMA reads */
	bool solicited;
	/* LMR of the segment, if it is the only one and writable, and the receive has no flag */
	const struct dap_lmr *lmr;
	struct efa_iov seg[EFA_MAX_IOV];
	struct efa_iov from[EFA_MAX_IOV];	/* the sender's segments of a long message */
	uint32_t at;			/* bytes of the message whose reads are issued */
	uint32_t fin;			/* the sender's request number of the long message */
	uint32_t pad[6];
};
_Static_assert(sizeof(struct efa_recv) == 1024, "a receive is found by a shift");

struct efa_rx {
	uint8_t *bufs;
	struct efa_rx_desc *ring;
	volatile uint32_t *doorbell;
	struct efa_recv *recv;
	struct efa_cqe *place;		/* the reorder window: CQEs of packets; see efa_place_is_empty */
	const struct dap_lmr *lmr;	/* writable LMR cached by efa_allowed */
	uint64_t desc;			/* second word of a descriptor, without the request id */
	size_t stride;			/* bytes from one buffer to the next */
	uint32_t nbufs;
	uint32_t mask, pi, rung;	/* indexes of the RQ; rung: pi of the last doorbell */
	uint32_t batch;			/* buffers given back by one doorbell */
	uint32_t gen;			/* generation of the QP, above the index in a request id */
	uint32_t recv_mask, max;
	uint32_t posted, match;
	uint32_t done;			/* receives delivered */
	uint32_t pull;			/* the first receive that may have reads to issue */
	uint32_t next;			/* awaited sequence number */
	uint32_t look_at;		/* first sequence number at which efa_bound_ack sets acked_to */
	uint32_t acked_to;			/* packets before this number are acknowledged */
	uint32_t advertised;			/* value of acked_to in the last packet that was sent */
	uint32_t window, place_mask;
	union {
		struct {
			bool stalled;		/* a message waits for a receive */
			bool asked;		/* the peer disconnects: acknowledge each message at once */
			bool solicited_only;	/* only solicited messages notify */
			bool pulls;		/* a long message is being read, so later receives wait */
			uint32_t part_total;	/* bytes of a message in fragments */
		};
		uint64_t unusual;	/* all flags above as one word; 0: none is set */
	};
	uint32_t part;			/* bytes of the fragmented message that have arrived */
	bool failed;			/* a receive failed, so all after it are flushed */
	uint32_t deny, max_iov;
	struct efa_count posts;		/* receives posted, and their room */
	uint64_t received;		/* bytes of messages */
	uint64_t failures;		/* receives that completed with an error */
};

/* An empty place of the window has an immediate that no packet can have. */
static inline bool efa_place_is_empty(const struct efa_cqe *at)
{
	return le32_to_cpu(at->imm) == UINT32_MAX;
}

static inline void efa_place_clear(struct efa_cqe *at)
{
	at->imm = cpu_to_le32(UINT32_MAX);
}

#endif
