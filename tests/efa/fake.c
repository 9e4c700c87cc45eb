/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of core that the backend calls, for tests of the backend alone. */
#include <stdarg.h>
#include <stdio.h>

#include "core/cm/cm.h"
#include "tests/efa/rig.h"

struct fake fake;

void dap_ep_broken(struct dap_ep *ep)
{
	fake.broken = ep;
	fake.broken_count++;
}

void dap_work_failed(const struct dap_event *ev)
{
	(void)ev;
}

struct dap_ep *fake_ends[2];

/* In core, the connection manager passes this request to the peer. */
void dap_ep_look(struct dap_ep *ep)
{
	efa_hw.qp_look(fake_ends[ep == fake_ends[0]]);
}

size_t dap_ep_size(void)
{
	return sizeof(struct dap_ep);
}

void dap_evd_overflow(struct dap_evd *evd)
{
	fake.overflowed = evd;
}

/* The EVDs are those of the two endpoints. */
void dap_obj_each(enum dap_type type, struct dap_ia *ia, void (*fn)(void *obj, void *arg), void *arg)
{
	(void)type;
	(void)ia;
	for (int i = 0; i < 2; i++) {
		fn(fake_ends[i]->recv_evd, arg);
		fn(fake_ends[i]->request_evd, arg);
	}
}

void dap_ia_fatal(struct dap_ia *ia)
{
	(void)ia;
}

void dap_async_post(struct dap_ia *ia, uint32_t number, struct dap_obj *obj, int reason)
{
	(void)ia;
	(void)number;
	(void)obj;
	(void)reason;
}

bool dap_ep_reap(struct dap_ep *ep, bool recv)
{
	(void)ep;
	(void)recv;
	return false;
}

void *dap_obj_get(const void *h, enum dap_type type, const struct dap_ia *ia)
{
	const struct dap_obj *o = h;

	return o && o->type == type && (!ia || o->ia == ia) ? (void *)(uintptr_t)h : NULL;
}

/* The tests have no connection manager, so they check timers themselves. */
void dap_cm_timer(struct dap_cm *cm, struct dap_timer *t, uint64_t delay_us)
{
	(void)cm;
	(void)t;
	(void)delay_us;
}

void dap_cm_timer_close(struct dap_cm *cm, struct dap_timer *t)
{
	(void)cm;
	(void)t;
}

void dap_log(unsigned int kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fake.said, sizeof(fake.said), fmt, ap);
	va_end(ap);
	fake.said_kind = kind;
}

DAT_RETURN front_return(int err)
{
	fake.err = err;
	return err ? DAT_CLASS_ERROR | (DAT_RETURN)DAP_ERR_TYPE(err) << 16 : DAT_SUCCESS;
}

void front_event(const struct dap_event *from, struct dap_evd *evd, DAT_EVENT *to)
{
	(void)evd;
	fake.event = *from;
	to->event_number = from->number;
}

DAT_RETURN front_dequeue_cold(struct dap_evd *evd, DAT_EVENT *event)
{
	(void)evd;
	(void)event;
	return FRONT_CQ_EMPTY;
}
