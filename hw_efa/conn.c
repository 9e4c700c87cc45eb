/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Connections: the address of an endpoint, its connection to a peer, and the end of that. The
 * connection manager lets an end send only after both ends have posted receive buffers and created
 * an address handle for the other. So a device knows the sender of each packet.
 */
#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "hw_common/random.h"
#include "hw_efa/lock.h"
#include "hw_efa/ops.h"
#include "hw_efa/sq.h"

#define LINK_ETHERNET 2		/* core has no value for an EFA; this one is the closest */

static uint8_t own_caps(const struct efa_caps *dev)
{
	return dev->rdma_write ? EFA_CAN_WRITE : 0;
}

int efa_qp_address(struct dap_ep *ep)
{
	const struct efa_ia *ia = efa_ia(ep->obj.ia);
	const struct efa_ep *e = efa_ep(ep);
	const struct efa_own own = {
		.qkey = cpu_to_be32(e->cold->qkey),
		.window = cpu_to_be16((uint16_t)ia->params.window),
		.caps = own_caps(&ia->dev),
	};
	struct dap_path path = {
		.link_layer = LINK_ETHERNET,
		.rd_in = (uint8_t)ep->attr.max_rdma_read_in,
		.rd_out = (uint8_t)ep->attr.max_rdma_read_out,
		.mtu = (uint16_t)ia->dev.mtu, .qpn = e->qpn, .proto = EFA_PROTO,
	};
	uint16_t first;
	int err = hw_random(&first, sizeof(first));

	if (err)
		return err;
	path.psn = first;
	memcpy(path.gid, ia->dev.gid, sizeof(path.gid));
	memcpy(path.own, &own, sizeof(path.own));
	ep->local_path = path;
	return 0;
}

static bool path_fits(const struct dap_path *p, const struct efa_own *own)
{
	uint32_t window = be16_to_cpu(own->window);

	return p->proto == EFA_PROTO && p->qpn <= 0xffff && p->psn <= 0xffff && p->mtu >= 1024 &&
	       window >= 4 && window <= EFA_MAX_WINDOW && !(own->caps & ~EFA_CAN_ALL) &&
	       !own->zero;
}

static void set_peer(struct dap_ep *ep, const struct dap_path *p, const struct efa_own *own)
{
	const struct efa_ia *ia = efa_ia(ep->obj.ia);
	struct efa_ep *e = efa_ep(ep);

	e->remote_qpn = (uint16_t)p->qpn;
	e->ah = e->cold->ah->number;
	e->from = e->ah | (uint32_t)e->remote_qpn << 16;
	e->sq.word0 = (uint64_t)EFA_TX_META << 16 |
		      (uint64_t)(EFA_TX_FIRST | EFA_TX_LAST | EFA_TX_COMP_REQ) << 24 |
		      (uint64_t)e->remote_qpn << 32 | e->sq.gen;
	e->sq.word1 = (uint64_t)e->ah << 32;
	e->sq.qkey = be32_to_cpu(own->qkey);
	e->tx.seq = e->tx.acked = ep->local_path.psn;
	e->tx.limit = e->tx.seq + be16_to_cpu(own->window);
	e->rx.next = e->rx.acked_to = e->rx.advertised = p->psn;
	e->rx.look_at = p->psn + EFA_LOOK_EACH;
	e->cold->oldest_ack = e->cold->mark_ack = p->psn;
	e->tx.mtu = efa_min(p->mtu, ia->dev.mtu);
	e->tx.emulates = !(own_caps(&ia->dev) & own->caps);
	e->tx.no_reads = !ep->local_path.rd_out;
	e->tx.peer_no_reads = !p->rd_in;
	e->tx.keeps = !e->tx.emulates && !ia->params.relaxed;
	e->cold->rdma_tries = EFA_RDMA_TRIES;
	efa_set_most(ep);
	e->cold->live = true;
	ia->eng->live++;
	/* Connected: clears all reasons to block but earlier requests that wait. */
	e->tx.blocked &= EFA_B_QUEUE;
	ia->eng->emulating += e->tx.emulates;
}

int efa_qp_connect(struct dap_ep *ep)
{
	const struct dap_path *p = &ep->remote_path;
	struct efa_ia *ia = efa_ia(ep->obj.ia);
	struct efa_ep *e = efa_ep(ep);
	struct efa_own own;
	int err;

	memcpy(&own, p->own, sizeof(own));
	if (!path_fits(p, &own)) {
		dap_log(DAP_LOG_ERR, "endpoint %p of %s: the peer is of another kind or version: protocol "
			"0x%x (ours is 0x%x), QP %u, MTU %u, window %u, capabilities 0x%x: both ends have to "
			"run the same release of this provider", (void *)ep, ep->obj.ia->name, p->proto,
			EFA_PROTO, p->qpn, p->mtu, be16_to_cpu(own.window), own.caps);
		return -EPROTO;
	}
	err = efa_ah_get(ep);
	if (err)
		return err;
	err = ia->ctl->ops->qp_ready(ia->ctl, &e->cold->qp);
	if (err) {
		efa_ah_put(ep);
		return err;
	}
	efa_enter(ia->eng);
	set_peer(ep, p, &own);
	efa_tick_want(ia->eng);
	efa_leave(ia->eng);
	return 0;
}

#define SETTLE_LOOKS 32u		/* polls between two looks at the clock */
#define SETTLE_MS 500			/* time limit in ms; a live peer acknowledges at once */
/* least number of polls in that time; about half of them follow a sleep */
#define SETTLE_POLLS 256u

/* If a WQE has completed or a request was delivered since the last call, begins a new wait now. */
static void note_wait(struct efa_ep *e, uint64_t now)
{
	const uint64_t ended = (uint64_t)e->tx.done << 32 | (e->sq.pi - e->sq.used);
	struct efa_ep_cold *m = e->cold;

	if (m->waits_since && m->waits_for == ended)
		return;
	m->waits_for = ended;
	m->waits_since = e->sq.used + e->tx.pulls_asked + e->tx.asks ? now : 0;
	m->waits_polls = e->tx.eng->polls;
}

/*
 * Stores for each endpoint of the IA since when its requests have had no completion. A poll serves all
 * endpoints, so the endpoints whose peers were on a vanished host time out together and not one after the
 * other.
 */
static void note_waits(struct efa_engine *eng)
{
	uint64_t now = dap_now_ms();

	efa_enter(eng);
	for (unsigned int qpn = 0; qpn <= UINT16_MAX; qpn++)
		if (eng->eps[qpn])
			note_wait(efa_ep(eng->eps[qpn]), now);
	efa_leave(eng);
}

/*
 * Has the endpoint waited long enough? Time alone does not decide: if this process or the whole machine
 * was stopped, or the machine is busy, time passes in which the peer could not answer. So a number of
 * polls is required as well.
 */
static bool is_overdue(const struct efa_ep *e)
{
	const struct efa_ep_cold *m = e->cold;
	bool overdue;

	efa_enter(e->tx.eng);
	overdue = dap_now_ms() >= m->waits_since + SETTLE_MS &&
		  e->tx.eng->polls - m->waits_polls >= SETTLE_POLLS;
	efa_leave(e->tx.eng);
	return overdue;
}

static void await_peer(struct dap_ep *ep, enum efa_until until)
{
	if (efa_await(ep, until, SETTLE_LOOKS))
		return;
	note_waits(efa_ia(ep->obj.ia)->eng);
	while (!is_overdue(efa_ep(ep)) && !efa_await(ep, until, SETTLE_LOOKS))
		;
}

/*
 * The peer's disconnect message takes another path than acknowledgements and may overtake them. Likewise
 * a request can fail before the answers to earlier requests have come. In both cases, sends that the peer
 * has taken must not be flushed. A send to a QP in error completes at once.
 */
void efa_qp_settle(struct dap_ep *ep)
{
	await_peer(ep, EFA_SETTLED);
}

/* Enters the engine and polls the CQ. The caller leaves. */
static struct efa_ep *enter_and_poll(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);

	efa_enter(e->tx.eng);
	efa_poll_cq(e->tx.eng);
	return e;
}

#define FLUSH_LOOKS 64u			/* number of polls of a device; they take some ms */
#define FLUSH_PUMPS 4096u		/* number of polls of a software device without a thread */

/*
 * State ERR would flush the answers to requests whose data this side has, so they go out first. Takes the
 * completions of the device, those that it flushes included. Then software flushes the rest, so all
 * requests and receives are complete when the consumer sees the end of the connection.
 * AWS documents that destroying a QP flushes it, but not that state ERR does. If the flush does not
 * come soon, the QP is destroyed and the endpoint stays. The device accesses no memory after
 * FLUSHED is delivered.
 */
int efa_qp_error(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_engine *eng = e->tx.eng;
	bool over;
	int err;

	efa_enter(eng);
	over = e->tx.blocked & EFA_B_OVER;
	efa_leave(eng);
	if (over)
		return 0;
	await_peer(ep, EFA_ANSWERED);
	efa_enter(eng);
	e->tx.blocked |= EFA_B_ENDING;		/* also if the answers did not arrive in time */
	efa_leave(eng);
	err = eng->ctl->ops->qp_error(eng->ctl, &e->cold->qp);
	if (err || !efa_await(ep, EFA_FLUSHED, eng->driven ? FLUSH_PUMPS : FLUSH_LOOKS))
		efa_qp_end(ep);
	efa_enter(eng);
	efa_drain(eng);
	e->tx.blocked |= EFA_B_ERROR;
	efa_flush_requests(ep);
	efa_flush_recvs(ep);
	eng->emulating -= e->tx.emulates;
	eng->live -= e->cold->live;
	e->tx.emulates = e->cold->live = false;
	efa_leave(eng);
	return 0;
}

const char *efa_qp_why(struct dap_ep *ep)
{
	struct efa_engine *eng = efa_ia(ep->obj.ia)->eng;
	const struct efa_ep_cold *m = efa_ep(ep)->cold;
	bool known;

	efa_enter(eng);			/* cold->why is written once, in the engine */
	known = m && *m->why;
	efa_leave(eng);
	return known ? m->why : NULL;
}

void efa_qp_idle(struct dap_ep *ep, bool *recv_idle, bool *request_idle)
{
	struct efa_ep *e = enter_and_poll(ep);

	*recv_idle = e->free_at[EFA_RECEIVES] - e->rx.posted == e->rx.max;
	*request_idle = e->free_at[EFA_REQUESTS] - e->tx.posted == e->tx.max;
	efa_leave(e->tx.eng);
}

int efa_recv_count(struct dap_ep *ep, uint32_t *recvs)
{
	struct efa_ep *e = enter_and_poll(ep);

	*recvs = e->rx.posted - e->rx.done;
	efa_leave(e->tx.eng);
	return 0;
}

void efa_ep_total(struct dap_ep *ep, struct dap_ep_counts *counts)
{
	static const enum dap_count what[] = {
		[EFA_SEND] = DAP_COUNT_SEND, [EFA_READ] = DAP_COUNT_READ, [EFA_WRITE] = DAP_COUNT_WRITE,
	};
	const struct efa_ep *e = efa_ep(ep);
	const struct efa_rx *rx = &e->rx;

	efa_enter(e->tx.eng);
	for (unsigned int op = EFA_SEND; op <= EFA_WRITE; op++) {
		counts->work[what[op]].number = e->tx.posts[op].number;
		counts->work[what[op]].bytes = e->tx.posts[op].bytes;
	}
	counts->work[DAP_COUNT_POST_RECV].number = rx->posts.number;
	counts->work[DAP_COUNT_POST_RECV].bytes = rx->posts.bytes;
	counts->work[DAP_COUNT_RECV].number = rx->posts.number - (rx->posted - rx->done);
	counts->work[DAP_COUNT_RECV].bytes = rx->received;
	counts->work[DAP_COUNT_RECV_FAILED].number = rx->failures;
	efa_go(e->tx.eng);
}

#define ASK_LOOKS 20u			/* polls until the peer is asked again */

/* Asks the peer on the data path, which keeps order, and through the manager: the peer may not poll. */
bool efa_qp_drain_done(struct dap_ep *ep)
{
	struct efa_ep *e = enter_and_poll(ep);
	bool done, ask = false;

	if (e->tx.blocked & EFA_B_QUEUE)
		efa_push(ep);
	done = e->tx.done == e->tx.posted && !e->sq.used;
	/* A completion says that the peer's adapter has the message; an ack, that its software has it. */
	if (done && e->tx.acked != e->tx.seq && !(e->tx.blocked & EFA_B_HALT)) {
		done = false;
		ask = !e->cold->ask_pause--;
		if (ask) {
			e->cold->ask_pause = ASK_LOOKS;
			efa_ask_ack(ep);
		}
	}
	done = done || e->tx.blocked & EFA_B_ERROR;
	efa_leave(e->tx.eng);
	if (ask)
		dap_ep_look(ep);
	return done;
}

void efa_qp_look(struct dap_ep *ep)
{
	struct efa_ep *e = enter_and_poll(ep);

	if (!(e->tx.blocked & EFA_B_OVER)) {
		e->rx.asked = true;
		efa_credit(ep);
	}
	efa_leave(e->tx.eng);
}
