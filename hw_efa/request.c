/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Completed requests are delivered to their EVD in the order of their posts. */
#include "hw_efa/calls.h"

static void unplace_write(struct efa_tx *tx, struct efa_dto *d)
{
	if (d->state & EFA_D_PLAIN && !--tx->plain)
		tx->blocked &= ~(uint32_t)EFA_B_PLAIN;
	d->state &= (uint8_t)~(EFA_D_PLACED | EFA_D_PLAIN);
}

static void emit_request(struct dap_ep *ep, uint32_t index)
{
	struct efa_tx *tx = &efa_ep(ep)->tx;
	const struct efa_dto *d = &tx->dto[index & tx->mask];
	struct efa_done done = efa_done_of(ep, d);
	unsigned int flags = d->flags;

	done.status = d->status;

	if (efa_next(tx) == index)
		tx->waiting--;
	if (d->op == EFA_BIND) {
		flags |= EFA_DONE_BIND;
		done.bytes = (uintptr_t)tx->work[index & tx->mask].rmr;
	}
	efa_emit(ep->request_evd, done, flags, &tx->failed);
}

void efa_deliver_requests(struct dap_ep *ep)
{
	struct efa_tx *tx = &efa_ep(ep)->tx;

	while (tx->done != tx->posted) {
		struct efa_dto *d = &tx->dto[tx->done & tx->mask];

		if (!(d->state & EFA_D_DONE))
			break;
		if (efa_likely(!(d->flags | d->status)) && d->op != EFA_BIND && efa_likely(!tx->failed))
			efa_done_enqueue(ep->request_evd, efa_done_of(ep, d));
		else
			emit_request(ep, tx->done);
		tx->done++;
	}
}

void efa_dto_progress(struct dap_ep *ep, uint32_t index)
{
	const unsigned int all = EFA_D_ISSUED | EFA_D_WAITS | EFA_D_GONE | EFA_D_DONE;
	struct efa_tx *tx = &efa_ep(ep)->tx;
	struct efa_dto *d = &tx->dto[index & tx->mask];

	if (!d->left && (d->state & all) == EFA_D_ISSUED) {
		unplace_write(tx, d);
		d->state |= EFA_D_DONE;
	}
	if (index == tx->done)
		efa_deliver_requests(ep);
}

void efa_fail_dto(struct dap_ep *ep, uint32_t index, enum dap_dto_status status)
{
	struct efa_tx *tx = &efa_ep(ep)->tx;
	struct efa_dto *d = &tx->dto[index & tx->mask];

	if (!d->status)
		d->status = (uint8_t)status;
	d->state = (uint8_t)((d->state & ~(EFA_D_WAITS | EFA_D_GONE)) | EFA_D_ISSUED);
	efa_dto_progress(ep, index);
}

void efa_flush_requests(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_tx *tx = &e->tx;

	for (uint32_t i = tx->done; i != tx->posted; i++) {
		struct efa_dto *d = &tx->dto[i & tx->mask];

		if (d->state & EFA_D_DONE)
			continue;
		unplace_write(tx, d);
		if (!d->status)
			d->status = DAP_DTO_FLUSHED;
		d->state = EFA_D_ISSUED | EFA_D_DONE;
		d->left = 0;
	}
	tx->waiting = 0;
	efa_slots_reset(&e->sq);
	efa_deliver_requests(ep);
}
