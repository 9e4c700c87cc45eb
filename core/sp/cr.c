/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection requests: arrival, accept, reject and handoff. */
#include <errno.h>
#include <string.h>

#include "core/ep/conn_parts.h"
#include "core/obj.h"
#include "core/probe.h"
#include "core/sp/sp.h"

int dap_conn_request(void *ctx, struct dap_cm_conn *conn, const struct dap_cm_request *r)
{
	struct dap_psp *sp = ctx;
	struct dap_cr *cr = dap_obj_alloc(DAP_CR, sp->obj.ia);
	char ip[DAP_ADDR_TEXT];
	int err;

	if (!cr)
		return -ENOMEM;
	cr->conn = conn;
	cr->remote_path = *r->path;
	cr->remote_addr = r->from;
	dap_addr_set_port(&cr->remote_addr, 0);
	cr->conn_qual = r->conn_qual;
	cr->private_data_size = r->private_data_size;
	memcpy(cr->private_data, r->private_data, r->private_data_size);
	/* Log first: another thread may free the request once it is delivered. */
	dap_log(DAP_LOG_CM, "request %p of %s: arrived from %s for qualifier 0x%llx", (void *)cr,
		cr->obj.ia->name, dap_addr_text(&cr->remote_addr, ip), (unsigned long long)cr->conn_qual);
	err = dap_sp_deliver(sp, cr);
	if (err)
		dap_obj_free(cr);
	return err;
}

/* ---- Accepting a request ---- */

static int check_accept(const struct dap_cr *cr, const struct dap_ep *ep)
{
	enum dap_ep_state state = dap_ep_state(ep);

	if (dap_ep_fsm_next(state, DAP_CAUSE_ACCEPT) < 0 ||
	    (core_ep(ep)->cr && core_ep(ep)->cr != cr))
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP + state);
	if (!ep->pz)			/* the consumer gave this provided endpoint no PZ yet */
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	if (!ep->has_qp)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP_NOTREADY);
	return 0;
}

static int prepare_accept(const struct dap_cr *cr, struct dap_ep *ep)
{
	int err = check_accept(cr, ep);

	if (!err)
		err = dap_conn_prepare(ep, 0);
	if (err)
		return err;
	if (!dap_conn_compatible(ep, &cr->remote_path))
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	return 0;
}

/* A failure is reported by an event, because the request no longer exists. */
static void connect_back(struct dap_cr *cr, struct dap_ep *ep, const void *pd, uint32_t pd_size)
{
	struct core_ep *own = core_ep(ep);
	int err;

	DAP_PROBE2(accept, ep, cr->conn_qual);
	ep->remote_path = cr->remote_path;
	own->remote_addr = cr->remote_addr;
	own->local_qual = cr->conn_qual;
	own->remote_qual = 0;
	own->active_side = false;
	own->cr = NULL;
	own->conn = cr->conn;
	own->provided = false;
	dap_ep_fsm(ep, DAP_CAUSE_ACCEPT);
	err = ep->obj.ia->hw->qp_connect(ep);
	if (err)
		dap_cm_release(cr->conn);
	else
		err = dap_cm_accept(cr->conn, &ep->local_path, pd, pd_size, ep);
	if (!err)
		return;
	dap_log(DAP_LOG_WARN, "endpoint %p of %s: cannot accept the request of qualifier 0x%llx: %s",
		(void *)ep, ep->obj.ia->name, (unsigned long long)cr->conn_qual, strerror(-err));
	own->conn = NULL;
	dap_conn_finish(ep, DAP_CAUSE_FAILED, DAP_EV_ACCEPT_ERROR);
}

int dap_cr_accept(struct dap_cr *cr, struct dap_ep *ep, const void *pd, uint32_t pd_size)
{
	int err;

	if (!ep)
		ep = cr->ep;
	if (!ep)
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_EP);
	if (cr->ep && ep != cr->ep)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	pthread_mutex_lock(&core_ep(ep)->lock);
	err = prepare_accept(cr, ep);
	if (!err)
		connect_back(cr, ep, pd, pd_size);
	pthread_mutex_unlock(&core_ep(ep)->lock);
	if (!err)
		dap_obj_free(cr);
	return err;
}

/* ---- Rejecting a request ---- */

/* A reserved endpoint returns to its consumer; a provided one is freed. */
static void cr_free(struct dap_cr *cr)
{
	struct dap_ep *ep = cr->ep;
	struct core_ep *own = core_ep(ep);
	bool provided;

	if (ep) {
		pthread_mutex_lock(&own->lock);
		own->cr = NULL;
		/* the consumer may free a reserved endpoint once its state has changed */
		provided = own->provided;
		dap_ep_fsm(ep, DAP_CAUSE_REJECT);
		pthread_mutex_unlock(&own->lock);
		if (provided)
			dap_ep_destroy(ep);
	}
	dap_obj_free(cr);
}

/* ---- Handing off a request ---- */

/* The manager's thread delivers the request even to a service point of this process, because that
 * service point may be about to be freed. */
int dap_cr_handoff(struct dap_cr *cr, uint64_t conn_qual)
{
	int err = dap_cm_handoff(cr->conn, conn_qual, &cr->remote_path, cr->private_data,
				 cr->private_data_size);

	if (err == -ENOENT)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	if (err)
		return dap_err_from_errno(err);
	dap_log(DAP_LOG_CM, "request %p of %s: handed off to qualifier 0x%llx", (void *)cr,
		cr->obj.ia->name, (unsigned long long)conn_qual);
	cr_free(cr);
	return 0;
}

void dap_cr_reject(struct dap_cr *cr, const void *pd, uint32_t pd_size)
{
	dap_cm_reject(cr->conn, pd, pd_size);
	dap_log(DAP_LOG_CM, "request %p of %s: rejected", (void *)cr, cr->obj.ia->name);
	cr_free(cr);
}

void dap_cr_destroy(struct dap_cr *cr)
{
	dap_cm_release(cr->conn);
	cr_free(cr);
}
