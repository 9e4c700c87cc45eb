/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Service points. A public one (PSP) listens until it is freed. A reserved one (RSP) holds an
 * endpoint and takes one request; then it stops listening and releases endpoint and EVD. Its
 * handle stays valid until it is freed, as consumers expect, but blocks nothing: see dap_sp_used.
 *
 * If the consumer asks for it, or reserves no endpoint, the provider makes an endpoint for the
 * request. It has no QP until dat_ep_modify(3) gives it a PZ, so an unknown peer's request costs
 * no QP.
 */
#include <errno.h>

#include "core/ep/conn_parts.h"
#include "core/evd/evd.h"
#include "core/fork.h"
#include "core/ia.h"
#include "core/obj.h"
#include "core/sp/sp.h"

/* Guards listener and ep of all RSPs. The thread that takes the listener out also releases the
 * endpoint. */
static pthread_mutex_t rsp_lock = PTHREAD_MUTEX_INITIALIZER;

void dap_sp_in_child(void)
{
	pthread_mutex_init(&rsp_lock, NULL);
}

static struct dap_psp *sp_alloc(enum dap_type type, struct dap_ia *ia, struct dap_evd *evd)
{
	struct dap_psp *sp = dap_obj_alloc(type, ia);

	if (!sp)
		return NULL;
	sp->evd = evd;
	dap_evd_feed(evd);
	return sp;
}

static void sp_free(struct dap_psp *sp)
{
	if (sp->evd)
		dap_evd_unfeed(sp->evd);
	dap_obj_free(sp);
}

/* If another process has the port, dap_cm_listen() has logged it. A qualifier in use in this
 * process is not logged: consumers get its code and try the next one. */
static int listen_error(const struct dap_psp *sp, bool any, int err)
{
	if (any)
		dap_log(DAP_LOG_ERR, "cannot listen on %s: %s", sp->obj.ia->name,
			err == -EADDRNOTAVAIL ? "no connection qualifier is free" : dap_reason(err));
	else if (err != -EADDRINUSE)
		dap_log(DAP_LOG_ERR, "cannot listen on %s, qualifier 0x%llx: %s", sp->obj.ia->name,
			(unsigned long long)sp->conn_qual, dap_reason(err));
	return dap_err_from_errno(err);
}

/* ---- Public service points ---- */

int dap_psp_create(struct dap_ia *ia, uint64_t *conn_qual, bool any, struct dap_evd *evd,
		   uint32_t flags, struct dap_psp **out)
{
	struct dap_psp *psp;
	uint64_t qual = any ? 0 : *conn_qual;
	int err;

	psp = sp_alloc(DAP_PSP, ia, evd);
	if (!psp)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	__atomic_add_fetch(any ? &core_ia(ia)->psps_any : &core_ia(ia)->psps_named, 1, __ATOMIC_RELAXED);
	psp->psp_flags = flags;
	psp->conn_qual = qual;
	err = dap_cm_listen(ia->cm, &qual, any, psp, &psp->listener);
	if (err) {
		err = listen_error(psp, any, err);
		sp_free(psp);
		return err;
	}
	psp->conn_qual = qual;
	*conn_qual = qual;
	*out = psp;
	return 0;
}

void dap_psp_free(struct dap_psp *psp)
{
	dap_cm_unlisten(psp->listener);
	dap_cm_sync(psp->obj.ia->cm);
	sp_free(psp);
}

/* ---- Reserved service points ---- */

static int ep_cause(struct dap_ep *ep, enum dap_ep_cause cause)
{
	int err;

	pthread_mutex_lock(&core_ep(ep)->lock);
	err = dap_ep_fsm(ep, cause);
	pthread_mutex_unlock(&core_ep(ep)->lock);
	return err;
}

/* A reserved endpoint returns to its consumer; a provided one is freed. */
static void unreserve_ep(struct dap_ep *ep)
{
	bool provided = core_ep(ep)->provided;	/* once unreserved, it may be freed */

	ep_cause(ep, DAP_CAUSE_UNRESERVE);
	if (provided)
		dap_ep_destroy(ep);
}

int dap_rsp_create(struct dap_ia *ia, uint64_t conn_qual, struct dap_ep *ep, struct dap_evd *evd,
		   struct dap_psp **out)
{
	struct dap_psp *rsp;
	int err = ep ? 0 : dap_ep_provide(ia, &ep);

	if (!err)
		err = ep_cause(ep, DAP_CAUSE_RESERVE);
	if (err)
		return err;
	rsp = sp_alloc(DAP_RSP, ia, evd);
	if (!rsp) {
		err = DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
		goto err_unreserve;
	}
	rsp->conn_qual = conn_qual;
	pthread_mutex_lock(&rsp_lock);
	rsp->ep = ep;
	err = dap_cm_listen(ia->cm, &conn_qual, false, rsp, &rsp->listener);
	pthread_mutex_unlock(&rsp_lock);
	if (err) {
		err = listen_error(rsp, false, err);
		goto err_free_rsp;
	}
	*out = rsp;
	return 0;

err_free_rsp:
	sp_free(rsp);
err_unreserve:
	unreserve_ep(ep);
	return err;
}

void dap_rsp_free(struct dap_psp *rsp)
{
	struct dap_cm_listener *listener;
	struct dap_ep *ep;

	pthread_mutex_lock(&rsp_lock);
	listener = rsp->listener;
	ep = rsp->ep;
	rsp->listener = NULL;
	rsp->ep = NULL;
	pthread_mutex_unlock(&rsp_lock);
	if (listener) {
		dap_cm_unlisten(listener);
		unreserve_ep(ep);
	}
	dap_cm_sync(rsp->obj.ia->cm);
	sp_free(rsp);
}

void dap_rsp_query(struct dap_psp *rsp, struct dap_ep **ep, struct dap_evd **evd)
{
	pthread_mutex_lock(&rsp_lock);
	*ep = rsp->ep;
	*evd = rsp->evd;
	pthread_mutex_unlock(&rsp_lock);
}

void dap_sp_destroy(struct dap_psp *sp)
{
	if (sp->obj.type == DAP_PSP)
		dap_psp_free(sp);
	else
		dap_rsp_free(sp);
}

static void count_used(void *rsp, void *arg)
{
	*(unsigned int *)arg += !((struct dap_psp *)rsp)->listener;
}

unsigned int dap_sp_used(struct dap_ia *ia)
{
	unsigned int n = 0;

	pthread_mutex_lock(&rsp_lock);
	dap_obj_each(DAP_RSP, ia, count_used, &n);
	pthread_mutex_unlock(&rsp_lock);
	return n;
}

/* ---- Requests of both kinds ---- */

/* The qualifier comes from the request: psp_create_any may not have stored it yet. */
static int post_request(struct dap_psp *sp, struct dap_cr *cr)
{
	const struct dap_event ev = {
		.number = DAP_EV_CR,
		.cr = { .sp = &sp->obj, .cr = cr, .conn_qual = cr->conn_qual },
	};

	return sp->obj.type == DAP_RSP ? dap_evd_post_last(sp->evd, &ev) : dap_evd_post(sp->evd, &ev);
}

/* dat_psp_create(3): the attributes match the request. By dat_cr_accept(3) the endpoint serves as
 * many reads as the peer may have outstanding, and has at most as many as the peer serves. */
static void match_reads(struct dap_ep *ep, const struct dap_path *peer)
{
	uint32_t in = peer->rd_out, most = ep->obj.ia->caps.max_rdma_read_in;

	if (in > most)
		in = most;
	if (ep->attr.max_rdma_read_in < in)
		ep->attr.max_rdma_read_in = in;
	if (ep->attr.max_rdma_read_out > peer->rd_in)
		ep->attr.max_rdma_read_out = peer->rd_in;
}

/* The consumer may accept as soon as the event is posted. The endpoint's lock makes it wait until
 * the endpoint is in the right state. */
static int deliver_with(struct dap_psp *sp, struct dap_ep *ep, struct dap_cr *cr)
{
	struct core_ep *own = core_ep(ep);
	enum dap_ep_cause cause = own->provided ? DAP_CAUSE_TENTATIVE : DAP_CAUSE_REQUEST;
	int err = -1;

	cr->ep = ep;
	pthread_mutex_lock(&own->lock);
	if (dap_ep_fsm_next(dap_ep_state(ep), cause) >= 0)
		err = post_request(sp, cr);
	if (!err) {
		own->cr = cr;
		own->remote_addr = cr->remote_addr;
		own->local_qual = cr->conn_qual;
		own->remote_qual = 0;
		if (own->provided)
			match_reads(ep, &cr->remote_path);
		dap_ep_fsm(ep, cause);
	}
	pthread_mutex_unlock(&own->lock);
	return err;
}

static int deliver_public(struct dap_psp *psp, struct dap_cr *cr)
{
	struct dap_ep *ep;
	int err;

	if (!(psp->psp_flags & DAP_PSP_PROVIDER))
		return post_request(psp, cr);
	if (dap_ep_provide(psp->obj.ia, &ep))
		return -1;
	err = deliver_with(psp, ep, cr);
	if (err)
		dap_ep_destroy(ep);
	return err;
}

int dap_sp_deliver(struct dap_psp *sp, struct dap_cr *cr)
{
	int err = -1;

	if (sp->obj.type == DAP_PSP)
		return deliver_public(sp, cr);
	pthread_mutex_lock(&rsp_lock);
	if (sp->listener)
		err = deliver_with(sp, sp->ep, cr);
	if (!err) {
		dap_cm_unlisten(sp->listener);
		sp->listener = NULL;
		sp->ep = NULL;
		sp->evd = NULL;
	}
	pthread_mutex_unlock(&rsp_lock);
	return err;
}
