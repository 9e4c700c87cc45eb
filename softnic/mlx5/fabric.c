/* SPDX-License-Identifier: BSD-2-Clause */
/* The fabric below a device's ports: opens and polls it, arms wake-ups, and passes each packet to its QP. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/bytes.h"
#include "softnic/mlx5/port.h"
#include "softnic/mlx5/rc.h"
#include "softnic/mlx5/ud.h"

enum {
	POLL_BUDGET = 32,
	OPEN_TRIES = 8,
};

/* Returns the destination QP of the packet if it exists and the sender is its peer, else NULL. */
static struct sn_qp *peer_of(struct sn_port *port, const struct sn_fab_dest *src, const struct sn_packet *pkt)
{
	struct sn_qp *qp = sn_qp_find(port->nic, pkt->dqpn);

	if (!qp || !qp->rc || qp->port != port || !sn_addr_equal(&src->gid, &qp->rc->dest.gid) ||
	    src->foreign != qp->rc->dest.foreign)
		return NULL;
	return src->foreign || src->udp_port == qp->rc->dest.udp_port ? qp : NULL;
}

static struct sn_qp *receiver(struct sn_port *port, const struct sn_fab_dest *src,
			      const struct sn_packet *pkt)
{
	struct sn_qp *qp = peer_of(port, src, pkt);

	if (!qp || !sn_port_same_partition(qp, pkt))
		return NULL;
	if (qp->state == SN_QP_RTS || (qp->state == SN_QP_RTR && pkt->shape->class < SN_C_READ_RESP))
		return qp;
	return NULL;
}

static void to_qp(struct sn_port *port, const struct sn_fab_dest *src, const struct sn_packet *pkt)
{
	struct sn_qp *qp;

	if (pkt->shape->class == SN_C_DATAGRAM) {
		sn_ud_in(port, src, pkt);
		return;
	}
	qp = receiver(port, src, pkt);
	if (!qp) {
		port->nic->ctr.drops++;
		return;
	}
	switch ((enum sn_bth_class)pkt->shape->class) {
	case SN_C_SEND:
	case SN_C_WRITE:
	case SN_C_READ:
	case SN_C_ATOMIC:
		sn_rc_request_in(qp, pkt);
		break;
	case SN_C_READ_RESP:
		sn_rc_read_in(qp, pkt);
		break;
	case SN_C_ACK:
		sn_rc_ack_in(qp, pkt);
		break;
	case SN_C_ATOMIC_ACK:
		sn_rc_atomic_in(qp, pkt);
		break;
	case SN_C_DATAGRAM:
	case SN_C_NONE:
		break;
	}
}

/* Passes a valid packet to its QP. */
static void dispatch(struct sn_port *port, const struct sn_fab_dest *src, const struct sn_packet *pkt)
{
	to_qp(port, src, pkt);
	if (sn_is_spent(port->nic))
		sn_fab_stop(port->fabric->fab);
}

static bool can_receive(const struct sn_port *port)
{
	return !port->link_down && !port->nic->fatal;
}

/* A port that has failed, and the ring of a dead peer, which is emptied at once, stop for no packet. */
static bool must_drop(const struct sn_port *port)
{
	return !can_receive(port) || port->nic->work / 16 >= SN_WORK_MAX;
}

static void deliver(void *ctx, const struct sn_addr *src, const void *bytes, size_t len)
{
	struct sn_port *port = ctx;
	struct softnic *nic = port->nic;
	struct sn_fab_dest from;
	struct sn_packet pkt;

	if (can_receive(port) && sn_rc_plain_in(port, src, bytes, len))
		return;
	from = (struct sn_fab_dest){.gid = *src};
	if (must_drop(port) || !sn_port_icrc_fits(port, &from, bytes, len)) {
		nic->ctr.rx_packets++;
		nic->ctr.drops++;
		return;
	}
	if (!sn_packet_parse(bytes, len, false, &pkt)) {
		nic->ctr.rx_packets++;
		nic->ctr.drops++;
		sn_violate(nic, SN_V_RX_MALFORMED, "a packet of %zu bytes", len);
		return;
	}
	nic->ctr.rx_packets += pkt.train;
	dispatch(port, &from, &pkt);
}

/*
 * A packet from another host. Anyone can send one, so an invalid packet is no violation: it changes
 * nothing and is counted. Reserved bits of the BTH, which mean a train within a host, are ignored.
 */
static void datagram(void *ctx, const struct sn_fab_dest *src, const void *bytes, size_t len)
{
	struct sn_port *port = ctx;
	struct softnic *nic = port->nic;
	bool fits = sn_port_icrc_fits(port, src, bytes, len);
	struct sn_packet pkt;

	nic->ctr.rx_packets++;
	nic->ctr.bad_icrc += !fits;
	if (!fits || !can_receive(port) || !sn_packet_parse(bytes, len, true, &pkt)) {
		nic->ctr.drops++;
		return;
	}
	pkt.train = 1;
	nic->ctr.strangers += pkt.shape->class != SN_C_DATAGRAM && !peer_of(port, src, &pkt);
	dispatch(port, src, &pkt);
}

/* Cuts the links to peer, or to all peers if it is NULL. */
static void lose_links(struct sn_port *port, const struct sn_addr *peer)
{
	const struct sn_table *qps = &port->nic->qps;

	for (uint32_t i = 0; qps->slot && i <= qps->mask; i++) {
		struct sn_qp *qp = qps->slot[i];

		if (qp && qp->rc && qp->port == port &&
		    (!peer || sn_addr_equal(peer, &qp->rc->dest.gid)))
			sn_rc_link_lost(qp);
	}
}

static void links_lost(void *ctx, const struct sn_addr *peer)
{
	lose_links(ctx, peer);
}

static void chaos_due(struct softnic *nic, struct sn_timer *timer)
{
	(void)nic;
	(void)timer;	/* the timer only causes a poll, which releases the packets */
}

static int open_fab(struct sn_port *port, const uint8_t gid[16], struct sn_fab **fab)
{
	struct sn_fab_config config = {.deliver = deliver, .datagram = datagram, .down = links_lost,
				       .label = sn_packet_label, .capture = sn_capture_packet,
				       .ctx = port};

	memcpy(config.gid.raw, gid, sizeof(config.gid.raw));
	memcpy(config.ip.raw, port->nic->config.ip, sizeof(config.ip.raw));
	if (port->nic->config.flags & SOFTNIC_LOOPBACK_ONLY)
		config.flags |= SN_FAB_ALONE;
	if (!(port->nic->config.flags & SOFTNIC_NO_THREAD))
		config.flags |= SN_FAB_RESTS;
	return sn_fab_open(&config, fab);
}

static int join_fabric(struct sn_port *port)
{
	int err = sn_port_choose_address(port);

	return err ? err : open_fab(port, port->address, &port->fabric->fab);
}

static int open_port(struct sn_port *port)
{
	int i, err = -EADDRINUSE;

	port->fabric = calloc(1, sizeof(*port->fabric));
	if (!port->fabric)
		return -ENOMEM;
	port->fabric->chaos.fire = chaos_due;
	TAILQ_INIT(&port->fabric->blocked);
	TAILQ_INIT(&port->fabric->delayed_acks);
	for (i = 0; err == -EADDRINUSE && i < OPEN_TRIES; i++)
		err = join_fabric(port);
	if (err) {
		free(port->fabric);
		port->fabric = NULL;
	}
	return err;
}

static void close_port(struct sn_port *port)
{
	if (!port->fabric)
		return;
	sn_timer_cancel(port->nic, &port->fabric->chaos);
	sn_fab_close(port->fabric->fab);
	free(port->fabric);
	port->fabric = NULL;
}

int sn_fabric_open(struct softnic *nic)
{
	int err = 0;

	for (unsigned int i = 0; i < nic->ports && !err; i++)
		err = open_port(&nic->port[i]);
	if (err)
		sn_fabric_close(nic);
	return err;
}

void sn_fabric_close(struct softnic *nic)
{
	for (unsigned int i = 0; i < nic->ports; i++)
		close_port(&nic->port[i]);
}

int sn_fabric_readdress(struct sn_port *port, const uint8_t gid[16])
{
	struct sn_fab *fab;
	int err = memcmp(port->address, gid, 16) ? open_fab(port, gid, &fab) : -EALREADY;

	if (err)
		return err == -EALREADY ? 0 : err;
	sn_fab_close(port->fabric->fab);
	port->fabric->fab = fab;
	port->fabric->fault_generation = ~port->nic->fault.generation;
	sn_port_apply_faults(port);
	memcpy(port->address, gid, 16);
	lose_links(port, NULL);
	return 1;
}

static bool unblock(struct sn_fabric *fabric)
{
	struct sn_waiter *w, *next;
	bool any = false;

	for (w = TAILQ_FIRST(&fabric->blocked); w; w = next) {
		next = TAILQ_NEXT(w, link);
		if (!sn_fab_has_room(fabric->fab, w->dest))
			continue;
		sn_port_unblock(w);
		sn_qp_kick(w->qp);
		any = true;
	}
	return any;
}

static bool poll_port(struct sn_port *port)
{
	struct sn_fabric *fabric = port->fabric;
	bool any;
	uint64_t held;

	sn_port_apply_faults(port);
	any = !sn_fab_quiet(fabric->fab) && sn_fab_poll(fabric->fab, POLL_BUDGET) != 0;
	if (!TAILQ_EMPTY(&fabric->blocked))
		any |= unblock(fabric);
	if (!TAILQ_EMPTY(&fabric->delayed_acks)) {
		sn_rc_send_delayed_acks(port, any);
		any = true;		/* a device with a delayed ACK is not idle */
	}
	held = sn_fab_deadline(fabric->fab);
	if (held && (!fabric->chaos.slot || held < fabric->chaos.deadline))
		sn_timer_arm(port->nic, &fabric->chaos, held);
	return any;
}

/* While a device is being opened, or after opening failed, its ports have no fabric. */
bool sn_fabric_poll(struct softnic *nic)
{
	bool any = false;

	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		any |= poll_port(&nic->port[i]);
	return any;
}

bool sn_fabric_ack_pending(const struct softnic *nic)
{
	bool pending = false;

	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		pending |= !TAILQ_EMPTY(&nic->port[i].fabric->delayed_acks);
	return pending;
}

static bool port_quiet(struct sn_port *port)
{
	struct sn_fabric *fabric = port->fabric;

	if (!TAILQ_EMPTY(&fabric->blocked) ||
	    fabric->fault_generation != port->nic->fault.generation ||
	    (!TAILQ_EMPTY(&fabric->delayed_acks) && !sn_rc_ack_may_wait(port)) ||
	    (!sn_fab_rests(fabric->fab) && !sn_fab_quiet(fabric->fab)))
		return false;
	fabric->idle++;
	fabric->empty_polls++;
	return true;
}

bool sn_fabric_quiet(struct softnic *nic)
{
	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		if (!port_quiet(&nic->port[i]))
			return false;
	return true;
}

void sn_fabric_hold(struct softnic *nic)
{
	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		sn_fab_hold(nic->port[i].fabric->fab);
}

void sn_fabric_release(struct softnic *nic)
{
	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		sn_fab_release(nic->port[i].fabric->fab);
}

/* IBTA 9.6: an MTU is a power of two. With the longest headers of RC and the ICRC a packet must fit. */
static uint16_t mtu_of(size_t max)
{
	uint16_t mtu = 4096;

	while (mtu > max - sizeof(struct sn_bth) - sizeof(struct sn_reth) - sizeof(be32_t) - SN_ICRC)
		mtu /= 2;
	return mtu;
}

uint16_t softnic_udp(struct softnic *nic, uint16_t *mtu)
{
	const struct sn_fab *fab = nic->port[0].fabric->fab;

	if (sn_fab_udp_port(fab))
		*mtu = mtu_of(sn_fab_udp_max(fab));
	return sn_fab_udp_port(fab);
}

/* Reports each error once in a row, because each datagram QP tries again. */
static void report_port(const struct sn_port *port, int err)
{
	char ip[INET6_ADDRSTRLEN] = "?";
	const uint8_t *at = port->nic->config.ip;

	if (!err || err == port->fabric->listen_error)
		return;
	inet_ntop(sn_is_v4(at) ? AF_INET : AF_INET6, sn_is_v4(at) ? at + 12 : at, ip, sizeof(ip));
	fprintf(stderr, "softnic: other RoCE devices cannot reach this process, because UDP port %u of %s ",
		SN_UDP_PORT, ip);
	if (err == -EADDRINUSE)
		fprintf(stderr, "is taken: by a process with a software adapter of that address, which "
			"\"ss -aunp sport = %u\" names, or by the kernel's rdma_rxe, which "
			"\"rmmod rdma_rxe\" ends\n", SN_UDP_PORT);
	else
		fprintf(stderr, "cannot be opened: %s\n", strerror(-err));
}

int sn_fabric_listen(struct sn_qp *qp, const struct sn_av *av)
{
	struct sn_port *port = qp->port;
	int err;

	if (!qp->ud && !sn_port_is_foreign(port, av))
		return 0;
	err = sn_fab_listen(port->fabric->fab, SN_UDP_PORT);
	report_port(port, err);
	port->fabric->listen_error = err;
	return qp->ud ? 0 : err;
}

int sn_fabric_reach(struct softnic *nic, const uint8_t gid[16])
{
	struct sn_addr addr;

	if (nic->fault.far)
		return -EHOSTUNREACH;
	memcpy(addr.raw, gid, sizeof(addr.raw));
	return sn_fab_reach(nic->port[0].fabric->fab, &addr);
}

int sn_fabric_fd(struct softnic *nic, unsigned int port)
{
	return port < nic->ports && nic->port[port].fabric ? sn_fab_fd(nic->port[port].fabric->fab)
							   : -1;
}

bool sn_fabric_arm(struct softnic *nic)
{
	bool quiet = true;

	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		quiet &= sn_fab_sleep(nic->port[i].fabric->fab);
	return quiet;
}

void sn_fabric_disarm(struct softnic *nic)
{
	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		sn_fab_awake(nic->port[i].fabric->fab);
	sn_fabric_serve(nic);
}

void sn_fabric_serve(struct softnic *nic)
{
	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		sn_fab_service(nic->port[i].fabric->fab);
}
