/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private to the wire half: reliable connections (IBTA volume 1, chapter 9.7) over the fabric.
 *
 * A QP is requester and responder at once. When a packet arrives, both only record the answer they must
 * send. sn_rc_run() sends it, so that the ACKs of a burst coalesce and no call recurses.
 */
#ifndef SN_RC_H
#define SN_RC_H

#include <string.h>

#include "softnic/fabric/fabric.h"
#include "softnic/mlx5/dev_api.h"
#include "softnic/mlx5/port.h"
#include "softnic/mlx5/rc_wire.h"
#include "softnic/mlx5/wire_api.h"

enum {
	SN_RC_WINDOW = 224,	/* most request packets in flight */
	SN_RC_WINDOW_UDP = 32,	/* initial window over UDP, where losses change it: see shrink_window() */
	SN_RC_WINDOW_LEAST = 8,
	SN_RC_ACK_EVERY = 16,	/* packets of a long message between two requests for an ACK */
	SN_RC_ACK_EVERY_UDP = 4,
	/* bytes and packets of a response that one request asks for, at most */
	SN_RC_READ_PART = 128 << 10,
	SN_RC_READ_PACKETS = 128,
	SN_RC_DELAY_POLLS = 64,	/* number of empty polls before delayed ACKs are sent */
	/* number of empty polls before a delayed ACK, after a WRITE that closely follows another one */
	SN_RC_STREAM_POLLS = 8,
	SN_RC_DELAY_MAX = 8,	/* requests that one delayed ACK may cover */
	SN_RC_BURST = 32,	/* packets (or trains) that a QP may send per turn */
	SN_RC_TRAIN = 16384,	/* payload bytes of one train: see sn_rc_train */
	SN_RC_READS = 16,	/* most responder resources of a QP, as reported */
	/* shortest timeout, 4.096 us << 12, which this host's scheduler can still keep */
	SN_RC_TIMEOUT_MIN = 12,
};

/* An RDMA READ or an atomic that needs a response. */
struct sn_rc_read {
	bool atomic;
	/* the request is repeated by the peer, and may have been answered before */
	bool again;
	uint64_t va;		/* address; of an atomic, the original value */
	uint32_t rkey, len, psn, sent;	/* sent: number of packets of the response that have been sent */
};

/* An atomic that was executed: a repeated request gets the saved result. */
struct sn_rc_atomic {
	uint32_t psn;
	bool valid;
	uint64_t original;
};

static inline uint32_t sn_rc_packets(const struct sn_qp *qp, uint32_t len)
{
	return len ? (len - 1) / qp->mtu + 1 : 1;
}

static inline struct sn_wr *sn_rc_wr(const struct sn_qp *qp, uint32_t number)
{
	return &qp->wr[number & (qp->sq_size - 1)];
}

/* Returns true if the WR completes inside the device, as a NOP and a UMR do. */
static inline bool sn_rc_is_ours(const struct sn_wr *wr)
{
	return !wr->done && wr->opcode != SN_OP_NOP && wr->opcode != SN_OP_UMR;
}

#define SN_RC_NO_GAP UINT32_MAX
#define SN_RC_LEN_MAX (1u << 31)	/* IBTA 9.7.4.1.6: longest RDMA request */

struct sn_rc_req {
	uint32_t psn_next;	/* PSN of the next new message */
	uint32_t psn_una;	/* oldest PSN that is not acknowledged */
	uint32_t psn_max;	/* PSN after the newest one ever sent */
	uint32_t wr;		/* FIFO number of the WR that is being sent, or else of the next one */
	uint32_t pkt;		/* number of the next packet in its message */
	bool loaded;		/* the message of that WR has begun */
	bool rnr_wait;		/* the requester waits because of an RNR NAK */
	bool unreachable;	/* no peer has that address: retries are fast */
	bool link_lost;		/* the packets in flight were lost with the link */
	uint8_t retries, rnr_retries;	/* remaining retries */
	uint32_t in_flight;	/* upper bound of the packets in flight */
	/* most packets in flight, and how many were sent since it last changed */
	uint32_t window, sent;
	/* a READ response was lost, and the requester has gone back to this PSN */
	uint32_t gap_psn;
	uint32_t progress, progress_seen;
	struct sn_timer ack_timer, rnr_timer;
};

/* The responder's next answer; a greater one replaces a smaller one. */
enum sn_rc_answer {
	SN_ANSWER_NONE,
	SN_ANSWER_ACK,		/* acknowledges all packets before psn */
	SN_ANSWER_SEQUENCE_NAK,	/* the packet psn is missing */
	SN_ANSWER_RNR_NAK,
	/* a NAK with nak_code at nak_psn; after it the QP goes to ERR */
	SN_ANSWER_FATAL_NAK,
};

struct sn_rc_resp {
	uint32_t psn;		/* PSN that is expected next */
	uint32_t msn;
	enum sn_bth_class in;	/* class of the SEND or WRITE that is arriving */
	bool nak_sent;		/* a sequence NAK was sent: packets after the gap are dropped silently */
	bool established;
	enum sn_rc_answer answer;
	enum sn_nak_code nak_code;
	uint32_t delayed_requests;	/* number of requests that the delayed ACK covers */
	uint32_t nak_psn;
	/* event that the fatal NAK raises; SN_EV_COMPLETION: none, since a CQE reports the error */
	enum sn_event event;
	struct sn_srq *srq;	/* the SRQ of the receive WQE in use, or NULL */
	uint16_t rwqe;		/* index of the receive WQE in use */
	uint32_t off;		/* bytes of the current message that have arrived */
	uint64_t va;
	uint32_t rkey, len;	/* rkey and length of the current WRITE */
	struct sn_rc_read read[SN_RC_READS];
	uint32_t read_head, read_tail;
	struct sn_rc_atomic atomic[SN_RC_READS];
	uint32_t atomic_next;
	/* quirk SN_Q_UNORDERED: the first packet of the current WRITE, until its last one has arrived */
	struct sn_late_write *late;
};

/*
 * Scratch for the WQEs in use: one of each kind for the whole device, so that thousands of idle QPs need
 * no room for them. A QP that finds the WQE of another QP here fetches its own again.
 */
struct sn_rc_scratch {
	const struct sn_qp *sender, *reader, *receiver;
	struct sn_wqe send;		/* the WQE that the sender is sending */
	const struct sn_wr *read_wr;	/* the READ whose response is arriving */
	struct sn_wqe read;		/* WQE of read_wr; its segments receive the response */
	struct sn_rwqe receive;
};

/*
 * A cached translation of a whole key, for one kind of access by one QP. It is valid while turn equals
 * nic->key_turn: then no key and no connection has changed since.
 */
struct sn_rc_mapping {
	uint32_t key, turn;
	uint64_t start, len;	/* len 0: the key is not contiguous, or access is not allowed */
	uint8_t *at;
};

struct sn_rc {
	struct sn_qp *qp;
	struct sn_rc_scratch *scratch;
	struct sn_fab_dest dest;
	bool uses_udp;			/* see sn_port_use_udp */
	struct sn_waiter waiter;
	struct sn_rc_mapping target;	/* mapping of the key of the WRITE executed last */
	struct sn_rc_mapping local;	/* mapping of the key of the receives used last */
	bool ack_delayed;		/* see sn_rc_ack_after_cqe */
	TAILQ_ENTRY(sn_rc) delayed_link;
	struct sn_rc_req req;
	struct sn_rc_resp resp;
};

/* The wire half's state of a port. (port.c) */
struct sn_fabric {
	struct sn_fab *fab;
	int listen_error;		/* result of the last sn_fabric_listen that needed the port */
	uint32_t fault_generation;
	/* the fault script delays packets until this timer expires */
	struct sn_timer chaos;
	TAILQ_HEAD(, sn_waiter) blocked;
	TAILQ_HEAD(, sn_rc) delayed_acks;
	/* number of empty polls since an ACK was delayed or a packet arrived */
	unsigned int idle;
	unsigned int ack_delay_polls;		/* empty polls before delayed ACKs are sent */
	/* empty polls so far, and their number at the last WRITE */
	unsigned int empty_polls, empty_polls_at_write;
	struct sn_rc_scratch scratch;		/* scratch of the whole device; only in the first port */
};

/* rc_port.c: sends through the port */

/*
 * Sends headers and payload; fills in opcode, QPN and PSN of the BTH. Returns the same values as
 * sn_fab_send.
 */
struct sn_rc_out {
	uint8_t opcode;
	uint32_t train;		/* number of packets; 0 means 1 */
	bool solicited, ackreq;
	uint32_t psn;
	uint8_t ext[SN_HEADER_MAX - sizeof(struct sn_bth)];
	uint32_t ext_len;
	uint32_t len;			/* bytes of payload */
	const struct sn_wqe *wqe;	/* WQE whose segments hold the payload; NULL: memory does */
	uint32_t off;			/* offset of the payload in the data of wqe */
	const struct sn_access *memory;
	enum sn_acc refused;		/* the reason, if sn_rc_send returns -EACCES */
};
int sn_rc_send(struct sn_qp *qp, struct sn_rc_out *out);
static inline void sn_rc_put_ext(struct sn_rc_out *out, const void *header, size_t len)
{
	memcpy(out->ext + out->ext_len, header, len);
	out->ext_len += (uint32_t)len;
}
/*
 * Writes the peer's struct sn_bth and returns the position of the next header. flags includes the pad
 * count; psn includes AckReq and train. The header is stored as two words, so that the reader can load
 * each word at once from one store.
 */
static inline uint8_t *sn_rc_put_bth(const struct sn_qp *qp, uint8_t *head, uint8_t opcode, uint32_t flags,
				     uint32_t psn)
{
	be64_t first = to_be64((uint64_t)opcode << 56 | (uint64_t)flags << 48 | (uint64_t)qp->pkey << 32 |
			       (qp->remote_qpn & 0xffffff));
	be32_t last = to_be32(psn);

	memcpy(head, &first, sizeof(first));
	memcpy(head + sizeof(first), &last, sizeof(last));
	return head + sizeof(struct sn_bth);
}

static inline uint32_t sn_rc_flags(bool solicited, uint32_t len)
{
	return (solicited ? SN_BTH_SE : 0) | (-len & 3) << SN_BTH_PAD_SHIFT;
}

/* Does the path lead to another host? Then each packet is a datagram, and may be lost. */
static inline bool sn_rc_is_far(const struct sn_qp *qp)
{
	return qp->rc->dest.udp_port;
}

/*
 * Returns the length of a delayed ACK that this packet may carry, or 0. A request that may break the
 * connection carries no ACK. sn_rc_put_piggyback writes the ACK to head.
 */
static inline uint32_t sn_rc_piggyback(const struct sn_qp *qp, bool send)
{
	bool rides = qp->rc->ack_delayed && send && qp->rc->resp.answer == SN_ANSWER_ACK &&
		     sn_port_can_piggyback(qp->port) && !sn_rc_is_far(qp);

	return rides ? sizeof(struct sn_bth) + sizeof(struct sn_aeth) : 0;
}
void sn_rc_put_piggyback(struct sn_qp *qp, uint8_t *head);
/*
 * Returns how many packets of a message to send as one train, from packet number at on, with left bytes
 * remaining. A real wire would split a train, as with segmentation offload; this one need not. Trains
 * start at fixed positions, so that a retransmission has the same boundaries.
 */
uint32_t sn_rc_train(const struct sn_qp *qp, uint32_t at, uint32_t left);
/* Does the length match the packet count, given whether the train ends the message? */
static inline bool sn_rc_train_fits(const struct sn_qp *qp, const struct sn_packet *pkt, bool last)
{
	if (pkt->train > 1 && pkt->len > SN_RC_TRAIN)
		return false;
	return last ? sn_rc_packets(qp, pkt->len) == pkt->train
		    : pkt->len == (uint32_t)pkt->train * qp->mtu;
}
/* Returns true if the peer's device has not yet read the packets sent before. */
bool sn_rc_peer_stalled(struct sn_qp *qp);
/* Delays the pending ACK until some empty polls have passed. The shortest delay of a port's pending ACKs
 * applies to all of them. */
void sn_rc_delay_ack(struct sn_qp *qp, unsigned int polls);
void sn_rc_undelay_ack(struct sn_qp *qp);
/* To be called when the ACK has been sent. */
void sn_rc_acknowledged(struct sn_qp *qp);
void sn_rc_send_delayed_acks(struct sn_port *port, bool any);
bool sn_rc_ack_may_wait(const struct sn_port *port);

/* rc_req.c: sends requests. True if only the burst limit stopped it. */
bool sn_rc_req_run(struct sn_qp *qp);
/* rc_plain.c: the fast path for the next WQE of a queue that is not empty. False: it cannot send this
 * WQE, or there is no room. */
bool sn_rc_plain(struct sn_qp *qp);
/* Sends the WQE at this address on the fast path. False: it cannot send this WQE, or there is no
 * room. */
bool sn_rc_plain_at(struct sn_qp *qp, const uint8_t *at);
static inline bool sn_rc_all_is_sent(const struct sn_qp *qp)
{
	return qp->sq_next == qp->sq_pi && qp->rc->req.wr == qp->wr_tail && !qp->rc->req.loaded;
}

/* functions of rc_mapping.c */
static inline bool sn_rc_mapping_valid(const struct sn_qp *qp, const struct sn_rc_mapping *p, uint32_t key)
{
	return p->key == key && p->turn == qp->nic->key_turn;
}

/* Caches the key of the WRITE executed last. */
void sn_rc_cache_target(struct sn_qp *qp);
/* False: no mapping; len then stays 0 until a change. */
bool sn_rc_mapping_fill(struct sn_qp *qp, struct sn_rc_mapping *p, uint32_t key, uint8_t rights);
/* Returns a pointer to len > 0 bytes in the mapping, or NULL. */
static inline void *sn_rc_mapping_at(const struct sn_qp *qp, const struct sn_rc_mapping *p, uint32_t key,
				   uint64_t va, uint32_t len)
{
	uint64_t off = va - p->start;

	return sn_rc_mapping_valid(qp, p, key) && off <= p->len && len <= p->len - off ? p->at + off : NULL;
}

/* rc_ack.c: handles responses */
void sn_rc_ack_in(struct sn_qp *qp, const struct sn_packet *pkt);
/* Handles an ACK up to and including psn. */
void sn_rc_acked(struct sn_qp *qp, uint32_t psn);
void sn_rc_read_in(struct sn_qp *qp, const struct sn_packet *pkt);
void sn_rc_atomic_in(struct sn_qp *qp, const struct sn_packet *pkt);

/* rc_retry.c: timers and retransmission */
void sn_rc_timers_init(struct sn_qp *qp);
/* Retransmits from the oldest unacknowledged packet. */
void sn_rc_go_back(struct sn_qp *qp);
/* To be called for packets that were sent: lets a window grow that losses have made smaller. */
void sn_rc_window_grow(struct sn_qp *qp, uint32_t sent);
/* Returns the oldest unfinished message, or NULL. */
struct sn_wr *sn_rc_oldest(const struct sn_qp *qp);
/* To be called when a message ends: no more of its response may be written. */
void sn_rc_drop_response(struct sn_qp *qp, const struct sn_wr *wr);
/* Ends a message with an error. The QP goes to ERR when the wr retires. */
void sn_rc_fail(struct sn_qp *qp, struct sn_wr *wr, uint8_t syndrome, uint8_t vendor);
/* To be called when a request that needs a response was sent: starts the timer. */
void sn_rc_expect_answer(struct sn_qp *qp);
void sn_rc_retry_soon(struct sn_qp *qp);
void sn_rc_link_lost(struct sn_qp *qp);
void sn_rc_rnr_in(struct sn_qp *qp, uint8_t timer);
/* Counts a failure. False: the retries are exhausted and the QP fails. */
bool sn_rc_spend_retry(struct sn_qp *qp);
/* Has the requester gone back more than once since it last made progress? */
static inline bool sn_rc_no_progress(const struct sn_qp *qp)
{
	return qp->rc->req.retries + 1 < qp->retry_count;
}
void sn_rc_made_progress(struct sn_qp *qp);

/* rc_plain_in.c: the fast path for an arrived request or ACK. False: it cannot handle the packet
 * and did nothing. */
bool sn_rc_plain_in(struct sn_port *port, const struct sn_addr *src, const uint8_t *bytes, size_t len);

/* rc_resp.c: handles requests */
void sn_rc_request_in(struct sn_qp *qp, const struct sn_packet *pkt);

/* rc_ack_out.c: sends ACKs and NAKs */
void sn_rc_set_answer(struct sn_qp *qp, enum sn_rc_answer what);
/* Requests the ACK for a message whose CQE the host has just been given. */
void sn_rc_ack_after_cqe(struct sn_qp *qp);
/* Requests the ACK for a WRITE. */
void sn_rc_ack_write(struct sn_qp *qp);
/* Requests a NAK after which the QP goes to ERR. */
void sn_rc_fatal_nak(struct sn_qp *qp, uint32_t psn, enum sn_nak_code code, enum sn_event event);
/* Refuses the peer's access, with the NAK and the event for the reason. */
void sn_rc_refuse(struct sn_qp *qp, uint32_t psn, const struct sn_access *a, enum sn_acc why);
/* Sends the pending ACK or NAK. Returns the same values as sn_rc_send(). */
int sn_rc_send_answer(struct sn_qp *qp);
void sn_rc_put_aeth(struct sn_qp *qp, struct sn_rc_out *out, uint8_t syndrome);

/* rc_read.c: handles requests for READs and atomics, and sends their responses */
void sn_rc_read_request_in(struct sn_qp *qp, const struct sn_packet *pkt, bool duplicate);
void sn_rc_atomic_request_in(struct sn_qp *qp, const struct sn_packet *pkt, bool duplicate);
static inline bool sn_rc_answer_pending(const struct sn_qp *qp)
{
	const struct sn_rc_resp *s = &qp->rc->resp;

	return s->read_head != s->read_tail || s->answer != SN_ANSWER_NONE;
}
/* Sends the pending answers in order. True if only the burst limit stopped it. */
bool sn_rc_resp_run(struct sn_qp *qp);

#endif
