/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The engine's lock, the ring of completions of an EVD, and the consumer index of the CQ. */
#include <sched.h>

#include "core/thread.h"
#include "hw_efa/lock.h"

#define EFA_LOCK_TURNS 256u		/* looks at the lock before the CPU is yielded to its holder */

void efa_spin(uint32_t *lock)
{
	unsigned int turns = 0;

	do {
		while (__atomic_load_n(lock, __ATOMIC_RELAXED))
			if (++turns % EFA_LOCK_TURNS == 0)
				sched_yield();
	} while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE));
}

/* efa_leave reports it, because the report takes locks whose holders may enter the engine. */
void efa_evd_full(struct dap_evd *evd, struct dap_ep *ep, bool receive)
{
	struct efa_evd *q = efa_evd(evd);

	efa_done_dequeued(ep, receive);
	if (!q->overflowed)
		q->overflowed = q->eng->over = true;
}

static void report_overflow(void *evd, void *arg)
{
	struct efa_engine *eng = arg;
	bool overflowed;

	efa_enter(eng);
	overflowed = efa_evd(evd)->overflowed;
	efa_go(eng);
	if (overflowed)
		dap_evd_overflow(evd);
}

/* Overflows are rare, so all EVDs are searched. Core ignores the second report of an EVD. */
void efa_report_overflows(struct efa_engine *eng)
{
	efa_enter(eng);
	eng->over = false;
	efa_go(eng);
	dap_obj_each(DAP_EVD, eng->ia, report_overflow, eng);
}

void efa_emit(struct dap_evd *evd, struct efa_done d, unsigned int flags, bool *failed)
{
	if (*failed)
		d.status = DAP_DTO_FLUSHED;
	*failed |= d.status != 0;
	if (flags & DAP_COMP_SUPPRESS && !d.status) {
		efa_done_dequeued(d.ep, d.receive);
		return;
	}
	d.unsignalled = flags & DAP_COMP_UNSIGNALLED && !d.status;
	d.status |= flags & EFA_DONE_BIND;
	efa_done_enqueue(evd, d);
}

void efa_event(const struct efa_done *d, struct dap_event *ev)
{
	const uint32_t status = d->status & ~EFA_DONE_BIND;

	if (d->status & EFA_DONE_BIND)
		*ev = (struct dap_event){
			.number = DAP_EV_RMR_BIND, .unsignalled = d->unsignalled, .bind = {
				.rmr = (struct dap_rmr *)(uintptr_t)d->bytes,
				.cookie = d->cookie, .ep = d->ep,
				.status = status > DAP_DTO_FLUSHED ? DAP_RMR_OPERATION_FAILED : status,
			} };
	else
		*ev = (struct dap_event){
			.number = DAP_EV_DTO, .unsignalled = d->unsignalled,
			.receive = d->receive && !status, .dto = {
				.ep = d->ep, .cookie = d->cookie, .status = (uint16_t)status, .op = d->op,
				.length = d->receive && status ? 0 : d->bytes,
			} };
	if (status)
		dap_work_failed(ev);
}

void efa_evd_purge(struct dap_evd *evd, const struct dap_ep *ep)
{
	struct efa_evd *q = efa_evd(evd);
	uint32_t keep = q->tail;

	for (uint32_t i = q->tail; i != q->head; i++)
		if (q->ring[i & q->mask].ep != ep)
			q->ring[keep++ & q->mask] = q->ring[i & q->mask];
	q->head = keep;
}

void efa_evd_wake(struct dap_evd *evd)
{
	struct efa_evd *q = efa_evd(evd);

	q->armed = false;
	q->eng->armed--;
	q->eng->fruitless = 0;
	dap_thread_signal(q->wake);
}

void efa_cq_write_consumed(struct efa_engine *eng)
{
	eng->cq.taken = (eng->cq.ci >> eng->cq.log & EFA_CQE_PHASE) << 8;
	if (!eng->res.ring.doorbell)
		return;
	dap_mb_cqe_before_ci();
	dap_store_dbrec(eng->res.ring.doorbell, efa_cq_doorbell_of(&eng->res, eng->cq.ci, false));
}
