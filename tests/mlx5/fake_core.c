/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of core that the backend calls, for tests of the backend alone: calls are counted, and
 * arguments are kept.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/mlx5/fake_core.h"

struct fake_core fake;

void dap_ep_broken(struct dap_ep *ep)
{
	fake.broken = ep;
	fake.broken_count++;
	if (fake.on_broken)
		fake.on_broken(ep);
	__atomic_store_n(&ep->state, DAP_EP_DISCONNECTED, __ATOMIC_RELEASE);
}

void dap_ep_tally(struct dap_ep *ep, enum dap_count what, uint64_t bytes)
{
	(void)ep;
	(void)what;
	(void)bytes;
}

void dap_work_failed(const struct dap_event *ev)
{
	(void)ev;
}

void dap_evd_overflow(struct dap_evd *evd)
{
	fake.overflowed = evd;
}

void dap_ia_fatal(struct dap_ia *ia)
{
	fake.fatal = ia;
}

void dap_async_post(struct dap_ia *ia, uint32_t number, struct dap_obj *obj, int reason)
{
	(void)ia;
	(void)obj;
	(void)reason;
	fake.async = number;
	fake.async_count++;
}

bool dap_ep_reap(struct dap_ep *ep, bool recv)
{
	(void)ep;
	(void)recv;
	fake.reap_count++;
	return false;
}

void dap_srq_low(struct dap_srq *srq)
{
	fake.low = srq;
	fake.low_count++;
}

void dap_srq_broken(struct dap_srq *srq)
{
	fake.broken_srq = srq;
}

bool dap_srq_reap(struct dap_srq *srq)
{
	(void)srq;
	fake.reap_count++;
	return false;
}

void *dap_obj_get(const void *h, enum dap_type type, const struct dap_ia *ia)
{
	for (unsigned int i = 0; i < fake.nobj; i++) {
		struct dap_obj *o = fake.obj[i];

		if (o == h && o->type == type && (!ia || o->ia == ia))
			return o;
	}
	return NULL;
}

void dap_obj_each(enum dap_type type, struct dap_ia *ia, void (*fn)(void *obj, void *arg), void *arg)
{
	for (unsigned int i = 0; i < fake.nobj; i++)
		if (fake.obj[i]->type == type && fake.obj[i]->ia == ia)
			fn(fake.obj[i], arg);
}

DAT_RETURN front_return(int err)
{
	fake.err = err;
	return err ? DAT_CLASS_ERROR | DAP_ERR_TYPE(err) << 16 : DAT_SUCCESS;
}

void front_event(const struct dap_event *from, struct dap_evd *evd, DAT_EVENT *to)
{
	memset(to, 0, sizeof(*to));
	to->event_number = (DAT_EVENT_NUMBER)from->number;
	to->evd_handle = evd;
	if (from->number == DAP_EV_RMR_BIND) {
		DAT_RMR_BIND_COMPLETION_EVENT_DATA *b = &to->event_data.rmr_completion_event_data;

		b->rmr_handle = from->bind.rmr;
		b->user_cookie.as_64 = from->bind.cookie;
		b->status = (DAT_RMR_BIND_COMPLETION_STATUS)from->bind.status;
	} else {
		DAT_DTO_COMPLETION_EVENT_DATA *d = &to->event_data.dto_completion_event_data;

		d->ep_handle = from->dto.ep;
		d->user_cookie.as_64 = from->dto.cookie;
		d->status = (DAT_DTO_COMPLETION_STATUS)from->dto.status;
		d->transfered_length = from->dto.length;
	}
}

DAT_RETURN front_dequeue_cold(struct dap_evd *evd, DAT_EVENT *event)
{
	(void)evd;
	(void)event;
	fake.cold_count++;
	return DAT_CLASS_ERROR | DAT_QUEUE_EMPTY;
}

DAT_RETURN front_list_args(DAT_COUNT n, const void *list, const DAT_COUNT *done)
{
	if (n > 0 && list && done)
		return DAT_SUCCESS;
	return front_return(DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_NONE));
}

/* Requests of dapl_ep_post_n other than plain writes need the real core: the suite e2e tests them. */
DAT_RETURN front_post_one(const struct dap_hot *calls, DAT_EP_HANDLE ep, const struct dapl_work *work)
{
	(void)calls;
	(void)ep;
	(void)work;
	return front_return(DAP_ERR(DAP_NOT_IMPLEMENTED, DAP_SUB_NONE));
}

void dap_log(unsigned int kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fake.log, sizeof(fake.log), fmt, ap);
	va_end(ap);
	fake.log_count++;
	if (kind & DAP_LOG_ERR && !fake.quiet)
		fprintf(stderr, "%s\n", fake.log);
}
