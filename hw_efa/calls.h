/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that files of hw_efa call in each other, lowest layer first: a file calls no file
 * that is listed below it. The entry points for core are in ops.h.
 */
#ifndef EFA_CALLS_H
#define EFA_CALLS_H

#include "hw_efa/obj.h"

/* ---- error.c ---- */
/* Ends the connection for this reason. The first reason of an endpoint is kept and logged. */
EFA_COLD void efa_break(struct dap_ep *ep, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Ends the connection; the reason is the completion's status. */
EFA_COLD void efa_break_cqe(struct dap_ep *ep, const struct efa_cqe *cqe);
/* Lets the next tick issue the endpoint's waiting work, for which no completion may come. */
EFA_COLD void efa_defer(struct dap_ep *ep);
#define EFA_TICK_US 1000u
EFA_COLD void efa_tick_want(struct efa_engine *eng);
/*
 * After this number of wake-ups in a row without an event for a waiter, the tick polls for the
 * waiter, until the peers' writes that caused the wake-ups end.
 */
#define EFA_FRUITLESS 32u
static inline bool efa_tick_polls(const struct efa_engine *eng)
{
	return eng->armed && (!eng->res.ring.doorbell || eng->fruitless >= EFA_FRUITLESS);
}

/* ---- evd.c ---- */
EFA_COLD void efa_evd_wake(struct dap_evd *evd);
EFA_COLD void efa_evd_full(struct dap_evd *evd, struct dap_ep *ep, bool receive);
/* Reports the EVDs that have overflowed, after the engine has been left. */
EFA_COLD void efa_report_overflows(struct efa_engine *eng);
/*
 * Puts a completion into the EVD's ring. flags: of the post, and EFA_DONE_BIND for a bind. After a
 * failure all later work counts as flushed, whatever the device did: DAT completes in order.
 */
void efa_emit(struct dap_evd *evd, struct efa_done d, unsigned int flags, bool *failed);
/* Returns enum dap_dto_op of an operation in enum efa_dto_op. */
EFA_INLINE uint8_t efa_op_dto(unsigned int op)
{
	static const uint8_t ops[] = {
		[EFA_SEND] = DAP_OP_SEND, [EFA_READ] = DAP_OP_RDMA_READ,
		[EFA_WRITE] = DAP_OP_RDMA_WRITE, [EFA_BIND] = 0,
	};

	return ops[op];
}

/* Returns the completion of a request that succeeded. */
EFA_INLINE struct efa_done efa_done_of(struct dap_ep *ep, const struct efa_dto *d)
{
	return (struct efa_done){ .ep = ep, .cookie = d->cookie, .bytes = d->bytes,
				  .op = efa_op_dto(d->op) };
}

void efa_event(const struct efa_done *d, struct dap_event *ev);
void efa_evd_purge(struct dap_evd *evd, const struct dap_ep *ep);
/*
 * Called when more than efa_cqring.lag CQEs have been taken since the last call. Arming the CQ writes
 * the consumer index to the device, but a consumer that only polls never arms, so the index is written
 * here. The phase changes at the end of a lap.
 */
EFA_COLD void efa_cq_write_consumed(struct efa_engine *eng);

EFA_INLINE void efa_done_enqueue(struct dap_evd *evd, struct efa_done d)
{
	struct efa_evd *q = efa_evd(evd);
	struct efa_done *at;

	if (efa_unlikely(q->head - q->tail > q->mask)) {
		efa_evd_full(evd, d.ep, d.receive);
		return;
	}
	/* Field by field: gcc copies a struct through the stack, and a wide load waits for narrow stores. */
	at = &q->ring[q->head++ & q->mask];
	at->ep = d.ep;
	at->cookie = d.cookie;
	at->bytes = d.bytes;
	at->op = d.op;
	at->status = d.status;
	at->receive = d.receive;
	at->unsignalled = d.unsignalled;
	if (efa_unlikely(q->armed))
		efa_evd_wake(evd);
}

/*
 * The consumer has dequeued the completion, so the place of the request or receive is free again.
 */
EFA_INLINE void efa_done_dequeued(struct dap_ep *ep, unsigned int receive)
{
	efa_ep(ep)->free_at[receive]++;
}

/* ---- key.c: in the engine ---- */
void efa_key_link(struct efa_engine *eng, struct efa_key *k);
/* No write uses the key any more when this returns. The key need not be linked. */
void efa_key_unlink(struct efa_engine *eng, const struct efa_key *k);
/* Returns true if to->key gives the endpoint's peer the right to write these bytes. */
bool efa_key_allows(struct dap_ep *ep, const struct efa_iov *to);

/* ---- seg.c: lists of segments ---- */
static inline struct efa_seg efa_seg_of(uint64_t addr, uint32_t len, uint32_t rkey)
{
	return (struct efa_seg){ cpu_to_le32((uint32_t)addr), cpu_to_le32((uint32_t)(addr >> 32)),
				 cpu_to_le32(len), cpu_to_le32(rkey) };
}

static inline struct efa_iov efa_iov_of(const struct efa_seg *s)
{
	return (struct efa_iov){ (uint64_t)le32_to_cpu(s->addr_hi) << 32 | le32_to_cpu(s->addr_lo),
				 le32_to_cpu(s->len), le32_to_cpu(s->rkey) };
}

/* Returns the bytes from offset at of a list to the end of the segment that contains the offset. */
EFA_COLD struct efa_iov efa_seg_rest(const struct efa_iov *seg, uint32_t at);
/*
 * Returns true if the segment lies in an LMR of the endpoint's PZ, and for write in one with local
 * write access. The last LMR of each kind is cached, until it is freed.
 */
EFA_INLINE bool efa_allowed(struct dap_ep *ep, bool write, uint32_t key, uint64_t va, uint64_t len)
{
	const struct dap_lmr **last = write ? &efa_ep(ep)->rx.lmr : &efa_ep(ep)->tx.lmr, *lmr = *last;

	if (efa_unlikely(lmr->lmr_context != key)) {
		struct dap_lmr *found = dap_lmr_find(ep->obj.ia, key);

		if (!found || found->pz != ep->pz || (write && !(found->priv & DAP_PRIV_LOCAL_WRITE)))
			return false;
		efa_lmr(found)->cached = true;
		*last = lmr = found;
	}
	return efa_likely(len <= lmr->length) && efa_likely(va - lmr->addr <= lmr->length - len);
}

static inline bool efa_writable(struct dap_ep *ep, const struct efa_iov *s)
{
	return efa_allowed(ep, true, s->key, s->addr, s->len);
}

/* Returns efa_allowed() for all segments of a list that have its first len bytes. */
EFA_COLD bool efa_all_allowed(struct dap_ep *ep, bool write, const struct efa_iov *seg, uint32_t len);

/* ---- wr.c: WQEs off the fast path ---- */
/* To be called when all slots are free. */
EFA_COLD void efa_slots_reset(struct efa_sq *sq);
EFA_COLD void efa_wr_ring(struct dap_ep *ep);
EFA_COLD void efa_wr_post(struct dap_ep *ep, const struct efa_wr *wr);
/*
 * Returns false while the first RDMA of the connection is outstanding or waits for another try: no
 * other may be posted then.
 */
static inline bool efa_rdma_may(const struct efa_ep *e)
{
	return e->cold->rdma == EFA_RDMA_NONE || e->cold->rdma == EFA_RDMA_WORKS;
}

/* Posts a control message without a sequence number. flags, id: as in efa_ctrl_msg. */
EFA_COLD void efa_ctrl_post(struct dap_ep *ep, enum efa_slot_kind kind, enum efa_ctrl_op op,
			    uint32_t flags, uint32_t id);
EFA_COLD void efa_rdma_post(struct dap_ep *ep, struct efa_wr *wr);
/* Posts the first RDMA again if the peer's device refused it. */
EFA_COLD void efa_rdma_again(struct dap_ep *ep);
/*
 * Returns zeroed bytes for a control message in the stage of the next WQE. seg[0] of the work request
 * refers to them.
 */
EFA_COLD void *efa_wr_stage(struct dap_ep *ep, struct efa_wr *wr, uint32_t bytes);
/* Lets a software device without a thread see the doorbells of an endpoint. */
EFA_COLD void efa_kick_driven(const struct efa_ep *e);
static inline void efa_kick(const struct efa_ep *e)
{
	if (efa_unlikely(e->tx.eng->driven))
		efa_kick_driven(e);
}

/* ---- rq.c: receive buffers, and the acknowledgements that free them for the peer ---- */
void efa_rx_refill(struct dap_ep *ep);
/*
 * Returns buffers to the device in batches. The next packet acknowledges their places to the peer.
 */
void efa_give_back(struct dap_ep *ep);
EFA_COLD void efa_give_ack(struct dap_ep *ep);
EFA_COLD void efa_credit(struct dap_ep *ep);
/* Asks the peer for acknowledgements, once for each connection, because the question takes one
 * of the peer's few spare buffers. */
EFA_COLD void efa_ask_ack(struct dap_ep *ep);

/* ---- request.c: completed requests ---- */
/* Called when a WQE of the request has completed, or when the FIN that it waited for has come. */
void efa_dto_progress(struct dap_ep *ep, uint32_t index);
EFA_COLD void efa_fail_dto(struct dap_ep *ep, uint32_t dto, enum dap_dto_status status);
/* Delivers the longest prefix of requests that are done. */
void efa_deliver_requests(struct dap_ep *ep);
EFA_COLD void efa_flush_requests(struct dap_ep *ep);

/* ---- control.c: control messages, long messages, writes by software ---- */
EFA_COLD void efa_ctrl_packet(struct dap_ep *ep, const uint8_t *p, uint32_t len);
EFA_COLD void efa_answer_all(struct dap_ep *ep);
/* Sends the peer a FIN for its request id, at once or later. */
EFA_COLD void efa_answer(struct dap_ep *ep, uint32_t id, enum dap_dto_status status);
EFA_COLD void efa_pull_all(struct dap_ep *ep);

/* ---- tx.c: requests that are not issued by their post ---- */
/* Issues all waiting work that can go out now. */
EFA_COLD void efa_push(struct dap_ep *ep);
/* Sets the length limits of requests that the fast path posts. */
EFA_COLD void efa_set_most(struct dap_ep *ep);
/* Marks a write without credit, a packet of which goes without a sequence number: sends wait for it. */
EFA_COLD void efa_write_plain(struct efa_tx *tx, struct efa_dto *d);

struct efa_request {
	struct dap_ep *ep;
	struct efa_dto dto;
	struct efa_work work;
	bool bound;			/* bind: the device has carried it out */
};
EFA_COLD int efa_request(const struct efa_request *r);

/* ---- rx.c: packets and receives ---- */
void efa_rx_packet(struct dap_ep *ep, const struct efa_cqe *cqe);
/*
 * Delivers the packets of the reorder window that are next in sequence, and gives their buffers
 * back.
 */
void efa_rx_prefix(struct dap_ep *ep);
/* Called when a receive has been posted: delivers a packet that waits for it, or flushes the
 * receive. */
EFA_COLD void efa_rx_resume(struct dap_ep *ep);
EFA_COLD void efa_flush_recvs(struct dap_ep *ep);
/* Called when a read of a long message has completed. */
EFA_COLD void efa_pull_done(struct dap_ep *ep, uint32_t recv, uint8_t status);

/* ---- cqe.c: completions that the fast path does not handle ---- */
EFA_COLD void efa_cqe_slow(struct efa_engine *eng, const struct efa_cqe *cqe);
/* In the engine: polls the CQ until it is empty. */
EFA_COLD void efa_drain(struct efa_engine *eng);
/* Lets a software device without a thread do some work. */
EFA_COLD void efa_pump(struct efa_engine *eng);
/* Lets a device without a thread work, and polls. */
EFA_COLD void efa_poll_cq(struct efa_engine *eng);
/* If no request can be posted, polls a while: suppressed completions free their places only then. */
EFA_COLD void efa_make_place(struct dap_ep *ep);
/* Arms the CQ: the next completion wakes the waiters, by an event of the device or at the next
 * tick. */
EFA_COLD void efa_arm_device(struct efa_engine *eng);
enum efa_until {
	EFA_FLUSHED,			/* no WQE of the endpoint is outstanding */
	/* the peer's adapter has all answers to the peer's requests; EFA_B_ENDING is set, so none follows */
	EFA_ANSWERED,
	/* requests before the first failed one are complete, as far as the peer has taken them */
	EFA_SETTLED,
};
/* Polls until the state is reached. False after this number of polls. To be called without the lock. */
EFA_COLD bool efa_await(struct dap_ep *ep, enum efa_until until, unsigned int polls);
void efa_tick(void *eng);

/* ---- mr.c ---- */
struct efa_range {			/* the memory of a bind; all zero: an unbind */
	struct dap_lmr *lmr;
	uint64_t addr, len;
	uint32_t priv;
};
EFA_COLD int efa_bind(struct dap_rmr *rmr, struct dap_ep *ep, const struct efa_range *to,
		      uint64_t cookie, unsigned int flags, uint32_t *context);

#endif
