/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Breaks a connection, and defers work of an endpoint to the tick. */
#include <stdarg.h>
#include <stdio.h>

#include "hw_efa/calls.h"

/* Only the first reason is kept, because later errors follow from it. */
void efa_break(struct dap_ep *ep, const char *fmt, ...)
{
	struct efa_ep *e = efa_ep(ep);
	char *why = e->cold->why;
	va_list ap;

	e->tx.blocked |= EFA_B_HALT;
	if (e->tx.blocked & EFA_B_OVER)
		return;
	if (!*why) {
		va_start(ap, fmt);
		vsnprintf(why, EFA_WHY, fmt, ap);
		va_end(ap);
		dap_log(DAP_LOG_EP | DAP_LOG_CM, "endpoint %p of %s: the connection is broken: %s",
			(void *)ep, ep->obj.ia->name, why);
	}
	dap_ep_broken(ep);
}

void efa_break_cqe(struct dap_ep *ep, const struct efa_cqe *cqe)
{
	char text[EFA_CQE_TEXT];

	efa_break(ep, "%s: %s", efa_decode_cqe(cqe, text, sizeof(text)),
		  efa_status_info(cqe->status)->cure);
}

void efa_defer(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_engine *eng = e->tx.eng;

	e->tx.blocked |= EFA_B_QUEUE;
	if (e->cold->is_deferred)
		return;
	e->cold->is_deferred = true;
	e->cold->next_deferred = eng->deferred;
	eng->deferred = ep;
	efa_tick_want(eng);
}

void efa_tick_want(struct efa_engine *eng)
{
	uint32_t us = eng->live ? efa_ia(eng->ia)->params.look_ms * 1000 : 0;

	if (eng->deferred || eng->emulating || efa_tick_polls(eng))
		us = EFA_TICK_US;
	if (!us || !eng->ia->cm || (eng->tick_us && eng->tick_us <= us))
		return;
	eng->tick_us = us;
	dap_cm_timer(eng->ia->cm, &eng->tick, us);
}
