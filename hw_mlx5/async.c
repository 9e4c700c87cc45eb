/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Asynchronous events of the adapter, and the port, which they change. */
#include <errno.h>

#include "hw_mlx5/obj.h"
#include "hw_mlx5/ops.h"

int m5_ia_async_fd(struct dap_ia *ia)
{
	struct m5_ctl *ctl = m5_ia(ia)->ctl;

	return ctl->ops->async_fd(ctl);
}

/* Returns true if the endpoint has a QP of this number. Another thread may be creating or destroying the
 * QP. */
static bool has_number(struct dap_ep *ep, const uint32_t *qpn)
{
	return __atomic_load_n(&ep->has_qp, __ATOMIC_ACQUIRE) && m5_ep(ep)->qp.qpn == *qpn;
}

static void break_if_number(void *obj, void *arg)
{
	struct dap_ep *ep = obj;

	if (has_number(ep, arg))
		dap_ep_broken(ep);
}

static void overflow_if(void *obj, void *arg)
{
	struct dap_evd *evd = obj;

	if (evd->has_cq && m5_cq(evd)->cqn == *(const uint32_t *)arg)
		dap_evd_overflow(evd);
}

static void low_if(void *obj, void *arg)
{
	struct dap_srq *srq = obj;

	if (m5_srq(srq)->rmp.rmpn == *(const uint32_t *)arg)
		dap_srq_low(srq);
}

static void srq_broken_if(void *obj, void *arg)
{
	struct dap_srq *srq = obj;

	if (m5_srq(srq)->rmp.rmpn == *(const uint32_t *)arg)
		dap_srq_broken(srq);
}

static void last_wqe_if(void *obj, void *arg)
{
	struct dap_ep *ep = obj;

	if (has_number(ep, arg))
		__atomic_store_n(&m5_ep(ep)->last_wqe, true, __ATOMIC_RELEASE);
}

/* The firmware sends Last WQE Reached, so later QPs wait for it in full again, even if m5_qp_last_wqe()
 * has given up on one. */
static void last_wqe(struct dap_ia *ia, uint32_t qpn)
{
	__atomic_store_n(&m5_ia(ia)->last_wqe_ms, M5_LAST_WQE_MS, __ATOMIC_RELAXED);
	dap_obj_each(DAP_EP, ia, last_wqe_if, &qpn);
}

static bool ends_connection(uint8_t type)
{
	return type == M5_EV_WQ_CATASTROPHIC || type == M5_EV_WQ_INVALID_REQUEST ||
	       type == M5_EV_WQ_ACCESS_ERROR;
}

struct m5_port m5_ia_port(struct dap_ia *ia)
{
	struct m5_ia *m = m5_ia(ia);
	struct m5_port port;

	pthread_mutex_lock(&m->lock);
	port = m->port;
	pthread_mutex_unlock(&m->lock);
	return port;
}

enum { IA_OTHER = 1 };			/* DAT_IA_ASYNC_ERROR_REASON */

/*
 * DAT has no event for a port. A port that is down ends no connection by itself: a send fails
 * unless the port comes up in time. The consumer gets the asynchronous event that the man pages
 * allow.
 */
static void port_event(struct dap_ia *ia, const struct m5_event *ev)
{
	struct m5_ia *m = m5_ia(ia);
	struct m5_port port;
	int err;

	if (ev->sub_type == M5_PORT_DOWN) {
		dap_log(DAP_LOG_ERR, "%s: the port is down: requests fail unless it comes up in time; check "
			"cable and switch", ia->name);
		dap_async_post(ia, DAP_EV_ASYNC_INTERNAL, &ia->obj, IA_OTHER);
		return;
	}
	/* New connections use the port's current state. */
	err = m->ctl->ops->port(m->ctl, &port);
	pthread_mutex_lock(&m->lock);
	if (!err)
		m->port = port;
	else if (err == -ENETDOWN || err == -ENETUNREACH)
		m->port.lost = err;
	pthread_mutex_unlock(&m->lock);
}

/* A thread that is cancelled where the access reads an event would keep the lock. */
void m5_ia_async_handle(struct dap_ia *ia)
{
	struct m5_ctl *ctl = m5_ia(ia)->ctl;
	struct m5_event ev;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&m5_ia(ia)->async_lock);
	while (ctl->ops->async_read(ctl, &ev) > 0) {
		switch (ev.kind) {
		case M5_EVENT_QP:
			if (ends_connection(ev.type))
				dap_obj_each(DAP_EP, ia, break_if_number, &ev.number);
			else if (ev.type == M5_EV_SRQ_LAST_WQE)
				last_wqe(ia, ev.number);
			break;
		case M5_EVENT_CQ_ERROR:
			dap_obj_each(DAP_EVD, ia, overflow_if, &ev.number);
			break;
		case M5_EVENT_FATAL:
			dap_ia_fatal(ia);
			break;
		case M5_EVENT_SRQ_LIMIT:
			dap_obj_each(DAP_SRQ, ia, low_if, &ev.number);
			break;
		case M5_EVENT_SRQ_ERROR:
			dap_obj_each(DAP_SRQ, ia, srq_broken_if, &ev.number);
			break;
		case M5_EVENT_PORT:
			port_event(ia, &ev);
			break;
		case M5_EVENT_LOST:
			dap_log(DAP_LOG_ERR, "%s: events of the adapter were lost: reconnect endpoints "
				"whose requests do not complete", ia->name);
			/* fall through */
		case M5_EVENT_STARVED:
			dap_async_post(ia, DAP_EV_ASYNC_INTERNAL, &ia->obj, IA_OTHER);
			break;
		}
	}
	pthread_mutex_unlock(&m5_ia(ia)->async_lock);
	pthread_setcancelstate(cancel, NULL);
}

void m5_ia_async_settle(struct dap_ia *ia)
{
	pthread_mutex_lock(&m5_ia(ia)->async_lock);
	pthread_mutex_unlock(&m5_ia(ia)->async_lock);
}
