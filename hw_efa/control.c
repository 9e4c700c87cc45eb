/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Control messages: credits, long messages that the receiver reads, and emulated RDMA writes for
 * devices without them. Each field from the peer is checked before use.
 */
#include "hw_efa/sq.h"

/* ---- Answers to the peer ---- */

void efa_answer(struct dap_ep *ep, uint32_t id, enum dap_dto_status status)
{
	struct efa_ep_cold *m = efa_ep(ep)->cold;

	if (m->answers - m->answered == EFA_ANSWERS) {
		efa_break(ep, "protocol error: the peer has more than %u requests without an answer",
			  EFA_ANSWERS);
		return;
	}
	m->answer[m->answers++ % EFA_ANSWERS] = (struct efa_answer){ id, status };
	efa_defer(ep);
}

/* An endpoint that has failed answers, too: receives of messages that it was reading still succeed. */
void efa_answer_all(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_ep_cold *m = e->cold;

	while (m->answered != m->answers && efa_sq_has(&e->sq, true)) {
		const struct efa_answer *a = &m->answer[m->answered++ % EFA_ANSWERS];

		efa_ctrl_post(ep, EFA_S_ANSWER, EFA_C_FIN, a->status, a->id);
	}
}

/* ---- Long messages ---- */

static bool pull_one(struct dap_ep *ep, uint32_t index)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_recv *r = &e->rx.recv[index & e->rx.recv_mask];

	while (r->state == EFA_R_PULLS && r->at < r->got) {
		struct efa_iov from = efa_seg_rest(r->from, r->at), to = efa_seg_rest(r->seg, r->at);
		struct efa_wr wr = { .op = EFA_OP_RDMA_READ, .kind = EFA_S_PULL, .of = index,
				     .nseg = 1 };

		if (!efa_rdma_may(e) || !efa_sq_has(&e->sq, false))
			return false;
		from.len = to.len = efa_min(efa_min(from.len, to.len),
					    efa_ia(ep->obj.ia)->dev.max_rdma_size);
		to.key = efa_lkey(to.key);
		wr.seg[0] = from;
		wr.seg[1] = to;
		r->at += to.len;
		r->left++;
		efa_rdma_post(ep, &wr);
	}
	return true;
}

void efa_pull_all(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);

	/* Other messages do not move rx.pull, so it may be any distance behind. */
	if (!e->rx.pulls || (int32_t)(e->rx.pull - e->rx.done) < 0)
		e->rx.pull = e->rx.done;
	while (e->rx.pull != e->rx.match && !(e->tx.blocked & EFA_B_HALT)) {
		if (!pull_one(ep, e->rx.pull))
			return;
		e->rx.pull++;
	}
}

/* ---- Messages from the peer ---- */

/*
 * The peer answers a message that it reads, or an emulated write. It may answer a write that is still being
 * issued, because it may refuse the first packets.
 */
static bool is_asked(const struct efa_tx *tx, uint32_t id, bool refused)
{
	const struct efa_dto *d = &tx->dto[id & tx->mask];

	if (id - tx->done > efa_next(tx) - tx->done || id - tx->done >= tx->posted - tx->done)
		return false;
	if (d->state & (EFA_D_WAITS | EFA_D_ANSWERED))
		return d->state & EFA_D_WAITS;
	return refused && d->op == EFA_WRITE && tx->emulates && tx->work[id & tx->mask].at;
}

static void receive_fin(struct dap_ep *ep, const struct efa_ctrl_msg *m)
{
	struct efa_tx *tx = &efa_ep(ep)->tx;
	uint32_t id = le32_to_cpu(m->id);
	struct efa_dto *d = &tx->dto[id & tx->mask];

	if (!is_asked(tx, id, m->flags))
		return efa_break(ep, "protocol error: the peer answers request %u, which has not been made",
				 id);
	if (d->op == EFA_SEND)
		tx->pulls_asked--;
	else
		tx->asks--;
	d->state = (uint8_t)((d->state & ~EFA_D_WAITS) | EFA_D_ANSWERED);
	if (m->flags) {
		if (!d->status)
			d->status = m->flags <= DAP_DTO_PARTIAL_PACKET ? m->flags : DAP_DTO_BAD_RESPONSE;
		efa_break(ep, "the peer refuses an RDMA %s of %u bytes",
			  d->op == EFA_WRITE ? "write" : "read", d->bytes);
	}
	efa_dto_progress(ep, id);
}

/*
 * A thread that polls this memory must see the bytes in ascending order, which memcpy does not
 * guarantee.
 */
static void write_ascending(uint8_t *to, const uint8_t *from, uint32_t len)
{
	uint64_t word;

	while (len) {
		if (len < sizeof(word) || (uintptr_t)to % sizeof(word)) {
			__atomic_store_n(to++, *from++, __ATOMIC_RELEASE);
			len--;
			continue;
		}
		__builtin_memcpy(&word, from, sizeof(word));
		__atomic_store_n((uint64_t *)(void *)to, word, __ATOMIC_RELEASE);
		to += sizeof(word);
		from += sizeof(word);
		len -= (uint32_t)sizeof(word);
	}
}

static void soft_write(struct dap_ep *ep, const struct efa_ctrl_msg *m, uint32_t len)
{
	const struct efa_iov to = efa_iov_of(&m->seg[0]);

	if (!efa_key_allows(ep, &to)) {
		efa_ep(ep)->cold->refuses = true;
		return efa_answer(ep, le32_to_cpu(m->id), DAP_DTO_REMOTE_ACCESS);
	}
	if (to.len != len - sizeof(*m) - sizeof(m->seg[0]))
		return efa_break(ep, "protocol error: the peer announces a write of %u bytes "
				 "in a packet of %u", to.len, len);
	write_ascending((uint8_t *)(uintptr_t)to.addr, (const uint8_t *)&m->seg[1], to.len);
	if (m->flags & EFA_CTRL_LAST)
		efa_answer(ep, le32_to_cpu(m->id), DAP_DTO_SUCCESS);
}

void efa_ctrl_packet(struct dap_ep *ep, const uint8_t *p, uint32_t len)
{
	const struct efa_ctrl_msg *m = (const void *)p;

	if (len < sizeof(*m))
		return efa_break(ep, "protocol error: the peer sends a control message of %u bytes",
				 len);
	if (m->op == EFA_C_CREDIT)
		efa_ep(ep)->rx.asked |= (m->flags & EFA_CTRL_ASK) != 0;
	else if (m->op == EFA_C_FIN)
		receive_fin(ep, m);
	else if (m->op != EFA_C_RW || len <= sizeof(*m) + sizeof(m->seg[0]))
		efa_break(ep, "protocol error: the peer sends control message %u of %u bytes", m->op,
			  len);
	else
		soft_write(ep, m, len);
}
