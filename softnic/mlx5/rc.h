/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the wire half: reliable connections (IBTA volume 1, chapter 9.7) over the fabric.
 *
 * A QP is requester and responder at once. Both only note what they owe when a packet arrives; it
 * is sent from sn_rc_run(), so that acknowledgements of a burst coalesce and nothing recurses.
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
	SN_RC_WINDOW = 224,	/* request packets in flight */
	SN_RC_ACK_EVERY = 16,	/* within a long message ask for an ACK this often */
	SN_RC_DELAY_POLLS = 64,	/* in vain, before ACKs that were put off go out */
	SN_RC_STREAM_POLLS = 8,	/* ... of a WRITE that came so soon after another one */
	SN_RC_DELAY_MAX = 8,	/* requests that a postponed ACK may leave waiting */
	SN_RC_BURST = 32,	/* sendings of a QP before another one's turn */
	SN_RC_TRAIN = 16384,	/* bytes of the packets that go in one: see sn_rc_train */
	SN_RC_READS = 16,	/* responder resources a QP may have; the reported maximum */
	SN_RC_TIMEOUT_MIN = 12,	/* 4.096 us << 12: what this host's scheduler can keep */
};

/* A RDMA READ or an atomic to be answered. */
struct sn_rc_read {
	bool atomic;
	bool again;		/* asked for before, and perhaps answered */
	uint64_t va;		/* atomic: the original value */
	uint32_t rkey, len, psn, sent;	/* sent: packets */
};

/* An atomic that was executed: a repeated request gets the same answer. */
struct sn_rc_atomic {
	uint32_t psn;
	bool valid;
	uint64_t original;
};

static inline uint32_t sn_rc_packets(const struct sn_qp *qp, uint32_t len)
{
	return len ? (len - 1) / qp->mtu + 1 : 1;
}

static inline bool sn_rc_is_read(uint8_t opcode)
{
	return opcode == SN_OP_READ || opcode == SN_OP_ATOMIC_CS || opcode == SN_OP_ATOMIC_FA;
}

static inline struct sn_wr *sn_rc_wr(const struct sn_qp *qp, uint32_t number)
{
	return &qp->wr[number & (qp->sq_size - 1)];
}

/* NOP and UMR end inside the device. */
static inline bool sn_rc_is_ours(const struct sn_wr *wr)
{
	return !wr->done && wr->opcode != SN_OP_NOP && wr->opcode != SN_OP_UMR;
}

#define SN_RC_NO_GAP UINT32_MAX
#define SN_RC_LEN_MAX (1u << 31)	/* IBTA 9.7.4.1.6: of a RDMA request */

struct sn_rc_req {
	uint32_t psn_next;	/* of the next new message */
	uint32_t psn_una;	/* oldest not acknowledged */
	uint32_t psn_max;	/* one past the newest ever sent */
	uint32_t wr;		/* FIFO number of the wr being sent, or next to be */
	uint32_t pkt;		/* its next packet */
	bool loaded;		/* that wr's message has begun */
	bool rnr_wait;		/* told to wait by the peer's receive queue */
	bool unreachable;	/* nobody there: retries come quickly */
	bool link_lost;		/* what was in flight is gone */
	uint8_t retries, rnr_retries;	/* left */
	uint32_t in_flight;	/* packets, at most */
	uint32_t gap_psn;	/* went back for a lost READ response to here */
	uint32_t progress, progress_seen;
	struct sn_timer ack_timer, rnr_timer;
};

/* What the responder has to say next; the greater replaces the smaller. */
enum sn_rc_answer {
	SN_ANSWER_NONE,
	SN_ANSWER_ACK,		/* of all before psn */
	SN_ANSWER_SEQUENCE_NAK,	/* NAK: psn is missing */
	SN_ANSWER_RNR_NAK,
	SN_ANSWER_FATAL_NAK,		/* NAK with nak_code at nak_psn, and then the QP goes to ERR */
};

struct sn_rc_resp {
	uint32_t psn;		/* expected */
	uint32_t msn;
	enum sn_bth_class in;	/* inside a SEND or WRITE of several packets */
	bool nak_sent;		/* what follows the gap is dropped without another word */
	bool established;
	enum sn_rc_answer answer;
	enum sn_nak_code nak_code;
	uint32_t delayed_requests;	/* requests that wait for the ACK */
	uint32_t nak_psn;
	enum sn_event event;	/* of death; SN_EV_COMPLETION: a CQE has told it */
	struct sn_srq *srq;	/* where the receive WQE in use is from, or NULL */
	uint16_t rwqe;		/* and its index */
	uint32_t off;		/* of the current message */
	uint64_t va;
	uint32_t rkey, len;	/* of the current WRITE */
	struct sn_rc_read read[SN_RC_READS];
	uint32_t read_head, read_tail;
	struct sn_rc_atomic atomic[SN_RC_READS];
	uint32_t atomic_next;
};

/*
 * The WQEs in hand, one of a kind for the whole device: thousands of QPs that are idle should not
 * have the room of one each. Who finds another QP's fetches its own again.
 */
struct sn_rc_scratch {
	const struct sn_qp *sender, *reader, *receiver;
	struct sn_wqe send;		/* where the sender is, while it has loaded */
	const struct sn_wr *read_wr;	/* of the reader: */
	struct sn_wqe read;		/* says where its answer goes */
	struct sn_rwqe receive;
};

/*
 * Where the whole of a key is, for one kind of use by one QP. It holds in the turn in which it was
 * found: since then nothing that keys and connections allow has changed.
 */
struct sn_rc_mapping {
	uint32_t key, turn;
	uint64_t start, len;	/* len 0: not in one place, or not allowed */
	uint8_t *at;
};

struct sn_rc {
	struct sn_qp *qp;
	struct sn_rc_scratch *scratch;
	struct sn_fab_dest dest;
	struct sn_waiter waiter;
	struct sn_rc_mapping target;	/* of the WRITE executed last */
	struct sn_rc_mapping local;	/* of the receives used last */
	bool ack_delayed;		/* an ACK is owed that can wait: see sn_rc_ack_after_cqe */
	TAILQ_ENTRY(sn_rc) delayed_link;
	struct sn_rc_req req;
	struct sn_rc_resp resp;
};

/* What the wire keeps of a port. (port.c) */
struct sn_fabric {
	struct sn_fab *fab;
	uint32_t fault_generation;
	struct sn_timer chaos;		/* a fault script holds packets back until then */
	TAILQ_HEAD(, sn_waiter) blocked;
	TAILQ_HEAD(, sn_rc) delayed_acks;
	unsigned int idle;		/* polls in vain since the last of them */
	unsigned int ack_delay_polls;		/* so many they may last */
	unsigned int empty_polls, empty_polls_at_write;	/* polls in vain, until the last WRITE came */
	struct sn_rc_scratch scratch;		/* of the first port: the device's */
};

/* rc_port.c: the port */

/* Sends headers (with BTH: its opcode, QPN and PSN filled in here) and payload. As sn_fab_send. */
struct sn_rc_out {
	uint8_t opcode;
	uint32_t train;		/* packets; 0 is 1 */
	bool solicited, ackreq;
	uint32_t psn;
	uint8_t ext[SN_HEADER_MAX - sizeof(struct sn_bth)];
	uint32_t ext_len;
	uint32_t len;			/* payload: */
	const struct sn_wqe *wqe;	/* of its message, from off on, */
	uint32_t off;
	const struct sn_access *memory;	/* or by a key */
	enum sn_acc refused;		/* with -EACCES: why there is none */
};
int sn_rc_send(struct sn_qp *qp, struct sn_rc_out *out);
/*
 * struct sn_bth for the peer; returns where the next header follows. flags: that and the pad count; psn:
 * with AckReq and train. Two words: what is stored in smaller pieces cannot be loaded at once.
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

/*
 * The length of the ACK that waits for company, if the packet is that: to a request that may break the
 * connection it is no company. put: from head on.
 */
static inline uint32_t sn_rc_piggyback(const struct sn_qp *qp, bool send)
{
	bool rides = qp->rc->ack_delayed && send && qp->rc->resp.answer == SN_ANSWER_ACK &&
		     sn_port_can_piggyback(qp->port);

	return rides ? sizeof(struct sn_bth) + sizeof(struct sn_aeth) : 0;
}
void sn_rc_put_piggyback(struct sn_qp *qp, uint8_t *head);
/*
 * How many packets of a message go from packet number at on in one sending, of left: as adapters
 * leave the cutting to the wire, except that this wire has no need to cut. Trains begin at fixed
 * places of a message, so that what is sent again has the same ends.
 */
uint32_t sn_rc_train(const struct sn_qp *qp, uint32_t at, uint32_t left);
/* Does the length fit the number of packets that it is said to be, the last of a message or not? */
static inline bool sn_rc_train_fits(const struct sn_qp *qp, const struct sn_packet *pkt, bool last)
{
	if (pkt->train > 1 && pkt->len > SN_RC_TRAIN)
		return false;
	return last ? sn_rc_packets(qp, pkt->len) == pkt->train
		    : pkt->len == (uint32_t)pkt->train * qp->mtu;
}
struct sn_rc_scratch *sn_rc_scratch(struct sn_nic *nic);
/* The peer's device has not yet looked at what was sent before. */
bool sn_rc_peer_stalled(struct sn_qp *qp);
/* A fault script says that no receive WQE is to be found. */
bool sn_rc_rnr_injected(struct sn_nic *nic);
/* An ACK is owed. It goes out when the device has been polled in vain for a while, or sooner. */
void sn_rc_delay_ack(struct sn_qp *qp, unsigned int polls);
void sn_rc_undelay_ack(struct sn_qp *qp);
/* ... has gone out. */
void sn_rc_acknowledged(struct sn_qp *qp);
bool sn_rc_send_delayed_acks(struct sn_port *port, bool any);
bool sn_rc_ack_may_wait(const struct sn_port *port);

/* rc_req.c: requests out. True when it stopped only because the burst was over. */
bool sn_rc_req_run(struct sn_qp *qp);
/* rc_plain.c: sends the next WQE of the queue, which is not empty. False: not one of those, or no room. */
bool sn_rc_plain(struct sn_qp *qp);
/* The same of a queue in order, that is to be found at. */
bool sn_rc_plain_at(struct sn_qp *qp, const uint8_t *at);
static inline bool sn_rc_all_is_sent(const struct sn_qp *qp)
{
	return qp->sq_next == qp->sq_pi && qp->rc->req.wr == qp->wr_tail && !qp->rc->req.loaded;
}

/* rc_place.c */
static inline bool sn_rc_mapping_valid(const struct sn_qp *qp, const struct sn_rc_mapping *p, uint32_t key)
{
	return p->key == key && p->turn == qp->nic->key_turn;
}

/* Keeps the place of the key of a WRITE that has just been executed. */
void sn_rc_cache_target(struct sn_qp *qp);
/* False: there is none; then len is 0, until something changes. */
bool sn_rc_mapping_fill(struct sn_qp *qp, struct sn_rc_mapping *p, uint32_t key, uint8_t rights);
/* len > 0 bytes in it, or NULL. */
static inline void *sn_rc_mapping_at(const struct sn_qp *qp, const struct sn_rc_mapping *p, uint32_t key,
				   uint64_t va, uint32_t len)
{
	uint64_t off = va - p->start;

	return sn_rc_mapping_valid(qp, p, key) && off <= p->len && len <= p->len - off ? p->at + off : NULL;
}

/* rc_ack.c: answers in */
void sn_rc_ack_in(struct sn_qp *qp, const struct sn_packet *pkt);
/* An ACK of all up to and with psn. */
void sn_rc_acked(struct sn_qp *qp, uint32_t psn);
void sn_rc_read_in(struct sn_qp *qp, const struct sn_packet *pkt);
void sn_rc_atomic_in(struct sn_qp *qp, const struct sn_packet *pkt);

/* rc_retry.c: timers and going back */
void sn_rc_timers_init(struct sn_qp *qp);
/* Sends again from the oldest unacknowledged packet. */
void sn_rc_go_back(struct sn_qp *qp);
/* The oldest message that is not finished, or NULL. */
struct sn_wr *sn_rc_oldest(const struct sn_qp *qp);
/* The message ends: no more of its answer is to be put anywhere. */
void sn_rc_put_down(struct sn_qp *qp, const struct sn_wr *wr);
/* Ends a message with an error: the QP goes to ERR when its turn comes. */
void sn_rc_fail(struct sn_qp *qp, struct sn_wr *wr, uint8_t syndrome, uint8_t vendor);
/* Something was sent that must be answered. */
void sn_rc_expect_answer(struct sn_qp *qp);
void sn_rc_retry_soon(struct sn_qp *qp);
void sn_rc_link_lost(struct sn_qp *qp);
void sn_rc_rnr_in(struct sn_qp *qp, uint8_t timer);
/* One more failure in a row. False: it was one too many and the QP is being torn down. */
bool sn_rc_spend_retry(struct sn_qp *qp);
void sn_rc_made_progress(struct sn_qp *qp);

/* rc_plain_in.c: a request or an ACK, as it has arrived. False: not one of those, and nothing was done. */
bool sn_rc_plain_in(struct sn_port *port, const struct sn_addr *src, const uint8_t *bytes, size_t len);

/* rc_resp.c: requests in */
void sn_rc_request_in(struct sn_qp *qp, const struct sn_packet *pkt);

/* rc_ack_out.c: ACKs and NAKs out */
void sn_rc_set_answer(struct sn_qp *qp, enum sn_rc_answer what);
/* Owes the ACK of a request whose completion the host has just been given. */
void sn_rc_ack_after_cqe(struct sn_qp *qp);
/* ... of a WRITE that has been executed. */
void sn_rc_ack_write(struct sn_qp *qp);
/* Owes a NAK after which the QP goes to ERR. */
void sn_rc_fatal_nak(struct sn_qp *qp, uint32_t psn, enum sn_nak_code code, enum sn_event event);
/* The peer's access is refused, with the NAK and the event for the reason. */
void sn_rc_refuse(struct sn_qp *qp, uint32_t psn, const struct sn_access *a, enum sn_acc why);
/* Sends the pending ACK or NAK; returns as sn_rc_send() does. */
int sn_rc_send_answer(struct sn_qp *qp);
void sn_rc_put_aeth(struct sn_qp *qp, struct sn_rc_out *out, uint8_t syndrome);

/* rc_read.c: READs and atomics in, their answers out */
void sn_rc_read_request_in(struct sn_qp *qp, const struct sn_packet *pkt, bool duplicate);
void sn_rc_atomic_request_in(struct sn_qp *qp, const struct sn_packet *pkt, bool duplicate);
static inline bool sn_rc_answer_pending(const struct sn_qp *qp)
{
	const struct sn_rc_resp *s = &qp->rc->resp;

	return s->read_head != s->read_tail || s->answer != SN_ANSWER_NONE;
}
/* Answers that are owed, in order. True when it stopped only because the burst was over. */
bool sn_rc_resp_run(struct sn_qp *qp);

#endif
