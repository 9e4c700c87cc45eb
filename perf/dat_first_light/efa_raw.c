/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/barrier.h"
#include "perf/common/stats.h"
#include "perf/dat_first_light/efa_raw.h"

static bool ok(int err, const char *what)
{
	if (err)
		fprintf(stderr, "%s: %s\n", what, strerror(-err));
	return !err;
}

static bool open_cq(struct raw *r, uint32_t entries)
{
	if (!ok(r->ctl->ops->cq_create(r->ctl, entries ? entries : 1024, &r->cq), "cannot create a CQ"))
		return false;
	r->ring = (struct efa_cqring){ .base = r->cq.ring.base };
	r->ctl->cq = &r->ring;
	return true;
}

bool raw_open(const struct light *l, struct raw *r, uint32_t cq_entries)
{
	unsigned int access = EFA_LOCAL_WRITE;
	char why[200] = "";

	*r = (struct raw){ 0 };
	if (efa_ctl_open(l->device, l->params, &r->ctl, why, sizeof(why))) {
		fprintf(stderr, "%s: %s\n", l->ia, why);
		return false;
	}
	r->mem = aligned_alloc(4096, RAW_MEM);
	if (!r->mem)
		return false;
	memset(r->mem, 0, RAW_MEM);
	access |= EFA_REMOTE_READ | (r->ctl->caps.rdma_write ? EFA_REMOTE_WRITE : 0);
	return ok(r->ctl->ops->pd_alloc(r->ctl, &r->pd), "a PD") && open_cq(r, cq_entries) &&
	       ok(r->ctl->ops->mr_reg(r->ctl, r->pd, (uintptr_t)r->mem, RAW_MEM, access, &r->mr),
		  "a registration") &&
	       raw_qp(r, &r->a, RAW_DEPTH) && raw_qp(r, &r->b, RAW_DEPTH);
}

bool raw_qp(struct raw *r, struct raw_qp *q, uint32_t rq_entries)
{
	const struct efa_qp_param p = {
		.pd = r->pd, .cq = &r->cq, .sq_entries = RAW_DEPTH, .rq_entries = rq_entries,
	};

	*q = (struct raw_qp){ 0 };
	return ok(r->ctl->ops->qp_create(r->ctl, &p, RAW_QKEY, &q->res), "cannot create a QP") &&
	       ok(r->ctl->ops->qp_ready(r->ctl, &q->res), "cannot bring a QP to RTS");
}

bool raw_ah(struct raw *r, void *pd, struct efa_ah *ah)
{
	*ah = (struct efa_ah){ .pd = pd };
	memcpy(ah->gid, r->ctl->caps.gid, sizeof(ah->gid));
	return ok(r->ctl->ops->ah_create(r->ctl, ah), "cannot create an AH");
}

/* Rings the doorbell, and kicks the device if it is a software EFA. */
static void ring(struct raw *r, const struct raw_qp *q, const struct efa_ring *queue, uint32_t pi)
{
	dap_wc_flush();
	dap_store_dbrec(queue->doorbell, htole32(pi & 0xffff));
	dap_wc_flush();
	if (r->ctl->ops->kick)
		r->ctl->ops->kick(r->ctl->soft, q->res.handle);
}

void raw_recv(struct raw *r, struct raw_qp *q, uint32_t n)
{
	struct efa_rx_desc *at = q->res.rq.base;

	for (uint32_t i = 0; i < n; i++, q->rq_pi++) {
		uint32_t slot = q->rq_pi & (q->res.rq.entries - 1);
		uintptr_t to = (uintptr_t)r->mem + RAW_MEM / 2 + slot * (size_t)r->ctl->caps.mtu;

		at[slot] = (struct efa_rx_desc){
			.addr_lo = cpu_to_le32((uint32_t)to),
			.addr_hi = cpu_to_le32((uint32_t)((uint64_t)to >> 32)),
			.req_id = cpu_to_le16((uint16_t)slot),
			.length = cpu_to_le16((uint16_t)r->ctl->caps.mtu),
			.lkey_ctrl = cpu_to_le32(r->mr.lkey | EFA_RX_FIRST | EFA_RX_LAST),
		};
	}
	ring(r, q, &q->res.rq, q->rq_pi);
}

static void post_wqe(struct raw *r, struct raw_qp *q, struct efa_wqe *w, const struct raw_qp *to)
{
	uint32_t entries = q->res.sq.entries, slot = q->sq_pi & (entries - 1);
	volatile uint64_t *at = (volatile uint64_t *)((uint8_t *)q->res.sq.base +
						      (size_t)slot * q->res.sq.entry_size);
	uint64_t words[8];

	w->meta.req_id = cpu_to_le16((uint16_t)slot);
	w->meta.ctrl1 |= EFA_TX_META;
	w->meta.ctrl2 = (uint8_t)(EFA_TX_FIRST | EFA_TX_LAST | EFA_TX_COMP_REQ |
				  (q->sq_pi & entries ? EFA_TX_PHASE : 0));
	w->meta.dest_qp = cpu_to_le16(to->res.qpn);
	w->meta.ah = cpu_to_le16(r->ah.number);
	w->meta.qkey = cpu_to_le32(RAW_QKEY);
	memcpy(words, w, sizeof(words));
	for (unsigned int i = 0; i < 8; i++)
		at[i] = words[i];
	q->sq_pi++;
	ring(r, q, &q->res.sq, q->sq_pi);
}

static struct efa_tx_segment buf_at(const struct raw *r, uint64_t offset, uint32_t len)
{
	uint64_t addr = (uintptr_t)r->mem + offset;

	return (struct efa_tx_segment){ cpu_to_le32(len), cpu_to_le32(r->mr.lkey),
				    cpu_to_le32((uint32_t)addr), cpu_to_le32((uint32_t)(addr >> 32)) };
}

void raw_send(struct raw *r, struct raw_qp *q, const struct raw_qp *to, uint32_t len, bool inl)
{
	struct efa_wqe w = { .meta.ctrl1 = (uint8_t)(EFA_OP_SEND | (inl ? EFA_TX_INLINE : 0)) };

	w.meta.length = cpu_to_le16((uint16_t)(inl ? len : len ? 1 : 0));
	if (inl)
		memcpy(w.inl, r->mem, len);
	else if (len)
		w.seg[0] = buf_at(r, 0, len);
	post_wqe(r, q, &w, to);
}

void raw_rdma(struct raw *r, struct raw_qp *q, const struct raw_qp *to, const struct raw_rdma *d)
{
	struct efa_wqe w = { .meta.ctrl1 = (uint8_t)d->op };
	uint64_t remote = (uintptr_t)r->mem + d->remote;

	w.meta.length = cpu_to_le16(1);
	w.seg[0] = (struct efa_tx_segment){ cpu_to_le32(d->len), cpu_to_le32(d->rkey),
					     cpu_to_le32((uint32_t)remote),
					     cpu_to_le32((uint32_t)(remote >> 32)) };
	w.seg[1] = buf_at(r, d->local, d->len);
	post_wqe(r, q, &w, to);
}

static bool take_cqe(struct raw *r, struct efa_cqe *cqe)
{
	const struct efa_ring *ring = &r->cq.ring;
	uint32_t at = r->taken;
	const uint8_t *from = (const uint8_t *)ring->base +
			      (size_t)(at & (ring->entries - 1)) * ring->entry_size;
	uint8_t flags = ((const volatile struct efa_cqe *)(const void *)from)->flags;

	if ((flags & EFA_CQE_PHASE) != (at & ring->entries ? 0 : EFA_CQE_PHASE))
		return false;
	dap_rmb_cqe_owner();
	memset(cqe, 0, sizeof(*cqe));
	memcpy(cqe, from, ring->entry_size < sizeof(*cqe) ? ring->entry_size : sizeof(*cqe));
	r->taken++;
	__atomic_store_n(&r->ring.ci, r->taken, __ATOMIC_RELAXED);
	return true;
}

/* Polls some more after the timeout, as completed() does. */
bool raw_wait(struct raw *r, struct efa_cqe *cqe, unsigned int ms)
{
	enum { LATE_LOOKS = 1000 };
	uint64_t until = now_ns() + ms * 1000000ull;
	unsigned int late = ms ? 0 : LATE_LOOKS;

	do {
		if (r->ctl->ops->drive)
			r->ctl->ops->drive(r->ctl->soft);
		if (take_cqe(r, cqe))
			return true;
	} while (now_ns() < until || late++ < LATE_LOOKS);
	return false;
}
