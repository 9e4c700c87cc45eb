/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How endpoints connect: the active side, and the connection manager's callbacks for both sides.
 * Locks: see conn_parts.h.
 *
 * The passive side is in RTS and has posted ESTABLISHED to its connect EVD before the GO lets the
 * active side post. Its own first message may overtake the GO: the active side's EVD keeps it back
 * until ESTABLISHED is posted there. So no receive completes before its connection is known.
 */
#include <errno.h>
#include <string.h>

#include "core/ep/conn_parts.h"
#include "core/evd/evd.h"
#include "core/ia.h"
#include "core/probe.h"
#include "core/sp/sp.h"

int dap_conn_prepare(struct dap_ep *ep, uint32_t qos)
{
	int err;

	ep->qos = qos ? qos : ep->attr.qos;
	err = ep->obj.ia->hw->qp_address(ep);
	if (err)
		return dap_err_from_errno(err);
	dap_conn_timers(ep);
	core_ep(ep)->private_data_size = 0;
	return 0;
}

static const char *link_name(const struct dap_path *p)
{
	return p->link_layer == 1 ? "InfiniBand" : "Ethernet";
}

bool dap_conn_compatible(const struct dap_ep *ep, const struct dap_path *peer)
{
	const struct dap_path *own = &ep->local_path;

	if (own->link_layer == peer->link_layer && own->proto == peer->proto)
		return true;
	dap_log(DAP_LOG_ERR, "endpoint %p of %s: the peer uses protocol 0x%x on %s, this end 0x%x on %s: "
		"both ends need adapters of one kind and the same release of this provider",
		(const void *)ep, ep->obj.ia->name, peer->proto, link_name(peer), own->proto,
		link_name(own));
	return false;
}

/* ---- callbacks ---- */

/* Returns the endpoint, locked, if conn is still its connection; else NULL. */
static struct dap_ep *lock_conn_ep(void *ctx, const struct dap_cm_conn *conn)
{
	struct dap_ep *ep = ctx;
	struct core_ep *own = core_ep(ep);

	pthread_mutex_lock(&own->lock);
	if (own->conn == conn)
		return ep;
	pthread_mutex_unlock(&own->lock);
	return NULL;
}

static void unlock_ep(struct dap_ep *ep)
{
	pthread_mutex_unlock(&core_ep(ep)->lock);
}

static void keep_private_data(struct dap_ep *ep, const void *pd, uint32_t size)
{
	core_ep(ep)->private_data_size = size;
	if (size)
		memcpy(core_ep(ep)->private_data, pd, size);
}

static int apply_reply(struct dap_ep *ep, const struct dap_path *path, const void *pd, uint32_t size)
{
	if (!dap_conn_compatible(ep, path))
		return -EPROTO;
	ep->remote_path = *path;
	keep_private_data(ep, pd, size);
	return ep->obj.ia->hw->qp_connect(ep);
}

static void on_reply(void *ctx, struct dap_cm_conn *conn, const struct dap_path *path,
		     const void *pd, uint32_t size)
{
	struct dap_ep *ep = lock_conn_ep(ctx, conn);
	int err;

	if (!ep)
		return;
	err = apply_reply(ep, path, pd, size);
	if (!err) {
		dap_evd_early(ep);
		dap_cm_rtu(conn);
	} else {
		dap_log(DAP_LOG_ERR, "endpoint %p of %s: cannot connect its queue pair to the peer's: %s",
			(void *)ep, ep->obj.ia->name, strerror(-err));
		core_ep(ep)->conn = NULL;
		dap_conn_finish(ep, DAP_CAUSE_FAILED, DAP_EV_NON_PEER_REJECTED);
		dap_cm_break(conn, "the peer cannot connect its endpoint to this one: "
			     "the error messages of its process say why");
	}
	unlock_ep(ep);
}

static bool become_connected(struct dap_ep *ep)
{
	if (dap_ep_fsm(ep, DAP_CAUSE_ESTABLISHED))
		return false;
	dap_conn_event(ep, DAP_EV_ESTABLISHED);
	dap_conn_reap_later(ep);
	return true;
}

static void on_ready(void *ctx, struct dap_cm_conn *conn)
{
	struct dap_ep *ep = lock_conn_ep(ctx, conn);

	if (!ep)
		return;
	if (become_connected(ep))
		dap_cm_go(conn);
	unlock_ep(ep);
}

static void on_established(void *ctx, struct dap_cm_conn *conn)
{
	struct dap_ep *ep = lock_conn_ep(ctx, conn);

	if (!ep)
		return;
	become_connected(ep);
	dap_conn_not_early(ep);
	unlock_ep(ep);
}

static void peer_gone(struct dap_ep *ep, uint32_t event)
{
	dap_log(DAP_LOG_CM, "endpoint %p of %s: the peer broke the connection, or its process or host has "
		"ended", (void *)ep, ep->obj.ia->name);
	dap_conn_settle(ep);
	dap_conn_finish(ep, DAP_CAUSE_BROKEN, event);
}

static void ended_orderly(struct dap_ep *ep, uint32_t event)
{
	dap_conn_settle(ep);
	dap_conn_finish(ep, DAP_CAUSE_ENDED, event);
}

/* If no listener answered, the address may be that of another host, which needs ip=. */
static void suggest_ip(const struct dap_ep *ep)
{
	const union dap_addr *to = &core_ep(ep)->remote_addr;
	char text[DAP_ADDR_TEXT];

	if (ep->obj.ia->caps.needs_ip && !dap_addr_is_loopback(to))
		dap_log(DAP_LOG_ERR, "endpoint %p of %s: %s may be an address of another host: to reach "
			"those, set ip= in ia_params of both software adapters (dapl-direct(7), Two hosts)",
			(const void *)ep, ep->obj.ia->name, dap_addr_text(to, text));
}

static void on_ended(void *ctx, struct dap_cm_conn *conn, enum dap_cm_end why, const void *pd,
		     uint32_t size)
{
	struct dap_ep *ep = lock_conn_ep(ctx, conn);
	enum dap_ep_state state;
	uint32_t event;

	if (!ep)
		return;
	core_ep(ep)->conn = NULL;
	if (why == DAP_CM_REJECTED)
		keep_private_data(ep, pd, size);
	state = dap_ep_state(ep);
	event = dap_conn_end_event(state, why);
	if (state == DAP_EP_ACTIVE_PENDING && why != DAP_CM_REJECTED)
		suggest_ip(ep);
	if (state == DAP_EP_ACTIVE_PENDING || state == DAP_EP_COMPLETION_PENDING)
		dap_conn_finish(ep, DAP_CAUSE_FAILED, event);
	else if (event == DAP_EV_BROKEN)
		peer_gone(ep, event);
	else
		ended_orderly(ep, event);
	unlock_ep(ep);
}

static void on_look(void *ctx, struct dap_cm_conn *conn)
{
	struct dap_ep *ep = lock_conn_ep(ctx, conn);

	if (!ep)
		return;
	if (ep->obj.ia->hw->qp_look && ep->has_qp)
		ep->obj.ia->hw->qp_look(ep);
	unlock_ep(ep);
}

static const struct dap_cm_ops ops = {
	.request = dap_conn_request,
	.reply = on_reply,
	.ready = on_ready,
	.established = on_established,
	.ended = on_ended,
	.look = on_look,
};

void dap_ep_look(struct dap_ep *ep)
{
	if (core_ep(ep)->conn)
		dap_cm_look(core_ep(ep)->conn);
}

/* ---- calls ---- */

static int connect_locked(struct dap_ep *ep, const struct dap_connect_args *args)
{
	struct core_ep *own = core_ep(ep);
	enum dap_ep_state state = dap_ep_state(ep);
	int err;

	if (dap_ep_fsm_next(state, DAP_CAUSE_CONNECT) < 0)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP + state);
	if (!ep->has_qp)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP_NOTREADY);
	err = dap_conn_prepare(ep, args->qos);
	if (err)
		return err;
	err = dap_cm_connect(ep->obj.ia->cm, &args->to, args->conn_qual, args->timeout_us,
			     &ep->local_path, args->private_data, args->private_data_size, ep,
			     &own->conn);
	if (err) {
		dap_log(DAP_LOG_ERR, "cannot connect endpoint %p of %s to qualifier 0x%llx: %s",
			(void *)ep, ep->obj.ia->name, (unsigned long long)args->conn_qual,
			dap_reason(err));
		return dap_err_from_errno(err);
	}
	dap_log(DAP_LOG_CM, "endpoint %p of %s: connects to qualifier 0x%llx", (void *)ep,
		ep->obj.ia->name, (unsigned long long)args->conn_qual);
	DAP_PROBE2(connect, ep, args->conn_qual);
	own->counts.connects++;
	own->active_side = true;
	own->remote_addr = args->to;
	own->local_qual = 0;
	own->remote_qual = args->conn_qual;
	return dap_ep_fsm(ep, DAP_CAUSE_CONNECT);
}

int dap_ep_connect(struct dap_ep *ep, const struct dap_connect_args *args)
{
	int err;

	pthread_mutex_lock(&core_ep(ep)->lock);
	err = connect_locked(ep, args);
	pthread_mutex_unlock(&core_ep(ep)->lock);
	return err;
}

/* An endpoint on the passive side knows no qualifier that its peer listens on. */
static int peer_address(struct dap_ep *dup, struct dap_connect_args *args)
{
	struct core_ep *own = core_ep(dup);
	enum dap_ep_state state;
	int err = 0;

	pthread_mutex_lock(&own->lock);
	state = dap_ep_state(dup);
	args->to = own->remote_addr;
	args->conn_qual = own->remote_qual;
	if (state != DAP_EP_CONNECTED)
		err = DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP + state);
	else if (!own->active_side)
		err = DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	pthread_mutex_unlock(&own->lock);
	return err;
}

int dap_ep_dup_connect(struct dap_ep *ep, struct dap_ep *dup, struct dap_connect_args *args)
{
	int err = peer_address(dup, args);

	return err ? err : dap_ep_connect(ep, args);
}

/* ---- with the IA ---- */

static void on_device(void *arg)
{
	struct dap_ia *ia = arg;

	ia->hw->async_handle(ia);
}

/* Consumers pass an IA's address to their peers, so it must be one that accepts connections. */
static void name_address(union dap_addr *address)
{
	if (dap_addr_is_any(address))
		*address = dap_addr_v4(INADDR_LOOPBACK);
}

int dap_conn_open(struct dap_ia *ia)
{
	int fd = ia->hw->async_fd ? ia->hw->async_fd(ia) : -1;
	int err;

	err = dap_cm_open(&ops, &ia->caps.address, !ia->caps.host_only, &ia->cm);
	if (err)
		return err;
	name_address(&ia->caps.address);
	if (fd >= 0)
		err = dap_cm_watch(ia->cm, fd, on_device, ia);
	if (err)
		dap_conn_close(ia);
	return err;
}

void dap_conn_close(struct dap_ia *ia)
{
	if (ia->hw->stop)
		ia->hw->stop(ia);
	dap_cm_close(ia->cm);
	ia->cm = NULL;
}
