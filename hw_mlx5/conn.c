/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Connecting, draining and ending queue pairs. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "core/clock.h"
#include "core/thread.h"
#include "hw_common/random.h"
#include "hw_mlx5/lock.h"
#include "hw_mlx5/ops.h"

/* The letters "m5", and the version of what two of these drivers exchange beyond RC. */
#define M5_PROTO 0x6d350001u

enum { LINK_INFINIBAND = 1, LINK_ETHERNET = 2 };

/* Chooses the first PSN. IBTA 9.7.1 allows any value; it is random, so that packets of an earlier
 * connection do not match. */
static int psn_draw(uint32_t *psn)
{
	uint32_t v = 0;
	int err = hw_random(&v, sizeof(v));

	*psn = v & 0xffffff;
	return err;
}

/*
 * A software adapter that other hosts reach puts more into its path: gid is its IP address, lid the MTU of
 * its interface, and the last two bytes of own are its UDP port. The first six are its MAC address as on
 * any Ethernet, and a peer on the same host derives from it the GID that the adapter has there. For all
 * other Ethernet adapters lid and these two bytes are zero.
 */
static void put_udp(struct dap_path *path, const struct m5_port *port)
{
	memcpy(path->gid, port->udp_gid, sizeof(path->gid));
	path->lid = port->udp_mtu;
	path->own[6] = (uint8_t)(port->udp_port >> 8);
	path->own[7] = (uint8_t)port->udp_port;
}

static uint16_t udp_port_of(const struct dap_path *path)
{
	return (uint16_t)(path->own[6] << 8 | path->own[7]);
}

int m5_qp_address(struct dap_ep *ep)
{
	const struct m5_ia *ia = m5_ia(ep->obj.ia);
	const struct m5_port port = m5_ia_port(ep->obj.ia);
	struct dap_path path = {
		.link_layer = port.ethernet ? LINK_ETHERNET : LINK_INFINIBAND,
		.rd_in = (uint8_t)m5_min(ep->attr.max_rdma_read_in, m5_min(ia->dev.max_rd_in, 128)),
		.rd_out = (uint8_t)m5_min(ep->attr.max_rdma_read_out,
					  m5_min(ia->dev.max_rd_out, 128)),
		.sl = ia->params.sl[dap_qos_index(ep->qos)],
		.mtu = port.mtu,
		.lid = port.lid,
		.pkey_index = port.pkey_index,
		.qpn = m5_ep(ep)->qp.qpn,
		.proto = M5_PROTO,
	};
	int err = psn_draw(&path.psn);

	if (err)
		return err;
	memcpy(path.own, port.mac, sizeof(port.mac));
	memcpy(path.gid, port.gid, sizeof(path.gid));
	if (port.udp_port)
		put_udp(&path, &port);
	ep->local_path = path;
	return 0;
}

/* IBTA 8.3, 13.5.4: packets to another subnet need a GRH; the subnet is the upper half of a GID. */
static bool needs_grh(const struct m5_port *port, const struct dap_path *remote)
{
	return port->grh || memcmp(port->gid, remote->gid, 8) != 0;
}

/* The next hop's MAC address comes from the kernel, which knows the route. The peer only sends its
 * own MAC address, or 0. */
static int next_hop(struct dap_ep *ep, const struct dap_path *remote, uint8_t mac[6])
{
	static const uint8_t none[6];
	const struct m5_ia *ia = m5_ia(ep->obj.ia);
	int err = -EOPNOTSUPP;

	if (ia->ctl->ops->next_hop)
		err = ia->ctl->ops->next_hop(ia->ctl, m5_pz(ep->pz)->priv, remote->gid, mac);
	if (!err)
		return 0;
	memcpy(mac, remote->own, 6);
	if (memcmp(mac, none, sizeof(none)))
		return 0;
	dap_log(DAP_LOG_ERR, "endpoint %p of %s: cannot resolve the peer's MAC address: %s; check the route "
		"and neighbour entries", (void *)ep, ep->obj.ia->name, strerror(-err));
	return -EHOSTUNREACH;
}

static bool mtu_fits(uint16_t mtu)
{
	return mtu >= 256 && mtu <= 4096 && !(mtu & (mtu - 1));
}

static bool path_fits(const struct dap_path *local, const struct dap_path *remote, bool soft)
{
	return remote->proto == local->proto && remote->link_layer == local->link_layer &&
	       mtu_fits(remote->mtu) && remote->qpn && remote->qpn <= 0xffffff &&
	       remote->psn <= 0xffffff && (!udp_port_of(remote) || (soft && mtu_fits(remote->lid)));
}

/*
 * Chooses the path to a software adapter: memory within a host, UDP to another one. Both ends choose the
 * same, since a local socket is reached from the same host, namespace and user only.
 */
static int soft_path(struct dap_ep *ep, const struct m5_port *port, struct m5_qp_conn *c)
{
	const struct m5_ia *ia = m5_ia(ep->obj.ia);
	const struct dap_path *remote = &ep->remote_path;
	uint16_t udp_port = udp_port_of(remote);
	int local = udp_port || port->udp_port ? ia->ctl->ops->is_local(ia->ctl, remote->own, c->rgid) : 1;

	if (local)
		return local < 0 ? local : 0;
	if (!udp_port || !port->udp_port) {
		dap_log(DAP_LOG_ERR, "endpoint %p of %s: the peer is on another host, or belongs to another "
			"user, and ia_params of %s software adapter lack ip=: see dapl-direct(7), Two hosts",
			(void *)ep, ep->obj.ia->name, udp_port ? "this" : "its");
		return -EHOSTUNREACH;
	}
	memcpy(c->rgid, remote->gid, sizeof(c->rgid));
	c->udp_port = udp_port;
	c->mtu = (uint16_t)m5_min(port->udp_mtu, remote->lid);
	return 0;
}

static bool is_ipv4(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid, mapped, sizeof(mapped));
}

/* Both addresses of an IP header are of one version. A software adapter finds its own path. */
static int check_ip_versions(const struct dap_ep *ep)
{
	const struct dap_path *local = &ep->local_path, *remote = &ep->remote_path;

	if (local->link_layer != LINK_ETHERNET || m5_ia(ep->obj.ia)->ctl->soft ||
	    is_ipv4(local->gid) == is_ipv4(remote->gid))
		return 0;
	dap_log(DAP_LOG_ERR, "endpoint %p of %s: this adapter has an IPv%c address and the peer's an IPv%c "
		"address: choose two of one version by ip=, gid_index= or gid=auto in ia_params",
		(const void *)ep, ep->obj.ia->name, is_ipv4(local->gid) ? '4' : '6',
		is_ipv4(remote->gid) ? '4' : '6');
	return -EHOSTUNREACH;
}

/* The port's indexes may belong to another address or partition by now. */
static int refuse_port(const struct dap_ep *ep, const struct m5_port *port)
{
	const struct m5_params *p = &m5_ia(ep->obj.ia)->params;

	if (port->lost == -ENETUNREACH)
		dap_log(DAP_LOG_ERR, "endpoint %p of %s: the port is no longer in partition 0x%x: have the "
			"subnet manager add it, or choose another with pkey= in ia_params",
			(const void *)ep, ep->obj.ia->name, p->pkey);
	else
		dap_log(DAP_LOG_ERR, "endpoint %p of %s: the port no longer has a RoCE v2 address: give its "
			"network interface an IP address", (const void *)ep, ep->obj.ia->name);
	return -EHOSTUNREACH;
}

int m5_qp_connect(struct dap_ep *ep)
{
	const struct dap_path *local = &ep->local_path, *remote = &ep->remote_path;
	const struct m5_ia *ia = m5_ia(ep->obj.ia);
	const struct m5_port port = m5_ia_port(ep->obj.ia);
	struct m5_qp_conn c = {
		.port = &port,
		.ethernet = port.ethernet,
		.remote_qpn = remote->qpn,
		.send_psn = local->psn,
		.recv_psn = remote->psn,
		.mtu = (uint16_t)m5_min(local->mtu, remote->mtu),
		.rlid = remote->lid,
		.sl = local->sl,
		.tclass = ia->params.tclass[dap_qos_index(ep->qos)],
		.grh = !port.ethernet && needs_grh(&port, remote),
		.force_order = ia->dev.force_order,
		.rd_in = local->rd_in,
		.rd_out = (uint8_t)m5_min(local->rd_out, remote->rd_in),
		.retry_count = ia->params.retry_cnt,
		.rnr_retry = ia->params.rnr_retry,
		.ack_timeout = ia->params.ack_timeout,
		.min_rnr = ia->params.min_rnr,
		.log_msg_max = 63u - (unsigned int)__builtin_clzll(ia->dev.max_msg),
	};
	int err;

	if (port.lost)
		return refuse_port(ep, &port);
	if (!path_fits(local, remote, ia->ctl->soft)) {
		dap_log(DAP_LOG_ERR, "endpoint %p of %s: the peer sent an invalid path (protocol 0x%x, "
			"MTU %u, QP 0x%x, PSN 0x%x): both ends need the same release of this provider",
			(void *)ep, ep->obj.ia->name, remote->proto, remote->mtu, remote->qpn, remote->psn);
		return -EPROTO;
	}
	err = check_ip_versions(ep);
	if (err)
		return err;
	/* The device allows at least one outstanding read, so block reads here if the endpoint may
	 * have none. A peer that serves none refuses them itself. */
	m5_ep(ep)->sq.read_segs = local->rd_out ? 1 : M5_NO_READS;
	memcpy(c.rgid, remote->gid, sizeof(c.rgid));
	err = port.ethernet ? next_hop(ep, remote, c.rmac) : 0;
	if (!err && ia->ctl->soft)
		err = soft_path(ep, &port, &c);
	if (!err)
		err = m5_cmd_qp_rtr(&m5_ep(ep)->qp, &c);
	m5_ep(ep)->was_rtr |= !err;
	return err ? err : m5_cmd_qp_rts(&m5_ep(ep)->qp, &c);
}

/*
 * 2ERR_QP returns before the QP is flushed. If the QP had taken a WQE from its SRQ, the WQE returns with
 * its flushed completion, followed by the event Last WQE Reached. If the QP is destroyed before that, the
 * WQE is lost. If the event does not come in time, the firmware may never send it, so later QPs wait only
 * briefly until such an event does come.
 */
static void await_last_wqe(struct dap_ep *ep)
{
	struct m5_ia *ia = m5_ia(ep->obj.ia);
	struct m5_ep *e = m5_ep(ep);
	struct pollfd fd = { .fd = ia->ctl->ops->async_fd(ia->ctl), .events = POLLIN };
	uint64_t end = dap_now_ms() + __atomic_load_n(&ia->last_wqe_ms, __ATOMIC_RELAXED);
	int cancel;

	if (!e->was_rtr)
		return;
	for (;;) {
		/* Read the clock first: if this thread was stopped until the time was over, the device
		 * went on, so check once more. */
		bool over = dap_now_ms() >= end;

		m5_drive_model(ia);
		m5_ia_async_handle(ep->obj.ia);
		if (__atomic_load_n(&e->last_wqe, __ATOMIC_ACQUIRE))
			return;
		if (over)
			break;
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		poll(&fd, 1, 1);
		pthread_setcancelstate(cancel, NULL);
	}
	__atomic_store_n(&ia->last_wqe_ms, M5_LAST_WQE_AGAIN_MS, __ATOMIC_RELAXED);
	dap_log(DAP_LOG_EP, "endpoint %p of %s: the adapter sent no Last WQE Reached event in time; a "
		"receive of its SRQ may be lost, so post one more", (void *)ep, ep->obj.ia->name);
}

void m5_qp_last_wqe(struct dap_ep *ep)
{
	if (!m5_cmd_qp_error(&m5_ep(ep)->qp))
		await_last_wqe(ep);
}

/* The producer index belongs to the poster; any thread can read the doorbell record. */
static uint16_t sq_posted(const struct m5_ep *e)
{
	return (uint16_t)be32toh(__atomic_load_n(&e->rq.dbrec[1], __ATOMIC_ACQUIRE));
}

static bool is_flushed(struct dap_ep *ep)
{
	struct m5_ep *e = m5_ep(ep);
	uint32_t recvs = 0;

	return m5_sq_completed(ep, sq_posted(e)) &&
	       (e->done.shared || (!m5_recv_count(ep, &recvs) && !recvs));
}

/*
 * The end of a connection comes after its completions, but 2ERR_QP returns before the QP is flushed. If the
 * completions do not come, as in a CQ that has overrun, later QPs wait only briefly, until some do come.
 */
static void await_flush(struct dap_ep *ep)
{
	struct m5_ia *ia = m5_ia(ep->obj.ia);
	uint64_t end = dap_now_ms() + __atomic_load_n(&ia->flush_ms, __ATOMIC_RELAXED);
	bool done;

	m5_drive_model(ia);
	while (!(done = is_flushed(ep)) && dap_now_ms() < end) {
		dap_thread_sleep_us(20);
		m5_drive_model(ia);
	}
	/* This thread may have been stopped until the time was over, while the device went on: check once
	 * more. */
	if (!done) {
		m5_drive_model(ia);
		done = is_flushed(ep);
	}
	__atomic_store_n(&ia->flush_ms, done ? M5_FLUSH_MS : M5_FLUSH_AGAIN_MS, __ATOMIC_RELAXED);
	if (!done)
		dap_log(DAP_LOG_EP, "endpoint %p of %s: the adapter did not flush its queue in time; "
			"completions may come after the end of the connection", (void *)ep, ep->obj.ia->name);
}

int m5_qp_error(struct dap_ep *ep)
{
	int err = m5_cmd_qp_error(&m5_ep(ep)->qp);

	if (err) {
		dap_access_kept(&ep->obj, err);
		return err;
	}
	if (m5_ep(ep)->done.shared)
		await_last_wqe(ep);
	await_flush(ep);
	return 0;
}

/* The NOP of a drain is no request of the consumer. Once disconnected, requests may follow it. */
static bool sq_idle(const struct m5_ep *e)
{
	bool draining = __atomic_load_n(&e->draining, __ATOMIC_ACQUIRE);
	uint16_t pi = (uint16_t)__atomic_load_n(&e->sq.pi, __ATOMIC_RELAXED);
	uint16_t ci = (uint16_t)__atomic_load_n(&e->done.sq_ci, __ATOMIC_ACQUIRE);

	return ci == pi || (draining && pi == e->drain && ci == (uint16_t)(pi - 1));
}

/*
 * For dat_ep_get_status(3). Reaps internal completions, because the consumer may not be polling. Each
 * suppressed bind has an internal completion; of other suppressed requests, one in signal_every has one.
 * Requests posted after the last internal completion count as outstanding, because the device does not
 * report their completion.
 */
void m5_qp_idle(struct dap_ep *ep, bool *recv_idle, bool *request_idle)
{
	const struct m5_ep *e = m5_ep(ep);
	struct m5_ia *ia = m5_ia(ep->obj.ia);

	*recv_idle = e->done.shared ||
		     __atomic_load_n(&e->rq.pi, __ATOMIC_RELAXED) ==
			     (uint32_t)__atomic_load_n(&e->done.rq_ci, __ATOMIC_ACQUIRE);
	*request_idle = sq_idle(e);
	if (*request_idle)
		return;
	m5_drive_model(ia);
	m5_sq_reap(ep);
	*request_idle = sq_idle(e);
}

/* Rings an 8-byte doorbell for everything in the ring, up to the WQE with this ctrl segment. */
static void ring_8(const struct m5_ia *ia, struct m5_sq *sq, uint64_t ctrl)
{
	uintptr_t offset = sq->reg & 0xfff;

	dap_wmb_wqe_before_dbrec();
	dap_store_dbrec(&sq->dbrec[1], htobe32(sq->pi & 0xffff));
	m5_mmio_ring(ia, (volatile uint8_t *)(sq->reg - offset), sq->uar_page, (uint32_t)offset,
		     ctrl);
	sq->reg ^= 256;
	sq->rung = sq->pi;
}

static uint64_t nop_write(struct m5_ep *e)
{
	struct m5_sq *sq = &e->sq;
	uint32_t pi = sq->pi & sq->mask;
	struct m5_ctrl_seg *ctrl = (struct m5_ctrl_seg *)(sq->ring + ((size_t)pi << M5_BB_SHIFT));

	memset(ctrl, 0, M5_BB);
	ctrl->opmod_idx_opcode = cpu_to_be32((sq->pi & 0xffff) << 8 | M5_OP_NOP);
	ctrl->qpn_ds = cpu_to_be32(e->qp.qpn << 8 | 1);
	ctrl->fm_ce_se = M5_FENCE_SMALL_READ | M5_CE_ALWAYS;
	sq->slots[pi] = (struct m5_slot){ .end = (uint16_t)(sq->pi + 1), .kind = M5_KIND_NOP };
	sq->pi++;
	return *(const uint64_t *)(const void *)ctrl;
}

/*
 * Marks the end of the send queue by a NOP that completes after all work before it. It needs no
 * credit: one block is reserved for it.
 */
void m5_qp_drain_begin(struct dap_ep *ep)
{
	bool locked = m5_ia(ep->obj.ia)->locked;
	struct m5_ep *e = m5_ep(ep);

	if (locked)
		m5_spin_lock(&e->sq.lock);
	if (!e->draining) {
		ring_8(m5_ia(ep->obj.ia), &e->sq, nop_write(e));
		e->drain = (uint16_t)e->sq.pi;
		e->sq.limit = e->sq.pi;
		__atomic_store_n(&e->draining, true, __ATOMIC_RELEASE);
	}
	if (locked)
		m5_spin_unlock(&e->sq.lock);
}

bool m5_qp_drain_done(struct dap_ep *ep)
{
	struct m5_ia *ia = m5_ia(ep->obj.ia);
	struct m5_ep *e = m5_ep(ep);
	enum m5_seen seen;

	if (!__atomic_load_n(&e->draining, __ATOMIC_ACQUIRE))
		return true;
	m5_drive_model(ia);
	if ((uint16_t)__atomic_load_n(&e->done.sq_ci, __ATOMIC_ACQUIRE) == e->drain)
		return true;
	seen = m5_sq_seen(ep, (uint16_t)(e->drain - 1));
	/* The consumer may not be polling, so this call reports the failure. */
	if (seen == M5_SEEN_ERROR)
		dap_ep_broken(ep);
	/* The consumer may not be polling, so this call copies the data of suppressed reads from their
	 * CQEs. */
	if (seen == M5_SEEN_OK)
		m5_sq_reap(ep);
	return seen != M5_SEEN_NOT;
}
